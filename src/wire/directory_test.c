/* directory: what was written can be read; what cannot have been written is refused. */
#include "wire/directory.h"

#include <errno.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

static struct directory_message message; /* large */
static struct directory_message back;

static size_t answer_write(uint8_t *out, unsigned count)
{
    memset(&message, 0, sizeof message);
    message.operation = DIRECTORY_ANSWER;
    message.status = -EAGAIN;
    message.round = 77;
    message.part = 2;
    message.parts = 3;
    message.domain = 11;
    message.id = 12;
    message.count = (uint16_t)count;
    for (unsigned i = 0; i < count; i++) {
        struct directory_claim *claim = &message.claims[i];
        *claim = (struct directory_claim){100 + i, 200 + i, 3 * i, i % 2, (uint8_t)(i % 97), {0}};
        memset(claim->record, (int)i, claim->size);
    }
    return directory_write(&message, out);
}

static void messages_are_read_as_they_were_written(void **state)
{
    uint8_t bytes[DIRECTORY_MESSAGE_MAX];
    size_t size = answer_write(bytes, DIRECTORY_CLAIMS_MAX);
    assert_int_equal(directory_read(&back, bytes, size), 0);
    assert_int_equal(back.operation, DIRECTORY_ANSWER);
    assert_int_equal(back.status, -EAGAIN);
    assert_int_equal(back.round, 77);
    assert_int_equal(back.part, 2);
    assert_int_equal(back.parts, 3);
    assert_int_equal(back.domain, 11);
    assert_int_equal(back.id, 12);
    assert_int_equal(back.count, DIRECTORY_CLAIMS_MAX);
    for (unsigned i = 0; i < back.count; i++) {
        assert_int_equal(back.claims[i].member, 100 + i);
        assert_int_equal(back.claims[i].incarnation, 200 + i);
        assert_int_equal(back.claims[i].server, 3 * i);
        assert_int_equal(back.claims[i].group, i % 2);
        assert_int_equal(back.claims[i].size, i % 97);
        assert_memory_equal(back.claims[i].record, message.claims[i].record, i % 97);
    }
}

static void messages_of_another_size_are_refused(void **state)
{
    uint8_t bytes[DIRECTORY_MESSAGE_MAX + 1] = {0};
    size_t size = answer_write(bytes, 3);
    for (size_t other = 0; other <= size + 1; other++)
        assert_int_equal(directory_read(&back, bytes, other), other == size ? 0 : -EPROTO);
}

static void damaged_messages_are_refused_or_still_valid(void **state)
{
    uint64_t seed = 5;
    struct rng rng = rng_make(seed, 0);
    unsigned refused = 0;
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t bytes[DIRECTORY_MESSAGE_MAX];
        size_t size = answer_write(bytes, (unsigned)rng_below(&rng, 4));
        for (unsigned flips = 1 + (unsigned)rng_below(&rng, 3); flips > 0; flips--)
            bytes[rng_below(&rng, size)] ^= (uint8_t)(1u << rng_below(&rng, 8));
        if (directory_read(&back, bytes, size)) {
            refused++;
            continue;
        }
        assert_true(back.id && back.part < back.parts && back.count <= DIRECTORY_CLAIMS_MAX);
        assert_int_equal(directory_write(&back, bytes), size);
    }
    assert_true(refused > 1000 && refused < 20000);
}

TEST_MAIN(TEST(messages_are_read_as_they_were_written), TEST(messages_of_another_size_are_refused),
          TEST(damaged_messages_are_refused_or_still_valid))
