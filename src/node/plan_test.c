#include "node/plan.h"

#include "base/test.h"

static void refused(const char *spec, const char *reason)
{
    struct topology topology;
    struct plan plan;
    struct why why = {0};
    assert_int_equal(topology_build(&topology, spec, &why), OK);
    assert_int_equal(plan_init(&plan, &topology, &why), ERR_USAGE);
    assert_string_equal(why.text, reason);
    topology_fini(&topology);
}

static void accepted(const char *spec, uint32_t port_count, uint8_t hop_limit)
{
    struct topology topology;
    struct plan plan;
    struct why why = {0};
    assert_int_equal(topology_build(&topology, spec, &why), OK);
    assert_int_equal(plan_init(&plan, &topology, &why), OK);
    assert_int_equal(plan.port_count, port_count);
    assert_int_equal(plan.hop_limit, hop_limit);
    plan_fini(&plan);
    topology_fini(&topology);
}

static void a_server_has_at_most_32_ports(void **state)
{
    accepted("jellyfish:n=33,degree=32,seed=1", 32, 20);
    refused("jellyfish:n=34,degree=33,seed=1",
            "server 0 has a cable in port 32, but a server has at most 32 ports");
}

static void servers_are_at_most_as_far_apart_as_packets_can_travel(void **state)
{
    accepted("torus:3x3x3", 6, 28);
    accepted("torus:119", 2, 252);
    accepted("torus:121", 2, 255);
    accepted("torus:255", 2, 255);
    refused("torus:256", "the topology is too wide: a server is 128 hops from server 0, so two "
                         "servers may be more than 255 hops apart");
}

static void a_plan_has_at_most_65535_servers(void **state)
{
    refused("torus:256x256", "65536 servers are too many: a cluster has at most 65535");
    refused("torus:255x257", "the topology is too wide: a server is 255 hops from server 0, so two "
                             "servers may be more than 255 hops apart");
}

static void a_network_with_switches_is_refused(void **state)
{
    refused("fattree:k=4",
            "fattree:k=4 has switches, which a cluster cannot use; choose a torus, a "
            "novacube or jellyfish:n=N,degree=D");
}

TEST_MAIN(TEST(a_network_with_switches_is_refused), TEST(a_server_has_at_most_32_ports),
          TEST(servers_are_at_most_as_far_apart_as_packets_can_travel),
          TEST(a_plan_has_at_most_65535_servers))
