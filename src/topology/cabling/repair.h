#pragma once
/* repair: the smallest set of actions that turns the cables that were found into the planned
 * cables, in an order in which every plug finds its port empty.
 *
 * Smallest means the fewest moves, counted as follows:
 *   moving one end of a cable to another port   1
 *   laying a new cable                          2 (its two ends)
 *   removing a cable                            1
 * Unplugging an end and holding it until its port is free is not counted as a move; plugging it in
 * is. Therefore a cable with both ends in the wrong place is better moved (2) than removed and
 * replaced (3).
 *
 * Why this is smallest: every repair pairs found cables with planned cables. A pair costs the
 * number of ends in which they differ, a found cable without a partner costs 1, a planned one 2.
 * The number of differing ends is a metric, so leaving correct cables alone never costs more. Of m
 * missing and s surplus cables, the best repair pairs as many as it can, and of these pairs as many
 * as possible share an end: that is the largest matching that the inspection made. With p such
 * pairs the repair costs 2 m - p + max(0, s - m). */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/cabling/inspection.h"

struct plug {
    uint32_t node, port;
};

enum repair_kind {
    REPAIR_REMOVE, /* remove the cable from..to */
    REPAIR_UNPLUG, /* unplug the end at `from` and hold it */
    REPAIR_MOVE,   /* move the end at `from` to `to` */
    REPAIR_PLUG,   /* plug the held end, unplugged at `from`, into `to` */
    REPAIR_ADD,    /* lay a new cable from..to */
};

struct repair_action {
    enum repair_kind kind;
    uint32_t found; /* the cable, an index into inspection.found; FINDING_NONE for a new one */
    bool end_b;     /* the end that moves is b, else a */
    struct plug from, to;
};

struct repair {
    struct repair_action *actions; /* in order */
    uint32_t action_count;
    uint32_t moves; /* counted as above */
};

/* If the inspection ignores ports, an end goes to its planned port unless a cable that stays is
 * plugged in there, else to the lowest port that is free in the end. */
MUST_CHECK enum err repair_make(struct repair *repair, const struct inspection *inspection,
                                const struct graph *plan, struct why *why);
void repair_fini(struct repair *repair);

const char *repair_kind_name(enum repair_kind kind);
