/* The service of examples/counter.c and docs/guide/service.md, in a small world of whole nodes. */

#include <stdio.h>

#include "node/node_world.h"

#define MSEC    INT64_C(1000000)
#define SERVICE 256
#define CLIENT  11

extern const struct weft_service weft_service; /* of examples/counter.c */

static const struct weft_service *const services[] = {&weft_service, NULL};

struct told {
    long long value;
    unsigned server;
};

static struct told ask(struct world *world, node_id at, const char *text)
{
    struct told told;
    uint32_t before = world->answer_count;
    world_ask(world, at, SERVICE, CLIENT, text, strlen(text));
    world_run(world, MSEC);
    assert_int_equal(world->answer_count, before + 1);
    const struct world_answer *answer = &world->answers[before];
    char line[65] = {0};
    assert_true(answer->server == at && answer->client == CLIENT && answer->size < 65);
    memcpy(line, answer->bytes, answer->size);
    assert_int_equal(sscanf(line, "%lld %u", &told.value, &told.server), 2);
    return told;
}

static node_id root_of(const struct world *world, const char *name)
{
    struct key key = key_hash(name, (uint32_t)strlen(name));
    return node_root(world->nodes[0].node, &key);
}

static void numbers_are_stored_at_the_root_of_their_key(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 0);
    char name[16];
    for (unsigned round = 1; round <= 3; round++)
        for (unsigned i = 0; i < 9; i++) {
            snprintf(name, sizeof name, "+name %u", i);
            struct told told = ask(world, (i * 5 + round) % 9, name);
            assert_int_equal(told.value, round);
            assert_int_equal(told.server, root_of(world, name + 1));
        }
    world_run(world, 200 * MSEC); /* until all cached values have expired */
    for (unsigned i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "?name %u", i);
        struct told told = ask(world, i, name);
        assert_int_equal(told.value, 3);
        assert_int_equal(told.server, root_of(world, name + 1));
    }
    assert_int_equal(ask(world, 0, "?never heard of").value, 0);
    world_close(world);
}

/* In a ring of eight the routes are known: a server three hops away gets the answer from the server
 * two hops away. */
static void a_server_on_the_way_answers_from_its_cache(void **state)
{
    struct world *world = world_open_settled("torus:8", services, 0);
    node_id root = root_of(world, "visits"), far = (root + 3) % 8, near = (root + 2) % 8;
    assert_int_equal(ask(world, far, "?visits").server, root);
    struct told told = ask(world, far, "?visits");
    assert_int_equal(told.value, 0);
    assert_int_equal(told.server, near);
    told = ask(world, (root + 5) % 8, "+visits"); /* from the other side */
    assert_int_equal(told.value, 1);
    assert_int_equal(told.server, root);
    assert_int_equal(ask(world, far, "?visits").value, 0); /* stale, as the service documents */
    world_run(world, 101 * MSEC);
    told = ask(world, far, "?visits");
    assert_int_equal(told.value, 1);
    assert_int_equal(told.server, root);
    world_close(world);
}

/* Two names whose keys end alike: the second one finds its place taken and gets an error. */
static void a_second_name_for_the_same_place_gets_an_error(void **state)
{
    struct world *world = world_open_settled("torus:1", services, 0);
    world_run(world, 2000 * MSEC);
    char one[16] = "+a0", other[16];
    uint8_t last = weft_key_of(one + 1, 2).bytes[WEFT_KEY_SIZE - 1];
    unsigned i = 1;
    do
        snprintf(other, sizeof other, "+a%u", i++);
    while (weft_key_of(other + 1, (uint32_t)strlen(other + 1)).bytes[WEFT_KEY_SIZE - 1] != last);
    assert_int_equal(ask(world, 0, one).value, 1);
    assert_int_equal(ask(world, 0, other).value, -1);
    assert_int_equal(ask(world, 0, one).value, 2);
    world_ask(world, 0, SERVICE, CLIENT, "", 0); /* no answer, and no harm */
    world_close(world);
}

TEST_MAIN(TEST(numbers_are_stored_at_the_root_of_their_key),
          TEST(a_server_on_the_way_answers_from_its_cache),
          TEST(a_second_name_for_the_same_place_gets_an_error))
