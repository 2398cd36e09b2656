#pragma once
/* custody: what a server knows about the whereabouts of a placement group's acknowledged writes.
 * Durable, one for each group of which the server ever kept anything; it is never deleted.
 *
 * While a custody is *open* its server holds every write of the group that was ever acknowledged,
 * and no write is acknowledged without it. It ends by itself when the server's membership does
 * (roster.h). From then on it says: everything acknowledged until the view `ended` is here, and
 * any later write was acknowledged by some of `keepers` while they were members. */

#include <stdbool.h>
#include <stdint.h>

#include "services/store/view/roster.h"

/* Epoch in the upper 28 bits, counter in the lower 36. 0: none. */
typedef uint64_t store_version;

#define STORE_COUNTER_BITS 36

/* No change has this version; those of that view have higher ones, those of earlier views lower
 * ones. */
static inline store_version store_version_before(uint32_t epoch)
{
    return (store_version)epoch << STORE_COUNTER_BITS;
}

#define KEEPERS_MAX 8

struct custody {
    uint32_t since;  /* the view since which it is open, or was; 0: this server never had one */
    uint32_t ended;  /* 0: it is open; otherwise the last view until which it holds everything */
    uint32_t hollow; /* 1: it has ended, and its data was removed, or was in memory */
    uint32_t keeper_count;
    uint32_t keepers[KEEPERS_MAX]; /* ascending; all that can have an open custody, and more */
};

/* The custody that the first members have of each of their groups, without having stored it: the
 * group is empty, and they are its keepers. */
void custody_found(struct custody *custody, const uint32_t *keepers, uint32_t count);
/* A view was installed after the view `before`: ends the custody if the server's membership has
 * ended since. */
void custody_pass(struct custody *custody, const struct roster *roster, uint32_t server,
                  uint32_t before);
bool custody_is_open(const struct custody *custody);
bool custody_keeps(const struct custody *custody, uint32_t server);
/* Opens it, if it is not open, or replaces its keepers. */
void custody_open(struct custody *custody, uint32_t epoch, const uint32_t *keepers, uint32_t count);
/* Ends it in a view in which the server is a member, at the end of the view before that one; its
 * data is not needed any more. */
void custody_retire(struct custody *custody, uint32_t epoch, const uint32_t *keepers,
                    uint32_t count);
/* The data was in memory, and the process that had it has ended. Its membership has, too, or does
 * in the next view that this server installs. */
void custody_forget(struct custody *custody);
bool custody_same(const struct custody *a, const struct custody *b);
