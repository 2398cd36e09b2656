#pragma once
/* ping: there and back again, touched in place by every server on the way.
 *
 * Programs ask by request() (ping_wire.h); other services of the same server by
 *
 *     struct weft_self *ping;
 *     const struct ping_local *local = weft_local(self, "ping", &ping);
 *     int run = local->start(ping, &request, &listener);
 */

#include "services/ping/ping_wire.h"

extern const struct weft_service service_ping;

/* Told of every answer, until PING_END. It may start another run, and stop any. */
struct ping_listener {
    void (*told)(void *context, const struct ping_answer *answer);
    void *context;
};

struct ping_local {
    /* The run's number, or -ENOBUFS: too many run already; -EINVAL: no such server. */
    int (*start)(struct weft_self *ping, const struct ping_request *request,
                 const struct ping_listener *listener);
    void (*stop)(struct weft_self *ping, int run);
};
