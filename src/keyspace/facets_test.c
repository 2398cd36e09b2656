#include "base/wide.h"
#include "keyspace/keyspace_cases.h"

static const char *const specs[] = {
    "torus:5x5",   "torus:4x7",   "torus:2x2",      "torus:2x5",      "torus:1x1",
    "torus:6x1",   "torus:1x2",   "novacube:4x6",   "novacube:5x4",   "torus:3x3x3",
    "torus:4x4x4", "torus:2x3x4", "torus:5x2x1",    "torus:1x1x5",    "torus:1x1x1",
    "torus:2x2x2", "torus:1x4x3", "novacube:4x4x4", "novacube:3x4x5", "torus:3x5x7",
};
#define SPEC_COUNT (sizeof specs / sizeof *specs)

static node_id at(const struct space *space, uint32_t x, uint32_t y)
{
    return topology_node_at(&space->topology, (uint32_t[]){x, y});
}

static void the_example_of_the_paper_holds(void **state)
{
    struct space space;
    space_open(&space, "torus:5x5");
    space_list(&space, (struct place_group){at(&space, 2, 2), 0});
    static const uint32_t paper[5][2] = {{2, 2}, {3, 2}, {2, 3}, {4, 2}, {3, 3}};
    for (int i = 0; i < 5; i++)
        assert_int_equal(space.all[i], at(&space, paper[i][0], paper[i][1]));
    /* The other order on the same facet, then the opposite facet. */
    space_list(&space, (struct place_group){at(&space, 2, 2), 1});
    assert_int_equal(space.all[1], at(&space, 2, 3));
    assert_int_equal(space.all[2], at(&space, 3, 2));
    space_list(&space, (struct place_group){at(&space, 2, 2), 3 * 2});
    assert_int_equal(space.all[1], at(&space, 1, 2));
    assert_int_equal(space.all[2], at(&space, 2, 1));
    space_close(&space);
}

/* ---- the paper's recursion, in plain coordinates ---- */

static void orders_of(uint32_t axes, uint32_t number, uint32_t *order)
{
    uint32_t left[3] = {0, 1, 2}, count = axes, divisor = axes == 2 ? 1 : 2;
    for (uint32_t i = 0; i < axes; i++) {
        uint32_t pick = i + 1 < axes ? number / divisor : 0;
        number = i + 1 < axes ? number % divisor : 0;
        divisor = 1;
        order[i] = left[pick];
        for (uint32_t j = pick; j + 1 < count; j++)
            left[j] = left[j + 1];
        count--;
    }
}

static bool listed(const node_id *list, uint32_t count, node_id server)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] == server)
            return true;
    }
    return false;
}

static uint32_t naive(const struct topology *topology, struct place_group group, node_id *list)
{
    uint32_t axes = topology->axis_count, orders = axes == 2 ? 2 : 6, order[3] = {0};
    uint32_t facet = group.sequence / orders, count = 1;
    orders_of(axes, group.sequence % orders, order);
    list[0] = group.home;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < axes; j++) {
            uint32_t axis = order[j], size = topology->axis_size[axis], where[AXIS_MAX];
            topology_coordinate(topology, list[i], where);
            where[axis] = (where[axis] + (facet & 1u << axis ? size - 1 : 1)) % size;
            node_id next = topology_node_at(topology, where);
            if (!listed(list, count, next))
                list[count++] = next;
        }
    }
    return count;
}

static void lists_equal_the_recursion_of_the_paper(void **state)
{
    for (size_t i = 0; i < SPEC_COUNT; i++) {
        struct space space;
        space_open(&space, specs[i]);
        assert_int_equal(space.keyspace.sequence_count, space.keyspace.axis_count == 2 ? 8 : 48);
        assert_int_equal(keyspace_scratch_size(&space.keyspace), 0);
        uint32_t stride = space.count > 64 ? 7 : 1; /* larger topologies: only some homes */
        for (node_id home = 0; home < space.count; home += stride) {
            for (uint32_t sequence = 0; sequence < space.keyspace.sequence_count; sequence++) {
                struct place_group group = {home, sequence};
                assert_int_equal(naive(&space.topology, group, space.found), space.count);
                space_list(&space, group);
                assert_memory_equal(space.all, space.found, space.count * sizeof *space.all);
            }
        }
        space_close(&space);
    }
}

static void sequences_of_a_home_differ(void **state)
{
    static const char *const large[] = {"torus:4x4", "torus:3x3x3", "novacube:6x4"};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        struct space space;
        space_open(&space, large[i]);
        uint32_t sequences = space.keyspace.sequence_count;
        for (uint32_t one = 0; one < sequences; one++) {
            for (uint32_t other = 0; other < one; other++) {
                space_list(&space, (struct place_group){1, one});
                memcpy(space.found, space.all, space.count * sizeof *space.all);
                space_list(&space, (struct place_group){1, other});
                assert_memory_not_equal(space.all, space.found, space.count * sizeof *space.all);
            }
        }
        space_close(&space);
    }
}

/* For each failed home: counts how many of its sequences each other server takes over. */
static void keys_of_a_failed_home_split_evenly(void **state)
{
    for (size_t i = 0; i < SPEC_COUNT; i++) {
        struct space space;
        space_open(&space, specs[i]);
        uint32_t sequences = space.keyspace.sequence_count, axes = space.keyspace.axis_count;
        uint32_t long_axes = 0; /* axes with neighbours; each has an equal share */
        for (uint32_t axis = 0; axis < axes; axis++)
            long_axes += space.keyspace.axis_size[axis] > 1;
        for (node_id home = 0; home < space.count; home += 3) {
            uint32_t *share = calloc(space.count, sizeof *share);
            assert_non_null(share);
            space_alive(&space, home, false);
            for (uint32_t sequence = 0; sequence < sequences && long_axes; sequence++)
                share[keyspace_root(&space.keyspace, (struct place_group){home, sequence},
                                    space.alive, NULL)]++;
            space_alive(&space, home, true);
            for (uint32_t axis = 0; axis < axes; axis++) {
                uint32_t where[AXIS_MAX], size = space.keyspace.axis_size[axis];
                topology_coordinate(&space.topology, home, where);
                where[axis] = (where[axis] + 1) % size;
                uint32_t ways =
                    size == 2 ? 1 : 2; /* with size 2 up and down lead to the same server */
                if (size > 1)
                    assert_int_equal(share[topology_node_at(&space.topology, where)],
                                     sequences / long_axes / ways);
                where[axis] = (where[axis] + 2 * size - 2) % size;
                if (size > 1)
                    assert_int_equal(share[topology_node_at(&space.topology, where)],
                                     sequences / long_axes / ways);
            }
            free(share);
        }
        space_close(&space);
    }
}

static void all_homes_have_equal_shares_of_the_keys(void **state)
{
    const uint64_t seed = 11;
    static const char *const odd[] = {"torus:3x5x7", "torus:16x16x16", "torus:7x9", "torus:1x6x5",
                                      "novacube:10x10"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct space space;
        space_open(&space, odd[i]);
        uint32_t *homes = calloc(space.count, sizeof *homes), sequences[48] = {0};
        assert_non_null(homes);
        struct rng rng = rng_make(seed, i);
        for (uint32_t draw = 0; draw < 400000; draw++) {
            uint64_t route = rng_next(&rng);
            struct place_group group = keyspace_group(&space.keyspace, route);
            /* The expected coordinates, by long division, x first. */
            uint64_t digits = (uint64_t)((uint128)route * space.count >> 64), where[3];
            for (int axis = 2; axis >= 0; axis--) {
                where[axis] = digits % space.keyspace.axis_size[axis];
                digits /= space.keyspace.axis_size[axis];
            }
            const uint32_t *size = space.keyspace.axis_size;
            assert_int_equal(group.home, where[0] + size[0] * (where[1] + size[1] * where[2]));
            homes[group.home]++;
            sequences[group.sequence]++;
        }
        assert_uniform(homes, space.count);
        assert_uniform(sequences, space.keyspace.sequence_count);
        free(homes);
        space_close(&space);
    }
}

static void coordinates_on_axes_of_size_2_to_the_n_are_bits_of_the_key(void **state)
{
    struct space space;
    space_open(&space, "torus:16x16x16");
    assert_int_equal(space.count, 4096);
    uint32_t where[3];
    struct place_group group = keyspace_group(&space.keyspace, 0xa5c0000000000000u + 47);
    topology_coordinate(&space.topology, group.home, where);
    assert_int_equal(where[0], 0xa);
    assert_int_equal(where[1], 0x5);
    assert_int_equal(where[2], 0xc);
    assert_int_equal(group.sequence, 47);
    assert_int_equal(keyspace_group(&space.keyspace, UINT64_MAX).home, 4095);
    space_close(&space);
}

TEST_MAIN(TEST(the_example_of_the_paper_holds), TEST(lists_equal_the_recursion_of_the_paper),
          TEST(sequences_of_a_home_differ), TEST(keys_of_a_failed_home_split_evenly),
          TEST(all_homes_have_equal_shares_of_the_keys),
          TEST(coordinates_on_axes_of_size_2_to_the_n_are_bits_of_the_key))
