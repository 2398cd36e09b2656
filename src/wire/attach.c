#include "wire/attach.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/check.h"

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
        return -EOPNOTSUPP;
    ask->slots = read_u32(&in);
    ask->bytes = read_u32(&in);
    return in.failed || in.left ? -EPROTO : 0;
}

void attach_answer_write(uint16_t status, uint8_t out[ATTACH_ANSWER_SIZE])
{
    struct writer to = writer_make(out, ATTACH_ANSWER_SIZE);
    write_u16(&to, ATTACH_SERVICE);
    write_u16(&to, status);
    assert(!to.failed && !to.left);
}

int attach_answer_read(uint16_t *status, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint16_t service = read_u16(&in);
    *status = read_u16(&in);
    return in.failed || in.left || service != ATTACH_SERVICE ? -EPROTO : 0;
}
