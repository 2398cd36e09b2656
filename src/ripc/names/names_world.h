#pragma once
/* names_world: what the tests of names share: a folder and a poller of their
 * own, and contexts in it (all in this process) that write down what they are
 * told. One thread, so that nobody takes the lock but the poller. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/test.h"
#include "ripc/names/names_impl.h"
#include "transport/domain.h"

#define WORLD_PATIENCE (20 * NSEC_PER_SEC) /* after which a test fails */
#define WORLD_NOTES    256

enum note_kind { NOTE_ANNOUNCED, NOTE_FOUND, NOTE_GONE };

struct note {
    enum note_kind kind;
    int status;
    struct claim claim; /* id and member only of what was announced */
};

struct world {
    struct lock lock;
    struct poller *poller;
    char top[64];
    char folder[DOMAIN_PATH_MAX];
};

struct side {
    struct world *world;
    struct names *names;
    uint64_t context;
    unsigned count;
    struct note notes[WORLD_NOTES];
};

static inline void world_open(struct world *world)
{
    struct why why = {""};
    *world = (struct world){.top = "/tmp/weft-names-XXXXXX"};
    assert_non_null(mkdtemp(world->top));
    assert_int_equal(setenv("WEFT_FOLDER", world->top, 1), 0);
    assert_int_equal(domain_open(world->folder, "test", &why), 0);
    assert_int_equal(poller_open(&world->poller, &world->lock), 0);
}

/* All names are closed: nothing may be left in the folder. */
static inline void world_close(struct world *world)
{
    poller_close(world->poller);
    domain_clean(world->folder);
    assert_int_equal(rmdir(world->folder), 0);
    assert_int_equal(rmdir(world->top), 0);
}

static inline void side_note(struct side *side, struct note note)
{
    assert_true(side->count < WORLD_NOTES);
    side->notes[side->count++] = note;
}

static inline void side_announced(void *owner, uint64_t id, uint64_t member, int status)
{
    side_note(owner, (struct note){NOTE_ANNOUNCED, status, {.id = id, .member = member}});
}

static inline void side_found(void *owner, const struct claim *claim)
{
    side_note(owner, (struct note){NOTE_FOUND, 0, *claim});
}

static inline void side_gone(void *owner, const struct claim *claim)
{
    side_note(owner, (struct note){NOTE_GONE, 0, *claim});
}

static const struct names_events side_events = {side_announced, side_found, side_gone};

static inline void side_open(struct side *side, struct world *world, const char *services,
                             const uint8_t *key)
{
    static uint64_t contexts = 100;
    struct why why = {""};
    *side = (struct side){.world = world, .context = ++contexts};
    struct names_config config = {.poller = world->poller,
                                  .services = services,
                                  .folder = world->folder,
                                  .domain = "test",
                                  .key = key,
                                  .events = &side_events,
                                  .owner = side};
    if (names_open(&side->names, &config, &why) != 0)
        fail_msg("names_open: %s", why.text);
}

static inline void side_close(struct side *side)
{
    names_close(side->names);
    side->names = NULL;
}

/* A claim of this side; groups have members other than their id. */
static inline struct claim side_claim(const struct side *side, uint64_t id, uint64_t member,
                                      uint64_t incarnation)
{
    struct claim claim = {.id = id,
                          .member = member,
                          .group = member != id,
                          .incarnation = incarnation,
                          .pid = 1,
                          .place = {.context = side->context, .family = AF_INET, .port = 17701}};
    memset(claim.place.host, 7, sizeof claim.place.host);
    memcpy(claim.place.address, (uint8_t[]){127, 0, 0, 1}, 4);
    return claim;
}

/* How many notes of that kind about that id. */
static inline unsigned side_count(const struct side *side, enum note_kind kind, uint64_t id)
{
    unsigned count = 0;
    for (unsigned i = 0; i < side->count; i++)
        count += side->notes[i].kind == kind && side->notes[i].claim.id == id;
    return count;
}

static inline const struct note *side_last(const struct side *side, enum note_kind kind,
                                           uint64_t id)
{
    for (unsigned i = side->count; i-- > 0;)
        if (side->notes[i].kind == kind && side->notes[i].claim.id == id)
            return &side->notes[i];
    return NULL;
}

static inline void world_run(struct world *world, nsec duration)
{
    nsec end = clock_after(duration);
    do
        poller_step(world->poller, end);
    while (clock_now() < end);
}

/* Runs the poller until the side has heard that often of the id. */
static inline const struct note *side_await(struct side *side, enum note_kind kind, uint64_t id,
                                            unsigned count)
{
    nsec end = clock_after(WORLD_PATIENCE);
    while (side_count(side, kind, id) < count && clock_now() < end)
        poller_step(side->world->poller, clock_after(NSEC_PER_SEC / 100));
    if (side_count(side, kind, id) < count)
        fail_msg("waited in vain for note %d of id %llu", (int)kind, (unsigned long long)id);
    return side_last(side, kind, id);
}

/* Claims and waits for the outcome. */
static inline int side_claims(struct side *side, uint64_t id, uint64_t member, uint64_t incarnation)
{
    struct claim claim = side_claim(side, id, member, incarnation);
    unsigned before = side_count(side, NOTE_ANNOUNCED, id);
    int result = names_announce(side->names, &claim);
    return result < 0 ? result : side_await(side, NOTE_ANNOUNCED, id, before + 1)->status;
}
