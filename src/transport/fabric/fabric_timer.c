/* fabric_timer: makes the keeper (fabric_progress.c) poll again after a delay. */
#include "transport/fabric/fabric_impl.h"

void fabric_timer_set(struct fabric *fabric, nsec delay)
{
    /* Only the first setting allocates memory, so only it can fail. If it failed, the keeper polls
     * only when the descriptor is readable. */
    (void)!poller_set(fabric->poller, &fabric->timer, clock_after(delay));
}

void fabric_timer_set_by(struct fabric *fabric, nsec delay)
{
    if (fabric->timer.at > clock_after(delay))
        fabric_timer_set(fabric, delay);
}

void fabric_check_start(struct fabric *fabric)
{
    if (fabric->checking)
        return;
    fabric->checking =
        poller_set(fabric->poller, &fabric->checker, clock_after(FABRIC_TICK_NSEC)) == 0;
}

void fabric_stall(struct fabric *fabric)
{
    if (fabric->stalled)
        return;
    fabric->stalled = true;
    fabric_timer_set_by(fabric, FABRIC_REST_NSEC);
}
