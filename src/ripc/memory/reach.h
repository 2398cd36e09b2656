#pragma once
/* reach: what layers above need to share memory with a peer for good, where
 * ripc_read and ripc_write would look everything up again for each word.
 *
 * A *reach* is granted memory of a peer, kept at hand: mapped where that is possible,
 * else moved by transfers. Memory of ours that is granted alone is in ripc/memory/own_file.h.
 *
 * All calls take the context's lock; none is made with it held. Callbacks of
 * transfers come with it held, from any thread: they note what happened and return.
 * Whatever was opened here is closed before its context. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/ripc.h>

#include "transport/transport.h"
#include "transport/wake/doorbell.h"

/* ---- grants of ours ---- */

/* A grant that we gave is void at once, whether its holder says so or not. One that is not
 * known (any more) is nothing. */
void reach_void(struct ripc_service *service, const struct ripc_grant *grant);

/* ---- memory of a peer ---- */

struct reach;

/* Waits for the way and for the owner's answer. As ripc_read. The grant's owner
 * may die at any time: the reach stays, and what is mapped can still be read. */
MUST_CHECK int reach_open(struct ripc_service *service, const struct ripc_grant *grant,
                          int64_t deadline, struct reach **reach);

/* Transfers under way complete first, with -EPIPE if need be: from a peer that stands still
 * we part after some seconds. The mapping is gone. */
void reach_close(struct reach *reach);

/* Where it is mapped, or NULL; it stays until reach_close. */
void *reach_mapping(const struct reach *reach);
size_t reach_size(const struct reach *reach);

/* Has the peer died, or taken the grant back? Looks at one word, takes no lock. From then on
 * what is mapped is nobody else's to see, transfers are refused, and the one thing left to do
 * is reach_close, which an owner that revokes waits for. */
bool reach_is_lost(const struct reach *reach);

/* Would the peer's processor have to look for what we write (1), does the hardware place
 * it unseen (0)? Of those that are not mapped. */
bool reach_is_polled(const struct reach *reach);

/* A transfer, never waiting. 1: done (done is not called); 0: done() will be called
 * with 0 or a negative errno; else an error. `local` lies in memory of ripc_alloc or
 * an own_file, until then. Writes of at most REACH_WRITE_MAX bytes are seen by the peer in the
 * order in which they were started, light ones (struct transfer) among others. */
#define REACH_WRITE_MAX TRANSFER_ORDERED_MAX
int reach_write(struct reach *reach, uint64_t offset, const void *local, size_t size,
                struct transfer *transfer);
int reach_read(struct reach *reach, uint64_t offset, void *local, size_t size,
               struct transfer *transfer);

/* ---- waiting for what peers write ---- */

/* Moves what does not move by itself; cheap where nothing has to be moved. */
int reach_progress(struct ripc *ripc);

/* Does somebody have to call reach_progress for writes of peers to arrive? */
bool reach_needs_progress(struct ripc *ripc);

/* After doorbell_prepare, before the last look: what arrives rings from now on. */
void reach_arm(struct ripc *ripc);

/* Bells that are rung when a transport that is polled may have placed something,
 * found by the keeper. */
void reach_bell_add(struct ripc *ripc, struct doorbell *bell);
void reach_bell_remove(struct ripc *ripc, struct doorbell *bell);
