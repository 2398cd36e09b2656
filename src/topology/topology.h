#pragma once
/* topology: a graph, and what stands at its vertices.
 *
 * In a direct network (torus, NovaCube, one server per vertex) every node is a
 * server that forwards for others. In a switched one the nodes are switches
 * and servers hang on them by cables of their own, which the graph does not
 * hold: `links` always means cables between nodes. A node's link ports come
 * first, from 0, and its servers use the ports after the last one, unless a
 * file numbers the ports otherwise: then servers use those that are left.
 *
 * Everything here is owned by the topology and freed by topology_fini. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

#define AXIS_MAX   16
#define SPEC_SIZE  256
#define GROUP_NONE UINT32_MAX

enum topology_kind {
    TOPOLOGY_OTHER, /* read from a file, or changed by hand */
    TOPOLOGY_TORUS,
    TOPOLOGY_NOVACUBE,
    TOPOLOGY_JELLYFISH,
    TOPOLOGY_FATTREE,
    TOPOLOGY_SWDC_RING,
    TOPOLOGY_SWDC_TORUS2D,
    TOPOLOGY_SWDC_HEX3D,
    TOPOLOGY_DEGREE_DIAMETER,
};

/* What stands at one vertex. */
struct site {
    uint32_t servers; /* attached servers; 1, itself, in a direct network */
    uint32_t ports;   /* all ports of the box; 0: as many as are used */
    uint32_t group;   /* container or pod, or GROUP_NONE */
    uint32_t level;   /* fat-tree: 0 edge, 1 aggregation, 2 core; else 0 */
};

struct topology {
    enum topology_kind kind;
    char spec[SPEC_SIZE]; /* the canonical words that build it again; empty if none do */
    bool direct;          /* each node is a server */
    struct graph graph;
    struct site *sites; /* one per node */
    char **names;       /* one per node; NULL: a node's name is its number */
    uint32_t server_count;
    uint32_t axis_count; /* > 0: node ids are mixed-radix coordinates, axis 0 fastest */
    uint32_t axis_size[AXIS_MAX];
};

/* Builds a topology from its words, for example "torus:3x3x3". The grammar is
 * in topology/generators.c and weft-topology(7). */
MUST_CHECK enum err topology_build(struct topology *topology, const char *spec, struct why *why);

/* True if the text starts with the name of a generator and a colon. */
bool topology_is_spec(const char *text);

void topology_fini(struct topology *topology);

/* Takes the graph's links and makes `count` sites, all direct or all without
 * servers; the generators fill in the rest. On failure nothing is kept. */
MUST_CHECK enum err topology_init(struct topology *topology, enum topology_kind kind, bool direct,
                                  uint32_t node_count, const struct link *links,
                                  uint32_t link_count, struct why *why);

/* Hangs as many servers on every switch; a direct network stays as it is. */
void topology_set_servers(struct topology *topology, uint32_t servers);

/* Sums the sites into server_count; called once they are filled in. */
void topology_count_servers(struct topology *topology);

/* "switches" are nodes that are not servers themselves. */
uint32_t topology_switch_count(const struct topology *topology);

/* Nodes that are servers or have some. */
uint32_t topology_host_count(const struct topology *topology);

/* Groups may have any numbers: ranks[v] is that of node v's group among them,
 * from 0 to *count - 1, or GROUP_NONE if it has none. Room for every node. */
MUST_CHECK enum err topology_rank_groups(const struct topology *topology, uint32_t *ranks,
                                         uint32_t *count, struct why *why);

/* Ports of a node that links and servers use; more than 32 bits hold where a
 * file hangs four billion servers on a node and does not count its ports. */
uint64_t topology_used_ports(const struct topology *topology, uint32_t node);

/* All ports of a node: what it is said to have, or what it uses if that is
 * more (nothing was said). At most UINT32_MAX. */
uint32_t topology_all_ports(const struct topology *topology, uint32_t node);

/* Ports of a node that neither a link nor a server uses. */
uint32_t topology_free_ports(const struct topology *topology, uint32_t node);

/* Bytes of a node's name, at most: no reader takes a longer one. */
#define NODE_NAME_MAX 1000

/* A node's name: into buffer if it is a number, else the stored string. */
#define NODE_NAME_SIZE 16
const char *topology_name(const struct topology *topology, uint32_t node,
                          char buffer[NODE_NAME_SIZE]);

/* Node with that name, or NODE_NONE. Linear; for the command line. */
uint32_t topology_find(const struct topology *topology, const char *name);

/* Coordinates of a node along the axes, and back. */
void topology_coordinate(const struct topology *topology, uint32_t node, uint32_t *coordinate);
uint32_t topology_node_at(const struct topology *topology, const uint32_t *coordinate);

const char *topology_kind_name(enum topology_kind kind);

/* A deep copy. */
MUST_CHECK enum err topology_copy(struct topology *out, const struct topology *topology,
                                  struct why *why);

/* Asserts that sites, names, ports and counts agree. */
void topology_check(const struct topology *topology);
