#pragma once
/* fault: the faults of a run: when, where and how severe.
 *
 * A schedule is a pure function of the plan, a seed and the allowed kinds. As in swarm testing,
 * each seed uses only some of them, with its own intensities: one run in which everything fails a
 * little finds less than many runs in which a few things fail a lot.
 *
 * Every fault has a beginning and an end within the storm; when the storm is over all are healed.
 * Pure; the schedule owns its events. */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"
#include "node/plan.h"
#include "sim/engine/engine.h"

/* A kind, its name, and what it does. */
#define FAULT_LIST(X)                                                                              \
    X(LOSS, "loss", "frames are lost")                                                             \
    X(CORRUPTION, "corruption", "bits of frames are flipped")                                      \
    X(DUPLICATION, "duplication", "frames arrive twice")                                           \
    X(JITTER, "jitter", "frames arrive late, and may overtake each other")                         \
    X(ONE_WAY, "one_way", "one direction of a link is dead")                                       \
    X(FLAP, "flap", "a link goes down and up repeatedly")                                          \
    X(PLANE, "plane", "a plane of a torus, or half of a graph, is cut off")                        \
    X(CUT, "cut", "the operator cuts a cable at one end")                                          \
    X(CRASH, "crash", "a server is down until the calm")                                           \
    X(RESTART, "restart", "a server is down until this is noticed, and restarts")                  \
    X(QUICK, "quick", "a server restarts before this is noticed")                                  \
    X(PAUSE, "pause", "a server does nothing for a while")                                         \
    X(CLOCK, "clock", "a server's clock is slow or fast")                                          \
    X(HANG, "hang", "a server does nothing, and the links to it are full")                         \
    X(LATE, "late", "some frames arrive very late, after all others")                              \
    X(CARRIER, "carrier", "one end of a link is told that the other is gone")                      \
    X(SLOW, "slow", "a server is stopped again and again, shortly")                                \
    X(JUMP, "jump", "a server's clock jumps ahead")                                                \
    X(REWIND, "rewind", "a server restarts with a lower incarnation")                              \
    X(EMPTY, "empty", "one server restarts with an empty disk")                                    \
    X(DISK_LOST, "disk_lost", "a crash loses writes that were not synced")                         \
    X(DISK_TORN, "disk_torn", "a crash cuts writes short that were not synced")                    \
    X(DISK_ROT, "disk_rot", "a read finds a bit flipped")                                          \
    X(DISK_FAIL, "disk_fail", "syncs fail")                                                        \
    X(DISK_FULL, "disk_full", "a disk is full")                                                    \
    X(DISK_SLOW, "disk_slow", "a disk is slow")

enum fault_kind {
#define FAULT_ENUM(kind, name, text) FAULT_##kind,
    FAULT_LIST(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_COUNT,
};

#define FAULT_ALL ((1u << FAULT_COUNT) - 1)

extern const char *const fault_names[FAULT_COUNT];
extern const char *const fault_texts[FAULT_COUNT];

struct fault {
    psec at;
    enum fault_kind kind;
    bool begins; /* false: the fault with the same `number` ends */
    uint32_t number;
    node_id server;
    uint32_t port; /* of the link that leaves the server; unused by faults of servers */
    /* Millionths of frames or operations of a disk; picoseconds of jitter, lateness (0: the link
     * goes down for a moment), a jump or the delay of a disk; millionths of a clock's rate; number
     * of incarnations; bytes that are left on a disk. */
    uint64_t amount;
};

/* Is it a fault of servers? Otherwise it is one of links. */
static inline bool fault_is_of_server(enum fault_kind kind)
{
    return kind >= FAULT_CRASH && kind != FAULT_LATE && kind != FAULT_CARRIER;
}

/* Is it a fault that only servers with disks have? */
static inline bool fault_is_of_disk(enum fault_kind kind)
{
    return kind >= FAULT_EMPTY;
}

struct fault_settings {
    uint32_t kinds;  /* bits of the kinds that may be used */
    bool disks;      /* servers have disks */
    psec begin, end; /* of the storm */
    psec silence;    /* after which a link is given up */
    psec hello;
};

struct fault_schedule {
    struct fault *faults; /* by time, ends before beginnings, then by number */
    size_t count, room;
    uint32_t kinds;  /* that this seed uses */
    uint32_t number; /* number of faults so far, while it is made */
};

MUST_CHECK enum err fault_schedule_make(struct fault_schedule *schedule, const struct plan *plan,
                                        uint64_t seed, const struct fault_settings *settings,
                                        struct why *why);
void fault_schedule_fini(struct fault_schedule *schedule);

/* Reads "loss,crash", "all" or "all,-pause" as bits; on an unknown name `why` has it and the known
 * ones. */
MUST_CHECK enum err fault_kinds_read(const char *text, uint32_t *kinds, struct why *why);
/* Writes the names of the kinds. */
void fault_kinds_write(uint32_t kinds, struct text *out);
