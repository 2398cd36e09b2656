#include "wire/attach.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/check.h"

enum { OLD_ANSWER_SIZE = 4 /* of version 1: the service's number and the status */ };

void attach_ask_write(const struct attach_ask *ask, uint8_t out[ATTACH_ASK_SIZE])
{
    struct writer to = writer_make(out, ATTACH_ASK_SIZE);
    write_u16(&to, ATTACH_SERVICE);
    write_u16(&to, ATTACH_VERSION);
    write_u32(&to, ask->slots);
    write_u32(&to, ask->bytes);
    assert(!to.failed && !to.left);
}

int attach_ask_read(struct attach_ask *ask, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint16_t service = read_u16(&in), version = read_u16(&in);
    if (in.failed || service != ATTACH_SERVICE)
        return -EPROTO;
    if (version != ATTACH_VERSION)
        return -EPROTONOSUPPORT;
    ask->slots = read_u32(&in);
    ask->bytes = read_u32(&in);
    return in.failed || in.left ? -EPROTO : 0;
}

void attach_answer_write(const struct attach_answer *answer, uint8_t out[ATTACH_ANSWER_SIZE])
{
    struct writer to = writer_make(out, ATTACH_ANSWER_SIZE);
    write_u16(&to, ATTACH_SERVICE);
    write_u16(&to, answer->status);
    write_u16(&to, answer->version);
    write_u16(&to, answer->memory);
    write_u32(&to, answer->server);
    assert(!to.failed && !to.left);
}

int attach_answer_read(struct attach_answer *answer, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint16_t service = read_u16(&in);
    *answer = (struct attach_answer){.status = read_u16(&in)};
    if (!in.failed && service == ATTACH_SERVICE && size == OLD_ANSWER_SIZE) {
        *answer = (struct attach_answer){.status = EPROTONOSUPPORT, .version = 1};
        return 0;
    }
    answer->version = read_u16(&in);
    answer->memory = read_u16(&in);
    answer->server = read_u32(&in);
    return in.failed || in.left || service != ATTACH_SERVICE ? -EPROTO : 0;
}

void attach_head_write(const struct attach_head *head, uint8_t out[ATTACH_HEAD_SIZE])
{
    struct writer to = writer_make(out, ATTACH_HEAD_SIZE);
    write_u16(&to, head->service);
    write_u16(&to, head->status);
    write_u64(&to, head->ticket);
    assert(!to.failed && !to.left);
}

int attach_head_read(struct attach_head *head, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    head->service = read_u16(&in);
    head->status = read_u16(&in);
    head->ticket = read_u64(&in);
    return in.failed ? -EPROTO : 0;
}
