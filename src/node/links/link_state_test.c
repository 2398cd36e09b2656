#include "node/links/link_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/rng.h"
#include "base/test.h"
#include "node/arena_cases.h"
#include "node/links/flood.h"
#include "node/links/hello.h"
#include "node/test_plan.h"

struct stage {
    struct test_plan test;
    struct arena arena;
    struct flood flood;
    struct link_state state;
};

static void stage_open(struct stage *stage, const char *spec, node_id self)
{
    struct why why;
    memset(stage, 0, sizeof *stage);
    test_plan_open(&stage->test, spec);
    assert_int_equal(link_state_init(&stage->state, &stage->test.plan, self, 5,
                                     &stage->flood.spread, &stage->arena, &why),
                     OK);
    assert_true(flood_init(&stage->flood, &stage->state, &stage->arena));
    link_state_put(&stage->state, false);
    link_state_settle(&stage->state);
}

static void stage_close(struct stage *stage)
{
    link_state_fini(&stage->state);
    arena_fini(&stage->arena);
    test_plan_close(&stage->test);
}

/* The predicate skips exactly the changes that change no route: after every change the routes are
 * those of a fresh search. */
static void routes_are_never_stale(void **state)
{
    const char *specs[] = {"torus:3x3x3", "novacube:4x4", "jellyfish:n=20,degree=4,seed=1"};
    const uint64_t seed = 21;
    print_message("# seed %lu\n", (unsigned long)seed);
    struct rng rng = rng_make(seed, 0);
    uint64_t searches = 0, changes = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct stage stage;
        stage_open(&stage, specs[i], 4);
        uint64_t versions[64] = {0};
        struct routes fresh;
        assert_true(routes_init(&fresh, &stage.test.plan, 4, &stage.arena));
        for (unsigned turn = 0; turn < 3000; turn++) {
            node_id server = (node_id)rng_below(&rng, stage.test.plan.server_count);
            port_set near = stage.test.plan.ports[server], up;
            for (unsigned cuts = (unsigned)rng_below(&rng, 3); cuts--;)
                near &= ~((port_set)1 << rng_below(&rng, stage.test.plan.port_count));
            up = near & ~(rng_below(&rng, 2) ? (port_set)1 << rng_below(&rng, 7) : 0);
            if (server == 4) {
                for (unsigned port = 0; port < stage.test.plan.port_count; port++)
                    link_state_near(&stage.state, port, near >> port & 1);
                link_state_admit_blindly(&stage.state);
                link_state_put(&stage.state, false);
            } else {
                assert_true(link_state_take(
                    &stage.state, &(struct link_report){server, 1, ++versions[server], near, up}));
            }
            if (turn % 3)
                continue; /* several rows at once */
            changes++;
            searches += link_state_settle(&stage.state);
            const struct routes *routes = &stage.state.routes;
            routes_find(&fresh, stage.state.near, stage.state.up, false);
            uint32_t count = stage.test.plan.server_count;
            assert_memory_equal(fresh.near_hops, routes->near_hops, 2 * count);
            assert_memory_equal(fresh.up_hops, routes->up_hops, 2 * count);
            assert_memory_equal(fresh.ports, routes->ports, sizeof(port_set) * count);
        }
        stage_close(&stage);
    }
    assert_true(searches < changes); /* and some changes really change nothing */
    assert_true(searches > changes / 10);
}

static void the_newest_row_wins(void **state)
{
    struct stage stage;
    stage_open(&stage, "torus:3x3x3", 0);
    struct link_state *links = &stage.state;
    struct link_report report;
    assert_false(link_state_report(links, 3, &report));
    assert_true(link_state_take(links, &(struct link_report){3, 7, 2, 3, 1}));
    assert_false(link_state_take(links, &(struct link_report){3, 7, 2, 1, 1}));
    assert_false(link_state_take(links, &(struct link_report){3, 7, 1, 1, 1}));
    assert_false(link_state_take(links, &(struct link_report){3, 6, 9, 1, 1}));
    assert_true(link_state_take(links, &(struct link_report){3, 8, 1, 7, 15}));
    assert_true(link_state_report(links, 3, &report));
    assert_int_equal(report.near, 7);
    assert_int_equal(report.up, 7); /* no link is up that is not near */
    /* Ports that the plan does not have. */
    assert_true(link_state_take(links, &(struct link_report){5, 1, 1, UINT32_MAX, UINT32_MAX}));
    assert_true(link_state_report(links, 5, &report));
    assert_int_equal(report.near, 0x3f);
    assert_int_equal(report.up, 0x3f);
    assert_false(link_state_take(links, &(struct link_report){27, 1, 1, 0, 0}));
    assert_false(link_state_take(links, &(struct link_report){4, 0, 1, 0, 0}));
    /* A report about ourselves that claims a later incarnation than this one. */
    assert_false(link_state_take(links, &(struct link_report){0, 50, 3, 0, 0}));
    assert_false(
        link_state_take(links, &(struct link_report){0, 20, 3, 0, 0})); /* and a less late one */
    link_state_put(links, false);
    assert_true(link_state_report(links, 0, &report));
    assert_true(report.incarnation == 51);
    /* And a report that claims the incarnation that we are about to choose. */
    assert_false(link_state_take(links, &(struct link_report){0, 60, 3, 0, 0}));
    assert_false(link_state_take(links, &(struct link_report){0, 61, 3, 0, 0}));
    link_state_put(links, false);
    assert_true(link_state_report(links, 0, &report));
    assert_true(report.incarnation == 62);
    stage_close(&stage);
}

static void an_unchanged_row_is_put_only_on_request(void **state)
{
    struct stage stage;
    struct link_report before, after;
    stage_open(&stage, "torus:3x3", 0);
    link_state_near(&stage.state, 0, true);
    link_state_put(&stage.state, false);
    assert_true(link_state_report(&stage.state, 0, &before));
    link_state_near(&stage.state, 0, true); /* no change */
    link_state_put(&stage.state, false);
    assert_true(link_state_report(&stage.state, 0, &after));
    assert_true(after.version == before.version);
    link_state_put(&stage.state, true);
    assert_true(link_state_report(&stage.state, 0, &after));
    assert_true(after.version == before.version + 1);
    stage_close(&stage);
}

static void others_come(struct stage *stage, node_id self)
{
    for (node_id v = 0; v < stage->test.plan.server_count; v++)
        if (v != self) {
            port_set all = stage->test.plan.ports[v];
            assert_true(link_state_take(&stage->state, &(struct link_report){v, 1, 1, all, all}));
        }
}

static void a_link_is_up_when_all_servers_have_seen_it_near(void **state)
{
    struct stage stage;
    stage_open(&stage, "torus:3x3", 0);
    struct link_state *links = &stage.state;
    others_come(&stage, 0);
    link_state_near(links, 0, true);
    link_state_put(links, false);
    link_state_settle(links);
    assert_int_equal(links->routes.near_count, 9);
    assert_int_equal(links->routes.up_count, 1);
    struct link_report own;
    assert_true(link_state_report(links, 0, &own));
    for (node_id v = 1; v < 9; v++) {
        assert_int_equal(link_state_admit(links), 0);
        assert_true(link_state_is_waiting(links));
        /* An older version, another incarnation of ours, another of theirs: none of these
         * counts. */
        link_state_seen(links, v, &(struct link_seen){own.incarnation, own.version - 1, 1, 1});
        link_state_seen(links, v, &(struct link_seen){own.incarnation + 1, own.version, 1, 1});
        link_state_seen(links, v, &(struct link_seen){own.incarnation, own.version, 2, 1});
        /* Nor does a version that does not exist yet. */
        link_state_seen(links, v, &(struct link_seen){own.incarnation, own.version + 1, 1, 1});
        assert_int_equal(link_state_admit(links), 0);
        /* The last server reports a newer version of its own row than we have. */
        link_state_seen(links, v,
                        &(struct link_seen){own.incarnation, own.version, 1, v == 8 ? 2 : 1});
    }
    assert_int_equal(link_state_admit(links), 0);
    port_set all = stage.test.plan.ports[8];
    assert_true(link_state_take(links, &(struct link_report){8, 1, 2, all, all}));
    link_state_settle(links);
    assert_int_equal(link_state_admit(links), 1);
    assert_false(link_state_is_waiting(links));
    link_state_put(links, false);
    link_state_settle(links);
    assert_int_equal(links->routes.up_count, 9);
    stage_close(&stage);
}

/* A restarted server has not seen the link yet, and an unreachable server need not see it. */
static void a_restarted_server_has_not_seen_a_link_and_an_unreachable_one_need_not(void **state)
{
    struct stage stage;
    stage_open(&stage, "torus:3", 0);
    struct link_state *links = &stage.state;
    others_come(&stage, 0);
    link_state_near(links, 0, true);
    link_state_put(links, false);
    link_state_settle(links);
    struct link_report own;
    assert_true(link_state_report(links, 0, &own));
    struct link_seen seen = {own.incarnation, own.version, 1, 1};
    link_state_seen(links, 1, &seen);
    link_state_seen(links, 2, &seen);
    port_set all = stage.test.plan.ports[2];
    assert_true(link_state_take(links, &(struct link_report){2, 2, 1, all, all}));
    link_state_settle(links);
    assert_int_equal(link_state_admit(links), 0);
    assert_true(link_state_take(links, &(struct link_report){2, 2, 2, 0, 0}));
    link_state_settle(links);
    assert_int_equal(links->routes.near_count, 2);
    /* Server 1 still reports its link to 2, whose row may be older than that report: we wait for 2
     * ...
     */
    assert_int_equal(link_state_admit(links), 0);
    port_set but = stage.test.plan.ports[1] & ~((port_set)1 << plan_port(&stage.test.plan, 1, 2));
    assert_true(link_state_take(links, &(struct link_report){1, 1, 2, but, but}));
    link_state_settle(links);
    /* ... until 1 has given the link up, too. */
    assert_int_equal(link_state_admit(links), 1);
    stage_close(&stage);
}

static uint64_t seen_of(const struct link_state *links, node_id server)
{
    struct link_row row;
    link_state_row(links, server, &row);
    return row.seen;
}

static void a_seen_version_never_decreases_and_only_other_servers_count(void **state)
{
    struct stage stage;
    stage_open(&stage, "torus:3", 0);
    struct link_state *links = &stage.state;
    others_come(&stage, 0);
    link_state_put(links, true);
    struct link_report own;
    assert_true(link_state_report(links, 0, &own));
    assert_true(own.version >= 2);
    link_state_seen(links, 1, &(struct link_seen){own.incarnation, own.version, 1, 1});
    link_state_seen(links, 1, &(struct link_seen){own.incarnation, own.version - 1, 1, 1});
    assert_true(seen_of(links, 1) == own.version);
    link_state_seen(links, 1, &(struct link_seen){own.incarnation, own.version, 1, 9});
    assert_true(links->needs[1] == 1); /* a repeated "seen": the first one counts */
    struct link_seen self = {own.incarnation, own.version, own.incarnation, own.version};
    link_state_seen(links, 0, &self);
    assert_true(seen_of(links, 0) == 0);
    link_state_seen(links, 0x40000000, &self); /* a server that does not exist */
    stage_close(&stage);
}

/* ---- messages ---- */

static void messages_are_read_as_they_were_written(void **state)
{
    uint8_t bytes[PACKET_PAYLOAD_MAX];
    struct link_hello hello = {3, 4, {0x1122334455667788, 9}, {77, 8}, 0xabcdef, 0x123456},
                      found = {0};
    hello_write(&hello, bytes);
    assert_int_equal(hello_type(bytes, HELLO_SIZE), HELLO);
    hello_read(bytes, &found);
    assert_int_equal(found.server, 3);
    assert_int_equal(found.port, 4);
    assert_true(found.self.incarnation == hello.self.incarnation && found.self.session == 9);
    assert_true(found.heard.incarnation == 77 && found.heard.session == 8);
    assert_true(found.layout == 0xabcdef && found.digest == 0x123456);

    struct link_report reports[2] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}, report;
    struct hello_rows rows = {11, 12, 13, 14, true, 2}, read;
    hello_rows_write(&rows, reports, bytes);
    assert_int_equal(hello_type(bytes, hello_rows_size(2)), HELLO_ROWS);
    assert_true(hello_rows_read(bytes, hello_rows_size(2), &read));
    assert_memory_equal(&rows.sequence, &read.sequence, sizeof rows.sequence);
    assert_true(read.self_session == 11 && read.peer_session == 12 && read.acknowledged == 14);
    assert_true(read.more && read.count == 2);
    hello_row_read(bytes, 1, &report);
    assert_true(report.server == 6 && report.incarnation == 7 && report.version == 8 &&
                report.near == 9 && report.up == 10);
    assert_int_equal(hello_type(bytes, hello_rows_size(2) - 1), 0);

    struct link_seen seen = {1, 2, 3, 4}, said;
    hello_seen_write(&seen, bytes);
    assert_int_equal(hello_type(bytes, HELLO_SEEN_SIZE), HELLO_SEEN);
    hello_seen_read(bytes, &said);
    assert_memory_equal(&seen, &said, sizeof seen);
    for (unsigned bit = 0; bit < 8 * HELLO_SEEN_SIZE; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(hello_type(bytes, HELLO_SEEN_SIZE), 0);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

/* One link loses a third of its messages: when a batch ends, the receiver knows all that the sender
 * knew when it wrote the message. */
static void rows_arrive_in_causal_order(void **state)
{
    const uint64_t seed = 31;
    print_message("# seed %lu\n", (unsigned long)seed);
    struct rng rng = rng_make(seed, 0);
    struct stage one, other;
    stage_open(&one, "torus:20x20", 0);
    stage_open(&other, "torus:20x20", 1);
    flood_link(&one.flood, 0);
    flood_link(&other.flood, 1);
    uint64_t versions[400] = {0};
    static struct link_report reports[HELLO_ROWS_MAX];
    static uint8_t bytes[PACKET_PAYLOAD_MAX];
    struct hello_rows rows, read;
    unsigned batches = 0;
    for (env_nsec now = 0; now < 4000 * 1000000LL; now += 1000000) {
        for (unsigned i = (unsigned)rng_below(&rng, 4) * (now < 3000 * 1000000LL); i--;) {
            node_id v = 2 + (node_id)rng_below(&rng, 398);
            struct link_report report = {v, 1, ++versions[v], 15, 15};
            assert_true(link_state_take(&one.state, &report));
            bitset_add(one.flood.ports[0].pending, v);
            one.flood.ports[0].is_pending = true;
        }
        if (flood_next(&one.flood, 0, now, &rows, reports) && rng_below(&rng, 3)) {
            hello_rows_write(&rows, reports, bytes);
            assert_true(hello_rows_read(bytes, hello_rows_size(rows.count), &read));
            flood_take(&other.flood, 1, &read, bytes);
            for (node_id v = 2; v < 400 && !rows.more && rows.count; v++) {
                struct link_report sent, taken;
                bool known = link_state_report(&one.state, v, &sent);
                assert_true(!known || link_state_report(&other.state, v, &taken));
                assert_true(!known || taken.version == sent.version);
            }
            batches += !rows.more && rows.count;
        }
        if (flood_next(&other.flood, 1, now, &rows, reports) && rng_below(&rng, 3)) {
            hello_rows_write(&rows, reports, bytes);
            flood_take(&one.flood, 0, &rows, bytes);
        }
        link_state_settle(&one.state);
        link_state_settle(&other.state);
    }
    assert_true(batches > 20);
    assert_true(one.flood.ports[0].synced_out && other.flood.ports[1].synced_in);
    assert_true(one.flood.spread.ops->is_flushed(&one.flood.spread, 0));
    stage_close(&one);
    stage_close(&other);
}

static bool is_to_be_told(const struct stage *stage, unsigned port, node_id server)
{
    return bitset_has(stage->flood.ports[port].pending, server);
}

static void batch_take(struct stage *stage, uint32_t sequence, bool more,
                       const struct link_report *report)
{
    uint8_t bytes[HELLO_ROWS_HEAD + HELLO_ROW_SIZE + HELLO_TAIL];
    struct hello_rows rows = {.sequence = sequence, .more = more, .count = 1};
    hello_rows_write(&rows, report, bytes);
    flood_take(&stage->flood, 0, &rows, bytes);
    link_state_settle(&stage->state);
}

static void rows_newer_than_those_of_a_neighbour_are_sent_to_it(void **state)
{
    struct stage stage;
    stage_open(&stage, "torus:3x3", 0);
    assert_true(link_state_take(&stage.state, &(struct link_report){5, 1, 2, 1, 1}));
    assert_true(link_state_take(&stage.state, &(struct link_report){6, 1, 1, 1, 1}));
    flood_link(&stage.flood, 0);
    assert_false(stage.flood.spread.ops->is_flushed(&stage.flood.spread, 0));
    batch_take(&stage, 1, false, &(struct link_report){5, 1, 1, 1, 1});
    assert_true(is_to_be_told(&stage, 0, 5));
    batch_take(&stage, 2, false, &(struct link_report){5, 1, 2, 1, 1}); /* the same version */
    assert_false(is_to_be_told(&stage, 0, 5));
    assert_true(is_to_be_told(&stage, 0, 6));
    batch_take(&stage, 3, false, &(struct link_report){6, 1, 2, 1, 1}); /* new to us */
    assert_false(is_to_be_told(&stage, 0, 6));
    stage_close(&stage);
}

/* In the middle of a batch, rows with coming links are held back: our own and those of others. */
static void coming_links_wait_for_the_end_of_a_batch(void **state)
{
    struct stage stage;
    stage_open(&stage, "torus:3x3", 0);
    flood_link(&stage.flood, 0);
    flood_link(&stage.flood, 1);
    struct hello_rows rows;
    static struct link_report reports[HELLO_ROWS_MAX];
    assert_true(flood_next(&stage.flood, 1, 0, &rows, reports)); /* our own row */
    batch_take(&stage, 1, true, &(struct link_report){4, 1, 1, 3, 1});
    batch_take(&stage, 2, true, &(struct link_report){5, 1, 1, 3, 3});
    assert_false(is_to_be_told(&stage, 1, 4));
    assert_true(is_to_be_told(&stage, 1, 5));
    assert_int_equal(flood_owed(&stage.flood), NODE_NONE);
    link_state_put(&stage.state, true); /* no link of ours is coming: the row is sent at once */
    assert_true(is_to_be_told(&stage, 1, 0));
    link_state_near(&stage.state, 1, true);
    link_state_put(&stage.state, false);
    assert_false(is_to_be_told(&stage, 1, 0));
    /* Our row is not sent either when the message that contained it is sent again. */
    assert_true(flood_next(&stage.flood, 1, flood_due(&stage.flood, 1), &rows, reports));
    assert_true(rows.count == 1 && reports[0].server == 5);
    flood_link(&stage.flood, 2); /* a link that comes up meanwhile */
    assert_true(is_to_be_told(&stage, 2, 5));
    assert_false(is_to_be_told(&stage, 2, 0));
    batch_take(&stage, 3, false, &(struct link_report){6, 1, 1, 1, 1});
    assert_true(is_to_be_told(&stage, 1, 4) && is_to_be_told(&stage, 1, 6));
    assert_true(is_to_be_told(&stage, 1, 0) && is_to_be_told(&stage, 0, 0));
    assert_false(is_to_be_told(&stage, 0, 4)); /* it came from there */
    assert_int_equal(flood_owed(&stage.flood), 4);
    /* A batch that breaks off counts as ended. */
    batch_take(&stage, 4, true, &(struct link_report){7, 1, 1, 3, 1});
    assert_false(is_to_be_told(&stage, 1, 7));
    flood_unlink(&stage.flood, 0);
    assert_true(is_to_be_told(&stage, 1, 7));
    stage_close(&stage);
}

/* Duplicates are ignored, an acknowledgement of another message ends nothing, and rows of servers
 * that do not exist are skipped. */
static void messages_with_unexpected_numbers_change_nothing(void **state)
{
    struct stage stage;
    struct hello_rows rows;
    static struct link_report reports[HELLO_ROWS_MAX];
    struct link_report known;
    stage_open(&stage, "torus:3x3", 0);
    flood_link(&stage.flood, 0);
    assert_true(flood_next(&stage.flood, 0, 0, &rows, reports)); /* our own row */
    assert_int_equal(rows.sequence, 1);
    flood_take(&stage.flood, 0, &(struct hello_rows){.acknowledged = 2}, NULL);
    assert_true(flood_due(&stage.flood, 0) != ENV_NEVER);
    flood_take(&stage.flood, 0, &(struct hello_rows){.acknowledged = 1}, NULL);
    assert_true(flood_due(&stage.flood, 0) == ENV_NEVER);

    batch_take(&stage, 5, false, &(struct link_report){4, 1, 1, 3, 3});
    batch_take(&stage, 5, false, &(struct link_report){4, 1, 2, 3, 3});
    batch_take(&stage, 4, false, &(struct link_report){4, 1, 3, 3, 3});
    assert_true(link_state_report(&stage.state, 4, &known));
    assert_true(known.version == 1);
    assert_true(flood_next(&stage.flood, 0, 0, &rows, reports)); /* duplicates are acknowledged */
    assert_int_equal(rows.acknowledged, 5);
    batch_take(&stage, 6, false, &(struct link_report){0x40000000, 1, 1, 3, 3});
    batch_take(&stage, 7, false, &(struct link_report){9, 1, 1, 3, 3});
    stage_close(&stage);
}

/* Then a server that learns of a coming link knows all that its ends knew. */
static void rows_with_coming_links_are_sent_last(void **state)
{
    struct stage stage;
    struct hello_rows rows;
    static struct link_report reports[HELLO_ROWS_MAX];
    stage_open(&stage, "torus:3x3", 0);
    assert_true(link_state_take(&stage.state, &(struct link_report){3, 1, 1, 3, 1}));
    assert_true(link_state_take(&stage.state, &(struct link_report){5, 1, 1, 3, 3}));
    flood_link(&stage.flood, 0);
    assert_true(flood_next(&stage.flood, 0, 0, &rows, reports));
    assert_int_equal(rows.count, 3);
    static const node_id order[] = {0, 5, 3};
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(reports[i].server, order[i]);
    stage_close(&stage);
}

/* Messages in flight when a link went down do not affect its next session. */
static void a_new_session_begins_with_no_message_in_flight(void **state)
{
    struct stage stage;
    struct hello_rows rows;
    static struct link_report reports[HELLO_ROWS_MAX];
    stage_open(&stage, "torus:3x3", 0);
    assert_true(link_state_take(&stage.state, &(struct link_report){5, 1, 2, 1, 1}));
    flood_link(&stage.flood, 0);
    assert_true(flood_next(&stage.flood, 0, 0, &rows, reports));
    assert_int_equal(rows.count, 2);
    flood_unlink(&stage.flood, 0);
    flood_link(&stage.flood, 0);
    batch_take(&stage, 1, false, &(struct link_report){5, 1, 2, 1, 1});
    assert_true(flood_next(&stage.flood, 0, 0, &rows, reports));
    assert_int_equal(rows.count, 1);
    assert_true(flood_next(&stage.flood, 0, flood_due(&stage.flood, 0), &rows, reports));
    assert_int_equal(rows.count, 1);
    stage_close(&stage);
}

static void a_port_without_a_cable_costs_no_memory(void **state)
{
    struct stage stage;
    stage_open(&stage, "torus:1", 0);
    assert_null(stage.flood.ports[0].pending);
    stage_close(&stage);
}

static bool memory_suffices(const struct plan *plan, struct arena *arena)
{
    struct flood flood = {0};
    struct link_state links;
    struct why why = {""};
    enum err err = link_state_init(&links, plan, 0, 5, &flood.spread, arena, &why);
    if (err) {
        assert_int_equal(err, ERR_MEMORY);
        assert_string_equal(why.text, "not enough memory");
        return false;
    }
    bool worked = flood_init(&flood, &links, arena);
    link_state_fini(&links);
    return worked;
}

static void each_allocation_may_be_refused(void **state)
{
    struct test_plan test;
    test_plan_open(&test, "torus:3");
    bool worked = false;
    for (unsigned pieces = 0; !worked; pieces++) {
        struct scant scant;
        scant_open(&scant, pieces);
        worked = scant_close(&scant, memory_suffices(&test.plan, &scant.arena));
        assert_true(pieces < 64); /* at some point it suffices */
    }
    test_plan_close(&test);
}

TEST_MAIN(TEST(each_allocation_may_be_refused),
          TEST(a_new_session_begins_with_no_message_in_flight),
          TEST(rows_with_coming_links_are_sent_last), TEST(a_port_without_a_cable_costs_no_memory),
          TEST(routes_are_never_stale), TEST(coming_links_wait_for_the_end_of_a_batch),
          TEST(the_newest_row_wins), TEST(rows_newer_than_those_of_a_neighbour_are_sent_to_it),
          TEST(an_unchanged_row_is_put_only_on_request),
          TEST(a_link_is_up_when_all_servers_have_seen_it_near),
          TEST(a_restarted_server_has_not_seen_a_link_and_an_unreachable_one_need_not),
          TEST(a_seen_version_never_decreases_and_only_other_servers_count),
          TEST(messages_with_unexpected_numbers_change_nothing),
          TEST(messages_are_read_as_they_were_written), TEST(rows_arrive_in_causal_order))
