#include "transport/datagram/datagram_wire.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

#define DATAGRAM_MAGIC 0x7755 /* "wU" */

static_assert(DATAGRAM_FRAME_SIZE == 52, "12 common, 16 for the pipe, 24 for the frame");

static void frame_write(const struct datagram_frame *frame, struct writer *out)
{
    const struct frame_head *head = &frame->head;
    write_u64(out, frame->sequence);
    write_u64(out, frame->confirmed);
    write_u64(out, head->user);
    write_u64(out, head->token);
    write_u16(out, head->kind);
    write_bytes(out, head->user_bytes, sizeof head->user_bytes);
}

static void frame_read(struct datagram_frame *frame, struct reader *in)
{
    struct frame_head *head = &frame->head;
    frame->sequence = read_u64(in);
    frame->confirmed = read_u64(in);
    head->user = read_u64(in);
    head->token = read_u64(in);
    head->kind = read_u16(in);
    read_copy(in, head->user_bytes, sizeof head->user_bytes);
    if (in->left > FRAME_BODY_MAX)
        in->failed = true;
    frame->size = (uint32_t)in->left;
    frame->body = read_bytes(in, in->left);
}

static void return_write(const struct datagram_return *back, struct writer *out)
{
    write_u64(out, back->received);
    write_u64(out, back->selected);
    write_u64(out, back->released);
    write_u64(out, back->first);
    write_u16(out, back->count);
    for (unsigned i = 0; i < back->count; i++) {
        write_u64(out, back->acks[i].token);
        write_u64(out, (uint64_t)back->acks[i].status);
    }
}

static void return_read(struct datagram_return *back, struct reader *in)
{
    back->received = read_u64(in);
    back->selected = read_u64(in);
    back->released = read_u64(in);
    back->first = read_u64(in);
    back->count = read_u16(in);
    if (back->count > DATAGRAM_ACKS_MAX) {
        in->failed = true;
        return;
    }
    for (unsigned i = 0; i < back->count; i++) {
        back->acks[i].token = read_u64(in);
        back->acks[i].status = (int64_t)read_u64(in);
    }
}

size_t pipe_datagram_write(const struct pipe_datagram *datagram, uint8_t *out, size_t size)
{
    struct writer to = writer_make(out, size);
    write_u16(&to, DATAGRAM_MAGIC);
    write_u8(&to, DATAGRAM_VERSION);
    write_u8(&to, (uint8_t)datagram->kind);
    write_u64(&to, datagram->pipe);
    switch (datagram->kind) {
    case DATAGRAM_FRAME:
        frame_write(&datagram->frame, &to);
        break;
    case DATAGRAM_RETURN:
        return_write(&datagram->back, &to);
        break;
    case DATAGRAM_ASK:
        write_u64(&to, datagram->ask.confirmed);
        write_u8(&to, datagram->ask.answer);
        break;
    }
    assert(!to.failed);
    return size - to.left;
}

int pipe_datagram_read(struct pipe_datagram *datagram, const uint8_t *in, size_t size)
{
    struct reader from = reader_make(in, size);
    if (read_u16(&from) != DATAGRAM_MAGIC || read_u8(&from) != DATAGRAM_VERSION)
        return -EPROTO;
    uint8_t kind = read_u8(&from);
    datagram->kind = (enum pipe_datagram_kind)kind;
    datagram->pipe = read_u64(&from);
    switch (kind) {
    case DATAGRAM_FRAME:
        frame_read(&datagram->frame, &from);
        break;
    case DATAGRAM_RETURN:
        return_read(&datagram->back, &from);
        break;
    case DATAGRAM_ASK:
        datagram->ask.confirmed = read_u64(&from);
        datagram->ask.answer = read_u8(&from);
        if (datagram->ask.answer > 1)
            from.failed = true;
        break;
    default:
        return -EPROTO;
    }
    return from.failed || from.left ? -EPROTO : 0;
}

/* ---- the parcel ---- */

void datagram_end_write(const struct datagram_end *end, struct parcel *out)
{
    struct writer to = writer_make(out->bytes, sizeof out->bytes);
    write_u8(&to, DATAGRAM_VERSION);
    write_u64(&to, end->pipe);
    write_u16(&to, end->window);
    assert(!to.failed);
    out->size = (uint16_t)(sizeof out->bytes - to.left);
    out->fd_count = 0;
}

int datagram_end_read(struct datagram_end *end, const struct parcel *in)
{
    struct reader from = reader_make(in->bytes, in->size);
    uint8_t version = read_u8(&from);
    end->pipe = read_u64(&from);
    end->window = read_u16(&from);
    bool is_ours = !from.failed && !from.left && version == DATAGRAM_VERSION && end->pipe &&
                   end->window && end->window <= DATAGRAM_WINDOW_MAX;
    return is_ours ? 0 : -EPROTO;
}
