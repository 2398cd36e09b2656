#include "routing/torus/quadrant.h"

#include <math.h>
#include <stdlib.h>

#include "routing/route_cases.h"

enum { SEED = 6, DRAWS = 20000 };

static const char *const specs[] = {"torus:4x5", "torus:2x6x3", "torus:7", "torus:1x4"};

/* Calls `each` for all pairs of nodes of all networks. */
static void for_all_pairs(void (*each)(const struct compass *compass, uint32_t from, uint32_t to))
{
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct route_case *test = route_case_open(specs[i], "romm");
        const struct compass *compass = compass_of(&test->router);
        for (uint32_t from = 0; from < compass->node_count; from++)
            for (uint32_t to = 0; to < compass->node_count; to++)
                each(compass, from, to);
        route_case_close(test);
    }
}

static void check_short_sides(const struct compass *compass, uint32_t from, uint32_t to)
{
    uint32_t distance = compass_distance(compass, from, to);
    uint32_t count = quadrant_count(compass, quadrant_short_sides, from, to);
    double sum = 0, *shares = calloc(compass->node_count, sizeof *shares);
    assert_non_null(shares);
    for (uint32_t i = 0; i < count; i++) {
        struct quadrant_pick pick;
        double share = quadrant_at(compass, quadrant_short_sides, from, to, i, &pick);
        assert_true(share > 0);
        assert_int_equal(compass_distance(compass, from, pick.middle) +
                             compass_distance(compass, pick.middle, to),
                         distance);
        sum += share;
        shares[pick.middle] += share;
    }
    assert_within(sum, 1, 1e-12);
    for (uint32_t v = 0; v < compass->node_count; v++) /* no node in between is missing */
        assert_int_equal(shares[v] > 0,
                         compass_distance(compass, from, v) + compass_distance(compass, v, to) ==
                             distance);
    free(shares);
}

static void short_sides_span_all_nodes_between(void **state)
{
    for_all_pairs(check_short_sides);
}

/* Frequencies of (middle, directions), compared with their probabilities to five standard
 * deviations. */
static void draws_follow_the_probabilities(void **state)
{
    struct route_case *test = route_case_open("torus:4x6", "romm");
    const struct compass *compass = compass_of(&test->router);
    const uint32_t from = 3, to = 17; /* half-way round on the second axis */
    struct rng rng = rng_make(SEED, 0);
    double shares[24][4] = {{0}}, drawn[24][4] = {{0}};
    print_message("# seed %d\n", SEED);
    uint32_t count = quadrant_count(compass, quadrant_short_sides, from, to);
    for (uint32_t i = 0; i < count; i++) {
        struct quadrant_pick pick;
        double share = quadrant_at(compass, quadrant_short_sides, from, to, i, &pick);
        shares[pick.middle][pick.downwards] += share;
    }
    for (uint32_t i = 0; i < DRAWS; i++) {
        struct quadrant_pick pick;
        quadrant_draw(compass, quadrant_short_sides, from, to, &rng, &pick);
        drawn[pick.middle][pick.downwards]++;
    }
    for (uint32_t v = 0; v < 24; v++)
        for (uint32_t down = 0; down < 4; down++) {
            double p = shares[v][down];
            assert_true(p > 0 || drawn[v][down] == 0);
            assert_within(drawn[v][down], p * DRAWS, 5 * sqrt(p * (1 - p) * DRAWS));
        }
    route_case_close(test);
}

/* 65536 coordinates on each axis. */
static uint32_t wide_sides(const struct compass *compass, uint32_t axis, uint32_t from, uint32_t to,
                           struct quadrant_side sides[2])
{
    sides[0] = (struct quadrant_side){1, UINT16_MAX, false};
    return 1;
}

static void too_many_picks_are_refused(void **state)
{
    struct compass compass = {.axis_count = 1, .size = {2, 2}, .stride = {1, 2}};
    struct why why = {0};
    assert_int_equal(quadrant_check(&compass, wide_sides, "wide", &why), OK);
    compass.axis_count = 2;
    assert_int_equal(quadrant_check(&compass, wide_sides, "wide", &why), ERR_USAGE);
    assert_string_equal(why.text, "wide: a packet would have more than 2^32 middle nodes to choose "
                                  "from; use a smaller network");
}

TEST_MAIN(TEST(short_sides_span_all_nodes_between), TEST(draws_follow_the_probabilities),
          TEST(too_many_picks_are_refused))
