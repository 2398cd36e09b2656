/* store: see the header. */
#include "wire/store.h"

#include "base/bytes.h"
#include "base/check.h"

#define REQUEST_HEAD 56
#define ANSWER_HEAD  25

size_t store_request_size(const struct store_request *request)
{
    return REQUEST_HEAD + request->key_size + (size_t)request->value_size;
}

size_t store_request_write_head(const struct store_request *request, void *out, size_t room)
{
    struct writer to = writer_make(out, room);
    assert(request->key_size <= STORE_KEY_MAX);
    write_u8(&to, (uint8_t)request->op);
    write_u8(&to, (uint8_t)request->condition);
    write_u8(&to, request->again);
    write_u32(&to, request->flags);
    write_u64(&to, request->client);
    write_u32(&to, request->number);
    write_u64(&to, request->version);
    write_u64(&to, request->delta);
    write_u64(&to, (uint64_t)request->patience);
    write_u64(&to, request->ttl);
    write_u8(&to, (uint8_t)request->key_size);
    write_u32(&to, request->value_size);
    write_bytes(&to, request->key, request->key_size);
    return to.failed ? 0 : room - to.left;
}

/* Adds a value to the head. */
static size_t value_write(const void *value, uint32_t size, size_t head, void *out, size_t room)
{
    struct writer to = writer_make((uint8_t *)out + head, room - head);
    write_bytes(&to, value, size);
    return to.failed || !head ? 0 : head + size;
}

size_t store_request_write(const struct store_request *request, void *out, size_t room)
{
    size_t head = store_request_write_head(request, out, room);
    return value_write(request->value, request->value_size, head, out, room);
}

/* The content makes sense, apart from its sizes. */
static bool request_fits(const struct store_request *request)
{
    bool has_ttl = request->op == STORE_PUT || request->op == STORE_TOUCH;
    bool has_value =
        request->op != STORE_GET && request->op != STORE_DELETE && request->op != STORE_TOUCH;
    if (request->op < STORE_GET || request->op > STORE_TOUCH ||
        request->ttl > (has_ttl ? STORE_TTL_MAX : 0))
        return false;
    if (request->condition > STORE_IF_VERSION ||
        (request->condition == STORE_IF_VERSION) != (request->version != 0))
        return false;
    if (request->value_size > STORE_VALUE_MAX || (request->value_size && !has_value))
        return false;
    return request->client && request->number && request->patience > 0;
}

size_t store_request_read_head(struct store_request *request, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint8_t op = read_u8(&in), condition = read_u8(&in), again = read_u8(&in);
    *request = (struct store_request){.op = op, .condition = condition, .again = again};
    request->flags = read_u32(&in);
    request->client = read_u64(&in);
    request->number = read_u32(&in);
    request->version = read_u64(&in);
    request->delta = read_u64(&in);
    request->patience = (int64_t)read_u64(&in);
    request->ttl = read_u64(&in);
    request->key_size = read_u8(&in);
    request->value_size = read_u32(&in);
    request->key = read_bytes(&in, request->key_size);
    bool sense = !in.failed && again <= 1 && request->key_size <= STORE_KEY_MAX;
    return sense && request_fits(request) ? size - in.left : 0;
}

bool store_request_read(struct store_request *request, const void *bytes, size_t size)
{
    size_t head = store_request_read_head(request, bytes, size);
    request->value = (const uint8_t *)bytes + head;
    return head && size - head == request->value_size;
}

size_t store_answer_size(const struct store_answer *answer)
{
    return ANSWER_HEAD + (size_t)answer->value_size;
}

size_t store_answer_write_head(const struct store_answer *answer, void *out, size_t room)
{
    struct writer to = writer_make(out, room);
    write_u8(&to, (uint8_t)answer->status);
    write_u32(&to, answer->flags);
    write_u64(&to, answer->version);
    write_u64(&to, answer->ttl);
    write_u32(&to, answer->value_size);
    return to.failed ? 0 : room - to.left;
}

size_t store_answer_write(const struct store_answer *answer, void *out, size_t room)
{
    size_t head = store_answer_write_head(answer, out, room);
    return value_write(answer->value, answer->value_size, head, out, room);
}

size_t store_answer_read_head(struct store_answer *answer, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint8_t status = read_u8(&in);
    *answer = (struct store_answer){.status = status};
    answer->flags = read_u32(&in);
    answer->version = read_u64(&in);
    answer->ttl = read_u64(&in);
    answer->value_size = read_u32(&in);
    bool sense = !in.failed && status <= STORE_MALFORMED &&
                 (status == STORE_DONE || answer->value_size == 0) &&
                 answer->ttl <= (status == STORE_DONE ? STORE_TTL_MAX : 0) &&
                 answer->value_size <= STORE_VALUE_MAX;
    return sense ? size - in.left : 0;
}

bool store_answer_read(struct store_answer *answer, const void *bytes, size_t size)
{
    size_t head = store_answer_read_head(answer, bytes, size);
    answer->value = (const uint8_t *)bytes + head;
    return head && size - head == answer->value_size;
}

const char *store_status_text(enum store_status status)
{
    switch (status) {
    case STORE_DONE:
        return "done";
    case STORE_ABSENT:
        return "no such key";
    case STORE_CONFLICT:
        return "the condition does not hold";
    case STORE_UNKNOWN:
        return "no answer in time; it may have happened";
    case STORE_UNAVAILABLE:
        return "too few servers";
    case STORE_BUSY:
        return "too many requests";
    case STORE_FULL:
        return "no space";
    case STORE_TOO_LARGE:
        return "the value is too large";
    case STORE_NOT_NUMBER:
        return "not a number, or too large a one";
    case STORE_MALFORMED:
        return "malformed request";
    }
    assert_unreachable();
}
