/* yen: every path that is not accepted begins like an accepted path and leaves it at some node.
 *
 * For each accepted path and each node on it, the algorithm finds the shortest path that follows
 * the accepted path up to that node (this part is the *root*), and then takes a channel that no
 * accepted path with the same root takes. The best of all these candidates is accepted next.
 *
 * Every candidate has a parent, the accepted path that it leaves. Lawler's improvement: when a
 * candidate is accepted, the search begins at the node where it left its parent, because the
 * earlier nodes were searched before. So no candidate occurs twice.
 *
 * The waiting candidates are sorted, best first. There are never more of them than paths are still
 * wanted, because a worse candidate could not be accepted. */
#include "routing/paths/yen.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

struct candidate {
    uint32_t *channels; /* owned */
    uint32_t hops;
    uint32_t root; /* number of hops that it shares with its parent */
    uint64_t tie;  /* random: decides among candidates of equal length */
};

struct yen {
    const struct graph *graph; /* borrowed */
    uint32_t *arrival;         /* per node: the channel through which the search reached it */
    struct bfs bfs;
    bool *closed;  /* per node: it is on the root, so the search avoids it */
    bool *blocked; /* per channel: an accepted path with the same root takes it */

    struct candidate *accepted, *waiting;
    size_t accepted_count, accepted_capacity;
    size_t waiting_count, waiting_capacity;
};

enum err yen_open(struct yen **out, const struct graph *graph, struct why *why)
{
    struct yen *yen = array_new(1, sizeof *yen);
    if (!yen)
        return why_memory(why);
    uint32_t nodes = graph->node_count;
    yen->graph = graph;
    yen->arrival = array_new(nodes, sizeof *yen->arrival);
    yen->closed = array_new(nodes, sizeof *yen->closed);
    yen->blocked = array_new(graph_channel_count(graph), sizeof *yen->blocked);
    if (bfs_init(&yen->bfs, nodes) && yen->arrival && yen->closed && yen->blocked) {
        *out = yen;
        return OK;
    }
    yen_close(yen);
    return why_memory(why);
}

static void forget_candidates(struct yen *yen)
{
    for (size_t i = 0; i < yen->accepted_count; i++)
        free(yen->accepted[i].channels);
    for (size_t i = 0; i < yen->waiting_count; i++)
        free(yen->waiting[i].channels);
    yen->accepted_count = yen->waiting_count = 0;
}

void yen_close(struct yen *yen)
{
    if (!yen)
        return;
    forget_candidates(yen);
    free(yen->accepted);
    free(yen->waiting);
    free(yen->arrival);
    bfs_fini(&yen->bfs);
    free(yen->closed);
    free(yen->blocked);
    free(yen);
}

/* Breadth-first search, which begins with a random port at each node. Returns true if it reaches
 * `to` within hop_max hops. */
static bool search_run(struct yen *yen, uint32_t from, uint32_t to, uint32_t hop_max,
                       struct rng *rng)
{
    const struct graph *graph = yen->graph;
    struct bfs *bfs = &yen->bfs;
    bfs_clear(bfs);
    bfs_start(bfs, from);
    for (uint32_t v; bfs_take(bfs, &v) && bfs->level[v] < hop_max;) {
        uint32_t degree = graph_degree(graph, v);
        uint32_t turn = degree ? (uint32_t)rng_below(rng, degree) : 0;
        for (uint32_t i = 0; i < degree; i++) {
            uint32_t slot = graph->first[v] + (i + turn < degree ? i + turn : i + turn - degree);
            uint32_t w = graph->to[slot], channel = graph->channel[slot];
            if (yen->closed[w] || yen->blocked[channel] || !bfs_visit(bfs, v, w))
                continue;
            yen->arrival[w] = channel;
            if (w == to)
                return true;
        }
    }
    return false;
}

static bool candidate_before(const struct candidate *a, const struct candidate *b)
{
    return a->hops != b->hops ? a->hops < b->hops : a->tie < b->tie;
}

/* Takes ownership of the candidate. Keeps only the best `room` of all waiting candidates. */
static enum err candidate_wait(struct yen *yen, struct candidate candidate, size_t room,
                               struct why *why)
{
    size_t position = yen->waiting_count;
    while (position > 0 && candidate_before(&candidate, &yen->waiting[position - 1]))
        position--;
    if (position >= room) {
        free(candidate.channels);
        return OK;
    }
    if (!array_reserve(&yen->waiting, &yen->waiting_capacity, yen->waiting_count + 1,
                       sizeof *yen->waiting)) {
        free(candidate.channels);
        return why_memory(why);
    }
    memmove(yen->waiting + position + 1, yen->waiting + position,
            (yen->waiting_count - position) * sizeof *yen->waiting);
    yen->waiting[position] = candidate;
    if (yen->waiting_count < room)
        yen->waiting_count++;
    else
        free(yen->waiting[room].channels);
    return OK;
}

/* Makes a candidate of the root's hops and the hops by which the last search reached `to`. */
static enum err candidate_make(struct yen *yen, const uint32_t *root, uint32_t root_hops,
                               uint32_t to, size_t room, struct rng *rng, struct why *why)
{
    struct candidate candidate = {.hops = root_hops + yen->bfs.level[to], .root = root_hops};
    candidate.tie = rng_next(rng);
    candidate.channels = array_new(candidate.hops, sizeof *candidate.channels);
    if (!candidate.channels)
        return why_memory(why);
    if (root_hops)
        memcpy(candidate.channels, root, root_hops * sizeof *root);
    uint32_t node = to;
    for (uint32_t i = candidate.hops; i-- > root_hops;) {
        candidate.channels[i] = yen->arrival[node];
        node = graph_channel_from(yen->graph, yen->arrival[node]);
    }
    return candidate_wait(yen, candidate, room, why);
}

/* Blocks or unblocks the next channel of each accepted path with this root. */
static void block_accepted(struct yen *yen, const uint32_t *root, uint32_t hops, bool blocked)
{
    for (size_t i = 0; i < yen->accepted_count; i++) {
        const struct candidate *path = &yen->accepted[i];
        if (path->hops > hops && !memcmp(path->channels, root, hops * sizeof *root))
            yen->blocked[path->channels[hops]] = blocked;
    }
}

/* Returns the largest number of hops with which a candidate can still be accepted. */
static uint32_t hops_of_use(const struct yen *yen, size_t room, uint32_t hop_max)
{
    if (yen->waiting_count < room || yen->waiting[room - 1].hops > hop_max)
        return hop_max;
    return yen->waiting[room - 1].hops;
}

/* Adds candidates that leave the last accepted path at the node where it left its parent, or at a
 * later node. `room` is the number of paths that are still wanted. */
static enum err branch(struct yen *yen, uint32_t from, uint32_t to, size_t room, uint32_t hop_max,
                       struct rng *rng, struct why *why)
{
    const struct candidate path = yen->accepted[yen->accepted_count - 1];
    enum err err = OK;
    uint32_t node = from, closed = 0;
    for (uint32_t i = 0; i < path.hops && !err; i++) {
        uint32_t most = hops_of_use(yen, room, hop_max);
        if (most <= i)
            break; /* a root of i or more hops is too long */
        if (i >= path.root) {
            block_accepted(yen, path.channels, i, true);
            if (search_run(yen, node, to, most - i, rng))
                err = candidate_make(yen, path.channels, i, to, room, rng, why);
            block_accepted(yen, path.channels, i, false);
        }
        yen->closed[node] = true;
        closed++;
        node = graph_channel_to(yen->graph, path.channels[i]);
    }
    for (uint32_t i = 0; i < closed; i++)
        yen->closed[graph_channel_from(yen->graph, path.channels[i])] = false;
    return err;
}

/* Accepts the best waiting candidate and adds it to the set. */
static enum err accept_first(struct yen *yen, struct path_set *set, struct why *why)
{
    if (!array_reserve(&yen->accepted, &yen->accepted_capacity, yen->accepted_count + 1,
                       sizeof *yen->accepted))
        return why_memory(why);
    struct candidate best = yen->waiting[0];
    yen->waiting_count--;
    memmove(yen->waiting, yen->waiting + 1, yen->waiting_count * sizeof *yen->waiting);
    yen->accepted[yen->accepted_count++] = best;
    return path_set_path(set, best.channels, best.hops, why);
}

enum err yen_find(struct yen *yen, uint32_t from, uint32_t to, uint32_t k, uint32_t hop_max,
                  struct rng *rng, struct path_set *set, struct why *why)
{
    assert(from != to && from < yen->graph->node_count && to < yen->graph->node_count);
    enum err err = OK;
    if (k > 0 && search_run(yen, from, to, hop_max, rng))
        err = candidate_make(yen, NULL, 0, to, k, rng, why);
    while (!err && yen->waiting_count > 0) {
        err = accept_first(yen, set, why);
        if (!err && yen->accepted_count < k)
            err = branch(yen, from, to, k - yen->accepted_count, hop_max, rng, why);
        else
            break;
    }
    forget_candidates(yen);
    return err;
}
