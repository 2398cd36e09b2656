#pragma once
/* rule_replay: finds out whether tables deliver every packet. It follows each packet, rule by rule,
 * until the packet is delivered or a fault is found. It uses only the tables as they were read, the
 * cables of the network, and the lengths of the paths that were expected: the tables must give
 * every pair as many different paths, of the same lengths. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "base/text.h"
#include "routing/rules/rule_tables.h"
#include "routing/rules/rules.h"

enum replay_fault {
    REPLAY_LOOP,       /* a packet comes to a switch a second time */
    REPLAY_BLACK_HOLE, /* no rule matches a packet */
    REPLAY_PORT,       /* a packet leaves through a port without a cable to a switch */
    REPLAY_ASTRAY,     /* a packet is delivered to the wrong place */
    REPLAY_SAME,       /* two ways of a pair are the same path */
    REPLAY_LENGTHS,    /* more, fewer or other paths than expected */
    REPLAY_AMBIGUOUS,  /* two rules match the same packets */
    REPLAY_UNUSED,     /* no packet uses the rule */
    REPLAY_FAULT_COUNT,
};

/* The keys of the faults in JSON, such as "loops". */
extern const char *const replay_fault_words[REPLAY_FAULT_COUNT];

#define REPLAY_FOUND_MAX 10 /* faults with a text; further ones are only counted */

struct rule_replay {
    uint64_t pairs;   /* ordered pairs of switches with servers */
    uint64_t reached; /* how many of these are reached by every way */
    uint64_t apart;   /* pairs that no cables join; not counted in `pairs` */
    uint64_t paths;   /* different paths that arrived */
    uint64_t hops;    /* of all paths */
    uint32_t hops_max;
    uint64_t faults[REPLAY_FAULT_COUNT];
    uint64_t fault_count;
    struct text found; /* owned; a line per fault, at most REPLAY_FOUND_MAX */
};

void replay_fini(struct rule_replay *replay);

/* Adds to *replay, which is zeroed at first. The tables must be sorted; rules are marked when they
 * are used. `expected` gives the lengths, and the destinations that these tables are for. Faults
 * are results, not errors. */
MUST_CHECK enum err replay_tables(struct rule_replay *replay, struct rule_tables *tables,
                                  const struct rules *expected, struct observer progress,
                                  struct why *why);

/* Finds only the faults that need no packet: rules that match the same packets. */
MUST_CHECK enum err replay_overlaps(struct rule_replay *replay, struct rule_tables *tables,
                                    struct why *why);
