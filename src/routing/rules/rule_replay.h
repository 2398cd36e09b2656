#pragma once
/* rule_replay: do these tables deliver? Every packet's way is followed, rule by
 * rule, from what was read of the tables and the cables of the network, until
 * it is delivered or something is wrong.
 *
 * Of the way tables were made only the lengths of the paths are used: a pair
 * must be joined by as many different paths, of the same lengths. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "base/text.h"
#include "routing/rules/rule_tables.h"
#include "routing/rules/rules.h"

enum replay_fault {
    REPLAY_LOOP,       /* comes to a switch a second time */
    REPLAY_BLACK_HOLE, /* no rule matches */
    REPLAY_PORT,       /* leaves where no cable to a switch is */
    REPLAY_ASTRAY,     /* delivered elsewhere */
    REPLAY_SAME,       /* two ways of a pair are the same path */
    REPLAY_LENGTHS,    /* more, fewer or other paths than expected */
    REPLAY_AMBIGUOUS,  /* two rules match the same packets */
    REPLAY_UNUSED,     /* no packet meets the rule */
    REPLAY_FAULT_COUNT,
};

/* "loops"; the key in JSON. */
extern const char *const replay_fault_words[REPLAY_FAULT_COUNT];

#define REPLAY_FOUND_MAX 10 /* faults told; the others are only counted */

struct rule_replay {
    uint64_t pairs;   /* of switches with servers, in order */
    uint64_t reached; /* of them by every way */
    uint64_t apart;   /* no cables join them: not among the pairs */
    uint64_t paths;   /* different, that arrived */
    uint64_t hops;    /* of all paths */
    uint32_t hops_max;
    uint64_t faults[REPLAY_FAULT_COUNT];
    uint64_t fault_count;
    struct text found; /* owned; a line per fault, REPLAY_FOUND_MAX at most */
};

void replay_fini(struct rule_replay *replay);

/* Adds to *replay, zeroed at first. The tables are sorted; their rules are
 * marked as they are used. `expected` tells the lengths, and which destinations
 * these tables are for. Faults are results, not errors. */
MUST_CHECK enum err replay_tables(struct rule_replay *replay, struct rule_tables *tables,
                                  const struct rules *expected, struct observer progress,
                                  struct why *why);

/* Only the faults that need no packet: rules that match the same ones. */
MUST_CHECK enum err replay_overlaps(struct rule_replay *replay, struct rule_tables *tables,
                                    struct why *why);
