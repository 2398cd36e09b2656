#include "topology/format/format_cases.h"

static void edge_lists_are_read(void **state)
{
    static const struct format_case cases[] = {
        {"0 1\n1 2", "ok: 3 3 d 0-1:0-0 1-2:1-0"},
        {"# a comment\n\n 0\t1 # another\r\n", "ok: 2 2 d 0-1:0-0"},
        {"0 1 {}\n1 2 {'weight': 3, 'a': [1, {'b': '}'}]}\n", "ok: 3 3 d 0-1:0-0 1-2:1-0"},
        {"a b 2.5\nb c 1 -3e2\n", "ok: 3 3 d a-b:0-0 b-c:1-0"},
        {"0 1 {'source_port': 3, \"target_port\": 4}\n", "ok: 2 2 d 0-1:3-4"},
        {"0 1\n1 0\n", "ok: 2 2 d 0-1:0-0 1-0:1-1"},
        /* before the first of weft's comments, such lines are plain comments */
        {"# weft node 7\n0 1\n", "ok: 2 2 d 0-1:0-0"},
        {"# weft edgelist 1\n# weft node 0 servers 2 name a b\n# weft node 1 name 0\n0 1\n",
         "ok: 2 2 s a b-0:0-0"},
        {"# weft edgelist 1\n# weft node 0\n", "ok: 1 1 d"},
    };
    format_cases_check(FORMAT_EDGELIST, cases, sizeof cases / sizeof *cases);
}

static void bad_input_is_refused_with_its_line(void **state)
{
    static const struct format_case cases[] = {
        {"", "line 1: the file has no nodes"},
        {"# nothing\n\n", "line 3: the file has no nodes"},
        {"0 1\n2\n", "line 2: only one node, '2': a link needs two"},
        {"0 1\n\n1 1\n", "line 3: node '1' is linked to itself"},
        {"0 1 x\n", "line 1: 'x' where a number or a {dictionary} should be"},
        {"0 1 {'a': 1\n", "line 1: the dictionary has no end"},
        {"0 1 {'a': '1}\n", "line 1: the dictionary has no end"},
        {"0 1 {'a'}\n", "line 1: the dictionary is not of the form {'key': value}"},
        {"0 1 {} 5\n", "line 1: unexpected '5' after the dictionary"},
        {"0 1 {'source_port': -1}\n",
         "line 1: source_port is '-1', not a whole number from 0 to 4294967294"},
        {"0 1 {'source_port': 1}\n0 2 {'source_port': 1}\n",
         "line 2: port 1 of node '0' has two cables"},
        {"0 \xff\n", "line 1: a node's name is not UTF-8"},
        {"# weft edgelist 2\n", "line 1: weft is '2', but this program reads only version 1"},
        {"# weft edgelist 1\n# weft nodes 0\n", "line 2: '# weft nodes' is unknown"},
        {"# weft edgelist 1\n# weft node 0\n# weft node 0\n",
         "line 3: node '0' is listed twice, first on line 2"},
        {"# weft edgelist 1\n# weft node 0 name a\n# weft node 0 name b\n",
         "line 3: node '0' is listed twice"},
        {"# weft edgelist 1\n# weft node 0 servers x\n",
         "line 2: servers is 'x', not a whole number from 0 to 4294967295"},
        {"# weft edgelist 1\n# weft graph direct maybe\n",
         "line 2: direct is 'maybe', not true or false"},
    };
    format_cases_check(FORMAT_EDGELIST, cases, sizeof cases / sizeof *cases);
}

TEST_MAIN(TEST(edge_lists_are_read), TEST(bad_input_is_refused_with_its_line))
