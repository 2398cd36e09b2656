#include "topology/format/format_cases.h"

#define HEAD                                                                                       \
    "<graphml><key id=\"d0\" for=\"node\" attr.name=\"servers\" attr.type=\"long\"/>"              \
    "<key id=\"d1\" for=\"edge\" attr.name=\"source_port\" attr.type=\"long\"/>"                   \
    "<key id=\"d2\" for=\"graph\" attr.name=\"direct\" attr.type=\"boolean\"/>"
#define TAIL "</graph></graphml>"

static void graphml_is_read(void **state)
{
    static const struct format_case cases[] = {
        {HEAD "<graph edgedefault=\"undirected\"><node id=\"0\"/><node id=\"1\"/>"
              "<edge source=\"0\" target=\"1\"/>" TAIL,
         "ok: 2 2 d 0-1:0-0"},
        {HEAD "<graph><edge source=\"a\" target=\"b&amp;c\"><data key=\"d1\"> 4 </data></edge>"
              "<node id=\"a\"/><node id=\"b&#38;c\"><data key=\"d0\">0</data></node>" TAIL,
         "ok: 2 0 s a-b&c:4-0"},
        {HEAD "<graph edgedefault=\"directed\"><node id=\"0\"/><node id=\"1\"/>"
              "<edge source=\"0\" target=\"1\"/><edge source=\"1\" target=\"0\"/>" TAIL,
         "ok: 2 2 d 0-1:0-0"},
        {HEAD "<graph><data key=\"d2\">False</data><node id=\"0\"/>" TAIL, "ok: 1 0 s"},
        {"<g:graphml xmlns:g=\"http://graphml.graphdrawing.org/xmlns\"><g:graph><g:node "
         "id=\"0\"><g:desc>x</g:desc><g:port name=\"p\"/></g:node></g:graph></g:graphml>",
         "ok: 1 1 d"},
        {"<graphml><key id=\"k\" for=\"node\" attr.name=\"servers\"><default>3</default></key>"
         "<graph><node id=\"0\"/><node id=\"1\"><data key=\"k\">1</data></node>" TAIL,
         "ok: 2 4 s"},
        {"<graphml><key id=\"k\" for=\"node\"/><graph><node id=\"0\"><data key=\"k\">"
         "<y:Shape xmlns:y=\"y\">z</y:Shape></data></node>" TAIL,
         "ok: 1 1 d"},
    };
    format_cases_check(FORMAT_GRAPHML, cases, sizeof cases / sizeof *cases);
}

static void bad_input_is_refused_with_its_line(void **state)
{
    static const struct format_case cases[] = {
        {"", "line 1: not XML: no element found"},
        {"<graphml>\n<graph>\n", "line 3: not XML: no element found"},
        {"<graphml>\n</graph>", "line 2: not XML: mismatched tag"},
        {"<html/>", "line 1: <html> where <graphml> should be"},
        {"<graphml>\n</graphml>\n", "line 3: the file has no <graph>"},
        {HEAD "<graph>" TAIL, "line 1: the file has no nodes"},
        {HEAD "<graph>\n<node/>" TAIL, "line 2: <node> has no id"},
        {HEAD "<graph>\n<node id=\"0\"/>\n<node id=\"0\"/>" TAIL,
         "line 3: node '0' is listed twice, first on line 2"},
        {HEAD "<graph><node id=\"0\"/>\n<edge source=\"0\"/>" TAIL, "line 2: <edge> has no target"},
        {HEAD "<graph><node id=\"0\"/>\n<edge source=\"0\" target=\"1\"/>" TAIL,
         "line 2: a link names node '1', which is not among the nodes"},
        {HEAD "<graph><node id=\"0\"/>\n<edge source=\"0\" target=\"0\"/>" TAIL,
         "line 2: node '0' is linked to itself"},
        {HEAD "<graph><node id=\"0\">\n<data key=\"d0\">-1</data></node>" TAIL,
         "line 2: servers is '-1', not a whole number from 0 to 4294967295"},
        {HEAD "<graph><node id=\"0\">\n<data key=\"d9\">1</data></node>" TAIL,
         "line 2: no key 'd9' is declared"},
        {HEAD "\n<key id=\"d0\"/></graphml>", "line 2: key 'd0' is declared twice"},
        {HEAD "<graph edgedefault=\"sideways\">" TAIL,
         "line 1: edgedefault is 'sideways', not directed or undirected"},
        {HEAD "<graph><node id=\"0\">\n<graph/></node>" TAIL,
         "line 2: the file has a second <graph>, or a <graph> inside another"},
        {HEAD "<graph>\n<hyperedge/>" TAIL,
         "line 2: hyperedges are not supported: a link joins two nodes"},
        {HEAD "<graph edgedefault=\"directed\"><node id=\"0\"/><node id=\"1\"/>\n"
              "<edge source=\"0\" target=\"1\"/>" TAIL,
         "line 2: the file is directed, but the arc from '0' to '1' has no reverse"},
        {HEAD "<graph><node id=\"0\"/><node id=\"1\"/>\n"
              "<edge source=\"0\" target=\"1\" directed=\"true\"/>" TAIL,
         "line 2: the graph has both directed and undirected edges"},
        {"<!DOCTYPE g [\n<!ENTITY a \"aaaa\">]><graphml>&a;</graphml>",
         "line 2: the file declares the entity 'a'; entities are not allowed"},
    };
    format_cases_check(FORMAT_GRAPHML, cases, sizeof cases / sizeof *cases);
}

TEST_MAIN(TEST(graphml_is_read), TEST(bad_input_is_refused_with_its_line))
