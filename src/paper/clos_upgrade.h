#pragma once
/* clos_upgrade: what a folded Clos network, bought in stages, can reach.
 *
 * Servers hang on edge switches and stay there; new servers come with edge
 * switches of their own; later money buys switches above the edges. All
 * switches have as many ports. As long as there are no more edge switches than
 * a switch has ports, one level above them suffices, and an uplink costs one
 * port there; beyond, it takes two levels, and an uplink costs three ports and
 * two cables.
 *
 * Everything is as good as it can be for the Clos: whole switches are counted,
 * but uplinks divide over them without remainder, every halving of the servers
 * cuts no less than its share of the uplinks, and cables are moved for nothing
 * when the network is arranged anew. */

#include <stdbool.h>
#include <stdint.h>

#define CLOS_STAGE_MAX 16

/* What there is to spend, and on what. */
struct clos_order {
    uint32_t ports;          /* of every switch */
    uint32_t switches_first; /* at most so many in the first network */
    uint32_t servers_first;  /* in the first network ... */
    uint32_t servers_added;  /* ... and at stage 1 */
    uint32_t stages;         /* the first is stage 0; at most CLOS_STAGE_MAX */
    double budget_first;     /* for stage 0 */
    double budget;           /* for every further one; what is left is lost */
    double switch_price;
    double cable_price;
};

struct clos_network {
    uint32_t edges_first, edges_added;
    uint32_t upper;   /* switches above the edges */
    uint32_t uplinks; /* cables that leave edge switches */
    uint32_t cables;  /* all between switches */
    double cost;      /* of all stages so far */
    double bisection; /* over what half of the servers can send */
};

/* A network per stage. */
struct clos_plan {
    struct clos_network stage[CLOS_STAGE_MAX];
};

/* The most that these edge switches can reach with so many uplinks in all.
 * `added` is 0 and `servers_added` is left out before stage 1. */
double clos_bisection(const struct clos_order *order, uint32_t first, uint32_t added,
                      uint32_t uplinks);

/* Switches above the edges for so many uplinks. */
uint32_t clos_upper(const struct clos_order *order, uint32_t edges, uint32_t uplinks);

/* Each stage is as good as its money makes it. The first two choose how many
 * edge switches there are for good: `foresight` false makes each of them the
 * best it can be by itself, true makes the last stage the best (then the sum
 * of all). False if no plan is within the budgets. */
bool clos_upgrade(struct clos_plan *plan, const struct clos_order *order, bool foresight);
