/* Tests the requests to the store and the answers: any bytes are refused, or are exactly what our
 * writer writes, and it needs exactly that room. */
#include "fuzz.h"
#include "wire/store.h"

static uint8_t *make_room(size_t size)
{
    uint8_t *room = malloc(size ? size : 1);
    assert(room);
    return room;
}

static void request_decode(const uint8_t *data, size_t size)
{
    struct store_request request;
    if (!store_request_read(&request, data, size))
        return;
    uint8_t *again = make_room(size);
    assert(store_request_size(&request) == size &&
           store_request_write(&request, again, size) == size);
    assert(memcmp(again, data, size) == 0);
    assert(store_request_write(&request, again, size - 1) == 0);
    free(again);
}

static void answer_decode(const uint8_t *data, size_t size)
{
    struct store_answer answer;
    if (!store_answer_read(&answer, data, size))
        return;
    uint8_t *again = make_room(size);
    assert(store_answer_size(&answer) == size && store_answer_write(&answer, again, size) == size);
    assert(memcmp(again, data, size) == 0);
    assert(store_answer_write(&answer, again, size - 1) == 0);
    assert(store_status_text(answer.status)[0]);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    request_decode(data, size);
    answer_decode(data, size);
    return 0;
}
