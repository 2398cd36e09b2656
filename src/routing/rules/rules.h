#pragma once
/* rules: forwarding tables that send every pair of servers over k paths.
 *
 * The switch of the sending server puts a packet on one of the paths to its destination: it pushes
 * a label and sends the packet out of a port (a way). Every switch on the path then forwards by the
 * label alone (a hop), and the last one removes the label and looks up the server.
 *
 * There are two kinds of labels. A constant label does not change along the path; switches match it
 * together with the destination, and two paths to one destination share a label unless they would
 * diverge at a switch. A swapped label is valid at one switch only. It represents the rest of the
 * path from there, and is replaced at every hop, as in MPLS. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "routing/paths/k_shortest.h"
#include "topology/topology.h"

#define RULES_MPLS_FIRST  16u       /* lower labels are reserved (RFC 3032) */
#define RULES_LABEL_COUNT 1048560u  /* 20 bits, without the reserved labels */
#define RULES_VLAN_COUNT  4094u     /* VLAN 1 to 4094 */
#define RULES_MAX         8000000u  /* hops and ways kept at once: about 1.5 GB with their text */
#define RULES_SERVER_MAX  65536u    /* per switch; the limit of an address ... */
#define RULES_SWITCH_MAX  16777216u /* ... and its limit for switches */

enum rules_labels {
    RULES_CONSTANT, /* labels count from 0 */
    RULES_SWAPPED,  /* labels count from RULES_MPLS_FIRST, which each switch reserves for itself */
};

/* At switch `at`, a packet to `to` with `label` leaves on `channel` with label `next`. */
struct rules_hop {
    uint32_t at, to;
    uint32_t label, next;
    uint32_t channel;
};

/* One path of a pair, as the switch `from` starts it. */
struct rules_way {
    uint32_t from, to;
    uint32_t index; /* rank among the paths of the pair, shortest first */
    uint32_t label;
    uint32_t channel;
    uint32_t hops; /* of the whole path */
};

struct rules {
    enum rules_labels labels;
    uint32_t only;          /* NODE_NONE: for all destinations; else only for this one */
    struct rules_hop *hops; /* owned; by at, to, label */
    struct rules_way *ways; /* owned; by from, to, index */
    size_t hop_count, hop_capacity;
    size_t way_count, way_capacity;
    uint32_t label_count; /* constant: most for one destination; swapped: most at one switch */
};

struct rules_order {
    enum rules_labels labels;
    enum k_shortest_rule rule;
    uint32_t ways; /* paths per pair, at most */
    uint64_t seed;
    struct observer progress;
};

void rules_fini(struct rules *rules);

/* Makes tables from every switch with servers to every other. Refuses more than RULES_MAX rules and
 * more labels than exist. */
MUST_CHECK enum err rules_make(struct rules *rules, const struct topology *topology,
                               const struct rules_order *order, struct why *why);

/* --- one destination at a time, for networks whose tables do not fit into memory --- */

struct rules_maker;

/* The topology is borrowed. */
MUST_CHECK enum err rules_maker_open(struct rules_maker **maker, const struct topology *topology,
                                     const struct rules_order *order, struct why *why);
void rules_maker_close(struct rules_maker *maker);

/* Appends the rules for packets to `to`; rules_sort sorts all. */
MUST_CHECK enum err rules_maker_add(struct rules_maker *maker, uint32_t to, struct rules *rules,
                                    struct why *why);
void rules_sort(struct rules *rules);
