#include "topology/cabling/cable_cost.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

static enum err read_text(struct cable_cost *cost, const char *data, struct why *why)
{
    return cable_cost_read(cost, data, strlen(data), "cost", why);
}

static void refused(const char *data, const char *reason)
{
    struct cable_cost cost;
    struct why why = {""};
    assert_int_equal(read_text(&cost, data, &why), ERR_INPUT);
    assert_string_equal(why.text, reason);
}

static void defaults_are_those_of_the_paper(void **state)
{
    struct cable_cost cost;
    assert_int_equal(read_text(&cost, "", NULL), OK);
    assert_true(cost.copper_metre == 5.5 && cost.optical_metre == 5.5);
    assert_true(cost.transceiver == 200 && cost.labour_share == 0.1);
    assert_true(cost.copper_limit_m == 10);
}

static void values_replace_defaults(void **state)
{
    struct cable_cost cost;
    assert_int_equal(read_text(&cost,
                               "# all\n\n  rack_units=48 # tall\r\n\ttransceiver =  1.5e2\n"
                               "switch_port = 100",
                               NULL),
                     OK);
    assert_int_equal(cost.rack_units, 48);
    assert_true(cost.transceiver == 150 && cost.switch_port == 100);
    assert_true(cost.copper_metre == 5.5);
}

static void every_error_names_its_line(void **state)
{
    refused("\n\nnonsense = 3\n",
            "cost: line 3: no such key 'nonsense'; 'weft topo cable --print-cost' prints all keys");
    refused("rack_units 3", "cost: line 1: expected 'key = value'");
    refused("#\nslack_m = two", "cost: line 2: slack_m: 'two' is not a number");
    refused("slack_m =", "cost: line 1: slack_m: '' is not a number");
    refused("slack_m = 1 2", "cost: line 1: slack_m: '1 2' is not a number");
    refused("slack_m = nan", "cost: line 1: slack_m: 'nan' is not a number");
    refused("slack_m = 1e999", "cost: line 1: slack_m: '1e999' is not a number");
    refused("copper_end = -1", "cost: line 1: copper_end must be a number from 0 to 1e+09");
    refused("rack_units = 4.5", "cost: line 1: rack_units must be a whole number from 1 to 1000");
    refused("labour_share = 1", "cost: line 1: labour_share must be a number from 0 to 0.99");
    refused("slack_m = 1\nslack_m = 2\n", "cost: line 2: slack_m was already set on line 1");
    refused("= 3", "cost: line 1: no such key ''; 'weft topo cable --print-cost' prints all keys");
}

static void contradictory_values_are_refused(void **state)
{
    refused("rack_units = 3\nserver_units = 3",
            "cost: a switch of 1 units and a server of 3 units do not fit into a rack of 3 units");
    refused("tray_height_m = 1",
            "cost: trays at 1 m are lower than a rack of 42 units, which is 1.87 m high");
}

static void a_zero_byte_does_not_end_the_file(void **state)
{
    struct cable_cost cost;
    static const char data[] = "slack_m = 1\0junk";
    assert_int_equal(cable_cost_read(&cost, data, sizeof data - 1, "cost", NULL), ERR_INPUT);
}

static void a_written_model_reads_back(void **state)
{
    uint64_t seed = 7;
    struct rng rng = rng_make(seed, 0);
    for (int round = 0; round < 200; round++) {
        struct cable_cost cost = cable_cost_default(), back;
        cost.slack_m = rng_unit(&rng) * 100;
        cost.copper_metre = rng_unit(&rng);
        cost.labour_share = rng_unit(&rng) * 0.9;
        cost.transceiver = (double)rng_below(&rng, 1000000000);
        cost.container_servers = 1 + (uint32_t)rng_below(&rng, 100000000);
        struct text text = {0};
        cable_cost_write(&cost, &text);
        struct why why = {""};
        enum err err = cable_cost_read(&back, text.data, text.size, "back", &why);
        if (err)
            print_message("# seed %llu: %s\n", (unsigned long long)seed, why.text);
        assert_int_equal(err, OK);
        text_fini(&text);
        /* field by field: a struct has padding */
        assert_true(back.slack_m == cost.slack_m && back.copper_metre == cost.copper_metre);
        assert_true(back.labour_share == cost.labour_share);
        assert_true(back.transceiver == cost.transceiver);
        assert_int_equal(back.container_servers, cost.container_servers);
        assert_int_equal(back.rack_units, cost.rack_units);
        assert_true(back.tray_height_m == cost.tray_height_m);
    }
}

TEST_MAIN(TEST(defaults_are_those_of_the_paper), TEST(values_replace_defaults),
          TEST(every_error_names_its_line), TEST(contradictory_values_are_refused),
          TEST(a_zero_byte_does_not_end_the_file), TEST(a_written_model_reads_back))
