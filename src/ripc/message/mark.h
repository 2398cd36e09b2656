#pragma once
/* mark: a word for each return buffer that we offer, in memory of ours that the peer maps. It
 * decides whether the peer uses the buffer or we withdraw it, without an answer of the peer, which
 * may be stopped.
 *
 * While the offer stands, the word is the number of the offer. The peer takes the offer by
 * replacing the number by its complement, and only then writes into the buffer. The offerer
 * withdraws by replacing the number by 0. Each does that with a compare-and-swap, so only one of
 * them succeeds. A word is reused for other offers. Their numbers are random, so a peer that still
 * knows an old number never finds it there.
 *
 * The marks of a context are in one file, which all peers map that got an offer: a peer that breaks
 * the protocol can make other offers useless, or seem to be on offer. It could as well write into
 * buffers that share a slab of the pool with one that was offered to it. If such a peer changes the
 * mark of an offer to another peer, which has taken it, back to the number, ripc_withdraw returns 0
 * while that other peer still writes into the buffer. */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ripc/core/remote.h"
#include "ripc/message/message.h"

#define MARK_SIZE MESSAGE_MARK_SIZE

/* Written by the offerer under its lock, and by the peer that takes the offer. The swaps acquire
 * and release: what the offerer did with the buffer before is seen by the peer before it writes. */
typedef _Atomic uint64_t mark_word;
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "processes share it");

/* ---- for the offerer; called with the lock held ---- */

/* Makes a mark for an offer to the remote, and describes it to the peer. NULL: there is none,
 * because the transport maps no memory, or all are used; `out` is then empty. */
mark_word *mark_make(const struct remote *remote, uint64_t number, struct remote_memory *out);

/* Withdraws the offer. False: the peer has taken it. */
bool mark_withdraw(mark_word *mark, uint64_t number);

/* The offer has ended; the peer cannot take it any more. */
void mark_free(struct ripc *ripc, mark_word *mark);

void marks_close(struct ripc *ripc); /* after the pool */

/* ---- for the peer; an empty mapping means that the offer has no mark ---- */

/* Maps the mark that the offerer described, or makes an empty mapping if the description is empty.
 * Handles control messages of the offerer if the mark's memory is not known yet. On failure there
 * is nothing to unmap. */
int mark_map(struct transport_link *link, const struct remote_memory *memory,
             struct mapping *mapping);
void mark_unmap(struct transport_link *link, struct mapping *mapping);

/* Does the offer stand? */
bool mark_stands(const struct mapping *mapping, uint64_t number);

/* Takes the offer. False: it was withdrawn. */
bool mark_take(const struct mapping *mapping, uint64_t number);

/* An offer that was taken can be taken again, or withdrawn. */
void mark_give_back(const struct mapping *mapping, uint64_t number);
