/* Checks what the node refuses and keeps account of when a service runs functions beside it. */
#include <weft/work.h>

#include "node/core/self.h"
#include "node/node_world.h"

#define WORKER 300
#define CALLS  3

/* ---- a world that holds all operations until the test ends them ---- */

static struct work_operation *held[CALLS + 1];
static unsigned held_count, ended, cancelled;

static void work_take(struct env *env, struct work_operation *operation)
{
    assert_true(held_count < CALLS);
    assert_string_equal(operation->service, "worker");
    held[held_count++] = operation;
}

static void work_cancelled(struct env *env, struct work_operation *operation)
{
    cancelled++;
}

static void work_ended(struct env *env)
{
    ended++;
    held_count = 0;
}

/* Runs the oldest operation and ends it. */
static void end_first(void)
{
    struct work_operation *operation = held[0];
    assert_true(held_count > 0);
    memmove(held, held + 1, --held_count * sizeof *held);
    operation->result = operation->run(operation);
    operation->done(operation);
}

/* ---- a service ---- */

struct worker {
    struct weft_call calls[CALLS + 1];
    int64_t numbers[CALLS + 1];
    unsigned done;
    int64_t last;
    bool again; /* done() begins the call again */
};

static struct weft_self *self; /* of server 0 */
static struct worker *worker;

static int64_t twice(const struct weft_work *work, void *argument)
{
    return weft_work_is_cancelled(work) ? -ECANCELED : 2 * *(int64_t *)argument;
}

static int run(unsigned index)
{
    return weft_work_run(self, &worker->calls[index], twice, &worker->numbers[index], 0);
}

static void on_done(struct weft_self *at, struct weft_call *call)
{
    assert_ptr_equal(at, self);
    worker->done++;
    worker->last = call->result;
    if (worker->again)
        assert_int_equal(weft_work_run(at, call, twice, &worker->numbers[0], 0), 0);
}

static int worker_start(struct weft_self *at)
{
    if (weft_here(at) == 0) {
        self = at;
        worker = weft_memory(at);
        for (unsigned i = 0; i <= CALLS; i++)
            worker->calls[i].done = on_done;
    }
    return 0;
}

static int stopped_with; /* what a call in stop() returned */

static void worker_stop(struct weft_self *at)
{
    if (at == self)
        stopped_with = run(0);
}

static int64_t simulated(struct weft_child *child)
{
    memcpy(child->output, "abcdef", child->output_room < 6 ? child->output_room : 6);
    child->output_size = 6;
    return 3;
}

static const struct weft_service_ops worker_ops = {.start = worker_start, .stop = worker_stop};
static const struct weft_service worker_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "worker",
    .id = WORKER,
    .size = sizeof(struct worker),
    .work = CALLS,
    .children = 1,
    .ops = &worker_ops,
};
static const struct weft_service *const services[] = {&worker_service, NULL};

static struct world *world;
static struct env_ops ops;

static int scene_open(void **state)
{
    world = world_open_settled("torus:3", services, 0);
    ops = *world->nodes[0].env.ops;
    ops.work = work_take;
    ops.work_cancel = work_cancelled;
    ops.work_end = work_ended;
    world->nodes[0].env.ops = &ops;
    held_count = ended = cancelled = 0;
    return 0;
}

static int scene_close(void **state)
{
    world_close(world);
    return 0;
}

static uint64_t counter_value;

static void counter_take(void *context, const char *service, const char *name, uint64_t value)
{
    if (!strcmp(service, "worker") && !strcmp(name, context))
        counter_value = value;
}

static uint64_t counter(const char *name)
{
    counter_value = UINT64_MAX;
    node_stats(world->nodes[0].node, counter_take, (void *)name);
    return counter_value;
}

static void a_result_arrives_once_and_not_inside_the_call(void **state)
{
    worker->numbers[0] = 21;
    assert_int_equal(run(0), 0);
    assert_int_equal(worker->done, 0);
    assert_int_equal(counter("work_under_way"), 1);
    end_first();
    assert_int_equal(worker->done, 1);
    assert_int_equal(worker->last, 42);
    worker->numbers[0] = -4;
    assert_int_equal(run(0), 0);
    end_first();
    assert_int_equal(worker->last, -8);
    assert_int_equal(counter("work_under_way"), 0);
    assert_int_equal(counter("work_calls"), 2);
    assert_int_equal(counter("work_failed"), 1);
    assert_int_equal(counter("mistakes"), 0);
}

static void done_may_begin_the_next_call(void **state)
{
    worker->again = true;
    assert_int_equal(run(0), 0);
    for (unsigned i = 1; i <= 10; i++) {
        end_first();
        assert_int_equal(worker->done, i);
        assert_int_equal(held_count, 1);
    }
}

static void one_call_more_than_declared_is_refused_until_one_ends(void **state)
{
    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(run(i), 0);
    assert_int_equal(run(CALLS), -EAGAIN);
    assert_int_equal(counter("mistakes"), 0);
    end_first();
    assert_int_equal(run(CALLS), 0);
    assert_int_equal(run(0), -EAGAIN);
}

static void wrong_calls_are_mistakes(void **state)
{
    struct weft_call empty = {0};
    assert_int_equal(weft_work_run(self, NULL, twice, NULL, 0), -EINVAL);
    assert_int_equal(weft_work_run(self, &empty, twice, NULL, 0), -EINVAL);
    assert_int_equal(weft_work_run(self, &worker->calls[0], NULL, NULL, 0), -EINVAL);
    assert_int_equal(weft_work_run(self, &worker->calls[0], twice, NULL, -1), -EINVAL);
    assert_int_equal(weft_work_cancel(self, NULL), -EINVAL);
    assert_int_equal(run(0), 0);
    assert_int_equal(run(0), -EINVAL); /* it is under way */
    assert_int_equal(held_count, 1);
    assert_int_equal(counter("mistakes"), 6);
    memset(worker->calls[1].reserved, 0x5a, sizeof worker->calls[1].reserved);
    assert_int_equal(run(1), 0); /* what the service left there is not used */
}

static void a_cancelled_function_sees_it_and_the_call_ends_as_usual(void **state)
{
    assert_int_equal(weft_work_cancel(self, &worker->calls[0]), -ENOENT);
    assert_int_equal(run(0), 0);
    assert_int_equal(weft_work_cancel(self, &worker->calls[1]), -ENOENT);
    assert_int_equal(weft_work_cancel(self, &worker->calls[0]), 0);
    assert_int_equal(cancelled, 1);
    end_first();
    assert_int_equal(worker->last, -ECANCELED);
    assert_int_equal(weft_work_cancel(self, &worker->calls[0]), -ENOENT);
    assert_int_equal(run(0), 0); /* the next call is not cancelled */
    end_first();
    assert_int_equal(worker->last, 0);
    assert_int_equal(counter("mistakes"), 0);
}

static void children_are_counted_apart_and_wrong_ones_are_mistakes(void **state)
{
    static const char *const words[] = {"/bin/true", NULL}, *const relative[] = {"true", NULL};
    static const char *const empty[] = {NULL};
    static const char *many[WEFT_CHILD_WORDS + 2];
    char output[8];
    struct weft_child child = {.words = words, .output = output, .output_room = sizeof output};
    for (unsigned i = 0; i <= WEFT_CHILD_WORDS; i++)
        many[i] = "/x";
    assert_int_equal(weft_work_child(self, &worker->calls[0], NULL), -EINVAL);
    child.words = relative;
    assert_int_equal(weft_work_child(self, &worker->calls[0], &child), -EINVAL);
    child.words = empty;
    assert_int_equal(weft_work_child(self, &worker->calls[0], &child), -EINVAL);
    child.words = many;
    assert_int_equal(weft_work_child(self, &worker->calls[0], &child), -EINVAL);
    child.words = words;
    child.input_size = 1;
    assert_int_equal(weft_work_child(self, &worker->calls[0], &child), -EINVAL);
    child.input_size = 0;
    child.time = -1;
    assert_int_equal(weft_work_child(self, &worker->calls[0], &child), -EINVAL);
    child.time = 0;
    assert_int_equal(counter("mistakes"), 6);
    ops.simulates = true;
    assert_int_equal(weft_work_child(self, &worker->calls[0], &child), -ENOSYS);
    assert_int_equal(counter("mistakes"), 7); /* named, and not a silent gap */
    child.simulated = simulated;
    assert_int_equal(weft_work_child(self, &worker->calls[0], &child), 0);
    assert_int_equal(weft_work_child(self, &worker->calls[1], &child), -EAGAIN);
    assert_int_equal(run(1), 0); /* functions go on */
    assert_true(held[0]->limit == 60 * INT64_C(1000000000));
    end_first();
    assert_int_equal(worker->last, 3);
    assert_int_equal(child.output_size, 6);
    child.output_room = 4;
    assert_int_equal(weft_work_child(self, &worker->calls[0], &child), 0);
    end_first();
    end_first();
    assert_int_equal(worker->last, -EMSGSIZE);
    assert_int_equal(child.output_size, 4);
}

static void a_world_without_threads_refuses(void **state)
{
    ops.work = NULL;
    assert_int_equal(run(0), -ENODEV);
    assert_int_equal(counter("mistakes"), 0);
}

static void a_server_that_stops_ends_its_calls_without_done(void **state)
{
    assert_int_equal(run(0), 0);
    world_close(world);
    assert_int_equal(ended, 1);
    assert_int_equal(stopped_with, -ESHUTDOWN);
    scene_open(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

TEST_MAIN(CASE(a_result_arrives_once_and_not_inside_the_call), CASE(done_may_begin_the_next_call),
          CASE(one_call_more_than_declared_is_refused_until_one_ends),
          CASE(wrong_calls_are_mistakes),
          CASE(a_cancelled_function_sees_it_and_the_call_ends_as_usual),
          CASE(children_are_counted_apart_and_wrong_ones_are_mistakes),
          CASE(a_world_without_threads_refuses),
          CASE(a_server_that_stops_ends_its_calls_without_done))
