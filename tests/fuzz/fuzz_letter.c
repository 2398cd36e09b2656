/* Tests the letters that servers of the store send each other: any bytes are refused, or are
 * exactly what our writer writes. A fuzzer cannot guess a digest, so that of a record's value is
 * made to fit first. */
#include "base/bytes.h"
#include "base/digest.h"
#include "fuzz.h"
#include "services/store/wire/letter.h"

#define FROM 11

/* Where a record begins in a letter, and its fields in a record. */
enum {
    WRITE_RECORD = 25,
    COPY_RECORD = 17,
    DIGEST = 25,
    KEY_SIZE = 33,
    KEY = 38,
};

static void digest_fit(uint8_t *bytes, size_t size)
{
    size_t record = size && bytes[0] == LETTER_WRITE ? WRITE_RECORD : COPY_RECORD;
    if (size < record + KEY ||
        (bytes[0] != LETTER_WRITE && bytes[0] != LETTER_COPY && bytes[0] != LETTER_MEND))
        return;
    size_t value = record + KEY + bytes[record + KEY_SIZE];
    if (value > size)
        return;
    struct writer out = writer_make(bytes + record + DIGEST, 8);
    write_u64(&out, digest_bytes(bytes + value, size - value));
}

/* Where the value is, is known before it has come, and is the truth. */
static void value_find(const uint8_t *bytes, size_t size, const struct letter *letter)
{
    bool digested;
    size_t at = letter_value_at(bytes, size, size, &digested);
    bool has_record = letter->kind == LETTER_WRITE || letter->kind == LETTER_COPY;
    if (has_record && letter->record.value_size) {
        assert(at == size - letter->record.value_size && digested);
        assert(letter_value_at(bytes, at, size, &digested) == at);
    }
    assert(at < size || !at);
}

/* Of a letter that was refused nothing is promised. */
static void letter_decode(const uint8_t *bytes, size_t size)
{
    static struct letter letter;
    if (!letter_read(&letter, FROM, bytes, size))
        return;
    assert(letter.message.from == FROM && letter.message.epoch == letter.epoch);
    assert(letter_size(&letter) == size && size > 0);
    uint8_t *again = malloc(size);
    assert(again);
    letter_write(&letter, again);
    assert(memcmp(again, bytes, size) == 0);
    value_find(bytes, size, &letter);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool digested;
    assert(letter_value_at(data, size, size, &digested) < size || !size);
    letter_decode(data, size);
    uint8_t *bytes = malloc(size ? size : 1);
    assert(bytes);
    if (size)
        memcpy(bytes, data, size);
    digest_fit(bytes, size);
    letter_decode(bytes, size);
    free(bytes);
    return 0;
}
