#pragma once
/* resend: when to send numbered items again over a carrier that may lose them. Pure.
 *
 *      base        sent        next
 *   ....|-----------|-----------|
 *  confirmed   in flight    to be sent
 *
 * Unconfirmed items are sent again after the delay `first`, then at growing delays, up to `most`.
 *
 * It serves the segments of a stream (routed/stream.h), and the frames and the acknowledgements of
 * a pipe (datagram.h). They differ in what is sent again. All unconfirmed segments and
 * acknowledgements are sent again, because their receiver accepts only the next one; this suits
 * small and rare items. Frames are sent again only if the receiver reports them missing, because it
 * keeps frames that arrive out of order. So each owner stores its items and its credit itself. */

#include <stdbool.h>
#include <stdint.h>

#include "transport/clock.h"

struct resend {
    uint64_t base;  /* the first unconfirmed item */
    uint64_t sent;  /* the first item to be sent (again) */
    uint64_t next;  /* the number of the next new item */
    nsec at;        /* when to send items in flight again, or NSEC_NEVER */
    unsigned tries; /* futile tries since the last confirmation */
    nsec first, most;
};

void resend_init(struct resend *resend, nsec first, nsec most);

/* Returns when to try again; the delay grows with the number of futile tries. */
nsec resend_again(const struct resend *resend, nsec now);

/* Call it after sending an item. */
void resend_started(struct resend *resend, nsec now);

/* All items below that number have arrived. False: nothing new, or more than exist. */
bool resend_confirm(struct resend *resend, uint64_t confirmed, nsec now);

/* True, once: items in flight have to be sent again now. */
bool resend_is_due(struct resend *resend, nsec now);
