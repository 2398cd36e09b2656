#pragma once
/* neighbour_report: which neighbour each port of a network reports at the other end of its cable,
 * read from a file.
 *
 * The file is CSV or JSON. CSV has the fields `node,port,neighbour,port` on each line, with an
 * optional header line, comments after #, blanks anywhere, and double quotes around names that
 * contain commas. JSON is an array of objects with the keys node, port, neighbour, neighbour_port.
 * A node is written by its name in the plan or, if it has none, by its number; a port by its
 * number, on a torus also as +x, -x, ..., jump. A cable may be reported from one end or from
 * both. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

struct neighbour_report {
    uint32_t node, port;
    uint32_t neighbour, neighbour_port;
    uint32_t line; /* of the file, from 1 */
};

/* Ordered by node and port, one per port. Owns its array. */
struct neighbour_reports {
    struct neighbour_report *items;
    size_t capacity;
    uint32_t count;
};

/* Reads a whole file; `name` begins every error. Refuses nodes that are not in the plan, ports that
 * the nodes do not have, and a port that is reported twice with different neighbours. Repeated
 * equal reports are kept once. */
MUST_CHECK enum err neighbour_reports_read(struct neighbour_reports *reports,
                                           const struct topology *plan, const char *data,
                                           size_t size, const char *name, struct why *why);
void neighbour_reports_fini(struct neighbour_reports *reports);

/* The report of this port, or NULL. */
const struct neighbour_report *neighbour_reports_find(const struct neighbour_reports *reports,
                                                      uint32_t node, uint32_t port);
