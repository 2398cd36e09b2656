#pragma once
/* rules: forwarding tables that send every pair of servers over k paths.
 *
 * A switch where servers send from puts a packet on one of the paths to its
 * destination: it pushes a label and sends it out of a port (a way). Every
 * switch on the path then forwards by the label alone (a hop), and the last one
 * takes the label off and looks for the server.
 *
 * Labels come in two kinds. A constant one stays as it is along the path; it
 * means something only together with the destination, and two paths to one
 * destination share it unless they part at a switch. A swapped one means
 * something at one switch only, stands for all that is left of the path from
 * there, and is replaced at every hop, as in MPLS. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "routing/paths/k_shortest.h"
#include "topology/topology.h"

#define RULES_MPLS_FIRST  16u       /* those below mean something else (RFC 3032) */
#define RULES_LABEL_COUNT 1048560u  /* 20 bits, less the reserved ones */
#define RULES_VLAN_COUNT  4094u     /* VLAN 1 to 4094 */
#define RULES_MAX         8000000u  /* hops and ways kept at once: about 1.5 GB with their text */
#define RULES_SERVER_MAX  65536u    /* at one switch; an address has room for so many ... */
#define RULES_SWITCH_MAX  16777216u /* ... and for so many switches */

enum rules_labels {
    RULES_CONSTANT, /* labels count from 0 */
    RULES_SWAPPED,  /* labels count from RULES_MPLS_FIRST, which a switch keeps for itself */
};

/* At a switch, what is for `to` and carries `label` leaves on `channel` and
 * carries `next` then. */
struct rules_hop {
    uint32_t at, to;
    uint32_t label, next;
    uint32_t channel;
};

/* One path of a pair: what `from` does with it. */
struct rules_way {
    uint32_t from, to;
    uint32_t index; /* among the paths of the pair, shortest first */
    uint32_t label;
    uint32_t channel;
    uint32_t hops; /* of the whole path */
};

struct rules {
    enum rules_labels labels;
    uint32_t only;          /* NODE_NONE: to all destinations; else to this one */
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

/* Tables to every switch that has servers, from every other. Refuses more
 * than RULES_MAX rules, and more labels than there are. */
MUST_CHECK enum err rules_make(struct rules *rules, const struct topology *topology,
                               const struct rules_order *order, struct why *why);

/* --- one destination at a time, for networks whose tables do not fit --- */

struct rules_maker;

/* The topology is borrowed. */
MUST_CHECK enum err rules_maker_open(struct rules_maker **maker, const struct topology *topology,
                                     const struct rules_order *order, struct why *why);
void rules_maker_close(struct rules_maker *maker);

/* Appends what is for `to`; rules_sort brings all in order. */
MUST_CHECK enum err rules_maker_add(struct rules_maker *maker, uint32_t to, struct rules *rules,
                                    struct why *why);
void rules_sort(struct rules *rules);
