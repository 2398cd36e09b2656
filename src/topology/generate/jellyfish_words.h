#pragma once
/* jellyfish_words: the parameters of a Jellyfish as they are written in a spec; the grammar is in
 * topology/generate/jellyfish.h. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

#define JELLYFISH_RUN_MAX 32

/* Consecutive nodes with the same number of ports. */
struct jellyfish_run {
    uint32_t count;
    uint32_t ports;
};

struct jellyfish_words {
    const char *spec; /* borrowed; begins every error */
    bool direct;      /* one server per node; all ports are for links */
    uint32_t node_count;
    struct jellyfish_run runs[JELLYFISH_RUN_MAX]; /* consecutive runs differ in ports */
    uint32_t run_count;
    uint64_t server_count; /* switched form only */
    uint32_t bare;
    uint32_t containers; /* 0: no containers */
    uint32_t share;      /* of local links, in SHARE_ONE-ths */
    uint64_t seed;
};

/* Reads the parameters and refuses those that contradict each other. */
MUST_CHECK enum err jellyfish_words_read(struct jellyfish_words *words, const char *spec,
                                         struct why *why);

/* Writes the canonical spec, which includes every parameter. */
MUST_CHECK enum err jellyfish_words_write(const struct jellyfish_words *words, char spec[SPEC_SIZE],
                                          struct why *why);
