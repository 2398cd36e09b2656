/* The service of examples/letters.c and docs/guide/stream.md, in a small world of whole nodes:
 * streams through the public header alone. */

#include <stdio.h>

#include "node/node_world.h"

#define MSEC    INT64_C(1000000)
#define SERVICE 259
#define CLIENT  11

extern const struct weft_service weft_service; /* of examples/letters.c */

static const struct weft_service *const services[] = {&weft_service, NULL};

/* The answer to a request; NULL: none came. */
static const struct world_answer *ask(struct world *world, node_id at, const char *text,
                                      uint32_t size, env_nsec wait)
{
    uint32_t before = world->answer_count;
    world_ask(world, at, SERVICE, CLIENT, text, size);
    world_run(world, wait);
    if (world->answer_count == before)
        return NULL;
    assert_int_equal(world->answer_count, before + 1);
    assert_int_equal(world->answers[before].server, at);
    return &world->answers[before];
}

static node_id root_of(const struct world *world, node_id at, const char *name)
{
    struct key key = key_hash(name, (uint32_t)strlen(name));
    return node_root(world->nodes[at].node, &key);
}

static void assert_says(const struct world_answer *answer, const char *text)
{
    assert_non_null(answer);
    assert_int_equal(answer->size, strlen(text));
    assert_memory_equal(answer->bytes, text, answer->size);
}

/* A letter of that size: "+NAME " and text that depends on the seed. */
static uint32_t letter_write(char *letter, const char *name, uint32_t size, unsigned seed)
{
    uint32_t head = (uint32_t)sprintf(letter, "+%s ", name);
    for (uint32_t i = 0; i < size; i++)
        letter[head + i] = (char)('a' + (i * 7 + seed) % 26);
    return head + size;
}

static void letters_of_all_sizes_reach_their_readers(void **state)
{
    static const uint32_t sizes[] = {1, 8843, 8844, 8845, 59000};
    struct world *world = world_open_settled("torus:3x3", services, 1000000000);
    char letter[60100], name[16], question[20], text[64];
    for (unsigned i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "name-%u", i);
        uint32_t size = letter_write(letter, name, sizes[i], i);
        snprintf(text, sizeof text, "delivered to %u", root_of(world, 0, name));
        assert_says(ask(world, i, letter, size, 100 * MSEC), text);
        for (node_id at = 0; at < 9; at++) { /* also at the root itself */
            int length = snprintf(question, sizeof question, "?%s", name);
            const struct world_answer *answer =
                ask(world, at, question, (uint32_t)length, 100 * MSEC);
            assert_non_null(answer);
            assert_int_equal(answer->size, sizes[i]);
            assert_memory_equal(answer->bytes, letter + size - sizes[i], sizes[i]);
        }
    }
    for (node_id at = 0; at < 9; at++)
        assert_int_equal(world_number(world, at, "letters", "streams"), 0);
    world_close(world);
}

/* The root dies while a letter is on its way to it: the letter reaches the next root. */
static void a_letter_follows_its_key(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 10000000); /* slow links */
    char letter[60100], text[64];
    uint32_t size = letter_write(letter, "key", 59000, 1);
    node_id root = root_of(world, 0, "key"), at = (root + 4) % 9;
    assert_null(ask(world, at, letter, size, 10 * MSEC)); /* a part of it has arrived */
    assert_int_equal(world_number(world, root, "letters", "streams_accepted"), 1);
    world_crash(world, root);
    world_run(world, 3000 * MSEC);
    node_id next = root_of(world, at, "key");
    assert_true(next != root && next != NODE_NONE);
    assert_int_equal(world->answer_count, 1);
    snprintf(text, sizeof text, "delivered to %u", next);
    assert_says(&world->answers[0], text);
    assert_int_equal(world_number(world, at, "letters", "streams_moved"), 1);
    world_close(world);
}

/* The home of a key returns while a letter is on its way to the server in its place. */
static void a_letter_follows_a_root_that_returns(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 3000000);
    char letter[60100], text[64];
    uint32_t size = letter_write(letter, "key", 59000, 1);
    node_id home = root_of(world, 0, "key"), at = (home + 4) % 9;
    world_crash(world, home);
    world_run(world, 3000 * MSEC);
    assert_true(root_of(world, at, "key") != home);
    assert_null(ask(world, at, letter, size, 10 * MSEC)); /* to the server in its place */
    world_start(world, home);
    world_run(world, 3000 * MSEC);
    assert_int_equal(root_of(world, at, "key"), home);
    assert_int_equal(world->answer_count, 1);
    snprintf(text, sizeof text, "delivered to %u", home);
    assert_says(&world->answers[0], text);
    world_close(world);
}

/* A server that is cut off for a moment loses nothing. */
static void a_letter_waits_for_a_cable(void **state)
{
    struct world *world = world_open_settled("torus:4", services, 10000000);
    char letter[60100], text[64];
    uint32_t size = letter_write(letter, "key", 59000, 1);
    node_id root = root_of(world, 0, "key"), at = (root + 2) % 4;
    assert_null(ask(world, at, letter, size, 20 * MSEC));
    world_cut(world, at, (at + 1) % 4, true); /* one of two ways; frames on it are lost */
    world_run(world, 6000 * MSEC);
    assert_int_equal(world->answer_count, 1);
    snprintf(text, sizeof text, "delivered to %u", root);
    assert_says(&world->answers[0], text);
    world_close(world);
}

TEST_MAIN(TEST(letters_of_all_sizes_reach_their_readers), TEST(a_letter_follows_its_key),
          TEST(a_letter_follows_a_root_that_returns), TEST(a_letter_waits_for_a_cable))
