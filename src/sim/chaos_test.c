/* chaos: networks at the edge of what a storm can meet. Whole storms are in tests/sim_seeds.c. */
#include "sim/chaos.h"

#include <string.h>

#include "base/test.h"
#include "node/place_test.h"
#include "topology/format/format.h"

#define SEEDS 20

static enum err run(const struct place *place, uint64_t seed, struct chaos_result *result,
                    struct why *why)
{
    struct chaos_settings settings = {.plan = &place->plan, .seed = seed, .kinds = FAULT_ALL};
    return chaos_run(&settings, result, why);
}

/* There is no port to press, and nothing but the server to fail. */
static void a_server_alone_survives(void **state)
{
    struct place place;
    struct chaos_result result;
    place_open(&place, "torus:1");
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(run(&place, seed, &result, NULL), OK);
        assert_null(result.checker);
        assert_true(result.faults > 0 && result.delivered > 0);
        assert_int_equal(result.lost, 0);
    }
    place_close(&place);
}

static void two_servers_survive(void **state)
{
    struct place place;
    struct chaos_result result;
    place_open(&place, "torus:2");
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(run(&place, seed, &result, NULL), OK);
        assert_null(result.checker);
    }
    place_close(&place);
}

static void a_network_in_pieces_is_refused(void **state)
{
    static const char *const graphs[] = {"graph { 0 -- 1; 1 -- 2; 2 -- 0; 3 }",
                                         "graph { 0 -- 1; 2 -- 3 }", "graph { 0; 1 }"};
    for (unsigned i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        struct place place;
        struct chaos_result result;
        struct why why = {""};
        assert_int_equal(
            format_read(&place.topology, FORMAT_DOT, "pieces", graphs[i], strlen(graphs[i]), &why),
            OK);
        assert_int_equal(plan_init(&place.plan, &place.topology, &why), OK);
        assert_int_equal(run(&place, 1, &result, &why), ERR_USAGE);
        assert_non_null(strstr(why.text, "not all servers are connected"));
        place_close(&place);
    }
}

TEST_MAIN(TEST(a_server_alone_survives), TEST(two_servers_survive),
          TEST(a_network_in_pieces_is_refused))
