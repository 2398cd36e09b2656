#pragma once
/* server_ports: the ports of a switch to which its servers are connected. */

#include <stdint.h>

#include "topology/topology.h"

/* The ports of a node's servers, one after the other. */
struct server_ports {
    const struct graph *graph; /* borrowed */
    uint32_t port;             /* the next port, unless a link uses it */
    uint32_t slot, end;        /* the node's slots from that port on */
};

/* Servers use the ports after the last link port. If there are too few of these (the uplinks are
 * the last ports), servers use all ports without a link. */
struct server_ports server_ports_make(const struct topology *topology, uint32_t node);

/* The port of the next server; the first call returns the port of server 0. */
uint32_t server_ports_next(struct server_ports *ports);
