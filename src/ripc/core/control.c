#include "ripc/core/control.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

#define ERRNO_MAX 4095 /* limit of a peer's status, which the program gets and may negate */

void control_write(struct control *control, const struct control_words *words)
{
    struct writer out = writer_make(control->body, sizeof control->body);
    write_u64(&out, words->pipe);
    write_u64(&out, words->from);
    write_u64(&out, words->to);
    write_u64(&out, words->number);
    write_u32(&out, words->item);
    write_u32(&out, words->rights);
    write_u32(&out, (uint32_t)words->status);
    write_bytes(&out, words->transport, sizeof words->transport);
    write_u64(&out, words->memory.key);
    write_u64(&out, words->memory.address);
    write_u64(&out, words->memory.size);
    write_u16(&out, words->parcel.size);
    write_bytes(&out, words->parcel.bytes, words->parcel.size);
    assert(!out.failed);
    control->kind = (uint16_t)words->kind;
    control->size = (uint16_t)(sizeof control->body - out.left);
    control->fd_count = words->parcel.fd_count;
    memcpy(control->fds, words->parcel.fds, sizeof control->fds);
}

static void control_take_descriptors(struct control *control, struct parcel *parcel)
{
    parcel->fd_count = control->fd_count;
    for (unsigned i = 0; i < CONTROL_FD_MAX; i++) {
        parcel->fds[i] = i < control->fd_count ? control->fds[i] : -1;
        control->fds[i] = -1;
    }
    control->fd_count = 0;
}

int control_status(int64_t status)
{
    switch (status) {
    case -EAGAIN:
    case -ETIMEDOUT:
    case -EINPROGRESS:
    case -EINVAL:
        return -EPROTO;
    default:
        return status <= 0 && status > -4096 ? (int)status : -EPROTO;
    }
}

int control_read(struct control *control, struct control_words *words)
{
    memset(words, 0, sizeof *words);
    assert(control->fd_count <= CONTROL_FD_MAX);
    control_take_descriptors(control, &words->parcel);
    if (control->kind == 0 || control->kind >= CONTROL_KIND_END ||
        control->size > sizeof control->body)
        return -EPROTO;
    struct reader in = reader_make(control->body, control->size);
    words->kind = (enum control_kind)control->kind;
    words->pipe = read_u64(&in);
    words->from = read_u64(&in);
    words->to = read_u64(&in);
    words->number = read_u64(&in);
    words->item = read_u32(&in);
    words->rights = read_u32(&in);
    words->status = (int32_t)read_u32(&in);
    read_copy(&in, words->transport, sizeof words->transport);
    words->memory.key = read_u64(&in);
    words->memory.address = read_u64(&in);
    words->memory.size = read_u64(&in);
    words->parcel.size = read_u16(&in);
    if (words->parcel.size > sizeof words->parcel.bytes)
        return -EPROTO;
    read_copy(&in, words->parcel.bytes, words->parcel.size);
    if (in.failed || in.left || words->status > 0 || words->status < -ERRNO_MAX ||
        words->transport[sizeof words->transport - 1] != 0)
        return -EPROTO;
    words->status = control_status(words->status);
    return 0;
}
