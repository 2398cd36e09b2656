/* Tests which memory services get. */
#include <unistd.h>

#include "node/configuration/configuration.h"
#include "node/node_world.h"

#define GIB (UINT64_C(1) << 30)

static uint64_t wanted; /* what the service asks for in start() */
static bool got;
static unsigned stopped;
static uint64_t machine; /* its memory; 0: unknown */
static struct configuration settings;

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
                                       .configuration = &settings,
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

static void budget_set(const char *word)
{
    struct why why = {0};
    configuration_fini(&settings);
    if (word)
        assert_int_equal(configuration_add(&settings, "test", word, &why), OK);
}

/* The system promises a process any amount up to that of the machine. */
static void a_service_may_take_more_memory_than_it_touches(void **state)
{
    struct why why;
    if ((uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) < 6 * GIB)
        skip();
    greedy.size = 5 * GIB; /* more than 32 bits */
    wanted = 5 * GIB;
    budget_set("greedy.memory=10G");
    assert_int_equal(opened(&why), OK);
    assert_true(got);
    budget_set(NULL);
}

static void a_service_that_asks_for_more_memory_than_there_is_does_not_start(void **state)
{
    greedy.size = GIB / 2;
    wanted = UINT64_C(1) << 50;
    struct why why;
    unsigned before = stopped;
    budget_set("greedy.memory=8388607T");
    assert_int_equal(opened(&why), ERR_MEMORY);
    assert_false(got);
    assert_string_equal(why.text, "service greedy: asked for 1 PiB of memory on top of 512 MiB, "
                                  "which the system refused; see ulimit -v and the limits of the "
                                  "container");
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
    budget_set(NULL);
}

static void a_service_beyond_its_budget_does_not_start(void **state)
{
    struct why why;
    greedy.size = 256 << 20; /* the default budget */
    wanted = 1;
    assert_int_equal(opened(&why), ERR_USAGE);
    assert_false(got);
    assert_string_equal(why.text, "service greedy: asked for 1 bytes of memory on top of 256 MiB, "
                                  "but its budget is 256 MiB; raise it with --set "
                                  "greedy.memory=257M");
    greedy.size--;
    assert_int_equal(opened(&why), OK);
    greedy.size = 3 * GIB;
    assert_int_equal(opened(&why), ERR_USAGE);
    assert_string_equal(why.text, "service greedy: asked for 3 GiB of memory, but its budget is "
                                  "256 MiB; raise it with --set greedy.memory=3G");
    greedy.size = UINT64_MAX;
    assert_int_equal(opened(&why), ERR_USAGE);
    greedy.size = 100;
    budget_set("greedy.memory=101");
    assert_int_equal(opened(&why), OK);
    budget_set("greedy.memory=100");
    assert_int_equal(opened(&why), ERR_USAGE);
    budget_set("greedy.memory=x");
    assert_int_equal(opened(&why), ERR_USAGE);
    assert_string_equal(why.text, "test: greedy.memory: 'x' is not a size such as 4096, 64K, 20M "
                                  "or 2G");
    budget_set("greed.memory=100");
    assert_int_equal(opened(&why), ERR_USAGE);
    budget_set(NULL);
}

/* ---- parameters ---- */

struct instance {
    int64_t wait;
    const char *label;
    bool exact;
    uint32_t mode;
};

static const struct weft_parameter parameters[] = {
    {WEFT_PARAMETER(struct instance, wait, DURATION), .value = "10ms", .help = "h"},
    {WEFT_PARAMETER(struct instance, label, TEXT), .value = "none", .help = "h"},
    {WEFT_PARAMETER(struct instance, exact, BOOL), .value = "yes", .help = "h"},
    {WEFT_PARAMETER(struct instance, mode, CHOICE), .value = "safe", .choices = "fast|safe",
     .help = "h"},
    {0},
};
static struct instance found; /* as start() sees it */
static char found_label[20];

static int start_typed(struct weft_self *self)
{
    found = *(struct instance *)weft_memory(self);
    assert_true(strlen(found.label) < sizeof found_label);
    strcpy(found_label, found.label);
    assert_int_equal(weft_memory_left(self), (256 << 20) - sizeof found);
    return 0;
}

static void parameters_are_in_the_instance_before_it_starts(void **state)
{
    static const struct weft_service_ops typed = {.start = start_typed};
    struct why why;
    greedy.ops = &typed;
    greedy.size = sizeof(struct instance);
    greedy.parameters = parameters;
    assert_int_equal(opened(&why), OK);
    assert_int_equal(found.wait, 10000000);
    assert_string_equal(found_label, "none");
    assert_true(found.exact && found.mode == 1);
    budget_set("greedy.wait=2s");
    assert_int_equal(configuration_add(&settings, "test", "greedy.label=a b", &why), OK);
    assert_int_equal(configuration_add(&settings, "test", "greedy.exact=off", &why), OK);
    assert_int_equal(configuration_add(&settings, "test", "greedy.mode=fast", &why), OK);
    assert_int_equal(opened(&why), OK);
    assert_int_equal(found.wait, 2000000000);
    assert_string_equal(found_label, "a b");
    assert_true(!found.exact && found.mode == 0);
    budget_set("greedy.wiat=2s");
    assert_int_equal(opened(&why), ERR_USAGE);
    assert_non_null(strstr(why.text, "did you mean 'wait'?"));
    budget_set(NULL);
}

TEST_MAIN(TEST(a_service_may_take_more_memory_than_it_touches),
          TEST(a_service_that_asks_for_more_memory_than_there_is_does_not_start),
          TEST(a_service_beyond_its_budget_does_not_start),
          TEST(parameters_are_in_the_instance_before_it_starts))
