#pragma once
/* local_link: a link between two nodes of one process. Packets change hands by pointer; nothing is
 * copied. Each end has a bounded inbox: a full one means no room at the other end. */

#include "base/err.h"
#include "os/host/port.h"

struct local_link_end {
    uint32_t server;
    uint32_t number;
};

/* Told when the inbox of that end was empty and is not any more, and when the first comes that is
 * not lazy. */
typedef void local_link_arrived(void *owner, uint32_t server, uint32_t number, bool lazy);

/* Both ends of a link; each is closed for itself. */
MUST_CHECK enum err local_link_open(const struct local_link_end ends[2],
                                    local_link_arrived *arrived, void *owner, struct port *ports[2],
                                    struct why *why);

/* Packets that one end holds at most, for the sum of a process's packets. */
#define LOCAL_LINK_PACKETS_MAX 256
