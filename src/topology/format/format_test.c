/* What all formats have in common: recognising a format, and reading back a topology that was
 * written. Each format's syntax has its own test file. */
#include "topology/format/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

static void the_file_ending_selects_the_format(void **state)
{
    static const struct {
        const char *name;
        int format; /* -1: none */
    } table[] = {{"a.json", FORMAT_JSON},
                 {"a.b.JSON", FORMAT_JSON},
                 {"x/a.edgelist", FORMAT_EDGELIST},
                 {"a.edges", FORMAT_EDGELIST},
                 {"a.txt", FORMAT_EDGELIST},
                 {"a.dot", FORMAT_DOT},
                 {"a.gv", FORMAT_DOT},
                 {"a.graphml", FORMAT_GRAPHML},
                 {"a.anynet", FORMAT_ANYNET},
                 {"a", -1},
                 {"json", -1},
                 {"a.json.bak", -1},
                 {".json", -1}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        enum format format;
        bool known = format_of_name(table[i].name, &format);
        assert_int_equal(known ? (int)format : -1, table[i].format);
    }
}

static void the_format_is_recognised_by_content(void **state)
{
    static const struct {
        const char *data;
        enum format format;
    } table[] = {{"{\"nodes\": []}", FORMAT_JSON},
                 {"\xef\xbb\xbf {", FORMAT_JSON},
                 {"\n<?xml version='1.0'?>", FORMAT_GRAPHML},
                 {"strict graph {", FORMAT_DOT},
                 {"digraph{}", FORMAT_DOT},
                 {"# a comment\n// another\ngraph \"g\" {}", FORMAT_DOT},
                 {"router 0 node 0", FORMAT_ANYNET},
                 {"node 0 router 0", FORMAT_ANYNET},
                 {"# graph {\n0 1\n", FORMAT_EDGELIST},
                 {"graphite 1\n", FORMAT_EDGELIST},
                 {"", FORMAT_EDGELIST}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_int_equal(format_of_content(table[i].data, strlen(table[i].data)), table[i].format);
}

/* A random network that uses every feature of a topology, including parallel links and isolated
 * nodes. */
static void random_topology(struct topology *topology, struct rng *rng, bool names, bool parallel)
{
    enum { NODES = 12, LINKS = 30 };
    struct link links[LINKS];
    bool taken[NODES][NODES] = {{false}};
    struct why why;
    uint32_t count = 0;
    while (count < LINKS) {
        uint32_t a = (uint32_t)rng_below(rng, NODES - 1), b = (uint32_t)rng_below(rng, NODES - 1);
        if (a == b || (!parallel && taken[a][b]))
            continue;
        taken[a][b] = taken[b][a] = true;
        links[count++] = (struct link){a, b, PORT_ANY, PORT_ANY};
    }
    bool direct = rng_below(rng, 2);
    assert_int_equal(topology_init(topology, TOPOLOGY_OTHER, direct, NODES, links, LINKS, &why),
                     OK);
    for (uint32_t v = 0; v < NODES; v++) {
        struct site *site = &topology->sites[v];
        site->servers = direct ? 1 : (uint32_t)rng_below(rng, 4);
        site->ports = rng_below(rng, 2) ? 40 : 0;
        site->group = rng_below(rng, 2) ? (uint32_t)rng_below(rng, 5) : GROUP_NONE;
        site->level = (uint32_t)rng_below(rng, 3);
    }
    topology_count_servers(topology);
    if (rng_below(rng, 2)) {
        topology->axis_count = 2;
        topology->axis_size[0] = 4;
        topology->axis_size[1] = 3;
    }
    static const char *const odd[NODES] = {"(0, 1)",
                                           "a\"b",
                                           "<&>",
                                           "#1",
                                           "",
                                           "x#y",
                                           "\xc3\xa9\xe2\x82\xac",
                                           "graph",
                                           "'q'",
                                           "-1",
                                           "a\\b",
                                           " lead and trail "};
    topology->names = names ? calloc(NODES, sizeof *topology->names) : NULL;
    for (uint32_t v = 0; names && v < NODES; v++)
        topology->names[v] = strdup(odd[v]);
}

static void assert_same_topology(const struct topology *one, const struct topology *other)
{
    char left[NODE_NAME_SIZE], right[NODE_NAME_SIZE];
    assert_int_equal(one->kind, other->kind);
    assert_string_equal(one->spec, other->spec);
    assert_int_equal(one->direct, other->direct);
    assert_int_equal(one->server_count, other->server_count);
    assert_true(graph_equal(&one->graph, &other->graph));
    assert_int_equal(one->axis_count, other->axis_count);
    for (uint32_t axis = 0; axis < one->axis_count; axis++)
        assert_int_equal(one->axis_size[axis], other->axis_size[axis]);
    assert_int_equal(one->names != NULL, other->names != NULL);
    for (uint32_t v = 0; v < one->graph.node_count; v++) {
        assert_string_equal(topology_name(one, v, left), topology_name(other, v, right));
        assert_memory_equal(&one->sites[v], &other->sites[v], sizeof *one->sites);
    }
    for (uint32_t e = 0; e < one->graph.link_count; e++)
        assert_memory_equal(&one->graph.links[e], &other->graph.links[e], sizeof *one->graph.links);
}

static void every_topology_is_read_back_from_every_format(void **state)
{
    enum { SEED = 7, ROUNDS = 40 };
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct rng rng = rng_make(SEED, round);
        struct topology topology, back;
        random_topology(&topology, &rng, round % 2, round % 4 < 2);
        for (int format = FORMAT_JSON; format <= FORMAT_GRAPHML; format++) {
            struct text text = {0};
            struct why why = {""};
            assert_int_equal(format_write(&text, (enum format)format, &topology, &why), OK);
            assert_int_equal(format_of_content(text.data, text.size), format);
            enum err err = format_read(&back, (enum format)format, "x", text.data, text.size, &why);
            if (err)
                print_message("# seed %d round %u %s: %s\n", SEED, round, format_words[format],
                              why.text);
            assert_int_equal(err, OK);
            assert_same_topology(&topology, &back);
            topology_check(&back);
            topology_fini(&back);
            text_fini(&text);
        }
        topology_fini(&topology);
    }
}

static void a_spec_is_kept_only_if_it_builds_the_same(void **state)
{
    struct topology torus, back;
    struct text text = {0};
    struct why why = {""};
    assert_int_equal(topology_build(&torus, "torus:4x3", &why), OK);
    for (int broken = 0; broken < 3; broken++) {
        text_fini(&text);
        assert_int_equal(format_write(&text, FORMAT_JSON, &torus, &why), OK);
        if (broken == 1) /* a spec of another network */
            memcpy(strstr(text.data, "torus:4x3"), "torus:3x4", 9);
        if (broken == 2) /* another network under the spec */
            memcpy(strstr(text.data, "\"servers\": 1"), "\"level\":   1", 12);
        assert_int_equal(format_read(&back, FORMAT_JSON, "x", text.data, text.size, &why), OK);
        assert_int_equal(back.kind, broken ? TOPOLOGY_OTHER : TOPOLOGY_TORUS);
        assert_string_equal(back.spec, broken ? "" : "torus:4x3");
        assert_int_equal(back.axis_count, 2); /* as in the file: they have 12 nodes */
        topology_fini(&back);
    }
    text_fini(&text);
    topology_fini(&torus);
}

/* A file with `nodes` nodes and no links, whose spec and first node claim a far larger network. */
static void assert_spec_is_ignored(uint32_t nodes, const char *spec)
{
    struct text file = {0};
    struct topology topology;
    struct why why = {""};
    text_printf(&file, "{\"graph\": {\"spec\": \"%s\", \"axes\": [10000, 10000]}, ", spec);
    text_puts(&file, "\"links\": [], \"nodes\": [{\"id\": 0, \"ports\": 4294967295}");
    for (uint32_t v = 1; v < nodes; v++)
        text_printf(&file, ", {\"id\": %u}", v);
    text_puts(&file, "]}");
    assert_int_equal(format_read(&topology, FORMAT_JSON, "x", file.data, file.size, &why), OK);
    assert_string_equal(topology.spec, "");
    assert_int_equal(topology.axis_count, 0);
    topology_fini(&topology);
    text_fini(&file);
}

/* A reader that builds these specs needs gigabytes, or minutes. */
static void a_small_file_does_not_make_us_build_a_large_network(void **state)
{
    assert_spec_is_ignored(1, "torus:10000x10000");
    assert_spec_is_ignored(1, "swdc-torus2d:1000x1000");
    assert_spec_is_ignored(1, "fattree:k=512");
    assert_spec_is_ignored(1, "jellyfish:n=1000000,degree=20");
    assert_spec_is_ignored(20000, "jellyfish:n=20000,degree=19998");
    assert_spec_is_ignored(20000, "jellyfish:servers=9,switches=20000,ports=19998");
    assert_spec_is_ignored(20000, "jellyfish:servers=9,ports=19999x19998+1x9");
    assert_spec_is_ignored(20000, "jellyfish:servers=4294967295,ports=19999x100000000+1x9");
}

static void the_spec_of_every_generator_survives_a_file(void **state)
{
    static const char *const specs[] = {
        "torus:3x4x5",
        "torus:1x2x5",
        "novacube:4x3",
        "fattree:k=6",
        "swdc-ring:16,servers=3",
        "swdc-torus2d:4x4",
        "swdc-hex3d:4x2x3",
        "degree-diameter:50,7,2",
        "degree-diameter:10,3,2,servers=2",
        "jellyfish:n=1,degree=0",
        "jellyfish:n=30,degree=7,seed=5",
        "jellyfish:servers=20,switches=10,ports=5,seed=99999999999",
        "jellyfish:servers=1,switches=15,ports=6",
        "jellyfish:servers=40,ports=10x6+5x12,bare=2",
        "jellyfish:servers=48,switches=24,ports=7,containers=6,local=0.5",
        "jellyfish:n=45,degree=6,containers=9,local=0.25",
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology topology, back;
        struct text text = {0};
        struct why why = {""};
        if (topology_build(&topology, specs[i], &why))
            fail_msg("%s", why.text);
        assert_int_equal(format_write(&text, FORMAT_JSON, &topology, &why), OK);
        assert_int_equal(format_read(&back, FORMAT_JSON, "x", text.data, text.size, &why), OK);
        assert_same_topology(&topology, &back);
        topology_fini(&topology);
        topology_fini(&back);
        text_fini(&text);
    }
}

TEST_MAIN(TEST(the_file_ending_selects_the_format), TEST(the_format_is_recognised_by_content),
          TEST(every_topology_is_read_back_from_every_format),
          TEST(a_spec_is_kept_only_if_it_builds_the_same),
          TEST(a_small_file_does_not_make_us_build_a_large_network),
          TEST(the_spec_of_every_generator_survives_a_file))
