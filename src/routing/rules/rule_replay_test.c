#include "routing/rules/rule_replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"

/* A network, its tables and their text, which a test may change. */
struct scene {
    struct topology topology;
    struct rules rules;
    struct text text;
};

static void scene_open(struct scene *scene, const char *spec, enum rules_encoding encoding,
                       uint32_t ways)
{
    struct rules_order order = {
        .labels = encoding == RULES_LABELS ? RULES_SWAPPED : RULES_CONSTANT,
        .ways = ways,
        .seed = 5,
    };
    struct rules_writer writer;
    *scene = (struct scene){0};
    assert_int_equal(topology_build(&scene->topology, spec, NULL), OK);
    assert_int_equal(rules_make(&scene->rules, &scene->topology, &order, NULL), OK);
    assert_int_equal(
        rules_writer_init(&writer, &scene->text, &scene->topology, &scene->rules, encoding, NULL),
        OK);
    rules_write_begin(&writer, NULL);
    for (uint32_t v = 0; v < scene->topology.graph.node_count; v++)
        rules_write_switch(&writer, v);
    rules_write_end(&writer);
    rules_writer_fini(&writer);
    assert_true(text_ok(&scene->text));
}

static void scene_close(struct scene *scene)
{
    text_fini(&scene->text);
    rules_fini(&scene->rules);
    topology_fini(&scene->topology);
}

static struct rule_replay scene_play(struct scene *scene)
{
    struct rule_tables tables = {0};
    struct rule_replay replay = {0};
    struct why why = {""};
    enum err err =
        rule_tables_read(&tables, &scene->topology, "t", scene->text.data, scene->text.size, &why);
    if (err)
        print_message("# %s\n", why.text);
    assert_int_equal(err, OK);
    assert_int_equal(rule_tables_sort(&tables, NULL), OK);
    assert_int_equal(replay_tables(&replay, &tables, &scene->rules, (struct observer){0}, &why),
                     OK);
    rule_tables_fini(&tables);
    return replay;
}

/* Replaces the first `old` after `where` by `new`. */
static void scene_edit(struct scene *scene, const char *where, const char *old, const char *new)
{
    struct text edited = {0};
    char *at = strstr(scene->text.data, where);
    assert_non_null(at);
    at = strstr(at, old);
    assert_non_null(at);
    text_add(&edited, scene->text.data, (size_t)(at - scene->text.data));
    text_puts(&edited, new);
    text_puts(&edited, at + strlen(old));
    text_fini(&scene->text);
    scene->text = edited;
}

static void tables_of_every_form_pass_the_replay(void **state)
{
    static const char *const specs[] = {
        "jellyfish:servers=60,switches=25,ports=7,seed=9",
        "jellyfish:servers=30,ports=10x6+8x4,bare=3,seed=2",
        "fattree:k=4",
        "torus:4x4",
        "novacube:4x4",
        "torus:1",
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        for (int e = 0; e < RULES_ENCODING_COUNT; e++) {
            struct scene scene;
            scene_open(&scene, specs[i], (enum rules_encoding)e, 6);
            struct rule_replay replay = scene_play(&scene);
            uint64_t hosts = 0, hops = 0;
            for (uint32_t v = 0; v < scene.topology.graph.node_count; v++)
                hosts += scene.topology.sites[v].servers > 0;
            for (size_t w = 0; w < scene.rules.way_count; w++)
                hops += scene.rules.ways[w].hops;
            if (replay.fault_count)
                print_message("# %s: %s", specs[i], replay.found.data);
            assert_int_equal(replay.fault_count, 0);
            assert_int_equal(replay.pairs, hosts * (hosts - 1));
            assert_int_equal(replay.reached, replay.pairs);
            assert_int_equal(replay.paths, scene.rules.way_count);
            assert_int_equal(replay.hops, hops);
            replay_fini(&replay);
            scene_close(&scene);
        }
    }
}

/* One change, the fault that it must cause, and words that its report must contain. */
struct tampering {
    const char *where, *old, *new;
    enum replay_fault fault;
    const char *said;
};

static void tamper(const char *spec, enum rules_encoding encoding, uint32_t ways,
                   const struct tampering *tampering)
{
    struct scene scene;
    scene_open(&scene, spec, encoding, ways);
    scene_edit(&scene, tampering->where, tampering->old, tampering->new);
    struct rule_replay replay = scene_play(&scene);
    const char *found = replay.found.data ? replay.found.data : "";
    if (!replay.faults[tampering->fault] || !strstr(found, tampering->said))
        print_message("# '%s' for '%s': %llu, %s\n", tampering->new, tampering->old,
                      (unsigned long long)replay.faults[tampering->fault], found);
    assert_true(replay.faults[tampering->fault] > 0);
    assert_non_null(strstr(found, tampering->said));
    replay_fini(&replay);
    scene_close(&scene);
}

#define TO(node) "dl_dst=02:00:00:0" node ":00:00/ff:ff:ff:ff:00:00,"

/* A ring of five direct nodes. Label 1 to node 3 leads down from 2 through 1, 0 and 4. */
static void openflow_faults_are_found(void **state)
{
    static const struct tampering tamperings[] = {
        /* back where they came from */
        {"#@ switch 1", "dl_vlan=1," TO("3") "actions=output:2",
         "dl_vlan=1," TO("3") "actions=output:1", REPLAY_LOOP,
         "switch 1: the rule for label 1 to 3, out of port 1, comes to switch 2 a second time: a "
         "loop"},
        {"#@ switch 1", "flow add table=0,dl_vlan=1," TO("3") "actions=output:2\n", "",
         REPLAY_BLACK_HOLE, "switch 1, which has no rule for it: a black hole"},
        {"#@ switch 1", "dl_vlan=1," TO("3"), "dl_vlan=9," TO("3"), REPLAY_BLACK_HOLE,
         "has no rule for it"},
        {"#@ switch 1", "dl_vlan=1," TO("3"), "dl_vlan=9," TO("3"), REPLAY_UNUSED,
         "switch 1: no packet uses this rule"},
        {"#@ switch 1", "dl_vlan=1," TO("3") "actions=output:2",
         "dl_vlan=1," TO("3") "actions=output:7", REPLAY_PORT,
         "out of port 7, does not leave by a cable"},
        {"#@ switch 1", "dl_vlan=1," TO("3") "actions=output:2",
         "dl_vlan=1," TO("3") "actions=output:LOCAL", REPLAY_PORT,
         "to 3 does not leave by a cable"},
        {"group_id=3", "set_field:4097->vlan_vid", "set_field:4196->vlan_vid", REPLAY_BLACK_HOLE,
         "sends label 100 to switch"},
        {"#@ switch 0", "actions=group:1", "actions=group:77", REPLAY_BLACK_HOLE,
         "switch 0: no rule for packets to 1"},
        {"#@ switch 0", TO("1") "actions=group:1", TO("1") "actions=goto_table:1", REPLAY_ASTRAY,
         "delivers packets to switch 1 itself"},
        {"#@ switch 2", "flow add table=1,dl_dst=02:00:00:02:00:00,actions=output:LOCAL\n", "",
         REPLAY_BLACK_HOLE, "switch 2: no rule for its server 0"},
        {"#@ switch 2", "actions=output:LOCAL", "actions=output:1", REPLAY_ASTRAY,
         "switch 2: server 0 is not at that port"},
        {"#@ switch 2",
         "flow add table=0,vlan_tci=0x1000/0x1000," TO("2") "actions=pop_vlan,goto_table:1\n", "",
         REPLAY_BLACK_HOLE, "switch 2, which has no rule for it"},
        {"#@ switch 4", "#@ switch 4 4\n",
         "#@ switch 4 4\nflow add table=0,dl_vlan=1," TO("2") "actions=output:1\n",
         REPLAY_AMBIGUOUS, "matches the same packets"},
        {"#@ switch 4", "#@ switch 4 4\n",
         "#@ switch 4 4\nflow add table=0,dl_vlan=50," TO("2") "actions=output:1\n", REPLAY_UNUSED,
         "switch 4: no packet uses this rule"},
    };
    for (size_t i = 0; i < sizeof tamperings / sizeof *tamperings; i++)
        tamper("torus:5", RULES_OPENFLOW_VLAN, 2, &tamperings[i]);
}

static void ways_must_be_different_and_complete(void **state)
{
    struct scene scene;
    struct rule_replay replay;
    char *bucket, *end;
    scene_open(&scene, "torus:5", RULES_OPENFLOW_VLAN, 2);
    bucket = strstr(scene.text.data, ",bucket=");
    end = strstr(bucket + 1, ",bucket=");
    char *line = strchr(end, '\n');
    char first[100] = "", second[100] = "";
    memcpy(first, bucket, (size_t)(end - bucket));
    memcpy(second, end, (size_t)(line - end));
    /* the first way again instead of the second */
    scene_edit(&scene, "#@ switch 0", second, first);
    replay = scene_play(&scene);
    assert_int_equal(replay.faults[REPLAY_SAME], 1);
    assert_non_null(strstr(replay.found.data, "switch 0: 2 of the ways to 1 are the same path"));
    replay_fini(&replay);
    scene_close(&scene);
    /* without the second way */
    scene_open(&scene, "torus:5", RULES_OPENFLOW_VLAN, 2);
    scene_edit(&scene, "#@ switch 0", second, "");
    replay = scene_play(&scene);
    assert_int_equal(replay.faults[REPLAY_LENGTHS], 1);
    assert_non_null(
        strstr(replay.found.data, "switch 0: 1 paths to 1, which are not the 2 shortest paths"));
    replay_fini(&replay);
    scene_close(&scene);
}

/* From 0 to 1 in a ring of three through 2: it arrives, but not by a shortest path. */
static void longer_paths_are_found(void **state)
{
    static const char detour[] =
        "actions=group:1\nflow add table=0,dl_vlan=1," TO("1") "actions=output:2";
    struct scene scene;
    scene_open(&scene, "torus:3", RULES_OPENFLOW_VLAN, 1);
    scene_edit(&scene, "#@ switch 2", "actions=group:1", detour);
    scene_edit(&scene, "#@ switch 0", "output:1", "output:2");
    struct rule_replay replay = scene_play(&scene);
    assert_int_equal(replay.fault_count, 1);
    assert_int_equal(replay.faults[REPLAY_LENGTHS], 1);
    assert_true(replay.reached == 6 && replay.paths == 6 && replay.hops_max == 2);
    assert_non_null(
        strstr(replay.found.data, "switch 0: 1 paths to 1, which are not the 1 shortest paths"));
    replay_fini(&replay);
    scene_close(&scene);
}

static void label_faults_are_found(void **state)
{
    static const struct tampering tamperings[] = {
        {"#@ switch 1", "ilm label=16 pop\n", "", REPLAY_BLACK_HOLE, "sends label 16 to switch 1"},
        {"#@ switch 1", "ilm label=17 swap", "ilm label=99 swap", REPLAY_BLACK_HOLE,
         "sends label 17 to switch 1, which has no rule for it"},
        {"#@ switch 1", "ilm label=17 swap", "ilm label=18 swap", REPLAY_AMBIGUOUS,
         "matches the same packets"},
        {"#@ switch 1", "swap=16 port=", "swap=16 port=5", REPLAY_PORT,
         "does not leave by a cable"},
        {"#@ switch 1", "ftn to=3 push=", "ftn to=3 push=1", REPLAY_BLACK_HOLE,
         "switch 1: a way to 3"},
        {"#@ switch 1", "server index=0 port=local", "server index=0 port=3", REPLAY_ASTRAY,
         "server 0 is not at that port"},
    };
    for (size_t i = 0; i < sizeof tamperings / sizeof *tamperings; i++)
        tamper("torus:5", RULES_LABELS, 2, &tamperings[i]);
}

/* A label that is popped on the way ends at the wrong switch. */
static void a_way_that_ends_early_is_found(void **state)
{
    struct scene scene;
    scene_open(&scene, "torus:5", RULES_LABELS, 1);
    char *line = strstr(strstr(scene.text.data, "#@ switch 1"), "ilm label=17 swap");
    char old[60] = "";
    memcpy(old, line, strcspn(line, "\n"));
    scene_edit(&scene, "#@ switch 1", old, "ilm label=17 pop");
    struct rule_replay replay = scene_play(&scene);
    assert_true(replay.faults[REPLAY_ASTRAY] > 0);
    assert_non_null(strstr(replay.found.data, " ends the path at the wrong switch"));
    replay_fini(&replay);
    scene_close(&scene);
}

static void switches_without_a_path_are_counted_separately(void **state)
{
    static const struct link links[] = {{0, 1, PORT_ANY, PORT_ANY}, {2, 3, PORT_ANY, PORT_ANY}};
    for (int e = 0; e < RULES_ENCODING_COUNT; e++) {
        enum rules_encoding encoding = (enum rules_encoding)e;
        struct scene scene = {0};
        struct rules_order order = {
            .labels = encoding == RULES_LABELS ? RULES_SWAPPED : RULES_CONSTANT, .ways = 3};
        struct rules_writer writer;
        assert_int_equal(topology_init(&scene.topology, TOPOLOGY_OTHER, true, 5, links, 2, NULL),
                         OK);
        topology_count_servers(&scene.topology);
        assert_int_equal(rules_make(&scene.rules, &scene.topology, &order, NULL), OK);
        assert_int_equal(
            rules_writer_init(&writer, &scene.text, &scene.topology, &scene.rules, encoding, NULL),
            OK);
        rules_write_begin(&writer, NULL);
        for (uint32_t v = 0; v < 5; v++)
            rules_write_switch(&writer, v);
        rules_write_end(&writer);
        rules_writer_fini(&writer);
        struct rule_replay replay = scene_play(&scene);
        assert_int_equal(replay.fault_count, 0);
        assert_true(replay.pairs == 4 && replay.reached == 4 && replay.apart == 16);
        replay_fini(&replay);
        scene_close(&scene);
    }
}

TEST_MAIN(TEST(tables_of_every_form_pass_the_replay), TEST(openflow_faults_are_found),
          TEST(ways_must_be_different_and_complete), TEST(longer_paths_are_found),
          TEST(label_faults_are_found), TEST(a_way_that_ends_early_is_found),
          TEST(switches_without_a_path_are_counted_separately))
