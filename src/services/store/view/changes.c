#include "services/store/view/changes.h"

bool changes_between(struct view_changes *changes, const struct roster *view,
                     const struct roster *next)
{
    changes->count = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        const struct roster_entry *entry = &next->entries[i];
        bool joins = entry->since == next->epoch, leaves = !entry->since && roster_has(view, i);
        bool ordered = !joins && !leaves && entry->duty != view->entries[i].duty;
        if (!joins && !leaves && !ordered)
            continue;
        if (changes->count == CHANGES_MAX)
            return false;
        struct view_change *change = &changes->list[changes->count++];
        *change = (struct view_change){.server = i};
        if (joins) {
            change->disk = entry->disk;
            change->run = entry->run;
        } else if (ordered) {
            change->run = entry->duty + UINT64_C(1);
        }
    }
    return true;
}

bool changes_apply(const struct view_changes *changes, const struct roster *view,
                   struct roster *next)
{
    roster_next(next, view);
    for (uint32_t i = 0; i < changes->count; i++) {
        const struct view_change *change = &changes->list[i];
        bool in_order = i == 0 || change->server > change[-1].server;
        if (change->server >= view->count || !in_order || (change->disk && !change->run))
            return false;
        if (change->disk)
            roster_join(next, change->server, change->disk, change->run);
        else if (!change->run)
            roster_leave(next, change->server);
        else if (change->run > DUTIES ||
                 !roster_order(next, change->server, (enum roster_duty)(change->run - 1)))
            return false;
    }
    return true;
}
