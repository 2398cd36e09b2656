/* value: what is in the values of records. */
#include "base/bytes.h"
#include "services/store/planted.h"
#include "services/store/service/store_impl.h"

bool value_number(const void *value, uint32_t size, uint64_t *number)
{
    const uint8_t *digits = value;
    *number = 0;
    if (size == 0 || size > 20)
        return false;
    for (uint32_t i = 0; i < size; i++) {
        uint64_t digit = (uint64_t)(digits[i] - '0');
        if (digit > 9 || *number > (UINT64_MAX - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    return true;
}

void value_refusal_write(const struct store_answer *answer, uint8_t bytes[REFUSAL_SIZE])
{
    struct writer out = writer_make(bytes, REFUSAL_SIZE);
    write_u32(&out, answer->status);
    write_u64(&out, answer->version);
}

bool value_refusal_read(const struct record *record, struct store_answer *answer)
{
    struct reader in = reader_make(record->value, record->value_size);
    *answer = (struct store_answer){.status = read_u32(&in)};
    answer->version = read_u64(&in);
    return !in.failed && answer->status > STORE_DONE && answer->status <= STORE_MALFORMED;
}

struct record value_visible(const struct record *record)
{
    struct record part = *record;
    if (record->request & REWRITTEN && record->value_size >= REWRITTEN_HEAD) {
        struct reader in = reader_make(record->value, REWRITTEN_HEAD);
        part.version = STORE_HAS(REWRITE_SHOWN) ? part.version : read_u64(&in);
        part.value = in.next;
        part.value_size -= REWRITTEN_HEAD;
        part.request &= ~REWRITTEN;
    }
    return part;
}
