#pragma once
/* stream: the reliable transport between the instances of a service: from a server to a server, or
 * from a server to the root of a key.
 *
 * A stream has a sender and a receiver. It carries messages of any size in order, and resends what
 * is lost. Each message has a checksum from end to end. A stream is bound to one run of the
 * receiving server: if that server restarts, the stream ends with WEFT_STREAM_RESTARTED, and no
 * packet of an old stream ever enters a new one.
 *
 * Sending copies nothing: the service passes memory and leaves it unchanged until the call is done
 * (weft/call.h). done() is called when the receiving service has acknowledged the message, or with
 * a negative errno when the stream ended before. The receiver gets the bytes in pieces, in order,
 * and its memory is bounded: a receiver that takes no more bytes stops the sender of that stream,
 * and no other.
 *
 * A service that uses streams describes them in `streams` of its struct weft_service:
 *
 *     static const struct weft_streams streams = {
 *         .outgoing = 100, .incoming = 100, .arrived = arrived, .ended = ended};
 *
 * The memory of streams counts in the service's budget: about `window` for each incoming stream,
 * touched only when segments have to be kept.
 *
 * The packets of streams have the id of the service, and its share of each link. Streams of one
 * service share that by their weights. intercept() does not see these packets.
 *
 * A call that makes no sense (a stream that has ended or belongs to another service, a call that is
 * under way, no done()) is refused with -EINVAL, and reported as a mistake of the service
 * (weft/service.h).
 *
 * docs/guide/stream.md explains examples/letters.c, a service with streams. */

#include <weft/call.h>
#include <weft/service.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_stream; /* one end of a stream; valid until ended() returns */

/* Why a stream ended. */
enum weft_stream_reason {
    WEFT_STREAM_FINISHED = 1, /* the sender finished it, and all was acknowledged */
    WEFT_STREAM_CANCELLED,    /* one of the services cancelled it */
    WEFT_STREAM_DEADLINE,     /* the deadline that a service set has passed */
    WEFT_STREAM_UNREACHABLE,  /* the other server did not answer for the time `patience` */
    WEFT_STREAM_RESTARTED,    /* the other server has restarted */
    WEFT_STREAM_REFUSED,      /* the service at the other end takes no streams */
    WEFT_STREAM_FULL,         /* the other server has no room for another incoming stream */
    WEFT_STREAM_MOVED,        /* the key has another root now */
    WEFT_STREAM_DAMAGED, /* a message failed its check. Memory that changed while it was sent is
                          * noticed only if a part was sent twice, before and after that */
    WEFT_STREAM_LOST,    /* the other server no longer knows the stream */
};

/* Bytes of a message, as they arrive in one call of arrived(). */
struct weft_stream_piece {
    const void *bytes; /* valid during the call */
    uint32_t size;
    bool last;        /* the message ends with this piece */
    uint64_t message; /* number of the message in its stream, from 0 */
    uint64_t offset;  /* of the piece in its message */
    uint64_t place;   /* of the end of the piece, for weft_stream_acknowledge */
};

/* The streams of a service. Its functions may be NULL, except arrived() if `incoming` is not 0. No
 * function is called from inside a function of this header. */
struct weft_streams {
    uint32_t outgoing; /* how many may be open at once on a server; at most 30,000 */
    uint32_t incoming; /* the same for streams that were opened to this server */
    /* Bytes that may be sent ahead of the receiving service, and that a server keeps for each
     * incoming stream at most; 0 means 256 KiB. It is rounded up to 4, 8, 16, 32, 64, 128 or 256
     * packets. */
    uint32_t window;
    int64_t patience; /* nanoseconds that the other server may be silent; 0 means 10 seconds */
    /* The service acknowledges messages with weft_stream_acknowledge. Otherwise a message is
     * acknowledged as soon as arrived() has taken its last byte. */
    bool acknowledges;
    /* A stream was opened to this server, and its first packet has arrived. */
    void (*opened)(struct weft_self *self, struct weft_stream *stream);
    /* Returns how many bytes of the piece the service takes. If it takes fewer than all, the rest
     * is kept, and arrived() is called again after weft_stream_resume. A piece of size 0 ends an
     * empty message, or one whose last byte was taken before. */
    uint32_t (*arrived)(struct weft_self *self, struct weft_stream *stream,
                        const struct weft_stream_piece *piece);
    /* The root of the key has changed, and the stream goes on with the new root. The old root has
     * acknowledged `messages` messages; all later ones are sent again, from their beginning or, if
     * the receiver acknowledged a part of a message, from there. */
    void (*moved)(struct weft_self *self, struct weft_stream *stream, uint64_t messages);
    /* The stream has ended. At the sender, done() was called before for all calls that were under
     * way. */
    void (*ended)(struct weft_self *self, struct weft_stream *stream,
                  enum weft_stream_reason reason);
    /* Returns where the next `size` bytes of a message go, beginning at that offset: memory for so
     * many bytes. They are checked while they are copied there, which is faster than a copy in
     * arrived(); then arrived() is called with piece->bytes in that place. NULL: arrived() gets the
     * bytes where they are. If the packet proves damaged, arrived() is not called for it, and any
     * bytes may have been written there; so target() may be called for bytes that never come, with
     * the size of another packet. */
    void *(*target)(struct weft_self *self, struct weft_stream *stream, uint64_t message,
                    uint64_t offset, uint32_t size);
};

/* How to open a stream; all zeroes are a good choice. */
struct weft_stream_options {
    uint64_t subject; /* any number; the receiver reads it with weft_stream_subject */
    uint16_t weight;  /* share among the streams of this service on this server; 0 means 1 */
    bool moves;       /* to a key: go on with the new root when the root changes; else end */
    int64_t deadline; /* weft_now() at which the stream ends at the latest; 0: none */
};

/* Open a stream and return it in *stream. -ENOBUFS: `outgoing` streams are open; -EINVAL: no such
 * server, or the service has no streams. If the other server refuses the stream or cannot be
 * reached, ended() reports that later. `options` may be NULL. */
WEFT_API int weft_stream_open_server(struct weft_self *self, weft_server server,
                                     const struct weft_stream_options *options,
                                     struct weft_stream **stream);
WEFT_API int weft_stream_open_key(struct weft_self *self, const struct weft_key *key,
                                  const struct weft_stream_options *options,
                                  struct weft_stream **stream);

/* Sends a message, or a part of it if `more` of the message follows: then the part has at least one
 * byte, and the last one may be empty. The memory stays in place and
 * unchanged until call->done() is called; its result is 0, or a negative errno if the stream ended
 * before the receiver acknowledged the message: -ECANCELED (cancelled), -ETIMEDOUT (deadline),
 * -EHOSTUNREACH (silent), -ECONNRESET (all others). Returns 0; -EPIPE: the stream ends or was
 * finished; -EINVAL: a mistake. */
WEFT_API int weft_stream_send(struct weft_self *self, struct weft_stream *stream,
                              struct weft_call *call, const void *bytes, uint64_t size, bool more);

/* Ends an outgoing stream in order: ended() is called when all messages are acknowledged. Returns
 * 0, -EPIPE or -EINVAL like weft_stream_send. */
WEFT_API int weft_stream_finish(struct weft_self *self, struct weft_stream *stream);

/* Ends a stream of either direction as soon as possible. ended() is called at both ends. */
WEFT_API void weft_stream_cancel(struct weft_self *self, struct weft_stream *stream);

/* An incoming stream of a service with `acknowledges`: acknowledges all bytes up to that place, at
 * most that of the last piece that arrived() got. Bytes that the service has not taken yet are
 * acknowledged when it takes them. */
WEFT_API void weft_stream_acknowledge(struct weft_self *self, struct weft_stream *stream,
                                      uint64_t place);

/* An incoming stream: the service takes bytes again. */
WEFT_API void weft_stream_resume(struct weft_self *self, struct weft_stream *stream);

/* Sets another deadline; 0: none. */
WEFT_API void weft_stream_deadline(struct weft_self *self, struct weft_stream *stream,
                                   int64_t deadline);

WEFT_API bool weft_stream_is_incoming(const struct weft_stream *stream);
/* The server at the other end; WEFT_NOBODY: the root of the key has not answered yet. */
WEFT_API weft_server weft_stream_peer(const struct weft_stream *stream);
WEFT_API uint64_t weft_stream_subject(const struct weft_stream *stream);
/* A number that a stream keeps when it moves to another root. With the server that opened the
 * stream and the number of a message it identifies the message for good. */
WEFT_API uint64_t weft_stream_identity(const struct weft_stream *stream);
/* False: the stream is to a server. */
WEFT_API bool weft_stream_key(const struct weft_stream *stream, struct weft_key *key);
/* A pointer of the service, NULL at the beginning. */
WEFT_API void weft_stream_set_context(struct weft_stream *stream, void *context);
WEFT_API void *weft_stream_context(const struct weft_stream *stream);
/* A name such as "restarted", for people. */
WEFT_API const char *weft_stream_reason(enum weft_stream_reason reason);

#ifdef __cplusplus
}
#endif
