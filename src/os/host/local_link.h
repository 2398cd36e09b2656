#pragma once
/* local_link: a link between two nodes of one process. Packets are passed by pointer; nothing is
 * copied. Each end has a bounded inbox: a full inbox means no room at the other end. */

#include "base/err.h"
#include "os/host/port.h"

struct local_link_end {
    uint32_t server;
    uint32_t number;
};

/* Called when a packet arrives in the empty inbox of that end, or the first that is not lazy
 * (env.h). */
typedef void local_link_arrived(void *owner, uint32_t server, uint32_t number, bool lazy);

/* Opens both ends of a link; each is closed separately. */
MUST_CHECK enum err local_link_open(const struct local_link_end ends[2],
                                    local_link_arrived *arrived, void *owner, struct port *ports[2],
                                    struct why *why);

/* The most packets that one end holds; host.c sums them. */
#define LOCAL_LINK_PACKETS_MAX 256
