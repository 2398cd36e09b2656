#pragma once
/* topology: a graph, and what its nodes are.
 *
 * In a direct network (torus, NovaCube, one server per node) every node is a server that forwards
 * for other servers. In a switched network the nodes are switches. Each server is connected to its
 * switch by a cable of its own, which the graph does not contain: `links` always means cables
 * between nodes. A node's link ports come first, from 0, and its servers use the ports after the
 * last link port, unless a file numbers the ports differently: then servers use the remaining
 * ports.
 *
 * The topology owns everything in it; topology_fini frees it. */

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

/* What a node of the graph is. */
struct site {
    uint32_t servers; /* attached servers; 1 in a direct network: the node itself */
    uint32_t ports;   /* all ports of the node; 0: as many as are used */
    uint32_t group;   /* container or pod, or GROUP_NONE */
    uint32_t level;   /* fat-tree: 0 edge, 1 aggregation, 2 core; else 0 */
};

struct topology {
    enum topology_kind kind;
    char spec[SPEC_SIZE]; /* the canonical spec that builds it again; empty if there is none */
    bool direct;          /* each node is a server */
    struct graph graph;
    struct site *sites; /* one per node */
    char **names;       /* one per node; NULL: a node's name is its number */
    uint32_t server_count;
    uint32_t axis_count; /* > 0: node ids are mixed-radix coordinates, axis 0 fastest */
    uint32_t axis_size[AXIS_MAX];
};

/* Builds a topology from its spec, for example "torus:3x3x3". The grammar is in
 * topology/generators.c and weft-topology(7). */
MUST_CHECK enum err topology_build(struct topology *topology, const char *spec, struct why *why);

/* True if the text starts with the name of a generator and a colon. */
bool topology_is_spec(const char *text);

void topology_fini(struct topology *topology);

/* Copies the links into the graph and makes `node_count` sites, all direct or all without servers;
 * the generators fill in the rest. On failure nothing is kept. */
MUST_CHECK enum err topology_init(struct topology *topology, enum topology_kind kind, bool direct,
                                  uint32_t node_count, const struct link *links,
                                  uint32_t link_count, struct why *why);

/* Gives every switch this number of servers; a direct network does not change. */
void topology_set_servers(struct topology *topology, uint32_t servers);

/* Sums the servers of all sites into server_count; called after the sites are filled in. */
void topology_count_servers(struct topology *topology);

/* Switches are nodes that are not servers themselves. */
uint32_t topology_switch_count(const struct topology *topology);

/* The number of nodes that are servers or have servers. */
uint32_t topology_host_count(const struct topology *topology);

/* Ranks the groups, whose numbers are arbitrary: ranks[v] is the rank of node v's group, from 0 to
 * *count - 1, or GROUP_NONE if the node has no group. `ranks` has room for every node. */
MUST_CHECK enum err topology_rank_groups(const struct topology *topology, uint32_t *ranks,
                                         uint32_t *count, struct why *why);

/* The number of ports of a node that links and servers use. It can exceed 32 bits if a file
 * attaches four billion servers to a node and does not give its number of ports. */
uint64_t topology_used_ports(const struct topology *topology, uint32_t node);

/* All ports of a node: the given number, or the number of used ports if that is larger (no number
 * was given). At most UINT32_MAX. */
uint32_t topology_all_ports(const struct topology *topology, uint32_t node);

/* The number of ports of a node that neither a link nor a server uses. */
uint32_t topology_free_ports(const struct topology *topology, uint32_t node);

/* The largest size of a node's name, in bytes; readers refuse a longer name. */
#define NODE_NAME_MAX 1000

/* A node's name: its number, written to `buffer`, or the stored string. */
#define NODE_NAME_SIZE 16
const char *topology_name(const struct topology *topology, uint32_t node,
                          char buffer[NODE_NAME_SIZE]);

/* The node with that name, or NODE_NONE. Linear search; for the command line. */
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
