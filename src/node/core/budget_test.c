/* Tests which memory services get. */
#include <unistd.h>

#include "node/node_world.h"

#define GIB (UINT64_C(1) << 30)

static uint64_t wanted; /* what the service asks for in start() */
static bool got;
static unsigned stopped;
static uint64_t machine; /* its memory; 0: unknown */

/* Does not report that its allocation failed. */
static int start(struct weft_self *self)
{
    uint8_t *memory = weft_allocate(self, wanted);
    got = memory != NULL;
    if (memory)
        memory[wanted - 1] |= 1; /* zeroed, and touched at one place only */
    return 0;
}

static void stop(struct weft_self *self)
{
    stopped++;
}

static const struct weft_service_ops ops = {.start = start, .stop = stop};
static struct weft_service greedy = {
    .version = WEFT_SERVICE_VERSION, .name = "greedy", .id = 256, .ops = &ops};
static const struct weft_service *const services[] = {&greedy, NULL};

/* Opens a node with the service; `why` says why that failed. */
static enum err opened(struct why *why)
{
    struct topology topology;
    struct plan plan;
    *why = (struct why){0};
    assert_int_equal(topology_build(&topology, "torus:3", why), OK);
    assert_int_equal(plan_init(&plan, &topology, why), OK);
    struct packet_pool *pool = packet_pool_open(8, PACKET_SIZE_MAX);
    struct env env = {&world_ops, 0, pool};
    struct node *node;
    const struct node_config config = {.plan = &plan,
                                       .env = &env,
                                       .incarnation = 1,
                                       .services = services,
                                       .machine_memory = machine};
    enum err err = node_open(&node, &config, why);
    if (!err) {
        assert_true(node_memory(node) < (1u << 20)); /* without untouched memory */
        node_close(node);
    }
    packet_pool_close(pool);
    plan_fini(&plan);
    topology_fini(&topology);
    return err;
}

/* The system promises a process any amount up to that of the machine. */
static void a_service_may_take_more_memory_than_it_touches(void **state)
{
    struct why why;
    if ((uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) < 6 * GIB)
        skip();
    greedy.size = 5 * GIB; /* more than 32 bits */
    wanted = 5 * GIB;
    assert_int_equal(opened(&why), OK);
    assert_true(got);
}

static void a_service_that_asks_for_more_memory_than_there_is_does_not_start(void **state)
{
    greedy.size = GIB / 2;
    wanted = UINT64_C(1) << 62;
    struct why why;
    unsigned before = stopped;
    assert_int_equal(opened(&why), ERR_MEMORY);
    assert_false(got);
    assert_string_equal(why.text, "service greedy: asked for 4 EiB of memory on top of 512 MiB, "
                                  "which the system refused; see ulimit -v and the limits of the "
                                  "container");
    wanted = UINT64_MAX;
    assert_int_equal(opened(&why), ERR_MEMORY);
    greedy.size = UINT64_MAX;
    assert_int_equal(opened(&why), ERR_MEMORY);
    assert_int_equal(stopped, before); /* it never started */

    machine = 2 * GIB;
    greedy.size = GIB / 2;
    wanted = 3 * GIB / 2;
    assert_int_equal(opened(&why), OK);
    wanted++;
    assert_int_equal(opened(&why), ERR_MEMORY);
    assert_string_equal(why.text, "service greedy: asked for 1.5 GiB of memory on top of 512 MiB, "
                                  "but this machine has 2 GiB");
    greedy.size = 3 * GIB;
    assert_int_equal(opened(&why), ERR_MEMORY);
    assert_string_equal(why.text,
                        "service greedy: asked for 3 GiB of memory, but this machine has 2 GiB");
    machine = 0;
}

TEST_MAIN(TEST(a_service_may_take_more_memory_than_it_touches),
          TEST(a_service_that_asks_for_more_memory_than_there_is_does_not_start))
