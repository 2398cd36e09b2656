#pragma once
/* reach: permanent access to granted memory of a peer, for layers above. ripc_read and ripc_write
 * would look everything up again for each word.
 *
 * A *reach* is granted memory of a peer, kept accessible: mapped where possible, else accessed by
 * transfers. Memory of ours that is granted by itself is in ripc/memory/own_file.h.
 *
 * All calls take the context's lock; do not call them with the lock held. Callbacks of transfers
 * come with the lock held, from any thread: they may only note what happened. Close everything that
 * was opened here before its context. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/ripc.h>

#include "transport/transport.h"
#include "transport/wake/doorbell.h"

/* ---- our grants ---- */

/* Voids a grant of ours at once, whether its holder confirms or not. A grant that does not exist
 * (any more) is ignored. */
void reach_void(struct ripc_service *service, const struct ripc_grant *grant);

/* ---- memory of a peer ---- */

struct reach;

/* Waits for the connection and for the owner's answer. Errors as for ripc_read. The owner may die
 * at any time: the reach remains, and a mapping can still be read. */
MUST_CHECK int reach_open(struct ripc_service *service, const struct ripc_grant *grant,
                          int64_t deadline, struct reach **reach);

/* Waits for transfers under way, which fail with -EPIPE if necessary: a hung peer is disconnected
 * after some seconds. Unmaps the memory. */
void reach_close(struct reach *reach);

/* Returns where the memory is mapped, or NULL; valid until reach_close. */
void *reach_mapping(const struct reach *reach);
size_t reach_size(const struct reach *reach);

/* Has the peer died or revoked the grant? Reads one word and takes no lock. From then on other
 * processes no longer see what is written to the mapping, transfers are refused, and the only thing
 * left to do is reach_close, for which a revoking owner waits. */
bool reach_is_lost(const struct reach *reach);

/* For a reach that is not mapped: true if the peer's processor has to poll for what we write, false
 * if the hardware places it without the processor. */
bool reach_is_polled(const struct reach *reach);

/* Starts a transfer; never waits. 1: done (done() is not called); 0: done() will be called with 0
 * or a negative errno; else an error. `local` is in memory of ripc_alloc or of an own_file, and
 * must stay valid until then. The peer sees writes of at most REACH_WRITE_MAX bytes in the order in
 * which they were started, including light ones (struct transfer). */
#define REACH_WRITE_MAX TRANSFER_ORDERED_MAX
int reach_write(struct reach *reach, uint64_t offset, const void *local, size_t size,
                struct transfer *transfer);
int reach_read(struct reach *reach, uint64_t offset, void *local, size_t size,
               struct transfer *transfer);

/* ---- waiting for writes of peers ---- */

/* Lets transports that need it make progress; cheap where none does. */
int reach_progress(struct ripc *ripc);

/* Must reach_progress be called for writes of peers to arrive? */
bool reach_needs_progress(struct ripc *ripc);

/* Call after doorbell_prepare and before the last check: from now on everything that arrives rings
 * the bell. */
void reach_arm(struct ripc *ripc);

/* Bells that the keeper rings when a polled transport may have placed something. */
void reach_bell_add(struct ripc *ripc, struct doorbell *bell);
void reach_bell_remove(struct ripc *ripc, struct doorbell *bell);
