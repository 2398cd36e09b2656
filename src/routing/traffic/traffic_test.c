#include "routing/traffic/traffic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "topology/build_test.h"

/* Two switches with 2 and 3 servers, one without, and a disconnected one with 4. */
static struct topology switches(void)
{
    static const uint32_t servers[] = {2, 3, 0, 4};
    static char *const names[] = {"rack/1", "b", "core", "far"};
    const struct link links[] = {{0, 2, PORT_ANY, PORT_ANY}, {1, 2, PORT_ANY, PORT_ANY}};
    struct topology topology;
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, false, 4, links, 2, NULL), OK);
    topology.names = calloc(4, sizeof *topology.names);
    assert_non_null(topology.names);
    for (uint32_t v = 0; v < 4; v++) {
        topology.sites[v].servers = servers[v];
        topology.names[v] = strdup(names[v]);
    }
    topology_count_servers(&topology);
    topology_check(&topology);
    return topology;
}

/* Checks what every traffic guarantees. */
static void check(const struct traffic *traffic)
{
    for (size_t i = 0; i < traffic->count; i++) {
        const struct demand *demand = &traffic->demands[i];
        assert_int_not_equal(demand->from, demand->to);
        assert_true(demand->amount > 0 && isfinite(demand->amount));
        if (i > 0)
            assert_true(demand[-1].from < demand->from ||
                        (demand[-1].from == demand->from && demand[-1].to < demand->to));
    }
}

static double amount(const struct traffic *traffic, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < traffic->count; i++)
        if (traffic->demands[i].from == from && traffic->demands[i].to == to)
            return traffic->demands[i].amount;
    return 0;
}

static struct traffic pattern_of(const struct topology *topology, enum traffic_pattern pattern)
{
    struct traffic traffic;
    struct why why = {""};
    if (traffic_make_pattern(&traffic, topology, pattern, &why))
        fail_msg("%s", why.text);
    assert_string_equal(traffic.name, traffic_pattern_name(pattern));
    check(&traffic);
    return traffic;
}

/* In 5x5 the node at (x, y) is x + 5 y. */
static void patterns_follow_coordinates(void **state)
{
    struct topology topology = build_test("torus:5x5");
    for (enum traffic_pattern pattern = TRAFFIC_TRANSPOSE; pattern < TRAFFIC_PATTERN_COUNT;
         pattern++) {
        struct traffic traffic = pattern_of(&topology, pattern);
        double local = 0;
        for (uint32_t x = 0; x < 5; x++)
            for (uint32_t y = 0; y < 5; y++) {
                const uint32_t to[TRAFFIC_PATTERN_COUNT] = {
                    [TRAFFIC_TRANSPOSE] = y + 5 * x,
                    [TRAFFIC_COMPLEMENT] = 4 - x + 5 * (4 - y),
                    [TRAFFIC_TORNADO] = (x + 2) % 5 + 5 * y,
                    [TRAFFIC_NEIGHBOUR] = (x + 1) % 5 + 5 * y,
                };
                uint32_t from = x + 5 * y;
                local += to[pattern] == from;
                if (to[pattern] != from)
                    assert_within(amount(&traffic, from, to[pattern]), 1, 0);
            }
        assert_within(traffic.local, local, 0);
        assert_int_equal(traffic.count + (size_t)local, 25);
        traffic_fini(&traffic);
    }
    topology_fini(&topology);
}

static void tornado_goes_less_than_half_way(void **state)
{
    static const uint32_t steps[] = {[3] = 1, [4] = 1, [7] = 3, [8] = 3, [9] = 4};
    for (uint32_t size = 3; size <= 9; size++) {
        char spec[32];
        snprintf(spec, sizeof spec, "torus:%ux2", size);
        struct topology topology = build_test(spec);
        struct traffic traffic = pattern_of(&topology, TRAFFIC_TORNADO);
        assert_true(2 * traffic.demands[0].to < size);
        if (steps[size])
            assert_int_equal(traffic.demands[0].to, steps[size]);
        traffic_fini(&traffic);
        topology_fini(&topology);
    }
}

static void uniform_traffic_of_a_node_sums_to_one(void **state)
{
    struct topology topology = switches();
    struct traffic traffic = pattern_of(&topology, TRAFFIC_UNIFORM);
    double sent[4] = {0}, received[4] = {0};
    for (size_t i = 0; i < traffic.count; i++) {
        sent[traffic.demands[i].from] += traffic.demands[i].amount;
        received[traffic.demands[i].to] += traffic.demands[i].amount;
    }
    for (uint32_t v = 0; v < 4; v++) { /* a third goes to the node itself */
        assert_within(sent[v], v == 2 ? 0 : 2 / 3.0, 1e-15);
        assert_within(received[v], sent[v], 1e-15);
    }
    assert_within(traffic.local, 1, 0);
    traffic_fini(&traffic);
    topology_fini(&topology);
}

static void patterns_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        const char *spec;
        enum traffic_pattern pattern;
        const char *word; /* a part of the error */
    } cases[] = {
        {"torus:4x8", TRAFFIC_TRANSPOSE, "axis 0 has size 4, axis 1 has 8"},
        {"torus:8", TRAFFIC_TRANSPOSE, "would send to itself"},
        {"torus:2x8", TRAFFIC_TORNADO, "would send to itself"},
        {"torus:1x8", TRAFFIC_NEIGHBOUR, "would send to itself"},
        {"torus:1", TRAFFIC_UNIFORM, "two nodes"},
        {"torus:50x50x5", TRAFFIC_UNIFORM, "12500 nodes has too many pairs"},
        {"jellyfish:n=16,degree=3,seed=7", TRAFFIC_COMPLEMENT, "coordinates"},
        {"fattree:k=4", TRAFFIC_TORNADO, "coordinates"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology topology = build_test(cases[i].spec);
        struct traffic traffic;
        struct why why = {""};
        assert_int_equal(traffic_make_pattern(&traffic, &topology, cases[i].pattern, &why),
                         ERR_USAGE);
        assert_non_null(strstr(why.text, cases[i].word));
        topology_fini(&topology);
    }
}

static enum err read_text(struct traffic *traffic, const struct topology *topology,
                          const char *text, struct why *why)
{
    return traffic_read(traffic, topology, "t.txt", text, strlen(text), why);
}

static void a_file_of_servers_is_read(void **state)
{
    struct topology topology = build_test("torus:3x3");
    struct traffic traffic;
    struct why why = {""};
    const char *text = "# who, whom\n"
                       "0 1\r\n"
                       "\t3,4, 2.5 # and why\n"
                       "\n"
                       "  0 , 1 , 1e1\n"
                       "5 5 7\n"
                       "8 0 0\n"
                       "2\t0\t.25";
    if (read_text(&traffic, &topology, text, &why))
        fail_msg("%s", why.text);
    check(&traffic);
    assert_int_equal(traffic.count, 3);
    assert_within(amount(&traffic, 0, 1), 11, 0);
    assert_within(amount(&traffic, 3, 4), 2.5, 0);
    assert_within(amount(&traffic, 2, 0), .25, 0);
    assert_within(traffic.local, 7, 0);
    assert_int_equal(traffic.lines, 8);
    assert_string_equal(traffic.name, "t.txt");
    traffic_fini(&traffic);
    topology_fini(&topology);
}

static void servers_of_switches_are_numbered(void **state)
{
    struct topology topology = switches();
    struct traffic traffic;
    struct why why = {""};
    const char *text = "rack/1/0 b/2\n" /* the name itself contains a slash */
                       "rack/1/1 b/0 2\n"
                       "b rack/1 4\n"
                       "far/0 far/3\n";
    if (read_text(&traffic, &topology, text, &why))
        fail_msg("%s", why.text);
    check(&traffic);
    assert_int_equal(traffic.count, 2);
    assert_within(amount(&traffic, 0, 1), 3, 0);
    assert_within(amount(&traffic, 1, 0), 4, 0);
    assert_within(traffic.local, 1, 0);
    traffic_fini(&traffic);
    topology_fini(&topology);
}

static void bad_lines_are_refused_with_their_number(void **state)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "t.txt: no server sends anything; the file needs a line with an amount above 0"},
        {"# nothing\n\n",
         "t.txt: no server sends anything; the file needs a line with an amount above 0"},
        {"b rack/1 0\n",
         "t.txt: no server sends anything; the file needs a line with an amount above 0"},
        {"b rack/1\nb unknown\n", "t.txt: line 2: there is no server 'unknown'"},
        {"b/3 rack/1\n",
         "t.txt: line 1: there is no server 'b/3': this switch has 3 servers, numbered from 0"},
        {"b/-1 rack/1\n", "t.txt: line 1: there is no server 'b/-1'"},
        {"b/ rack/1\n", "t.txt: line 1: there is no server 'b/'"},
        {"b/18446744073709551616 b\n", "t.txt: line 1: there is no server 'b/1844674"},
        {"b/4294967296 b\n", "t.txt: line 1: there is no server 'b/4294967296': this"},
        {"core b\n", "t.txt: line 1: switch 'core' has no servers"},
        {"\n\nb\n", "t.txt: line 3: expected 'FROM TO' or 'FROM TO AMOUNT', found 1 field"},
        {"b b 1 2\n", "t.txt: line 1: expected 'FROM TO' or 'FROM TO AMOUNT', found 4 fields"},
        {"b,,rack/1\n", "t.txt: line 1: a comma needs a field before and after it"},
        {"b,rack/1,\n", "t.txt: line 1: a comma needs a field before and after it"},
        {",b\n", "t.txt: line 1: a comma needs a field before and after it"},
        {"b rack/1 -1\n", "t.txt: line 1: the amount '-1' is not a finite number of at least 0"},
        {"b rack/1 nan\n", "t.txt: line 1: the amount 'nan' is not a finite"},
        {"b rack/1 inf\n", "t.txt: line 1: the amount 'inf' is not a finite"},
        {"b rack/1 1e999\n", "t.txt: line 1: the amount '1e999' is not a finite"},
        {"b rack/1 1e308\n",
         "t.txt: line 1: the amount '1e308' is neither 0 nor from 1e-100 to 1e+100"},
        {"b rack/1 1e-300\n",
         "t.txt: line 1: the amount '1e-300' is neither 0 nor from 1e-100 to 1e+100"},
        {"b rack/1 1x\n", "t.txt: line 1: the amount '1x' is not a number"},
        {"b rack/1 0x10\n", "t.txt: line 1: the amount '0x10' is not a number"},
        {"b rack/1 much\n", "t.txt: line 1: the amount 'much' is not a number"},
    };
    struct topology topology = switches();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct traffic traffic;
        struct why why = {""};
        assert_int_equal(read_text(&traffic, &topology, cases[i].text, &why), ERR_INPUT);
        if (strncmp(why.text, cases[i].reason, strlen(cases[i].reason)) != 0)
            fail_msg("'%s' gives '%s'", cases[i].text, why.text);
    }
    topology_fini(&topology);
}

static void a_zero_byte_does_not_end_a_number(void **state)
{
    struct topology topology = build_test("torus:3");
    struct traffic traffic;
    struct why why = {""};
    assert_int_equal(traffic_read(&traffic, &topology, "t", "0 1 2\0003", 7, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "line 1"));
    topology_fini(&topology);
}

static void servers_of_a_direct_network_have_no_index(void **state)
{
    struct topology topology = build_test("torus:3");
    struct traffic traffic;
    struct why why = {""};
    assert_int_equal(read_text(&traffic, &topology, "0/0 1", &why), ERR_INPUT);
    assert_string_equal(why.text, "t.txt: line 1: there is no server '0/0'");
    topology_fini(&topology);
}

static void traffic_to_another_part_is_refused(void **state)
{
    struct topology topology = switches();
    struct traffic traffic;
    struct why why = {""};
    struct demand *demands = calloc(2, sizeof *demands);
    assert_non_null(demands);
    demands[0] = (struct demand){0, 1, 1};
    demands[1] = (struct demand){1, 3, 1};
    assert_int_equal(traffic_make(&traffic, demands, 2, &why), OK);
    traffic.name = "these";
    assert_int_equal(traffic_check_reach(&traffic, &topology, &why), ERR_NO);
    assert_string_equal(why.text, "these: no path leads from 'b' to 'far'");
    struct traffic unread;
    assert_int_equal(read_text(&unread, &topology, "b/0 far/0\n", &why), ERR_NO);
    assert_string_equal(why.text, "t.txt: line 1: no path leads from 'b/0' to 'far/0'");
    traffic.count = 1;
    assert_int_equal(traffic_check_reach(&traffic, &topology, &why), OK);
    traffic_fini(&traffic);
    topology_fini(&topology);
}

static void a_permutation_has_no_fixed_point(void **state)
{
    struct topology topology = switches();
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct traffic traffic;
        double sent[4] = {0}, received[4] = {0};
        assert_int_equal(traffic_permutation(&traffic, &topology, seed, NULL), OK);
        check(&traffic);
        for (size_t i = 0; i < traffic.count; i++) {
            sent[traffic.demands[i].from] += traffic.demands[i].amount;
            received[traffic.demands[i].to] += traffic.demands[i].amount;
        }
        double all = traffic.local;
        for (uint32_t v = 0; v < 4; v++) {
            assert_within(sent[v], received[v], 0);
            assert_true(sent[v] <= topology.sites[v].servers);
            all += sent[v];
        }
        assert_within(all, 9, 0);
        traffic_fini(&traffic);
    }
    topology_fini(&topology);
}

static void all_to_all_counts_pairs_of_servers(void **state)
{
    struct topology topology = switches();
    struct traffic traffic;
    assert_int_equal(traffic_all_to_all(&traffic, &topology, NULL), OK);
    check(&traffic);
    assert_int_equal(traffic.count, 6);
    assert_within(amount(&traffic, 0, 1), 6, 0);
    assert_within(amount(&traffic, 3, 1), 12, 0);
    assert_within(traffic.local, 2 + 6 + 12, 0);
    traffic_fini(&traffic);
    topology_fini(&topology);
}

TEST_MAIN(TEST(patterns_follow_coordinates), TEST(tornado_goes_less_than_half_way),
          TEST(uniform_traffic_of_a_node_sums_to_one), TEST(patterns_that_do_not_fit_are_refused),
          TEST(a_file_of_servers_is_read), TEST(servers_of_switches_are_numbered),
          TEST(bad_lines_are_refused_with_their_number), TEST(a_zero_byte_does_not_end_a_number),
          TEST(servers_of_a_direct_network_have_no_index), TEST(traffic_to_another_part_is_refused),
          TEST(a_permutation_has_no_fixed_point), TEST(all_to_all_counts_pairs_of_servers))
