#include "flow/bisection/bisection.h"

#include <math.h>

#include "base/test.h"
#include "flow/bisection/example.h"

static void bracket_check(struct topology *topology, uint64_t lower, uint64_t upper)
{
    struct bisection bisection;
    assert_int_equal(bisection_find(&bisection, topology, 7, NULL), OK);
    assert_int_equal(bisection.lower, lower);
    assert_int_equal(bisection.upper, upper);
    assert_int_equal(bisection_cut(topology, bisection.side), upper);
    bisection_fini(&bisection);
    topology_fini(topology);
}

static void spec_check(const char *spec, uint64_t lower, uint64_t upper)
{
    struct topology topology;
    example_spec(&topology, spec);
    bracket_check(&topology, lower, upper);
}

static void even_tori_are_known_exactly(void **state)
{
    spec_check("torus:4x4", 8, 8);
    spec_check("torus:6x6", 12, 12);
    spec_check("torus:8x8x8", 128, 128);
    spec_check("torus:4x6x8", 48, 48);
    spec_check("torus:40x30", 60, 60);
    spec_check("torus:26", 2, 2);
    spec_check("torus:2x2x2", 4, 4);
    spec_check("torus:2x2x2x2x2x2x2", 64, 64);
    spec_check("torus:32x32x32", 2048, 2048);
}

/* Cutting half of the layers, half of the middle layer, and so on along the axes cuts 2 (k^n - 1) /
 * (k - 1) cables. The search must find nothing worse, and the proof must come near. */
static void odd_tori_get_the_best_known_cut(void **state)
{
    static const struct {
        const char *spec;
        uint64_t cut;
    } known[] = {{"torus:3x3", 8},      {"torus:5x5", 12},   {"torus:9x9", 20},
                 {"torus:3x3x3", 26},   {"torus:5x5x5", 62}, {"torus:7x7x7", 114},
                 {"torus:3x3x3x3", 80}, {"torus:25", 2}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct topology topology;
        struct bisection bisection;
        example_spec(&topology, known[i].spec);
        assert_int_equal(bisection_find(&bisection, &topology, 1, NULL), OK);
        assert_int_equal(bisection.upper, known[i].cut);
        assert_true(bisection.lower <= known[i].cut && bisection.lower > 0.6 * known[i].cut);
        bisection_fini(&bisection);
        topology_fini(&topology);
    }
}

/* A 4-ary n-NovaCube is a folded 2n-cube. For larger even sizes the smallest cut found is 4
 * k^(n-1), which no jump crosses. */
static void novacubes_have_their_smallest_known_cut(void **state)
{
    spec_check("novacube:4x4", 16, 16);
    spec_check("novacube:4x4x4", 64, 64);
    static const struct {
        const char *spec;
        uint64_t cut;
    } known[] = {{"novacube:6x6", 24},
                 {"novacube:8x8", 32},
                 {"novacube:12x12", 48},
                 {"novacube:8x8x8", 256}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct topology topology;
        struct bisection bisection;
        example_spec(&topology, known[i].spec);
        assert_int_equal(bisection_find(&bisection, &topology, 1, NULL), OK);
        assert_true(bisection.upper <= known[i].cut);
        assert_true(bisection.lower <= bisection.upper && 2 * bisection.lower > bisection.upper);
        bisection_fini(&bisection);
        topology_fini(&topology);
    }
}

static void the_bisection_of_a_fat_tree_is_half_its_servers(void **state)
{
    spec_check("fattree:k=2", 1, 1);
    spec_check("fattree:k=4", 8, 8);
    spec_check("fattree:k=6", 27, 27);
    spec_check("fattree:k=8", 64, 64);
    spec_check("fattree:k=14", 343, 343);
}

/* Petersen's graph has 5 by trying all halvings; Hoffman and Singleton's graph has 50 nodes and
 * second eigenvalue 5, so at least 50 * 5 / 4 = 62.5. */
static void moore_graphs_are_bracketed(void **state)
{
    struct topology topology;
    struct bisection bisection;
    spec_check("degree-diameter:10,3,2", 5, 5);
    example_spec(&topology, "degree-diameter:50,7,2");
    assert_int_equal(bisection_find(&bisection, &topology, 1, NULL), OK);
    assert_int_equal(bisection.lower, 63);
    assert_true(bisection.upper >= 63 && bisection.upper <= 70);
    bisection_fini(&bisection);
    topology_fini(&topology);
}

static void jellyfish_are_bracketed(void **state)
{
    struct topology topology;
    struct bisection bisection;
    example_spec(&topology, "jellyfish:n=200,degree=8,seed=3");
    assert_int_equal(bisection_find(&bisection, &topology, 1, NULL), OK);
    assert_true(fabs(bisection.almost_surely - bisection_bollobas(200, 8)) < 1e-9);
    assert_true(bisection.lower > 0.5 * bisection.almost_surely);
    assert_true(bisection.upper > bisection.almost_surely);
    assert_true(bisection.upper < 1.3 * bisection.almost_surely);
    bisection_fini(&bisection);
    topology_fini(&topology);
    /* 65 servers on 24 switches: some switches have one more; the numbers of links differ. */
    example_spec(&topology, "jellyfish:servers=65,switches=24,ports=9,seed=1");
    assert_int_equal(bisection_find(&bisection, &topology, 1, NULL), OK);
    assert_true(isnan(bisection.almost_surely));
    assert_true(bisection.lower > 1 && bisection.lower <= bisection.upper);
    bisection_fini(&bisection);
    topology_fini(&topology);
}

static void complete_graphs_are_known_exactly(void **state)
{
    for (uint32_t nodes = 1; nodes < 32; nodes += 3) {
        struct topology topology;
        example_complete(&topology, nodes);
        uint64_t cut = (uint64_t)(nodes / 2) * (nodes - nodes / 2);
        bracket_check(&topology, cut, cut);
    }
}

/* Small graphs are treated like large ones here, so a proof that claims too much or an invalid cut
 * shows in the comparison with the definition. */
static void brackets_of_small_graphs_hold_the_smallest_halving(void **state)
{
    print_message("# seed 61\n");
    struct rng rng = rng_make(61, 0);
    int solved = 0, rounds = 120;
    for (int round = 0; round < rounds; round++) {
        struct topology topology;
        struct bisection bisection;
        uint32_t nodes = 2 + (uint32_t)rng_below(&rng, 12);
        example_random(&topology, nodes, (uint32_t)rng_below(&rng, 4 * nodes), round % 5 != 0,
                       round % 4, &rng);
        uint64_t smallest = example_smallest(&topology);
        assert_int_equal(bisection_bracket(&bisection, &topology, 1, NULL), OK);
        assert_true(bisection.lower <= smallest);
        assert_true(bisection.upper >= smallest);
        assert_int_equal(bisection_cut(&topology, bisection.side), bisection.upper);
        solved += bisection.upper == smallest;
        bisection_fini(&bisection);
        assert_int_equal(bisection_find(&bisection, &topology, 1, NULL), OK);
        assert_int_equal(bisection.lower, smallest);
        assert_int_equal(bisection.upper, smallest);
        assert_string_equal(bisection.lower_method, "exhaustive");
        bisection_fini(&bisection);
        topology_fini(&topology);
    }
    assert_true(solved > rounds * 95 / 100);
}

static void without_cables_nothing_is_cut(void **state)
{
    struct topology topology;
    example_make(&topology, 0, NULL, 0);
    bracket_check(&topology, 0, 0);
    example_make(&topology, 1, NULL, 0);
    bracket_check(&topology, 0, 0);
    example_make(&topology, 50, NULL, 0);
    bracket_check(&topology, 0, 0);
}

/* Two separate rings need not be cut; of three, one must be. */
static void disconnected_networks_may_need_no_cut(void **state)
{
    struct link links[45];
    struct topology topology;
    for (uint32_t v = 0; v < 45; v++)
        links[v] = (struct link){v, v % 15 == 14 ? v - 14 : v + 1, PORT_ANY, PORT_ANY};
    example_make(&topology, 30, links, 30);
    bracket_check(&topology, 0, 0);
    example_make(&topology, 45, links, 45);
    bracket_check(&topology, 0, 2);
}

/* All servers are on one switch of many: it is one half, and the other switches stay with it. */
static void one_heavy_node_needs_no_cut(void **state)
{
    struct topology topology;
    example_spec(&topology, "torus:6x6");
    for (uint32_t v = 0; v < 36; v++)
        topology.sites[v].servers = v == 8 ? 5 : 0;
    topology.direct = false;
    topology_count_servers(&topology);
    bracket_check(&topology, 0, 0);
}

static void parallel_cables_each_count(void **state)
{
    struct link links[150];
    struct topology topology;
    for (uint32_t i = 0; i < 150; i++) /* a ring of 30 in which every cable is fivefold */
        links[i] = (struct link){i % 30, (i + 1) % 30, PORT_ANY, PORT_ANY};
    example_make(&topology, 30, links, 150);
    bracket_check(&topology, 10, 10);
}

static void a_seed_repeats_the_result(void **state)
{
    struct topology topology;
    struct bisection one, other;
    struct rng rng = rng_make(71, 0);
    example_random(&topology, 120, 400, true, 3, &rng);
    assert_int_equal(bisection_find(&one, &topology, 5, NULL), OK);
    assert_int_equal(bisection_find(&other, &topology, 5, NULL), OK);
    assert_int_equal(one.lower, other.lower);
    assert_int_equal(one.upper, other.upper);
    assert_memory_equal(one.side, other.side, 120);
    bisection_fini(&one);
    bisection_fini(&other);
    topology_fini(&topology);
}

/* The progress that was reported: a share never decreases within a stage. */
struct watched {
    const char *stage;
    uint64_t done, total, calls, counted;
};

static void watch(void *context, const char *stage, uint64_t done, uint64_t total)
{
    struct watched *watched = context;
    assert_non_null(stage);
    if (total)
        assert_true(done < total);
    if (watched->stage == stage && watched->total && total) {
        assert_int_equal(total, watched->total);
        assert_true(done > watched->done);
    }
    watched->calls++;
    watched->counted += total > 0;
    watched->stage = stage;
    watched->done = done;
    watched->total = total;
}

static void progress_is_reported_and_changes_nothing(void **state)
{
    struct topology topology;
    struct bisection alone, seen;
    struct watched watched = {0};
    struct rng rng = rng_make(72, 0);
    example_random(&topology, 120, 400, true, 3, &rng);
    assert_int_equal(bisection_find(&alone, &topology, 5, NULL), OK);
    assert_int_equal(bisection_watch(&seen, &topology, 5, (struct observer){watch, &watched}, NULL),
                     OK);
    assert_int_equal(alone.lower, seen.lower);
    assert_memory_equal(alone.side, seen.side, 120);
    assert_true(watched.calls > watched.counted && watched.counted > 10);
    bisection_fini(&alone);
    bisection_fini(&seen);
    topology_fini(&topology);
}

static void bollobas_bound_follows_its_formula(void **state)
{
    assert_true(fabs(bisection_bollobas(1000, 10) - 1183.5) < 1);
    struct topology topology;
    struct bisection bisection;
    example_spec(&topology, "torus:4x4");
    assert_int_equal(bisection_find(&bisection, &topology, 1, NULL), OK);
    assert_true(isnan(bisection.almost_surely)); /* regular, but not random */
    bisection_fini(&bisection);
    topology_fini(&topology);
}

/* Every proof is the best of all on some generator; a proof that is never the best would be
 * deleted. The proofs for networks beyond SPECTRAL_NODE_MAX (chebyshev.h, walks.h) are left out,
 * because they take too long here. */
static void every_proof_is_the_best_somewhere(void **state)
{
    static const struct {
        const char *spec, *method;
    } known[] = {
        {"fattree:k=6", "non-blocking"},
        {"swdc-ring:64,seed=1", "congestion"},
        {"torus:40x30", "congestion"},            /* too large for an embedding */
        {"novacube:6x6", "embedding"},            /* 22; spectral 18, congestion 19 */
        {"novacube:2x2x2x2x2x2x2x2", "spectral"}, /* in closed form; too many axes to embed */
        {"jellyfish:n=100,degree=12", "spectral"} /* by Cholesky's factor */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct topology topology;
        struct bisection bisection;
        example_spec(&topology, known[i].spec);
        assert_int_equal(bisection_find(&bisection, &topology, 1, NULL), OK);
        assert_string_equal(bisection.lower_method, known[i].method);
        bisection_fini(&bisection);
        topology_fini(&topology);
    }
}

/* Nodes of different weights, and more nodes than the other proofs can handle. */
static void distances_bound_networks_too_large_for_other_proofs(void **state)
{
    struct topology topology;
    struct bisection bisection;
    struct distance_tally tally = {0};
    example_spec(&topology, "jellyfish:servers=20000,ports=3000x8+3000x16");
    assert_int_equal(bisection_find(&bisection, &topology, 1, NULL), OK);
    assert_string_equal(bisection.lower_method, "connected");
    assert_int_equal(distance_tally_add(&tally, &topology, 0, topology.graph.node_count, NULL), OK);
    assert_int_equal(bisection_raise(&bisection, &topology, &tally, NULL), OK);
    assert_string_equal(bisection.lower_method, "distances");
    assert_true(bisection.lower > 1);
    distance_tally_fini(&tally);
    bisection_fini(&bisection);
    topology_fini(&topology);
}

TEST_MAIN(TEST(progress_is_reported_and_changes_nothing), TEST(even_tori_are_known_exactly),
          TEST(odd_tori_get_the_best_known_cut), TEST(novacubes_have_their_smallest_known_cut),
          TEST(the_bisection_of_a_fat_tree_is_half_its_servers), TEST(moore_graphs_are_bracketed),
          TEST(jellyfish_are_bracketed), TEST(complete_graphs_are_known_exactly),
          TEST(brackets_of_small_graphs_hold_the_smallest_halving),
          TEST(without_cables_nothing_is_cut), TEST(disconnected_networks_may_need_no_cut),
          TEST(one_heavy_node_needs_no_cut), TEST(parallel_cables_each_count),
          TEST(a_seed_repeats_the_result), TEST(bollobas_bound_follows_its_formula),
          TEST(every_proof_is_the_best_somewhere),
          TEST(distances_bound_networks_too_large_for_other_proofs))
