#include "cli/cluster/cluster_health.h"

#include <string.h>

#include "cli/cluster/cluster_example.h"

static struct example example;
static struct cluster_health health;

static void judge(void)
{
    struct why why;
    assert_int_equal(cluster_health(&health, &example.plan, example.seen, &why), OK);
}

/* Checks that the reason holds, as the only one if `alone`, and has this text. */
static void expect(enum health_code code, bool alone, const char *words)
{
    struct text out = {0};
    for (int other = 0; other < HEALTH_CODES && alone; other++)
        if (health.reasons[other] != (other == (int)code))
            fail_msg("%s", health_code_names[other]);
    assert_true(health.reasons[code]);
    cluster_health_reason(&health, code, &example.plan, example.seen, &out);
    assert_true(text_ok(&out));
    assert_string_equal(out.data, words);
    text_fini(&out);
}

static void done(void)
{
    cluster_health_fini(&health);
    example_close(&example);
}

static void a_service_that_delays_packets_is_a_note(void **state)
{
    example_open(&example, "torus:3x3x3");
    struct control_snapshot *snapshot = &example.seen[4].snapshot;
    snapshot->trouble_count = 1;
    snapshot->troubles[0] = (struct control_trouble){.service = "spin",
                                                     .share = 256,
                                                     .slow = 17,
                                                     .slow_nsec = 5250000,
                                                     .slow_in = CALLBACK_DELIVER};
    judge();
    assert_int_equal(health.health, HEALTH_OK);
    expect(
        HEALTH_SERVICES_SLOW, true,
        "1 service has functions that ran for more than 1 ms, and delayed all packets: spin on 4 "
        "(17 times; deliver for 5.2 ms)");
    done();
}

static void a_service_that_does_not_return_is_named(void **state)
{
    example_open(&example, "torus:3x3x3");
    example.seen[4].state = SERVER_SILENT;
    strcpy(example.seen[4].stuck_service, "spin");
    strcpy(example.seen[4].stuck_function, "timer");
    example.seen[4].stuck_seconds = 12.3;
    strcpy(example.seen[5].stuck_service, "old"); /* it answers: what it says is out of date */
    judge();
    assert_int_equal(health.health, HEALTH_WARN);
    expect(HEALTH_SERVICES_STUCK, false,
           "1 service does not return, and the servers of that process hang: spin on 4 (timer, for "
           "12 s)");
    done();
}

static void a_healthy_cluster_is_ok(void **state)
{
    example_open(&example, "torus:3x3x3");
    example.seen[5].snapshot.node.drops[DROP_HOPS] = 3; /* past drops are no reason to warn */
    example.seen[6].snapshot.node.drops[DROP_HOPS] = 4;
    judge();
    assert_int_equal(health.health, HEALTH_OK);
    assert_int_equal(health.live, 27);
    assert_int_equal(health.cable_count, 81);
    assert_int_equal(health.links[LINK_UP], 81);
    assert_int_equal(health.part_count, 1);
    assert_int_equal(health.drops[DROP_HOPS], 7);
    done();
}

static void a_dead_server_is_named_and_its_links_are_lost(void **state)
{
    example_open(&example, "torus:3x3x3");
    example_die(&example, 13);
    judge();
    assert_int_equal(health.health, HEALTH_WARN);
    expect(HEALTH_SERVERS_DOWN, true, "1 of 27 servers is dead: 13");
    assert_int_equal(health.links[LINK_LOST], 6);
    assert_int_equal(health.links[LINK_UP], 75);
    done();
}

static void a_service_that_holds_its_share_is_named(void **state)
{
    example_open(&example, "torus:3x3");
    example.seen[4].snapshot.trouble_count = 2;
    example.seen[4].snapshot.troubles[0] =
        (struct control_trouble){.service = "hoard", .kept = 256, .share = 256, .over_share = 17};
    example.seen[4].snapshot.troubles[1] =
        (struct control_trouble){.service = "clumsy", .kept = 1, .share = 256, .mistakes = 3};
    judge();
    assert_int_equal(health.health, HEALTH_WARN);
    expect(HEALTH_SERVICES_FULL, false,
           "1 service holds as many packets as allowed, and gets no more: hoard on 4 (256 packets; "
           "17 more refused)");
    expect(HEALTH_SERVICES_MISTAKEN, false,
           "1 service uses functions of weft wrongly (see the server's log; number of times): "
           "clumsy on 4 (3)");
    cluster_health_fini(&health);
    example_die(&example, 4);
    judge();
    assert_false(health.reasons[HEALTH_SERVICES_FULL]);
    done();
}

static void many_dead_servers_fit_a_line(void **state)
{
    example_open(&example, "torus:6x6");
    for (node_id v = 0; v < 14; v++)
        example_die(&example, v);
    judge();
    expect(HEALTH_SERVERS_DOWN, true,
           "14 of 36 servers are dead: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more");
    done();
}

static void a_death_that_a_server_has_not_noticed_is_reported(void **state)
{
    example_open(&example, "torus:3x3");
    example_die(&example, 4);
    example.seen[0].snapshot.reach[0] |= 1 << 4;
    example.seen[0].snapshot.node.digest = 78;
    judge();
    expect(HEALTH_DEATHS_UNNOTICED, false,
           "1 server has not noticed yet that other servers are dead");
    expect(HEALTH_ROUTES_DIFFER, false, "1 server has another link state than most");
    done();
}

static void all_dead_is_an_error(void **state)
{
    example_open(&example, "torus:3");
    for (node_id v = 0; v < 3; v++)
        example_die(&example, v);
    judge();
    assert_int_equal(health.health, HEALTH_ERR);
    expect(HEALTH_ALL_SERVERS_DOWN, true, "no process of the cluster runs");
    done();
}

static void a_silent_server_is_not_a_dead_one(void **state)
{
    example_open(&example, "torus:3x3");
    example.seen[4].state = SERVER_SILENT;
    judge();
    assert_int_equal(health.health, HEALTH_WARN);
    expect(HEALTH_SERVERS_SILENT, true, "1 server runs but does not answer: 4");
    assert_int_equal(health.dead, 0);
    assert_int_equal(health.links[LINK_LOST], 4);
    done();
}

static void a_link_is_up_only_if_both_ends_report_so(void **state)
{
    example_open(&example, "torus:3x3");
    uint32_t port = 0, other = plan_end(&example.plan, 0, 0)->port;
    node_id peer = plan_end(&example.plan, 0, 0)->server;
    example.seen[0].snapshot.ports[port].state = PORT_COMING;
    judge();
    assert_int_equal(health.links[LINK_COMING], 1);
    expect(HEALTH_LINKS_DOWN, true, "1 link between live servers not up: 0 - 1");
    cluster_health_fini(&health);

    example.seen[peer].snapshot.ports[other].state = PORT_HEARD;
    judge();
    assert_int_equal(health.links[LINK_DOWN], 1);
    cluster_health_fini(&health);

    example.seen[peer].snapshot.ports[other].state = PORT_CUT; /* one end suffices */
    judge();
    assert_int_equal(health.health, HEALTH_WARN);
    expect(HEALTH_LINKS_CUT, true, "1 link is cut: 0 - 1");
    assert_int_equal(health.links[LINK_DOWN], 0);
    done();
}

static void a_miswired_cable_is_named_from_both_ends(void **state)
{
    example_open(&example, "torus:4x4");
    struct port_snapshot *one = &example.seen[0].snapshot.ports[0];
    struct port_snapshot *other = &example.seen[5].snapshot.ports[2];
    *one = (struct port_snapshot){PORT_MISWIRED, one->peer, one->peer_port, 5, 2, 0, 0, 0, 0, 0, 0};
    *other = (struct port_snapshot){
        PORT_MISWIRED, other->peer, other->peer_port, 0, 0, 0, 0, 0, 0, 0, 0};
    judge();
    assert_int_equal(health.health, HEALTH_WARN);
    expect(HEALTH_LINKS_MISWIRED, true,
           "2 links are not wired as planned (server:port): 0:0 leads to 5:2, not to 1:1; "
           "5:2 leads to 0:0, not to 9:3");
    done();
}

static void live_servers_that_do_not_reach_each_other_are_an_error(void **state)
{
    example_open(&example, "torus:6");
    for (node_id v = 0; v < 6; v++)
        for (node_id u = 0; u < 6; u++)
            if ((v < 2) != (u < 2))
                example_forget(&example, v, u);
    for (node_id v = 0; v < 2; v++)
        example.seen[v].snapshot.node.digest = 5; /* each part has its own link state */
    judge();
    assert_int_equal(health.health, HEALTH_ERR);
    assert_int_equal(health.part_of[5], 0); /* the largest part, although it was found last */
    expect(HEALTH_CLUSTER_SPLIT, true,
           "not all live servers reach each other: 4 + 2 servers; not in the largest part: 0, 1");
    done();
}

static void servers_that_join_or_disagree_are_a_warning(void **state)
{
    example_open(&example, "torus:3x3");
    example.seen[7].snapshot.node.settled = false;
    judge();
    assert_int_equal(health.health, HEALTH_WARN);
    expect(HEALTH_SERVERS_JOINING, true, "1 server is still joining: 7");
    cluster_health_fini(&health);

    example.seen[7].snapshot.node.settled = true;
    example_forget(&example, 7, 2); /* 2 reaches 7, so they are in one part */
    judge();
    assert_int_equal(health.part_count, 1);
    expect(HEALTH_ROUTES_DIFFER, true, "1 server has another link state than most");
    done();
}

TEST_MAIN(TEST(a_healthy_cluster_is_ok), TEST(a_service_that_delays_packets_is_a_note),
          TEST(a_service_that_does_not_return_is_named),
          TEST(a_dead_server_is_named_and_its_links_are_lost),
          TEST(a_service_that_holds_its_share_is_named), TEST(many_dead_servers_fit_a_line),
          TEST(a_death_that_a_server_has_not_noticed_is_reported), TEST(all_dead_is_an_error),
          TEST(a_silent_server_is_not_a_dead_one), TEST(a_link_is_up_only_if_both_ends_report_so),
          TEST(a_miswired_cable_is_named_from_both_ends),
          TEST(live_servers_that_do_not_reach_each_other_are_an_error),
          TEST(servers_that_join_or_disagree_are_a_warning))
