#pragma once
/* store: keys whose values survive. A program keeps values in the cluster's store, which runs where
 * the cluster was started with it (weft up --service store).
 *
 *     struct weft_store *store;
 *     char value[100];
 *
 *     weft_store_open(NULL, WEFT_ANY, &store);
 *     weft_store_put(store, "colour", 6, "blue", 4, weft_deadline(1000000000));
 *     int size = weft_store_get(store, "colour", 6, value, sizeof value, NULL,
 *                               weft_deadline(1000000000));
 *
 * Each key has a value and a *version*, a number that grows with every change of the key and is
 * never used again, also not after the key was deleted. Every request acts as if at one moment
 * between its call and its return, and all programs see these moments in the same order. What a
 * call has reported as done stays done, as long as one copy of the key is left.
 *
 * A request that gets no answer is sent again, also to another server, until its deadline. It takes
 * effect at most once. When the deadline passes without an answer, the result is -ETIMEDOUT: the
 * change may have happened, may still happen, or not. Every other result says for certain what
 * happened: after an error, nothing did.
 *
 * Rules for every call:
 *  - A call returns >= 0 or a negative errno, which weft_store_strerror explains.
 *  - Deadlines are those of <weft/weft.h>.
 *  - A store has an attachment of its own. Calls may be made from any thread, one after the other:
 *    a call waits, until its deadline, for the one that another thread is in. Threads that are not
 *    to wait for each other open a store each.
 *  - A child of fork() cannot use its parent's store: every call returns -ECHILD.
 *
 * docs/guide/store.md is for newcomers. */

#include <weft/weft.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_STORE_KEY_MAX   250        /* bytes of a key: any bytes, also none */
#define WEFT_STORE_VALUE_MAX (64 << 20) /* bytes of a value */
#define WEFT_STORE_UNDER_WAY 64         /* requests of one store, without an answer */
/* Nanoseconds: the longest time to live, 100 years. */
#define WEFT_STORE_TTL_MAX INT64_C(3153600000000000000)

struct weft_store;

/* Opens the store by way of that server; see weft_attach. With WEFT_ANY, calls that wait change to
 * another server of this machine when theirs ends or does not answer.
 *
 * As weft_attach; -ENOSYS: the server does not run the store. */
WEFT_PROGRAM_API int weft_store_open(const char *dir, uint32_t server, struct weft_store **store);
/* Requests under way may still happen. */
WEFT_PROGRAM_API int weft_store_close(struct weft_store *store);
/* As weft_strerror, with the store's own meanings. Never NULL. */
WEFT_PROGRAM_API const char *weft_store_strerror(int error);

/* ---- the usual requests ---- */

/* Reads a value and returns its size. *version is that of the value; NULL: it is not wanted.
 * -ENOENT: there is no such key; -EMSGSIZE: the value is larger than `room`, and its beginning was
 * read. */
WEFT_PROGRAM_API int weft_store_get(struct weft_store *store, const void *key, size_t key_size,
                                    void *value, size_t room, uint64_t *version, int64_t deadline);
WEFT_PROGRAM_API int weft_store_put(struct weft_store *store, const void *key, size_t key_size,
                                    const void *value, size_t value_size, int64_t deadline);
/* The same for a key that expires: after `ttl` nanoseconds the servers remove it. 0: it never
 * expires. See WEFT_STORE_TOUCH. */
WEFT_PROGRAM_API int weft_store_put_for(struct weft_store *store, const void *key, size_t key_size,
                                        const void *value, size_t value_size, int64_t ttl,
                                        int64_t deadline);
/* The key expires after `ttl` nanoseconds from now on; 0: it never does. The value stays, with a
 * new version. -ENOENT: there is no such key (any more). */
WEFT_PROGRAM_API int weft_store_touch(struct weft_store *store, const void *key, size_t key_size,
                                      int64_t ttl, int64_t deadline);
/* Puts the value if the key still has that version, or if *version is 0, does not exist; then
 * *version is the new one. -ESTALE, -EEXIST: it has another one, which is in *version (0: the key
 * does not exist). */
WEFT_PROGRAM_API int weft_store_exchange(struct weft_store *store, const void *key, size_t key_size,
                                         const void *value, size_t value_size, uint64_t *version,
                                         int64_t deadline);
/* -ENOENT: there is no such key. */
WEFT_PROGRAM_API int weft_store_delete(struct weft_store *store, const void *key, size_t key_size,
                                       int64_t deadline);
/* Adds to the decimal number that is the key's value, below 2^64; *number is the new one. A
 * difference below 0 becomes 0. -ENOENT: there is no such key; -ERANGE: the value is not such a
 * number, or the sum is too large. */
WEFT_PROGRAM_API int weft_store_add(struct weft_store *store, const void *key, size_t key_size,
                                    int64_t delta, uint64_t *number, int64_t deadline);

/* ---- any request ---- */

enum weft_store_op {
    WEFT_STORE_GET = 1,
    WEFT_STORE_PUT,
    WEFT_STORE_DELETE,
    WEFT_STORE_INCR, /* adds `delta` */
    WEFT_STORE_DECR,
    WEFT_STORE_APPEND, /* `value` after the one that is there */
    WEFT_STORE_PREPEND,
    /* Sets `ttl`; the value stays, and gets a new version. -ENOENT: there is no such key.
     *
     * A put without a time to live makes a key that never expires, also if the one before did; what
     * else changes a value keeps the moment at which it expires. At that moment, by the wall clock
     * of the server that leads the key then, the servers remove the key, as if a program had
     * deleted it. So it is missing for all programs or for none, and does not come back. The clocks
     * of servers differ, and can be set: a key may live longer or shorter by as much as they do. */
    WEFT_STORE_TOUCH,
    WEFT_STORE_SCAN = 16, /* a page of keys: see below */
};

/* A change happens only if ... */
enum weft_store_condition {
    WEFT_STORE_ALWAYS,
    WEFT_STORE_IF_ABSENT,  /* else -EEXIST */
    WEFT_STORE_IF_PRESENT, /* else -ENOENT */
    WEFT_STORE_IF_VERSION, /* the key has `version`, else -ESTALE */
};

struct weft_store_request {
    uint32_t op;        /* of enum weft_store_op */
    uint32_t condition; /* of enum weft_store_condition; not for WEFT_STORE_GET */
    const void *key;
    const void *value;
    size_t key_size, value_size;
    uint64_t version;
    uint64_t delta;
    uint32_t flags; /* WEFT_STORE_PUT: kept with the value; what they mean is up to programs */
    uint32_t zero;  /* 0 */
    /* WEFT_STORE_PUT, WEFT_STORE_TOUCH: nanoseconds until the key expires, at most
     * WEFT_STORE_TTL_MAX; 0: it never does. */
    int64_t ttl;
};

struct weft_store_answer {
    int32_t result;      /* what weft_store_ask would return */
    uint32_t flags;      /* of the value that was read */
    uint64_t ticket;     /* of the request */
    uint64_t version;    /* of the value that was read, or of the change. After -EEXIST, -ENOENT or
                          * -ESTALE: that of the key, 0 if it does not exist */
    uint64_t number;     /* WEFT_STORE_INCR, WEFT_STORE_DECR: the new number */
    uint32_t value_size; /* WEFT_STORE_GET: all bytes of the value */
    uint32_t zero;       /* 0 */
    int64_t ttl;         /* WEFT_STORE_GET: nanoseconds until the key expires; 0: it never does */
};

/* Sends a request and waits for the answer. Returns 0, or for WEFT_STORE_GET and WEFT_STORE_SCAN
 * the size of the value. `answer` may be NULL.
 *
 * -EINVAL: the request makes no sense; -EFBIG: the key or the value is too large, or would become
 * so; -ETIMEDOUT: see above; -ENOTCONN: until the deadline no server could be reached;
 * -EHOSTUNREACH: too few servers of the store are there; -EBUSY: the servers have too many requests
 * under way; -ENOSPC: their disks or memories are full; -ENOSYS: the server does not run the store.
 */
WEFT_PROGRAM_API int weft_store_ask(struct weft_store *store,
                                    const struct weft_store_request *request,
                                    struct weft_store_answer *answer, void *value, size_t room,
                                    int64_t deadline);

/* ---- the keys in order ---- */

/* A scan lists the keys that begin with some bytes, page by page. Keys come in the order of their
 * bytes (memcmp; of two keys of which one begins with the other, the shorter one first), each once.
 * A page says for each key in its range what was true at one moment of its call: a key that existed
 * during the whole call is listed, and one that did not exist at any moment of it is not. Changes
 * between the calls for two pages may be seen or not. If the keys of one server cannot be had, the
 * result is -EHOSTUNREACH, never a shorter page.
 *
 *     static char room[WEFT_STORE_PAGE_SIZE];
 *     struct weft_store_scan scan = {.prefix = "user/", .prefix_size = 5};
 *     struct weft_store_item item;
 *     int count;
 *
 *     while ((count = weft_store_scan(store, &scan, room, weft_deadline(1000000000))) > 0)
 *         while (weft_store_page_next(&scan.page, &item))
 *             printf("%.*s\n", (int)item.key_size, (const char *)item.key);
 */

#define WEFT_STORE_PAGE_KEYS 1000  /* of a page, at most; long keys may be fewer */
#define WEFT_STORE_PAGE_SIZE 60000 /* bytes of a page, at most */

enum weft_store_scan_flags {
    WEFT_STORE_AFTER = 1, /* only keys after a given one */
    WEFT_STORE_HERE = 2,  /* only what the server of the store's attachment holds itself, without
                           * asking others: it may be old, or not even have happened. For
                           * operators */
};

struct weft_store_page {
    uint32_t count;      /* keys that weft_store_page_next still has */
    uint32_t more;       /* 1: there may be keys after `until`, which is in the page's memory */
    uint32_t until_size; /* 0 if there are no more keys */
    uint32_t zero;
    const void *until;
    const void *next; /* of weft_store_page_next */
    size_t left;
};

struct weft_store_item {
    const void *key; /* in the page's memory */
    uint32_t key_size;
    uint32_t zero;
    uint64_t version;
    uint64_t value_size;
    int64_t ttl; /* nanoseconds until the key expires; 0: it never does */
};

struct weft_store_scan {
    const void *prefix; /* only keys that begin with it */
    size_t prefix_size;
    uint32_t flags;      /* of enum weft_store_scan_flags */
    uint32_t most;       /* keys of a page; 0: WEFT_STORE_PAGE_KEYS */
    uint32_t over;       /* set by the call: there are no more keys */
    uint32_t after_size; /* with WEFT_STORE_AFTER, which the call sets: only keys after this one */
    unsigned char after[256];
    struct weft_store_page page; /* the last one */
};

/* Gets the next page into `room`, which has WEFT_STORE_PAGE_SIZE bytes, opens it, and moves `after`
 * to its end. Returns how many keys it has; 0: there are no more. After an error the same call may
 * be made again. As weft_store_ask; -EHOSTUNREACH, -EBUSY: until the deadline. */
WEFT_PROGRAM_API int weft_store_scan(struct weft_store *store, struct weft_store_scan *scan,
                                     void *room, int64_t deadline);

/* For weft_store_post, and weft_store_ask: a request WEFT_STORE_SCAN has the prefix as its key, the
 * key after which the page begins as its value, and as `delta` how many keys are wanted at most, 0
 * for WEFT_STORE_PAGE_KEYS; its flags are those above. The value of the answer is a page. It can
 * have no key although there are more.
 *
 * weft_store_page_open opens a page; its memory stays the caller's. -EINVAL: it is none. */
WEFT_PROGRAM_API int weft_store_page_open(const void *bytes, size_t size,
                                          struct weft_store_page *page);
/* Returns 1 and the next key, or 0: there is none. */
WEFT_PROGRAM_API int weft_store_page_next(struct weft_store_page *page,
                                          struct weft_store_item *item);

/* ---- many requests at once, and event loops ---- */

/* Begins a request, which ends at the latest at its deadline, and does not wait. Key and value are
 * copied. *ticket is the number that the answer repeats, never 0. The requests under way happen in
 * any order. -EAGAIN: too many are under way. */
WEFT_PROGRAM_API int weft_store_post(struct weft_store *store,
                                     const struct weft_store_request *request, uint64_t *ticket,
                                     int64_t deadline);
/* Takes the next answer to a posted request, and returns 1. -ENODATA: no request is under way;
 * -EMSGSIZE: the value is larger than `room`; answer->value_size says how large, and the answer
 * stays. -EAGAIN, -ETIMEDOUT: there is none until the deadline of this call. */
WEFT_PROGRAM_API int weft_store_take(struct weft_store *store, struct weft_store_answer *answer,
                                     void *value, size_t room, int64_t deadline);
/* Returns a descriptor that becomes readable, once it is armed, when weft_store_take is to be
 * called: it may have an answer, or other work to do. It belongs to the store. Call weft_store_take
 * with WEFT_NOW until it returns another result than 1, then weft_store_arm, and sleep only if that
 * returns 0. */
WEFT_PROGRAM_API int weft_store_fd(struct weft_store *store);
/* Returns 0, or -EAGAIN: there is something to take already. */
WEFT_PROGRAM_API int weft_store_arm(struct weft_store *store);

#ifdef __cplusplus
}
#endif
