/* node: nodes never leave the table, because a membership that shrinks one by one would be another
 * measurement. The crowd ends all of them at once and removes its folder with all their files. */
#include "measured/sst/sst_node.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "transport/clock.h"

#define TABLE_NAME    77
#define FOREVER_NSEC  (3600 * NSEC_PER_SEC)
#define PATIENCE_NSEC (100 * NSEC_PER_SEC)
#define NAP_NSEC      (2 * 1000 * 1000LL)

const char *const sst_node_waiting_names[SST_NODE_WAITING_COUNT] = {
    [NODES_BUSY] = "busy",
    [NODES_YIELD] = "yielding",
    [NODES_SLEEP] = "asleep",
    [NODES_REST] = "others rest",
};
const char *const sst_node_design_names[2] = {
    [SST_WRITES] = "writes",
    [SST_READS] = "reads",
};

void sst_node_check(const struct sst_node *node, int result, const char *what)
{
    if (result < 0)
        crowd_fail(node->crowd, "%s: %s", what, ripc_strerror(result));
}

void sst_node_await(const struct sst_node *node, const _Atomic bool *flag)
{
    nsec limit = clock_after(PATIENCE_NSEC);
    while (!atomic_load_explicit(flag, memory_order_acquire)) {
        if (clock_now() > limit)
            crowd_fail(node->crowd, "node %u: the predicate was not detected in time",
                       node->crowd->index);
        clock_nap(NAP_NSEC);
    }
}

static void context_open(struct sst_node *node, const struct sst_node_plan *plan)
{
    char reason[RIPC_REASON_MAX] = "";
    struct ripc_config config = {
        .domain = "measured",
        .names = "host",
        .transports = plan->fabric ? "fabric" : "shm",
        .provider = "tcp",
        .address = plan->fabric ? "127.0.0.1" : NULL,
        .reason = reason,
    };
    if (setenv("WEFT_FOLDER", node->crowd->folder, 1))
        crowd_fail(node->crowd, "not enough memory");
    int error = ripc_open(&config, &node->ripc);
    if (error < 0 && plan->fabric)
        crowd_missing(node->crowd, "%s", reason[0] ? reason : ripc_strerror(error));
    if (error < 0)
        crowd_fail(node->crowd, "ripc_open: %s", reason[0] ? reason : ripc_strerror(error));
}

/* Waits until all nodes have joined. Nodes without a detector thread must call sst_step, because
 * the others need their answers. */
static void others_await(struct sst_node *node)
{
    nsec limit = clock_after(PATIENCE_NSEC);
    crowd_arrive(node->crowd);
    while (!crowd_is_full(node->crowd, 1)) {
        if (clock_now() > limit)
            crowd_fail(node->crowd, "node %u: the other nodes did not join in time",
                       node->crowd->index);
        if (node->rests)
            (void)sst_step(node->table, ripc_after(NAP_NSEC));
        else
            clock_nap(NAP_NSEC);
    }
}

/* Never holds. It names no columns, so the detector evaluates it on every pass and never sleeps. */
static bool poll_again(const struct sst *table, void *argument)
{
    return false;
}

static bool poll_and_yield(const struct sst *table, void *argument)
{
    sched_yield();
    return false;
}

/* Detectors that poll would take the cores from nodes that are still joining. So they sleep until
 * all nodes have joined, and this predicate keeps them awake afterwards. */
static void detector_wake(struct sst_node *node, const struct sst_node_plan *plan)
{
    struct sst_predicate awake = {
        .name = "awake",
        .kind = SST_RECURRENT,
        .holds = plan->waiting == NODES_YIELD ? poll_and_yield : poll_again,
    };
    sst_node_check(node, sst_predicate_add(node->table, &awake, NULL), "sst_predicate_add");
}

static void rows_find(struct sst_node *node)
{
    const struct crowd *crowd = node->crowd;
    for (uint32_t i = 0; i < crowd->count; i++) {
        int row = sst_row_of(node->table, NODE_ID(i));
        sst_node_check(node, row, "a member");
        node->rows[i] = (uint32_t)row;
    }
    if (sst_live_count(node->table) != crowd->count)
        crowd_fail(node->crowd, "node %u sees %u members instead of %u", crowd->index,
                   sst_live_count(node->table), crowd->count);
}

/* If many processes share a core, two may need longer to connect than the table allows. The later
 * one is then refused and retries. */
static int table_open(struct sst_node *node, const struct sst_config *config)
{
    int error;
    do {
        error = sst_open(node->ripc, config, &node->table);
    } while ((error == -ECONNREFUSED || error == -EADDRINUSE) && clock_now() < config->deadline);
    return error;
}

void sst_node_open(struct sst_node *node, struct crowd *crowd, const struct sst_node_plan *plan,
                   bool acts)
{
    char reason[RIPC_REASON_MAX] = "";
    bool polls = plan->waiting != NODES_SLEEP, fits = crowd->count <= crowd->cores;
    nsec pause = polls && fits && plan->waiting != NODES_YIELD ? FOREVER_NSEC : -1;
    struct sst_config config = {
        .table = TABLE_NAME,
        .columns = plan->columns,
        .column_count = plan->column_count,
        .row_size = plan->row_size,
        .member = NODE_ID(crowd->index),
        .design = plan->design,
        .rows_max = CROWD_MAX,
        .rows_wanted = crowd->count,
        .deadline = ripc_after(PATIENCE_NSEC),
        .spin_nsec = pause,
        .yield_nsec = pause,
        .reason = reason,
    };
    *node = (struct sst_node){.crowd = crowd, .rests = plan->waiting == NODES_REST && !acts};
    if (node->rests)
        config.flags = SST_MANUAL;
    context_open(node, plan);
    int error = table_open(node, &config);
    if (error < 0)
        crowd_fail(crowd, "sst_open: %s", reason[0] ? reason : ripc_strerror(error));
    others_await(node);
    rows_find(node);
    if (polls && pause < 0 && !node->rests)
        detector_wake(node, plan);
}
