#pragma once
/* council_crowd: up to eight councils for tests of divided networks, in one thread. Any two of them
 * may lose each other. A test delivers messages one by one (crowd_land) or at random (flight_land).
 *
 * The crowd checks that no epoch has two views, and that of the views that follow one view only one
 * is followed by another. (A leader may install a view on its own and then lose the majority.) */
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"
#include "sst/council/council_impl.h"

enum { CROWD = 8, FLIGHTS = 4096, EPOCHS = 256, CROWD_TABLE = 77 };

struct one {
    struct council council;
    struct view view; /* installed last */
    bool used, alive, expelled;
    bool left;  /* its program closes the table ... */
    bool stays; /* ... or does not even if it is expelled */
    uint64_t meets[SST_ROWS_MAX];
    bool met[SST_ROWS_MAX];
};

struct crowd_flight {
    unsigned from, to;
    size_t size;
    uint8_t *bytes;
};

static struct one crowd[CROWD];
static struct crowd_flight flights[FLIGHTS];
static unsigned flight_count;
static unsigned part[CROWD];       /* processes reach those in the same part of the network ... */
static bool is_down[CROWD][CROWD]; /* ... unless the connection between the two is down */
static bool is_cut[CROWD][CROWD];  /* the first has cut its connection to the second */
static struct view by_epoch[EPOCHS];
static uint64_t base_of[EPOCHS]; /* the epoch that the view follows; 0: not known yet */
static bool is_followed[EPOCHS]; /* the view was installed, and then another that follows it */
static uint64_t seed;
static struct rng rng;
static int64_t present;

static inline unsigned number_of(const void *argument)
{
    return (unsigned)((const struct one *)argument - crowd);
}

static inline bool chance(unsigned of)
{
    return rng_below(&rng, of) == 0;
}

static inline bool reaches(unsigned i, unsigned other)
{
    return part[i] == part[other] && !is_down[i][other];
}

/* ---- callbacks of a council ---- */

/* The first COMMIT of a view comes from its leader, which has not installed it yet. */
static inline void commit_note(const struct council *council, const uint8_t *bytes, size_t size)
{
    static struct council_message message;
    assert_int_equal(council_read(&message, bytes, size), 0);
    uint64_t epoch = message.view.epoch;
    if (message.kind == COUNCIL_COMMIT && epoch > council->installed.epoch && !base_of[epoch])
        base_of[epoch] = council->installed.epoch;
}

static inline void crowd_send(void *argument, ripc_id to, const uint8_t *bytes, size_t size)
{
    unsigned from = number_of(argument);
    commit_note(&crowd[from].council, bytes, size);
    for (unsigned i = 0; i < CROWD; i++) {
        bool grouped = council_is_member(&crowd[i].council) && !crowd[i].council.outvoted;
        if (!(to ? to == i + 1 : grouped) || i == from || !crowd[i].alive || !reaches(i, from) ||
            flight_count == FLIGHTS)
            continue;
        struct crowd_flight flight = {.from = from, .to = i, .size = size, .bytes = malloc(size)};
        assert_non_null(flight.bytes);
        memcpy(flight.bytes, bytes, size);
        flights[flight_count++] = flight;
    }
}

static inline void crowd_meet(void *argument, uint32_t row, ripc_id id, uint64_t nonce)
{
    ((struct one *)argument)->meets[row] = nonce;
    ((struct one *)argument)->met[row] = false;
}

static inline void crowd_part(void *argument, uint32_t row, uint64_t nonce)
{
    ((struct one *)argument)->meets[row] = 0;
}

/* A view was installed for the first time: is there another part of the members that went on? */
static inline void view_check_base(uint64_t epoch, uint64_t base)
{
    base_of[epoch] = base;
    is_followed[base] = true;
    for (unsigned other = 1; other < EPOCHS && base; other++)
        if (other != base && is_followed[other] && base_of[other] == base_of[base])
            fail_msg("seed %llu: epoch %llu follows %llu, but epoch %u was followed, too",
                     (unsigned long long)seed, (unsigned long long)epoch, (unsigned long long)base,
                     other);
}

static inline void crowd_install(void *argument, const struct view *view)
{
    struct one *one = argument;
    assert_true(view->epoch < EPOCHS);
    if (!by_epoch[view->epoch].epoch)
        view_check_base(view->epoch, base_of[view->epoch] ? base_of[view->epoch] : one->view.epoch);
    one->view = *view;
    memset(one->meets, 0, sizeof one->meets);
    if (!by_epoch[view->epoch].epoch)
        by_epoch[view->epoch] = *view;
    if (!view_equal(&by_epoch[view->epoch], view))
        fail_msg("seed %llu: two views of epoch %llu", (unsigned long long)seed,
                 (unsigned long long)view->epoch);
}

static inline void crowd_refused(void *argument, int status, const char *reason)
{
    ((struct one *)argument)->expelled = ((struct one *)argument)->left = true;
}

static inline void crowd_expelled(void *argument)
{
    ((struct one *)argument)->expelled = true;
}

static inline void crowd_left(void *argument)
{
    ((struct one *)argument)->expelled = ((struct one *)argument)->left = true;
}

static const struct council_ops crowd_ops = {
    .send = crowd_send,
    .meet = crowd_meet,
    .part = crowd_part,
    .install = crowd_install,
    .refused = crowd_refused,
    .left = crowd_left,
    .expelled = crowd_expelled,
};

/* ---- events ---- */

static inline void one_open(unsigned i)
{
    struct council_config config = {
        .hash = 5, .rows_max = CROWD, .drop = seed % 3 != 0, .id = i + 1, .nonce = 100 + i};
    crowd[i] = (struct one){.used = true, .alive = true, .stays = (seed + i) % 2};
    council_init(&crowd[i].council, &crowd_ops, &crowd[i], &config);
}

static inline void one_join(unsigned i)
{
    one_open(i);
    council_join(&crowd[i].council);
}

/* The program of an expelled process closes the table, or does not. */
static inline void one_close(unsigned i)
{
    if (crowd[i].expelled && (crowd[i].left || !crowd[i].stays))
        crowd[i].alive = false;
}

static inline void flight_deliver(unsigned at)
{
    struct crowd_flight flight = flights[at];
    memmove(&flights[at], &flights[at + 1], (--flight_count - at) * sizeof flight);
    if (crowd[flight.to].alive && reaches(flight.to, flight.from))
        council_receive(&crowd[flight.to].council, flight.from + 1, flight.bytes, flight.size);
    free(flight.bytes);
}

/* Delivers a message at random; those between two processes keep their order. */
static inline void flight_land(void)
{
    if (!flight_count)
        return;
    unsigned at = (unsigned)rng_below(&rng, flight_count);
    for (unsigned i = 0; i < at; i++)
        if (flights[i].from == flights[at].from && flights[i].to == flights[at].to)
            at = i;
    flight_deliver(at);
}

static inline void flights_drop(void)
{
    while (flight_count)
        free(flights[--flight_count].bytes);
}

static inline void meetings_hold(unsigned i)
{
    for (uint32_t row = 0; row < CROWD; row++) {
        struct one *one = &crowd[i];
        if (!one->alive || !one->meets[row] || one->met[row])
            continue;
        unsigned other = (unsigned)(one->meets[row] - 100);
        uint32_t own = council_row(&one->council);
        if (!crowd[other].alive || !reaches(other, i) || own >= CROWD ||
            crowd[other].meets[own] != 100 + i)
            continue;
        one->met[row] = true;
        council_met(&one->council, row, one->meets[row], 0);
    }
}

/* Delivers the first message of that kind between the two, before any others. Returns false if
 * there is none. */
static inline bool crowd_try(enum council_kind kind, unsigned from, unsigned to)
{
    static struct council_message message;
    for (unsigned i = 0; i < flight_count; i++) {
        if (flights[i].from != from || flights[i].to != to ||
            council_read(&message, flights[i].bytes, flights[i].size) || message.kind != kind)
            continue;
        flight_deliver(i);
        for (unsigned turn = 0; turn < 2 * CROWD; turn++)
            meetings_hold(turn % CROWD);
        return true;
    }
    return false;
}

static inline void crowd_land(enum council_kind kind, unsigned from, unsigned to)
{
    if (!crowd_try(kind, from, to))
        fail_msg("no message of kind %d from %u to %u", (int)kind, from, to);
}

/* One process can no longer reach another, and notices it. */
static inline void crowd_silence(unsigned at, unsigned about)
{
    is_cut[at][about] = true;
    council_silent(&crowd[at].council, about + 1, 100 + about);
}

/* One process notices that another is dead or cannot be reached. */
static inline void notice(unsigned i, unsigned other)
{
    if (i == other || !crowd[i].alive || !crowd[other].used)
        return;
    if (!reaches(i, other) || is_cut[other][i] || is_cut[i][other])
        crowd_silence(i, other);
    else if (!crowd[other].alive)
        council_failed(&crowd[i].council, other + 1, 100 + other);
}

static inline void heal(void)
{
    memset(part, 0, sizeof part);
    memset(is_down, 0, sizeof is_down);
}

static inline void tick_all(void)
{
    present += COUNCIL_RETRY_NSEC;
    for (unsigned i = 0; i < CROWD; i++)
        if (crowd[i].alive)
            council_tick(&crowd[i].council, present);
}

static inline void flights_land(void)
{
    for (unsigned turn = 0; turn < 2000 && flight_count; turn++) {
        flight_land();
        meetings_hold(turn % CROWD);
    }
    for (unsigned i = 0; i < CROWD; i++)
        meetings_hold(i);
}

/* Time passes in a whole network, and every process learns of every death. */
static inline void calm(unsigned ticks)
{
    heal();
    for (unsigned tick = 0; tick < ticks; tick++) {
        for (unsigned i = 0; i < CROWD; i++)
            one_close(i);
        for (unsigned i = 0; i < CROWD; i++)
            for (unsigned j = 0; j < CROWD; j++)
                notice(i, j);
        for (unsigned i = 0; i < CROWD; i++)
            for (unsigned j = 0; j < CROWD && crowd[i].alive; j++)
                if (crowd[i].council.lead == LEAD_RESTS && j != i)
                    council_tell(&crowd[i].council, j + 1); /* as members.c does */
        tick_all();
        flights_land();
    }
}

/* Begins a run: the first process founds the table. */
static inline void crowd_found(uint64_t number)
{
    seed = number;
    rng = rng_make(seed, 0);
    flights_drop();
    memset(crowd, 0, sizeof crowd);
    heal();
    memset(is_cut, 0, sizeof is_cut);
    memset(by_epoch, 0, sizeof by_epoch);
    memset(base_of, 0, sizeof base_of);
    memset(is_followed, 0, sizeof is_followed);
    one_open(0);
    council_found(&crowd[0].council, CROWD_TABLE);
}

/* Begins a run in which the first processes are members. */
static inline void crowd_begin(uint64_t number, unsigned count)
{
    crowd_found(number);
    for (unsigned i = 1; i < count; i++) {
        one_join(i);
        calm(10);
        assert_true(council_is_member(&crowd[i].council));
    }
    flights_drop();
}
