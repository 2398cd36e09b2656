/* placement: see the header. */
#include "services/store/service/placement.h"

#include "base/hash.h"

uint32_t placement_group(const void *key, uint32_t size, uint32_t group_count)
{
    return (uint32_t)((hash_bytes(key, size) >> 32) * group_count >> 32);
}

uint64_t placement_rank(uint32_t group, uint32_t server)
{
    /* The server's number makes all ranks of a group different. */
    return (hash_mix(group ^ hash_mix(server + 1)) & ~UINT64_C(0xffffff)) | server;
}

enum among { MEMBERS, FOUNDERS, PLANNED, ALL };

static bool belongs(const struct roster *roster, uint32_t server, enum among among)
{
    switch (among) {
    case MEMBERS:
        return roster_has(roster, server) && roster_keeps(roster, server);
    case FOUNDERS:
        return roster->entries[server].founder;
    case PLANNED:
        return roster_keeps(roster, server);
    case ALL:
        break;
    }
    return roster_has(roster, server);
}

static uint32_t first(const struct roster *roster, uint32_t group, uint32_t *servers, uint32_t most,
                      enum among among)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < roster->count; i++) {
        if (!belongs(roster, i, among))
            continue;
        uint64_t rank = placement_rank(group, i);
        uint32_t at = count;
        while (at && placement_rank(group, servers[at - 1]) > rank)
            at--;
        if (at == most)
            continue;
        count += count < most;
        for (uint32_t j = count - 1; j > at; j--)
            servers[j] = servers[j - 1];
        servers[at] = i;
    }
    return count;
}

uint32_t placement_members(const struct roster *roster, uint32_t group, uint32_t *servers,
                           uint32_t most)
{
    uint32_t count = first(roster, group, servers, most, MEMBERS);
    return count ? count : first(roster, group, servers, most, ALL);
}

uint32_t placement_founders(const struct roster *roster, uint32_t group, uint32_t *servers,
                            uint32_t most)
{
    return first(roster, group, servers, most, FOUNDERS);
}

uint32_t placement_planned(const struct roster *roster, uint32_t group, uint32_t *servers,
                           uint32_t most)
{
    return first(roster, group, servers, most, PLANNED);
}
