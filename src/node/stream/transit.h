#pragma once
/* transit: the sender's window: which segments are sent, received, or lost, and how many more may
 * be sent. Pure.
 *
 * Packets of a stream take many paths and arrive in any order, so a gap is no loss. A segment
 * counts as lost when a segment that was transmitted later has been received, and the round trip
 * time and the *reorder time* have passed since its own transmission. The reorder time is half a
 * round trip, and grows each time the receiver reports that a segment arrived twice. If no answer
 * comes at all, the first segment is sent again after the retransmission timeout, which doubles
 * each time; the answer then shows what else is lost.
 *
 * At most `window` segments are unacknowledged, at most those before `limit` are sent (the
 * receiver's credit), and at most `allowed` are on their way (congestion). `allowed` grows by one
 * for each segment received until the first loss, later by one per round trip. A loss reduces it to
 * 7/10, once per round trip. A segment that waited in a long queue on its way (`marks` of the
 * report) reduces it as well: if all segments of a round trip waited, to one half; if a part of
 * them waited, by that part of one half. So queues stay short, and few packets are lost. */

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"
#include "node/stream/segment.h"

#define TRANSIT_TIMEOUT_MIN   (4 * 1000 * 1000LL)
#define TRANSIT_TIMEOUT_MAX   (1000 * 1000 * 1000LL)
#define TRANSIT_TIMEOUT_FIRST (50 * 1000 * 1000LL)
#define TRANSIT_ALLOWED_FIRST 16
#define TRANSIT_ALLOWED_MIN   2

enum transit_state {
    TRANSIT_OUT,      /* on its way */
    TRANSIT_RECEIVED, /* a segment before it is not */
    TRANSIT_LOST,     /* to be sent again */
};

struct transit_segment {
    void *call;      /* where its bytes are */
    uint64_t offset; /* ... from there */
    uint32_t size;
    uint8_t flags;
    uint8_t state;
    bool again;      /* it was sent more than once: its round trip time is unknown */
    uint64_t check;  /* of its message, without this segment */
    uint64_t digest; /* of its bytes; 0: no port has sent it yet */
    uint64_t order;  /* number of its last transmission */
    env_nsec sent_at;
};

struct transit {
    struct transit_segment *segments; /* borrowed: `window` of them */
    uint32_t window;                  /* a power of two */
    uint32_t out, lost;               /* segments in these states */
    uint64_t base;                    /* the first that is not received */
    uint64_t next;                    /* the next new one */
    uint64_t limit;
    uint64_t order;        /* of the next transmission */
    uint64_t newest;       /* transmission: the latest that was received, plus 1 */
    uint64_t again_end;    /* all that were sent more than once are before this segment */
    uint64_t reduced;      /* transmissions before it do not reduce `allowed` again */
    uint32_t allowed;      /* in 1/256 segments */
    uint32_t threshold;    /* below it `allowed` grows fast; the same unit */
    uint32_t repeats;      /* as the receiver reported */
    uint32_t marks;        /* the same */
    uint64_t round_end;    /* a round trip ends when a transmission from here on was received */
    uint32_t round_marks;  /* segments of this round trip that were marked ... */
    uint32_t round_count;  /* ... and received */
    uint32_t reorder;      /* reorder time in eighths of a round trip */
    bool probing;          /* one segment may exceed `allowed` */
    unsigned silent;       /* timeouts since the last answer */
    env_nsec trip, spread; /* round trip time and its mean deviation; trip 0: unknown */
    env_nsec timer;        /* when transit_expire has work; ENV_NEVER */
    uint64_t resent;
};

/* `segments` has room for `window` segments, a power of two of at most SEGMENT_WINDOW_MAX. */
void transit_init(struct transit *transit, struct transit_segment *segments, uint32_t window,
                  uint64_t limit);

/* The next segment that is to be sent again; NULL: none, or none may be sent now. */
struct transit_segment *transit_again(const struct transit *transit, uint64_t *sequence);
/* May a new segment be sent? */
bool transit_has_room(const struct transit *transit);
/* Adds a new segment, which the caller fills and then sends. */
struct transit_segment *transit_add(struct transit *transit, uint64_t *sequence);
/* That segment leaves now, for the first time or again. */
void transit_sent(struct transit *transit, uint64_t sequence, env_nsec now);

/* The receiver reports. False: the report makes no sense, and was ignored. */
bool transit_answered(struct transit *transit, const struct segment_ack *ack, env_nsec now);
/* Call it at transit->timer. */
void transit_expire(struct transit *transit, env_nsec now);

void transit_check(const struct transit *transit); /* asserts its invariants */
