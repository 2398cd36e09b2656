#include "topology/measure/closed_form.h"

#include <math.h>
#include <string.h>

#include "topology/generate/reach_test.h"

/* Builds the network and compares the closed form with a search from every node; an even one looks
 * the same from all nodes, so one source is enough. */
static void compare(const char *name, uint32_t k, uint32_t n, const struct closed_form *form,
                    bool symmetric)
{
    char spec[SPEC_SIZE];
    struct topology topology = reach_build(reach_cube(spec, name, k, n));
    uint32_t nodes = topology.graph.node_count;
    struct reach reach = reach_measure(&topology.graph, symmetric ? 1 : nodes);
    if (form->diameter != reach.diameter)
        fail_msg("%s: diameter %u, searched %u", spec, form->diameter, reach.diameter);
    if (nodes == 1)
        assert_true(isnan(form->mean_path));
    else if (fabs(form->mean_path - (double)reach.sum / (double)reach.pairs) > 1e-12)
        fail_msg("%s: mean path %.15g, searched %.15g", spec, form->mean_path,
                 (double)reach.sum / (double)reach.pairs);
    topology_fini(&topology);
}

static void the_torus_agrees_with_a_search(void **state)
{
    for (uint32_t k = 1; k <= 16; k++) {
        for (uint32_t n = 1; n <= 3; n++) {
            struct closed_form form;
            assert_int_equal(closed_form_torus(k, n, &form, NULL), OK);
            compare("torus", k, n, &form, true);
        }
    }
}

static void the_novacube_agrees_with_a_search(void **state)
{
    for (uint32_t k = 1; k <= 16; k++) {
        for (uint32_t n = 1; n <= 3; n++) {
            struct closed_form form;
            assert_int_equal(closed_form_novacube(k, n, &form, NULL), OK);
            compare("novacube", k, n, &form, k % 2 == 0);
        }
    }
}

/* With more axes, pairs of jumps can gain more. */
static void many_axes_agree_with_a_search(void **state)
{
    static const uint32_t cases[][2] = {{2, 9}, {3, 5}, {3, 6}, {3, 7}, {4, 5}, {5, 4}, {5, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct closed_form form;
        assert_int_equal(closed_form_novacube(cases[i][0], cases[i][1], &form, NULL), OK);
        compare("novacube", cases[i][0], cases[i][1], &form, cases[i][0] % 2 == 0);
    }
}

/* The paper's diameter, ceil(floor(k/2) n / 2), equation 3, and its mean path
 * for n = 2, equation 10, hold for even k. */
static void the_papers_formulas_hold_for_even_k(void **state)
{
    for (uint32_t k = 2; k <= 64; k += 2) {
        for (uint32_t n = 1; n <= 3; n++) {
            struct closed_form form;
            assert_int_equal(closed_form_novacube(k, n, &form, NULL), OK);
            assert_int_equal(form.diameter, (k / 2 * n + 1) / 2);
            double x = k, mean = (x * x * x / 3 + x * x / 2 - 4 * x / 3 + 1) / (x * x - 1);
            if (n == 2)
                assert_true(fabs(form.mean_path - mean) < 1e-12);
        }
    }
}

/* For odd k the diameter is larger, except on a single ring with k = 3 mod 4. */
static void the_papers_diameter_is_too_small_for_odd_k(void **state)
{
    for (uint32_t k = 3; k <= 15; k += 2) {
        for (uint32_t n = 1; n <= 3; n++) {
            struct closed_form form;
            assert_int_equal(closed_form_novacube(k, n, &form, NULL), OK);
            uint32_t paper = (k / 2 * n + 1) / 2;
            if (n == 1 && k % 4 == 3)
                assert_int_equal(form.diameter, paper);
            else
                assert_true(form.diameter > paper);
        }
    }
}

static void networks_that_are_too_large_are_refused(void **state)
{
    struct closed_form form;
    struct why why = {0};
    assert_int_equal(closed_form_torus(0, 3, &form, &why), ERR_USAGE);
    assert_int_equal(closed_form_torus(3, 0, &form, &why), ERR_USAGE);
    assert_int_equal(closed_form_torus(UINT32_MAX, UINT32_MAX, &form, &why), ERR_USAGE);
    assert_int_equal(closed_form_novacube(257, 1, &form, &why), ERR_USAGE);
    assert_true(strlen(why.text) > 0);
    assert_int_equal(closed_form_torus(1, UINT32_MAX, &form, &why), OK);
}

TEST_MAIN(TEST(the_torus_agrees_with_a_search), TEST(the_novacube_agrees_with_a_search),
          TEST(many_axes_agree_with_a_search), TEST(the_papers_formulas_hold_for_even_k),
          TEST(the_papers_diameter_is_too_small_for_odd_k),
          TEST(networks_that_are_too_large_are_refused))
