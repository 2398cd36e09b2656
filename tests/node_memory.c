/* Tests that key spaces, plans, placements, bootstrapping, nodes (each with its table) and message
 * orders report it when an allocation fails. */
#include "node/commission/bootstrap.h"
#include "node/commission/placement.h"
#include "node/node_world.h"
#include "sst/multicast/order.h"

#include "refuse_each.h"

static struct topology topology; /* what the current test works on, and its plan */
static struct plan plan;

static void subject_open(const char *spec)
{
    assert_int_equal(topology_build(&topology, spec, NULL), OK);
    assert_int_equal(plan_init(&plan, &topology, NULL), OK);
}

static void subject_close(void)
{
    plan_fini(&plan);
    topology_fini(&topology);
}

static enum err space_make(const char *what, struct why *why)
{
    struct keyspace keyspace;
    enum err err = keyspace_init(&keyspace, &topology, why);
    if (!err)
        keyspace_fini(&keyspace);
    return err;
}

static enum err plan_make(const char *what, struct why *why)
{
    struct plan made;
    enum err err = plan_init(&made, &topology, why);
    if (!err)
        plan_fini(&made);
    return err;
}

static void plans_and_key_spaces_report_lack_of_memory(void **state)
{
    static const char *const specs[] = {"torus:3x4", "novacube:4x4x4",
                                        "jellyfish:n=16,degree=4,seed=1"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        subject_open(specs[i]);
        if (topology.kind != TOPOLOGY_JELLYFISH) /* its key space allocates nothing */
            refuse_each(space_make, specs[i]);
        refuse_each(plan_make, specs[i]);
        subject_close();
    }
}

/* Reports in which every server sees its planned neighbours, except over one cable. */
static struct placement_report *reports_make(void)
{
    static struct placement_report reports[64];
    assert_true(plan.server_count <= 64);
    for (node_id vertex = 0; vertex < plan.server_count; vertex++) {
        struct placement_report *report = &reports[vertex];
        *report = (struct placement_report){
            .serial = 100 + vertex, .known = NODE_NONE, .port_count = plan.port_count};
        for (uint32_t port = 0; port < PORT_MAX; port++)
            report->ears[port].port = PORT_NONE;
        for (uint32_t port = vertex == 0; port < plan.port_count; port++) {
            const struct plan_end *end = plan_end(&plan, vertex, port);
            if (end->server != NODE_NONE && (end->server != 0 || end->port != 0))
                report->ears[port] = (struct placement_end){100 + end->server, end->port};
        }
    }
    return reports;
}

static enum err place(const char *what, struct why *why)
{
    struct placement placement;
    enum err err = placement_make(&placement, &plan, reports_make(), plan.server_count, why);
    if (!err)
        placement_fini(&placement);
    return err;
}

static void placements_report_lack_of_memory(void **state)
{
    static const char *const specs[] = {"torus:3x4", "jellyfish:n=16,degree=4,seed=1"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        subject_open(specs[i]);
        refuse_each(place, specs[i]);
        subject_close();
    }
}

static enum err boot(const char *what, struct why *why)
{
    struct bootstrap *bootstrap;
    const struct bootstrap_config config = {.plan = &plan, .serial = 1, .port_count = 4};
    enum err err = bootstrap_open(&bootstrap, &config, why);
    if (!err)
        bootstrap_close(bootstrap);
    return err;
}

static void bootstrapping_reports_lack_of_memory(void **state)
{
    subject_open("torus:3x3");
    refuse_each(boot, "bootstrap");
    subject_close();
}

static enum err node_make(const char *what, struct why *why)
{
    struct packet_pool *pool = packet_pool_open(8, PACKET_SIZE_MAX);
    if (!pool)
        return why_memory(why);
    struct env env = {&world_ops, 0, pool};
    struct node *node;
    const struct node_config config = {.plan = &plan, .env = &env, .incarnation = 1};
    enum err err = node_open(&node, &config, why);
    if (!err)
        node_close(node);
    packet_pool_close(pool);
    return err;
}

static void nodes_report_lack_of_memory(void **state)
{
    subject_open("jellyfish:n=16,degree=4,seed=1");
    refuse_each(node_make, "node");
    subject_close();
}

static enum err order_make(const char *what, struct why *why)
{
    struct order order;
    int result = order_init(&order, 16, 8, 32);
    if (result == -ENOMEM)
        return why_memory(why);
    assert_int_equal(result, 0);
    assert_int_equal(order.ring_count, 32);
    order_fini(&order);
    return OK;
}

static void message_orders_report_lack_of_memory(void **state)
{
    refuse_each(order_make, "order");
}

TEST_MAIN(TEST(plans_and_key_spaces_report_lack_of_memory), TEST(placements_report_lack_of_memory),
          TEST(bootstrapping_reports_lack_of_memory), TEST(nodes_report_lack_of_memory),
          TEST(message_orders_report_lack_of_memory))
