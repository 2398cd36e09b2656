#pragma once
/* spread_impl: what the files that spread rows share. Each calls only those above it in this list;
 * the header does not leave the folder.
 *
 *   bell.c     what wakes our detector
 *   seat.c     memory for the row of one member
 *   courier.c  puts and fetches where nothing can be mapped
 *   share.c    puts and fetches, to and from all members
 *   target.c   the ways to one member, from its introduction to its end */

#include "sst/spread/share.h"

/* ---- seat.c ---- */

/* Memory for the row, all zeroes, that no member has had before. -ENOMEM, -EBUSY. */
MUST_CHECK int seat_prepare(struct share *share, struct seat *seat, uint32_t row);

/* A whole row has come: it is the row of that seat from now on. With the put lock. */
void seat_take(struct share *share, struct seat *seat, const uint8_t *row);

/* Nobody else writes the row any more. */
void seat_freeze(struct share *share, struct seat *seat);
void seat_fini(struct share *share, struct seat *seat);

/* ---- courier.c ---- */

MUST_CHECK int courier_open(struct share *share, struct seat *seat, struct courier **courier);
void courier_close(struct courier *courier); /* after its reach: nothing is under way */

/* SST_WRITES; with the put lock. What does not fit now is sent later, all of it. */
void courier_set(struct courier *courier, uint32_t cell, uint64_t word, uint64_t sequence);
void courier_change(struct courier *courier, const struct change *change);
void courier_send_all(struct courier *courier);

/* Sends what is owed, or (SST_READS) fetches. With the put lock. Returns how many things
 * it did. */
int courier_move(struct courier *courier);

/* SST_WRITES: could it send what is owed, or must it tell a sleeper? With the put lock. */
bool courier_is_due(struct courier *courier);

/* Has all that was put arrived, or a row been fetched? With the put lock. */
bool courier_is_done(struct courier *courier);

/* ---- share.c ---- */

/* With the put lock: from now on puts (or fetches) include it, or no longer do. */
void share_add(struct share *share, struct row_target *target);
void share_remove(struct share *share, struct row_target *target);

/* SST_READS, mapped; with the put lock. Takes a row if it is another than the one we have, and
 * whole. Returns how many it took. */
int share_fetch(struct share *share, struct row_target *target);
