#pragma once
/* listing: what a server asks the leaders of groups for a page of keys (wire/scan.h), and what they
 * tell it. Pure. */

#include "wire/scan.h"

/* A set of groups: a bit for each, in bytes; no bits are set behind the last group. */
struct listing_groups {
    const uint8_t *bits; /* borrowed */
    uint32_t count;      /* of all groups, in the set or not */
};

static inline uint32_t listing_groups_size(uint32_t count)
{
    return count / 8 + (count % 8 > 0);
}

static inline bool listing_has(struct listing_groups groups, uint32_t group)
{
    return groups.bits[group / 8] >> group % 8 & 1;
}

/* Tell me the first keys of these groups. */
struct listing {
    struct scan_request request;
    struct listing_groups groups;
};

/* These I lead, and this is their page; those not. */
struct listing_answer {
    struct listing_groups told, others;
    const uint8_t *leaders; /* which servers lead the others, 4 bytes each; see listing_leader */
    const uint8_t *page;    /* borrowed */
    uint32_t page_size;
};

size_t listing_size(const struct listing *listing);
void listing_write(const struct listing *listing, void *out); /* into so many bytes */
/* False: nonsense. Everything points into the bytes. */
bool listing_read(struct listing *listing, const void *bytes, size_t size);

size_t listing_answer_size(const struct listing_answer *answer);
void listing_answer_write(const struct listing_answer *answer, void *out);
bool listing_answer_read(struct listing_answer *answer, const void *bytes, size_t size);
/* The server that leads the other group number `place` of the answer, as far as is known. */
uint32_t listing_leader(const struct listing_answer *answer, uint32_t place);
