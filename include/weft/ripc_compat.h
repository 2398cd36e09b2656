#pragma once
/* ripc_compat: the 14 calls of LibRIPC as it was in 2013, over ripc.
 *
 * Programs of that time compile against this header as they are (they include
 * "ripc.h": a file of that name with `#include <weft/ripc_compat.h>` in it
 * will do). New ones use <weft/ripc.h>, which can do more and says more; both
 * may be included, and then ripc_receive is the one below.
 *
 * What a call means:
 *  - The library opens itself at the first call, as WEFT_DOMAIN and the other
 *    variables of the environment say.
 *  - Ids are 1 to 65535 and are the same ids that <weft/ripc.h> knows. A
 *    sender with an id that does not fit is seen as 0.
 *  - A status is 0 for success, else the errno of what went wrong: ENOENT
 *    nobody has that id, EMSGSIZE too much for a short message, EFAULT memory
 *    that is not there, EPIPE ... The register calls return 1 when the id was
 *    free and 0 when it was taken.
 *  - Calls may come from any thread.
 *
 * What was left open in 2013, and is not any more:
 *  - A send blocks while its receiver has no room, instead of losing messages.
 *  - A short message may have 8900 bytes in all; RECV_BUF_SIZE is what it was,
 *    because programs size their messages by it.
 *  - ripc_send_long returns at once, and the receiver pulls the items in its
 *    ripc_receive. Until then they must stay as they are; as before, the
 *    receiver has to tell when they may be written again. ripc_buf_free may be
 *    called at any time: a buffer that is still being read is freed later.
 *  - A long item without a window is discarded, and reported as NULL with size 0.
 *  - Where the process of a sender ends, items not yet pulled are lost; a
 *    program that returns from main waits for them, but at most five seconds. */

#include <stdint.h>
#include <sys/types.h>
#include <weft/ripc.h>

/* The linker knows these two by other names: one is too common to take, the
 * other is a call of <weft/ripc.h>, whose prototype has come before. */
#define init         ripc_compat_init
#define ripc_receive ripc_compat_receive

#define RECV_BUF_SIZE    2000
#define NUM_RECV_BUFFERS 10

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 0 the first time, 1 after that, and an errno above 1 if the library
 * cannot be opened. All other calls do this by themselves. */
RIPC_API uint8_t init(void);

RIPC_API uint8_t ripc_register_service_id(int service_id);
/* Returns the id, or 0 if none could be had. */
RIPC_API uint16_t ripc_register_random_service_id(void);
/* An id that many may register: a message to it goes to all of them. What
 * comes is received with that id. */
RIPC_API uint8_t ripc_register_multicast_service_id(int service_id);

/* Memory to send from and receive into. NULL if there is none; realloc also
 * while a send is under way that reads the old memory. */
RIPC_API void *ripc_buf_alloc(size_t size);
RIPC_API void *ripc_buf_realloc(void *buf, size_t size);
RIPC_API void ripc_buf_free(void *buf);

/* The program's own memory. Long items may also lie in memory that was not
 * registered; they are copied then. */
RIPC_API uint8_t ripc_buf_register(void *buf, size_t size);
RIPC_API uint8_t ripc_buf_unregister(void *buf);

/* Where one long item may land: of any service, or only of one, whose windows
 * are tried first. With a NULL base the library allocates it. */
RIPC_API uint8_t ripc_reg_recv_window(void *base, size_t size);
RIPC_API uint8_t ripc_reg_recv_window_for_service(void *base, size_t size, uint16_t service);

/* Items, and memory for the long items of a reply. A NULL return buffer is
 * allocated by the library. */
RIPC_API uint8_t ripc_send_short(uint16_t src, uint16_t dest, void **buf, uint32_t *length,
                                 uint16_t num_items, void **return_bufs,
                                 uint32_t *return_buf_lengths, uint16_t num_return_bufs);
RIPC_API uint8_t ripc_send_long(uint16_t src, uint16_t dest, void **buf, uint32_t *length,
                                uint16_t num_items, void **return_bufs,
                                uint32_t *return_buf_lengths, uint16_t num_return_bufs);

/* Waits for a message. All short items lie in one buffer: ripc_buf_free the
 * first of them, and free() the array. Long items are freed one by one by
 * ripc_buf_free, and their array by free(). An array of sizes goes with its
 * array of items. What there is none of is NULL. Both arrays may be sent back
 * as they are. */
RIPC_API uint8_t ripc_receive(uint16_t service_id, uint16_t *from_service_id, void ***short_items,
                              uint32_t **short_item_sizes, uint16_t *num_short_items,
                              void ***long_items, uint32_t **long_item_sizes,
                              uint16_t *num_long_items);

#ifdef __cplusplus
}
#endif
