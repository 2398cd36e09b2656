#include "topology/draw/drawing.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/test.h"

static unsigned occurrences(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        count++;
    return count;
}

static void every_node_and_cable_is_drawn_once(void **state)
{
    struct topology torus;
    struct text out = {0};
    assert_int_equal(topology_build(&torus, "torus:3x4", NULL), OK);
    assert_int_equal(drawing_svg(&out, &torus, LAYOUT_AUTO, NULL), OK);
    assert_int_equal(occurrences(out.data, "<circle "), 12);
    assert_int_equal(occurrences(out.data, "<path "), 24);
    assert_int_equal(occurrences(out.data, "M"), 24);
    assert_int_equal(occurrences(out.data, "Q"), 7); /* 4 rows and 3 columns wrap around */
    assert_non_null(strstr(out.data, "torus:3x4: 12 servers, 24 links"));
    text_fini(&out);
    topology_fini(&torus);
}

static void servers_are_dots_beside_their_switch(void **state)
{
    const struct link links[] = {{0, 1, PORT_ANY, PORT_ANY}};
    struct topology pair;
    struct text out = {0};
    assert_int_equal(topology_init(&pair, TOPOLOGY_OTHER, false, 2, links, 1, NULL), OK);
    pair.sites[0].servers = 3;
    topology_count_servers(&pair);
    assert_int_equal(drawing_svg(&out, &pair, LAYOUT_CIRCLE, NULL), OK);
    assert_int_equal(occurrences(out.data, "<circle "), 5);
    assert_non_null(strstr(out.data, "3 servers, 2 switches, 1 links"));
    text_fini(&out);
    topology_fini(&pair);
}

static void a_name_cannot_break_the_picture(void **state)
{
    struct topology one;
    struct text out = {0};
    assert_int_equal(topology_init(&one, TOPOLOGY_OTHER, true, 1, NULL, 0, NULL), OK);
    one.names = array_new(1, sizeof *one.names);
    one.names[0] = strdup("<script>&\n");
    assert_int_equal(drawing_svg(&out, &one, LAYOUT_AUTO, NULL), OK);
    assert_null(strstr(out.data, "<script"));
    assert_non_null(strstr(out.data, "&lt;script&gt;&amp;"));
    text_fini(&out);
    topology_fini(&one);
}

static void too_many_nodes_are_refused(void **state)
{
    struct topology torus;
    struct text out = {0};
    struct why why;
    assert_int_equal(topology_build(&torus, "torus:100x100", NULL), OK);
    assert_int_equal(drawing_svg(&out, &torus, LAYOUT_AUTO, &why), ERR_USAGE);
    assert_null(out.data);
    topology_fini(&torus);
}

TEST_MAIN(TEST(every_node_and_cable_is_drawn_once), TEST(servers_are_dots_beside_their_switch),
          TEST(a_name_cannot_break_the_picture), TEST(too_many_nodes_are_refused))
