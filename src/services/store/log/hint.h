#pragma once
/* hint: a file beside a segment that lists the records which were live when it was written, in the
 * order of groups and keys. A start reads it in place of the segment, which is mostly values, and
 * fills the trees of the index one after the other. Without a hint, or with a damaged one, the
 * segment itself is read.
 *
 * A hint has a head of RECORD_HEAD bytes, and blocks: each has a head of HINT_BLOCK_HEAD bytes with
 * its size and digest, and as many entries as fit. Pure. */

#include "services/store/log/record.h"

#define HINT_BLOCK_MAX  (64u << 10) /* bytes of a block with its head */
#define HINT_BLOCK_HEAD 16u
#define HINT_ENTRY_HEAD 48u /* bytes before the key */
#define HINT_ENTRY_MAX  (HINT_ENTRY_HEAD + RECORD_KEY_MAX)

struct hint_head {
    uint32_t segment;
    uint32_t units; /* where the records of the segment end */
    uint64_t salt;  /* of the segment */
    uint32_t blocks;
};

void hint_head_write(const struct hint_head *head, uint8_t out[RECORD_HEAD]);
bool hint_head_read(struct hint_head *head, const void *bytes, size_t size);

/* Writes an entry, and returns how many bytes. Flags and value of the record are not in it. */
uint32_t hint_entry_write(const struct record *record, uint32_t unit, uint8_t out[HINT_ENTRY_MAX]);
/* Reads the entry at the beginning; 0: the bytes are none. */
uint32_t hint_entry_read(struct record *record, uint32_t *unit, const void *bytes, size_t size);
/* The size of the entry, which hint_entry_write has written. */
uint32_t hint_entry_size(const uint8_t *entry);

/* Sorts entries by group and key. `places` are their offsets in `bytes`. Stops early if `ends` says
 * so. */
void hint_sort(const uint8_t *bytes, uint32_t *places, uint32_t count,
               bool (*ends)(const void *context), const void *context);

/* Completes a block of which the entries are there. */
void hint_block_seal(uint8_t *block, uint32_t size);
/* The size of the block; 0: these bytes do not begin with a whole block. */
uint32_t hint_block_read(const uint8_t *bytes, size_t size);
