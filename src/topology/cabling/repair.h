#pragma once
/* repair: the smallest set of actions that turns the cables found into the
 * cables planned, in an order in which every plug finds its port empty.
 *
 * Smallest means the fewest moves, counted so:
 *   moving one end of a cable to another port   1
 *   laying a new cable                          2 (its two ends)
 *   taking a cable away                         1
 * Pulling a plug that waits in the hand until its port is free is no move of
 * its own; plugging it in is. A cable of which neither end fits is therefore
 * better moved whole (2) than taken away and replaced (3).
 *
 * Why this is smallest: every repair pairs cables found with cables planned;
 * a pair costs the ends in which they differ, a cable found without a partner
 * 1, a planned one 2. Differing ends are a metric, so it never costs more to
 * leave alone what is right. Of m missing and s surplus cables the best pairs
 * as many as it can, and of these as many as possible share an end: that is
 * the largest matching the inspection made. With p such pairs the repair
 * costs 2 m - p + max(0, s - m). */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/cabling/inspection.h"

struct plug {
    uint32_t node, port;
};

enum repair_kind {
    REPAIR_REMOVE, /* take the cable from..to away */
    REPAIR_UNPLUG, /* pull the end at `from` and keep it in the hand */
    REPAIR_MOVE,   /* the end at `from` goes to `to` */
    REPAIR_PLUG,   /* the end in the hand, pulled at `from`, goes to `to` */
    REPAIR_ADD,    /* lay a new cable from..to */
};

struct repair_action {
    enum repair_kind kind;
    uint32_t found; /* which cable, an index into inspection.found; FINDING_NONE when new */
    bool end_b;     /* which of its ends moves: b, else a */
    struct plug from, to;
};

struct repair {
    struct repair_action *actions; /* in order */
    uint32_t action_count;
    uint32_t moves; /* by the count above */
};

/* Where ports do not count, an end goes to its planned port if no cable that
 * stays is plugged there, else to the lowest port that is free at the end. */
MUST_CHECK enum err repair_make(struct repair *repair, const struct inspection *inspection,
                                const struct graph *plan, struct why *why);
void repair_fini(struct repair *repair);

const char *repair_kind_name(enum repair_kind kind);
