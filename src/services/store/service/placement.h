#pragma once
/* placement: which group a key belongs to, and which servers keep a group. Pure: it depends on the
 * roster alone, so all servers of a view agree on it.
 *
 * Each group ranks all planned servers by a hash of both numbers, and is kept by the first members.
 * So when a server leaves, only what it kept moves, and to all others alike. */

#include "services/store/view/roster.h"

uint32_t placement_group(const void *key, uint32_t size, uint32_t group_count);
/* The first members of the group that are to keep groups (roster_keeps), in order, at most `most`;
 * returns how many. If no such server is there, all members are meant. */
uint32_t placement_members(const struct roster *roster, uint32_t group, uint32_t *servers,
                           uint32_t most);
/* The same among the members of view 1. */
uint32_t placement_founders(const struct roster *roster, uint32_t group, uint32_t *servers,
                            uint32_t most);
/* The same among all planned servers that are to keep groups. */
uint32_t placement_planned(const struct roster *roster, uint32_t group, uint32_t *servers,
                           uint32_t most);
/* The place of a server in the group's order of all planned servers: lower is earlier. */
uint64_t placement_rank(uint32_t group, uint32_t server);
