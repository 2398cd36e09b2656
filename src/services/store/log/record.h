#pragma once
/* record: how the store's log keeps one change of one key on the disk. Pure.
 *
 * A record begins at a multiple of RECORD_UNIT bytes: a head of RECORD_HEAD bytes, the key, the
 * value. The head has two checks: one of head, key and place, and a digest of the value. The place
 * and the salt of the segment are part of the check but are not stored. So a record that a disk
 * wrote to a wrong place is no record, nor is one that a client put into a value.
 *
 * Each record says up to which place the log was durable when the record was written. A reader that
 * finds an unreadable place thus knows whether a crash tore a write that nothing depended on, or
 * the disk damaged what had been promised.
 *
 * A segment is a file of the log. It begins with a head of its own, which says where the segment
 * before it ended. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_HEAD      64u
#define RECORD_UNIT      16u
#define RECORD_KEY_MAX   250u
#define RECORD_VALUE_MAX ((64u << 20) + 8) /* a value of 64 MiB that a leader has rewritten */
#define RECORD_TOP_MAX   (RECORD_HEAD + RECORD_KEY_MAX) /* bytes before the value */

enum record_kind {
    RECORD_VALUE = 1,
    RECORD_TOMBSTONE, /* the key was removed */
    RECORD_MARK,      /* no key: it only says what is durable */
    RECORD_OUTCOME,   /* what a request has done to a key that was changed again since */
    RECORD_DISOWNED,  /* no key: a change with that version was never committed */
    RECORD_REFUSED,   /* what a request was answered that changed nothing */
    RECORD_KINDS,
};

/* Where a record is: the number of its segment, from 1, and its offset in units. Places are in the
 * order in which they were written. */
struct log_place {
    uint32_t segment, unit;
};

struct record {
    enum record_kind kind;
    uint32_t group;   /* the placement group of the key */
    uint32_t flags;   /* of the client */
    uint32_t request; /* the request that made the record: its number ... */
    uint64_t client;  /* ... and its client; 0: none */
    uint64_t version;
    /* When a value expires, in nanoseconds since 1970; 0: never. RECORD_TOMBSTONE: the segment in
     * which it was first written; 0: the log sets it. */
    int64_t expiry;
    struct log_place durable; /* all before this place was synced; set by the log */
    uint32_t value_size;
    uint8_t key_size;
    const void *key;   /* borrowed */
    const void *value; /* borrowed; NULL after record_read */
    uint64_t digest;   /* of the value (base/digest.h) */
};

/* Does it say what its key is? Other records only say what a request did, or did not do. */
static inline bool record_is_of_key(const struct record *record)
{
    return record->kind == RECORD_VALUE || record->kind == RECORD_TOMBSTONE;
}

/* A copy of it that only says what its request did: the key was changed again. */
static inline void record_supersede(struct record *record)
{
    if (record_is_of_key(record))
        record->kind = RECORD_OUTCOME;
}

/* So many bytes of the value does the log keep of a record that is not of its key. */
#define OUTCOME_VALUE_MAX 64u
static inline uint32_t record_outcome_value(uint32_t value_size)
{
    return value_size < OUTCOME_VALUE_MAX ? value_size : OUTCOME_VALUE_MAX;
}

static inline uint64_t log_place_order(struct log_place place)
{
    return (uint64_t)place.segment << 32 | place.unit;
}

/* Units that the record takes. */
static inline uint32_t record_units(uint32_t key_size, uint32_t value_size)
{
    return (RECORD_HEAD + key_size + value_size + RECORD_UNIT - 1) / RECORD_UNIT;
}

/* Writes head and key; returns how many bytes. The value follows them. */
size_t record_write(const struct record *record, struct log_place place, uint64_t salt,
                    uint8_t out[RECORD_TOP_MAX]);

/* Reads head and key. False: this is no record of that place, or `size` bytes do not contain all of
 * its key. record->key points into the bytes. */
bool record_read(struct record *record, const void *bytes, size_t size, struct log_place place,
                 uint64_t salt);

/* Is this the value of the record? */
bool record_fits(const struct record *record, const void *value);

/* ---- the head of a segment, RECORD_HEAD bytes ---- */

struct segment_head {
    uint32_t id;
    uint64_t salt;           /* random */
    struct log_place before; /* the end of the segment before it; all to there was synced */
};

enum segment_origin {
    SEGMENT_OURS,   /* the head of this segment */
    SEGMENT_NEWER,  /* a later version of weft has written it */
    SEGMENT_FORMER, /* the head of a segment with a lower number: the file was recycled */
    SEGMENT_NONE,   /* not the head of this segment */
};

void segment_head_write(const struct segment_head *head, uint8_t out[RECORD_HEAD]);
/* Reads the head of the file of segment `id`. */
enum segment_origin segment_head_read(struct segment_head *head, const void *bytes, size_t size,
                                      uint32_t id);
