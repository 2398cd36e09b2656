#include "node/core/timers.h"

static bool is_before(const struct timer *one, const struct timer *other)
{
    return one->at != other->at ? one->at < other->at : one->order < other->order;
}

bool timers_set(struct timers *timers, env_nsec at, uint32_t owner, uint64_t cookie)
{
    if (timers->count == timers->most)
        return false;
    struct timer timer = {at, timers->order++, cookie, owner};
    uint32_t index = timers->count++;
    while (index && is_before(&timer, &timers->heap[(index - 1) / 2])) {
        timers->heap[index] = timers->heap[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    timers->heap[index] = timer;
    return true;
}

bool timers_take(struct timers *timers, env_nsec now, uint64_t order, struct timer *timer)
{
    if (!timers->count || timers->heap[0].at > now || timers->heap[0].order >= order)
        return false;
    *timer = timers->heap[0];
    struct timer last = timers->heap[--timers->count];
    uint32_t index = 0;
    for (;;) {
        uint32_t child = 2 * index + 1;
        if (child >= timers->count)
            break;
        if (child + 1 < timers->count && is_before(&timers->heap[child + 1], &timers->heap[child]))
            child++;
        if (!is_before(&timers->heap[child], &last))
            break;
        timers->heap[index] = timers->heap[child];
        index = child;
    }
    timers->heap[index] = last;
    return true;
}
