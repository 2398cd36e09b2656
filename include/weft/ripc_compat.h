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
 *  - Ids are 1 to 65535, the same ids as in <weft/ripc.h>. A sender with a larger id appears as 0.
 *  - A status is 0 for success, else an errno: ENOENT: no process holds that id, EMSGSIZE: too
 *    large for a short message, EFAULT: memory that is not mapped, EPIPE and so on. The register
 *    calls return 1 if the id was free and 0 if it was taken.
 *  - Calls may be made from any thread.
 *
 * What LibRIPC left undefined, and what happens here:
 *  - A send blocks while its receiver has no room; it loses no messages.
 *  - A short message may have 8900 bytes in all. RECV_BUF_SIZE keeps its old value, because
 *    programs size their messages by it.
 *  - ripc_send_long returns at once, and the receiver copies the items in its ripc_receive. Until
 *    then the sender must not change them; as before, the receiver has to tell the sender when it
 *    may write to them again. ripc_buf_free may be called at any time: a buffer that is still being
 *    read is freed later.
 *  - A long item without a window is discarded and reported as NULL with size 0.
 *  - When the sender's process ends, items that were not yet copied are lost. A program that
 *    returns from main waits for them, at most five seconds. */

#include <stdint.h>
#include <sys/types.h>
#include <weft/ripc.h>

/* Both have other names for the linker: `init` is too common a name, and `ripc_receive` is a call
 * of <weft/ripc.h>, which is already declared there. */
#define init         ripc_compat_init
#define ripc_receive ripc_compat_receive

#define RECV_BUF_SIZE    2000
#define NUM_RECV_BUFFERS 10

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the library. Returns 0 the first time, 1 after that, and an errno above 1 if the library
 * cannot be opened. All other calls do this implicitly. */
RIPC_API uint8_t init(void);

RIPC_API uint8_t ripc_register_service_id(int service_id);
/* Returns the id, or 0 if none was available. */
RIPC_API uint16_t ripc_register_random_service_id(void);
/* Registers an id that several processes may register. A message to it goes to all of them; receive
 * it with that id. */
RIPC_API uint8_t ripc_register_multicast_service_id(int service_id);

/* Memory to send from and receive into. NULL if out of memory; ripc_buf_realloc also returns NULL
 * while a send reads the old memory. */
RIPC_API void *ripc_buf_alloc(size_t size);
RIPC_API void *ripc_buf_realloc(void *buf, size_t size);
RIPC_API void ripc_buf_free(void *buf);

/* Registers the program's own memory. Long items in memory that is not registered are copied. */
RIPC_API uint8_t ripc_buf_register(void *buf, size_t size);
RIPC_API uint8_t ripc_buf_unregister(void *buf);

/* Adds a window: memory into which one long item is received, for any service or for one. Windows
 * of the service are tried first. For a NULL base the library allocates the window. */
RIPC_API uint8_t ripc_reg_recv_window(void *base, size_t size);
RIPC_API uint8_t ripc_reg_recv_window_for_service(void *base, size_t size, uint16_t service);

/* Sends items. The return buffers are memory for the long items of a reply; the library allocates
 * those that are NULL. */
RIPC_API uint8_t ripc_send_short(uint16_t src, uint16_t dest, void **buf, uint32_t *length,
                                 uint16_t num_items, void **return_bufs,
                                 uint32_t *return_buf_lengths, uint16_t num_return_bufs);
RIPC_API uint8_t ripc_send_long(uint16_t src, uint16_t dest, void **buf, uint32_t *length,
                                uint16_t num_items, void **return_bufs,
                                uint32_t *return_buf_lengths, uint16_t num_return_bufs);

/* Waits for a message. All short items are in one buffer: pass the first item to ripc_buf_free and
 * the array to free(). Pass each long item to ripc_buf_free, and their array to free(). An array of
 * sizes is part of its array of items; do not free it. Arrays that would be empty are NULL. Both
 * arrays can be sent back as they are. */
RIPC_API uint8_t ripc_receive(uint16_t service_id, uint16_t *from_service_id, void ***short_items,
                              uint32_t **short_item_sizes, uint16_t *num_short_items,
                              void ***long_items, uint32_t **long_item_sizes,
                              uint16_t *num_long_items);

#ifdef __cplusplus
}
#endif
