/* Tests the requests to the store, the answers, and the parts of both: any bytes are refused, or
 * are exactly what our writer writes, and it needs exactly that room. */
#include "fuzz.h"
#include "wire/store.h"
#include "wire/store_parts.h"

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

/* A head may be followed by anything. */
static void head_decode(const uint8_t *data, size_t size)
{
    struct store_request request;
    size_t head = store_request_read_head(&request, data, size);
    if (!head)
        return;
    uint8_t *again = make_room(head);
    assert(head <= STORE_HEAD_MAX && store_request_write_head(&request, again, head) == head);
    assert(memcmp(again, data, head) == 0);
    free(again);
}

static void part_decode(const uint8_t *data, size_t size)
{
    struct store_part part;
    if (!store_part_read(&part, data, size))
        return;
    uint8_t *again = make_room(size);
    assert(part.size && part.size <= STORE_PART_MAX && part.size <= STORE_VALUE_MAX - part.offset);
    assert(store_part_write(&part, again, size) == size && memcmp(again, data, size) == 0);
    free(again);
}

static void saying_decode(const uint8_t *data, size_t size)
{
    struct store_saying saying;
    struct store_answer answer;
    if (!store_saying_read(&saying, data, size))
        return;
    uint8_t *again = make_room(size);
    assert(store_is_saying(data, size) && !store_answer_read(&answer, data, size));
    assert(store_saying_write(&saying, again, size) == size && memcmp(again, data, size) == 0);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    request_decode(data, size);
    answer_decode(data, size);
    head_decode(data, size);
    part_decode(data, size);
    saying_decode(data, size);
    return 0;
}
