/* ways: a depth-first search through the states of a packet. Two states may lead along the same
 * channels (two middle nodes on one line); the probability of a way is the sum over both, so every
 * way that is found is looked up by its channels. */
#include "routing/paths/ways.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

/* Moves to examine before a search is given up: about a second. */
#define MOVES_MAX 20000000u

/* A move to follow: the node and state of a packet after it. */
struct step {
    struct route_state state;
    uint32_t node;
    uint32_t hops;    /* hops so far */
    uint32_t channel; /* the channel of the last hop, if there was one */
    double share;
};

struct search {
    struct ways *ways;
    const struct router *router;
    uint32_t to;
    uint64_t move_count;
    struct route_move *moves; /* move_max */
    struct step *steps;       /* a stack */
    size_t step_count, step_capacity;
    uint32_t *channels; /* of the way that leads to the current step */
    size_t channel_capacity;
};

void ways_fini(struct ways *ways)
{
    path_set_fini(&ways->paths);
    name_index_fini(&ways->known);
    free(ways->shares);
    free(ways->order);
    *ways = (struct ways){0};
}

static enum err way_add(struct ways *ways, const uint32_t *channels, uint32_t hops, double share,
                        struct why *why)
{
    uint32_t number, known = ways->known.count;
    if (!name_index_add(&ways->known, hops ? (const char *)channels : "", hops * sizeof *channels,
                        &number) ||
        !array_reserve(&ways->shares, &ways->share_capacity, (size_t)number + 1,
                       sizeof *ways->shares))
        return why_memory(why);
    if (number < known) {
        ways->shares[number] += share;
        return OK;
    }
    ways->shares[number] = share;
    return path_set_path(&ways->paths, channels, hops, why);
}

/* Rounds a share, so that sums of the same shares in different orders are equal. */
static int64_t share_key(double share)
{
    return (int64_t)(share * 1e9 + 0.5);
}

static int way_compare(const void *one, const void *other, void *context)
{
    const struct ways *ways = context;
    size_t a = *(const size_t *)one, b = *(const size_t *)other;
    int64_t a_share = share_key(ways->shares[a]), b_share = share_key(ways->shares[b]);
    if (a_share != b_share)
        return a_share > b_share ? -1 : 1;
    size_t a_hops = path_set_hops(&ways->paths, a), b_hops = path_set_hops(&ways->paths, b);
    if (a_hops != b_hops)
        return a_hops < b_hops ? -1 : 1;
    return (a > b) - (a < b);
}

static enum err ways_sort(struct ways *ways, struct why *why)
{
    size_t count = ways->paths.path_count;
    ways->order = array_new(count, sizeof *ways->order);
    if (!ways->order)
        return why_memory(why);
    for (size_t i = 0; i < count; i++)
        ways->order[i] = i;
    qsort_r(ways->order, count, sizeof *ways->order, way_compare, ways);
    return OK;
}

static enum err push(struct search *search, const struct step *step, struct why *why)
{
    if (!array_reserve(&search->steps, &search->step_capacity, search->step_count + 1,
                       sizeof *search->steps))
        return why_memory(why);
    search->steps[search->step_count++] = *step;
    return OK;
}

static enum err push_starts(struct search *search, uint32_t from, struct why *why)
{
    const struct router *router = search->router;
    uint32_t count = router->algorithm->start_count(router, from, search->to);
    for (uint32_t i = count; i-- > 0;) {
        struct step step = {.node = from};
        step.share = router->algorithm->start(router, from, search->to, i, &step.state);
        enum err err = step.share > 0 ? push(search, &step, why) : OK;
        if (err)
            return err;
    }
    search->move_count += count;
    return OK;
}

static enum err refuse_many(const struct search *search, struct why *why)
{
    return why_fail(why, ERR_USAGE,
                    "%s: there are more than %u paths, or too many steps to list them; draw some "
                    "of them instead",
                    search->router->algorithm->name, WAYS_MAX);
}

/* Takes the top step off the stack and pushes the steps that may follow it. */
static enum err follow(struct search *search, struct why *why)
{
    const struct router *router = search->router;
    struct step step = search->steps[--search->step_count];
    if (!array_reserve(&search->channels, &search->channel_capacity, (size_t)step.hops + 1,
                       sizeof *search->channels))
        return why_memory(why);
    if (step.hops)
        search->channels[step.hops - 1] = step.channel;
    uint32_t count =
        router->algorithm->moves(router, step.node, search->to, &step.state, search->moves);
    assert(count <= router->move_max && step.hops < ROUTE_HOP_MAX);
    if (count == 0) {
        assert(step.node == search->to);
        return way_add(search->ways, search->channels, step.hops, step.share, why);
    }
    search->move_count += count;
    for (uint32_t i = count; i-- > 0;) { /* the first of them ends on top */
        const struct route_move *move = &search->moves[i];
        struct step next = {.state = move->next,
                            .node = graph_channel_to(&router->topology->graph, move->channel),
                            .hops = step.hops + 1,
                            .channel = move->channel,
                            .share = step.share * move->share};
        enum err err = move->share > 0 ? push(search, &next, why) : OK;
        if (err)
            return err;
    }
    return OK;
}

enum err ways_list(struct ways *ways, const struct router *router, uint32_t from, uint32_t to,
                   struct why *why)
{
    struct search search = {.ways = ways, .router = router, .to = to};
    *ways = (struct ways){0};
    search.moves = array_new(router->move_max, sizeof *search.moves);
    enum err err = search.moves ? path_set_pair(&ways->paths, why) : why_memory(why);
    if (!err)
        err = push_starts(&search, from, why);
    while (!err && search.step_count > 0) {
        if (search.move_count > MOVES_MAX || ways->paths.path_count > WAYS_MAX)
            err = refuse_many(&search, why);
        else
            err = follow(&search, why);
    }
    if (!err)
        err = ways_sort(ways, why);
    free(search.moves);
    free(search.steps);
    free(search.channels);
    if (err)
        ways_fini(ways);
    return err;
}

/* Draws one packet's channels into an array that grows as needed. */
static enum err draw_one(struct ways *ways, const struct router *router, uint32_t from, uint32_t to,
                         struct rng *rng, uint32_t **channels, size_t *capacity, struct why *why)
{
    uint32_t hops = 0;
    struct rng before = *rng;
    enum err err = route_walk(router, from, to, rng, *channels, (uint32_t)*capacity, &hops, why);
    if (!err && hops > *capacity) {
        if (!array_reserve(channels, capacity, hops, sizeof **channels))
            return why_memory(why);
        *rng = before; /* repeat the same packet */
        err = route_walk(router, from, to, rng, *channels, hops, &hops, why);
    }
    return err ? err : way_add(ways, *channels, hops, 1, why);
}

enum err ways_draw(struct ways *ways, const struct router *router, uint32_t from, uint32_t to,
                   uint32_t count, struct rng *rng, struct why *why)
{
    uint32_t *channels = NULL;
    size_t capacity = 0;
    *ways = (struct ways){0};
    enum err err = path_set_pair(&ways->paths, why);
    for (uint32_t i = 0; i < count && !err; i++)
        err = draw_one(ways, router, from, to, rng, &channels, &capacity, why);
    if (!err)
        err = ways_sort(ways, why);
    free(channels);
    if (err)
        ways_fini(ways);
    return err;
}
