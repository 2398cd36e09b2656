#pragma once
/* What scan.c and page.c share. */

#include "services/store/index/index_walk.h"
#include "services/store/service/scan.h"
#include "services/store/wire/listing.h"

/* A scan of a program at this server. */
struct scan {
    struct list link;
    uint32_t index;
    uint64_t name;
    uint64_t client, ticket; /* of the program */
    struct buffer *holder;   /* of the bytes of the request */
    struct scan_request request;
    struct buffer *page; /* of the groups that were told; NULL: none was */
    uint32_t page_size;
    uint32_t left; /* groups that were not told */
    uint32_t turns;
    int64_t deadline, again_at, lost_at; /* lost_at: what was asked is asked again */
    uint8_t sets[]; /* a bit for each group, twice: it was told; its leader was asked */
};

#define PAGE_REWRITTEN 64 /* keys of a page whose version is in the log; at most */

struct page_group {
    uint32_t number;
    store_version newest; /* of the keys that were looked at */
    uint64_t round;       /* see confirm_ask */
};

/* The first keys of some groups, on their way to the server that asked. */
struct page {
    struct list link;
    struct store *store;
    weft_server origin;
    uint64_t ticket; /* of the scan, there */
    int64_t until;   /* the program waits no longer */
    bool gone;       /* it ends when it was read */
    struct buffer *holder;
    struct listing listing;
    struct buffer *bytes;
    uint32_t size;
    /* Keys that were written again: the version that clients know is before the value. */
    struct {
        uint32_t place; /* in the page, of the version */
        uint8_t key_size;
    } rewritten[PAGE_REWRITTEN];
    uint32_t rewritten_count, read_count;
    struct disk_read read;
    uint32_t group_count, ready; /* so many groups may be told */
    struct page_group groups[];
};
