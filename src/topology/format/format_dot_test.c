#include "topology/format/format_cases.h"

static void the_language_of_graphviz_is_read(void **state)
{
    static const struct format_case cases[] = {
        {"graph {0 -- 1; 1 -- 2}", "ok: 3 3 d 0-1:0-0 1-2:1-0"},
        {"strict graph g { a -- b -- c; b -- a; }", "ok: 3 3 d a-b:0-0 b-c:1-0"},
        {"graph { a -- b; a -- b }", "ok: 2 2 d a-b:0-0 a-b:1-1"},
        {"DIGRAPH { a -> b -> a }", "ok: 2 2 d a-b:0-0"},
        {"strict digraph { a -> b; a -> b; b -> a }", "ok: 2 2 d a-b:0-0"},
        {"# 1 \"x.c\"\n// c\n/* d\n */ graph \"g\" {a:p:n -- b:\"q\"}", "ok: 2 2 d a-b:0-0"},
        {"graph { \"a \\\" b\" -- \"c\" + \"d\"; <i<b>> -- -1.5 }",
         "ok: 4 4 d a \" b-cd:0-0 <i<b>>--1.5:0-0"},
        {"graph { {a b} -- {c; d; c} }", "ok: 4 4 d a-c:0-0 a-d:1-0 b-c:0-1 b-d:1-1"},
        {"graph { {a a b a} -- c }", "ok: 3 3 d a-c:0-0 b-c:0-1"},
        {"graph { subgraph x { a -- b } -- subgraph { c } }", "ok: 3 3 d a-b:0-0 a-c:1-0 b-c:1-1"},
        {"graph { node [servers=2]; a; subgraph { node [servers=5] b } c [servers=0] }",
         "ok: 3 7 s"},
        {"graph { direct=false; a; b [shape=box][servers=1;color=\"red\",] }", "ok: 2 1 s"},
        {"graph { graph [direct=true]; edge [color=red]; a -- b [source_port=3, target_port=4] }",
         "ok: 2 2 d a-b:3-4"},
        {"graph { \"node\" -- \"a\\\\\" }", "ok: 2 2 d node-a\\\\:0-0"},
        {"graph { \"a\\\nb\" }", "ok: 1 1 d"},
    };
    format_cases_check(FORMAT_DOT, cases, sizeof cases / sizeof *cases);
}

static void bad_input_is_refused_with_its_line(void **state)
{
    static const struct format_case cases[] = {
        {"", "line 1: the file ends where graph or digraph should be"},
        {"graf {}", "line 1: 'graf' where graph or digraph should be"},
        {"graph {\n", "line 2: the file ends where a node, a link or } should be"},
        {"graph {}\n", "line 2: the file has no nodes"},
        {"graph {a}\ngraph {b}", "line 2: 'graph' where the end of the file should be"},
        {"graph {\na -> b}", "line 2: '->' where -- should be"},
        {"digraph {\na -- b}", "line 2: '--' where -> should be"},
        {"digraph {\na -> b\nb -> a\nb -> c}",
         "line 4: the file is directed, but the arc from 'b' to 'c' has no reverse"},
        {"graph {a --\n}", "line 2: '}' where a node or a subgraph should be"},
        {"graph {a\n-- a}", "line 1: node 'a' is linked to itself"},
        {"graph {{a b}\n-- {b}}", "line 1: node 'b' is linked to itself"},
        {"graph {a [x]}", "line 1: ']' where = should be"},
        {"graph {a [x=]}", "line 1: ']' where a value should be"},
        {"graph {a [=1]}", "line 1: '=' where an attribute or ] should be"},
        {"graph {a [x=1", "line 1: the file ends where an attribute or ] should be"},
        {"graph {node a}", "line 1: 'a' where [ should be"},
        {"graph {\n\"a\n}", "line 2: the quoted string has no end"},
        {"graph {\n\n<a", "line 3: the HTML string has no end"},
        {"graph {/* \n", "line 1: the comment has no end"},
        {"graph {1a}", "line 1: '1a' is neither a number nor a name"},
        {"graph {a -- .}", "line 1: '.' is neither a number nor a name"},
        {"graph {\"a\" + b}", "line 1: expected a quoted string after +"},
        {"graph {a;\n!}", "line 2: unexpected character '!'"},
        {"graph {a:}", "line 1: '}' where the name of a port should be"},
        {"graph {a\n[servers=-1]}",
         "line 2: servers is '-1', not a whole number from 0 to 4294967295"},
        {"graph {\n{a} [x=1]}", "line 2: '[' where a node, a link or } should be"},
    };
    format_cases_check(FORMAT_DOT, cases, sizeof cases / sizeof *cases);
}

static void subgraphs_are_bounded_in_depth(void **state)
{
    for (int depth = 64; depth <= 65; depth++) {
        char file[256] = "graph {";
        struct topology topology;
        struct why why;
        memset(file + 7, '{', (size_t)depth);
        file[7 + depth] = 'a';
        memset(file + 8 + depth, '}', (size_t)depth + 1);
        enum err err = format_read(&topology, FORMAT_DOT, "x", file, 2 * (size_t)depth + 9, &why);
        assert_int_equal(err, depth == 64 ? OK : ERR_INPUT);
        if (!err)
            topology_fini(&topology);
    }
}

static void a_name_that_dot_cannot_express_is_refused(void **state)
{
    static const char file[] = "{\"nodes\": [{\"id\": \"a\\\\\"}], \"links\": []}";
    struct topology topology;
    struct text out = {0};
    struct why why;
    assert_int_equal(format_read(&topology, FORMAT_JSON, "x", file, sizeof file - 1, &why), OK);
    assert_int_equal(format_write(&out, FORMAT_DOT, &topology, &why), ERR_USAGE);
    assert_string_equal(
        why.text, "dot: the format cannot express the backslashes in the name 'a\\'; use another");
    topology_fini(&topology);
    text_fini(&out);
}

/* A few names can describe very many links, again and again. */
static void links_between_subgraphs_are_limited(void **state)
{
    enum { SIDE = 1500, STATEMENTS = 2 };
    struct text file = {0};
    struct topology topology;
    struct why why = {""};
    text_puts(&file, "graph {");
    for (int statement = 0; statement < STATEMENTS; statement++) {
        for (int side = 0; side < 2; side++) {
            text_puts(&file, side ? " -- {" : "\n{");
            for (int i = 0; i < SIDE; i++)
                text_printf(&file, " %c%d", "ab"[side], i);
            text_puts(&file, "}");
        }
    }
    text_puts(&file, "}");
    assert_int_equal(format_read(&topology, FORMAT_DOT, "x", file.data, file.size, &why),
                     ERR_INPUT);
    assert_string_equal(why.text,
                        "x: line 3: links between subgraphs make more than 4000000 links");
    text_fini(&file);
}

TEST_MAIN(TEST(links_between_subgraphs_are_limited), TEST(the_language_of_graphviz_is_read),
          TEST(bad_input_is_refused_with_its_line), TEST(subgraphs_are_bounded_in_depth),
          TEST(a_name_that_dot_cannot_express_is_refused))
