/* Checks key spaces: what operators may write, which space a key belongs to, compared with a search
 * through all prefixes of the key, and that every key is in a group of its space. */
#include "services/store/service/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "services/store/service/placement.h"

static char why[128];

static struct spaces good(const char *text)
{
    struct spaces spaces;
    assert_true(spaces_read(&spaces, text, 256, 3, 5, false, why));
    return spaces;
}

static void refused(const char *text, const char *says)
{
    struct spaces spaces;
    why[0] = 0;
    if (spaces_read(&spaces, text, 256, 3, 5, false, why))
        fail_msg("'%s' was taken", text);
    if (!strstr(why, says))
        fail_msg("'%s': '%s' does not say '%s'", text, why, says);
    assert_true(strlen(why) < sizeof why - 1);
}

static void without_a_text_there_is_one_space(void **state)
{
    (void)state;
    struct spaces spaces = good("");
    assert_int_equal(spaces.count, 1);
    assert_int_equal(spaces.group_count, 256);
    assert_int_equal(spaces.list[0].copies, 3);
    assert_false(spaces_use_memory(&spaces));
    assert_int_equal(spaces_group(&spaces, "key", 3), placement_group("key", 3, 256));
}

static void a_space_has_what_is_said(void **state)
{
    (void)state;
    struct spaces spaces = good("session/:memory:copies=2:groups=7,logs/:copies=1,x,y:disk:");
    static const struct {
        const char *prefix;
        uint32_t first, count, copies;
        bool in_memory;
    } expected[] = {
        {"", 0, 256, 3, false},        {"session/", 256, 7, 2, true},  {"logs/", 263, 64, 1, false},
        {"x", 263 + 64, 64, 3, false}, {"y", 263 + 128, 64, 3, false},
    };
    assert_int_equal(spaces.count, 5);
    assert_int_equal(spaces.group_count, 263 + 192);
    assert_true(spaces_use_memory(&spaces));
    for (unsigned i = 0; i < 5; i++) {
        const struct key_space *space = &spaces.list[i];
        assert_int_equal(space->prefix_size, strlen(expected[i].prefix));
        assert_memory_equal(space->prefix, expected[i].prefix, space->prefix_size);
        assert_int_equal(space->first, expected[i].first);
        assert_int_equal(space->count, expected[i].count);
        assert_int_equal(space->copies, expected[i].copies);
        assert_int_equal(space->in_memory, expected[i].in_memory);
        for (uint32_t group = space->first; group < space->first + space->count; group++)
            assert_ptr_equal(spaces_of_group(&spaces, group), space);
    }
}

static void other_spaces_are_like_the_first_one(void **state)
{
    (void)state;
    struct spaces spaces;
    assert_true(spaces_read(&spaces, "a,b:disk", 8, 2, 5, true, why));
    assert_true(spaces.list[0].in_memory && spaces.list[1].in_memory && !spaces.list[2].in_memory);
    assert_int_equal(spaces.list[1].copies, 2);
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    char text[256];
    refused(":memory", "':memory'");
    refused("a,,b", "1 to 64 bytes");
    refused("a:tape", "'tape'");
    refused("a::disk", "''");
    refused("a:copies=0", "'copies=0'");
    refused("a:copies=6", "'copies=6'");
    refused("a:copies=", "'copies='");
    refused("a:copies=-1", "'copies=-1'");
    refused("a:copies=3x", "'copies=3x'");
    refused("a:copies=99999999999999999999999", "copies=9999");
    refused("a:groups=0", "'groups=0'");
    refused("a:groups=65537", "'groups=65537'");
    refused("a:groups=65536", "too many");
    refused("a,b,a", "twice");
    memset(text, 'p', 65);
    text[65] = 0;
    refused(text, "1 to 64 bytes");
    text[64] = 0;
    (void)good(text);
    size_t used = 0;
    for (unsigned i = 0; i < SPACES_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", i ? "," : "", i);
    refused(text, "too many");
    *strrchr(text, ',') = 0;
    assert_int_equal(good(text).count, SPACES_MAX);
}

/* The longest prefix that is the prefix of a space. */
static uint32_t expect(const struct spaces *spaces, const char *key, uint32_t size)
{
    for (uint32_t length = size; length; length--) {
        for (uint32_t i = 1; i < spaces->count; i++) {
            const struct key_space *space = &spaces->list[i];
            if (space->prefix_size == length && memcmp(space->prefix, key, length) == 0)
                return i;
        }
    }
    return 0;
}

static void a_key_is_in_the_space_of_its_longest_prefix(void **state)
{
    (void)state;
    const uint64_t seed = 11;
    struct rng rng = rng_make(seed, 0);
    struct spaces spaces = good("a:groups=3,ab:groups=1,abb:groups=9,b:groups=2,baab,bb:copies=5");
    uint32_t found[7] = {0};
    print_message("# seed %" PRIu64 "\n", seed);
    for (unsigned i = 0; i < 20000; i++) {
        char key[8];
        uint32_t size = (uint32_t)rng_below(&rng, sizeof key + 1);
        for (uint32_t j = 0; j < size; j++)
            key[j] = "abc"[rng_below(&rng, 8) / 3];
        uint32_t number = expect(&spaces, key, size);
        const struct key_space *space = spaces_of_key(&spaces, key, size);
        uint32_t group = spaces_group(&spaces, key, size);
        assert_ptr_equal(space, &spaces.list[number]);
        assert_ptr_equal(spaces_of_group(&spaces, group), space);
        found[number]++;
    }
    for (unsigned i = 0; i < 7; i++)
        assert_true(found[i] > 20);
}

static bool same_layout(const char *one, const char *other)
{
    uint8_t bytes[2][SPACES_LAYOUT_MAX];
    struct spaces first = good(one), second = good(other);
    size_t size = spaces_layout(&first, bytes[0]);
    return size == spaces_layout(&second, bytes[1]) && memcmp(bytes[0], bytes[1], size) == 0;
}

static void only_copies_may_change(void **state)
{
    (void)state;
    assert_true(same_layout("a:copies=2,b", "a:copies=3,b:groups=64"));
    assert_false(same_layout("", "a"));
    assert_false(same_layout("a", "b"));
    assert_false(same_layout("a", "aa"));
    assert_false(same_layout("a", "a:memory"));
    assert_false(same_layout("a", "a:groups=65"));
    assert_false(same_layout("a,b", "b,a"));
}

static void copies_at_the_founding_fit_into_a_number(void **state)
{
    (void)state;
    struct spaces spaces =
        good("a:copies=5,b:copies=1,c:copies=2,d,e,f,g,h,i,j,k,l,m,n,o:copies=4");
    assert_int_equal(spaces.count, SPACES_MAX);
    for (uint32_t i = 0; i < spaces.count; i++)
        assert_int_equal(spaces_founding_copies(spaces_founding(&spaces), i),
                         spaces.list[i].copies);
}

TEST_MAIN(TEST(without_a_text_there_is_one_space), TEST(a_space_has_what_is_said),
          TEST(other_spaces_are_like_the_first_one), TEST(mistakes_are_refused),
          TEST(a_key_is_in_the_space_of_its_longest_prefix), TEST(only_copies_may_change),
          TEST(copies_at_the_founding_fit_into_a_number))
