#pragma once
/* wire: one direction of a simulated link: frames go in at one end and come out at the other after
 * their time on the cable, in order, unless it was given faults.
 *
 * A frame of n bytes of packets takes (n + overhead) * 8 / rate, after the frames before it, and
 * then the delay. Beyond `depth` bytes that wait to be sent there is no room; wire_room_at() says
 * when there is again.
 *
 * Packets that are under way are the wire's, linked by `next`, with their moment of arrival in
 * `order`: however many there are, only the first is an event.
 *
 * Conservation: sent + duplicated = received + lost + dead + overrun + flushed + flying. */

#include <stdalign.h>

#include "base/rng.h"
#include "sim/engine/engine.h"
#include "sim/engine/slab.h"

/* Preamble and start 8, header 14, check 4, gap 12: what Ethernet adds to a frame. */
#define WIRE_ETHERNET_OVERHEAD 38
#define WIRE_FRAME_MAX         9000 /* bytes of packets in one frame: a jumbo frame's payload */
#define WIRE_RATE_MIN          1000

struct wire_settings {
    uint64_t rate; /* bits a second; 0: no time at all, and always room */
    psec delay;
    uint32_t overhead; /* bytes a frame */
    uint32_t depth;    /* bytes that may wait to be sent, the frame on its way out too */
    uint32_t buffer;   /* bytes that may be under way or lie unread at the other end; 0: any. Only
                        * an end that does not read (a paused server) ever fills it */
};

/* 1 Gb/s Ethernet over a few metres; two jumbo frames may wait. */
#define WIRE_DEFAULTS                                                                              \
    {                                                                                              \
        .rate = 1000000000, .delay = 1000 * PSEC_PER_NSEC, .overhead = WIRE_ETHERNET_OVERHEAD,     \
        .depth = 18000, .buffer = 4u << 20                                                         \
    }

#define WIRE_PARTS 1000000u /* chances are so many in a million, frame by frame */

struct wire_faults {
    uint32_t loss;
    uint32_t corruption; /* one to four bits of one packet of the frame are turned over */
    uint32_t duplication;
    psec jitter;  /* extra delay, uniform up to this */
    bool reorder; /* jitter may let frames overtake each other */
    bool dead;    /* nothing comes through; the sender does not notice */
};

/* Settings, made ready. Wires that are alike share one. */
struct wire_pace {
    uint64_t byte_time; /* picoseconds of a byte, 16 bits behind the point */
    psec delay;
    psec depth_time;
    uint32_t overhead;
    uint32_t buffer;
};

/* Packets, but for the frames. */
struct wire_counts {
    uint64_t frames, sent, bytes; /* bytes with overhead: the time on the cable */
    uint64_t received, flying;
    uint64_t lost, dead, overrun, flushed;
    uint64_t duplicated, corrupted;
    uint64_t full; /* times that there was no room */
};

/* A world has thousands of them: what each packet touches is one line of the cache. */
struct wire {
    alignas(64) struct packet *first; /* under way ... */
    struct packet *last;              /* ... and the one behind which the next goes */
    psec free_at;                     /* the last frame has left by then */
    const struct wire_pace *pace;
    uint32_t flying_bytes; /* of packets */
    bool asked;            /* somebody waits for room */
    bool faulty;
    bool odd;                       /* faulty, or it was: something may arrive late */
    bool stuck;                     /* there is no room until somebody says so */
    uint64_t sent, received, bytes; /* as in wire_counts */
    uint64_t joined;                /* packets in a frame that another began; here a line ends */
    uint64_t lost, dead, overrun, flushed, duplicated, corrupted, full;
    struct wire_faults faults;
    struct rng rng; /* of the faults */
    struct slab_pool *pool;
    struct wire_pace own; /* of wire_set */
};

struct wire_pace wire_pace_make(const struct wire_settings *settings);

/* Pace and pool are borrowed; the pool is for duplicates. Seed and stream are of the faults. */
void wire_init(struct wire *wire, const struct wire_pace *pace, struct slab_pool *pool,
               uint64_t seed, uint64_t stream);
void wire_fini(struct wire *wire); /* gives back what is under way */

/* From now on; what is under way stays so. All zero: none. */
void wire_set_faults(struct wire *wire, const struct wire_faults *faults);
void wire_set(struct wire *wire, const struct wire_settings *settings);

/* Bytes that a frame may have now; 0: none, and `asked` is set. */
uint32_t wire_room(struct wire *wire, psec now);
/* When there is room, if nobody sends before; PSEC_NEVER: it is stuck. */
psec wire_room_at(const struct wire *wire);

/* Takes the packets as one frame. */
void wire_send(struct wire *wire, psec now, struct packet *const *packets, unsigned count);

/* When the next packet arrives or did; PSEC_NEVER: nothing is under way. */
static inline psec wire_next(const struct wire *wire)
{
    return wire->first ? wire->first->order : PSEC_NEVER;
}

/* Those that have arrived by now, in order. */
unsigned wire_receive(struct wire *wire, psec now, struct packet **out, unsigned most);

/* Loses what has arrived by now: the end that would read is gone. Counted as flushed. */
void wire_lose(struct wire *wire, psec now);
/* Loses all that is under way: the cable was pulled. */
static inline void wire_flush(struct wire *wire)
{
    wire_lose(wire, PSEC_NEVER);
}

void wire_count(const struct wire *wire, struct wire_counts *counts);
void wire_count_add(const struct wire *wire, struct wire_counts *sum); /* adds to what is there */
void wire_check(const struct wire *wire); /* asserts the conservation above */
