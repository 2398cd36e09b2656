#include "transport/datagram/resend.h"

#define TRIES_MAX 8 /* by then any delay has reached the maximum */

void resend_init(struct resend *resend, nsec first, nsec most)
{
    *resend = (struct resend){.at = NSEC_NEVER, .first = first, .most = most};
}

nsec resend_again(const struct resend *resend, nsec now)
{
    nsec delay = resend->first << (resend->tries < TRIES_MAX ? resend->tries : TRIES_MAX);
    return now + (delay < resend->most ? delay : resend->most);
}

void resend_started(struct resend *resend, nsec now)
{
    if (resend->at == NSEC_NEVER)
        resend->at = resend_again(resend, now);
}

bool resend_confirm(struct resend *resend, uint64_t confirmed, nsec now)
{
    if (confirmed <= resend->base || confirmed > resend->next)
        return false;
    resend->base = confirmed;
    if (resend->sent < confirmed)
        resend->sent = confirmed; /* confirmed before it was sent again */
    resend->tries = 0;
    resend->at = resend->base == resend->sent ? NSEC_NEVER : resend_again(resend, now);
    return true;
}

bool resend_is_due(struct resend *resend, nsec now)
{
    if (now < resend->at)
        return false;
    resend->tries++;
    resend->at = NSEC_NEVER;
    return true;
}
