#pragma once
/* resend: numbered things that go over a carrier which may lose them, and when they are sent again.
 * Pure.
 *
 *      base        sent        next
 *   ....|-----------|-----------|
 *  confirmed  on the way   to be sent
 *
 * What is not confirmed is sent again after `first`, then ever more slowly up to `most`.
 *
 * Three things are sent so: the segments of a stream (routed/stream.h), and the frames and the
 * acknowledgements of a pipe (datagram.h). They differ in what is sent again: of segments and of
 * acknowledgements all, since their receiver takes only the next one, which suits what is rare and
 * small; of frames those that the receiver says it does not have, since it keeps what comes out of
 * order. So each owner keeps its things and its credit itself. */

#include <stdbool.h>
#include <stdint.h>

#include "transport/clock.h"

struct resend {
    uint64_t base;  /* the first that is not confirmed */
    uint64_t sent;  /* the first that is to be sent (again) */
    uint64_t next;  /* the number of the next to be made */
    nsec at;        /* when what is on the way is sent again; NSEC_NEVER: nothing is */
    unsigned tries; /* in vain since one was last confirmed */
    nsec first, most;
};

void resend_init(struct resend *resend, nsec first, nsec most);

/* When to try again, after so many tries in vain. */
nsec resend_again(const struct resend *resend, nsec now);

/* Something was sent. */
void resend_started(struct resend *resend, nsec now);

/* All below that number have come. False: that is nothing new, or more than was made. */
bool resend_confirm(struct resend *resend, uint64_t confirmed, nsec now);

/* True, once: what is on the way is to be sent again now. */
bool resend_is_due(struct resend *resend, nsec now);
