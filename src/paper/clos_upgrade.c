#include "paper/clos_upgrade.h"

#include <math.h>

#include "base/check.h"

/* Returns how many uplinks the edge switches of one purchase have ports for. */
static double group_most(const struct clos_order *order, uint32_t edges, uint32_t servers)
{
    return (double)order->ports * edges - servers;
}

double clos_bisection(const struct clos_order *order, uint32_t first, uint32_t added,
                      uint32_t uplinks)
{
    double first_servers = order->servers_first, added_servers = added ? order->servers_added : 0;
    double all = first_servers + added_servers,
           most = group_most(order, first, order->servers_first);
    assert(all > 0 && first_servers >= added_servers);
    if (!added)
        return fmin(uplinks, most) / all;
    /* Uplinks per server are equal until one purchase has no ports left. */
    double first_limit = most / first_servers;
    double added_limit = group_most(order, added, order->servers_added) / added_servers;
    double even = fmin(uplinks / all, fmin(first_limit, added_limit));
    /* The worst half has first servers only, so more uplinks of added servers do not help. */
    if (added_limit >= first_limit)
        return even;
    double rest = (uplinks - even * added_servers) / first_servers;
    rest = fmax(even, fmin(rest, first_limit));
    /* The worst half consists of all added servers and some of the first. */
    return (even * added_servers + rest * (all / 2 - added_servers)) / (all / 2);
}

static uint32_t divide_up(uint32_t value, uint32_t by)
{
    assert(by > 0);
    return value / by + (value % by > 0);
}

uint32_t clos_upper(const struct clos_order *order, uint32_t edges, uint32_t uplinks)
{
    uint32_t top = divide_up(uplinks, order->ports);
    return edges <= order->ports ? top : top + divide_up(2 * uplinks, order->ports);
}

/* Finds the best network of these edge switches that can be made of `before` for
 * `budget`. Returns false if there is none. */
static bool stage_best(struct clos_network *best, const struct clos_order *order,
                       const struct clos_network *before, uint32_t first, uint32_t added,
                       uint32_t switches_most, double budget)
{
    uint32_t edges = first + added, servers = order->servers_first;
    if (added)
        servers += order->servers_added;
    if ((uint64_t)order->ports * edges < (uint64_t)servers + edges)
        return false;
    bool found = false;
    /* Every edge switch needs at least one uplink. */
    for (uint32_t uplinks = edges; uplinks <= order->ports * edges - servers; uplinks++) {
        struct clos_network next = {.edges_first = first, .edges_added = added, .uplinks = uplinks};
        uint32_t upper = clos_upper(order, edges, uplinks);
        uint32_t cables = edges <= order->ports ? uplinks : 2 * uplinks;
        next.upper = upper > before->upper ? upper : before->upper;
        next.cables = cables > before->cables ? cables : before->cables;
        double spent = order->switch_price * (edges - before->edges_first - before->edges_added +
                                              next.upper - before->upper) +
                       order->cable_price * (next.cables - before->cables);
        if (edges + next.upper > switches_most || spent > budget)
            break; /* more uplinks cost at least as much */
        next.cost = before->cost + spent;
        next.bisection = clos_bisection(order, first, added, uplinks);
        if (found && next.bisection <= best->bisection)
            continue; /* it costs more and is not better */
        *best = next;
        found = true;
    }
    return found;
}

static bool stage_first(struct clos_network *best, const struct clos_order *order, uint32_t first)
{
    return stage_best(best, order, &(struct clos_network){0}, first, 0, order->switches_first,
                      order->budget_first);
}

static bool stage_next(struct clos_network *best, const struct clos_order *order,
                       const struct clos_network *before, uint32_t added)
{
    return stage_best(best, order, before, before->edges_first, added, UINT32_MAX, order->budget);
}

/* Makes a plan with these numbers of edge switches. */
static bool plan_make(struct clos_plan *plan, const struct clos_order *order, uint32_t first,
                      uint32_t added)
{
    if (!stage_first(&plan->stage[0], order, first))
        return false;
    for (uint32_t t = 1; t < order->stages; t++)
        if (!stage_next(&plan->stage[t], order, &plan->stage[t - 1], added))
            return false;
    return true;
}

static double plan_sum(const struct clos_plan *plan, const struct clos_order *order)
{
    double sum = 0;
    for (uint32_t t = 0; t < order->stages; t++)
        sum += plan->stage[t].bisection;
    return sum;
}

/* Returns the most edge switches that a budget buys. */
static uint32_t edges_most(const struct clos_order *order, double budget)
{
    return (uint32_t)fmin(budget / order->switch_price, 100000);
}

static bool plan_greedy(struct clos_plan *plan, const struct clos_order *order)
{
    struct clos_network network;
    uint32_t first = 0, added = 0;
    double best = -1;
    for (uint32_t edges = 1; edges <= order->switches_first; edges++)
        if (stage_first(&network, order, edges) && network.bisection >= best) {
            best = network.bisection; /* a tie goes to more edge switches: they have more ports */
            first = edges;
        }
    if (!first || !stage_first(&plan->stage[0], order, first))
        return false;
    best = -1;
    for (uint32_t edges = 1; edges <= edges_most(order, order->budget); edges++)
        if (stage_next(&network, order, &plan->stage[0], edges) && network.bisection >= best) {
            best = network.bisection;
            added = edges;
        }
    return added && plan_make(plan, order, first, added);
}

bool clos_upgrade(struct clos_plan *plan, const struct clos_order *order, bool foresight)
{
    assert(order->stages >= 2 && order->stages <= CLOS_STAGE_MAX);
    assert(order->switch_price > 0 && order->servers_added > 0);
    if (!foresight)
        return plan_greedy(plan, order);
    bool found = false;
    uint32_t last = order->stages - 1;
    for (uint32_t first = 1; first <= order->switches_first; first++)
        for (uint32_t added = 1; added <= edges_most(order, order->budget); added++) {
            struct clos_plan next;
            if (!plan_make(&next, order, first, added))
                continue;
            double more = found ? next.stage[last].bisection - plan->stage[last].bisection : 1;
            if (more > 1e-12 || (more > -1e-12 && plan_sum(&next, order) > plan_sum(plan, order))) {
                *plan = next;
                found = true;
            }
        }
    return found;
}
