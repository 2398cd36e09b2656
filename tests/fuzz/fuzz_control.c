/* What contexts say over their lifeline: refused, or written again byte by byte
 * the same. The input is the kind and then the body. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "ripc/core/control.h"

/* Not fuzz.h: a link of a topology and a link of a transport are two things. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct control control = {.fd_count = 1}, again;
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
    assert(control.fd_count == 0 && words.parcel.fd_count == 1); /* they moved in any case */
    if (result == 0) {
        assert(words.kind > 0 && words.kind < CONTROL_KIND_END);
        assert(words.status <= 0 && words.status > -4096);
        assert(memchr(words.transport, 0, sizeof words.transport));
        assert(words.parcel.size <= sizeof words.parcel.bytes);
        control_write(&again, &words);
        assert(again.kind == control.kind && again.size == control.size);
        assert(memcmp(again.body, control.body, control.size) == 0);
    }
    parcel_fini(&words.parcel);
    return 0;
}
