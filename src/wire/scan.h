#pragma once
/* scan: how a program asks the store for a page of the keys in their order, and what a page is.
 * Pure.
 *
 * Keys are ordered as memcmp orders them; of two keys of which one begins with the other, the
 * shorter one comes first. A page has some keys after a given one, and says until where it has all
 * of them. Servers make pages of the keys that they hold, and merge them. */

#include "base/bytes.h"
#include "wire/store.h"

#define SCAN_PAGE_KEYS 1000
#define SCAN_PAGE_SIZE 60000 /* bytes: a page fits into a message */

/* Bytes of a key, or of the beginning of keys. */
struct scan_key {
    const uint8_t *bytes; /* borrowed; may be NULL if there are none */
    uint32_t size;        /* at most STORE_KEY_MAX */
};

/* STORE_CALL_SCAN. The answer is a store_answer, whose value is a page. */
struct scan_request {
    bool here;     /* only what the server that is asked holds itself, which may be old */
    bool is_after; /* only keys after `after`: there can be an empty key */
    uint32_t most; /* keys, 1 to SCAN_PAGE_KEYS */
    int64_t patience;
    struct scan_key prefix, after;
};

struct scan_item {
    struct scan_key key;
    uint64_t version;
    uint64_t ttl; /* nanoseconds until the key expires; 0: it never does */
    uint32_t value_size;
};

/* It can be copied; the copy goes on by itself. */
struct scan_page {
    uint32_t count;        /* keys that it still has */
    bool more;             /* it has all keys until `until`; there may be others */
    struct scan_key until; /* if `more`; else empty */
    struct reader items;
};

int scan_key_compare(struct scan_key one, struct scan_key other); /* below 0, 0 or above */

/* The two go on to each other's end: a reader that has failed returns false or fails on. */
void scan_key_write(struct writer *out, struct scan_key key);
bool scan_key_read(struct reader *in, struct scan_key *key);

size_t scan_request_size(const struct scan_request *request);
/* Returns how many bytes it wrote; 0: there is no room for all. */
size_t scan_request_write(const struct scan_request *request, void *out, size_t room);
/* False: nonsense. Keys point into the bytes. */
bool scan_request_read(struct scan_request *request, const void *bytes, size_t size);

/* Reads a whole page: its keys are in order, the last one not after `until`. False: nonsense. */
bool scan_page_read(struct scan_page *page, const void *bytes, size_t size);
/* The next key. False: there is none. */
bool scan_page_next(struct scan_page *page, struct scan_item *item);

/* Makes a page in memory of the caller, at least SCAN_MAKER_ROOM bytes. */
struct scan_maker {
    uint8_t *bytes;
    struct writer out;
    uint32_t count;
};

#define SCAN_ITEM_MAX   (1 + STORE_KEY_MAX + 20)
#define SCAN_END_MAX    (2 + STORE_KEY_MAX)
#define SCAN_MAKER_ROOM (2 + SCAN_ITEM_MAX + SCAN_END_MAX)

void scan_maker_init(struct scan_maker *maker, void *bytes, size_t room);
/* Adds a key, which comes after those before it; returns where in the page its version is. 0: there
 * is no room. */
size_t scan_maker_add(struct scan_maker *maker, const struct scan_item *item);
/* Ends the page and returns its size. `until` NULL: there are no more keys. */
size_t scan_maker_end(struct scan_maker *maker, const struct scan_key *until);

/* Makes one page of two: it has what both are sure of, at most `most` keys. Of a key that both have
 * it takes one. Returns its size. */
size_t scan_merge(const struct scan_page *one, const struct scan_page *other, uint32_t most,
                  void *bytes, size_t room);
