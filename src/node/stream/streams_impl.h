#pragma once
/* streams_impl: the structs of streams, for the files of this folder. */

#include "node/stream/assembly.h"
#include "node/stream/moments.h"
#include "node/stream/streams.h"
#include "node/stream/transit.h"
#include "node/stream/turns.h"

#define STREAMS_MAX       30000 /* of each direction */
#define STREAM_BITS       16    /* of a stream's number in its id */
#define PROBE_NSEC        (1000 * 1000 * 1000LL)
#define PROBE_SOON_NSEC   (50 * 1000 * 1000LL)
#define PATIENCE_NSEC     (10 * 1000 * 1000 * 1000LL)
#define OPEN_NSEC         (20 * 1000 * 1000LL) /* until the first OPEN is repeated */
#define OPEN_NSEC_CROWDED (2 * 1000 * 1000LL)  /* until OPEN is tried again that was not sent */
#define OPEN_NSEC_MAX     (500 * 1000 * 1000LL)
#define STARVED_NSEC      (1000 * 1000LL) /* without packet buffers: try again after this time */
#define STREAM_NOTHING    UINT32_MAX

enum stream_state {
    STREAM_FREE,
    STREAM_OPENING, /* outgoing: OPEN was sent */
    STREAM_OPEN,
    STREAM_ENDING, /* streams_run tells the service */
};

/* The words of weft_call.reserved while a call is under way. */
struct stream_call {
    struct weft_call *next;
    const uint8_t *bytes;
    uint64_t size;
    uint64_t end; /* the place after it */
    uint64_t more;
    uint64_t token; /* marks a call under way (calls.c) */
};
static_assert(sizeof(struct stream_call) <= sizeof((struct weft_call *)0)->reserved,
              "a call has room for it");

/* A *place* in a stream counts the bytes and the ends of messages before it. */

struct stream_outgoing {
    struct transit transit;
    struct weft_call *first; /* not acknowledged, in order */
    struct weft_call **end;  /* where the next is linked */
    struct weft_call *cut;   /* the call that the next new segment is from; NULL: all are cut */
    uint64_t cut_offset;
    uint64_t cut_place; /* of the end of the last segment */
    uint64_t added;     /* the place after the last call */
    uint64_t place;     /* acknowledged by the receiving service */
    uint64_t messages;  /* the same, in messages ... */
    uint64_t part;      /* ... and bytes of the next message in calls that are done */
    uint64_t check;     /* of the message that is being cut, so far */
    bool behind;        /* ... without the segment that was cut last */
    env_nsec open_at;   /* when OPEN is sent again */
    env_nsec open_wait;
    env_nsec probe_wait; /* while all is received and not acknowledged */
    bool moves;
    bool finish; /* the service has finished it */
    bool finish_sent;
    bool told_moved; /* false: moved() is to be called */
};

struct stream_incoming {
    struct assembly assembly;
    uint64_t message, offset; /* of the next byte for the service */
    uint64_t place;           /* the same, as a place */
    uint64_t offered;         /* the largest place that arrived() was called for */
    uint64_t acknowledged;    /* by the service; what lies beyond `place` counts when it is taken */
    uint64_t check;           /* of the message that is being received, so far */
    uint32_t marks;           /* segments that waited in a long queue */
    bool told;                /* the service knows the stream */
    bool stalled;             /* the service took less than all */
    bool answer;              /* an ACK is to be sent */
};

struct weft_stream {
    uint8_t state; /* enum stream_state; its writers are ends_begin, ends_end, ends_free and
                    * the ACCEPT of an outgoing stream */
    uint8_t reason;
    bool is_incoming;
    bool to_key;
    uint16_t weight;
    uint32_t number;
    uint32_t next_free; /* while it is free; STREAM_NOTHING: the last */
    uint32_t next_same; /* incoming: the next stream in the same bucket; STREAM_NOTHING: none */
    node_id peer;       /* NODE_NONE: the root has not answered yet */
    uint64_t id;        /* ours; kept after the end */
    struct segment_end other; /* the peer's */
    struct key key;
    uint64_t route;
    uint64_t subject, identity;
    env_nsec heard_at, probed_at;
    env_nsec deadline; /* ENV_NEVER: none */
    void *context;
    union {
        struct stream_outgoing out;
        struct stream_incoming in;
    };
};

struct stream_list {
    uint32_t first, last; /* free streams, in the order in which they ended */
};

struct streams {
    const struct weft_streams *settings;
    struct streams_host *host;
    uint64_t run;
    uint64_t generation;
    env_nsec patience;
    env_nsec probe;  /* an end that hears nothing for this long asks */
    uint32_t window; /* segments */
    uint32_t count;  /* streams; outgoing ones first */
    uint32_t live;
    struct weft_stream *streams;
    struct stream_list free[2]; /* outgoing, incoming */
    uint32_t *buckets;          /* incoming streams by the other end: the first of each bucket */
    uint32_t bucket_mask;
    struct transit_segment *transits;
    struct assembly_segment *assemblies;
    uint8_t *memory; /* of the assemblies */
    struct turns turns;
    struct moments moments;
    bool starved; /* a packet could not be made */
    env_nsec starved_until;
    env_nsec here_at; /* when packets to streams of this server may leave */
    struct streams_counts counts;
};

static inline struct stream_call *stream_call_of(struct weft_call *call)
{
    return (struct stream_call *)(void *)call->reserved;
}

static inline bool end_is(const struct segment_end *one, const struct segment_end *other)
{
    return one->run == other->run && one->stream == other->stream;
}

/* ends.c */
/* Takes a free stream; NULL: none is free. The time of its silence begins now. */
struct weft_stream *ends_begin(struct streams *streams, bool incoming);
/* Ends the stream: streams_run then tells the service. `tell`: also sends END to the other end. */
void ends_end(struct streams *streams, struct weft_stream *stream, enum weft_stream_reason reason,
              bool tell);
void ends_free(struct streams *streams, struct weft_stream *stream);
/* Sends a segment that is not DATA, addressed to that stream's peer. */
void ends_tell(struct streams *streams, const struct weft_stream *stream, struct segment *segment);
/* Answers a packet for a stream that is not here. */
void ends_answer(struct streams *streams, node_id source, const struct segment *segment,
                 enum weft_stream_reason reason);
/* The timer of the stream is due at that time or earlier. */
void ends_due(struct streams *streams, const struct weft_stream *stream, env_nsec at);
/* The stream has something to send, or no longer has. */
void ends_ready(struct streams *streams, struct weft_stream *stream, bool ready);
/* Makes a packet of that segment. NULL: no buffer left. */
struct packet *ends_packet(struct streams *streams, struct segment *segment);
/* The same for DATA, whose bytes are at `bytes`. segment->check is that of the segments before it.
 * The digest of the bytes is written to `digest` before the packet leaves. */
struct packet *ends_packet_data(struct streams *streams, struct segment *segment,
                                const uint8_t *bytes, uint64_t *digest, bool gather);

/* outgoing.c */
void outgoing_open(struct streams *streams, struct weft_stream *stream); /* sends OPEN */
void outgoing_accepted(struct streams *streams, struct weft_stream *stream, node_id source,
                       const struct segment *segment);
void outgoing_answered(struct streams *streams, struct weft_stream *stream,
                       const struct segment_ack *ack);
/* The root of its key has changed or is gone: the stream moves or ends. */
void outgoing_lost(struct streams *streams, struct weft_stream *stream,
                   enum weft_stream_reason reason);
void outgoing_follow(struct streams *streams, struct weft_stream *stream);
env_nsec outgoing_run(struct streams *streams, struct weft_stream *stream); /* returns when next */
struct packet *outgoing_poll(struct streams *streams, struct weft_stream *stream, uint32_t room,
                             bool gather);
/* All calls are done, with that result. */
void outgoing_done(struct streams *streams, struct weft_stream *stream, int64_t result);

/* incoming.c */
/* An incoming stream has ended: its other end is forgotten. */
void incoming_forget(struct streams *streams, struct weft_stream *stream);
void incoming_open(struct streams *streams, const struct packet *packet,
                   const struct segment *segment);
/* Sets the digest of DATA that has not been checked yet; copies its bytes to the target of the
 * service if they are the next of that stream. */
void incoming_digest(struct streams *streams, struct weft_stream *stream, struct segment *segment);
void incoming_data(struct streams *streams, struct weft_stream *stream,
                   const struct segment *segment);
/* Tells the service of the stream if it does not know it yet. */
void incoming_tell(struct streams *streams, struct weft_stream *stream);
/* An ACK is to be sent. */
void incoming_answer(struct streams *streams, struct weft_stream *stream);
/* Offers the service what is kept. */
void incoming_offer(struct streams *streams, struct weft_stream *stream);
struct packet *incoming_poll(struct streams *streams, struct weft_stream *stream, uint32_t room);
