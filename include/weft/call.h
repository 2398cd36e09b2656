#pragma once
/* call: the common form of calls that take time (weft/disk.h, weft/work.h, and weft/stream.h for
 * messages).
 *
 * The service owns a struct weft_call, usually as the first member of a larger struct of its own,
 * and sets `done`. While the call is under way it touches neither the struct nor the memory that it
 * passed to the function. done() is called once, by the node's thread, never from inside the
 * function that began the call. From then on the struct belongs to the service again, and done()
 * may use it for the next call.
 *
 * A function that begins a call returns 0, or a negative errno if the call was refused: then done()
 * is not called. When a server stops, calls under way end without done(). */

#include <weft/service.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_call {
    void (*done)(struct weft_self *self, struct weft_call *call);
    int64_t result;    /* at least 0, or a negative errno; valid in done() */
    void *reserved[6]; /* private to weft while the call is under way */
};

#ifdef __cplusplus
}
#endif
