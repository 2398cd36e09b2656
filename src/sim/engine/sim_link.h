#pragma once
/* sim_link: one direction of a simulated link: frames enter at one end and leave at the other after
 * their time on the cable, in order unless faults are set.
 *
 * A frame of n bytes of packets takes (n + overhead) * 8 / rate, after the frames before it, and
 * then the delay. Beyond `depth` bytes that wait to be sent there is no room; sim_link_room_at()
 * returns when there is room again.
 *
 * The link owns the packets in flight. They are linked by `next` and have their moment of arrival
 * in `order`; only the first of them is an event.
 *
 * Conservation: sent + duplicated = received + lost + dead + overrun + flushed + flying. */

#include <stdalign.h>

#include "base/rng.h"
#include "sim/engine/engine.h"
#include "sim/engine/slab.h"

/* What Ethernet adds to a frame: preamble and start 8, header 14, check 4, gap 12. */
#define SIM_LINK_ETHERNET_OVERHEAD 38
/* Bytes of packets in one frame: a jumbo frame's payload. */
#define SIM_LINK_FRAME_MAX 9000
#define SIM_LINK_RATE_MIN  1000

struct sim_link_settings {
    uint64_t rate; /* bits per second; 0: takes no time, and always has room */
    psec delay;
    uint32_t overhead; /* bytes per frame */
    uint32_t depth;    /* bytes that may wait to be sent, with the frame that is leaving */
    uint32_t buffer;   /* bytes that may be in flight or unread at the other end; 0: no limit.
                        * Only an end that does not read (a paused server) fills it */
};

/* 1 Gb/s Ethernet over a few metres; two jumbo frames may wait. */
#define SIM_LINK_DEFAULTS                                                                          \
    {                                                                                              \
        .rate = 1000000000, .delay = 1000 * PSEC_PER_NSEC, .overhead = SIM_LINK_ETHERNET_OVERHEAD, \
        .depth = 18000, .buffer = 4u << 20                                                         \
    }

#define SIM_LINK_PARTS 1000000u /* chances are given in millionths, per frame */

struct sim_link_faults {
    uint32_t loss;
    uint32_t corruption; /* one to four bits of one packet of the frame are flipped */
    uint32_t duplication;
    psec jitter;  /* extra delay, uniform up to this */
    bool reorder; /* jitter may let frames overtake each other */
    psec late;    /* extra delay of the frames that `lateness` selects, uniform up to this; other
                   * frames overtake them */
    uint32_t lateness;
    bool dead; /* nothing arrives; the sender does not notice */
};

/* Settings in precomputed form. Equal links share one. */
struct sim_link_pace {
    uint64_t byte_time; /* picoseconds per byte, with 16 fractional bits */
    psec delay;
    psec depth_time;
    uint32_t overhead;
    uint32_t buffer;
};

/* Counts packets, except `frames`. */
struct sim_link_counts {
    uint64_t frames, sent, bytes; /* bytes with overhead: the time on the cable */
    uint64_t received, flying;
    uint64_t lost, dead, overrun, flushed;
    uint64_t duplicated, corrupted;
    uint64_t full; /* how often there was no room */
};

/* A world has thousands of links: each packet touches only the first cache line. */
struct sim_link {
    alignas(64) struct packet *first; /* in flight */
    struct packet *last;              /* the last one in flight */
    psec free_at;                     /* when the last frame has left */
    const struct sim_link_pace *pace;
    uint32_t flying_bytes; /* of packets in flight */
    bool asked;            /* a node waits for room */
    bool faulty;
    bool odd;                       /* faulty now or before: a packet may arrive late */
    bool stuck;                     /* there is no room until this is cleared */
    uint64_t sent, received, bytes; /* as in sim_link_counts */
    uint64_t joined; /* packets in a frame after its first; the cache line ends here */
    uint64_t lost, dead, overrun, flushed, duplicated, corrupted, full;
    struct sim_link_faults faults;
    bool overtakes; /* frames may overtake those that arrive late */
    struct rng rng; /* for the faults */
    struct slab_pool *pool;
    struct sim_link_pace own; /* set by sim_link_set */
};

struct sim_link_pace sim_link_pace_make(const struct sim_link_settings *settings);

/* Pace and pool are borrowed; duplicates come from the pool. Seed and stream are for the faults. */
void sim_link_init(struct sim_link *link, const struct sim_link_pace *pace, struct slab_pool *pool,
                   uint64_t seed, uint64_t stream);
void sim_link_fini(struct sim_link *link); /* releases the packets in flight */

/* Applies from now on; packets in flight are not affected. All zero: no faults. */
void sim_link_set_faults(struct sim_link *link, const struct sim_link_faults *faults);
void sim_link_set(struct sim_link *link, const struct sim_link_settings *settings);

/* Bytes that a frame may have now; 0: no room, and `asked` is set. */
uint32_t sim_link_room(struct sim_link *link, psec now);
/* The moment when there is room if nothing is sent before; PSEC_NEVER: the link is stuck. */
psec sim_link_room_at(const struct sim_link *link);

/* Sends the packets as one frame, and takes them. */
void sim_link_send(struct sim_link *link, psec now, struct packet *const *packets, unsigned count);

/* When the next packet arrives or has arrived; PSEC_NEVER: none is in flight. */
static inline psec sim_link_next(const struct sim_link *link)
{
    return link->first ? link->first->order : PSEC_NEVER;
}

/* Returns packets that have arrived by now, in order. */
unsigned sim_link_receive(struct sim_link *link, psec now, struct packet **out, unsigned most);

/* Loses the packets that have arrived by now, because the reading end is gone. Counted as
 * flushed. */
void sim_link_lose(struct sim_link *link, psec now);
/* Loses all packets in flight: the cable was pulled. */
static inline void sim_link_flush(struct sim_link *link)
{
    sim_link_lose(link, PSEC_NEVER);
}

void sim_link_count(const struct sim_link *link, struct sim_link_counts *counts);
/* Adds to the sum. */
void sim_link_count_add(const struct sim_link *link, struct sim_link_counts *sum);
void sim_link_check(const struct sim_link *link); /* asserts the conservation above */
