/* Tests what the store's log reads from a disk: bytes are refused, or are exactly what our writer
 * writes. A fuzzer cannot guess a checksum, so records that are made from the input are written,
 * damaged as the input says, and must be refused unless the damage changed nothing. */
#include "base/bytes.h"
#include "base/digest.h"
#include "fuzz.h"
#include "services/store/log/hint.h"
#include "services/store/log/record.h"

static void records_decode(const uint8_t *data, size_t size)
{
    struct segment_head head;
    struct hint_head hint;
    struct record record;
    uint32_t unit;
    (void)segment_head_read(&head, data, size, 1);
    (void)hint_head_read(&hint, data, size);
    (void)hint_block_read(data, size);
    if (record_read(&record, data, size, (struct log_place){1, 4}, 0))
        assert(record.key_size <= RECORD_KEY_MAX && record.value_size <= RECORD_VALUE_MAX);
    uint32_t entry = hint_entry_read(&record, &unit, data, size);
    if (!entry)
        return;
    uint8_t again[HINT_ENTRY_MAX];
    assert(hint_entry_write(&record, unit, again) == entry && hint_entry_size(data) == entry);
    assert(record.key_size == 0 ||
           memcmp(again + HINT_ENTRY_HEAD, data + HINT_ENTRY_HEAD, record.key_size) == 0);
}

static void record_damage(const uint8_t *data, size_t size)
{
    struct reader in = reader_make(data, size);
    struct log_place place = {read_u32(&in), read_u32(&in)};
    uint64_t salt = read_u64(&in);
    uint16_t at = read_u16(&in);
    uint8_t flip = read_u8(&in), out[RECORD_TOP_MAX];
    struct record read, record = {.kind = RECORD_VALUE + read_u8(&in) % 3,
                                  .group = read_u32(&in),
                                  .version = read_u64(&in),
                                  .expiry = (int64_t)read_u64(&in)};
    if (in.failed)
        return;
    record.key_size = (uint8_t)(in.left > RECORD_KEY_MAX ? RECORD_KEY_MAX : in.left);
    record.key = in.next;
    record.value = data;
    record.value_size = (uint32_t)size;
    record.digest = digest_bytes(data, size);
    size_t top = record_write(&record, place, salt, out);
    assert(record_read(&read, out, top, place, salt) && record_fits(&read, data));
    out[at % top] ^= flip;
    assert(record_read(&read, out, top, place, salt) == !flip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    records_decode(data, size);
    record_damage(data, size);
    return 0;
}
