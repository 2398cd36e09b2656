/* levels: the key space of any graph whose nodes are servers.
 *
 * The home is a consistent hash of the key: growth from n to n + 1 servers moves 1/(n + 1) of the
 * keys, all of them to the new server. Jump consistent hash (Lamping and Veach, 2014) guarantees
 * the same, with a division for each of its ln(n) jumps. This hash runs at every hop, so it takes
 * two or three draws for any n. Its idea is that of FlipHash (Masson and Lee, 2024): ranges of
 * servers that double in size.
 *
 * After the home the list goes breadth first over the cables as planned. A level is the set of all
 * servers at the same distance from home. It is put in order of the ids and then shuffled. Each
 * sequence puts another server first, in turn, so that the keys of a failed home spread evenly over
 * its neighbours; the order of the other servers is random. Servers that no path of cables joins to
 * the home form one more level, the last. */
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/rng.h"
#include "keyspace/keyspace_impl.h"

#define DRAW_MAX 64 /* each draw finds an existing server in more than half of the cases */

/* Returns number `which` of the series of independent random numbers of a key. */
static inline uint64_t draw(uint64_t route, uint64_t which)
{
    return hash_mix(route + which * 0x9e3779b97f4a7c15u); /* the 64-bit golden ratio */
}

/* Half h is the servers from 2^h to 2^(h+1) - 1: as many as all servers below it. Returns the
 * random bits that choose a server of that half, or, from the second try on, of all halves up to
 * it. */
static inline uint32_t half_place(uint64_t route, uint32_t half, uint32_t try)
{
    return (uint32_t)draw(route, 1 + half + 32 * (uint64_t)try);
}

/* Returns the home among 2^half servers: a server drawn from the last half whose coin is set. */
static inline node_id home_below(uint64_t route, uint64_t coins, uint32_t half)
{
    uint64_t below = coins & ((UINT64_C(1) << half) - 1);
    if (below == 0)
        return 0;
    uint32_t last = 63 - (uint32_t)__builtin_clzll(below), base = UINT32_C(1) << last;
    return base | (half_place(route, last, 0) & (base - 1));
}

node_id levels_home(uint32_t server_count, uint64_t route)
{
    assert(server_count > 0 && server_count <= GRAPH_NODE_MAX);
    uint64_t coins = draw(route, 0);
    /* The last half, which may be incomplete. A single server counts as two here; the draws below
     * then always end at server 0. */
    uint32_t half = 31 - (uint32_t)__builtin_clz((server_count - 1) | 1);
    uint32_t base = UINT32_C(1) << half;
    /* Draws uniformly among 2 * base servers until the server exists. The draws do not depend on
     * the number of servers: an added server receives exactly those keys whose draws rejected it
     * before. */
    uint32_t at = coins & base ? base | (half_place(route, half, 0) & (base - 1)) : 0;
    for (uint32_t try = 1; at >= server_count; try++)
        at = try == DRAW_MAX ? 0 : half_place(route, half, try) & (2 * base - 1);
    if (at >= base)
        return at;
    return home_below(route, coins, half);
}

/* The state of one walk; the caller owns the memory. */
struct levels {
    uint64_t *seen;  /* a bit per server: in this level or an earlier one */
    uint64_t *next;  /* a bit per server: in the level that is being collected */
    uint32_t *level; /* the servers of the current level */
    size_t words;    /* of `seen`, and of `next` */
    uint32_t count;  /* of servers in `level` */
};

size_t levels_scratch_size(uint32_t server_count)
{
    return 2 * bitset_words(server_count) * sizeof(uint64_t) + server_count * sizeof(uint32_t);
}

/* Moves the servers in `next` to `level`, in order of their ids, and empties `next`. */
static void level_take(struct levels *levels)
{
    levels->count = 0;
    for (size_t word = 0; word < levels->words; word++) {
        levels->seen[word] |= levels->next[word];
        while (levels->next[word])
            levels->level[levels->count++] =
                (uint32_t)bitset_take_lowest(&levels->next[word], word);
    }
}

static void level_collect(struct levels *levels, const struct graph *graph)
{
    for (uint32_t i = 0; i < levels->count; i++) {
        uint32_t node = levels->level[i];
        for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
            uint32_t to = graph->to[slot];
            if (!bitset_has(levels->seen, to))
                bitset_add(levels->next, to);
        }
    }
}

/* Collects the servers that no cable joins to any earlier level. */
static void level_collect_rest(struct levels *levels, uint32_t server_count)
{
    for (size_t word = 0; word < levels->words; word++)
        levels->next[word] = ~levels->seen[word];
    if (server_count % 64)
        levels->next[levels->words - 1] &= bitset_bit(server_count) - 1;
}

static void level_collect_next(struct levels *levels, const struct keyspace *keyspace)
{
    level_collect(levels, keyspace->graph);
    bool more = false;
    for (size_t word = 0; word < levels->words && !more; word++)
        more = levels->next[word] != 0;
    if (!more)
        level_collect_rest(levels, keyspace->server_count);
}

static void level_shuffle(struct levels *levels, struct place_group group, uint32_t depth)
{
    /* Sequences are below 255, so each home has a seed per sequence, and the seed 255 that all its
     * sequences share. */
    struct rng turns = rng_make((uint64_t)group.home << 8 | 255, depth);
    struct rng rest = rng_make((uint64_t)group.home << 8 | group.sequence, depth);
    uint32_t turn = (uint32_t)((rng_below(&turns, levels->count) + group.sequence) % levels->count);
    uint32_t first = levels->level[turn];
    levels->level[turn] = levels->level[0];
    levels->level[0] = first;
    rng_shuffle(&rest, levels->level + 1, levels->count - 1);
}

unsigned levels_servers(const struct keyspace *keyspace, struct place_group group,
                        keyspace_alive *alive, const void *context, void *scratch, node_id *out,
                        unsigned most)
{
    assert(scratch);
    struct levels levels = {.seen = scratch, .words = bitset_words(keyspace->server_count)};
    levels.next = levels.seen + levels.words;
    levels.level = (uint32_t *)(levels.next + levels.words);
    memset(scratch, 0, 2 * levels.words * sizeof *levels.seen);
    bitset_add(levels.next, group.home);
    unsigned count = 0;
    for (uint32_t depth = 0; count < most; depth++) {
        if (depth)
            level_collect_next(&levels, keyspace);
        level_take(&levels);
        if (levels.count == 0)
            break;
        if (depth) /* the home is alone in its level */
            level_shuffle(&levels, group, depth);
        for (uint32_t i = 0; i < levels.count && count < most; i++)
            if (!alive || alive(context, levels.level[i]))
                out[count++] = levels.level[i];
    }
    return count;
}
