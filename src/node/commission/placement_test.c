#include "node/commission/placement.h"

#include "node/commission/placement_cases.h"
#include "node/commission/placement_impl.h"
#include "node/test_plan.h"

static void placement_of(struct placement *placement, struct room *room)
{
    struct why why = {""};
    if (placement_make(placement, &room->plan, room->reports, room->count, &why))
        fail_msg("%s", why.text);
}

/* The true vertex of the server that the placement puts at a vertex. */
static node_id truth_of(const struct room *room, const struct placement *placement, node_id vertex)
{
    for (uint32_t rank = 0; rank < placement->count; rank++) {
        if (placement->vertices[rank] == vertex)
            return room_vertex(room, placement->serials[rank]);
    }
    return NODE_NONE;
}

static struct link link_truth(const struct room *room, const struct placement *placement,
                              const struct link *link)
{
    return (struct link){truth_of(room, placement, link->a), truth_of(room, placement, link->b),
                         link->a_port, link->b_port};
}

/* Is everything that is reported wrong really wrong, and everything else right? */
static bool named(const struct room *room, const struct placement *placement)
{
    const struct inspection *seen = &placement->inspection;
    const struct graph *graph = &room->topology.graph;
    if (seen->contradiction_count || seen->found_count != room->cable_count ||
        seen->found_count - seen->right_count != room_wrong(room))
        return false;
    for (uint32_t i = 0; i < seen->right_count; i++) {
        struct link right = link_truth(room, placement, &seen->found[seen->right[i]]);
        if (!links_have(graph->links, graph->link_count, &right))
            return false;
    }
    for (uint32_t i = 0; i < seen->misplaced_count + seen->missing_count; i++) {
        uint32_t link = i < seen->misplaced_count ? seen->misplaced[i].link
                                                  : seen->missing[i - seen->misplaced_count];
        struct link missing = link_truth(room, placement, &graph->links[link]);
        if (links_have(room->cables, room->cable_count, &missing) ||
            !links_have(graph->links, graph->link_count, &missing))
            return false;
    }
    return placement->finding_count ==
           seen->misplaced_count + seen->missing_count + seen->surplus_count;
}

static const char *const specs[] = {
    "torus:4x4",
    "torus:5x7",
    "torus:3x3x3",
    "torus:4x3x5",
    "torus:2x4x3",
    "novacube:4x4",
    "novacube:5x4",
    "novacube:4x4x4",
    "novacube:3x5x3",
    "jellyfish:n=20,degree=4,seed=1",
    "jellyfish:n=64,degree=6,seed=2",
    "jellyfish:n=40,degree=5,seed=3",
};
#define SPEC_COUNT (sizeof specs / sizeof *specs)

static void correct_wiring_has_no_findings(void **state)
{
    for (size_t i = 0; i < SPEC_COUNT; i++) {
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct room room;
            struct placement placement;
            room_open(&room, specs[i], seed);
            room_report(&room);
            placement_of(&placement, &room);
            assert_true(named(&room, &placement));
            assert_int_equal(placement.finding_count, 0);
            assert_int_equal(placement.count, room.count);
            if (strncmp(specs[i], "torus", 5) == 0 && !strchr(specs[i], '2'))
                assert_int_equal(placement.vertices[0], 0); /* the lowest serial number */
            if (strncmp(specs[i], "jelly", 5) == 0) {       /* random: only one placement fits */
                for (node_id vertex = 0; vertex < room.count; vertex++)
                    assert_int_equal(placement_find(&placement, room.serials[vertex]), vertex);
            }
            assert_int_equal(placement_find(&placement, 99999), NODE_NONE);
            placement_fini(&placement);
            room_close(&room);
        }
    }
}

/* ---- one mistake ---- */

static void turn_random_ports(struct room *room)
{
    uint32_t vertex = (uint32_t)rng_below(&room->rng, room->count);
    uint32_t degree = graph_degree(&room->topology.graph, vertex);
    const uint32_t *channels = room->topology.graph.channel + room->topology.graph.first[vertex];
    uint32_t one = (uint32_t)rng_below(&room->rng, degree);
    uint32_t other = (one + 1 + (uint32_t)rng_below(&room->rng, degree - 1)) % degree;
    room_turn_ports(room, vertex, graph_channel_port(&room->topology.graph, channels[one]),
                    graph_channel_port(&room->topology.graph, channels[other]));
}

static void mistake(struct room *room, uint32_t kind)
{
    if (kind == 0)
        room_exchange(room, room_pick(room), room_pick(room));
    else if (kind == 1)
        room_wrong_port(room, room_pick(room));
    else if (kind == 2)
        room_remove(room, room_pick(room));
    else
        turn_random_ports(room);
}

static void each_mistake_is_reported(void **state)
{
    for (size_t i = 0; i < SPEC_COUNT; i++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            for (uint32_t kind = 0; kind < 4; kind++) {
                struct room room;
                struct placement placement;
                room_open(&room, specs[i], seed);
                mistake(&room, kind);
                room_report(&room);
                placement_of(&placement, &room);
                if (!named(&room, &placement))
                    fail_msg("%s, seed %u, mistake %u", specs[i], (unsigned)seed, kind);
                placement_fini(&placement);
                room_close(&room);
            }
        }
    }
}

/* Misplaces each cable of the lowest serial number, which would be the origin, in turn. */
static void a_mistake_at_the_origin_is_reported_correctly(void **state)
{
    static const char *const few[] = {"torus:5x5", "torus:3x3x3", "novacube:4x4",
                                      "jellyfish:n=20,degree=4,seed=1"};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        struct room room;
        room_open(&room, few[i], 7);
        uint32_t lowest = 0, cables = room.cable_count;
        for (uint32_t vertex = 0; vertex < room.count; vertex++)
            lowest = room.serials[vertex] < room.serials[lowest] ? vertex : lowest;
        for (uint32_t cable = 0; cable < cables; cable++) {
            const struct link *link = &room.cables[cable];
            if (link->a != lowest && link->b != lowest)
                continue;
            struct placement placement;
            uint32_t other = (cable + 1 + (uint32_t)rng_below(&room.rng, cables - 1)) % cables;
            room_exchange(&room, cable, other);
            room_report(&room);
            placement_of(&placement, &room);
            assert_true(named(&room, &placement));
            assert_int_equal(placement.finding_count, 2);
            room_exchange(&room, cable, other);
            placement_fini(&placement);
        }
        room_close(&room);
    }
}

/* A whole ring is laid the wrong way round. */
static void a_mirrored_ring_is_reported(void **state)
{
    static const char *const few[] = {"torus:5x7", "torus:4x3x5", "torus:3x3x3", "novacube:6x6"};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        struct room room;
        struct placement placement;
        room_open(&room, few[i], 3);
        uint32_t size = room.topology.axis_size[0];
        for (uint32_t x = 0; x < size; x++)
            room_turn_ports(&room, size + x, 0, 1);
        assert_int_equal(room_wrong(&room), size);
        room_report(&room);
        placement_of(&placement, &room);
        assert_true(named(&room, &placement));
        placement_fini(&placement);
        room_close(&room);
    }
}

/* Several mistakes may have a simpler explanation than the true one, but the reported one is never
 * longer. */
static void several_mistakes_are_reported_as_simply_as_possible(void **state)
{
    uint32_t told = 0, rooms = 0;
    for (size_t i = 0; i < SPEC_COUNT; i++) {
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct room room;
            struct placement placement;
            room_open(&room, specs[i], seed + 100);
            for (uint32_t k = 0; k < 2 + seed % 3; k++)
                mistake(&room, (uint32_t)rng_below(&room.rng, 4));
            room_report(&room);
            placement_of(&placement, &room);
            assert_true(placement.inspection.right_count >= room.cable_count - room_wrong(&room));
            told += named(&room, &placement);
            rooms++;
            placement_fini(&placement);
            room_close(&room);
        }
    }
    assert_true(told >= rooms - 2); /* and there is hardly ever another explanation */
}

/* Up to one cable in five is wrong. */
static void a_network_with_many_mistakes_is_placed(void **state)
{
    static const struct {
        const char *spec;
        uint32_t mistakes;
        uint64_t seed;
    } cases[] = {{"torus:12x12", 60, 1},
                 {"torus:12x12", 60, 2},
                 {"torus:12x12", 60, 3},
                 {"torus:12x12", 60, 4},
                 {"torus:5x6x7", 80, 5},
                 {"novacube:11x12", 40, 6},
                 {"jellyfish:n=300,degree=4,seed=1", 30, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct room room;
        struct placement placement;
        room_open(&room, cases[i].spec, cases[i].seed);
        for (uint32_t k = 0; k < cases[i].mistakes; k++)
            mistake(&room, (uint32_t)rng_below(&room.rng, 4));
        room_report(&room);
        placement_of(&placement, &room);
        assert_true(placement.inspection.right_count >= room.cable_count - room_wrong(&room));
        placement_fini(&placement);
        room_close(&room);
    }
}

/* ---- compared with all placements ---- */

static uint32_t right_at(const struct room *room, const node_id *vertex_of)
{
    uint32_t right = 0;
    for (uint32_t i = 0; i < room->cable_count; i++) {
        const struct link *cable = &room->cables[i];
        struct link placed = {vertex_of[cable->a], vertex_of[cable->b], cable->a_port,
                              cable->b_port};
        right += links_have(room->topology.graph.links, room->topology.graph.link_count, &placed);
    }
    return right;
}

static uint32_t best_of_all(const struct room *room, node_id *vertex_of, uint32_t fixed)
{
    if (fixed == room->count)
        return right_at(room, vertex_of);
    uint32_t best = 0;
    for (uint32_t i = fixed; i < room->count; i++) {
        node_id swap = vertex_of[fixed];
        vertex_of[fixed] = vertex_of[i];
        vertex_of[i] = swap;
        uint32_t right = best_of_all(room, vertex_of, fixed + 1);
        best = right > best ? right : best;
        vertex_of[i] = vertex_of[fixed];
        vertex_of[fixed] = swap;
    }
    return best;
}

static void no_other_placement_fits_better(void **state)
{
    static const struct {
        const char *spec;
        uint32_t mistakes; /* on a ring, two servers fit many places between two mistakes */
    } small[] = {{"torus:3x2", 3},
                 {"torus:6", 1},
                 {"jellyfish:n=6,degree=3,seed=1", 3},
                 {"novacube:3x2", 3},
                 {"torus:2x3x1", 3}};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        for (uint64_t seed = 1; seed <= 12; seed++) {
            struct room room;
            struct placement placement;
            room_open(&room, small[i].spec, seed);
            for (uint32_t k = 0; k < seed % (small[i].mistakes + 1); k++)
                mistake(&room, (uint32_t)rng_below(&room.rng, 3));
            room_report(&room);
            placement_of(&placement, &room);
            node_id vertex_of[6] = {0, 1, 2, 3, 4, 5};
            uint32_t best = best_of_all(&room, vertex_of, 0);
            if (placement.inspection.right_count != best)
                fail_msg("%s, seed %u: %u right, %u are possible", small[i].spec, (unsigned)seed,
                         placement.inspection.right_count, best);
            placement_fini(&placement);
            room_close(&room);
        }
    }
}

/* ---- the lines ---- */

static void plain_serials(struct room *room)
{
    for (uint32_t vertex = 0; vertex < room->count; vertex++)
        room->serials[vertex] = 1000 + vertex; /* so that every server is at its own vertex */
}

static uint32_t cable_find(const struct room *room, uint32_t vertex, uint32_t port)
{
    for (uint32_t i = 0; i < room->cable_count; i++) {
        const struct link *cable = &room->cables[i];
        if ((cable->a == vertex && cable->a_port == port) ||
            (cable->b == vertex && cable->b_port == port))
            return i;
    }
    fail();
    return 0;
}

static void findings_name_server_and_port(void **state)
{
    struct room room;
    struct placement placement;
    room_open(&room, "torus:4x4", 1);
    plain_serials(&room);
    room_exchange(&room, cable_find(&room, 5, 0), cable_find(&room, 10, 2));
    room_remove(&room, cable_find(&room, 0, 0));
    room_wrong_port(&room, cable_find(&room, 3, 2));
    room_report(&room);
    placement_of(&placement, &room);
    static const char *const lines[] = {
        "server 5 (serial 1005) port +x(0) leads to server 14 (serial 1014) port -y(3); planned: "
        "server 6 (serial 1006) port -x(1)",
        "server 7 (serial 1007) port -y(3) leads to server 3 (serial 1003) port 4; planned: "
        "server 3 (serial 1003) port +y(2)",
        "server 10 (serial 1010) port +y(2) leads to server 6 (serial 1006) port -x(1); planned: "
        "server 14 (serial 1014) port -y(3)",
        "server 0 (serial 1000) port +x(0) has no cable; planned: server 1 (serial 1001) port "
        "-x(1)",
    };
    assert_int_equal(placement.finding_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        bool told = false;
        for (uint32_t j = 0; j < 4; j++)
            told |= strcmp(placement.findings[j].line, lines[i]) == 0;
        if (!told)
            fail_msg("not reported: %s", lines[i]);
    }
    placement_fini(&placement);
    room_close(&room);
}

static void one_way_cables_and_contradictions_are_reported(void **state)
{
    struct room room;
    struct placement placement;
    room_open(&room, "torus:4x4", 1);
    plain_serials(&room);
    room_report(&room);
    room.reports[5].ears[0].port = PORT_NONE;
    room.reports[8].ears[2] = (struct placement_end){1003, 3};
    placement_of(&placement, &room);
    assert_int_equal(placement.finding_count, 4);
    assert_string_equal(
        placement.findings[0].line,
        "server 8 (serial 1008) port +y(2) is not connected as planned to server 12 "
        "(serial 1012) port -y(3)");
    assert_string_equal(
        placement.findings[1].line,
        "server 6 (serial 1006) port -x(1) receives hellos from server 5 (serial 1005) port "
        "+x(0), which receives none");
    assert_string_equal(
        placement.findings[2].line,
        "server 8 (serial 1008) port +y(2) receives hellos from server 3 (serial 1003) port "
        "-y(3), but server 3 (serial 1003) port -y(3) receives hellos from server 15 (serial "
        "1015) port +y(2)");
    assert_int_equal(placement.findings[2].kind, PLACEMENT_DISPUTED);
    assert_int_equal(placement.findings[3].kind,
                     PLACEMENT_DISPUTED); /* the report of its true end */
    placement_fini(&placement);
    room_close(&room);
}

/* ---- absent servers, and servers with an earlier place ---- */

static void absent_and_unplanned_servers_are_reported(void **state)
{
    struct room room;
    struct placement placement;
    room_open(&room, "torus:4x4", 1);
    plain_serials(&room);
    for (uint32_t i = room.cable_count; i-- > 0;) {
        if (room.cables[i].a == 15 || room.cables[i].b == 15)
            room_remove(&room, i);
    }
    room_report(&room);
    assert_int_equal(placement_make(&placement, &room.plan, room.reports, 15, NULL), OK);
    assert_int_equal(placement.finding_count, 1); /* and not each of its cables */
    assert_string_equal(placement.findings[0].line,
                        "server 15 is planned, but no server receives its hellos");
    placement_fini(&placement);
    room_close(&room);

    room_open(&room, "torus:4x4", 1);
    plain_serials(&room);
    room_report(&room);
    room.reports[3].ears[4] = (struct placement_end){7, 2}; /* one port and one server more */
    placement_of(&placement, &room);
    assert_int_equal(placement_find(&placement, 7), 16);
    assert_int_equal(placement.finding_count, 2);
    assert_string_equal(placement.findings[0].line,
                        "the unplanned server (serial 7) has no place: all 16 "
                        "servers of the plan are present");
    assert_string_equal(
        placement.findings[1].line,
        "server 3 (serial 1003) port 4 leads to the unplanned server (serial 7) port +y(2); "
        "planned: no cable there");
    placement_fini(&placement);
    room_close(&room);
}

static void places_are_kept(void **state)
{
    struct room room;
    struct placement placement;
    room_open(&room, "torus:4x4", 5);
    room_report(&room);
    for (uint32_t vertex = 0; vertex < room.count; vertex++)
        room.reports[vertex].known = vertex == 6 ? NODE_NONE : vertex;
    /* A machine was replaced: its serial number is now the lowest. */
    for (uint32_t vertex = 0; vertex < room.count; vertex++) {
        for (uint32_t port = 0; port < 4; port++) {
            struct placement_end *ear = &room.reports[vertex].ears[port];
            ear->serial = ear->serial == room.serials[6] ? 0 : ear->serial;
        }
    }
    room.reports[6].serial = room.serials[6] = 0;
    placement_of(&placement, &room);
    assert_int_equal(placement.finding_count, 0);
    for (uint32_t vertex = 0; vertex < room.count; vertex++)
        assert_int_equal(placement_find(&placement, room.serials[vertex]), vertex);
    placement_fini(&placement);
    /* Two machines exchanged places: they keep their numbers, so their cables are wrong. */
    room.reports[6].known = 9;
    room.reports[9].known = 6;
    placement_of(&placement, &room);
    assert_int_equal(placement_find(&placement, room.serials[9]), 6);
    assert_int_equal(placement.inspection.right_count, room.cable_count - 8);
    placement_fini(&placement);
    /* Two servers claim the same place, and one claims a place that the plan does not have. */
    room.reports[6].known = 5;
    room.reports[9].known = 16;
    placement_of(&placement, &room);
    uint32_t places = 0, twice = 0, beyond = 0;
    for (uint32_t i = 0; i < placement.finding_count; i++) {
        const char *line = placement.findings[i].line;
        places += placement.findings[i].kind == PLACEMENT_IMPOSSIBLE;
        twice += strstr(line, " was server 5 before, but so was serial 0") != NULL;
        beyond += strstr(line, " was server 16 before, but the plan has only 16 servers") != 0;
    }
    assert_int_equal(places, 2);
    assert_true(twice == 1 && beyond == 1);
    assert_int_equal(placement_find(&placement, 0), 5); /* the lower serial number keeps it */
    placement_fini(&placement);
    room_close(&room);
}

/* A ring of 7 lacks its servers 1 and 5; a new server has one cable for each of these two
 * places. */
static void a_server_does_not_move_to_an_equally_good_place(void **state)
{
    static const node_id vertices[] = {0, 4, 3, 2, 6}; /* in the order of serial numbers */
    struct test_plan test;
    test_plan_open(&test, "torus:7");
    struct placement_report reports[6];
    for (uint32_t i = 0; i < 6; i++) {
        reports[i] = (struct placement_report){.serial = i < 5 ? 100 + i : 200,
                                               .known = i < 5 ? vertices[i] : NODE_NONE,
                                               .port_count = 2};
        for (uint32_t port = 0; port < PORT_MAX; port++)
            reports[i].ears[port].port = PORT_NONE;
    }
    reports[5].ears[0] = (struct placement_end){103, 1}; /* by server 2 it is 1 */
    reports[3].ears[1] = (struct placement_end){200, 0};
    reports[5].ears[1] = (struct placement_end){101, 0}; /* by server 4 it is 5 */
    reports[1].ears[0] = (struct placement_end){200, 1};
    struct placement placement;
    assert_int_equal(placement_make(&placement, &test.plan, reports, 6, NULL), OK);
    assert_int_equal(placement_find(&placement, 200), 1);
    placement_fini(&placement);
    test_plan_close(&test);
}

static void the_order_of_the_reports_does_not_matter(void **state)
{
    struct room room;
    struct placement one, other;
    room_open(&room, "jellyfish:n=40,degree=5,seed=3", 12);
    mistake(&room, 0);
    mistake(&room, 3);
    room_report(&room);
    placement_of(&one, &room);
    for (uint32_t left = room.count; left > 1; left--) {
        uint32_t pick = (uint32_t)rng_below(&room.rng, left);
        struct placement_report report = room.reports[left - 1];
        room.reports[left - 1] = room.reports[pick];
        room.reports[pick] = report;
    }
    placement_of(&other, &room);
    assert_memory_equal(one.vertices, other.vertices, room.count * sizeof *one.vertices);
    assert_int_equal(one.finding_count, other.finding_count);
    for (uint32_t i = 0; i < one.finding_count; i++)
        assert_string_equal(one.findings[i].line, other.findings[i].line);
    placement_fini(&one);
    placement_fini(&other);
    room_close(&room);
}

static void a_lone_server_is_placed_and_no_reports_are_accepted(void **state)
{
    struct room room;
    struct placement placement;
    room_open(&room, "torus:1", 1);
    room_report(&room);
    placement_of(&placement, &room);
    assert_int_equal(placement_find(&placement, room.serials[0]), 0);
    assert_int_equal(placement.finding_count, 0);
    placement_fini(&placement);
    assert_int_equal(placement_make(&placement, &room.plan, NULL, 0, NULL), OK);
    assert_int_equal(placement.finding_count, 1);
    placement_fini(&placement);
    room_close(&room);
}

static bool same(const char *spec)
{
    struct topology topology;
    struct why why = {""};
    if (topology_build(&topology, spec, &why))
        fail_msg("%s", why.text);
    bool result = placement_plan_same(&topology);
    topology_fini(&topology);
    return result;
}

/* From every vertex, with its ports. */
static void plans_that_look_the_same_from_every_vertex_are_recognised(void **state)
{
    assert_true(same("torus:5x7"));
    assert_true(same("torus:3x1x4"));
    assert_false(same("torus:3x2"));
    assert_true(same("novacube:4x6"));
    assert_false(same("novacube:4x5"));
    assert_true(same("novacube:4x1x4"));
    assert_false(same("jellyfish:n=4,degree=3,seed=1"));
}

/* Few choices first, then more hops, then the lower serial number. */
static bool comes_first(const struct placement_origin *one, const struct placement_origin *other)
{
    if (one->choices != other->choices)
        return one->choices < other->choices;
    return one->depth != other->depth ? one->depth > other->depth : one->rank < other->rank;
}

static void the_best_origins_come_first(void **state)
{
    struct test_plan test;
    test_plan_open(&test, "jellyfish:n=64,degree=3,seed=2");
    uint32_t count = test.plan.server_count, depths = 0, choices = 0;
    struct placement_wiring wiring = {.plan = &test.plan, .count = count};
    wiring.far = calloc((size_t)count * PORT_MAX, sizeof *wiring.far);
    assert_non_null(wiring.far);
    for (uint32_t i = 0; i < count * PORT_MAX; i++)
        wiring.far[i].rank = RANK_NONE;
    for (uint32_t i = 1; i < test.topology.graph.link_count; i++) { /* all but one */
        const struct link *link = &test.topology.graph.links[i];
        wiring.far[link->a * PORT_MAX + link->a_port] =
            (struct placement_far){link->b, link->b_port};
        wiring.far[link->b * PORT_MAX + link->b_port] =
            (struct placement_far){link->a, link->a_port};
    }
    struct placement_origins origins;
    assert_int_equal(placement_origins_make(&origins, &wiring, NULL), OK);
    assert_int_equal(origins.count, count);
    for (uint32_t i = 1; i < count; i++) {
        const struct placement_origin *before = &origins.items[i - 1], *at = before + 1;
        assert_true(comes_first(before, at));
        choices += before->choices != at->choices;
        depths += before->choices == at->choices && before->depth != at->depth;
    }
    assert_true(choices > 0 && depths > 0);
    placement_origins_fini(&origins);
    free(wiring.far);
    test_plan_close(&test);
}

TEST_MAIN(TEST(the_best_origins_come_first),
          TEST(plans_that_look_the_same_from_every_vertex_are_recognised),
          TEST(correct_wiring_has_no_findings), TEST(each_mistake_is_reported),
          TEST(a_mistake_at_the_origin_is_reported_correctly), TEST(a_mirrored_ring_is_reported),
          TEST(several_mistakes_are_reported_as_simply_as_possible),
          TEST(a_network_with_many_mistakes_is_placed), TEST(no_other_placement_fits_better),
          TEST(findings_name_server_and_port), TEST(one_way_cables_and_contradictions_are_reported),
          TEST(absent_and_unplanned_servers_are_reported), TEST(places_are_kept),
          TEST(a_server_does_not_move_to_an_equally_good_place),
          TEST(the_order_of_the_reports_does_not_matter),
          TEST(a_lone_server_is_placed_and_no_reports_are_accepted))
