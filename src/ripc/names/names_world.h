#pragma once
/* names_world: shared by the tests of names: a folder and a poller of their own, and contexts in it
 * (all in this process) that note what is reported to them. There is one thread, so only the poller
 * takes the lock. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "ripc/names/names_impl.h"
#include "transport/scratch.h"

#define WORLD_PATIENCE (20 * NSEC_PER_SEC) /* after which a test fails */
#define WORLD_NOTES    256

enum note_kind { NOTE_ANNOUNCED, NOTE_FOUND, NOTE_GONE };

struct note {
    enum note_kind kind;
    int status;
    struct claim claim; /* for NOTE_ANNOUNCED, only id and member */
};

struct names_world {
    struct lock lock;
    struct poller *poller;
    struct scratch scratch;
};

struct names_side {
    struct names_world *world;
    struct names *names;
    uint64_t context;
    unsigned count;
    struct note notes[WORLD_NOTES];
};

static inline void world_open(struct names_world *world)
{
    *world = (struct names_world){0};
    scratch_open(&world->scratch);
    assert_int_equal(poller_open(&world->poller, &world->lock), 0);
}

/* All names are closed: nothing may be left in the folder. */
static inline void world_close(struct names_world *world)
{
    poller_close(world->poller);
    domain_clean(world->scratch.folder);
    scratch_close(&world->scratch);
}

static inline void side_note(struct names_side *side, struct note note)
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

static const struct names_events side_events = {
    .announced = side_announced, .found = side_found, .gone = side_gone};

static inline void side_open(struct names_side *side, struct names_world *world,
                             const char *services, const uint8_t *key)
{
    static uint64_t contexts = 100;
    struct why why = {""};
    *side = (struct names_side){.world = world, .context = ++contexts};
    struct names_config config = {.poller = world->poller,
                                  .services = services,
                                  .folder = world->scratch.folder,
                                  .domain = SCRATCH_DOMAIN,
                                  .key = key,
                                  .events = &side_events,
                                  .owner = side};
    if (names_open(&side->names, &config, &why) != 0)
        fail_msg("names_open: %s", why.text);
}

static inline void side_close(struct names_side *side)
{
    names_close(side->names);
    side->names = NULL;
}

/* A claim of this side; in a group, the member differs from the id. */
static inline struct claim side_claim(const struct names_side *side, uint64_t id, uint64_t member,
                                      uint64_t incarnation)
{
    struct claim claim = {.id = id,
                          .member = member,
                          .group = member != id,
                          .incarnation = incarnation,
                          .pid = 1,
                          .address = {.context = side->context, .family = AF_INET, .port = 17701}};
    memset(claim.address.host, 7, sizeof claim.address.host);
    memcpy(claim.address.address, (uint8_t[]){127, 0, 0, 1}, 4);
    return claim;
}

/* Returns how many notes of that kind there are about that id. */
static inline unsigned side_count(const struct names_side *side, enum note_kind kind, uint64_t id)
{
    unsigned count = 0;
    for (unsigned i = 0; i < side->count; i++)
        count += side->notes[i].kind == kind && side->notes[i].claim.id == id;
    return count;
}

static inline const struct note *side_last(const struct names_side *side, enum note_kind kind,
                                           uint64_t id)
{
    for (unsigned i = side->count; i-- > 0;)
        if (side->notes[i].kind == kind && side->notes[i].claim.id == id)
            return &side->notes[i];
    return NULL;
}

static inline void world_run(struct names_world *world, nsec duration)
{
    nsec end = clock_after(duration);
    do
        poller_step(world->poller, end);
    while (clock_now() < end);
}

/* Runs the poller until the side has that many notes about the id. */
static inline const struct note *side_await(struct names_side *side, enum note_kind kind,
                                            uint64_t id, unsigned count)
{
    nsec end = clock_after(WORLD_PATIENCE);
    while (side_count(side, kind, id) < count && clock_now() < end)
        poller_step(side->world->poller, clock_after(NSEC_PER_SEC / 100));
    if (side_count(side, kind, id) < count)
        fail_msg("timeout while waiting for note %d of id %llu", (int)kind, (unsigned long long)id);
    return side_last(side, kind, id);
}

/* Claims, and waits for the outcome. */
static inline int side_claims(struct names_side *side, uint64_t id, uint64_t member,
                              uint64_t incarnation)
{
    struct claim claim = side_claim(side, id, member, incarnation);
    unsigned before = side_count(side, NOTE_ANNOUNCED, id);
    int result = names_announce(side->names, &claim);
    return result < 0 ? result : side_await(side, NOTE_ANNOUNCED, id, before + 1)->status;
}

/* Starts a process that claims, and reports the outcome through a pipe. */
static inline pid_t claimant_start(const struct names_world *world, const char *services,
                                   uint64_t id, uint64_t incarnation, int *status)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct names_world own = *world;
        struct names_side side;
        int result = poller_open(&own.poller, &own.lock);
        side_open(&side, &own, services, NULL);
        side.context = (uint64_t)getpid();
        if (!result)
            result = side_claims(&side, id, id, incarnation);
        if (write(ends[1], &result, sizeof result) != sizeof result)
            _exit(2);
        pause();
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], status, sizeof *status), sizeof *status);
    close(ends[0]);
    return pid;
}

static inline void claimant_kill(pid_t pid)
{
    int status;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}
