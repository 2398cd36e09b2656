/* Small applications of shared state tables with real processes: counting in step; electing a
 * leader while members are killed; and routing, where a predicate decides when to compute routes
 * again, checked against an oracle that computes all routes at every change.
 *
 *   sst_apps_test [SEED] */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <weft/sst.h>

#include "base/rng.h"
#include "process.h"

#define MEMBERS_MAX 8
#define SECOND      1000000000LL
#define PATIENCE    ripc_after(30 * SECOND)

/* Ends the process with a line that gives the reason. */
#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# line %d: %s\n", __LINE__, #condition);                              \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

/* Results of the processes for the test. Each word has one writer; stored relaxed if it is only a
 * counter, otherwise with release, and loaded with acquire. */
struct shared {
    _Atomic uint64_t follows[MEMBERS_MAX + 1]; /* by id: the leader that it follows */
    _Atomic uint64_t leads[MEMBERS_MAX + 1];   /* by id: how many members elected it */
    _Atomic bool doomed[MEMBERS_MAX + 1];      /* by id: written before it is killed */
    _Atomic bool stop;
    _Atomic uint64_t found[MEMBERS_MAX], checked[MEMBERS_MAX]; /* routing: by process */
};
static struct shared *shared;

static struct {
    uint64_t table; /* each test has its own */
    uint64_t seed;
    uint32_t members;
    uint64_t wanted;
} task;

static pid_t start(void (*run)(uint32_t index), uint32_t index)
{
    fflush(stdout);
    pid_t pid = fork(); /* before there are threads */
    demand(pid >= 0);
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run(index);
    _exit(0);
}

static bool run_all(void (*run)(uint32_t index))
{
    pid_t pids[MEMBERS_MAX];
    bool good = true;
    for (uint32_t i = 0; i < task.members; i++)
        pids[i] = start(run, i);
    for (uint32_t i = 0; i < task.members; i++)
        good &= process_ended_well(pids[i]);
    return good;
}

static void enter(const struct sst_column *columns, uint32_t column_count, uint32_t row_size,
                  ripc_id member, struct ripc **ripc, struct sst **table)
{
    struct sst_config config = {
        .table = task.table,
        .columns = columns,
        .column_count = column_count,
        .row_size = row_size,
        .member = member,
        .rows_wanted = task.members,
        .deadline = PATIENCE,
    };
    demand(ripc_open(NULL, ripc) == 0);
    demand(sst_open(*ripc, &config, table) == 0);
}

static void leave(struct ripc *ripc, struct sst *table)
{
    demand(sst_close(table, PATIENCE) == 0);
    demand(ripc_close(ripc, PATIENCE) == 0);
}

static void predicate_add(struct sst *table, enum sst_kind kind, sst_holds *holds, sst_fire *fire,
                          void *argument)
{
    struct sst_predicate predicate = {
        .kind = kind,
        .holds = holds,
        .fire = fire,
        .argument = argument,
        .columns = (uint32_t[]){0},
        .column_count = 1,
    };
    demand(sst_predicate_add(table, &predicate, NULL) == 0);
}

/* ---- counting ---- */

struct count_row {
    uint64_t count;
};
static const struct sst_column count_columns[] = {
    SST_COLUMN(struct count_row, count, SST_U64, SST_GROWS),
};

static bool no_row_is_behind(const struct sst *table, void *argument)
{
    const uint64_t *own = argument;
    return *own < task.wanted && sst_all_at_least_u64(table, 0, *own);
}

static void count_on(struct sst *table, void *argument)
{
    uint64_t *own = argument;
    demand(sst_maximum_u64(table, 0) <= *own + 1 && sst_minimum_u64(table, 0) == *own);
    demand(sst_set_u64(table, 0, ++*own) == 0);
}

static bool all_have_counted(const struct sst *table, void *argument)
{
    return sst_all_at_least_u64(table, 0, task.wanted);
}

static void count_in_step(uint32_t index)
{
    struct ripc *ripc;
    struct sst *table;
    uint64_t own = 0;
    enter(count_columns, 1, sizeof(struct count_row), 0, &ripc, &table);
    predicate_add(table, SST_RECURRENT, no_row_is_behind, count_on, &own);
    demand(sst_wait(table, all_have_counted, NULL, (uint32_t[]){0}, 1, PATIENCE) == 0);
    struct sst_stats stats;
    demand(sst_stats(table, &stats) == 0 && stats.fires >= task.wanted);
    leave(ripc, table);
    demand(own == task.wanted);
}

static bool counting(void)
{
    bool good = true;
    for (task.members = 2; task.members <= 6; task.members += 2, task.table++) {
        task.wanted = 6000 / task.members;
        good &= run_all(count_in_step);
    }
    return good;
}

/* ---- election ---- */

struct leader_row {
    uint64_t leader;
};
static const struct sst_column leader_columns[] = {
    SST_COLUMN(struct leader_row, leader, SST_U64, 0),
};

static ripc_id lowest_living(const struct sst *table)
{
    ripc_id lowest = UINT64_MAX;
    for (uint32_t row = 0; row < sst_row_count(table); row++)
        if (sst_is_live(table, row) && sst_member(table, row) < lowest)
            lowest = sst_member(table, row);
    return lowest;
}

static bool leader_is_another(const struct sst *table, void *argument)
{
    return sst_get_u64(table, sst_row_own(table), 0) != lowest_living(table);
}

static void follow(struct sst *table, void *argument)
{
    const ripc_id *own = argument;
    ripc_id leader = lowest_living(table);
    demand(sst_set_u64(table, 0, leader) == 0);
    atomic_store_explicit(&shared->follows[*own], leader, memory_order_release);
}

static bool am_elected(const struct sst *table, void *argument)
{
    const ripc_id *own = argument;
    return lowest_living(table) == *own && sst_all_equal(table, 0) &&
           sst_get_u64(table, sst_row_own(table), 0) == *own;
}

/* The elected leader is the only one: all members with lower ids are dead. */
static void take_office(struct sst *table, void *argument)
{
    const ripc_id *own = argument;
    for (ripc_id lower = 1; lower < *own; lower++)
        demand(atomic_load_explicit(&shared->doomed[lower], memory_order_acquire));
    atomic_store_explicit(&shared->leads[*own], sst_live_count(table), memory_order_release);
}

static void be_elector(uint32_t index)
{
    struct ripc *ripc;
    struct sst *table;
    ripc_id own = index + 1;
    enter(leader_columns, 1, sizeof(struct leader_row), own, &ripc, &table);
    predicate_add(table, SST_RECURRENT, leader_is_another, follow, &own);
    predicate_add(table, SST_TRANSITION, am_elected, take_office, &own);
    while (!atomic_load_explicit(&shared->stop, memory_order_acquire))
        usleep(500);
    leave(ripc, table);
}

/* Waits until all live members follow the lowest of them, and that one knows that it was
 * elected. */
static bool election_settles(const pid_t *pids, uint32_t lowest)
{
    for (int64_t deadline = PATIENCE; ripc_now() < deadline; usleep(200)) {
        bool settled = atomic_load_explicit(&shared->leads[lowest], memory_order_acquire) > 0;
        for (uint32_t i = 0; i < task.members; i++)
            settled &= !pids[i] || atomic_load_explicit(&shared->follows[i + 1],
                                                        memory_order_acquire) == lowest;
        if (settled)
            return true;
    }
    return false;
}

static bool election(void)
{
    struct rng rng = rng_make(task.seed, 2);
    pid_t pids[MEMBERS_MAX];
    bool good = true;
    unsigned living = task.members = 6;
    memset((void *)shared, 0, sizeof *shared);
    for (uint32_t i = 0; i < task.members; i++)
        pids[i] = start(be_elector, i);
    while (good && living > 0) {
        uint32_t leader = 0;
        while (!pids[leader])
            leader++;
        good &= election_settles(pids, leader + 1);
        if (living == 1)
            break;
        /* Kills the leader or any member, at once or after a moment. */
        uint32_t victim = rng_below(&rng, 2) ? leader : (uint32_t)rng_below(&rng, task.members);
        if (!pids[victim])
            continue;
        if (rng_below(&rng, 2))
            usleep((unsigned)rng_below(&rng, 3000));
        atomic_store_explicit(&shared->doomed[victim + 1], true, memory_order_release);
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], NULL, 0);
        pids[victim] = 0;
        living--;
    }
    atomic_store_explicit(&shared->stop, true, memory_order_release);
    for (uint32_t i = 0; i < task.members; i++)
        good &= !pids[i] || process_ended_well(pids[i]);
    task.table++;
    return good;
}

/* ---- routing ---- */

#define FAR (1u << 30)

struct link_row {
    uint32_t costs[MEMBERS_MAX]; /* of the owner's link to each other router; 0: no link */
    uint64_t changes;
};
static const struct sst_column link_columns[] = {
    SST_COLUMN(struct link_row, costs, SST_U32, 0),
    SST_COLUMN(struct link_row, changes, SST_U64, SST_GUARD | SST_GROWS),
};

struct routes {
    uint32_t distance[MEMBERS_MAX];
    uint32_t before[MEMBERS_MAX]; /* the last router before the destination; of several the one with
                                     the lowest number */
};

struct router {
    uint32_t own, index;
    struct routes routes; /* as the predicate maintains them */
    uint64_t found, checked;
    bool settled; /* all changes of all routers were seen */
};

struct costs {
    uint32_t of[MEMBERS_MAX][MEMBERS_MAX];
};

static bool is_nearer(const struct routes *routes, uint32_t to, uint32_t distance, uint32_t from)
{
    return distance < routes->distance[to] ||
           (distance == routes->distance[to] && from < routes->before[to]);
}

/* Dijkstra's algorithm, in its plain form. */
static struct routes routes_of(const struct costs *costs, uint32_t own)
{
    struct routes routes = {0};
    bool done[MEMBERS_MAX] = {false};
    for (uint32_t i = 0; i < task.members; i++) {
        routes.distance[i] = i == own ? 0 : FAR;
        routes.before[i] = UINT32_MAX;
    }
    for (uint32_t round = 0; round < task.members; round++) {
        uint32_t at = UINT32_MAX;
        for (uint32_t i = 0; i < task.members; i++)
            if (!done[i] && (at == UINT32_MAX || routes.distance[i] < routes.distance[at]))
                at = i;
        demand(at < task.members);
        done[at] = true;
        for (uint32_t to = 0; to < task.members; to++)
            if (costs->of[at][to] && routes.distance[at] < FAR &&
                is_nearer(&routes, to, routes.distance[at] + costs->of[at][to], at)) {
                routes.distance[to] = routes.distance[at] + costs->of[at][to];
                routes.before[to] = at;
            }
    }
    return routes;
}

/* Can any shortest path change? Checks each link once. */
static bool routes_change(const struct routes *routes, const struct costs *costs)
{
    for (uint32_t from = 0; from < task.members; from++)
        for (uint32_t to = 0; to < task.members; to++) {
            bool exists = costs->of[from][to] && routes->distance[from] < FAR;
            uint32_t distance = exists ? routes->distance[from] + costs->of[from][to] : FAR;
            if (routes->before[to] == from ? distance != routes->distance[to]
                                           : exists && is_nearer(routes, to, distance, from))
                return true;
        }
    return false;
}

/* Updates the routes and checks them with the oracle, both from the same copy of the table. */
static bool costs_changed(const struct sst *table, void *argument)
{
    struct router *router = argument;
    struct costs costs = {0};
    if (router->settled)
        return false; /* the others may be leaving: their rows no longer count */
    bool settled = sst_sum_u64(table, 1) == task.members * task.wanted;
    for (uint32_t row = 0; row < task.members; row++)
        demand(sst_get(table, row, &(struct sst_range){.column = 0}, costs.of[row]) == 0);
    router->checked++;
    if (routes_change(&router->routes, &costs)) {
        router->routes = routes_of(&costs, router->own);
        router->found++;
    }
    struct routes oracle = routes_of(&costs, router->own);
    for (uint32_t i = 0; i < task.members; i++)
        demand(router->routes.distance[i] == oracle.distance[i] &&
               router->routes.before[i] == oracle.before[i]);
    return settled;
}

static void settle(struct sst *table, void *argument)
{
    struct router *router = argument;
    router->settled = true;
    atomic_store_explicit(&shared->found[router->index], router->found, memory_order_relaxed);
    atomic_store_explicit(&shared->checked[router->index], router->checked, memory_order_release);
}

static void be_router(uint32_t index)
{
    struct ripc *ripc;
    struct sst *table;
    struct rng rng = rng_make(task.seed, 10 + index);
    enter(link_columns, 2, sizeof(struct link_row), 0, &ripc, &table);
    struct router router = {.own = sst_row_own(table), .index = index};
    memset(router.routes.before, 0xff, sizeof router.routes.before);
    for (uint32_t i = 0; i < task.members; i++)
        router.routes.distance[i] = i == router.own ? 0 : FAR;
    struct sst_predicate predicate = {
        .name = "costs changed",
        .kind = SST_RECURRENT,
        .holds = costs_changed,
        .fire = settle,
        .argument = &router,
        .columns = (uint32_t[]){0, 1},
        .column_count = 2,
    };
    demand(sst_predicate_add(table, &predicate, NULL) == 0);
    struct link_row *own = sst_own(table);
    for (uint64_t i = 1; i <= task.wanted; i++) {
        uint32_t to = (uint32_t)rng_below(&rng, task.members);
        own->costs[to] = rng_below(&rng, 4) ? 1 + (uint32_t)rng_below(&rng, 20) : 0;
        struct sst_range range = {0, to, 1};
        demand(sst_publish(table, &range, 1, 1, i, NULL) >= 0);
        usleep((unsigned)rng_below(&rng, 200));
    }
    for (int64_t deadline = PATIENCE; ripc_now() < deadline; usleep(500)) {
        bool settled = true;
        for (uint32_t i = 0; i < task.members; i++)
            settled &= atomic_load_explicit(&shared->checked[i], memory_order_acquire) > 0;
        if (settled)
            break;
    }
    demand(atomic_load_explicit(&shared->checked[index], memory_order_acquire) > 0);
    leave(ripc, table);
}

static bool routing(void)
{
    memset((void *)shared, 0, sizeof *shared);
    task.members = 5;
    task.wanted = 300;
    bool good = run_all(be_router);
    uint64_t found = 0, checked = 0;
    for (uint32_t i = 0; i < task.members; i++) {
        found += shared->found[i];
        checked += shared->checked[i];
    }
    printf("# routes were found %llu times, of %llu checks\n", (unsigned long long)found,
           (unsigned long long)checked);
    task.table++;
    return good && found > 0 && found < checked;
}

int main(int count, char **words)
{
    char folder[] = "/dev/shm/weft-apps-XXXXXX";
    task.seed = count > 1 ? strtoull(words[1], NULL, 0) : (uint64_t)ripc_now();
    task.table = 100;
    printf("1..4\n# seed %llu: replay with %s %llu\n", (unsigned long long)task.seed, words[0],
           (unsigned long long)task.seed);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
        return 1;
    bool counts = counting();
    printf("%sok 1 - two, four and six processes count in step\n", counts ? "" : "not ");
    bool elects = election();
    printf("%sok 2 - after each kill the lowest live member is elected\n", elects ? "" : "not ");
    bool routes = routing();
    printf("%sok 3 - the predicate notices every change of a route\n", routes ? "" : "not ");
    ripc_clean(NULL);
    bool clean = rmdir(folder) == 0;
    printf("%sok 4 - nothing is left behind\n", clean ? "" : "not ");
    return counts && elects && routes && clean ? 0 : 1;
}
