#pragma once
/* weft: a program uses the services of a cluster, through a server that runs on its machine.
 *
 *     struct weft_attachment *weft;
 *     char answer[64];
 *
 *     weft_attach(NULL, WEFT_ANY, 0, &weft);
 *     int counter = weft_find(weft, "counter", weft_deadline(1000000000));
 *     int size = weft_ask(weft, counter, "+visits", 7, answer, sizeof answer,
 *                         weft_deadline(1000000000));
 *
 * A program *attaches* to a server: it connects to the server's socket, and shares memory with the
 * server where the system permits that. It sends *requests* to services, which are named by
 * numbers; weft_find looks up a number by the service's name. weft_ask waits for the answer.
 * weft_post does not: the answer comes later, with the same *ticket*, and weft_take returns it. A
 * service may also send *events*, for which the program did not ask. Requests and answers have any
 * content up to WEFT_MESSAGE_MAX bytes; what they mean is up to the service.
 *
 * When the server ends, requests under way end with -ECONNRESET: the service may or may not have
 * handled them. The library attaches again as soon as the server is back: it tries after 50 ms, and
 * then ever less often, up to once a second, in calls that wait and when weft_attachment_fd is
 * readable. What services know of the program is lost then, so that a program that wants events
 * asks for them again after WEFT_BACK.
 *
 * Rules for every call:
 *  - A call returns >= 0 or a negative errno, which weft_strerror explains. Nothing that a server
 *    does makes the library print, assert or exit.
 *  - A deadline is absolute, in nanoseconds of CLOCK_MONOTONIC: weft_deadline(n) is in n
 *    nanoseconds. WEFT_NOW means: do not wait. WEFT_FOREVER means: never time out. A call returns
 *    -ETIMEDOUT when its deadline has passed, and -EAGAIN when it would have to wait but the
 *    deadline is WEFT_NOW.
 *  - All calls may be made from any thread, except weft_detach: no other thread may be in a call on
 *    the same attachment then. While several threads wait, one of them receives for all. Threads
 *    that need full speed have an attachment each.
 *  - A child of fork() cannot use its parent's attachments: every call returns -ECHILD and changes
 *    nothing. The child may attach by itself. The library's descriptors are closed in the child
 *    before fork() returns there.
 *
 * man 7 weft-attach explains more; docs/guide/program.md explains examples/ask.c. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_PROGRAM_API __attribute__((visibility("default")))

#define WEFT_NOW     ((int64_t)0)
#define WEFT_FOREVER INT64_MAX
#define WEFT_ANY     UINT32_MAX /* instead of a server's number */

#ifndef WEFT_MESSAGE_MAX
#define WEFT_MESSAGE_MAX 65536 /* bytes of a request or of an answer */
#endif

struct weft_attachment;

WEFT_PROGRAM_API int64_t
weft_deadline(int64_t duration); /* nanoseconds from now; never overflows */
/* Returns the text for a negative result. Never NULL. */
WEFT_PROGRAM_API const char *weft_strerror(int error);

/* ---- attaching ---- */

enum weft_attach_flag {
    WEFT_BY_SOCKET = 1, /* share no memory: slower, but the program's memory stays its own */
};

/* Attaches to that server of the cluster with that run directory. NULL means the directory that the
 * command weft uses: WEFT_DIR, or the folder weft in XDG_RUNTIME_DIR, or /tmp/weft-UID. With
 * WEFT_ANY it is the first server there that accepts the program; if the directory is NULL, too,
 * and WEFT_NODE names the socket of a server, it is that server. Waits up to 5 s for the server.
 *
 * -ENOENT, -ECONNREFUSED: no server runs there; -EUSERS: too many programs are attached to the
 * server; -EMFILE: the server, or this process, has no descriptors left; -EPROTONOSUPPORT: the
 * server runs another version of weft; -ETIMEDOUT: the server is hung. */
WEFT_PROGRAM_API int weft_attach(const char *dir, uint32_t server, unsigned flags,
                                 struct weft_attachment **attachment);
/* Detaches and frees everything. Requests under way are abandoned. */
WEFT_PROGRAM_API int weft_detach(struct weft_attachment *attachment);

struct weft_attachment_state {
    uint32_t server; /* its number */
    uint32_t up;     /* 1: attached; 0: the server is gone, and is not back yet */
    uint32_t memory; /* 1: requests and answers go through shared memory; 0: through the socket */
    uint32_t under_way;  /* posted requests without an answer yet */
    uint64_t reattached; /* how often the server was gone and is back */
    uint64_t dropped;    /* events that the program took too late: see weft_take */
};

WEFT_PROGRAM_API int weft_attachment_state(struct weft_attachment *attachment,
                                           struct weft_attachment_state *state);

/* ---- requests and answers ---- */

/* Returns the number of the service with that name. -ENOENT: the server does not run it. */
WEFT_PROGRAM_API int weft_find(struct weft_attachment *attachment, const char *name,
                               int64_t deadline);

/* Sends a request, waits for the answer, and returns its size. While the server is gone, waits for
 * its return before it sends.
 *
 * -ENOENT: the server does not run that service; -ECONNRESET: the server ended before it answered;
 * -EMSGSIZE: the request is larger than WEFT_MESSAGE_MAX, or the answer is larger than `room` (the
 * first `room` bytes are in `answer`). After -ETIMEDOUT the answer, if it still comes, is dropped.
 */
WEFT_PROGRAM_API int weft_ask(struct weft_attachment *attachment, uint32_t service,
                              const void *request, size_t size, void *answer, size_t room,
                              int64_t deadline);

/* Sends a request without waiting for the answer. *ticket is the number that the answer repeats,
 * never 0. A NULL ticket means that no answer is expected. Waits until the deadline for room, and
 * for the return of a server that is gone. -ENOTCONN: the server is gone, and the deadline is
 * WEFT_NOW; -EMSGSIZE: the request is larger than WEFT_MESSAGE_MAX. */
WEFT_PROGRAM_API int weft_post(struct weft_attachment *attachment, uint32_t service,
                               const void *request, size_t size, uint64_t *ticket,
                               int64_t deadline);

enum weft_message_kind {
    WEFT_ANSWER = 1, /* to the request with that ticket. A service may send several */
    WEFT_EVENT,      /* of that service; the ticket is 0 */
    WEFT_ENDED,      /* the request has ended without an answer; `result` says why */
    WEFT_LOST,       /* the server is gone. WEFT_ENDED follows for each request under way */
    WEFT_BACK,       /* attached again */
};

struct weft_message {
    uint32_t kind;    /* of enum weft_message_kind */
    int32_t result;   /* WEFT_ENDED: -ENOENT: no such service; -ECONNRESET: the server is gone */
    uint64_t ticket;  /* of the request; 0: none */
    uint32_t service; /* the service that answered or sent the event */
    uint32_t size;    /* bytes */
};

/* Takes the next message that is not the answer to a weft_ask, and returns 1. -EMSGSIZE: it is
 * larger than `room`; message->size says how large, and the message stays. Messages wait in the
 * server until a call receives them; if weft_ask receives events that no weft_take has fetched, the
 * library keeps up to 4,096 of them, and then drops the newest. */
WEFT_PROGRAM_API int weft_take(struct weft_attachment *attachment, struct weft_message *message,
                               void *bytes, size_t room, int64_t deadline);

/* ---- event loops ---- */

/* Returns a descriptor that becomes readable when weft_take has something to return, or the library
 * has other work to do, once it is armed. It belongs to the attachment, and stays the same when the
 * library attaches again. Call weft_take with WEFT_NOW until it returns -EAGAIN, then
 * weft_attachment_arm, and sleep only if that returns 0. */
WEFT_PROGRAM_API int weft_attachment_fd(struct weft_attachment *attachment);
/* Returns 0, or -EAGAIN: a message has come in the meantime. */
WEFT_PROGRAM_API int weft_attachment_arm(struct weft_attachment *attachment);

#ifdef __cplusplus
}
#endif
