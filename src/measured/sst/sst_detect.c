/* detect: the value of round r of an act is r + ((act + 1) << ACT_SHIFT), so that no value of an
 * earlier act counts as an answer. A node that does not answer has a value above all rounds
 * during the whole act, so that node 0 does not wait for it. */
#include "measured/sst/sst_detect.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

#define ACT_SHIFT         16
#define PAUSE_NSEC        2000  /* the longest pause before a trip in shared memory */
#define PAUSE_FABRIC_NSEC 20000 /* the longest pause before a trip over a fabric */

static_assert(2 * TRIP_MAX < 1 << ACT_SHIFT, "acts do not overlap");

enum { VALUE }; /* the only column */

static const struct sst_column number_columns[] = {
    {.name = "a", .type = SST_U64, .count = 1},
};

/* Memory that all processes of the crowd share. The trigger of node 0 sets done[act] with release
 * order when the act ends. */
struct stage {
    _Atomic bool done[DETECT_ACTS_MAX];
};

struct play {
    const struct detect_job *job;
    struct detect_result *result;
    struct stage *stage;
};

/* The argument of the callbacks of a node; each process has one. */
struct actor {
    struct sst_node node;
    const struct play *play;
    const struct detect_act *act;
    uint32_t act_index;
    uint32_t last;  /* the last node, which always answers */
    uint64_t round; /* the value that node 0 waits for; used by the detector's thread only */
    struct trip trip;
    uint64_t handle;
    bool started;
};

/* ---- the value of a row, for both types of the column ---- */

static uint64_t value_get(const struct actor *actor, uint32_t index)
{
    uint32_t row = actor->node.rows[index], elements = actor->play->job->elements;
    if (elements <= 1)
        return sst_get_u64(actor->node.table, row, VALUE);
    const uint32_t *cells = sst_cells(actor->node.table, row, VALUE);
    /* The value is the last element. If another member has not yet finished its put and the old
     * value is read, the next evaluation reads the new value. */
    return __atomic_load_n(&cells[elements - 1], __ATOMIC_ACQUIRE);
}

/* Puts the whole row, as in the paper. */
static void value_set(struct actor *actor, uint64_t value)
{
    uint32_t elements = actor->play->job->elements;
    if (elements == 0) {
        sst_node_check(&actor->node, sst_set_u64(actor->node.table, VALUE, value), "sst_set_u64");
        return;
    }
    uint32_t *image = sst_own(actor->node.table);
    image[elements - 1] = (uint32_t)value;
    struct sst_range all = {.column = VALUE};
    sst_node_check(&actor->node, sst_put(actor->node.table, &all, 1, NULL), "sst_put");
}

static uint64_t value_first(const struct actor *actor)
{
    return (uint64_t)(actor->act_index + 1) << ACT_SHIFT;
}

static bool actor_answers(const struct actor *actor, uint32_t index)
{
    return index == actor->last || (actor->act->all && index != 0);
}

/* ---- the answering nodes ---- */

static bool is_asked(const struct sst *table, void *argument)
{
    const struct actor *actor = argument;
    return value_get(actor, 0) > value_get(actor, actor->node.crowd->index);
}

static void answer(struct sst *table, void *argument)
{
    struct actor *actor = argument;
    value_set(actor, value_get(actor, 0));
}

/* ---- node 0 ---- */

/* Reads as many rows as the act says: those of nodes 1, 2, ... and of the last node. */
static bool is_answered(const struct sst *table, void *argument)
{
    const struct actor *actor = argument;
    for (uint32_t i = 1; i < actor->act->rows; i++)
        if (value_get(actor, i) < actor->round)
            return false;
    return value_get(actor, actor->last) >= actor->round;
}

static bool row_is_set(const struct actor *actor, uint32_t index)
{
    uint32_t elements = actor->play->job->elements, zeroes = 0;
    if (elements <= 1)
        return value_get(actor, index) != 0;
    const uint32_t *cells = sst_cells(actor->node.table, actor->node.rows[index], VALUE);
    for (uint32_t i = 0; i < elements; i++)
        zeroes += __atomic_load_n(&cells[i], __ATOMIC_RELAXED) == 0;
    return zeroes == 0;
}

static bool is_answered_whole(const struct sst *table, void *argument)
{
    const struct actor *actor = argument;
    if (value_get(actor, actor->last) < actor->round)
        return false;
    for (uint32_t i = 0; i < actor->node.crowd->count; i++)
        if (!row_is_set(actor, i))
            return false;
    return true;
}

static void next_trip(struct sst *table, void *argument)
{
    struct actor *actor = argument;
    if (actor->started && trip_end(&actor->trip)) {
        sst_predicate_remove(table, actor->handle);
        atomic_store_explicit(&actor->play->stage->done[actor->act_index], true,
                              memory_order_release);
        return;
    }
    actor->started = true;
    actor->round++;
    trip_start(&actor->trip);
    value_set(actor, actor->round);
}

/* ---- acts ---- */

static void predicate_add(struct actor *actor, const char *name, sst_holds *holds, sst_fire *fire)
{
    static const uint32_t columns[] = {VALUE};
    sst_node_check(&actor->node,
                   sst_predicate_add(actor->node.table,
                                     &(struct sst_predicate){.name = name,
                                                             .kind = SST_RECURRENT,
                                                             .holds = holds,
                                                             .fire = fire,
                                                             .argument = actor,
                                                             .columns = columns,
                                                             .column_count = 1},
                                     &actor->handle),
                   "sst_predicate_add");
}

static void act_run(struct actor *actor)
{
    struct sst_node *node = &actor->node;
    const uint32_t index = node->crowd->index;
    const struct detect_job *job = actor->play->job;
    bool answers = actor_answers(actor, index);
    actor->round = value_first(actor);
    actor->started = false;
    value_set(actor, index == 0 || answers ? actor->round : UINT32_MAX);
    sst_node_check(node, sst_flush(node->table, RIPC_FOREVER), "sst_flush");
    crowd_meet(node->crowd);
    if (answers)
        predicate_add(actor, "asked", is_asked, answer);
    crowd_meet(node->crowd);
    if (index == 0) {
        struct trip_log *log = &actor->play->result->acts[actor->act_index];
        log->wanted = actor->act->trips;
        log->warm = actor->act->warm;
        trip_open(&actor->trip, log, job->seed, job->fabric ? PAUSE_FABRIC_NSEC : PAUSE_NSEC);
        predicate_add(actor, "answered", actor->act->elements ? is_answered_whole : is_answered,
                      next_trip);
    }
    sst_node_await(node, &actor->play->stage->done[actor->act_index]);
    crowd_meet(node->crowd);
    if (answers)
        sst_node_check(node, sst_predicate_remove(node->table, actor->handle),
                       "sst_predicate_remove");
    crowd_meet(node->crowd);
}

static void detect_play(struct crowd *crowd, const void *argument)
{
    const struct play *play = argument;
    const struct detect_job *job = play->job;
    const struct sst_column array_columns[] = {
        {.name = "a", .type = SST_U32, .count = job->elements},
    };
    const struct sst_node_plan plan = {
        .design = job->design,
        .waiting = job->waiting,
        .fabric = job->fabric,
        .columns = job->elements ? array_columns : number_columns,
        .column_count = 1,
        .row_size = job->elements ? job->elements * (uint32_t)sizeof(uint32_t) : sizeof(uint64_t),
    };
    struct actor actor = {.play = play, .last = crowd->count - 1};
    bool acts = crowd->index == 0 || crowd->index == actor.last;
    for (uint32_t i = 0; i < job->act_count; i++)
        acts = acts || job->acts[i].all;
    crowd_pin(crowd->index == actor.last ? 1 : crowd->index);
    sst_node_open(&actor.node, crowd, &plan, acts);
    uint32_t *image = sst_own(actor.node.table);
    for (uint32_t i = 0; i < job->elements; i++)
        image[i] = 1;
    for (uint32_t i = 0; i < job->act_count; i++) {
        actor.act = &job->acts[i];
        actor.act_index = i;
        act_run(&actor);
    }
}

enum err detect_run(const struct detect_job *job, struct detect_result *result, struct why *why)
{
    struct stage *stage = crowd_memory(sizeof *stage);
    struct play play = {job, result, stage};
    struct crowd_play crowd = {"a shared state table", job->nodes, detect_play, &play};
    struct crowd_end end;
    assert(job->nodes >= 2 && job->act_count <= DETECT_ACTS_MAX);
    assert(job->elements <= DETECT_ELEMENTS_MAX);
    if (!stage)
        return why_memory(why);
    for (uint32_t i = 0; i < job->act_count; i++) {
        assert(job->acts[i].rows >= 1 && job->acts[i].rows < job->nodes);
        assert(job->acts[i].trips <= TRIP_MAX && job->acts[i].warm <= TRIP_MAX);
        result->acts[i].count = 0;
    }
    enum err err = crowd_run(&crowd, &end, why);
    snprintf(result->missing, sizeof result->missing, "%s", !err && end.missing ? end.reason : "");
    crowd_memory_free(stage, sizeof *stage);
    return err;
}
