#pragma once
/* clos_upgrade: the best bisection of a folded Clos network that is bought in stages.
 *
 * Servers are attached to edge switches and stay there. New servers come with
 * edge switches of their own. Later stages buy switches above the edges. All
 * switches have the same number of ports. If there are at most as many edge
 * switches as a switch has ports, one level above them suffices, and an uplink
 * uses one port there. Otherwise two levels are needed, and an uplink uses three
 * ports and two cables.
 *
 * The model favours the Clos: whole switches are counted, but uplinks are
 * divided over them without remainder, every halving of the servers cuts at
 * least its share of the uplinks, and moving cables at an upgrade is free. */

#include <stdbool.h>
#include <stdint.h>

#define CLOS_STAGE_MAX 16

/* The budgets, the prices, and what has to be connected. */
struct clos_order {
    uint32_t ports;          /* of every switch */
    uint32_t switches_first; /* at most, in the first network */
    uint32_t servers_first;  /* in the first network ... */
    uint32_t servers_added;  /* ... and at stage 1 */
    uint32_t stages;         /* the first is stage 0; at most CLOS_STAGE_MAX */
    double budget_first;     /* for stage 0 */
    double budget;           /* for every further stage; unspent money is lost */
    double switch_price;
    double cable_price;
};

struct clos_network {
    uint32_t edges_first, edges_added;
    uint32_t upper;   /* switches above the edges */
    uint32_t uplinks; /* cables that leave edge switches */
    uint32_t cables;  /* all between switches */
    double cost;      /* of all stages so far */
    double bisection; /* divided by what half of the servers can send */
};

/* A network per stage. */
struct clos_plan {
    struct clos_network stage[CLOS_STAGE_MAX];
};

/* Returns the best bisection of `first` and `added` edge switches with that many
 * uplinks in all. Before stage 1 `added` is 0, and `servers_added` is not counted. */
double clos_bisection(const struct clos_order *order, uint32_t first, uint32_t added,
                      uint32_t uplinks);

/* Returns how many switches above the edges that many uplinks need. */
uint32_t clos_upper(const struct clos_order *order, uint32_t edges, uint32_t uplinks);

/* Plans all stages; each is the best that its budget buys. The first two stages
 * fix the number of edge switches. Without `foresight` each of the two takes the
 * number that is best for itself; with it both take the numbers that are best for
 * the last stage, and among equals those with the largest sum over all stages.
 * Returns false if no plan is within the budgets. */
bool clos_upgrade(struct clos_plan *plan, const struct clos_order *order, bool foresight);
