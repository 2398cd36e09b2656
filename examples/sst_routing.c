/* sst_routing: routers that share the costs of their links in a table.
 *
 * Each router computes its shortest paths and adds a predicate that holds only if a changed cost
 * changes one of these paths; the trigger computes the paths again. For comparison, a second
 * predicate triggers on every change. In the end both must have the same routes.
 *
 *     cc -o sst_routing sst_routing.c $(pkg-config --cflags --libs weft)
 *     ./sst_routing [ROUTERS [CHANGES [SEED]]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/sst.h>

#define TABLE_ID    2005
#define ROUTERS_MAX 16
#define DEADLINE    ripc_after(60000000000)

struct row {
    uint32_t costs[ROUTERS_MAX]; /* of this router's links to each router */
    uint64_t changes;            /* number of changes that this router made */
};
enum { COSTS, CHANGES };
static const struct sst_column columns[] = {
    [COSTS] = SST_COLUMN(struct row, costs, SST_U32, 0),
    [CHANGES] = SST_COLUMN(struct row, changes, SST_U64, SST_GUARD | SST_GROWS),
};

/* Distance to each router, and the router before it on the path: of several, the lowest. */
struct routes {
    unsigned found; /* number of times the routes were computed */
    uint32_t distance[ROUTERS_MAX], through[ROUTERS_MAX];
};

static struct routes lazy, eager;
static uint32_t routers, changes;

/* Returns the result; exits if it is an error. */
static int64_t must(const char *what, int64_t result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, ripc_strerror((int)result));
    exit(EXIT_FAILURE);
}

/* Holds if a link offers a better path, or the cost of a link in use changed. */
static bool routes_change(const struct sst *table, void *argument)
{
    const struct routes *routes = argument;
    uint32_t costs[ROUTERS_MAX];
    for (uint32_t from = 0; from < routers; from++) {
        must("read", sst_get(table, from, &(struct sst_range){.column = COSTS}, costs));
        for (uint32_t to = 0; to < routers; to++) {
            uint32_t distance = routes->distance[from] + costs[to];
            if (distance < routes->distance[to] ||
                (distance == routes->distance[to] && from < routes->through[to]) ||
                (distance != routes->distance[to] && from == routes->through[to]))
                return true;
        }
    }
    return false;
}

static void routes_find(struct sst *table, void *argument)
{
    struct routes *routes = argument;
    uint32_t costs[ROUTERS_MAX][ROUTERS_MAX] = {0};
    routes->found++;
    for (uint32_t from = 0; from < routers; from++)
        must("read", sst_get(table, from, &(struct sst_range){.column = COSTS}, costs[from]));
    memset(routes->distance, 1, sizeof routes->distance); /* far away */
    memset(routes->through, 0xff, sizeof routes->through);
    routes->distance[sst_row_own(table)] = 0;
    for (uint32_t round = 0; round < routers; round++)
        for (uint32_t i = 0; i < routers * routers; i++) {
            uint32_t from = i / routers, to = i % routers;
            uint32_t distance = routes->distance[from] + costs[from][to];
            if (distance < routes->distance[to] ||
                (distance == routes->distance[to] && from < routes->through[to])) {
                routes->distance[to] = distance;
                routes->through[to] = from;
            }
        }
}

static bool always(const struct sst *table, void *argument)
{
    return true;
}

static int router_run(unsigned seed)
{
    struct sst_predicate predicates[] = {
        {"routes change", SST_RECURRENT, routes_change, routes_find, &lazy, (uint32_t[]){COSTS}, 1},
        {"costs change", SST_RECURRENT, always, routes_find, &eager, (uint32_t[]){COSTS}, 1}};
    struct sst_config config = {.table = TABLE_ID, .columns = columns, .column_count = 2};
    config.row_size = sizeof(struct row);
    config.rows_wanted = routers;
    config.flags = SST_MANUAL; /* no thread: sst_step and waiting calls evaluate the predicates */
    struct ripc *ripc;
    struct sst *table;
    must("open", ripc_open(NULL, &ripc));
    must("open the table", sst_open(ripc, &config, &table));
    struct row *own = sst_own(table);
    srand(seed + sst_row_own(table));
    for (uint32_t to = 0; to < routers; to++)
        own->costs[to] = 1 + (uint32_t)rand() % 100;
    must("put", sst_put(table, &(struct sst_range){.column = COSTS}, 1, NULL));
    must("barrier", sst_barrier(table, DEADLINE));
    must("add a predicate", sst_predicate_add(table, &predicates[0], NULL));
    must("add a predicate", sst_predicate_add(table, &predicates[1], NULL));
    for (uint32_t i = 1; i <= changes; i++) {
        struct sst_range cost = {COSTS, (uint32_t)rand() % routers, 1};
        own->costs[cost.first] = 1 + (uint32_t)rand() % 100;
        must("publish", sst_publish(table, &cost, 1, CHANGES, i, NULL));
        sst_step(table, ripc_after(200000));
    }
    while (sst_sum_u64(table, CHANGES) < (uint64_t)routers * changes ||
           routes_change(table, &lazy) || routes_change(table, &eager))
        must("step", sst_step(table, DEADLINE));
    bool same = !memcmp(lazy.through, eager.through, sizeof lazy.through);
    printf("router %u: found its routes %u times instead of %u, %s\n", sst_row_own(table),
           lazy.found, eager.found, same ? "and they are the same" : "but they differ");
    must("barrier", sst_barrier(table, DEADLINE)); /* no member leaves before all are done */
    must("close the table", sst_close(table, DEADLINE));
    ripc_close(ripc, DEADLINE);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int count, char **words)
{
    routers = count > 1 ? (uint32_t)atoi(words[1]) : 4;
    changes = count > 2 ? (uint32_t)atoi(words[2]) : 100;
    if (count > 4 || routers < 2 || routers > ROUTERS_MAX || changes < 1) {
        fprintf(stderr, "usage: sst_routing [ROUTERS [CHANGES [SEED]]]\n");
        return 2;
    }
    for (uint32_t i = 0; i < routers; i++)
        if (fork() == 0) /* before any context is open: a child must not use its parent's
                          * contexts */
            return router_run(count > 3 ? (unsigned)atoi(words[3]) : 1);
    int status, failed = 0;
    while (wait(&status) > 0)
        failed |= status;
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
