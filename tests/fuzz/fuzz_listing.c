/* Tests what servers of the store ask and tell each other about pages of keys: any bytes are
 * refused, or are exactly what our writer writes. */
#include "fuzz.h"
#include "services/store/wire/listing.h"

static uint8_t *make_room(size_t size)
{
    uint8_t *room = malloc(size ? size : 1);
    assert(room);
    return room;
}

static void listing_decode(const uint8_t *data, size_t size)
{
    struct listing listing;
    if (!listing_read(&listing, data, size))
        return;
    uint8_t *again = make_room(size);
    assert(listing_size(&listing) == size);
    listing_write(&listing, again);
    assert(memcmp(again, data, size) == 0);
    free(again);
}

static void answer_decode(const uint8_t *data, size_t size)
{
    struct listing_answer answer;
    if (!listing_answer_read(&answer, data, size))
        return;
    uint8_t *again = make_room(size);
    assert(listing_answer_size(&answer) == size);
    listing_answer_write(&answer, again);
    assert(memcmp(again, data, size) == 0);
    uint32_t place = 0;
    for (uint32_t i = 0; i < answer.others.count; i++) {
        if (listing_has(answer.others, i))
            (void)listing_leader(&answer, place++);
    }
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    listing_decode(data, size);
    answer_decode(data, size);
    return 0;
}
