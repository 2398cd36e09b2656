#pragma once
/* sim_link: one direction of a simulated link: frames go in at one end and come out at the other
 * after their time on the cable, in order, unless it was given faults.
 *
 * A frame of n bytes of packets takes (n + overhead) * 8 / rate, after the frames before it, and
 * then the delay. Beyond `depth` bytes that wait to be sent there is no room; sim_link_room_at()
 * says when there is again.
 *
 * Packets that are under way are the link's, linked by `next`, with their moment of arrival in
 * `order`: however many there are, only the first is an event.
 *
 * Conservation: sent + duplicated = received + lost + dead + overrun + flushed + flying. */

#include <stdalign.h>

#include "base/rng.h"
#include "sim/engine/engine.h"
#include "sim/engine/slab.h"

/* Preamble and start 8, header 14, check 4, gap 12: what Ethernet adds to a frame. */
#define SIM_LINK_ETHERNET_OVERHEAD 38
#define SIM_LINK_FRAME_MAX         9000 /* bytes of packets in one frame: a jumbo frame's payload */
#define SIM_LINK_RATE_MIN          1000

struct sim_link_settings {
    uint64_t rate; /* bits a second; 0: no time at all, and always room */
    psec delay;
    uint32_t overhead; /* bytes a frame */
    uint32_t depth;    /* bytes that may wait to be sent, the frame on its way out too */
    uint32_t buffer;   /* bytes that may be under way or lie unread at the other end; 0: any. Only
                        * an end that does not read (a paused server) ever fills it */
};

/* 1 Gb/s Ethernet over a few metres; two jumbo frames may wait. */
#define SIM_LINK_DEFAULTS                                                                          \
    {                                                                                              \
        .rate = 1000000000, .delay = 1000 * PSEC_PER_NSEC, .overhead = SIM_LINK_ETHERNET_OVERHEAD, \
        .depth = 18000, .buffer = 4u << 20                                                         \
    }

#define SIM_LINK_PARTS 1000000u /* chances are so many in a million, frame by frame */

struct sim_link_faults {
    uint32_t loss;
    uint32_t corruption; /* one to four bits of one packet of the frame are turned over */
    uint32_t duplication;
    psec jitter;  /* extra delay, uniform up to this */
    bool reorder; /* jitter may let frames overtake each other */
    bool dead;    /* nothing comes through; the sender does not notice */
};

/* Settings, made ready. Wires that are alike share one. */
struct sim_link_pace {
    uint64_t byte_time; /* picoseconds of a byte, 16 bits behind the point */
    psec delay;
    psec depth_time;
    uint32_t overhead;
    uint32_t buffer;
};

/* Packets, but for the frames. */
struct sim_link_counts {
    uint64_t frames, sent, bytes; /* bytes with overhead: the time on the cable */
    uint64_t received, flying;
    uint64_t lost, dead, overrun, flushed;
    uint64_t duplicated, corrupted;
    uint64_t full; /* times that there was no room */
};

/* A world has thousands of them: what each packet touches is one line of the cache. */
struct sim_link {
    alignas(64) struct packet *first; /* under way ... */
    struct packet *last;              /* ... and the one behind which the next goes */
    psec free_at;                     /* the last frame has left by then */
    const struct sim_link_pace *pace;
    uint32_t flying_bytes; /* of packets */
    bool asked;            /* somebody waits for room */
    bool faulty;
    bool odd;                       /* faulty, or it was: something may arrive late */
    bool stuck;                     /* there is no room until somebody says so */
    uint64_t sent, received, bytes; /* as in sim_link_counts */
    uint64_t joined;                /* packets in a frame that another began; here a line ends */
    uint64_t lost, dead, overrun, flushed, duplicated, corrupted, full;
    struct sim_link_faults faults;
    struct rng rng; /* of the faults */
    struct slab_pool *pool;
    struct sim_link_pace own; /* of sim_link_set */
};

struct sim_link_pace sim_link_pace_make(const struct sim_link_settings *settings);

/* Pace and pool are borrowed; the pool is for duplicates. Seed and stream are of the faults. */
void sim_link_init(struct sim_link *link, const struct sim_link_pace *pace, struct slab_pool *pool,
                   uint64_t seed, uint64_t stream);
void sim_link_fini(struct sim_link *link); /* gives back what is under way */

/* From now on; what is under way stays so. All zero: none. */
void sim_link_set_faults(struct sim_link *link, const struct sim_link_faults *faults);
void sim_link_set(struct sim_link *link, const struct sim_link_settings *settings);

/* Bytes that a frame may have now; 0: none, and `asked` is set. */
uint32_t sim_link_room(struct sim_link *link, psec now);
/* When there is room, if nobody sends before; PSEC_NEVER: it is stuck. */
psec sim_link_room_at(const struct sim_link *link);

/* Takes the packets as one frame. */
void sim_link_send(struct sim_link *link, psec now, struct packet *const *packets, unsigned count);

/* When the next packet arrives or did; PSEC_NEVER: nothing is under way. */
static inline psec sim_link_next(const struct sim_link *link)
{
    return link->first ? link->first->order : PSEC_NEVER;
}

/* Those that have arrived by now, in order. */
unsigned sim_link_receive(struct sim_link *link, psec now, struct packet **out, unsigned most);

/* Loses what has arrived by now: the end that would read is gone. Counted as flushed. */
void sim_link_lose(struct sim_link *link, psec now);
/* Loses all that is under way: the cable was pulled. */
static inline void sim_link_flush(struct sim_link *link)
{
    sim_link_lose(link, PSEC_NEVER);
}

void sim_link_count(const struct sim_link *link, struct sim_link_counts *counts);
void sim_link_count_add(const struct sim_link *link,
                        struct sim_link_counts *sum); /* adds to what is there */
void sim_link_check(const struct sim_link *link);     /* asserts the conservation above */
