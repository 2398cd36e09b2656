#include "measured/sst/sst_paths.h"

#include "base/check.h"

static uint32_t costs_add(uint32_t one, uint32_t other)
{
    return one > PATHS_FAR - other ? PATHS_FAR : one + other;
}

/* Returns the nearest router that is not settled yet; `count` if none is reachable. */
static uint32_t nearest(const struct paths *paths, const uint32_t *distances, uint64_t settled)
{
    uint32_t best = paths->count;
    for (uint32_t i = 0; i < paths->count; i++)
        if (!(settled >> i & 1) && distances[i] != PATHS_FAR &&
            (best == paths->count || distances[i] < distances[best]))
            best = i;
    return best;
}

static void paths_from(struct paths *paths, uint32_t source)
{
    uint32_t *distances = paths->distances[source], at;
    uint8_t *next = paths->next[source];
    uint64_t settled = 0;
    for (uint32_t i = 0; i < paths->count; i++) {
        distances[i] = PATHS_FAR;
        next[i] = (uint8_t)i;
    }
    distances[source] = 0;
    while ((at = nearest(paths, distances, settled)) < paths->count) {
        settled |= UINT64_C(1) << at;
        for (uint32_t to = 0; to < paths->count; to++) {
            uint32_t cost = paths->costs[at][to], length = costs_add(distances[at], cost);
            if (!cost || length >= distances[to])
                continue;
            distances[to] = length;
            next[to] = at == source ? (uint8_t)to : next[at];
        }
    }
}

void paths_compute(struct paths *paths)
{
    assert(paths->count <= PATHS_NODES_MAX);
    for (uint32_t source = 0; source < paths->count; source++)
        paths_from(paths, source);
}

bool paths_can_change(const struct paths *paths, uint32_t from, uint32_t to, uint32_t cost)
{
    if (paths_uses(paths, from, to))
        return cost != paths->costs[from][to];
    return cost && from != to && cost < paths->distances[from][to];
}

bool paths_can_change_printed(const struct paths *paths, uint32_t from, uint32_t to, uint32_t cost)
{
    uint32_t before = paths->costs[from][to];
    if (paths_uses(paths, from, to))
        return cost == 0 || cost > before;
    return cost && (before == 0 || cost < before);
}

bool paths_are_shortest(const struct paths *paths, const struct paths *now)
{
    for (uint32_t from = 0; from < paths->count; from++)
        for (uint32_t to = 0; to < paths->count; to++) {
            uint32_t length = 0, hops = 0;
            for (uint32_t at = from; at != to && hops < paths->count; hops++) {
                uint32_t next = paths->next[at][to], cost = now->costs[at][next];
                length = costs_add(length, cost ? cost : PATHS_FAR);
                at = next;
            }
            if (length != now->distances[from][to])
                return false;
        }
    return true;
}

void paths_wheel(struct paths *paths, uint32_t count, uint32_t spoke, uint32_t rim)
{
    assert(count >= 4 && count <= PATHS_NODES_MAX);
    *paths = (struct paths){.count = count};
    for (uint32_t i = 1; i < count; i++) {
        uint32_t next = i + 1 < count ? i + 1 : 1;
        paths->costs[0][i] = paths->costs[i][0] = spoke;
        paths->costs[i][next] = paths->costs[next][i] = rim;
    }
    paths_compute(paths);
}
