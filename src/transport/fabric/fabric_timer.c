/* fabric_timer: has the keeper (fabric_progress.c) poll again after a while. */
#include "transport/fabric/fabric_impl.h"

void fabric_timer_set(struct fabric *fabric, nsec delay)
{
    /* It has room from its first setting on; if that fails, the keeper looks
     * only when the descriptor says so. */
    (void)!poller_set(fabric->poller, &fabric->timer, clock_after(delay));
}

void fabric_timer_set_by(struct fabric *fabric, nsec delay)
{
    if (fabric->timer.at > clock_after(delay))
        fabric_timer_set(fabric, delay);
}

void fabric_stall(struct fabric *fabric)
{
    if (fabric->stalled)
        return;
    fabric->stalled = true;
    fabric_timer_set_by(fabric, FABRIC_REST_NSEC);
}
