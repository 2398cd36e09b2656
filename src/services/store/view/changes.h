#pragma once
/* changes: in what a view differs from the one before it, a few entries in place of a whole roster.
 * Together with the roster before it, it gives the new one, on every server the same. Pure. */

#include "services/store/view/roster.h"

/* So many fit into a packet, with what goes with them. Whatever is left waits for the next view. */
#define CHANGES_MAX 400

struct view_change {
    uint32_t server;
    /* It joins with these; both 0: it leaves; disk 0: the operator's order, an enum roster_duty and
     * 1. */
    uint64_t disk, run;
};

struct view_changes {
    uint32_t count;
    struct view_change list[CHANGES_MAX]; /* by server, each at most once */
};

/* `next` is the view after `view`, with at most one change of each server, made in the order of the
 * servers (the order decides who keeps a vote). False: there are too many. */
bool changes_between(struct view_changes *changes, const struct roster *view,
                     const struct roster *next);
/* Makes `next` the view after `view`. False: the changes make no sense. */
bool changes_apply(const struct view_changes *changes, const struct roster *view,
                   struct roster *next);
