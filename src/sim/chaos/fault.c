#include "sim/chaos/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "base/nearest.h"
#include "base/rng.h"

#define FAULT_NAME(kind, name, text) name,
#define FAULT_TEXT(kind, name, text) text,
const char *const fault_names[FAULT_COUNT] = {FAULT_LIST(FAULT_NAME)};
const char *const fault_texts[FAULT_COUNT] = {FAULT_LIST(FAULT_TEXT)};

#define STREAM_KINDS 0xfa0175ull /* which kinds; each kind draws from its own stream */
/* Which kinds of faults of disks: apart, so that runs without disks do not depend on them. */
#define STREAM_DISK_KINDS 0xfad15cull

#define WORD_SHOWN 20 /* shown characters of an unknown name: the known names must fit, too */

/* State while one schedule is made. */
struct maker {
    struct fault_schedule *schedule;
    const struct plan *plan;
    const struct fault_settings *settings;
    struct rng rng; /* of the current kind */
    bool failed;    /* no memory */
};

/* ---- one fault ---- */

static void event_add(struct maker *maker, const struct fault *fault)
{
    struct fault_schedule *schedule = maker->schedule;
    if (schedule->count == schedule->room) {
        size_t room = schedule->room ? 2 * schedule->room : 256;
        struct fault *more = reallocarray(schedule->faults, room, sizeof *more);
        if (!more) {
            maker->failed = true;
            return;
        }
        schedule->faults = more;
        schedule->room = room;
    }
    schedule->faults[schedule->count++] = *fault;
}

/* Uniform in [low, high]. */
static uint64_t between(struct maker *maker, uint64_t low, uint64_t high)
{
    return low + rng_below(&maker->rng, high - low + 1);
}

static psec moment(struct maker *maker)
{
    const struct fault_settings *settings = maker->settings;
    return settings->begin + rng_below(&maker->rng, settings->end - settings->begin);
}

/* The fault lasts from `at` for `length`, or until the end of the storm. */
static void fault_add(struct maker *maker, struct fault fault, psec length)
{
    psec end = maker->settings->end;
    assert(fault.at < end);
    fault.number = maker->schedule->number++;
    fault.begins = true;
    event_add(maker, &fault);
    fault.begins = false;
    fault.at = length < end - fault.at ? fault.at + length : end;
    event_add(maker, &fault);
}

static node_id any_server(struct maker *maker)
{
    return (node_id)rng_below(&maker->rng, maker->plan->server_count);
}

/* A random port with a cable; false: that server has none. */
static bool any_port(struct maker *maker, node_id server, uint32_t *port)
{
    const struct plan *plan = maker->plan;
    uint32_t first = (uint32_t)rng_below(&maker->rng, plan->port_count);
    for (uint32_t i = 0; i < plan->port_count; i++) {
        *port = (first + i) % plan->port_count;
        if (plan_end(plan, server, *port)->server != NODE_NONE)
            return true;
    }
    return false;
}

/* Roughly log-uniform: every factor of two in the range is equally likely. */
static uint64_t magnitude(struct maker *maker, uint64_t low, uint64_t high)
{
    unsigned doublings = 0;
    while (low << (doublings + 1) <= high)
        doublings++;
    uint64_t base = low << rng_below(&maker->rng, doublings + 1);
    return between(maker, base, 2 * base < high ? 2 * base : high);
}

static psec length_between(struct maker *maker, psec low, psec high)
{
    return magnitude(maker, low, high > low ? high : low);
}

/* ---- links ---- */

/* Loss, corruption, duplication, jitter: on all links equally, or on some. */
static void make_noise(struct maker *maker, enum fault_kind kind)
{
    const struct plan *plan = maker->plan;
    psec storm = maker->settings->end - maker->settings->begin;
    bool is_jitter = kind == FAULT_JITTER;
    uint64_t low = is_jitter ? 1000 * PSEC_PER_NSEC : 1000;
    uint64_t high = is_jitter ? maker->settings->hello / 2 : kind == FAULT_LOSS ? 600000 : 200000;
    struct fault fault = {.kind = kind};
    if (rng_below(&maker->rng, 3) == 0) {
        fault.at = maker->settings->begin;
        fault.amount = magnitude(maker, low, high / 4);
        for (fault.server = 0; fault.server < plan->server_count; fault.server++)
            for (fault.port = 0; fault.port < plan->port_count; fault.port++)
                if (plan_end(plan, fault.server, fault.port)->server != NODE_NONE)
                    fault_add(maker, fault, storm);
        return;
    }
    for (uint64_t count = between(maker, 1, plan->server_count); count; count--) {
        fault.at = moment(maker);
        fault.server = any_server(maker);
        fault.amount = magnitude(maker, low, high);
        psec length = length_between(maker, storm / 32, storm);
        if (any_port(maker, fault.server, &fault.port))
            fault_add(maker, fault, length);
    }
}

static void make_one_way(struct maker *maker, enum fault_kind kind)
{
    psec storm = maker->settings->end - maker->settings->begin;
    uint64_t most = maker->plan->server_count / 4 + 1;
    for (uint64_t count = between(maker, 1, most); count; count--) {
        struct fault fault = {.kind = kind, .at = moment(maker), .server = any_server(maker)};
        psec length = length_between(maker, maker->settings->hello, storm);
        if (any_port(maker, fault.server, &fault.port))
            fault_add(maker, fault, length);
    }
}

/* Adds the fault to both directions of a cable. */
static void cable_add(struct maker *maker, struct fault fault, psec length)
{
    const struct plan_end *end = plan_end(maker->plan, fault.server, fault.port);
    fault_add(maker, fault, length);
    fault.server = end->server;
    fault.port = end->port;
    fault_add(maker, fault, length);
}

static void make_flap(struct maker *maker, enum fault_kind kind)
{
    const struct fault_settings *settings = maker->settings;
    uint64_t most = maker->plan->server_count / 6 + 1;
    for (uint64_t count = between(maker, 1, most); count; count--) {
        struct fault fault = {.kind = kind, .at = moment(maker), .server = any_server(maker)};
        if (!any_port(maker, fault.server, &fault.port))
            continue;
        psec down = length_between(maker, settings->hello / 4, 3 * settings->silence);
        psec up = length_between(maker, settings->hello / 4, 3 * settings->silence);
        for (uint64_t times = between(maker, 2, 8); times && fault.at < settings->end; times--) {
            cable_add(maker, fault, down);
            fault.at += down + up;
        }
    }
}

/* Is the server on the first side of the cut? */
static bool on_one_side(const struct plan *plan, node_id server, uint32_t axis, uint32_t from,
                        uint32_t to, const uint64_t *side)
{
    if (!plan->topology->axis_count)
        return bitset_has(side, server);
    uint32_t coordinate[AXIS_MAX];
    topology_coordinate(plan->topology, server, coordinate);
    return coordinate[axis] >= from && coordinate[axis] < to;
}

/* If there are axes, some adjacent planes are one side; otherwise the side is grown from a random
 * server, so that it is often connected in itself. */
static void side_grow(struct maker *maker, uint64_t *side)
{
    const struct plan *plan = maker->plan;
    uint64_t wanted = between(maker, 1, plan->server_count / 2 ? plan->server_count / 2 : 1);
    node_id at = any_server(maker);
    for (uint64_t steps = 0; wanted && steps < 16ull * plan->server_count; steps++) {
        uint32_t port;
        if (!bitset_has(side, at)) {
            bitset_add(side, at);
            wanted--;
        }
        if (any_port(maker, at, &port))
            at = plan_end(plan, at, port)->server;
    }
}

static void plane_cut(struct maker *maker, struct fault fault, psec length, const uint64_t *side)
{
    const struct plan *plan = maker->plan;
    uint32_t axis = 0, from = 0, to = 0;
    if (plan->topology->axis_count) {
        axis = (uint32_t)rng_below(&maker->rng, plan->topology->axis_count);
        uint32_t size = plan->topology->axis_size[axis];
        from = (uint32_t)rng_below(&maker->rng, size);
        to = (uint32_t)between(maker, from + 1, size);
    }
    for (node_id server = 0; server < plan->server_count; server++)
        for (uint32_t port = 0; port < plan->port_count; port++) {
            const struct plan_end *end = plan_end(plan, server, port);
            if (end->server == NODE_NONE ||
                on_one_side(plan, server, axis, from, to, side) ==
                    on_one_side(plan, end->server, axis, from, to, side))
                continue;
            fault.server = server;
            fault.port = port;
            fault_add(maker, fault, length); /* the other end is added in its own turn */
        }
}

static void make_plane(struct maker *maker, enum fault_kind kind)
{
    const struct fault_settings *settings = maker->settings;
    size_t words = bitset_words(maker->plan->server_count);
    uint64_t *side = calloc(words, sizeof *side);
    if (!side) {
        maker->failed = true;
        return;
    }
    for (uint64_t count = between(maker, 1, 3); count; count--) {
        memset(side, 0, words * sizeof *side);
        struct fault fault = {.kind = kind, .at = moment(maker)};
        psec length = length_between(maker, settings->hello, 5 * settings->silence);
        side_grow(maker, side);
        plane_cut(maker, fault, length, side);
    }
    free(side);
}

/* ---- servers ---- */

static void make_down(struct maker *maker, enum fault_kind kind)
{
    const struct fault_settings *settings = maker->settings;
    uint64_t most = maker->plan->server_count / 4 + 1;
    for (uint64_t count = between(maker, 1, most); count; count--) {
        struct fault fault = {.kind = kind, .at = moment(maker), .server = any_server(maker)};
        psec length = kind == FAULT_CRASH ? PSEC_NEVER
                      : kind == FAULT_QUICK
                          ? length_between(maker, 1000 * PSEC_PER_NSEC, settings->hello)
                          : length_between(maker, settings->silence, 5 * settings->silence);
        fault.amount = kind == FAULT_REWIND ? between(maker, 1, 3) : 0;
        fault_add(maker, fault, length);
    }
}

static void make_slow(struct maker *maker, enum fault_kind kind)
{
    const struct fault_settings *settings = maker->settings;
    psec storm = settings->end - settings->begin;
    uint64_t most = maker->plan->server_count / 4 + 1;
    for (uint64_t count = between(maker, 1, most); count; count--) {
        struct fault fault = {.kind = kind, .at = moment(maker), .server = any_server(maker)};
        psec longest = kind == FAULT_PAUSE ? 4 * settings->silence : storm;
        psec length = length_between(maker, settings->hello / 8, longest);
        fault.amount = kind == FAULT_CLOCK ? between(maker, 200000, 3000000) : 0;
        fault_add(maker, fault, length);
    }
}

/* Many short stops of the same length, with short times to work between them. */
static void make_halting(struct maker *maker, enum fault_kind kind)
{
    const struct fault_settings *settings = maker->settings;
    uint64_t most = maker->plan->server_count / 6 + 1;
    for (uint64_t count = between(maker, 1, most); count; count--) {
        struct fault fault = {.kind = kind, .at = moment(maker), .server = any_server(maker)};
        psec stop = length_between(maker, settings->hello / 64, settings->hello);
        psec work = length_between(maker, settings->hello / 256, settings->hello / 16);
        for (uint64_t times = between(maker, 8, 64); times && fault.at < settings->end; times--) {
            fault_add(maker, fault, stop);
            fault.at += stop + work;
        }
    }
}

static void make_jump(struct maker *maker, enum fault_kind kind)
{
    const struct fault_settings *settings = maker->settings;
    uint64_t most = maker->plan->server_count / 4 + 1;
    for (uint64_t count = between(maker, 1, most); count; count--) {
        struct fault fault = {.kind = kind, .at = moment(maker), .server = any_server(maker)};
        fault.amount = length_between(maker, settings->hello / 8, 4 * settings->silence);
        fault_add(maker, fault, 1); /* its end has no effect */
    }
}

/* Some frames of some links are kept for up to a few silences. The last of them arrives within the
 * storm. Meanwhile the links go down for a moment (amount 0), so that frames of the session before
 * arrive in the next one. */
static void make_late(struct maker *maker, enum fault_kind kind)
{
    const struct fault_settings *settings = maker->settings;
    psec storm = settings->end - settings->begin;
    for (uint64_t count = between(maker, 1, maker->plan->server_count); count; count--) {
        struct fault fault = {.kind = kind, .server = any_server(maker)};
        psec most = 2 * settings->silence < storm / 2 ? 2 * settings->silence : storm / 2;
        fault.amount = length_between(maker, settings->hello / 2, most);
        psec rest = storm - fault.amount;
        fault.at = settings->begin + rng_below(&maker->rng, rest);
        psec length = settings->begin + rest - fault.at;
        if (!any_port(maker, fault.server, &fault.port))
            continue;
        fault_add(maker, fault, length);
        for (uint64_t times = between(maker, 1, 4); times; times--) {
            struct fault blink = {.kind = kind, .server = fault.server, .port = fault.port};
            blink.at = fault.at + rng_below(&maker->rng, length);
            fault_add(maker, blink, settings->hello / 16);
        }
    }
}

/* ---- disks ---- */

/* One server only: a service that keeps copies survives that, but may lose all of them if several
 * disks are replaced before the copies are made again. */
static void make_empty(struct maker *maker, enum fault_kind kind)
{
    const struct fault_settings *settings = maker->settings;
    struct fault fault = {.kind = kind, .at = moment(maker), .server = any_server(maker)};
    fault_add(maker, fault, length_between(maker, settings->hello, 5 * settings->silence));
}

static uint64_t disk_amount(struct maker *maker, enum fault_kind kind)
{
    switch (kind) {
    case FAULT_DISK_LOST:
    case FAULT_DISK_TORN:
        return magnitude(maker, 50000, 1000000);
    case FAULT_DISK_ROT:
        return magnitude(maker, 20000, 500000); /* a service often reads only when it starts */
    case FAULT_DISK_FULL:
        return rng_below(&maker->rng, 64 << 10);
    case FAULT_DISK_SLOW:
        return magnitude(maker, 100000 * PSEC_PER_NSEC, 100000000 * PSEC_PER_NSEC);
    default:
        return magnitude(maker, 1000, 100000);
    }
}

/* On the disks of all servers for the whole storm, or on some for a while. */
static void make_disk(struct maker *maker, enum fault_kind kind)
{
    const struct plan *plan = maker->plan;
    psec storm = maker->settings->end - maker->settings->begin;
    struct fault fault = {.kind = kind};
    if (kind != FAULT_DISK_FULL && rng_below(&maker->rng, 2) == 0) {
        fault.at = maker->settings->begin;
        fault.amount = disk_amount(maker, kind);
        for (fault.server = 0; fault.server < plan->server_count; fault.server++)
            fault_add(maker, fault, storm);
        return;
    }
    for (uint64_t count = between(maker, 1, plan->server_count / 2 + 1); count; count--) {
        fault.at = moment(maker);
        fault.server = any_server(maker);
        fault.amount = disk_amount(maker, kind);
        fault_add(maker, fault, length_between(maker, storm / 32, storm));
    }
}

/* ---- the whole ---- */

static void (*const makers[FAULT_COUNT])(struct maker *maker, enum fault_kind kind) = {
    [FAULT_LOSS] = make_noise,        [FAULT_CORRUPTION] = make_noise,
    [FAULT_DUPLICATION] = make_noise, [FAULT_JITTER] = make_noise,
    [FAULT_ONE_WAY] = make_one_way,   [FAULT_FLAP] = make_flap,
    [FAULT_PLANE] = make_plane,       [FAULT_CUT] = make_one_way,
    [FAULT_CRASH] = make_down,        [FAULT_RESTART] = make_down,
    [FAULT_QUICK] = make_down,        [FAULT_PAUSE] = make_slow,
    [FAULT_CLOCK] = make_slow,        [FAULT_HANG] = make_slow,
    [FAULT_LATE] = make_late,         [FAULT_CARRIER] = make_one_way,
    [FAULT_SLOW] = make_halting,      [FAULT_JUMP] = make_jump,
    [FAULT_REWIND] = make_down,       [FAULT_EMPTY] = make_empty,
    [FAULT_DISK_LOST] = make_disk,    [FAULT_DISK_TORN] = make_disk,
    [FAULT_DISK_ROT] = make_disk,     [FAULT_DISK_FAIL] = make_disk,
    [FAULT_DISK_FULL] = make_disk,    [FAULT_DISK_SLOW] = make_disk,
};

/* Draws about a third of the allowed kinds, at least one. */
static uint32_t kinds_draw(uint64_t seed, uint32_t allowed)
{
    struct rng rng = rng_make(seed, STREAM_KINDS), disks = rng_make(seed, STREAM_DISK_KINDS);
    uint32_t kinds = 0;
    for (unsigned kind = 0; kind < FAULT_COUNT; kind++)
        kinds |= (uint32_t)(rng_below(kind < FAULT_EMPTY ? &rng : &disks, 3) == 0) << kind;
    kinds &= allowed;
    if (kinds || !allowed)
        return kinds;
    uint64_t which = rng_below(&rng, (uint64_t)__builtin_popcount(allowed));
    for (kinds = allowed; which; which--)
        kinds &= kinds - 1;
    return kinds & -kinds;
}

/* Without a cable only servers can fail, and without disks no disk: these kinds would give seeds
 * without faults. */
static uint32_t kinds_possible(const struct plan *plan, uint32_t kinds, bool disks)
{
    for (unsigned kind = 0; kind < FAULT_COUNT; kind++)
        if ((!plan->topology->graph.link_count && !fault_is_of_server((enum fault_kind)kind)) ||
            (!disks && fault_is_of_disk((enum fault_kind)kind)))
            kinds &= ~(1u << kind);
    return kinds & FAULT_ALL;
}

static int fault_order(const void *one, const void *other)
{
    const struct fault *a = one, *b = other;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->begins != b->begins)
        return a->begins ? 1 : -1;
    return a->number < b->number ? -1 : a->number > b->number;
}

enum err fault_schedule_make(struct fault_schedule *schedule, const struct plan *plan,
                             uint64_t seed, const struct fault_settings *settings, struct why *why)
{
    assert(settings->begin < settings->end && settings->hello > 0);
    uint32_t allowed = kinds_possible(plan, settings->kinds, settings->disks);
    *schedule = (struct fault_schedule){.kinds = kinds_draw(seed, allowed)};
    struct maker maker = {.schedule = schedule, .plan = plan, .settings = settings};
    for (unsigned kind = 0; kind < FAULT_COUNT; kind++) {
        if (!(schedule->kinds >> kind & 1))
            continue;
        maker.rng = rng_make(seed, STREAM_KINDS + 1 + kind);
        makers[kind](&maker, (enum fault_kind)kind);
    }
    if (maker.failed) {
        fault_schedule_fini(schedule);
        return why_memory(why);
    }
    if (schedule->count)
        qsort(schedule->faults, schedule->count, sizeof *schedule->faults, fault_order);
    return OK;
}

void fault_schedule_fini(struct fault_schedule *schedule)
{
    free(schedule->faults);
    *schedule = (struct fault_schedule){0};
}

/* ---- names ---- */

static enum err no_such_kind(const char *word, int size, struct why *why)
{
    char all[WHY_SIZE];
    size_t used = 0;
    for (unsigned kind = 0; kind < FAULT_COUNT && used < sizeof all; kind++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s, ", fault_names[kind]);
    struct nearest nearest = nearest_make(word, (size_t)size);
    nearest_try_all(&nearest, (const char *const[]){"all", "none", NULL});
    for (unsigned kind = 0; kind < FAULT_COUNT; kind++)
        nearest_try(&nearest, fault_names[kind]);
    return why_fail(why, ERR_USAGE, "no fault is called '%.*s'%s; there are %sall and none",
                    size < WORD_SHOWN ? size : WORD_SHOWN, word, nearest_hint(&nearest), all);
}

enum err fault_kinds_read(const char *text, uint32_t *kinds, struct why *why)
{
    *kinds = 0;
    for (const char *at = text;; at++) {
        bool without = *at == '-';
        at += without;
        size_t size = strcspn(at, ",");
        unsigned kind = 0;
        while (kind < FAULT_COUNT &&
               (strlen(fault_names[kind]) != size || strncmp(fault_names[kind], at, size) != 0))
            kind++;
        if (kind < FAULT_COUNT)
            *kinds = without ? *kinds & ~(1u << kind) : *kinds | 1u << kind;
        else if (without)
            return no_such_kind(at, (int)size, why);
        else if (size == 3 && !strncmp(at, "all", 3))
            *kinds = FAULT_ALL;
        else if (!(size == 4 && !strncmp(at, "none", 4)))
            return no_such_kind(at, (int)size, why);
        at += size;
        if (!*at)
            return OK;
    }
}

void fault_kinds_write(uint32_t kinds, struct text *out)
{
    kinds &= FAULT_ALL;
    if (kinds == FAULT_ALL || !kinds) {
        text_puts(out, kinds ? "all" : "none");
        return;
    }
    const char *between = "";
    for (unsigned kind = 0; kind < FAULT_COUNT; kind++) {
        if (!(kinds >> kind & 1))
            continue;
        text_printf(out, "%s%s", between, fault_names[kind]);
        between = ",";
    }
}
