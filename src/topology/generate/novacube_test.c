#include "topology/generate/novacube.h"

#include "topology/generate/reach_test.h"

/* The number of neighbours that two nodes share. */
static uint32_t shared(const struct graph *graph, uint32_t a, uint32_t b)
{
    uint32_t count = 0;
    for (uint32_t slot = graph->first[a]; slot < graph->first[a + 1]; slot++)
        count += graph_adjacent(graph, graph->to[slot], b);
    return count;
}

/* Strongly regular (16,5,0,2): neighbours share none, other nodes two. There is only one such
 * graph. */
static void the_4_ary_2_novacube_is_the_clebsch_graph(void **state)
{
    struct topology nova = reach_build("novacube:4x4");
    const struct graph *graph = &nova.graph;
    assert_int_equal(graph->node_count, 16);
    for (uint32_t a = 0; a < 16; a++) {
        assert_int_equal(graph_degree(graph, a), 5);
        for (uint32_t b = 0; b < 16; b++)
            if (a != b)
                assert_int_equal(shared(graph, a, b), graph_adjacent(graph, a, b) ? 0 : 2);
    }
    topology_fini(&nova);
}

/* A ring of 4 is the square Q2 by the Gray code 00 01 11 10, so that 4-ary
 * coordinates become 2n bits: neighbours differ in one bit or in all. */
static void the_4_ary_n_novacube_is_the_folded_2n_cube(void **state)
{
    static const uint32_t gray[] = {0, 1, 3, 2};
    static const char *const specs[] = {"novacube:4", "novacube:4x4", "novacube:4x4x4"};
    for (uint32_t n = 1; n <= 3; n++) {
        struct topology nova = reach_build(specs[n - 1]);
        uint32_t nodes = 1u << 2 * n, code[64], at[3];
        for (uint32_t v = 0; v < nodes; v++) {
            topology_coordinate(&nova, v, at);
            code[v] = 0;
            for (uint32_t axis = 0; axis < n; axis++)
                code[v] = code[v] << 2 | gray[at[axis]];
        }
        for (uint32_t a = 0; a < nodes; a++) {
            for (uint32_t b = 0; b < nodes; b++) {
                uint32_t bits = (uint32_t)__builtin_popcount(code[a] ^ code[b]);
                assert_int_equal(a != b && graph_adjacent(&nova.graph, a, b),
                                 bits == 1 || bits == 2 * n);
            }
        }
        topology_fini(&nova);
    }
}

static uint32_t jump_count(const struct topology *nova)
{
    uint32_t jump_port = 2 * nova->axis_count, count = 0;
    for (uint32_t e = 0; e < nova->graph.link_count; e++) {
        const struct link *link = &nova->graph.links[e];
        assert_int_equal(link->a_port == jump_port, link->b_port == jump_port);
        count += link->a_port == jump_port;
    }
    return count;
}

static uint32_t power(uint32_t base, uint32_t exponent)
{
    uint32_t product = 1;
    while (exponent-- > 0)
        product *= base;
    return product;
}

/* The paper's counts: k^n / 2 jumps for even k, (k-1)^n / 2 for odd k; the degree is 2n + 1 at a
 * node with a jump. Jumps join antipodes. */
static void every_k_has_the_jumps_of_the_paper(void **state)
{
    for (uint32_t k = 2; k <= 9; k++) {
        for (uint32_t n = 1; n <= 3; n++) {
            char spec[SPEC_SIZE];
            struct topology nova = reach_build(reach_cube(spec, "novacube", k, n));
            uint32_t jumps = power(k - k % 2, n) / 2, with_jump = 0;
            assert_int_equal(jump_count(&nova), jumps);
            for (uint32_t v = 0; v < nova.graph.node_count; v++)
                with_jump += graph_degree(&nova.graph, v) == (k == 2 ? n : 2 * n) + 1;
            assert_int_equal(with_jump, 2 * jumps);
            topology_fini(&nova);
        }
    }
}

static void a_jump_is_its_own_inverse_and_goes_half_way_round_every_axis(void **state)
{
    const uint32_t size[] = {6, 5, 1, 2, 3};
    uint32_t jumping = 0;
    for (uint32_t v = 0; v < 180; v++) {
        uint32_t to = novacube_jump(size, 5, v);
        if (to == NODE_NONE)
            continue;
        jumping++;
        assert_int_equal(novacube_jump(size, 5, to), v);
        assert_int_equal(to % 6, (v % 6 + 3) % 6);
        assert_int_equal(to / 6 % 5, (v / 6 % 5 + 2) % 4);
        assert_int_equal(to / 30 % 2, !(v / 30 % 2));
        assert_int_equal(to / 60, !(v / 60));
    }
    assert_int_equal(jumping, 6 * 4 * 2 * 2);
}

static void the_smallest_novacubes_follow_the_rule(void **state)
{
    struct topology one = reach_build("novacube:1x1"), two = reach_build("novacube:2"),
                    three = reach_build("novacube:3"), ladder = reach_build("novacube:1x6");
    assert_int_equal(one.graph.link_count, 0);
    assert_int_equal(two.graph.link_count, 2); /* parallel */
    assert_int_equal(three.graph.link_count, 4);
    assert_int_equal(graph_degree(&three.graph, 2), 2);
    assert_int_equal(jump_count(&ladder), 3);
    topology_fini(&one);
    topology_fini(&two);
    topology_fini(&three);
    topology_fini(&ladder);
}

TEST_MAIN(TEST(the_4_ary_2_novacube_is_the_clebsch_graph),
          TEST(the_4_ary_n_novacube_is_the_folded_2n_cube),
          TEST(every_k_has_the_jumps_of_the_paper),
          TEST(a_jump_is_its_own_inverse_and_goes_half_way_round_every_axis),
          TEST(the_smallest_novacubes_follow_the_rule))
