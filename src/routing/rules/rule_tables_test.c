#include "routing/rules/rule_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"

static enum rules_labels labels_of(enum rules_encoding encoding)
{
    return encoding == RULES_LABELS ? RULES_SWAPPED : RULES_CONSTANT;
}

static void tables_write(struct text *out, const struct topology *topology,
                         const struct rules *rules, enum rules_encoding encoding)
{
    struct rules_writer writer;
    assert_int_equal(rules_writer_init(&writer, out, topology, rules, encoding, NULL), OK);
    rules_write_begin(&writer, "two lines\nof remarks");
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        rules_write_switch(&writer, v);
    rules_write_end(&writer);
    rules_writer_fini(&writer);
    assert_true(text_ok(out));
}

static uint32_t port_of(const struct topology *topology, uint32_t channel)
{
    return graph_channel_port(&topology->graph, channel);
}

/* Checks that every hop and way of the rules is in the tables, once. */
static void tables_compare(const struct rule_tables *tables, const struct topology *topology,
                           const struct rules *rules)
{
    enum rules_encoding encoding = tables->encoding;
    size_t count, forward = 0, ways = 0;
    for (size_t i = 0; i < rules->hop_count; i++) {
        const struct rules_hop *hop = &rules->hops[i];
        uint32_t key = encoding == RULES_LABELS ? TABLE_ANY : hop->to;
        const struct table_rule *rule = rule_tables_find(
            tables, hop->at, TABLE_FORWARD, key, rules_encode_label(encoding, hop->label), &count);
        assert_non_null(rule);
        assert_int_equal(count, 1);
        assert_int_equal(rule->port, port_of(topology, hop->channel));
        assert_int_equal(rule->next, rules_encode_label(encoding, hop->next));
    }
    for (size_t i = 0; i < rules->way_count; i++) {
        const struct rules_way *way = &rules->ways[i];
        const struct table_rule *rule =
            rule_tables_find(tables, way->from, TABLE_WAY, way->to, 0, &count);
        assert_non_null(rule);
        assert_true(way->index < count);
        rule += way->index;
        assert_int_equal(rule->port, port_of(topology, way->channel));
        assert_int_equal(rule->next, rules_encode_label(encoding, way->label));
    }
    for (size_t i = 0; i < tables->count; i++) {
        ways += tables->rules[i].kind == TABLE_WAY;
        forward += tables->rules[i].kind == TABLE_FORWARD && tables->rules[i].next != TABLE_POP;
    }
    assert_true(ways == rules->way_count && forward == rules->hop_count);
}

static void written_tables_are_read_back(void **state)
{
    static const char *const specs[] = {"jellyfish:servers=25,switches=12,ports=6,seed=3",
                                        "torus:3x3", "fattree:k=4", "torus:1"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        for (int e = 0; e < RULES_ENCODING_COUNT; e++) {
            enum rules_encoding encoding = (enum rules_encoding)e;
            struct rules_order order = {.labels = labels_of(encoding), .ways = 4, .seed = 2};
            struct rule_tables tables = {0};
            struct topology topology;
            struct rules rules;
            struct text text = {0};
            assert_int_equal(topology_build(&topology, specs[i], NULL), OK);
            assert_int_equal(rules_make(&rules, &topology, &order, NULL), OK);
            tables_write(&text, &topology, &rules, encoding);
            assert_int_equal(rule_tables_read(&tables, &topology, "t", text.data, text.size, NULL),
                             OK);
            assert_int_equal(rule_tables_sort(&tables, NULL), OK);
            assert_int_equal(tables.encoding, encoding);
            tables_compare(&tables, &topology, &rules);
            rule_tables_fini(&tables);
            text_fini(&text);
            rules_fini(&rules);
            topology_fini(&topology);
        }
    }
}

/* Two switches, "a b" and "c", with one and two servers, joined at ports 0. */
static void pair_make(struct topology *topology)
{
    static const struct link link = {0, 1, 0, 0};
    assert_int_equal(topology_init(topology, TOPOLOGY_OTHER, false, 2, &link, 1, NULL), OK);
    topology->sites[0].servers = 1;
    topology->sites[1].servers = 2;
    topology->names = calloc(2, sizeof *topology->names);
    topology->names[0] = strdup("a b");
    topology->names[1] = strdup("c");
    topology_count_servers(topology);
    topology_check(topology);
}

static void the_forms_are_as_documented(void **state)
{
    static const char *const expected[] = {
        "#@ weft-rules openflow vlan\n# two lines\n# of remarks\n"
        "#@ switch 0 a%20b\n"
        "flow add table=0,vlan_tci=0x1000/0x1000,dl_dst=02:00:00:00:00:00/ff:ff:ff:ff:00:00,"
        "actions=pop_vlan,goto_table:1\n"
        "flow add table=1,dl_dst=02:00:00:00:00:00,actions=output:2\n"
        "group add group_id=1,type=select,bucket=push_vlan:0x8100,set_field:4097->vlan_vid,"
        "output:1\n"
        "flow add table=0,vlan_tci=0/0x1000,dl_dst=02:00:00:01:00:00/ff:ff:ff:ff:00:00,"
        "actions=group:1\n"
        "#@ switch 1 c\n"
        "flow add table=0,vlan_tci=0x1000/0x1000,dl_dst=02:00:00:01:00:00/ff:ff:ff:ff:00:00,"
        "actions=pop_vlan,goto_table:1\n"
        "flow add table=0,vlan_tci=0/0x1000,dl_dst=02:00:00:01:00:00/ff:ff:ff:ff:00:00,"
        "actions=goto_table:1\n"
        "flow add table=1,dl_dst=02:00:00:01:00:00,actions=output:2\n"
        "flow add table=1,dl_dst=02:00:00:01:00:01,actions=output:3\n"
        "group add group_id=0,type=select,bucket=push_vlan:0x8100,set_field:4097->vlan_vid,"
        "output:1\n"
        "flow add table=0,vlan_tci=0/0x1000,dl_dst=02:00:00:00:00:00/ff:ff:ff:ff:00:00,"
        "actions=group:0\n",
        NULL,
        "#@ weft-rules mpls\n# two lines\n# of remarks\n"
        "#@ switch 0 a%20b\n"
        "server index=0 port=1\n"
        "ilm label=16 pop\n"
        "ftn to=1 push=16 port=0\n"
        "#@ switch 1 c\n"
        "server index=0 port=1\n"
        "server index=1 port=2\n"
        "ilm label=16 pop\n"
        "ftn to=0 push=16 port=0\n",
        "{\n  \"weft_rules\": \"json\",\n  \"switches\": [\n"
        "    {\n      \"switch\": 0,\n      \"name\": \"a b\",\n"
        "      \"servers\": [\n        {\"server\": 0, \"port\": 1}\n      ],\n"
        "      \"ways\": [\n        {\"to\": 1, \"tag\": 1, \"port\": 0}\n      ],\n"
        "      \"hops\": []\n    },\n"
        "    {\n      \"switch\": 1,\n      \"name\": \"c\",\n"
        "      \"servers\": [\n        {\"server\": 0, \"port\": 1},\n"
        "        {\"server\": 1, \"port\": 2}\n      ],\n"
        "      \"ways\": [\n        {\"to\": 0, \"tag\": 1, \"port\": 0}\n      ],\n"
        "      \"hops\": []\n    }\n  ]\n}\n",
    };
    struct topology topology;
    pair_make(&topology);
    for (int e = 0; e < RULES_ENCODING_COUNT; e++) {
        struct rules_order order = {.labels = labels_of((enum rules_encoding)e), .ways = 4};
        struct rules rules;
        struct text text = {0};
        assert_int_equal(rules_make(&rules, &topology, &order, NULL), OK);
        tables_write(&text, &topology, &rules, (enum rules_encoding)e);
        if (expected[e])
            assert_string_equal(text.data, expected[e]);
        text_fini(&text);
        rules_fini(&rules);
    }
    topology_fini(&topology);
}

static void special_letters_in_names_are_encoded(void **state)
{
    static const char *const names[][2] = {
        {"core-1", "core-1"},   {"a b", "a%20b"},
        {"..", "%2e."},         {"a/b", "a%2fb"},
        {"100%", "100%25"},     {"#@ switch 1", "%23@%20switch%201"},
        {"x\ny", "x%0ay"},      {"\xc3\xa9", "\xc3\xa9"},
        {"\xc2\x9b", "%c2%9b"}, {"a\"b,c=d;", "a%22b%2cc%3dd%3b"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct text text = {0};
        rules_write_name(&text, names[i][0]);
        assert_string_equal(text.data, names[i][1]);
        text_fini(&text);
    }
}

static void refuse(const struct topology *topology, const char *text, const char *reason)
{
    struct rule_tables tables = {0};
    struct why why = {""};
    enum err err = rule_tables_read(&tables, topology, "t", text, strlen(text), &why);
    if (err != ERR_INPUT || !strstr(why.text, reason))
        print_message("# %s\n# got: %s\n# expected: %s\n", text, why.text, reason);
    assert_int_equal(err, ERR_INPUT);
    assert_non_null(strstr(why.text, reason));
    rule_tables_fini(&tables);
}

/* The bad text, and a part of its error. */
static const char *const bad_flows[][2] = {
    {"flow add table=0\n", "line 3: expected a field"},
    {"flow add table=2,actions=\n", "line 3: expected a field"},
    {"flow add table=0,nw_dst=10.0.0.1,actions=drop\n", "expected a field"},
    {"flow add actions=drop\n", "has no dl_dst"},
    {"flow add table=0,dl_dst=02:00:00:00:00:00,actions=drop\n", "with its mask"},
    {"flow add dl_vlan=1,dl_dst=02:00:00:09:00:00/ff:ff:ff:ff:00:00,actions=output:1\n",
     "there is no switch 9 with servers"},
    {"flow add dl_vlan=1,dl_dst=02:00:00:01:00:00/ff:ff:ff:ff:00:00,actions=output:0\n",
     "expected actions"},
    {"flow add dl_vlan=1,dl_dst=02:00:00:01:00:00/ff:ff:ff:ff:00:00,actions=output:1x\n",
     "expected actions"},
    {"flow add dl_vlan=99999999999,dl_dst=02:00:00:01:00:00/ff:ff:ff:ff:00:00,actions=\n",
     "expected a field"},
    {"flow add dl_vlan=1,dl_dst=02:00:00:01:00:00/ff:ff:00:00:00:00,actions=output:1\n",
     "expected a field"},
    {"flow add dl_vlan=1,dl_dst=04:00:00:01:00:00/ff:ff:ff:ff:00:00,actions=output:1\n",
     "expected a field"},
    {"flow add dl_dst=02:00:00:01:00:00/ff:ff:ff:ff:00:00,actions=output:1\n", "expected actions"},
    {"flow add table=1,dl_dst=02:00:00:00:00:01,actions=output:1\n", "no server 1 at switch 0"},
    {"flow add table=1,dl_dst=02:00:00:01:00:00,actions=output:1\n", "a rule of table 1"},
    {"group add group_id=1,type=all\n", "expected group_id=N,type=select"},
    {"group add group_id=1,type=select,bucket=output:1\n", "expected a bucket"},
    {"group add "
     "group_id=1,type=select,bucket=push_vlan:0x8100,set_field:7->vlan_vid,output:1\n",
     "expected a bucket"},
    {"#@ switch 2 d\n", "there is no switch 2"},
    {"#@ switch 1 d\n",
     "switch 1 of this network is 'c', not 'd'; the tables are for another network"},
    {"#@ colour red\n", "expected '#@ switch NUMBER NAME'"},
    {"ilm label=16 pop\n", "expected 'flow add' or 'group add'"},
};

static const char *const bad_labels[][2] = {
    {"ftn to=1 push=16\n", "line 3: expected ftn, ilm or server"},
    {"ftn to=7 push=16 port=1\n", "there is no switch 7 with servers"},
    {"ilm label=16 pop port=1\n", "expected nothing after the rule"},
    {"ilm label=16 swap=17\n", "expected ftn, ilm or server"},
    {"ilm label=-1 pop\n", "expected ftn, ilm or server"},
    {"server index=1 port=1\n", "no server 1 at switch 0"},
    {"server index=0 port=4294967296\n", "expected ftn, ilm or server"},
    {"flow add\n", "expected ftn"},
};

static const char *const bad_files[][2] = {
    {"", "line 1: expected JSON, or a first line '#@ weft-rules'"},
    {"#@ weft-rules\n", "line 1: expected JSON, or a first line '#@ weft-rules'"},
    {"#@ weft-rules json\n", "line 1: expected JSON, or a first line '#@ weft-rules'"},
    {"#@ weft-rules mpls\nilm label=16 pop\n", "line 2: the rule comes before the line"},
    {"{", "line 1"},
    {"{}", "expected the key weft_rules first"},
    {"{\"switches\": []}", "expected the key weft_rules first"},
    {"{\"weft_rules\": \"mpls\"}", "must be \"json\""},
    {"{\"weft_rules\": \"json\", \"x\": 1}", "unexpected key 'x'"},
    {"{\"weft_rules\": \"json\", \"switches\": [1]}", "expected an object: a switch"},
    {"{\"weft_rules\": \"json\", \"switches\": [{\"name\": \"c\"}]}",
     "the key switch must come before name"},
    {"{\"weft_rules\": \"json\", \"switches\": [{\"switch\": 1.5}]}", "whole number"},
    {"{\"weft_rules\": \"json\", \"switches\": [{\"switch\": 1, \"name\": \"c\", \"ways\": "
     "[{\"to\": 0, \"tag\": 1}]}]}",
     "expected to, tag and port"},
    {"{\"weft_rules\": \"json\", \"switches\": [{\"switch\": 1, \"name\": \"c\", \"ways\": "
     "[{\"to\": 0, \"tag\": 1, \"port\": \"x\"}]}]}",
     "port must be"},
    {"{\"weft_rules\": \"json\", \"switches\": [{\"switch\": 1, \"hops\": "
     "[{\"to\": 0, \"tag\": 1, \"port\": 0}]}]}",
     "the rule comes before"},
    {"{\"weft_rules\": \"json\"} x", "line 1"},
};

static void bad_lines_are_refused_with_their_number(void **state)
{
    struct topology topology;
    char text[600];
    pair_make(&topology);
    for (size_t i = 0; i < sizeof bad_flows / sizeof *bad_flows; i++) {
        snprintf(text, sizeof text, "#@ weft-rules openflow vlan\n#@ switch 0 a%%20b\n%s",
                 bad_flows[i][0]);
        refuse(&topology, text, bad_flows[i][1]);
    }
    for (size_t i = 0; i < sizeof bad_labels / sizeof *bad_labels; i++) {
        snprintf(text, sizeof text, "#@ weft-rules mpls\n#@ switch 0 a%%20b\n%s", bad_labels[i][0]);
        refuse(&topology, text, bad_labels[i][1]);
    }
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++)
        refuse(&topology, bad_files[i][0], bad_files[i][1]);
    topology_fini(&topology);
}

static void fields_may_be_in_any_order_and_with_a_priority(void **state)
{
    static const char text[] =
        "#@ weft-rules openflow vlan\r\n#@ switch 0 a%20b\r\n\n"
        "flow add priority=7, dl_dst=02:00:00:01:00:00/ff:ff:ff:ff:00:00, dl_vlan=0x11, table=0, "
        "actions=output:9 # why\r\n";
    struct topology topology;
    struct rule_tables tables = {0};
    size_t count;
    pair_make(&topology);
    assert_int_equal(rule_tables_read(&tables, &topology, "t", text, strlen(text), NULL), OK);
    assert_int_equal(rule_tables_sort(&tables, NULL), OK);
    const struct table_rule *rule = rule_tables_find(&tables, 0, TABLE_FORWARD, 1, 17, &count);
    assert_non_null(rule);
    assert_true(rule->port == 8 && rule->line == 4);
    rule_tables_fini(&tables);
    topology_fini(&topology);
}

static void files_of_one_set_have_one_form(void **state)
{
    struct topology topology;
    struct rule_tables tables = {0};
    struct why why = {""};
    pair_make(&topology);
    assert_int_equal(rule_tables_read(&tables, &topology, "one", "#@ weft-rules mpls\n", 19, &why),
                     OK);
    assert_int_equal(
        rule_tables_read(&tables, &topology, "two", "{\"weft_rules\": \"json\"}", 22, &why),
        ERR_INPUT);
    assert_string_equal(
        why.text,
        "two: line 1: this table has the form 'json', but the earlier tables have 'mpls'");
    rule_tables_fini(&tables);
    topology_fini(&topology);
}

TEST_MAIN(TEST(written_tables_are_read_back), TEST(the_forms_are_as_documented),
          TEST(special_letters_in_names_are_encoded), TEST(bad_lines_are_refused_with_their_number),
          TEST(fields_may_be_in_any_order_and_with_a_priority),
          TEST(files_of_one_set_have_one_form))
