#include "topology/generators.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "topology/topology.h"

/* Each error is one line that begins with the spec and says what is wrong. */
static void impossible_specs_are_refused(void **state)
{
    static const char *const specs[] = {
        "torus:",
        "torus:0",
        "torus:3x",
        "torus:x3",
        "torus:3x0x3",
        "torus:-3",
        "torus:3.5",
        "torus:3,seed=1",
        "torus:1000000x1000000",
        "torus:99999999999999999999",
        "torus:1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1",
        "novacube:",
        "novacube:4y4",
        "novacube:100000x100000",
        "novacube:4x4,seed=1",
        "fattree:",
        "fattree:14",
        "fattree:k=0",
        "fattree:k=3",
        "fattree:k=",
        "fattree:k=1000000000000",
        "fattree:k=4,k=4",
        "fattree:k=4,n=3",
        "swdc-ring:6",
        "swdc-ring:0",
        "swdc-ring:7x7",
        "swdc-ring:1000001",
        "swdc-ring:7,seed=-1",
        "swdc-ring:7,servers=0",
        "swdc-ring:7,",
        "swdc-torus2d:7",
        "swdc-torus2d:2x9",
        "swdc-torus2d:3x3x3",
        "swdc-hex3d:9",
        "swdc-hex3d:5x2x3",
        "swdc-hex3d:2x2x3",
        "swdc-hex3d:4x1x3",
        "swdc-hex3d:4x2x2",
        "swdc-hex3d:4x2x3,size=4",
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology topology;
        struct why why = {0};
        if (topology_build(&topology, specs[i], &why) != ERR_USAGE)
            fail_msg("%s was not refused", specs[i]);
        assert_memory_equal(why.text, specs[i], strlen(specs[i]));
        assert_true(strlen(why.text) > strlen(specs[i]) + 2);
        assert_null(strchr(why.text, '\n'));
    }
}

static void a_spec_begins_with_the_name_of_a_generator_and_a_colon(void **state)
{
    assert_true(topology_is_spec("torus:3"));
    assert_true(topology_is_spec("swdc-hex3d:"));
    assert_false(topology_is_spec("torus"));
    assert_false(topology_is_spec("tor:3"));
    assert_false(topology_is_spec("torusx:3"));
    assert_false(topology_is_spec("./torus.json"));
    struct topology topology;
    struct why why;
    assert_int_equal(topology_build(&topology, "klein:3", &why), ERR_USAGE);
    char words[2 * SPEC_SIZE] = "torus:1";
    memset(words + 7, '0', SPEC_SIZE);
    assert_int_equal(topology_build(&topology, words, &why), ERR_USAGE);
}

/* The spec that is stored in a topology builds the same topology again. */
static void a_canonical_spec_builds_the_same_topology(void **state)
{
    static const char *const specs[][2] = {
        {"torus:03x4", "torus:3x4"},
        {"novacube:4x04", "novacube:4x4"},
        {"fattree:k=04", "fattree:k=4"},
        {"swdc-ring:20", "swdc-ring:20,seed=1"},
        {"swdc-torus2d:5x4,servers=2,seed=9", "swdc-torus2d:5x4,seed=9,servers=2"},
        {"swdc-hex3d:4x3x3,seed=0", "swdc-hex3d:4x3x3,seed=0"},
        {"degree-diameter:010,3,2", "degree-diameter:10,3,2"},
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology first, second;
        assert_int_equal(topology_build(&first, specs[i][0], NULL), OK);
        assert_string_equal(first.spec, specs[i][1]);
        assert_int_equal(topology_build(&second, first.spec, NULL), OK);
        assert_string_equal(second.spec, first.spec);
        assert_true(graph_equal(&first.graph, &second.graph));
        assert_int_equal(first.server_count, second.server_count);
        topology_fini(&first);
        topology_fini(&second);
    }
}

/* generator_name returns the name of every generator; NULL ends the list. */
static void every_listed_name_begins_a_spec(void **state)
{
    size_t count = 0;
    for (; generator_name(count); count++) {
        char spec[SPEC_SIZE];
        snprintf(spec, sizeof spec, "%s:", generator_name(count));
        assert_true(topology_is_spec(spec));
    }
    assert_int_equal(count, 8);
}

TEST_MAIN(TEST(impossible_specs_are_refused),
          TEST(a_spec_begins_with_the_name_of_a_generator_and_a_colon),
          TEST(a_canonical_spec_builds_the_same_topology), TEST(every_listed_name_begins_a_spec))
