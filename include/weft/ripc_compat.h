#pragma once
/* ripc_compat: the 14 calls of LibRIPC as it was in 2013, implemented on ripc.
 *
 * Programs of 2013 compile against this header unchanged. They include "ripc.h": provide a file of
 * that name that contains `#include <weft/ripc_compat.h>`. New programs use <weft/ripc.h>, which
 * can do more and reports more precise errors. A program may include both headers; ripc_receive is
 * then the one below.
 *
 * How the calls behave:
 *  - The first call opens the library, configured by WEFT_DOMAIN and the other environment
 *    variables.
 *  - Ids are 0 to 65535. <weft/ripc.h> uses the same numbers, except that id 0 is 65536 there.
 *  - A status is 0 for success, and otherwise an errno (EMSGSIZE if the message is too large for a
 *    short one, EFAULT if memory is not mapped, EPIPE and so on), or 1 where the calls below say
 *    so. The register calls return 1 if the id was free and 0 if it was taken.
 *  - An address inside a buffer or inside registered memory stands for the whole of it.
 *  - Calls may be made from any thread.
 *  - After fork() the child begins anew: it has no services, windows and buffers, `context` is
 *    empty, and its first call opens the library again. The child may register ids of its own and
 *    exchange messages with its parent. It can still read and write the buffers of its parent, and
 *    send short items from them. As long items or windows these buffers are refused (EFAULT), and
 *    as return buffers they are ignored. They cannot be registered (the call returns 1), resized
 *    (NULL) or freed (nothing happens).
 *
 * What LibRIPC left undefined, and what happens here:
 *  - A send blocks while its receiver has no room; it loses no messages.
 *  - A send to an id that no process has waits until a process has it. The exception is an id to
 *    which this process has sent before, or from which it has received: if no process has it any
 *    more, the send returns ENOENT or EPIPE, so that a service does not wait for clients that have
 *    gone. (LibRIPC lost such a message and returned 0.)
 *  - A short message may have 8900 bytes in all. RECV_BUF_SIZE keeps its old value, because
 *    programs size their messages by it.
 *  - ripc_send_long returns at once, and the receiver copies the items in its ripc_receive. Until
 *    then the sender must not change them; as before, the receiver has to tell the sender when it
 *    may write to them again. ripc_buf_free may be called at any time: a buffer that is still being
 *    read is freed later.
 *  - When the sender's process ends, items that were not yet copied are lost. A program that
 *    returns from main waits for them, at most five seconds.
 *
 * Where this header cannot follow LibRIPC:
 *  - `context` has only the members below. LibRIPC's had handles of the InfiniBand hardware, too,
 *    and its service and remote entries had more members. For the linker it has another name,
 *    so a program must include this header to use it. What a program writes there has no effect.
 *  - If a program has a variable `context` of its own, define RIPC_COMPAT_NO_CONTEXT before
 *    including this header.
 *  - LibRIPC allocated the arrays of sizes separately, and its programs did not free them. Here an
 *    array of sizes is part of its array of items; do not free it.
 *  - An item goes into the smallest window that holds it, not into the oldest. Of windows with the
 *    same size, the oldest is used. A window that is added again before it was used counts once;
 *    LibRIPC would have received two items into it, one over the other.
 *  - Memory that begins before registered memory and reaches into it cannot be registered (1), and
 *    a window cannot overlap part of another window (EEXIST).
 *  - Freeing memory that was registered, not allocated, does nothing. LibRIPC gave it to later
 *    ripc_buf_alloc calls.
 *  - A sender of <weft/ripc.h> whose id is above 65536 appears as 65535; it cannot be answered. */

#include <stdint.h>
#include <sys/types.h>
#include <weft/ripc.h>

/* Three names differ for the linker: `init` and `context` are too common, and <weft/ripc.h> already
 * declares another ripc_receive. */
#define ripc_receive ripc_compat_receive

#define RECV_BUF_SIZE    2000
#define NUM_RECV_BUFFERS 10

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the library. Returns 0 the first time, 1 after that, and an errno above 1 if the library
 * cannot be opened. All other calls do this implicitly. */
RIPC_API uint8_t init(void) __asm__("ripc_compat_init");

#ifndef RIPC_COMPAT_NO_CONTEXT
struct ripc_compat_service {
    uint16_t number; /* the id */
};
struct ripc_compat_remote {
    uint16_t number;
};

/* The state of this process, for reading only. It has no entries for id 65535. */
struct library_context {
    bool initialized;                                 /* the library is open */
    struct ripc_compat_service *services[UINT16_MAX]; /* by id: NULL, or registered here */
    struct ripc_compat_remote *remotes[UINT16_MAX];   /* by id: NULL, or this process has exchanged
                                                       * a message with it */
};
RIPC_API extern struct library_context context __asm__("ripc_compat_context");
#endif

RIPC_API uint8_t ripc_register_service_id(int service_id);
/* Returns the id, which is never 0; 0 if none was available. */
RIPC_API uint16_t ripc_register_random_service_id(void);
/* Registers an id that several processes may register. A message to it goes to all of them; receive
 * it with that id. */
RIPC_API uint8_t ripc_register_multicast_service_id(int service_id);

/* Memory to send from and receive into. A new buffer is filled with zeros, and so is the part that
 * a buffer gains when it grows. NULL if the size is 0 or memory is short. ripc_buf_realloc may move
 * the buffer; the size 0 frees it. */
RIPC_API void *ripc_buf_alloc(size_t size);
RIPC_API void *ripc_buf_realloc(void *buf, size_t size);
RIPC_API void ripc_buf_free(void *buf);

/* Registers the program's own memory. Long items in memory that is not registered are copied.
 * ripc_buf_register returns 0 if all of it is registered now, even if it was before, else 1.
 * ripc_buf_unregister returns 1 if the memory was registered, and 0 if it was not. */
RIPC_API uint8_t ripc_buf_register(void *buf, size_t size);
RIPC_API uint8_t ripc_buf_unregister(void *buf);

/* Adds a window: memory into which one long item is received, for any service or for one. Windows
 * of the service are tried first. For a NULL base the library allocates the window. */
RIPC_API uint8_t ripc_reg_recv_window(void *base, size_t size);
RIPC_API uint8_t ripc_reg_recv_window_for_service(void *base, size_t size, uint16_t service);

/* Sends items. An item at NULL is sent as zeros. The return buffers are memory for the long items
 * of a reply; the library allocates those that are NULL, and ignores those that have no bytes or
 * are not mapped. */
RIPC_API uint8_t ripc_send_short(uint16_t src, uint16_t dest, void **buf, uint32_t *length,
                                 uint16_t num_items, void **return_bufs,
                                 uint32_t *return_buf_lengths, uint16_t num_return_bufs);
RIPC_API uint8_t ripc_send_long(uint16_t src, uint16_t dest, void **buf, uint32_t *length,
                                uint16_t num_items, void **return_bufs,
                                uint32_t *return_buf_lengths, uint16_t num_return_bufs);

/* Waits for a message. All short items are in one buffer: pass any one of them to ripc_buf_free,
 * and the array to free(). The bytes after the last item, up to RECV_BUF_SIZE in all, are 0. Pass
 * each long item to ripc_buf_free, and their array to free(). Arrays that would be empty are NULL.
 * Both arrays can be sent back as they are.
 *
 * Returns 1 in two cases:
 *  - No window was large enough for a long item. The item is lost: it is NULL and has the size 0.
 *    Everything else of the message is returned.
 *  - A signal handler ran in this thread while the call waited, for example that of alarm(), with
 *    or without SA_RESTART. No message is returned; the arguments keep their values. The call
 *    begins by blocking signals; their handlers run when it sleeps or returns, so that no signal
 *    is missed. If there is a message, the call returns it and 0, and the handler runs before the
 *    call returns. A handler that runs before the call, or inside it before signals are blocked,
 *    does not end the call; the program cannot tell these two cases apart. (In LibRIPC a handler
 *    that ran at any time before the system call that sleeps did not end the call.) A program whose
 *    only signal may come so early repeats the signal, for example by setitimer(). If several
 *    threads receive with the same id, all but one of them may miss a signal that comes in the
 *    moment before they sleep. */
RIPC_API uint8_t ripc_receive(uint16_t service_id, uint16_t *from_service_id, void ***short_items,
                              uint32_t **short_item_sizes, uint16_t *num_short_items,
                              void ***long_items, uint32_t **long_item_sizes,
                              uint16_t *num_long_items);

#ifdef __cplusplus
}
#endif
