#pragma once
/* window: the requests of one store that are under way, and the answers that wait to be taken.
 * Pure: it neither sends nor looks at the clock.
 *
 * Servers remember what the last STORE_WINDOW requests of a client were answered. So a request gets
 * a number only when the one that is lower by that much has ended. */

#include <weft/store.h>

#include "base/list.h"
#include "wire/scan.h"
#include "wire/store.h"
#include "wire/store_parts.h"

static_assert(WEFT_STORE_UNDER_WAY == STORE_WINDOW, "servers remember as many requests");
static_assert(WEFT_STORE_TTL_MAX == (int64_t)STORE_TTL_MAX, "servers take the same");

/* A request with a large value (wire/store_parts.h). */
enum pending_stage {
    PENDING_WHOLE,   /* it is not large, or is not begun yet */
    PENDING_OPENED,  /* the server is asked for an upload */
    PENDING_SENDING, /* the parts are being sent */
    PENDING_SENT,    /* all were, and the last one is under way */
};

struct pending {
    struct list link; /* of `open` or `ended` */
    struct store_request request;
    bool scans;               /* WEFT_STORE_SCAN: of `request` only the numbers count, and ... */
    struct scan_request scan; /* ... this is sent */
    int refusal;              /* the last one of a scan that is sent again; 0: none */
    uint64_t post;            /* the ticket of the message under way; 0: none is */
    int64_t deadline;
    int64_t send_at;   /* no message is under way: when to send one */
    int64_t answer_by; /* one is: a server that works answers it until then */
    unsigned sent;     /* messages that a server may have received */
    bool ended;
    enum pending_stage stage;
    bool opened;     /* some server was asked for an upload */
    uint64_t upload; /* its name */
    uint32_t part;   /* of the value: where the next part to send begins, or the one to come */
    struct weft_store_answer answer;
    uint8_t *value;  /* of a GET that has ended, or of which a part has come; owned */
    uint8_t bytes[]; /* the key and the value */
};

struct window {
    struct pending *slots[STORE_WINDOW]; /* by number; NULL: free */
    struct list open;                    /* oldest first */
    struct list ended;
    unsigned open_count;
    uint64_t client;
    uint32_t number;  /* of the last request */
    uint64_t tickets; /* given so far */
};

void window_init(struct window *window, uint64_t client);
void window_fini(struct window *window);

/* 0, or why programs may not ask this: -EINVAL, -EFBIG. */
int window_check(const struct weft_store_request *request);
/* Adds a good request. -EAGAIN: the window is full; -ENOMEM. */
int window_add(struct window *window, const struct weft_store_request *request, int64_t deadline,
               int64_t now, struct pending **pending);
/* May the window go on with these numbers? False: all must end first, then window_renew. */
bool window_has_numbers(const struct window *window);
void window_renew(struct window *window, uint64_t client);

static inline bool window_is_large(const struct pending *pending)
{
    return pending->request.value_size > STORE_SINGLE_MAX;
}
/* The request as it is to be sent now, or of a large one what begins its upload; returns its size.
 * At least STORE_MESSAGE_MAX bytes. */
#define STORE_MESSAGE_MAX (1 + STORE_HEAD_MAX + STORE_SINGLE_MAX)
size_t window_write(const struct pending *pending, int64_t patience, void *out, size_t room);
/* The next part of a large one. */
size_t window_write_part(const struct pending *pending, int64_t patience, void *out, size_t room);
/* Only to that one there is an answer. */
bool window_is_last_part(const struct pending *pending);
void window_part_sent(struct pending *pending);
/* NULL: none. */
struct pending *window_find(const struct window *window, uint64_t post);
/* A server has answered. The request ends, or is to be sent again. */
void window_answered(struct window *window, struct pending *pending, const void *bytes, size_t size,
                     int64_t now);
/* The messages are lost, and a server may have received them. */
void window_lost(struct pending *pending, int64_t now);
/* Ends it without an answer. */
void window_end(struct window *window, struct pending *pending, int result);
/* Ends those whose deadline has passed. */
void window_expire(struct window *window, int64_t now);
/* When something is to be done at the latest; INT64_MAX: never. */
int64_t window_next(const struct window *window);
/* The answer has been taken. */
void window_take(struct pending *pending);
