#include "flow/worst/capacity.h"

#include <string.h>

#include "base/test.h"
#include "topology/build_test.h"

static struct capacity of(const char *spec, bool searched)
{
    struct topology topology = build_test(spec);
    struct capacity capacity;
    struct why why = {""};
    if (searched) /* nothing shows that it is a torus */
        topology.kind = TOPOLOGY_OTHER;
    if (uniform_capacity(&capacity, &topology, 0.001, NULL, NULL, &why))
        fail_msg("%s: %s", spec, why.text);
    topology_fini(&topology);
    return capacity;
}

/* Even k: 8/k; a ring of three is a complete graph. */
static void the_capacity_of_tori_is_the_closed_form(void **state)
{
    static const struct {
        const char *spec;
        double rate;
    } cases[] = {{"torus:8x8", 1},       {"torus:4x4x4", 2}, {"torus:8x4", 1},
                 {"torus:4", 2},         {"torus:2", 2},     {"torus:3", 3},
                 {"torus:5x3", 5.0 / 3}, {"torus:2x2x2", 2}, {"torus:2x3", 2},
                 {"torus:1x6", 8.0 / 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct capacity capacity = of(cases[i].spec, false);
        assert_true(capacity.closed_form);
        assert_within(capacity.lower, cases[i].rate, 1e-12);
        assert_true(capacity.lower == capacity.upper);
        capacity = of(cases[i].spec, true);
        assert_false(capacity.closed_form);
        assert_true(capacity.lower <= cases[i].rate * (1 + 1e-9));
        assert_true(capacity.upper >= cases[i].rate * (1 - 1e-9));
        assert_true(capacity.upper <= capacity.lower * 1.0011);
        assert_true(capacity_middle(&capacity) >= capacity.lower &&
                    capacity_middle(&capacity) <= capacity.upper);
    }
}

/* 1/5 per ordered pair, so 16/5 per node; the 4-ary 2-NovaCube is the same graph. */
static void the_clebsch_graph_has_its_known_capacity(void **state)
{
    struct capacity capacity = of("novacube:4x4", false);
    assert_true(capacity.lower <= 3.2 * (1 + 1e-9) && capacity.upper >= 3.2 * (1 - 1e-9));
    assert_true(capacity.upper <= capacity.lower * 1.0011);
}

/* Only edge switches send, 1 each: with k = 4 each has two cables up for the 7/8 that leaves it. */
static void switches_without_servers_send_nothing(void **state)
{
    struct capacity capacity = of("fattree:k=4", false);
    double rate = 2 / (7.0 / 8);
    assert_true(capacity.lower <= rate * (1 + 1e-9) && capacity.upper >= rate * (1 - 1e-9));
    assert_true(capacity.upper <= capacity.lower * 1.0011);
}

static void a_disconnected_network_has_no_capacity(void **state)
{
    struct topology topology;
    struct capacity capacity;
    struct why why = {""};
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, true, 3, NULL, 0, NULL), OK);
    topology_count_servers(&topology);
    assert_int_equal(uniform_capacity(&capacity, &topology, 0.01, NULL, NULL, &why), ERR_NO);
    assert_non_null(strstr(why.text, "no path leads from '0' to '1'"));
    topology_fini(&topology);
}

TEST_MAIN(TEST(the_capacity_of_tori_is_the_closed_form),
          TEST(the_clebsch_graph_has_its_known_capacity),
          TEST(switches_without_servers_send_nothing), TEST(a_disconnected_network_has_no_capacity))
