#include "node/stream/moments.h"

#include "base/check.h"

void moments_init(struct moments *moments, struct moments_item *items, uint32_t *heap,
                  uint32_t item_count)
{
    *moments = (struct moments){.items = items, .heap = heap};
    for (uint32_t i = 0; i < item_count; i++)
        items[i] = (struct moments_item){.due = ENV_NEVER, .at = MOMENTS_NONE};
}

static bool is_before(const struct moments *moments, uint32_t one, uint32_t other)
{
    env_nsec left = moments->items[one].due, right = moments->items[other].due;
    return left != right ? left < right : one < other;
}

static void place(struct moments *moments, uint32_t at, uint32_t item)
{
    moments->heap[at] = item;
    moments->items[item].at = at;
}

static void settle(struct moments *moments, uint32_t at)
{
    uint32_t item = moments->heap[at];
    for (; at && is_before(moments, item, moments->heap[(at - 1) / 2]); at = (at - 1) / 2)
        place(moments, at, moments->heap[(at - 1) / 2]);
    for (uint32_t child; (child = 2 * at + 1) < moments->count; at = child) {
        if (child + 1 < moments->count &&
            is_before(moments, moments->heap[child + 1], moments->heap[child]))
            child++;
        if (!is_before(moments, moments->heap[child], item))
            break;
        place(moments, at, moments->heap[child]);
    }
    place(moments, at, item);
}

static void take_out(struct moments *moments, uint32_t item)
{
    uint32_t at = moments->items[item].at, last = moments->heap[--moments->count];
    moments->items[item].at = MOMENTS_NONE;
    if (last == item)
        return;
    place(moments, at, last);
    settle(moments, at);
}

void moments_set(struct moments *moments, uint32_t item, env_nsec due)
{
    struct moments_item *entry = &moments->items[item];
    entry->due = due;
    if (due == ENV_NEVER) {
        if (entry->at != MOMENTS_NONE)
            take_out(moments, item);
        return;
    }
    if (entry->at == MOMENTS_NONE)
        place(moments, moments->count++, item);
    settle(moments, entry->at);
}
