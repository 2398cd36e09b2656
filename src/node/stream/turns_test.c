/* Checks the shares of streams by a plain search, and by what each stream has sent. */
#include "node/stream/turns.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"

#define ENTRIES 50
#define PORTS   6

struct model {
    struct turns turns;
    struct turns_entry entries[ENTRIES];
    void *memory;
    port_set ports[ENTRIES]; /* while it waits */
    bool waits[ENTRIES];
};

static void model_open(struct model *model)
{
    *model = (struct model){0};
    model->memory = malloc(turns_size(ENTRIES));
    turns_init(&model->turns, model->entries, ENTRIES, model->memory);
}

/* The entry with the smallest pass among those that wait for the port. */
static uint32_t model_next(const struct model *model, unsigned port)
{
    uint32_t best = TURNS_NONE;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        const struct turns_entry *entry = &model->entries[i];
        if (!model->waits[i] || !(model->ports[i] >> port & 1))
            continue;
        const struct turns_entry *found = best == TURNS_NONE ? NULL : &model->entries[best];
        if (!found || (entry->urgent && !found->urgent) ||
            (entry->urgent == found->urgent && entry->pass < found->pass))
            best = i;
    }
    return best;
}

static void the_next_is_the_one_that_a_search_finds(void **state)
{
    struct model model;
    struct rng rng = rng_make(1, 1);
    model_open(&model);
    for (unsigned i = 0; i < ENTRIES; i++) {
        model.entries[i].weight = 1 + (uint32_t)rng_below(&rng, 9);
        model.entries[i].urgent = i % 10 == 0;
    }
    for (unsigned round = 0; round < 20000; round++) {
        uint32_t entry = (uint32_t)rng_below(&rng, ENTRIES);
        unsigned port = (unsigned)rng_below(&rng, PORTS);
        switch (rng_below(&rng, 4)) {
        case 0: /* few different sets, so that none is narrowed */
            model.ports[entry] = 1u << port | 1u << (port + 1) % PORTS;
            model.waits[entry] = true;
            turns_wait(&model.turns, entry, model.ports[entry]);
            break;
        case 1:
            model.waits[entry] = false;
            turns_leave(&model.turns, entry);
            break;
        default:
            entry = turns_next(&model.turns, port);
            assert_int_equal(entry, model_next(&model, port));
            if (entry != TURNS_NONE)
                turns_charge(&model.turns, entry, port, 40 + (uint32_t)rng_below(&rng, 8900));
        }
        turns_check(&model.turns);
    }
    turns_clear(&model.turns);
    for (unsigned port = 0; port < PORTS; port++)
        assert_int_equal(turns_next(&model.turns, port), TURNS_NONE);
    assert_int_equal(turns_ports(&model.turns), 0);
    free(model.memory);
}

static void bytes_follow_the_weights(void **state)
{
    struct model model;
    uint64_t bytes[4] = {0}, whole = 0;
    model_open(&model);
    for (uint32_t i = 0; i < 4; i++) {
        model.entries[i].weight = i + 1;
        turns_wait(&model.turns, i, 3); /* two ports */
    }
    for (unsigned round = 0; round < 10000; round++) {
        uint32_t entry = turns_next(&model.turns, round % 2);
        uint32_t size = 100 + 700 * entry; /* those with more weight have larger packets, too */
        turns_charge(&model.turns, entry, round % 2, size);
        bytes[entry] += size;
        whole += size;
    }
    for (uint32_t i = 0; i < 4; i++)
        assert_within((double)bytes[i] / (double)whole, (i + 1) / 10.0, 0.002);
    free(model.memory);
}

/* A stream that comes late neither catches up nor waits for the others. */
static void a_stream_that_was_away_saves_nothing_up(void **state)
{
    struct model model;
    uint64_t bytes[2] = {0};
    model_open(&model);
    turns_wait(&model.turns, 0, 1);
    for (unsigned i = 0; i < 1000; i++)
        turns_charge(&model.turns, 0, 0, 9000);
    turns_wait(&model.turns, 2, 2); /* on another port: it has no part in this */
    turns_charge(&model.turns, 2, 1, 40);
    turns_wait(&model.turns, 1, 1);
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t entry = turns_next(&model.turns, 0);
        turns_charge(&model.turns, entry, 0, 9000);
        bytes[entry] += 9000;
    }
    assert_within((double)bytes[0], (double)bytes[1], 2 * 9000);
    free(model.memory);
}

/* More sets of ports than lanes: the stream is still found at one of its ports. */
static void too_many_sets_of_ports_are_narrowed(void **state)
{
    struct turns turns;
    static struct turns_entry entries[200];
    void *memory = malloc(turns_size(200));
    turns_init(&turns, entries, 200, memory);
    for (uint32_t i = 0; i < 200; i++)
        turns_wait(&turns, i, 3 + i);
    uint32_t found = 0;
    for (unsigned port = 0; port < 8; port++)
        for (uint32_t entry; (entry = turns_next(&turns, port)) != TURNS_NONE; found++) {
            assert_true((3 + entry) >> port & 1);
            turns_leave(&turns, entry);
        }
    assert_int_equal(found, 200);
    free(memory);
}

TEST_MAIN(TEST(the_next_is_the_one_that_a_search_finds), TEST(bytes_follow_the_weights),
          TEST(a_stream_that_was_away_saves_nothing_up), TEST(too_many_sets_of_ports_are_narrowed))
