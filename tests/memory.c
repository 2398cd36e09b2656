/* memory: topologies, routing, flow and pools when memory runs out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "flow/matching/longest_impl.h"
#include "flow/worst/worst.h"
#include "flow/worst/worst_impl.h"
#include "ripc/pool/pool.h"
#include "ripc/pool/window.h"
#include "ripc/trace/trace.h"
#include "routing/deadlock/deadlock.h"
#include "routing/deadlock/layers.h"
#include "routing/load/load.h"
#include "routing/paths/k_shortest.h"
#include "routing/paths/ways.h"
#include "routing/rules/rule_replay.h"
#include "topology/cabling/cabling.h"
#include "topology/cabling/inspection.h"
#include "topology/cabling/repair.h"
#include "topology/change/difference.h"
#include "topology/change/grow.h"
#include "topology/draw/drawing.h"
#include "topology/format/format.h"

#include "refuse_each.h"

static enum err build(const char *what, struct why *why)
{
    struct topology topology;
    enum err err = topology_build(&topology, what, why);
    if (!err)
        topology_fini(&topology);
    return err;
}

static void generators_report_lack_of_memory(void **state)
{
    static const char *const specs[] = {
        "torus:3x2x1",
        "novacube:4x3",
        "fattree:k=4",
        "swdc-ring:12,servers=2",
        "swdc-torus2d:4x4",
        "swdc-hex3d:4x2x3",
        "degree-diameter:10,3,2",
        "degree-diameter:50,7,2",
        "jellyfish:n=16,degree=3",
        "jellyfish:servers=20,ports=6x5+4x7,bare=1",
        "jellyfish:servers=24,switches=12,ports=6,containers=3,local=0.5",
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        refuse_each(build, specs[i]);
}

static enum err read_and_copy(const char *what, struct why *why)
{
    struct topology topology, copy;
    enum err err = format_read(&topology, format_of_content(what, strlen(what)), "file", what,
                               strlen(what), why);
    if (err)
        return err;
    err = topology_copy(&copy, &topology, why);
    if (!err)
        topology_fini(&copy);
    topology_fini(&topology);
    return err;
}

static void readers_report_lack_of_memory(void **state)
{
    static const char *const files[] = {
        "{\"graph\": {\"spec\": \"torus:3\", \"axes\": [3]}, \"nodes\": [{\"id\": 0}, {\"id\": 1}, "
        "{\"id\": 2}], \"edges\": [{\"source\": 0, \"target\": 1}, {\"source\": 1, \"target\": 2}, "
        "{\"source\": 2, \"target\": 0}]}",
        "{\"directed\": true, \"multigraph\": false, \"nodes\": [{\"id\": [1, \"a'\"]}, {\"id\": "
        "\"\\u20ac\", \"servers\": 1}], \"links\": [{\"source\": [1, \"a'\"], \"target\": "
        "\"\\u20ac\"}, {\"target\": [1, \"a'\"], \"source\": \"\\u20ac\"}]}",
        "# weft edgelist 1\n# weft graph direct false\n# weft node 0 servers 2 name a b\n"
        "# weft node 1 servers 1 name c\n0 1 {'source_port': 3}\n",
        "strict digraph \"g\" + \"h\" { node [servers=2] a -> {b c; d} [k=v]; {b c d} -> a }",
        "<graphml><key id='s' for='node' attr.name='servers'><default>2</default></key><graph>"
        "<node id='a'/><node id='b'><data key='s'>3</data></node><edge source='a' target='b'/>"
        "</graph></graphml>",
        "router 0 node 0 router 1 router 2 5\nrouter 1 router 2 node 1\nnode 2 router 2\n",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        refuse_each(read_and_copy, files[i]);
}

static struct topology subject;

static enum err write(const char *what, struct why *why)
{
    enum format format = FORMAT_JSON;
    struct text out = {0};
    assert(format_of_name(what, &format));
    enum err err = format_write(&out, format, &subject, why);
    text_fini(&out);
    return err;
}

static enum err draw(const char *what, struct why *why)
{
    enum layout_kind kind = LAYOUT_AUTO;
    struct text out = {0};
    while (strcmp(layout_names[kind], what) != 0)
        kind++;
    enum err err = drawing_svg(&out, &subject, kind, why);
    text_fini(&out);
    return err;
}

static enum err lay(const char *what, struct why *why)
{
    struct cabling cabling;
    struct cable_cost cost = cable_cost_default();
    enum floor_layout layout = FLOOR_RACKS;
    uint32_t ports;
    while (strcmp(floor_layout_name(layout), what) != 0)
        layout++;
    enum err err = cabling_make(&cabling, &subject, layout, &cost, why);
    if (err)
        return err;
    cabling_fini(&cabling);
    return cabling_fattree_ports(&subject, &ports, why);
}

static void writers_report_lack_of_memory(void **state)
{
    static const char file[] = "{\"multigraph\": true, \"nodes\": [{\"id\": \"a\", \"group\": 4}, "
                               "{\"id\": \"b\", \"servers\": 2}], \"links\": [{\"source\": \"a\", "
                               "\"target\": \"b\"}, {\"source\": \"a\", \"target\": \"b\"}]}";
    struct why why;
    assert_int_equal(format_read(&subject, FORMAT_JSON, "x", file, sizeof file - 1, &why), OK);
    refuse_each(write, "a.json");
    refuse_each(write, "a.edgelist");
    refuse_each(write, "a.dot");
    refuse_each(write, "a.graphml");
    refuse_each(draw, "circle");
    refuse_each(draw, "levels");
    refuse_each(draw, "spring");
    refuse_each(lay, "racks");
    refuse_each(lay, "cluster");
    refuse_each(lay, "containers");
    topology_fini(&subject);
    assert_int_equal(topology_build(&subject, "novacube:4x3", &why), OK);
    refuse_each(write, "a.anynet");
    refuse_each(draw, "grid");
    topology_fini(&subject);
}

static enum err grow(const char *what, struct why *why)
{
    struct growth growth;
    struct difference difference;
    const struct grow_order order = {.count = 3, .ports = 4, .servers = 1, .seed = 1};
    enum err err = grow_topology(&growth, &subject, &order, why);
    if (err)
        return err;
    err = difference_make(&difference, &growth.topology, &subject, why);
    if (!err)
        difference_fini(&difference);
    growth_fini(&growth);
    return err;
}

static void growth_reports_lack_of_memory(void **state)
{
    static const char named[] = "graph { direct=false node [ports=4] a1 -- b1 -- c1 -- d1 -- a1 }";
    struct why why;
    assert_int_equal(format_read(&subject, FORMAT_DOT, "x", named, sizeof named - 1, &why), OK);
    refuse_each(grow, "a ring of names");
    topology_fini(&subject);
    assert_int_equal(topology_build(&subject, "jellyfish:servers=8,switches=8,ports=4", &why), OK);
    refuse_each(grow, "a jellyfish");
    topology_fini(&subject);
}

static enum err inspect(const char *what, struct why *why)
{
    struct neighbour_reports reports;
    struct inspection seen;
    struct repair repair;
    enum err err = neighbour_reports_read(&reports, &subject, what, strlen(what), "x", why);
    if (err)
        return err;
    for (int ports = 0; ports < 2 && !err; ports++) {
        err = inspection_make(&seen, &subject, &reports, ports, why);
        if (err)
            break;
        err = repair_make(&repair, &seen, &subject.graph, why);
        if (!err)
            repair_fini(&repair);
        inspection_fini(&seen);
    }
    neighbour_reports_fini(&reports);
    return err;
}

static void inspections_report_lack_of_memory(void **state)
{
    static const char plan[] = "graph { a -- b -- c -- d -- a; a -- c }";
    struct why why;
    assert_int_equal(format_read(&subject, FORMAT_DOT, "x", plan, sizeof plan - 1, &why), OK);
    refuse_each(inspect, "node,port,neighbour,port\na,0,d,0\nb,1,\"c\",0\nc,1,b,0\nd,1,d,5\n");
    refuse_each(inspect, "[{\"node\": \"a\", \"port\": 0, \"neighbour\": \"b\", "
                         "\"neighbour_port\": 1, \"x\": [1]}]");
    topology_fini(&subject);
}

/* Finds the load of a few demands and walks one packet. */
static enum err route(const char *what, struct why *why)
{
    struct demand demands[] = {{0, 7, 1}, {5, 2, 1}, {0, 1, 2}};
    const struct traffic traffic = {.demands = demands, .count = 3};
    struct router router;
    struct load load;
    struct rng rng = rng_make(1, 0);
    uint32_t channels[16], hops;
    enum err err = router_open(&router, what, &subject, NULL, why);
    if (err)
        return err;
    err = load_find(&load, &router, &traffic, (struct observer){0}, why);
    if (!err) {
        load_fini(&load);
        err = route_walk(&router, 0, 7, &rng, channels, 16, &hops, why);
    }
    router_close(&router);
    return err;
}

static void routes_report_lack_of_memory(void **state)
{
    static const char *const specs[] = {"novacube:4x3", "novacube:4x4"};
    for (size_t i = 0; i < 2; i++) {
        struct why why;
        assert_int_equal(topology_build(&subject, specs[i], &why), OK);
        for (const struct route_algorithm *const *each = route_algorithms; *each; each++)
            refuse_each(route, (*each)->name);
        topology_fini(&subject);
    }
}

/* Finds the paths of a few demands and all ways of one pair. */
static enum err find_paths(const char *what, struct why *why)
{
    struct demand demands[] = {{0, 20, 1}, {0, 30, 1}, {5, 20, 1}};
    const struct traffic traffic = {.demands = demands, .count = 3};
    struct path_set set;
    struct router router;
    struct ways ways;
    enum err err = k_shortest_traffic(&set, &subject, &traffic, 40, K_SHORTEST_ANY, 1, why);
    if (err)
        return err;
    path_set_fini(&set);
    err = router_open(&router, what, &subject, NULL, why);
    if (err)
        return err;
    err = ways_list(&ways, &router, 0, 20, why);
    if (!err)
        ways_fini(&ways);
    router_close(&router);
    return err;
}

/* Paths that are listed, that are drawn at random, and that Yen's algorithm finds. */
static void paths_report_lack_of_memory(void **state)
{
    static const char *const specs[] = {"torus:40", "torus:6x6", "jellyfish:n=40,degree=4,seed=1"};
    for (size_t i = 0; i < 3; i++) {
        struct why why;
        assert_int_equal(topology_build(&subject, specs[i], &why), OK);
        refuse_each(find_paths, "link-state");
        topology_fini(&subject);
    }
}

/* Makes forwarding tables, writes them, reads them again and replays them. */
static enum err tables(const char *what, struct why *why)
{
    enum rules_encoding encoding = (enum rules_encoding)(*what - '0');
    const struct rules_order order = {
        .labels = encoding == RULES_LABELS ? RULES_SWAPPED : RULES_CONSTANT, .ways = 3};
    struct rules rules;
    struct rules_writer writer = {0};
    struct rule_tables read = {0};
    struct rule_replay replay = {0};
    struct text text = {0};
    enum err err = rules_make(&rules, &subject, &order, why);
    if (err)
        return err;
    err = rules_writer_init(&writer, &text, &subject, &rules, encoding, why);
    if (!err) {
        rules_write_begin(&writer, "a remark");
        for (uint32_t v = 0; v < subject.graph.node_count; v++)
            rules_write_switch(&writer, v);
        rules_write_end(&writer);
        err = text_ok(&text) ? OK : why_memory(why);
    }
    if (!err)
        err = rule_tables_read(&read, &subject, "x", text.data, text.size, why);
    if (!err)
        err = rule_tables_sort(&read, why);
    if (!err) {
        read.rules[read.count - 1].port = 99; /* so that there is a fault to report */
        err = replay_tables(&replay, &read, &rules, (struct observer){0}, why);
    }
    assert_true(err || replay.fault_count > 0);
    rules_writer_fini(&writer);
    rule_tables_fini(&read);
    replay_fini(&replay);
    text_fini(&text);
    rules_fini(&rules);
    return err;
}

/* Traffic from a file, from each pattern and a random one; then the longest matching, by symmetry,
 * whole and in groups. */
static enum err demands(const char *what, struct why *why)
{
    const struct longest_limits limits[] = {{4096, 512, true}, {4096, 512, false}, {0, 4, false}};
    struct longest_matching found;
    struct traffic traffic;
    enum err err = traffic_read(&traffic, &subject, "file", what, strlen(what), why);
    if (!err)
        traffic_fini(&traffic);
    for (enum traffic_pattern i = 0; i < TRAFFIC_PATTERN_COUNT && !err; i++) {
        err = traffic_make_pattern(&traffic, &subject, i, why);
        if (!err) {
            err = traffic_check_reach(&traffic, &subject, why);
            traffic_fini(&traffic);
        }
    }
    if (!err)
        err = traffic_permutation(&traffic, &subject, 1, why);
    for (size_t i = 0; i < 3 && !err; i++) {
        traffic_fini(&traffic);
        err = longest_matching_within(&traffic, &subject, limits[i], &found, why);
    }
    if (!err)
        traffic_fini(&traffic);
    return err;
}

/* The worst case, with symmetry and with one channel in memory at a time. */
static enum err worst_case(const char *what, struct why *why)
{
    struct router router;
    struct worst worst;
    struct traffic traffic;
    enum err err = router_open(&router, what, &subject, NULL, why);
    if (err)
        return err;
    for (int once = 0; once < 2 && !err; once++) {
        router.symmetric = router.symmetric && !once;
        err = worst_find_within(&worst, &router, once ? 30 : 1000, (struct observer){0}, why);
        if (err)
            break;
        err = worst_traffic(&worst, &subject, &traffic, why);
        if (!err)
            traffic_fini(&traffic);
        worst_fini(&worst);
    }
    router_close(&router);
    return err;
}

static void traffic_and_worst_cases_report_lack_of_memory(void **state)
{
    struct why why;
    assert_int_equal(topology_build(&subject, "torus:3x3", &why), OK);
    refuse_each(demands, "0 1\n1 2 3.5\n4 4\n");
    refuse_each(worst_case, "dor");
    topology_fini(&subject);
    assert_int_equal(topology_build(&subject, "jellyfish:n=6,degree=3,seed=1", &why), OK);
    refuse_each(worst_case, "link-state");
    topology_fini(&subject);
}

static void forwarding_reports_lack_of_memory(void **state)
{
    struct why why;
    assert_int_equal(topology_build(&subject, "jellyfish:servers=8,switches=6,ports=4", &why), OK);
    refuse_each(tables, "0");
    refuse_each(tables, "1");
    refuse_each(tables, "2");
    refuse_each(tables, "3");
    topology_fini(&subject);
}

/* Judges an algorithm's own lanes, and layers. */
static enum err judge(const char *what, struct why *why)
{
    struct router router;
    struct deadlock found;
    struct layers layers;
    bool possible;
    enum err err = router_open(&router, what, &subject, NULL, why);
    if (err)
        return err;
    err =
        deadlock_find(&found, &router, (struct lane_rule){LANE_OWN, 0}, (struct observer){0}, why);
    if (!err) {
        deadlock_fini(&found);
        err = layers_find(&layers, &router, &possible, (struct observer){0}, why);
    }
    if (!err)
        layers_fini(&layers);
    router_close(&router);
    return err;
}

/* Free of deadlock, not free, and adaptive with an escape path. */
static void deadlocks_report_lack_of_memory(void **state)
{
    struct why why;
    assert_int_equal(topology_build(&subject, "novacube:4x3", &why), OK);
    refuse_each(judge, "pora-free");
    refuse_each(judge, "pora");
    refuse_each(judge, "pora-around");
    refuse_each(judge, "minimal-adaptive");
    topology_fini(&subject);
}

static int extent_open(void *owner, struct extent *extent)
{
    return 0;
}

static void extent_close(void *owner, struct extent *extent)
{
}

static enum err pool_fill(struct pool *pool, struct why *why)
{
    static const size_t sizes[] = {10, 100, 5000, 300000, 3 << 20};
    static char foreign[100];
    void *data = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *grown = pool_resize(pool, data, sizes[i]);
        if (!grown || !pool_alloc(pool, sizes[i]))
            return why_memory(why);
        data = grown;
    }
    assert_int_equal(pool_free(pool, data), 0);
    return pool_register(pool, foreign, sizeof foreign) == -ENOMEM ? why_memory(why) : OK;
}

/* Allocates buffers of every kind. A buffer that cannot grow must remain valid. */
static enum err lend(const char *what, struct why *why)
{
    static const struct pool_events events = {extent_open, extent_close};
    struct pool *pool;
    if (pool_open(&pool, &events, NULL) == -ENOMEM)
        return why_memory(why);
    enum err err = pool_fill(pool, why);
    pool_close(pool);
    return err;
}

static enum err post(const char *what, struct why *why)
{
    static char memory[3];
    struct windows windows = {0};
    int result = 0;
    for (int i = 0; i < 3 && !result; i++)
        result = windows_add(&windows, &memory[i], 1);
    windows_fini(&windows);
    return result == -ENOMEM ? why_memory(why) : OK;
}

/* Opens a trace in the given folder, and a reader of it. */
static enum err watch(const char *what, struct why *why)
{
    struct trace *trace = NULL;
    struct trace_reader *reader = NULL;
    int result = trace_open(&trace, what, 1);
    if (result == 0)
        result = trace_reader_open(&reader, what, 1);
    trace_reader_close(reader);
    trace_close(trace);
    assert_true(result == 0 || result == -ENOMEM);
    return result ? why_memory(why) : OK;
}

static void buffers_windows_and_traces_report_lack_of_memory(void **state)
{
    char folder[] = "/tmp/weft-memory-XXXXXX";
    assert_non_null(mkdtemp(folder));
    refuse_each(lend, "buffers");
    refuse_each(post, "windows");
    refuse_each(watch, folder);
    assert_int_equal(remove(folder), 0);
}

TEST_MAIN(TEST(generators_report_lack_of_memory), TEST(readers_report_lack_of_memory),
          TEST(writers_report_lack_of_memory), TEST(growth_reports_lack_of_memory),
          TEST(inspections_report_lack_of_memory), TEST(routes_report_lack_of_memory),
          TEST(paths_report_lack_of_memory), TEST(traffic_and_worst_cases_report_lack_of_memory),
          TEST(forwarding_reports_lack_of_memory), TEST(deadlocks_report_lack_of_memory),
          TEST(buffers_windows_and_traces_report_lack_of_memory))
