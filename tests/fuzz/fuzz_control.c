/* Tests the messages of contexts over their lifeline: a message is refused, or has the same
 * bytes when written again. The status is an exception: one that only local calls use is read as
 * -EPROTO. What was read is the same after it was written and read again. The input is the kind
 * followed by the body. */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "ripc/core/control.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STATUS_AT = 40 }; /* offset in the body, as in control.c */

static bool words_equal(const struct control_words *one, const struct control_words *other)
{
    return one->kind == other->kind && one->pipe == other->pipe && one->from == other->from &&
           one->to == other->to && one->number == other->number && one->item == other->item &&
           one->rights == other->rights && one->status == other->status &&
           !memcmp(one->transport, other->transport, sizeof one->transport) &&
           one->memory.key == other->memory.key && one->memory.address == other->memory.address &&
           one->memory.size == other->memory.size && one->parcel.size == other->parcel.size &&
           !memcmp(one->parcel.bytes, other->parcel.bytes, one->parcel.size);
}

static void words_try(const struct control_words *words, struct control *heard)
{
    struct control again;
    struct control_words second;
    struct reader status = reader_make(heard->body + STATUS_AT, sizeof(uint32_t));
    struct writer out = writer_make(heard->body + STATUS_AT, sizeof(uint32_t));
    int32_t said = (int32_t)read_u32(&status);
    assert(words->kind > 0 && words->kind < CONTROL_KIND_END);
    assert(said <= 0 && said > -4096 && words->status == control_status(said));
    assert(control_status(words->status) == words->status);
    assert(memchr(words->transport, 0, sizeof words->transport));
    assert(words->parcel.size <= sizeof words->parcel.bytes);
    control_write(&again, words);
    write_u32(&out, (uint32_t)words->status);
    assert(again.kind == heard->kind && again.size == heard->size);
    assert(memcmp(again.body, heard->body, heard->size) == 0);
    assert(control_read(&again, &second) == 0 && words_equal(words, &second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct control control = {.fd_count = 1};
    struct control_words words;
    if (size < 1 || size > 1 + CONTROL_BODY_MAX)
        return 0;
    for (unsigned i = 0; i < CONTROL_FD_MAX; i++)
        control.fds[i] = -1;
    control.kind = data[0];
    control.size = (uint16_t)(size - 1);
    memcpy(control.body, data + 1, size - 1);
    int result = control_read(&control, &words);
    assert(result == 0 || result == -EPROTO);
    assert(control.fd_count == 0 && words.parcel.fd_count == 1); /* they were moved in any case */
    if (result == 0)
        words_try(&words, &control);
    parcel_fini(&words.parcel);
    return 0;
}
