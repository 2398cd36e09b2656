#include "services/store/log/record.h"

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/hash.h"
#include "services/store/planted.h"

#define MAGIC   UINT64_C(0x776566742d6c6f67) /* "weft-log" */
#define VERSION 1

/* A recycled file is full of records that were whole in a segment with another number and another
 * salt: so both are part of the check. */
static uint32_t top_check(const uint8_t *top, size_t size, struct log_place place, uint64_t salt)
{
    if (STORE_HAS(FORMER_LIFE))
        place.segment = 0, salt = 0;
    uint64_t hash = salt ^ hash_bytes(top + sizeof(uint32_t), size - sizeof(uint32_t));
    return (uint32_t)hash_mix(hash ^ log_place_order(place));
}

static void check_write(uint8_t *top, size_t size, struct log_place place, uint64_t salt)
{
    struct writer out = writer_make(top, sizeof(uint32_t));
    write_u32(&out, top_check(top, size, place, salt));
}

size_t record_write(const struct record *record, struct log_place place, uint64_t salt,
                    uint8_t out[RECORD_TOP_MAX])
{
    struct writer to = writer_make(out, RECORD_TOP_MAX);
    assert(record->key_size <= RECORD_KEY_MAX && record->value_size <= RECORD_VALUE_MAX);
    write_u32(&to, 0); /* the check */
    write_u8(&to, (uint8_t)record->kind);
    write_u8(&to, record->key_size);
    write_u16(&to, 0);
    write_u32(&to, record->group);
    write_u32(&to, record->flags);
    write_u32(&to, record->request);
    write_u32(&to, record->value_size);
    write_u64(&to, record->client);
    write_u64(&to, record->version);
    write_u64(&to, (uint64_t)record->expiry);
    write_u64(&to, log_place_order(record->durable));
    write_u64(&to, record->digest);
    assert(to.left == RECORD_TOP_MAX - RECORD_HEAD);
    write_bytes(&to, record->key, record->key_size);
    size_t size = (size_t)(to.next - out);
    check_write(out, size, place, salt);
    return size;
}

/* Cheap, because a search for records tries every unit of a damaged file. */
static bool may_be_record(const uint8_t *bytes, size_t size)
{
    return size >= RECORD_HEAD && bytes[4] >= RECORD_VALUE && bytes[4] < RECORD_KINDS &&
           bytes[5] <= RECORD_KEY_MAX && !bytes[6] && !bytes[7] && size >= RECORD_HEAD + bytes[5];
}

bool record_read(struct record *record, const void *bytes, size_t size, struct log_place place,
                 uint64_t salt)
{
    if (!may_be_record(bytes, size))
        return false;
    struct reader in = reader_make(bytes, size);
    uint32_t check = read_u32(&in);
    record->kind = read_u8(&in);
    record->key_size = read_u8(&in);
    (void)read_u16(&in);
    record->group = read_u32(&in);
    record->flags = read_u32(&in);
    record->request = read_u32(&in);
    record->value_size = read_u32(&in);
    record->client = read_u64(&in);
    record->version = read_u64(&in);
    record->expiry = (int64_t)read_u64(&in);
    uint64_t durable = read_u64(&in);
    record->durable = (struct log_place){(uint32_t)(durable >> 32), (uint32_t)durable};
    record->digest = read_u64(&in);
    record->key = read_bytes(&in, record->key_size);
    record->value = NULL;
    return !in.failed && record->value_size <= RECORD_VALUE_MAX &&
           durable <= log_place_order(place) &&
           check == top_check(bytes, RECORD_HEAD + record->key_size, place, salt);
}

bool record_fits(const struct record *record, const void *value)
{
    return record->digest == digest_bytes(value, record->value_size);
}

/* ---- the head of a segment ---- */

void segment_head_write(const struct segment_head *head, uint8_t out[RECORD_HEAD])
{
    struct writer to = writer_make(out, RECORD_HEAD);
    memset(out, 0, RECORD_HEAD);
    write_u32(&to, 0); /* the check */
    write_u32(&to, VERSION);
    write_u64(&to, MAGIC);
    write_u32(&to, head->id);
    write_u64(&to, head->salt);
    write_u64(&to, log_place_order(head->before));
    check_write(out, RECORD_HEAD, (struct log_place){head->id, 0}, 0);
}

enum segment_origin segment_head_read(struct segment_head *head, const void *bytes, size_t size,
                                      uint32_t id)
{
    struct reader in = reader_make(bytes, size);
    uint32_t check = read_u32(&in), version = read_u32(&in);
    uint64_t magic = read_u64(&in);
    head->id = read_u32(&in);
    head->salt = read_u64(&in);
    uint64_t before = read_u64(&in);
    head->before = (struct log_place){(uint32_t)(before >> 32), (uint32_t)before};
    if (size < RECORD_HEAD || magic != MAGIC || !head->id || head->id > id ||
        check != top_check(bytes, RECORD_HEAD, (struct log_place){head->id, 0}, 0))
        return SEGMENT_NONE;
    if (version != VERSION)
        return SEGMENT_NEWER;
    return head->id == id || STORE_HAS(FORMER_HEAD) ? SEGMENT_OURS : SEGMENT_FORMER;
}
