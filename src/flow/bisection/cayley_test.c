#include "flow/bisection/cayley.h"

#include <math.h>
#include <string.h>

#include "base/test.h"
#include "flow/bisection/example.h"

static void tori_have_classes_by_axis_and_a_closed_form(void **state)
{
    static const struct {
        const char *spec;
        uint32_t classes;
        double eigenvalue;
    } known[] = {
        {"torus:7", 1, 0.753020396282533},     /* 2 - 2 cos(2 pi / 7) */
        {"torus:8x8x8", 3, 0.585786437626905}, /* 2 - sqrt 2 */
        {"torus:2x2x2x2", 4, 2},
        {"torus:5x1x3", 2, 1.381966011250105},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct topology topology;
        struct cayley cayley;
        example_spec(&topology, known[i].spec);
        assert_int_equal(cayley_init(&cayley, &topology, NULL), OK);
        assert_true(cayley.holds);
        assert_int_equal(cayley.class_count, known[i].classes);
        uint32_t links = 0;
        for (uint32_t class = 0; class < cayley.class_count; class ++)
            links += cayley.class_links[class];
        assert_int_equal(links, topology.graph.link_count);
        double found = cayley_second_eigenvalue(&topology);
        assert_true(found <= known[i].eigenvalue && found > known[i].eigenvalue - 1e-10);
        cayley_fini(&cayley);
        topology_fini(&topology);
    }
}

static void a_missing_cable_is_noticed(void **state)
{
    struct topology torus, broken;
    struct cayley cayley;
    example_spec(&torus, "torus:4x4");
    example_without(&broken, &torus, 17);
    assert_int_equal(broken.kind, TOPOLOGY_TORUS);
    assert_int_equal(cayley_init(&cayley, &broken, NULL), OK);
    assert_false(cayley.holds);
    cayley_fini(&cayley);
    topology_fini(&broken);
    topology_fini(&torus);
}

/* Two cables of a torus exchange an end: every node has as many cables as before. */
static void a_crossed_cable_is_noticed(void **state)
{
    struct topology torus, crossed;
    struct cayley cayley;
    struct link links[32];
    example_spec(&torus, "torus:4x4");
    memcpy(links, torus.graph.links, sizeof links);
    for (uint32_t e = 0; e < 32; e++)
        links[e].a_port = links[e].b_port = PORT_ANY;
    uint32_t end = links[20].b;
    links[20].b = links[2].b;
    links[2].b = end;
    example_make(&crossed, 16, links, 32);
    crossed.axis_count = 2;
    crossed.axis_size[0] = crossed.axis_size[1] = 4;
    assert_int_equal(cayley_init(&cayley, &crossed, NULL), OK);
    assert_false(cayley.holds);
    cayley_fini(&cayley);
    topology_fini(&crossed);
    topology_fini(&torus);
}

TEST_MAIN(TEST(tori_have_classes_by_axis_and_a_closed_form), TEST(a_missing_cable_is_noticed),
          TEST(a_crossed_cable_is_noticed))
