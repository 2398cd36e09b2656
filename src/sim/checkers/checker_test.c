/* Checks that each checker finds the error in histories that are known to be bad, and none in good
 * ones. */
#include "sim/checkers/checker.h"

#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "sim/checkers/checker_oracle.h"

#define SERVERS 9 /* torus:3x3 */
#define PORTS   4
#define SILENCE 1000

/* A world that consists only of what checkers see. */
struct stage {
    struct topology topology;
    struct plan plan;
    enum port_state ports[SERVERS][PORTS];
    bool settled[SERVERS];
    bool unknown[SERVERS][SERVERS]; /* the first server leaves no keys to the other */
    uint64_t live;
    env_nsec clock[SERVERS];
    bool observes;                    /* there is a service that observes ... */
    struct checker_observed observed; /* ... this */
    struct checkers checkers;
};

static psec stage_now(void *context)
{
    return 42;
}

static struct node *stage_node(void *context, node_id server)
{
    return NULL;
}

static enum port_state stage_port(void *context, node_id server, unsigned port)
{
    return ((struct stage *)context)->ports[server][port];
}

static bool stage_settled(void *context, node_id server)
{
    return ((struct stage *)context)->settled[server];
}

static bool stage_counts_on(void *context, node_id server, node_id other)
{
    return !((struct stage *)context)->unknown[server][other];
}

static uint64_t stage_live(void *context)
{
    return ((struct stage *)context)->live;
}

static env_nsec stage_clock(void *context, node_id server)
{
    return ((struct stage *)context)->clock[server];
}

static bool stage_observed(void *context, node_id server, struct checker_observed *observed)
{
    const struct stage *stage = context;
    *observed = stage->observed;
    return stage->observes && server == 0;
}

/* All links are up. */
static struct stage *stage_open(void)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_int_equal(topology_build(&stage->topology, "torus:3x3", NULL), OK);
    assert_int_equal(plan_init(&stage->plan, &stage->topology, NULL), OK);
    assert_int_equal(stage->plan.port_count, PORTS);
    for (node_id server = 0; server < SERVERS; server++) {
        stage->settled[server] = true;
        for (unsigned port = 0; port < PORTS; port++)
            stage->ports[server][port] = PORT_UP;
    }
    struct checker_view view = {
        .plan = &stage->plan,
        .now = stage_now,
        .node = stage_node,
        .port = stage_port,
        .settled = stage_settled,
        .counts_on = stage_counts_on,
        .live = stage_live,
        .clock = stage_clock,
        .silence = SILENCE,
        .observed = stage_observed,
        .context = stage,
    };
    assert_int_equal(checkers_open(&stage->checkers, &view, NULL, NULL), OK);
    for (node_id server = 0; server < SERVERS; server++)
        CHECKERS_TELL(&stage->checkers, started, server);
    return stage;
}

static void stage_close(struct stage *stage)
{
    checkers_close(&stage->checkers);
    plan_fini(&stage->plan);
    topology_fini(&stage->topology);
    free(stage);
}

static void found_by(struct stage *stage, const char *name)
{
    assert_true(stage->checkers.failures > 0);
    assert_string_equal(stage->checkers.failed, name);
    assert_true(stage->checkers.text[0] != '\0');
    assert_true(stage->checkers.failed_at == 42);
    stage_close(stage);
}

static void found_by_no_checker(struct stage *stage)
{
    if (stage->checkers.failures)
        fail_msg("%s: %s", stage->checkers.failed, stage->checkers.text);
    stage_close(stage);
}

/* Servers a and b lose their link, in both directions or in one. */
static void cut(struct stage *stage, node_id a, node_id b, bool one_way)
{
    for (unsigned port = 0; port < PORTS; port++) {
        if (plan_end(&stage->plan, a, port)->server == b)
            stage->ports[a][port] = PORT_DOWN;
        if (!one_way && plan_end(&stage->plan, b, port)->server == a)
            stage->ports[b][port] = PORT_DOWN;
    }
    CHECKERS_TELL(&stage->checkers, down, a);
}

static void isolate(struct stage *stage, node_id server, bool one_way)
{
    for (unsigned port = 0; port < PORTS; port++)
        cut(stage, server, plan_end(&stage->plan, server, port)->server, one_way);
}

/* ---- roots ---- */

static struct packet key_packet(uint64_t route, uint64_t trail)
{
    return (struct packet){.kind = PACKET_TO_KEY, .route = route, .trail = trail, .service = 240};
}

static void key_list(const struct stage *stage, uint64_t route, node_id list[SERVERS])
{
    struct place_group group = keyspace_group(&stage->plan.keyspace, route);
    assert_int_equal(
        keyspace_servers(&stage->plan.keyspace, group, NULL, NULL, NULL, list, SERVERS), SERVERS);
}

static void deliver_key(struct stage *stage, uint64_t route, node_id at)
{
    struct packet packet = key_packet(route, 1);
    CHECKERS_TELL(&stage->checkers, sent, at, &packet);
    CHECKERS_TELL(&stage->checkers, delivered, at, &packet);
}

static void the_home_may_deliver(void **state)
{
    struct stage *stage = stage_open();
    for (uint64_t route = 1; route < 1000; route++) {
        node_id list[SERVERS];
        key_list(stage, route << 48, list);
        deliver_key(stage, route << 48, list[0]);
    }
    found_by_no_checker(stage);
}

static void no_other_server_may_deliver_while_the_home_is_reachable(void **state)
{
    for (unsigned i = 1; i < SERVERS; i++) {
        struct stage *stage = stage_open();
        node_id list[SERVERS];
        key_list(stage, 5ull << 60, list);
        deliver_key(stage, 5ull << 60, list[i]);
        found_by(stage, "roots");
    }
}

static void the_next_server_may_deliver_when_the_home_has_not_settled(void **state)
{
    struct stage *stage = stage_open();
    node_id list[SERVERS];
    key_list(stage, 5ull << 60, list);
    stage->settled[list[0]] = false;
    deliver_key(stage, 5ull << 60, list[1]);
    found_by_no_checker(stage);

    stage = stage_open();
    stage->settled[list[0]] = false;
    deliver_key(stage, 5ull << 60, list[2]);
    found_by(stage, "roots");
}

static void the_next_server_may_deliver_when_the_home_is_cut_off(void **state)
{
    for (unsigned one_way = 0; one_way < 2; one_way++) {
        struct stage *stage = stage_open();
        node_id list[SERVERS];
        key_list(stage, 5ull << 60, list);
        isolate(stage, list[0], one_way);
        deliver_key(stage, 5ull << 60, list[1]);
        found_by_no_checker(stage);
    }
}

static void a_detour_counts_as_a_connection(void **state)
{
    struct stage *stage = stage_open();
    node_id list[SERVERS];
    key_list(stage, 5ull << 60, list);
    cut(stage, list[0], list[1], false);
    deliver_key(stage, 5ull << 60, list[1]);
    found_by(stage, "roots");
}

static void returning_links_count_at_once(void **state)
{
    struct stage *stage = stage_open();
    node_id list[SERVERS];
    key_list(stage, 5ull << 60, list);
    isolate(stage, list[0], false);
    deliver_key(stage, 5ull << 60, list[1]);
    assert_int_equal(stage->checkers.failures, 0);
    for (node_id server = 0; server < SERVERS; server++)
        for (unsigned port = 0; port < PORTS; port++)
            stage->ports[server][port] = PORT_UP;
    for (unsigned port = 0; port < PORTS; port++)
        CHECKERS_TELL(&stage->checkers, up, list[0], port);
    deliver_key(stage, 5ull << 60, list[1]);
    found_by(stage, "roots");
}

static void a_connected_but_unknown_server_is_found(void **state)
{
    struct stage *stage = stage_open();
    stage->unknown[3][8] = true;
    isolate(stage, 8, false);
    CHECKERS_TELL(&stage->checkers, up, 3, 0);
    assert_int_equal(stage->checkers.failures, 0);
    for (unsigned port = 0; port < PORTS; port++) {
        const struct plan_end *end = plan_end(&stage->plan, 8, port);
        stage->ports[8][port] = stage->ports[end->server][end->port] = PORT_UP;
    }
    CHECKERS_TELL(&stage->checkers, up, 8, 0);
    found_by(stage, "roots");
}

static void a_server_that_is_not_settled_may_not_deliver(void **state)
{
    struct stage *stage = stage_open();
    node_id list[SERVERS];
    key_list(stage, 5ull << 60, list);
    stage->settled[list[0]] = false;
    deliver_key(stage, 5ull << 60, list[0]);
    found_by(stage, "roots");

    stage = stage_open();
    stage->settled[list[0]] = false;
    CHECKERS_TELL(&stage->checkers, answered, list[0], 5ull << 60);
    found_by(stage, "roots");
}

/* It says that it is settled, but no link was up since it returned. */
static void a_server_that_returned_may_not_deliver_at_once(void **state)
{
    for (unsigned i = 0; i < 4; i++) {
        struct stage *stage = stage_open();
        node_id list[SERVERS];
        key_list(stage, 5ull << 60, list);
        isolate(stage, list[0], false);
        env_nsec absent = i == 0 ? SILENCE - 1 : SILENCE;
        stage->clock[list[0]] = absent;
        CHECKERS_TELL(&stage->checkers, returned, list[0], 0, absent);
        if (i == 1)
            CHECKERS_TELL(&stage->checkers, up, list[0], 0); /* and went down again */
        stage->clock[list[0]] += i == 2 ? SILENCE : i == 0 ? 0 : SILENCE - 1;
        deliver_key(stage, 5ull << 60, list[0]);
        if (i == 3)
            found_by(stage, "roots");
        else if (i == 0) /* after its start no link was up, and the silence has not passed */
            found_by(stage, "roots");
        else
            found_by_no_checker(stage);
    }
}

/* ---- silence ---- */

static void hear(struct stage *stage, node_id at, unsigned port)
{
    struct packet hello = {.service = 0, .kind = PACKET_TO_NEIGHBOUR};
    CHECKERS_TELL(&stage->checkers, received, at, port, &hello);
    CHECKERS_TELL(&stage->checkers, heard, at, port);
}

/* A key whose home is that server. */
static uint64_t route_of(const struct stage *stage, node_id home)
{
    uint64_t route = 0;
    while (keyspace_group(&stage->plan.keyspace, route).home != home)
        route += 1ull << 56;
    return route;
}

static void a_silent_link_may_not_be_used(void **state)
{
    struct packet packet = {.service = 300, .kind = PACKET_TO_SERVER, .server = 4};
    for (unsigned i = 0; i < 5; i++) {
        struct stage *stage = stage_open();
        stage->clock[4] = SILENCE - 1;
        for (unsigned port = 1; port < PORTS; port++)
            hear(stage, 4, port);
        assert_int_equal(stage->checkers.failures, 0);
        stage->clock[4] = SILENCE;
        if (i == 0)
            stage->ports[4][0] = PORT_DOWN;
        if (i < 2)
            CHECKERS_TELL(&stage->checkers, received, 4, 1, &packet);
        else if (i == 2)
            CHECKERS_TELL(&stage->checkers, taken, 4, 1);
        else if (i == 3)
            CHECKERS_TELL(&stage->checkers, sent, 4, &packet);
        else
            CHECKERS_TELL(&stage->checkers, answered, 4, route_of(stage, 4));
        if (i == 0)
            found_by_no_checker(stage);
        else
            found_by(stage, "silence");
    }
}

/* ---- links ---- */

static void fall(struct stage *stage, node_id at, unsigned port)
{
    stage->ports[at][port] = PORT_DOWN;
    CHECKERS_TELL(&stage->checkers, fell, at, port);
}

static void a_link_goes_down_for_a_reason(void **state)
{
    for (unsigned i = 0; i < 6; i++) {
        struct stage *stage = stage_open();
        const struct plan_end *end = plan_end(&stage->plan, 4, 1);
        stage->clock[4] = 10;
        hear(stage, 4, 1);
        stage->clock[4] = SILENCE + 9;
        if (i == 1)
            stage->clock[4]++; /* the link is silent */
        else if (i == 2)
            stage->ports[end->server][end->port] = PORT_HEARD;
        else if (i == 3)
            CHECKERS_TELL(&stage->checkers, cut, 4, 1, true);
        else if (i == 4)
            CHECKERS_TELL(&stage->checkers, carrier, 4, 1, false);
        else if (i == 5)
            CHECKERS_TELL(&stage->checkers, returned, 4, 0, SILENCE);
        fall(stage, 4, 1);
        if (i == 0)
            found_by(stage, "links");
        else
            found_by_no_checker(stage);
    }
}

static void a_cut_link_may_not_be_up(void **state)
{
    for (unsigned i = 0; i < 4; i++) {
        struct stage *stage = stage_open();
        if (i % 2)
            CHECKERS_TELL(&stage->checkers, cut, 4, 1, true);
        else
            CHECKERS_TELL(&stage->checkers, carrier, 4, 1, false);
        if (i < 2)
            CHECKERS_TELL(&stage->checkers, sampled, 0);
        else
            CHECKERS_TELL(&stage->checkers, up, 4, 1);
        found_by(stage, "links");
    }
    struct stage *stage = stage_open(); /* a server that starts again knows nothing of the cut */
    CHECKERS_TELL(&stage->checkers, cut, 4, 1, true);
    CHECKERS_TELL(&stage->checkers, started, 4);
    CHECKERS_TELL(&stage->checkers, sampled, 0);
    found_by_no_checker(stage);
}

/* ---- calls ---- */

static void wrong_calls_of_a_service_are_found(void **state)
{
    static const struct checker_observed wrong[] = {
        {.peers_repeated = 1}, {.passes_wrong = 1}, {.misdelivered = 1}, {.timers_early = 1}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct stage *stage = stage_open();
        stage->observes = true;
        CHECKERS_TELL(&stage->checkers, sampled, 0);
        assert_int_equal(stage->checkers.failures, 0);
        stage->observed = wrong[i];
        CHECKERS_TELL(&stage->checkers, sampled, 0);
        found_by(stage, "calls");
    }
}

static void a_timer_may_be_late_in_a_storm_only(void **state)
{
    struct stage *stage = stage_open();
    stage->observes = true;
    stage->observed.timer_overdue = true;
    CHECKERS_TELL(&stage->checkers, sampled, 0);
    assert_int_equal(stage->checkers.failures, 0);
    stage->checkers.phase = PHASE_STEADY;
    CHECKERS_TELL(&stage->checkers, sampled, 0);
    found_by(stage, "calls");
}

/* ---- ledger ---- */

static void the_ledger_balances(void **state)
{
    struct stage *stage = stage_open();
    struct checkers *all = &stage->checkers;
    struct packet packet = {.kind = PACKET_TO_SERVER, .service = 240};
    for (packet.trail = 1; packet.trail <= 10000; packet.trail++) {
        CHECKERS_TELL(all, sent, 0, &packet);
        if (packet.trail % 5 == 0) {
            CHECKERS_TELL(all, copied, &packet);
            CHECKERS_TELL(all, delivered, 1, &packet);
        }
        if (packet.trail % 5 == 1)
            CHECKERS_TELL(all, dropped, 1, &packet, DROP_QUEUE_FULL);
        else if (packet.trail % 5 == 2)
            CHECKERS_TELL(all, lost, &packet);
        else if (packet.trail % 5 == 3)
            CHECKERS_TELL(all, taken, 1, packet.trail);
        else
            CHECKERS_TELL(all, delivered, 1, &packet);
    }
    packet.trail = 20000; /* a packet of the links themselves */
    CHECKERS_TELL(all, copied, &packet);
    CHECKERS_TELL(all, dropped, 1, &packet, DROP_DAMAGED);
    CHECKERS_TELL(all, lost, &packet);
    checkers_phase(all, PHASE_OVER);
    found_by_no_checker(stage);
}

/* A service that intercepts a packet may send it on before the interception is reported. */
static void an_intercepted_packet_may_be_sent_again(void **state)
{
    struct stage *stage = stage_open();
    struct packet packet = {.kind = PACKET_TO_SERVER, .service = 240, .trail = 9};
    CHECKERS_TELL(&stage->checkers, sent, 0, &packet);
    CHECKERS_TELL(&stage->checkers, sent, 3, &packet);
    CHECKERS_TELL(&stage->checkers, taken, 3, packet.trail);
    CHECKERS_TELL(&stage->checkers, delivered, 5, &packet);
    checkers_phase(&stage->checkers, PHASE_OVER);
    found_by_no_checker(stage);
}

static void a_packet_delivered_twice_is_found(void **state)
{
    struct stage *stage = stage_open();
    struct packet packet = {.kind = PACKET_TO_SERVER, .service = 240, .trail = 9};
    CHECKERS_TELL(&stage->checkers, sent, 0, &packet);
    CHECKERS_TELL(&stage->checkers, delivered, 1, &packet);
    CHECKERS_TELL(&stage->checkers, delivered, 1, &packet);
    found_by(stage, "ledger");
}

static void a_packet_that_was_never_sent_is_found(void **state)
{
    struct stage *stage = stage_open();
    struct packet packet = {.kind = PACKET_TO_SERVER, .service = 240, .trail = 9};
    CHECKERS_TELL(&stage->checkers, delivered, 1, &packet);
    found_by(stage, "ledger");
}

static void a_packet_that_disappeared_is_found(void **state)
{
    struct stage *stage = stage_open();
    struct packet packet = {.kind = PACKET_TO_SERVER, .service = 240, .trail = 9};
    CHECKERS_TELL(&stage->checkers, sent, 0, &packet);
    checkers_phase(&stage->checkers, PHASE_OVER);
    found_by(stage, "ledger");
}

static void a_drop_in_the_calm_is_found(void **state)
{
    struct stage *stage = stage_open();
    struct packet packet = {.kind = PACKET_TO_SERVER, .service = 240, .trail = 9};
    CHECKERS_TELL(&stage->checkers, sent, 0, &packet);
    stage->checkers.phase = PHASE_STEADY;
    CHECKERS_TELL(&stage->checkers, dropped, 1, &packet, DROP_UNREACHABLE);
    found_by(stage, "ledger");
}

/* Guests that are apart do what they like, whatever their numbers are; the load does not. */
static void a_packet_of_a_guest_apart_may_be_dropped(void **state)
{
    static const uint16_t guests[] = {7, 239, 244, 300};
    for (unsigned i = 0; i < sizeof guests / sizeof *guests; i++) {
        struct stage *stage = stage_open();
        struct checkers *all = &stage->checkers;
        struct packet packet = {.kind = PACKET_TO_SERVER, .service = guests[i], .trail = 9};
        all->view.guests_apart = true;
        CHECKERS_TELL(all, sent, 0, &packet);
        all->phase = PHASE_QUIET;
        CHECKERS_TELL(all, dropped, 1, &packet, DROP_UNREACHABLE);
        checkers_phase(all, PHASE_OVER);
        found_by_no_checker(stage);
    }
    struct stage *stage = stage_open();
    struct packet packet = {.kind = PACKET_TO_SERVER, .service = 243, .trail = 9};
    stage->checkers.view.guests_apart = true;
    CHECKERS_TELL(&stage->checkers, sent, 0, &packet);
    stage->checkers.phase = PHASE_QUIET;
    CHECKERS_TELL(&stage->checkers, dropped, 1, &packet, DROP_UNREACHABLE);
    found_by(stage, "ledger");
}

/* ---- routes ---- */

static void rows_may_only_get_newer(void **state)
{
    struct stage *stage = stage_open();
    struct checkers *all = &stage->checkers;
    CHECKERS_TELL(all, row, 1, 2, 5, 1);
    CHECKERS_TELL(all, row, 1, 2, 5, 7);
    CHECKERS_TELL(all, row, 1, 2, 6, 1);
    CHECKERS_TELL(all, row, 3, 2, 5, 1); /* another server may be behind */
    CHECKERS_TELL(all, started, 1);
    CHECKERS_TELL(all, row, 1, 2, 5, 1); /* and so may a restarted one */
    assert_int_equal(all->failures, 0);
    CHECKERS_TELL(all, row, 1, 2, 5, 1);
    found_by(stage, "routes");

    stage = stage_open();
    CHECKERS_TELL(&stage->checkers, row, 1, 2, 5, 1);
    CHECKERS_TELL(&stage->checkers, row, 1, 2, 4, 9);
    found_by(stage, "routes");
}

static void nothing_leaves_by_a_dead_port(void **state)
{
    struct stage *stage = stage_open();
    struct packet packet = {.kind = PACKET_TO_SERVER, .service = 240};
    struct packet hello = {.kind = PACKET_TO_NEIGHBOUR, .service = 0};
    stage->ports[4][2] = PORT_COMING;
    CHECKERS_TELL(&stage->checkers, transmitted, 4, 2, &packet);
    stage->ports[4][2] = PORT_DOWN;
    CHECKERS_TELL(&stage->checkers, transmitted, 4, 2, &hello);
    assert_int_equal(stage->checkers.failures, 0);
    CHECKERS_TELL(&stage->checkers, transmitted, 4, 2, &packet);
    found_by(stage, "routes");
}

static void a_server_that_does_not_come_back_is_named(void **state)
{
    struct stage *stage = stage_open();
    struct why why = {""};
    assert_false(checker_routes_are_back(&stage->checkers.view, &why));
    assert_string_equal(why.text, "server 0 is down");
    checkers_phase(&stage->checkers, PHASE_STEADY);
    found_by(stage, "routes");
}

/* ---- leaks ---- */

static void a_packet_that_is_left_is_found(void **state)
{
    struct stage *stage = stage_open();
    checkers_phase(&stage->checkers, PHASE_OVER);
    assert_int_equal(stage->checkers.failures, 0);
    stage->live = 1;
    checkers_phase(&stage->checkers, PHASE_OVER);
    found_by(stage, "leaks");
}

/* ---- fairness ---- */

static const struct checker_press press = {
    .server = 3,
    .port = 1,
    .count = 3,
    .services = {241, 242, 243},
    .weights = {2, 4, 1},
};

/* Sends packets of all services in rounds; one service misses every `period`-th round (0: none). */
static void send_rounds(struct stage *stage, unsigned rounds, unsigned period)
{
    for (unsigned round = 1; round <= rounds; round++)
        for (unsigned i = 0; i < press.count; i++) {
            if (i == 2 && period && round % period == 0)
                continue;
            struct packet packet = {.service = press.services[i], .size = PACKET_SIZE_MAX};
            for (unsigned count = press.weights[i]; count; count--) {
                CHECKERS_TELL(&stage->checkers, transmitted, 3, 1, &packet);
                CHECKERS_TELL(&stage->checkers, transmitted, 3, 2, &packet); /* another port */
            }
        }
}

static void shares_by_weight_are_fair(void **state)
{
    struct stage *stage = stage_open();
    CHECKERS_TELL(&stage->checkers, pressed, &press);
    send_rounds(stage, 30, 0);
    CHECKERS_TELL(&stage->checkers, released, &press);
    found_by_no_checker(stage);
}

static void a_service_that_loses_its_turn_is_found(void **state)
{
    struct stage *stage = stage_open();
    CHECKERS_TELL(&stage->checkers, pressed, &press);
    send_rounds(stage, 30, 3);
    CHECKERS_TELL(&stage->checkers, released, &press);
    found_by(stage, "fair");
}

static void a_link_that_carries_nothing_is_an_error(void **state)
{
    struct stage *stage = stage_open();
    CHECKERS_TELL(&stage->checkers, pressed, &press);
    CHECKERS_TELL(&stage->checkers, released, &press);
    found_by(stage, "fair");
}

TEST_MAIN(TEST(the_home_may_deliver), TEST(no_other_server_may_deliver_while_the_home_is_reachable),
          TEST(the_next_server_may_deliver_when_the_home_has_not_settled),
          TEST(the_next_server_may_deliver_when_the_home_is_cut_off),
          TEST(a_detour_counts_as_a_connection), TEST(returning_links_count_at_once),
          TEST(a_connected_but_unknown_server_is_found),
          TEST(a_server_that_is_not_settled_may_not_deliver),
          TEST(a_server_that_returned_may_not_deliver_at_once), TEST(a_silent_link_may_not_be_used),
          TEST(a_link_goes_down_for_a_reason), TEST(a_cut_link_may_not_be_up),
          TEST(wrong_calls_of_a_service_are_found), TEST(a_timer_may_be_late_in_a_storm_only),
          TEST(the_ledger_balances), TEST(an_intercepted_packet_may_be_sent_again),
          TEST(a_packet_delivered_twice_is_found), TEST(a_packet_that_was_never_sent_is_found),
          TEST(a_packet_that_disappeared_is_found), TEST(a_drop_in_the_calm_is_found),
          TEST(a_packet_of_a_guest_apart_may_be_dropped), TEST(rows_may_only_get_newer),
          TEST(nothing_leaves_by_a_dead_port), TEST(a_server_that_does_not_come_back_is_named),
          TEST(a_packet_that_is_left_is_found), TEST(shares_by_weight_are_fair),
          TEST(a_service_that_loses_its_turn_is_found),
          TEST(a_link_that_carries_nothing_is_an_error))
