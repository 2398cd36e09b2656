#include "topology/draw/layout.h"

#include <math.h>

#include "base/test.h"
#include "topology/build_test.h"

static double span(const struct layout *layout, uint32_t a, uint32_t b)
{
    double x = layout->at[a].x - layout->at[b].x, y = layout->at[a].y - layout->at[b].y;
    return sqrt(x * x + y * y);
}

/* Every step along an axis is the same step in the drawing, at every node. */
static void steps_along_an_axis_are_equal(void **state)
{
    struct topology torus = build_test("torus:4x3x3x2");
    struct layout layout;
    assert_int_equal(layout_make(&layout, &torus, LAYOUT_AUTO, NULL), OK);
    assert_int_equal(layout.kind, LAYOUT_GRID);
    for (uint32_t v = 0; v + 1 < 72; v++)
        if (v % 4 != 3)
            assert_true(fabs(layout.at[v + 1].x - layout.at[v].x - 1) < 1e-9);
    for (uint32_t v = 0; v < 72; v++)
        for (uint32_t w = 0; w < v; w++)
            assert_true(span(&layout, v, w) >= layout.spacing - 1e-9);
    assert_true(layout.spacing > 0.3); /* no node hides another */
    layout_fini(&layout);
    topology_fini(&torus);
}

static void the_nodes_of_a_ring_are_on_a_circle(void **state)
{
    struct topology ring = build_test("torus:40");
    struct layout layout;
    assert_int_equal(layout_make(&layout, &ring, LAYOUT_AUTO, NULL), OK);
    assert_int_equal(layout.kind, LAYOUT_CIRCLE);
    for (uint32_t v = 0; v < 40; v++) {
        double radius = hypot(layout.at[v].x, layout.at[v].y);
        assert_true(fabs(radius - hypot(layout.at[0].x, layout.at[0].y)) < 1e-9);
        assert_true(fabs(span(&layout, v, (v + 1) % 40) - layout.spacing) < 1e-9);
    }
    layout_fini(&layout);
    topology_fini(&ring);
}

/* Groups numbered from `first` on in steps of `step`. */
static void assert_groups_are_separate(uint32_t first, uint32_t step)
{
    struct topology ring = build_test("torus:40");
    struct layout layout;
    for (uint32_t v = 0; v < 40; v++)
        ring.sites[v].group = first + v / 10 * step;
    assert_int_equal(layout_make(&layout, &ring, LAYOUT_CIRCLE, NULL), OK);
    double within = 0, between = INFINITY;
    for (uint32_t v = 0; v < 40; v++) {
        for (uint32_t w = 0; w < v; w++) {
            if (v / 10 == w / 10)
                within = fmax(within, span(&layout, v, w));
            else
                between = fmin(between, span(&layout, v, w));
        }
    }
    assert_true(between > 0.4);
    assert_true(within < 4.5);
    layout_fini(&layout);
    topology_fini(&ring);
}

static void groups_are_separate(void **state)
{
    assert_groups_are_separate(0, 1);
    assert_groups_are_separate(1000000, 1000000000);
}

/* A path of three nodes: the ends are pushed apart, the links pull to unit length. */
static void springs_pull_neighbours_together(void **state)
{
    const struct link links[] = {{0, 1, PORT_ANY, PORT_ANY}, {1, 2, PORT_ANY, PORT_ANY}};
    struct topology path;
    struct layout layout;
    assert_int_equal(topology_init(&path, TOPOLOGY_OTHER, true, 3, links, 2, NULL), OK);
    assert_int_equal(layout_make(&layout, &path, LAYOUT_AUTO, NULL), OK);
    assert_int_equal(layout.kind, LAYOUT_SPRING);
    assert_true(span(&layout, 0, 2) > span(&layout, 0, 1));
    assert_true(span(&layout, 0, 2) > span(&layout, 1, 2));
    layout_fini(&layout);
    topology_fini(&path);
}

static void levels_are_rows(void **state)
{
    const struct link links[] = {{0, 2, PORT_ANY, PORT_ANY}, {1, 2, PORT_ANY, PORT_ANY}};
    struct topology tree;
    struct layout layout;
    assert_int_equal(topology_init(&tree, TOPOLOGY_FATTREE, false, 3, links, 2, NULL), OK);
    tree.sites[2].level = 1;
    assert_int_equal(layout_make(&layout, &tree, LAYOUT_AUTO, NULL), OK);
    assert_int_equal(layout.kind, LAYOUT_LEVELS);
    assert_true(layout.at[0].y == layout.at[1].y);
    assert_true(layout.at[2].y < layout.at[0].y); /* the core is above */
    assert_true(layout.at[0].x < layout.at[2].x && layout.at[2].x < layout.at[1].x);
    layout_fini(&layout);
    topology_fini(&tree);
}

static void impossible_layouts_are_refused(void **state)
{
    struct layout layout;
    struct why why;
    struct topology none, many = build_test("torus:1001");
    assert_int_equal(topology_init(&none, TOPOLOGY_OTHER, true, 2, NULL, 0, NULL), OK);
    assert_int_equal(layout_make(&layout, &none, LAYOUT_GRID, &why), ERR_USAGE);
    assert_int_equal(layout_make(&layout, &many, LAYOUT_SPRING, &why), ERR_USAGE);
    topology_fini(&none);
    topology_fini(&many);
}

TEST_MAIN(TEST(steps_along_an_axis_are_equal), TEST(the_nodes_of_a_ring_are_on_a_circle),
          TEST(groups_are_separate), TEST(springs_pull_neighbours_together), TEST(levels_are_rows),
          TEST(impossible_layouts_are_refused))
