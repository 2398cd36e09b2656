#include "ripc/core/waiting.h"

#include <errno.h>

#include "transport/wake/wait.h"

#define WAITING_CHECKS     32 /* checks before another thread may take the lock */
#define WAITING_PAUSE_NSEC (100 * 1000LL)
#define WAITING_STEPS      64 /* turns between two polls of the sockets, without a keeper */

/* True while this thread runs the check between announcing that it sleeps and sleeping. Waits
 * inside that check do not sleep, because a thread can sleep on one bell only. */
static _Thread_local bool waiting_on_brink;

int waiting_progress(struct ripc *ripc)
{
    int moved = 0;
    /* Progress may cost a system call: skip transports that reach no peer. */
    for (unsigned i = 0; i < ripc->transport_count; i++)
        if (ripc->link_counts[i] && ripc->transports[i]->ops->progress)
            moved += ripc->transports[i]->ops->progress(ripc->transports[i]);
    return moved;
}

void waiting_arm(struct ripc *ripc)
{
    for (unsigned i = 0; i < ripc->transport_count; i++)
        if (ripc->link_counts[i] && ripc->transports[i]->ops->arm)
            ripc->transports[i]->ops->arm(ripc->transports[i]);
}

void waiting_give_way(struct ripc *ripc)
{
    if (lock_is_wanted(&ripc->lock))
        lock_pass(&ripc->lock);
}

void waiting_pause(struct ripc *ripc)
{
    lock_drop(&ripc->lock);
    if (ripc->manual)
        poller_step(ripc->poller, clock_after(WAITING_PAUSE_NSEC));
    else
        clock_nap(WAITING_PAUSE_NSEC);
    lock_take(&ripc->lock);
}

/* The poller takes the lock itself. */
static void waiting_step(struct ripc *ripc)
{
    lock_drop(&ripc->lock);
    poller_step(ripc->poller, 0);
    lock_take(&ripc->lock);
}

static inline int waiting_check_once(const struct waiting *waiting)
{
    if (waiting->closing && *waiting->closing)
        return -ECANCELED;
    return waiting->check(waiting->argument);
}

/* Sleeps until the bell rings. Announces the sleep first and then checks once more, so that no
 * event is missed. */
static int waiting_sleep(struct ripc *ripc, struct doorbell *bell, const struct waiting *waiting,
                         nsec deadline)
{
    const struct waiting_signals *signals = waiting->signals;
    bool by_event = ripc->manual || (signals && signals->alone);
    doorbell_prepare(bell, by_event ? DOORBELL_FD : DOORBELL_FUTEX);
    waiting_arm(ripc);
    waiting_on_brink = true;
    int result = waiting_check_once(waiting);
    waiting_on_brink = false;
    if (result) {
        doorbell_cancel(bell);
        return result;
    }
    ripc->stats.blocks++;
    lock_drop(&ripc->lock);
    if (signals)
        result = doorbell_wait_interruptibly(bell, signals->mask, deadline);
    else if (ripc->manual)
        doorbell_wait_with(bell, poller_fd(ripc->poller), deadline);
    else
        doorbell_wait(bell, deadline);
    lock_take(&ripc->lock);
    return result;
}

int waiting_until(struct ripc *ripc, struct doorbell *bell, waiting_check *check, void *argument,
                  int64_t deadline)
{
    struct waiting waiting = {.check = check, .argument = argument};
    int result = check(argument);
    return result ? result : waiting_longer(ripc, bell, &waiting, deadline);
}

int waiting_longer(struct ripc *ripc, struct doorbell *bell, const struct waiting *waiting,
                   int64_t deadline)
{
    int result;
    if (deadline == RIPC_NOW) {
        waiting_progress(ripc);
        if (ripc->manual)
            waiting_step(ripc);
        result = waiting_check_once(waiting);
        return result ? result : -EAGAIN;
    }
    struct wait wait;
    wait_start(&wait, ripc->spin, ripc->yield);
    for (unsigned turn = 1;; turn++) {
        waiting_progress(ripc);
        if (ripc->manual && turn % WAITING_STEPS == 1)
            waiting_step(ripc);
        result = waiting_check_once(waiting);
        if (result)
            return result;
        if (turn % WAITING_CHECKS == 0 || wait.spin < 0)
            waiting_give_way(ripc);
        enum wait_advice advice = wait_turn(&wait, deadline);
        if (advice == WAIT_TIMEOUT)
            return -ETIMEDOUT;
        if (advice == WAIT_BLOCK && waiting_on_brink) {
            waiting_pause(ripc);
            continue;
        }
        if (advice == WAIT_BLOCK) {
            result = waiting_sleep(ripc, bell, waiting, deadline);
            if (result)
                return result;
            turn = 0; /* a context without a keeper polls its sockets now */
            wait_start(&wait, ripc->spin, ripc->yield);
        }
    }
}
