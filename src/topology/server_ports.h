#pragma once
/* server_ports: at which ports of a switch its servers are. */

#include <stdint.h>

#include "topology/topology.h"

/* The ports of a node's servers, one after the other. */
struct server_ports {
    const struct graph *graph; /* borrowed */
    uint32_t port;             /* the next, unless a link is there */
    uint32_t slot, end;        /* the node's slots from that port on */
};

/* Servers use the ports after the last link port; where the box has not as
 * many (its uplinks are the last ones), the ports that no link uses. */
struct server_ports server_ports_make(const struct topology *topology, uint32_t node);

/* The port of the next server, from that of server 0 on. */
uint32_t server_ports_next(struct server_ports *ports);
