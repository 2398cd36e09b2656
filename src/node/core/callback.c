/* callback: calls of services that take long.
 *
 * The node's thread forwards packets between these calls, so a long call delays all of them. The
 * end of each call compares the processor's counter with its beginning; that is all that a short
 * call costs. Only a long call asks the world (base/env.h, `ran`) whether the service ran so long,
 * or the system let other processes run meanwhile. */

#include <stdio.h>

#include "node/core/node_impl.h"

const char *const node_callback_names[CALLBACK_COUNT] = {
    [CALLBACK_NONE] = "",
    [CALLBACK_START] = "start",
    [CALLBACK_STOP] = "stop",
    [CALLBACK_DELIVER] = "deliver",
    [CALLBACK_INTERCEPT] = "intercept",
    [CALLBACK_POLL] = "poll",
    [CALLBACK_PEER_UP] = "peer_up",
    [CALLBACK_PEER_DOWN] = "peer_down",
    [CALLBACK_TIMER] = "timer",
    [CALLBACK_REQUEST] = "request",
    [CALLBACK_STATS] = "stats",
    [CALLBACK_GONE] = "gone",
    [CALLBACK_WRITABLE] = "writable",
    [CALLBACK_DONE] = "done",
    [CALLBACK_STREAM] = "stream",
    [CALLBACK_ACCEPTED] = "accepted",
    [CALLBACK_CONNECTED] = "connected",
    [CALLBACK_READABLE] = "readable",
};

static_assert(CALLBACK_COUNT <= 32, "slow_known has a bit for each");

void callback_slow(struct weft_self *self, uint64_t ticks)
{
    struct node *node = self->node;
    unsigned which = atomic_load_explicit(&node->pulse->call, memory_order_relaxed) & 0xff;
    env_nsec ran = node->env->ops->ran ? node->env->ops->ran(node->env, ticks) : 0;
    if (!ran)
        return;
    self->slow++;
    if (ran > self->slow_nsec) {
        self->slow_nsec = ran;
        self->slow_in = (uint8_t)which;
    }
    struct node_watcher *watcher = node->config.watcher;
    if (watcher && watcher->slow && !(self->slow_known >> which & 1))
        watcher->slow(watcher, node->self, self->service->name, node_callback_names[which], ran);
    self->slow_known |= 1u << which;
}
