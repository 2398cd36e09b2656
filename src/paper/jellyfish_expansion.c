/* jellyfish_expansion: the figure of the Jellyfish paper (jellyfish.c names it)
 * about growing a network in stages, each with its own budget. Jellyfish buys
 * switches and connects them at random; the Clos network it is compared with
 * (clos_upgrade.h) has to remain a Clos network. */
#include <math.h>
#include <stdio.h>

#include "base/check.h"
#include "flow/bisection/bisection.h"
#include "paper/clos_upgrade.h"
#include "paper/figures.h"
#include "paper/score.h"
#include "topology/cabling/cabling.h"
#include "topology/change/grow.h"

enum {
    STAGES = 9, /* the first network and eight expansions */
    SWITCHES_FIRST = 34,
    SERVERS_FIRST = 480,
    SERVERS_ADDED = 240, /* by the first expansion */
    GRAPH_MAX = 5,
};

static const double port_price = 100;

/* Prices, the same for both kinds of network. */
struct prices {
    uint32_t ports; /* of a switch */
    double switch_price;
    double cable;  /* of a mean cable between two switches, laying it included */
    double labour; /* of laying a cable, or of removing it */
};

/* One stage of a Jellyfish that grows, or the mean of several. */
struct growth_stage {
    double switches, cables, spent;
    double lower, upper; /* of the bisection, normalised */
};

/* Jellyfish and both kinds of Clos, of switches with the same number of ports. */
struct contest {
    uint32_t ports;
    struct prices prices;
    double first; /* budget of the first network; every expansion has half of it */
    struct growth_stage jelly[STAGES]; /* means */
    struct clos_plan clos[2];          /* without foresight, and with it */
};

/* --- Jellyfish --- */

static enum err prices_make(struct prices *prices, const struct topology *topology, uint32_t ports,
                            struct why *why)
{
    struct cable_cost cost = cable_cost_default();
    struct cabling cabling;
    enum err err = cabling_make(&cabling, topology, FLOOR_CLUSTER, &cost, why);
    if (err)
        return err;
    double sum = 0;
    uint64_t links = cabling.totals.link_cables;
    for (uint64_t i = 0; i < links; i++) /* cables between switches come first */
        sum += cabling.cables[i].cost;
    cabling_fini(&cabling);
    assert(links > 0);
    double cable = sum / (double)links;
    *prices = (struct prices){ports, port_price * ports, cable, cost.labour_share * cable};
    return OK;
}

static enum err first_build(struct topology *topology, uint32_t ports, uint64_t seed,
                            struct why *why)
{
    char spec[SPEC_SIZE];
    figure_jellyfish_spec(spec, SERVERS_FIRST, SWITCHES_FIRST, ports, seed);
    return topology_build(topology, spec, why);
}

static double first_cost(const struct topology *topology, const struct prices *prices)
{
    return SWITCHES_FIRST * prices->switch_price + topology->graph.link_count * prices->cable;
}

/* A cable that is removed is used again. */
static double growth_cost(const struct growth *growth, const struct prices *prices)
{
    const struct rewire_plan *plan = &growth->plan;
    assert(plan->plug_count >= plan->unplug_count);
    uint32_t bought = plan->plug_count - plan->unplug_count;
    return bought * prices->cable + plan->unplug_count * 2 * prices->labour;
}

/* Adds `count` switches with `servers` each to the topology, and their cost to *cost. */
static enum err grow_some(struct topology *topology, const struct prices *prices, uint32_t count,
                          uint32_t servers, uint64_t seed, double *cost, struct why *why)
{
    struct growth growth;
    struct grow_order order = {count, prices->ports, servers, seed};
    if (!count)
        return OK;
    enum err err = grow_topology(&growth, topology, &order, why);
    if (err)
        return err;
    *cost += count * prices->switch_price + growth_cost(&growth, prices);
    growth_accept(&growth, topology);
    return OK;
}

/* Copies the network and adds `count` switches with `servers` servers, spread evenly. */
static enum err grow_copy(struct topology *grown, const struct topology *topology,
                          const struct prices *prices, uint32_t count, uint32_t servers,
                          uint64_t seed, double *cost, struct why *why)
{
    uint32_t each = servers / count, more = servers % count;
    *cost = 0;
    enum err err = topology_copy(grown, topology, why);
    if (err)
        return err;
    err = grow_some(grown, prices, more, each + 1, seed, cost, why);
    if (!err)
        err = grow_some(grown, prices, count - more, each, seed + 1, cost, why);
    if (err)
        topology_fini(grown);
    return err;
}

/* Replaces the network by the largest one that the budget buys. */
static enum err grow_within(struct topology *topology, const struct prices *prices, double budget,
                            uint32_t servers, uint64_t seed, double *spent, struct why *why)
{
    for (uint32_t count = (uint32_t)(budget / prices->switch_price); count > 0; count--) {
        struct topology grown;
        double cost;
        enum err err = grow_copy(&grown, topology, prices, count, servers, seed, &cost, why);
        if (err)
            return err;
        if (cost > budget) {
            topology_fini(&grown);
            continue;
        }
        topology_fini(topology);
        *topology = grown;
        *spent += cost;
        return OK;
    }
    return why_fail(why, ERR_USAGE, "jelly-fig7: the budget of a stage does not buy one switch");
}

static enum err stage_measure(struct growth_stage *stage, const struct topology *topology,
                              double spent, uint64_t seed, struct why *why)
{
    struct bisection bisection;
    enum err err = bisection_find(&bisection, topology, seed, why);
    if (err)
        return err;
    double half = topology->server_count / 2.0;
    *stage = (struct growth_stage){topology->graph.node_count, topology->graph.link_count, spent,
                                   (double)bisection.lower / half, (double)bisection.upper / half};
    bisection_fini(&bisection);
    return OK;
}

static enum err jelly_grow(struct growth_stage stages[STAGES], const struct contest *contest,
                           uint64_t seed, struct why *why)
{
    struct topology topology;
    const struct prices *prices = &contest->prices;
    enum err err = first_build(&topology, contest->ports, seed, why);
    if (err)
        return err;
    double spent = first_cost(&topology, prices);
    for (uint32_t t = 0; t < STAGES && !err; t++) {
        if (t > 0)
            err = grow_within(&topology, prices, contest->first / 2, t == 1 ? SERVERS_ADDED : 0,
                              seed + 2 * t, &spent, why);
        if (!err)
            err = stage_measure(&stages[t], &topology, spent, seed, why);
    }
    topology_fini(&topology);
    return err;
}

/* --- both --- */

static enum err contest_prices(struct contest *contest, uint64_t seed, struct why *why)
{
    struct topology topology;
    enum err err = first_build(&topology, contest->ports, seed, why);
    if (err)
        return err;
    err = prices_make(&contest->prices, &topology, contest->ports, why);
    if (!err)
        contest->first = first_cost(&topology, &contest->prices);
    topology_fini(&topology);
    return err;
}

static enum err contest_hold(struct contest *contest, const struct figure_call *call,
                             uint32_t graphs, uint64_t done, uint64_t total, struct why *why)
{
    enum err err = contest_prices(contest, call->seed, why);
    if (err)
        return err;
    for (uint32_t i = 0; i < graphs; i++) {
        struct growth_stage stages[STAGES] = {{0}};
        err = jelly_grow(stages, contest, call->seed + 100 * (uint64_t)i, why);
        if (err)
            return err;
        for (uint32_t t = 0; t < STAGES; t++) {
            struct growth_stage *mean = &contest->jelly[t];
            mean->switches += stages[t].switches / graphs;
            mean->cables += stages[t].cables / graphs;
            mean->spent += stages[t].spent / graphs;
            mean->lower += stages[t].lower / graphs;
            mean->upper += stages[t].upper / graphs;
        }
        figure_progress(call, done + i + 1, total);
    }
    struct clos_order order = {
        .ports = contest->ports,
        .switches_first = SWITCHES_FIRST,
        .servers_first = SERVERS_FIRST,
        .servers_added = SERVERS_ADDED,
        .stages = STAGES,
        .budget_first = contest->first,
        .budget = contest->first / 2,
        .switch_price = contest->prices.switch_price,
        .cable_price = contest->prices.cable,
    };
    if (!clos_upgrade(&contest->clos[0], &order, false) ||
        !clos_upgrade(&contest->clos[1], &order, true))
        return why_fail(why, ERR_USAGE, "jelly-fig7: the budgets do not buy a Clos network");
    return OK;
}

static void row(struct figure_table *table, const char *network, const struct contest *contest,
                uint32_t t, const struct growth_stage *stage)
{
    figure_row_named(table, network,
                     (double[]){contest->ports, t,
                                t ? SERVERS_FIRST + SERVERS_ADDED : SERVERS_FIRST, stage->switches,
                                stage->cables, contest->first * (1 + t / 2.0), stage->spent,
                                stage->lower, stage->upper});
}

static void contest_rows(struct figure_table *table, const struct contest *contest)
{
    char name[FIGURE_WORD_SIZE];
    snprintf(name, sizeof name, "Jellyfish %u", contest->ports);
    for (uint32_t t = 0; t < STAGES; t++)
        row(table, name, contest, t, &contest->jelly[t]);
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "Clos %u, %s", contest->ports, i ? "foresight" : "greedy");
        for (uint32_t t = 0; t < STAGES; t++) {
            const struct clos_network *clos = &contest->clos[i].stage[t];
            struct growth_stage stage = {clos->edges_first + clos->edges_added + clos->upper,
                                         clos->cables, clos->cost, clos->bisection,
                                         clos->bisection};
            row(table, name, contest, t, &stage);
        }
    }
}

/* --- claims --- */

/* Returns the first stage from which on Jellyfish, with all its servers, has more
 * than that bisection; STAGES if it never has. */
static uint32_t stage_above(const struct contest *contest, double bisection, bool proved)
{
    uint32_t t = STAGES;
    while (t > 1) {
        const struct growth_stage *before = &contest->jelly[t - 1];
        if ((proved ? before->lower : before->upper) <= bisection)
            break;
        t--;
    }
    return t;
}

static const char *above_text(struct figure_result *result, const struct contest *contest,
                              const struct clos_network *last)
{
    uint32_t found = stage_above(contest, last->bisection, false);
    uint32_t proved = stage_above(contest, last->bisection, true);
    const char *end = proved < STAGES
                          ? figure_text(result, "this is proved from stage %u on", proved)
                          : "this is not proved for any stage";
    if (found == STAGES)
        return figure_text(
            result, "it is not above in eight expansions: it ends at %.2f, this Clos at %.2f",
            contest->jelly[STAGES - 1].upper, last->bisection);
    return figure_text(result, "from stage %u on, by the smallest cut found; %s", found, end);
}

static void contest_claims(struct figure_result *result, const struct contest *contest,
                           struct score each[2])
{
    static const char *const kinds[] = {"greedy", "foresighted"};
    for (size_t i = 0; i < 2; i++) {
        const struct clos_network *last = &contest->clos[i].stage[STAGES - 1];
        uint32_t above = stage_above(contest, last->bisection, false);
        for (uint32_t t = 0; t < STAGES; t++)
            score_add(&each[i], contest->jelly[t].upper > contest->clos[i].stage[t].bisection);
        figure_claim(result, "fig 7",
                     figure_text(result, "%u ports: above the %s Clos of stage 8, from stage on",
                                 contest->ports, kinds[i]),
                     says_at_most(2, NULL), above, above_text(result, contest, last));
        if (above == STAGES)
            continue;
        figure_claim(
            result, "section 4.2",
            figure_text(result, "%u ports: its cost so far, of all that this Clos cost",
                        contest->ports),
            says_about(says_at_most(40, "%"), 0.5), 100 * contest->jelly[above].spent / last->cost,
            figure_text(result,
                        "of the budgets it is %.0f %%; but this Clos stops buying when all ports "
                        "of its edge switches are in use, with %.0f %% of the money left",
                        100 * (1 + above / 2.0) / (1 + (STAGES - 1) / 2.0),
                        100 * (1 - last->cost / contest->first / (1 + (STAGES - 1) / 2.0))));
    }
}

static void legup_claims(struct figure_result *result, const struct score each[2])
{
    const char *missing = "LEGUP, the networks that it made, their budgets and its prices were "
                          "never published";
    figure_claim(result, "fig 7", "above LEGUP of stage 8, from stage on", says_at_most(2, NULL),
                 NAN, missing);
    figure_claim(result, "section 4.2", "its cost so far, of all that LEGUP's cost",
                 says_at_most(40, "%"), NAN, missing);
    struct score both = {each[0].cases + each[1].cases, each[0].held + each[1].held};
    score_claim(result, "fig 7", "stages at which Jellyfish is above weft's own Clos", &both,
                figure_text(result,
                            "it is not above at %u stages of the greedy Clos and at %u of the "
                            "foresighted one",
                            each[0].cases - each[0].held, each[1].cases - each[1].held));
}

static enum err fig7_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    static const uint32_t ports[] = {24, 32};
    struct figure_table *table =
        figure_table_add(result, "expansion",
                         "network, ports, stage, servers, switches, cables, budget, spent, "
                         "bisection_lower, bisection_upper");
    uint32_t graphs = call->quick ? 1 : GRAPH_MAX;
    size_t count = call->quick ? 1 : sizeof ports / sizeof *ports;
    struct score each[2] = {{0}};
    for (size_t i = 0; i < count; i++) {
        struct contest contest = {.ports = ports[i]};
        enum err err = contest_hold(&contest, call, graphs, i * graphs, count * graphs, why);
        if (err)
            return err;
        contest_rows(table, &contest);
        contest_claims(result, &contest, each);
    }
    legup_claims(result, each);
    return OK;
}

const struct figure figure_jelly_fig7 = {
    .name = "jelly-fig7",
    .paper = "Jellyfish",
    .what = "bisection bandwidth as a network grows in stages",
    .full = {"34 switches of 24 ports and of 32, 480 servers, 8 expansions; 5 graphs each",
             .seconds = 15},
    .quick = {"34 switches of 24 ports, 480 servers, 8 expansions; 1 graph", .seconds = 1.5},
    .choice =
        "The paper compares with the upgrade planner LEGUP, whose networks were never published. "
        "In their place weft plans a Clos network under rules that favour it: moving cables is "
        "free, and uplinks are divided without remainder. Servers stay on their edge switch, so "
        "the number of edge switches, which is bought with the servers, limits the Clos for good: "
        "the greedy Clos takes the number that is best at that stage, the foresighted Clos the "
        "number that is best at the end. Every expansion may cost half of the first network; "
        "stage 2 has then cost 40 % of stage 8, as in the paper. Switches have 24 or 32 ports "
        "(with 48 ports, a Clos of two levels has full bisection at once). A port costs 100, a "
        "cable as much as the mean cable when all switches are in one place (weft-cost(5)); moving "
        "a cable costs twice the labour of laying it. Cables to servers are the same for all "
        "networks and are not counted. The bisection of Jellyfish is the smallest cut found; --out "
        "writes the proved lower bounds, too.",
    .plot.table = "expansion",
    .plot.x = {.column = "budget", .label = "budget"},
    .plot.y = {.label = "bisection bandwidth, normalised"},
    .plot.series =
        {
            {"Jellyfish, 24 ports", "bisection_upper", "network", "Jellyfish 24", STYLE_BOTH},
            {"Clos, 24 ports, greedy", "bisection_upper", "network", "Clos 24, greedy", STYLE_BOTH},
            {"Clos, 24 ports, foresighted", "bisection_upper", "network", "Clos 24, foresight",
             STYLE_BOTH},
            {"Jellyfish, 32 ports", "bisection_upper", "network", "Jellyfish 32", STYLE_BOTH},
            {"Clos, 32 ports, greedy", "bisection_upper", "network", "Clos 32, greedy", STYLE_BOTH},
            {"Clos, 32 ports, foresighted", "bisection_upper", "network", "Clos 32, foresight",
             STYLE_BOTH},
        },
    .run = fig7_run,
};
