#pragma once
/* fault: what goes wrong in a run, when, where and how badly.
 *
 * A schedule is a pure function of the plan, a seed and the kinds that are allowed. In the manner
 * of swarm testing each seed has only some of them, with intensities of its own: a run in which
 * everything fails a little finds less than many in which a few things fail a lot.
 *
 * Every fault has a beginning and an end within the storm; when the storm is over all are healed.
 * Pure; the schedule owns its events. */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"
#include "node/plan.h"
#include "sim/engine/engine.h"

/* Kind, its name, and what it does. */
#define FAULT_LIST(X)                                                                              \
    X(LOSS, "loss", "frames are lost")                                                             \
    X(CORRUPTION, "corruption", "bits of frames are turned over")                                  \
    X(DUPLICATION, "duplication", "frames arrive twice")                                           \
    X(JITTER, "jitter", "frames arrive late, and may overtake each other")                         \
    X(ONE_WAY, "one_way", "one direction of a link is dead")                                       \
    X(FLAP, "flap", "a link goes down and up again and again")                                     \
    X(PLANE, "plane", "a plane of a torus, or half of a graph, is cut off")                        \
    X(CUT, "cut", "the operator cuts a cable at one end")                                          \
    X(CRASH, "crash", "a server is gone until the calm")                                           \
    X(RESTART, "restart", "a server is gone, noticed, and comes back as another life")             \
    X(QUICK, "quick", "a server is back before anybody noticed")                                   \
    X(PAUSE, "pause", "a server does nothing for a while")                                         \
    X(CLOCK, "clock", "a server's clock is slow or fast")                                          \
    X(HANG, "hang", "a server does nothing, and the links to it are full")

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
    bool begins; /* else it ends: what began with the same `number` */
    uint32_t number;
    node_id server;
    uint32_t port;   /* of the link that leads out of the server; unused by servers' faults */
    uint64_t amount; /* parts in a million of frames; picoseconds of jitter; a clock's millionths */
};

struct fault_settings {
    uint32_t kinds;  /* bits that may be used */
    psec begin, end; /* of the storm */
    psec silence;    /* after which a link is given up */
    psec hello;
};

struct fault_schedule {
    struct fault *faults; /* by time, then by number, ends before beginnings */
    size_t count, room;
    uint32_t kinds;  /* that this seed uses */
    uint32_t number; /* of faults so far, while it is made */
};

MUST_CHECK enum err fault_schedule_make(struct fault_schedule *schedule, const struct plan *plan,
                                        uint64_t seed, const struct fault_settings *settings,
                                        struct why *why);
void fault_schedule_fini(struct fault_schedule *schedule);

/* "loss,crash" or "all" as bits; names an unknown word in why, and the known ones. */
MUST_CHECK enum err fault_kinds_read(const char *text, uint32_t *kinds, struct why *why);
/* The other way. */
void fault_kinds_write(uint32_t kinds, struct text *out);
