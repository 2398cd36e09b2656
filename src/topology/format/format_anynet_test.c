#include "topology/format/format_cases.h"

static void booksim_files_are_read(void **state)
{
    static const struct format_case cases[] = {
        {"router 0 node 0 router 1\nrouter 1 node 1 router 0\n", "ok: 2 2 d 0-1:0-0"},
        {"router 0 node 0 node 1 router 1 router 2 5\nrouter 1 node 2",
         "ok: 3 3 s 0-1:0-0 0-2:1-0"},
        {"node 0 router 0\nnode 1 router 1 2\nrouter 1 router 0 7.5 node 1\n", "ok: 2 2 d 1-0:0-0"},
        {"\n  router 3\tnode 9  \r\n\nrouter 003 node 09 3 router 5", "ok: 2 1 s 3-5:0-0"},
        {"router 0 router 1 router 1\n", "ok: 2 0 s 0-1:0-0"},
    };
    format_cases_check(FORMAT_ANYNET, cases, sizeof cases / sizeof *cases);
}

static void bad_input_is_refused_with_its_line(void **state)
{
    static const struct format_case cases[] = {
        {"", "line 1: the file has no nodes"},
        {"router 0 router 1\nswitch 2\n", "line 2: 'switch' where 'router' or 'node' should be"},
        {"router\n", "line 1: '' where the number of a router should be"},
        {"router -1\n", "line 1: '-1' where the number of a router should be"},
        {"router 0 node x\n", "line 1: 'x' where the number of a node should be"},
        {"router 0 router 1 -2\n", "line 1: '-2' where 'router', 'node' or a latency should be"},
        {"router 0 router 1 2 3\n", "line 1: '3' where 'router' or 'node' should be"},
        {"router 0 node 0\nrouter 1 node 0\n", "line 2: node 0 is joined to a second router"},
        {"\nnode 0 node 1\n", "line 2: node 0 is joined to a node"},
        {"router 0 router 0\n", "line 1: node '0' is linked to itself"},
        {"# comment\n", "line 1: '#' where 'router' or 'node' should be"},
    };
    format_cases_check(FORMAT_ANYNET, cases, sizeof cases / sizeof *cases);
}

static void writing_keeps_routers_servers_and_links(void **state)
{
    static const char file[] = "# weft edgelist 1\n# weft node a servers 2\n# weft node b\n"
                               "# weft node c servers 1\nb a\nc a\n";
    struct topology topology;
    struct text out = {0};
    struct why why;
    assert_int_equal(format_read(&topology, FORMAT_EDGELIST, "x", file, sizeof file - 1, &why), OK);
    assert_int_equal(format_write(&out, FORMAT_ANYNET, &topology, &why), OK);
    assert_string_equal(out.data, "router 0 node 0 node 1\nrouter 1 router 0\n"
                                  "router 2 node 2 router 0\n");
    topology_fini(&topology);
    text_fini(&out);
}

static void parallel_links_cannot_be_written(void **state)
{
    struct topology topology;
    struct text out = {0};
    struct why why;
    assert_int_equal(format_read(&topology, FORMAT_EDGELIST, "x", "0 1\n0 1\n", 8, &why), OK);
    assert_int_equal(format_write(&out, FORMAT_ANYNET, &topology, &why), ERR_USAGE);
    topology_fini(&topology);
    text_fini(&out);
}

TEST_MAIN(TEST(booksim_files_are_read), TEST(bad_input_is_refused_with_its_line),
          TEST(writing_keeps_routers_servers_and_links), TEST(parallel_links_cannot_be_written))
