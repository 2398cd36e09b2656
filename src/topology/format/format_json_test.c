#include "topology/format/format_cases.h"

#define NODES "\"nodes\": [{\"id\": 0}, {\"id\": 1}, {\"id\": 2}]"

static void node_link_files_are_read(void **state)
{
    static const struct format_case cases[] = {
        {"{" NODES ", \"links\": [{\"source\": 0, \"target\": 1}, {\"source\": 2, \"target\": 1}]}",
         "ok: 3 3 d 0-1:0-0 2-1:0-1"},
        {"{\"edges\": [{\"source\": 0, \"target\": 1, \"weight\": NaN}], " NODES "}",
         "ok: 3 3 d 0-1:0-0"},
        /* numbers in any order are the ids; anything else is a name */
        {"{\"nodes\": [{\"id\": 1}, {\"id\": 0}], \"links\": [{\"source\": 1, \"target\": 0}]}",
         "ok: 2 2 d 1-0:0-0"},
        {"{\"nodes\": [{\"id\": [0, [1, \"a\"]]}, {\"id\": [true]}, {\"id\": []}, {\"id\": "
         "\"it's\"}],"
         " \"links\": [{\"source\": [0, [1, \"a\"]], \"target\": [true]},"
         " {\"source\": [], \"target\": \"it's\"}]}",
         "ok: 4 4 d (0, (1, 'a'))-(True,):0-0 ()-it's:0-0"},
        {"{\"nodes\": [{\"id\": 1, \"servers\": 3}, {\"id\": 2, \"servers\": null}], \"links\": "
         "[]}",
         "ok: 2 3 s"},
        {"{\"graph\": {\"direct\": false}, \"nodes\": [{\"id\": 0, \"servers\": 1}], \"links\": "
         "[]}",
         "ok: 1 1 s"},
        {"{" NODES ", \"links\": [{\"source\": 0, \"target\": 1, \"source_port\": 4},"
         " {\"source\": 0, \"target\": 1, \"target_port\": 0, \"key\": 1}], \"multigraph\": true}",
         "ok: 3 3 d 0-1:4-1 0-1:0-0"},
        {"{\"directed\": true, " NODES ", \"links\": [{\"source\": 0, \"target\": 1, "
         "\"source_port\": 3}, {\"source\": 1, \"target\": 0, \"source_port\": 5}]}",
         "ok: 3 3 d 0-1:3-5"},
    };
    format_cases_check(FORMAT_JSON, cases, sizeof cases / sizeof *cases);
}

static void bad_input_is_refused_with_its_line(void **state)
{
    static const struct format_case cases[] = {
        {"", "line 1: the file ends where a value should be"},
        {"[]", "line 1: the file should be an object"},
        {"{}\n", "line 2: the file has no list of \"nodes\""},
        {"{\"nodes\": []}", "line 1: the file has no list of \"links\" or \"edges\""},
        {"{\"nodes\": [],\n\"links\": []}", "line 2: the file has no nodes"},
        {"{" NODES ",\n\"nodes\": []}", "line 2: nodes is given twice"},
        {"{\"nodes\": 3}", "line 1: nodes should be an array"},
        {"{\"nodes\": [\n3]}", "line 2: a node should be an object"},
        {"{\"nodes\": [\n{\"name\": 3}]}", "line 2: the node has no id"},
        {"{\"nodes\": [{\"id\": null}]}", "line 1: id should be a number, a string or an array"},
        {"{\"nodes\": [{\"id\": 1},\n{\"id\": \"1\"}]}",
         "line 2: node '1' is listed twice, first on line 1"},
        {"{\"nodes\": [{\"id\": \"a\\tb\"}]}",
         "line 1: a node's name contains a control character"},
        {"{\"nodes\": [{\"id\": \"\\u009b2J\"}]}",
         "line 1: a node's name contains a control character"},
        {"{\"nodes\": [{\"id\": 0,\n\"servers\": -1}]}",
         "line 2: servers is '-1', not a whole number from 0 to 4294967295"},
        {"{\"nodes\": [{\"id\": 0,\n\"servers\": \"2\"}]}",
         "line 2: servers should be a whole number"},
        {"{\"nodes\": [{\"id\": 0, \"group\": 1.5}]}",
         "line 1: group is '1.5', not a whole number from 0 to 4294967294"},
        {"{" NODES ", \"links\": [\n{\"source\": 0}]}", "line 2: the link has no target"},
        {"{" NODES ", \"links\": [\n{\"source\": 0, \"target\": 7}]}",
         "line 2: a link names node '7', which is not among the nodes"},
        {"{" NODES ", \"links\": [\n\n{\"source\": 2, \"target\": 2}]}",
         "line 3: node '2' is linked to itself"},
        {"{" NODES ", \"links\": [{\"source\": 0, \"target\": 1, \"source_port\": 2},\n"
         "{\"source\": 2, \"target\": 0, \"target_port\": 2}]}",
         "line 2: port 2 of node '0' has two cables"},
        {"{" NODES ", \"links\": [{\"source\": 0, \"target\": 1, \"source_port\": 99999}]}",
         "line 1: port 99999 of node '0' is above the maximum, 65535"},
        {"{\"nodes\": [{\"id\": 0, \"ports\": 2}, {\"id\": 1}],\n\"links\": [{\"source\": 0, "
         "\"target\": 1, \"source_port\": 2}]}",
         "line 2: there is no port 2: node '0' has 2 ports, numbered from 0"},
        {"{\"nodes\": [{\"id\": 0, \"servers\": 3},\n{\"id\": 1, \"servers\": 2, \"ports\": 2}],"
         "\"links\": [{\"source\": 0, \"target\": 1}]}",
         "line 2: node '1' has 2 ports, but uses 3"},
        {"{\"graph\": {\"direct\": true}, \"nodes\": [\n{\"id\": 0, \"servers\": 2}], "
         "\"links\": []}",
         "line 2: node '0' has 2 servers; in a direct network every node is one server"},
        {"{\"nodes\": [{\"id\": 0, \"servers\": 4294967295},\n{\"id\": 1, \"servers\": 1}], "
         "\"links\": []}",
         "line 2: there are more than 4294967295 servers, the maximum"},
        {"{\"directed\": true, " NODES ", \"links\": [\n{\"source\": 0, \"target\": 1}]}",
         "line 2: the file is directed, but the arc from '0' to '1' has no reverse"},
        {"{\"multigraph\": false, " NODES ", \"links\": [{\"source\": 0, \"target\": 1},\n"
         "{\"source\": 1, \"target\": 0}]}",
         "line 2: '1' and '0' are linked twice, but the file is not a multigraph"},
        {"{\"graph\": {\"weft\": 2}}",
         "line 1: weft is '2', but this program reads only version 1"},
        {"{\"graph\": {\"axes\": [3, 0]}}",
         "line 1: axes are '0', not 1 to 16 sizes such as 3x3x3"},
        {"{\"directed\": 1}", "line 1: directed should be true or false"},
    };
    format_cases_check(FORMAT_JSON, cases, sizeof cases / sizeof *cases);
}

TEST_MAIN(TEST(node_link_files_are_read), TEST(bad_input_is_refused_with_its_line))
