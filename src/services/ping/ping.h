#pragma once
/* ping: packets that travel to a server or key and back; every server on the way marks them in
 * place.
 *
 * Programs start pings with a request (ping_wire.h); other services of the same server with
 *
 *     struct weft_self *ping;
 *     const struct ping_local *local = weft_local(self, "ping", &ping);
 *     int run = local->start(ping, &request, &listener);
 */

#include "services/ping/ping_wire.h"

extern const struct weft_service service_ping;

/* Called for every answer, until PING_END. It may start another run, and stop any. */
struct ping_listener {
    void (*told)(void *context, const struct ping_answer *answer);
    void *context;
};

struct ping_local {
    /* Returns the run's number, or -ENOBUFS: too many runs are active; -EINVAL: no such server. */
    int (*start)(struct weft_self *ping, const struct ping_request *request,
                 const struct ping_listener *listener);
    void (*stop)(struct weft_self *ping, int run);
};
