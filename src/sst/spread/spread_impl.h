#pragma once
/* spread_impl: what the files that spread rows share. Each calls only those above it in this list;
 * the header does not leave the folder.
 *
 *   bell.c     wakes our detector
 *   seat.c     memory for the row of one member
 *   courier.c  puts and fetches where memory cannot be mapped
 *   share.c    puts and fetches, to and from all members
 *   target.c   the connections to one member, from its introduction to its end */

#include "sst/spread/share.h"

/* ---- seat.c ---- */

/* Makes memory for the row, all zeroes, which no earlier member can access. -ENOMEM, -EBUSY. */
MUST_CHECK int seat_prepare(struct share *share, struct seat *seat, uint32_t row);

/* Copies a completely fetched row into the seat. With the put lock. */
void seat_take(struct share *share, struct seat *seat, const uint8_t *row);

/* Ends the access of all other processes to the row. */
void seat_freeze(struct share *share, struct seat *seat);
void seat_fini(struct share *share, struct seat *seat);

/* ---- courier.c ---- */

MUST_CHECK int courier_open(struct share *share, struct seat *seat, struct courier **courier);
void courier_close(struct courier *courier); /* after its reach: no transfer is under way */

/* SST_WRITES; with the put lock. If there is no room now, the whole row is sent later. */
void courier_set(struct courier *courier, uint32_t cell, uint64_t word, uint64_t sequence);
void courier_change(struct courier *courier, const struct change *change);
void courier_send_all(struct courier *courier);

/* Sends an owed row or (SST_READS) fetches. With the put lock. Returns the number of actions. */
int courier_move(struct courier *courier);

/* SST_WRITES: can it send an owed row, or must it wake the member? With the put lock. */
bool courier_is_due(struct courier *courier);

/* Has the whole row arrived once, or (SST_READS) has a row been fetched? With the put lock. This
 * comes true also while puts go on: two members that meet wake each other, and note each time that
 * they fall asleep. */
bool courier_has_begun(struct courier *courier);

/* Has everything that was put up to that sequence arrived, or (SST_READS) has a row been fetched?
 * With the put lock. UINT64_MAX: everything. */
bool courier_is_done(struct courier *courier, uint64_t sequence);

/* ---- share.c ---- */

/* With the put lock: includes the target in puts (or fetches), or excludes it. */
void share_add(struct share *share, struct row_target *target);
void share_remove(struct share *share, struct row_target *target);

/* For SST_READS and a mapped target; with the put lock. Takes the row if it is newer than ours and
 * not in the middle of a put. Returns how many rows it took. */
int share_fetch(struct share *share, struct row_target *target);
