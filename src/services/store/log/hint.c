#include "services/store/log/hint.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/compare.h"
#include "base/digest.h"
#include "base/hash.h"

#define MAGIC   UINT64_C(0x776566742d686e74) /* "weft-hnt" */
#define VERSION 1

/* ---- the head ---- */

void hint_head_write(const struct hint_head *head, uint8_t out[RECORD_HEAD])
{
    struct writer to = writer_make(out, RECORD_HEAD);
    memset(out, 0, RECORD_HEAD);
    write_u64(&to, MAGIC);
    write_u32(&to, VERSION);
    write_u32(&to, head->segment);
    write_u32(&to, head->units);
    write_u32(&to, head->blocks);
    write_u64(&to, head->salt);
    write_u64(&to, hash_bytes(out, RECORD_HEAD - to.left));
}

bool hint_head_read(struct hint_head *head, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint64_t magic = read_u64(&in);
    uint32_t version = read_u32(&in);
    head->segment = read_u32(&in);
    head->units = read_u32(&in);
    head->blocks = read_u32(&in);
    head->salt = read_u64(&in);
    size_t checked = size - in.left;
    uint64_t check = read_u64(&in);
    return !in.failed && size >= RECORD_HEAD && magic == MAGIC && version == VERSION &&
           check == hash_bytes(bytes, checked);
}

/* ---- entries ---- */

uint32_t hint_entry_write(const struct record *record, uint32_t unit, uint8_t out[HINT_ENTRY_MAX])
{
    struct writer to = writer_make(out, HINT_ENTRY_MAX);
    write_u32(&to, record->group);
    write_u8(&to, record->key_size);
    write_u8(&to, (uint8_t)record->kind);
    write_u16(&to, 0);
    write_u32(&to, unit);
    write_u32(&to, record->value_size);
    write_u64(&to, record->version);
    write_u64(&to, (uint64_t)record->expiry);
    write_u64(&to, record->client);
    write_u32(&to, record->request);
    write_u32(&to, 0);
    assert(to.left == HINT_ENTRY_MAX - HINT_ENTRY_HEAD);
    write_bytes(&to, record->key, record->key_size);
    return HINT_ENTRY_HEAD + record->key_size;
}

uint32_t hint_entry_read(struct record *record, uint32_t *unit, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    *record = (struct record){.group = read_u32(&in)};
    record->key_size = read_u8(&in);
    record->kind = read_u8(&in);
    (void)read_u16(&in);
    *unit = read_u32(&in);
    record->value_size = read_u32(&in);
    record->version = read_u64(&in);
    record->expiry = (int64_t)read_u64(&in);
    record->client = read_u64(&in);
    record->request = read_u32(&in);
    (void)read_u32(&in);
    record->key = read_bytes(&in, record->key_size);
    bool sound = record->kind >= RECORD_VALUE && record->kind < RECORD_KINDS &&
                 record->kind != RECORD_MARK && record->key_size <= RECORD_KEY_MAX &&
                 record->value_size <= RECORD_VALUE_MAX;
    return !in.failed && sound ? HINT_ENTRY_HEAD + record->key_size : 0;
}

uint32_t hint_entry_size(const uint8_t *entry)
{
    return HINT_ENTRY_HEAD + entry[sizeof(uint32_t)];
}

/* ---- the order ---- */

/* The group comes first, in network order. */
static int entry_compare(const uint8_t *one, const uint8_t *other)
{
    int order = memcmp(one, other, sizeof(uint32_t));
    uint8_t size = one[sizeof(uint32_t)], other_size = other[sizeof(uint32_t)];
    if (!order)
        order = memcmp(one + HINT_ENTRY_HEAD, other + HINT_ENTRY_HEAD,
                       size < other_size ? size : other_size);
    return order ? order : compare_u64(size, other_size);
}

/* Lets the entry at `root` sink to its place in the heap of `count` entries. */
static void sink(const uint8_t *bytes, uint32_t *places, uint32_t root, uint32_t count)
{
    uint32_t place = places[root];
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count &&
            entry_compare(bytes + places[child], bytes + places[child + 1]) < 0)
            child++;
        if (entry_compare(bytes + place, bytes + places[child]) >= 0)
            break;
        places[root] = places[child];
    }
    places[root] = place;
}

/* A heap sort: it needs no memory, and a worker thread has the time. */
void hint_sort(const uint8_t *bytes, uint32_t *places, uint32_t count,
               bool (*ends)(const void *context), const void *context)
{
    for (uint32_t root = count / 2; root-- > 0;)
        sink(bytes, places, root, count);
    for (uint32_t left = count; left > 1 && !ends(context);) {
        uint32_t last = places[--left];
        places[left] = places[0];
        places[0] = last;
        sink(bytes, places, 0, left);
    }
}

/* ---- blocks ---- */

void hint_block_seal(uint8_t *block, uint32_t size)
{
    struct writer to = writer_make(block, HINT_BLOCK_HEAD);
    assert(size > HINT_BLOCK_HEAD && size <= HINT_BLOCK_MAX);
    write_u32(&to, size);
    write_u32(&to, 0);
    write_u64(&to, digest_bytes(block + HINT_BLOCK_HEAD, size - HINT_BLOCK_HEAD));
}

uint32_t hint_block_read(const uint8_t *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint32_t block = read_u32(&in);
    (void)read_u32(&in);
    uint64_t digest = read_u64(&in);
    if (in.failed || block <= HINT_BLOCK_HEAD || block > HINT_BLOCK_MAX || block > size ||
        digest != digest_bytes(bytes + HINT_BLOCK_HEAD, block - HINT_BLOCK_HEAD))
        return 0;
    return block;
}
