/* sst_routing: figure 9 of "Distributed State Sharing and Predicate Detection over RDMA": routers
 * share the costs of their links in a table. A predicate holds when a shortest path can have
 * changed; its trigger computes all paths again.
 *
 * The network is that of the paper: a hub with cheap links to all other routers, which form a ring
 * with expensive links. The hub makes one of its links so expensive that all paths to that router
 * must leave the hub over another link, and then cheap again; each time every router computes its
 * paths. All nodes read the same clock, so times are measured without round trips.
 *
 * Then a router of the ring changes the cost of a link that is on no shortest path, and no router
 * should compute. Another algorithm checks the computed paths. */
#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "measured/figures.h"
#include "measured/sample.h"
#include "measured/sst/sst_node.h"
#include "measured/sst/sst_paths.h"
#include "transport/clock.h"

#define ROUND_MAX     100
#define SPOKE         1  /* cost of a link of the hub */
#define SPOKE_DEAR    50 /* cost of the changing link, every other time */
#define RIM           10 /* cost of a link of the ring */
#define CHANGED       1  /* the router at the other end of the changing link */
#define QUIET_CHANGES 20 /* changes of a link that is on no shortest path */
#define NAP_NSEC      (200 * 1000LL)
#define PATIENCE_NSEC (60 * NSEC_PER_SEC)
#define QUIET_NSEC    (20 * 1000 * 1000LL) /* enough to notice a router that computes */

struct routing_job {
    uint32_t nodes;
    enum sst_node_waiting waiting;
    uint32_t rounds;
};

/* The log of a router, written by its trigger. */
struct router_log {
    _Atomic uint64_t installed; /* tables so far; incremented with release after the rest */
    nsec at;                    /* when the last table was ready */
    nsec length;                /* time to compute it */
    uint64_t sum;               /* of all distances in it */
};

/* Shared by the crowd. */
struct stage {
    struct router_log routers[CROWD_MAX];
    /* us from the change until the first and until the last router is ready */
    double first[ROUND_MAX], last[ROUND_MAX];
    double length[ROUND_MAX]; /* us to compute; the median of the routers */
    uint64_t right, tables;   /* correct tables, and all tables */
    uint64_t needless;        /* tables that all nodes together computed without need */
};

struct play {
    const struct routing_job *job;
    struct stage *stage;
};

/* The argument of the callbacks of a node. */
struct router {
    struct sst_node node;
    const struct play *play;
    struct paths paths; /* used by the detector's thread only */
};

enum { LINKS };

/* --- a router --- */

static bool path_can_change(const struct sst *table, void *argument)
{
    const struct router *router = argument;
    const struct paths *paths = &router->paths;
    for (uint32_t from = 0; from < paths->count; from++) {
        const uint32_t *costs = sst_cells(table, router->node.rows[from], LINKS);
        for (uint32_t to = 0; to < paths->count; to++) {
            uint32_t cost = __atomic_load_n(&costs[to], __ATOMIC_RELAXED);
            if (cost != paths->costs[from][to] && paths_can_change(paths, from, to, cost))
                return true;
        }
    }
    return false;
}

static uint64_t distances_sum(const struct paths *paths)
{
    uint64_t sum = 0;
    for (uint32_t from = 0; from < paths->count; from++)
        for (uint32_t to = 0; to < paths->count; to++)
            sum += paths->distances[from][to];
    return sum;
}

static void paths_install(struct sst *table, void *argument)
{
    struct router *router = argument;
    struct paths *paths = &router->paths;
    struct router_log *log = &router->play->stage->routers[router->node.crowd->index];
    nsec since = clock_now();
    for (uint32_t from = 0; from < paths->count; from++)
        sst_node_check(&router->node,
                       sst_get(table, router->node.rows[from], &(struct sst_range){.column = LINKS},
                               paths->costs[from]),
                       "sst_get");
    paths_compute(paths);
    log->at = clock_now();
    log->length = log->at - since;
    log->sum = distances_sum(paths);
    atomic_fetch_add_explicit(&log->installed, 1, memory_order_release);
}

/* --- the hub, which changes a link and waits --- */

static void link_set(struct router *router, uint32_t to, uint32_t cost)
{
    uint32_t *costs = sst_own(router->node.table);
    costs[to] = cost;
    struct sst_range one = {.column = LINKS, .first = to, .count = 1};
    sst_node_check(&router->node, sst_put(router->node.table, &one, 1, NULL), "sst_put");
}

static void installed_await(struct router *router, uint32_t index, uint64_t count)
{
    nsec limit = clock_after(PATIENCE_NSEC);
    const struct router_log *log = &router->play->stage->routers[index];
    while (atomic_load_explicit(&log->installed, memory_order_acquire) < count) {
        if (clock_now() > limit)
            crowd_fail(router->node.crowd, "router %u did not detect the change in time", index);
        clock_nap(NAP_NSEC);
    }
}

/* Computes the sum of all distances with that cost by the Floyd-Warshall algorithm. */
static uint64_t sum_expected(uint32_t count, uint32_t cost)
{
    static struct paths wheel;
    paths_wheel(&wheel, count, SPOKE, RIM);
    wheel.costs[0][CHANGED] = cost;
    uint64_t d[PATHS_NODES_MAX][PATHS_NODES_MAX], sum = 0;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < count; b++)
            d[a][b] = a == b ? 0 : wheel.costs[a][b] ? wheel.costs[a][b] : UINT32_MAX;
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t a = 0; a < count; a++)
            for (uint32_t b = 0; b < count; b++)
                d[a][b] = d[a][k] + d[k][b] < d[a][b] ? d[a][k] + d[k][b] : d[a][b];
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < count; b++)
            sum += d[a][b];
    return sum;
}

static void round_run(struct router *router, uint32_t round, struct rng *rng)
{
    struct stage *stage = router->play->stage;
    const uint32_t count = router->node.crowd->count;
    uint32_t cost = round % 2 ? SPOKE_DEAR : SPOKE;
    double lengths[CROWD_MAX];
    clock_nap(NAP_NSEC + (nsec)rng_below(rng, NAP_NSEC)); /* now all nodes wait again */
    nsec since = clock_now(), first = NSEC_NEVER, last = 0;
    link_set(router, CHANGED, cost);
    uint64_t sum = sum_expected(count, cost);
    for (uint32_t i = 0; i < count; i++) {
        const struct router_log *log = &stage->routers[i];
        installed_await(router, i, round);
        stage->tables++;
        stage->right += log->sum == sum;
        lengths[i] = (double)log->length * 1e-3;
        if (i == 0)
            continue; /* the times of the paper leave out the hub */
        first = log->at < first ? log->at : first;
        last = log->at > last ? log->at : last;
    }
    stage->first[round - 1] = (double)(first - since) * 1e-3;
    stage->last[round - 1] = (double)(last - since) * 1e-3;
    stage->length[round - 1] = sample_median(lengths, count);
}

static uint64_t installed_sum(const struct stage *stage, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += atomic_load_explicit(&stage->routers[i].installed, memory_order_acquire);
    return sum;
}

/* --- the play --- */

static void router_open(struct router *router, struct crowd *crowd)
{
    const struct routing_job *job = router->play->job;
    const struct sst_column columns[] = {{.name = "links", .type = SST_U32, .count = job->nodes}};
    const struct sst_node_plan plan = {
        .design = SST_WRITES,
        .waiting = job->waiting,
        .columns = columns,
        .column_count = 1,
        .row_size = job->nodes * (uint32_t)sizeof(uint32_t),
    };
    struct sst_node *node = &router->node;
    crowd_pin(crowd->index);
    sst_node_open(node, crowd, &plan, true);
    paths_wheel(&router->paths, job->nodes, SPOKE, RIM);
    memcpy(sst_own(node->table), router->paths.costs[crowd->index], plan.row_size);
    sst_node_check(node, sst_put(node->table, &(struct sst_range){.column = LINKS}, 1, NULL),
                   "sst_put");
    sst_node_check(node, sst_flush(node->table, RIPC_FOREVER), "sst_flush");
    crowd_meet(crowd);
}

static void routing_play(struct crowd *crowd, const void *argument)
{
    static const uint32_t named[] = {LINKS};
    const struct play *play = argument;
    struct router router = {.play = play};
    struct stage *stage = play->stage;
    router_open(&router, crowd);
    struct sst_predicate predicate = {
        .name = "paths",
        .kind = SST_RECURRENT,
        .holds = path_can_change,
        .fire = paths_install,
        .argument = &router,
        .columns = named,
        .column_count = 1,
    };
    sst_node_check(&router.node, sst_predicate_add(router.node.table, &predicate, NULL),
                   "sst_predicate_add");
    crowd_meet(crowd);
    struct rng rng = rng_make(play->job->rounds, 9);
    for (uint32_t round = 1; crowd->index == 0 && round <= play->job->rounds; round++)
        round_run(&router, round, &rng);
    crowd_meet(crowd);
    uint64_t before = installed_sum(stage, crowd->count);
    crowd_meet(crowd);
    for (uint32_t i = 1; crowd->index == 1 && i <= QUIET_CHANGES; i++)
        link_set(&router, 2, RIM + i);
    sst_node_check(&router.node, sst_flush(router.node.table, RIPC_FOREVER), "sst_flush");
    clock_nap(QUIET_NSEC);
    crowd_meet(crowd);
    if (crowd->index == 0)
        stage->needless = installed_sum(stage, crowd->count) - before;
    crowd_meet(crowd);
}

/* --- the figure --- */

static const uint32_t nodes_full[] = {4, 8, 12, 16, 20, 24, 28}, nodes_quick[] = {4, 6};
static const enum sst_node_waiting waitings[] = {NODES_YIELD, NODES_SLEEP};
#define WAITING_COUNT (sizeof waitings / sizeof waitings[0])

/* Sums over all sizes and ways to wait. */
struct outcome {
    uint64_t right, tables, needless, quiet;
};

static enum err nodes_route(struct figure_table *table, const struct routing_job *job,
                            struct outcome *outcome, struct why *why)
{
    struct stage *stage = crowd_memory(sizeof *stage);
    struct play play = {job, stage};
    struct crowd_play crowd = {"routing", job->nodes, routing_play, &play};
    struct crowd_end end;
    assert(job->rounds <= ROUND_MAX);
    if (!stage)
        return why_memory(why);
    enum err err = crowd_run(&crowd, &end, why);
    if (!err) {
        figure_row_named(table, sst_node_waiting_names[job->waiting],
                         (double[]){job->nodes, sample_median(stage->first, job->rounds),
                                    sample_median(stage->last, job->rounds),
                                    sample_median(stage->length, job->rounds)});
        outcome->right += stage->right;
        outcome->tables += stage->tables;
        outcome->needless += stage->needless;
        outcome->quiet += (uint64_t)QUIET_CHANGES * job->nodes;
    }
    crowd_memory_free(stage, sizeof *stage);
    return err;
}

/* Changes one of the random costs of a wheel, many times. Counts the changes that make a table
 * wrong, and how each rule judges them. Returns the share of them that the printed rule misses, in
 * percent. */
static double rules_compare(struct figure_result *result, const struct figure_call *call)
{
    static struct paths paths, now;
    struct figure_table *table =
        figure_table_add(result, "rules", "rule, changes, wrong_tables, missed, needless");
    struct rng rng = rng_make(call->seed, 10);
    uint64_t changes = call->quick ? 500 : 5000, wrong = 0;
    uint64_t missed[2] = {0}, needless[2] = {0};
    for (uint64_t i = 0; i < changes; i++) {
        paths_wheel(&paths, 10, SPOKE, RIM);
        for (uint32_t k = 0; k < 100; k++)
            if (paths.costs[k / 10][k % 10])
                paths.costs[k / 10][k % 10] = 1 + (uint32_t)rng_below(&rng, 20);
        paths_compute(&paths);
        uint32_t from = (uint32_t)rng_below(&rng, 10), to;
        while (!paths.costs[from][to = (uint32_t)rng_below(&rng, 10)])
            ;
        uint32_t cost = 1 + (uint32_t)rng_below(&rng, 20);
        now = paths;
        now.costs[from][to] = cost;
        paths_compute(&now);
        bool stale = !paths_are_shortest(&paths, &now);
        bool says[2] = {paths_can_change(&paths, from, to, cost),
                        paths_can_change_printed(&paths, from, to, cost)};
        wrong += stale;
        for (int rule = 0; rule < 2; rule++) {
            missed[rule] += stale && !says[rule];
            needless[rule] += !stale && says[rule];
        }
    }
    for (int rule = 0; rule < 2; rule++)
        figure_row_named(table, rule ? "printed" : "weft",
                         (double[]){changes, wrong, missed[rule], needless[rule]});
    return 100 * (double)missed[1] / (double)wrong;
}

static void routing_claims(struct figure_result *result, const struct outcome *outcome,
                           double missed)
{
    figure_claim(result, "fig 9", "routers with correct tables after each change of a link",
                 says_equal(100, 0, "%"), 100 * (double)outcome->right / (double)outcome->tables,
                 NULL);
    figure_claim(result, "section 5.8", "recomputations after changes that affect no shortest path",
                 says_equal(0, 0, NULL), (double)outcome->needless, NULL);
    figure_claim(result, "section 5.8",
                 "wrong tables after a changed cost that the printed rule misses",
                 says_equal(0, 0, "%"), missed, NULL);
}

static enum err fig9_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct figure_table *table = figure_table_add(
        result, "routing", "waiting, nodes, first (us), last (us), recompute (us)");
    const uint32_t *nodes = call->quick ? nodes_quick : nodes_full;
    size_t count = (call->quick ? sizeof nodes_quick : sizeof nodes_full) / sizeof *nodes;
    struct outcome outcome = {0};
    for (size_t i = 0; i < WAITING_COUNT * count; i++) {
        struct routing_job job = {
            .nodes = nodes[i % count],
            .waiting = waitings[i / count],
            .rounds = call->quick ? 10 : ROUND_MAX,
        };
        enum err err = nodes_route(table, &job, &outcome, why);
        if (err)
            return err;
        figure_progress(call, i + 1, WAITING_COUNT * count);
    }
    routing_claims(result, &outcome, rules_compare(result, call));
    return OK;
}

const struct figure figure_sst_fig9 = {
    .name = "sst-fig9",
    .paper = "SST",
    .what = "time until all routers have new tables after a link changed",
    .full = {"4 to 28 processes, 100 changes each", .seconds = 15},
    .quick = {"4 and 6 processes, 10 changes each", .seconds = 2},
    .choice = "The routers share the costs of their links in a table; a predicate tells each of "
              "them when to compute its paths again. Every router computes the paths between all "
              "pairs, so a changed link of the hub affects all. The paper prints no numbers for "
              "its figure. Processes share the cores of this machine, once with detectors that "
              "yield, once with detectors that sleep.",
    .measured = true,
    .plot.table = "routing",
    .plot.x = {.column = "nodes", .label = "nodes"},
    .plot.y = {.label = "time after the change (us)", .log = true},
    .plot.series =
        {
            {"first node, yielding", "first", "waiting", "yielding", STYLE_BOTH},
            {"last node, yielding", "last", "waiting", "yielding", STYLE_BOTH},
            {"first node, asleep", "first", "waiting", "asleep", STYLE_BOTH},
            {"last node, asleep", "last", "waiting", "asleep", STYLE_BOTH},
            {"computing the table", "recompute", "waiting", "yielding", STYLE_BOTH},
        },
    .run = fig9_run,
};
