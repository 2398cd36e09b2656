#pragma once
/* port_label: the names of ports for people. On a torus or NovaCube a port is a direction: +x for
 * port 0, -x for port 1, +y for port 2, and so on; the NovaCube's port after the last axis is its
 * jump. On other networks a port is its number. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/topology.h"

#define PORT_LABEL_SIZE 24

/* Are the ports of this topology directions? */
bool port_label_directed(const struct topology *topology);

/* "+x(0)", "jump(6)" or "17"; returns buffer. */
const char *port_label(const struct topology *topology, uint32_t port,
                       char buffer[PORT_LABEL_SIZE]);

/* The port that "17", "+x" or "jump" names, or PORT_ANY. */
uint32_t port_label_find(const struct topology *topology, const char *text, size_t size);

/* Ports of a node are numbered below this limit; PORT_ANY if the number of ports is unknown. */
uint32_t port_label_limit(const struct topology *topology, uint32_t node);
