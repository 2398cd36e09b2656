/* throughput: permutation traffic under the best routing, to a proved gap of 1 %, compared with the
 * exact linear program solved by HiGHS (interior point, its fastest method here) and by CLP, on the
 * same networks in the same run, on one core; then sizes that neither can solve. The peers' optimum
 * must be between our bounds. */
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "flow/concurrent/concurrent.h"
#include "oracle/flow_program.h"
#include "peer.h"

#define GAP 0.01

struct problem {
    struct topology topology;
    struct traffic traffic;
    struct concurrent found; /* ours, from the last run */
    double gap;
    double clp; /* CLP's optimum */
};

static void problem_open(struct problem *problem, const char *spec, double gap)
{
    struct why why;
    *problem = (struct problem){.gap = gap, .clp = NAN};
    if (topology_build(&problem->topology, spec, &why) ||
        traffic_permutation(&problem->traffic, &problem->topology, 1, &why))
        bench_fail("%s: %s", spec, why.text);
}

static void problem_close(struct problem *problem)
{
    concurrent_fini(&problem->found);
    traffic_fini(&problem->traffic);
    topology_fini(&problem->topology);
}

static void run_weft(void *context)
{
    struct problem *problem = context;
    struct why why;
    struct concurrent_options options = {.gap = problem->gap};
    concurrent_fini(&problem->found);
    if (concurrent_solve(&problem->found, &problem->topology, &problem->traffic, &options, &why))
        bench_fail("%s", why.text);
    if (problem->found.gap > problem->gap)
        bench_fail("the gap is %g; at most %g was requested", problem->found.gap, problem->gap);
}

static void run_clp(void *context)
{
    struct problem *problem = context;
    problem->clp = flow_program_solve(&problem->topology.graph, &problem->traffic);
}

static void check_bounds(const struct problem *problem, const char *peer, double optimum)
{
    if (!(problem->found.lower <= optimum * (1 + 1e-6) &&
          optimum <= problem->found.upper * (1 + 1e-6)))
        bench_fail("%s says %.9g, outside %.9g to %.9g", peer, optimum, problem->found.lower,
                   problem->found.upper);
}

static void write_problem(const struct problem *problem, FILE *file)
{
    const struct graph *graph = &problem->topology.graph;
    fprintf(file, "%u %u %zu\n", graph->node_count, graph->link_count, problem->traffic.count);
    for (uint32_t e = 0; e < graph->link_count; e++)
        fprintf(file, "%u %u\n", graph->links[e].a, graph->links[e].b);
    for (size_t k = 0; k < problem->traffic.count; k++)
        fprintf(file, "%u %u %.17g\n", problem->traffic.demands[k].from,
                problem->traffic.demands[k].to, problem->traffic.demands[k].amount);
}

/* Returns the seconds of processor time that HiGHS's solver took, or NaN if SciPy is missing. */
static double run_highs(const struct problem *problem)
{
    struct peer_script peer;
    double optimum = NAN, seconds = NAN;
    peer_open(&peer);
    write_problem(problem, peer.problem);
    peer_start(&peer, PEER_SCRIPT);
    bool answered = fscanf(peer.answer, "%lf %lf", &optimum, &seconds) == 2;
    if (!peer_close(&peer, "SciPy", answered))
        return NAN;
    check_bounds(problem, "HiGHS", optimum);
    return seconds;
}

static double seconds_of(const struct bench *bench, void (*run)(void *), struct problem *problem)
{
    double begin = bench_seconds(bench);
    run(problem);
    return bench_seconds(bench) - begin;
}

/* Runs weft before and after each peer, the median of five; the peers once, because they take
 * seconds to minutes. */
static void compare_solvers(struct bench *bench, uint32_t switches, uint32_t degree)
{
    char spec[SPEC_SIZE], what[BENCH_WHAT_SIZE];
    snprintf(spec, sizeof spec, "jellyfish:n=%u,degree=%u,seed=1", switches, degree);
    struct problem problem;
    problem_open(&problem, spec, GAP);
    double ours[5];
    for (int i = 0; i < 3; i++)
        ours[i] = seconds_of(bench, run_weft, &problem);
    double highs = run_highs(&problem);
    ours[3] = seconds_of(bench, run_weft, &problem);
    double clp = seconds_of(bench, run_clp, &problem);
    check_bounds(&problem, "CLP", problem.clp);
    ours[4] = seconds_of(bench, run_weft, &problem);
    double median = bench_median(ours, 5);
    snprintf(what, sizeof what, "permutation, %u switches of degree %u, gap 1 %%", switches,
             degree);
    bench_add(bench, what, "s",
              (struct bench_value[]){{"weft", median},
                                     {"highs", highs},
                                     {"clp", clp},
                                     {"highs_ratio", highs / median},
                                     {"clp_ratio", clp / median}},
              5);
    problem_close(&problem);
}

static void time_alone(struct bench *bench, const char *spec, double gap, const char *what)
{
    struct problem problem;
    problem_open(&problem, spec, gap);
    bench_add(bench, what, "s",
              (struct bench_value[]){{"weft", seconds_of(bench, run_weft, &problem)}}, 1);
    problem_close(&problem);
}

int main(int count, char **words)
{
    struct bench bench;
    bench_start(&bench, count, words);
    bench.cpu = true;
    time_alone(&bench, "jellyfish:servers=686,switches=245,ports=14,seed=1", 0.01,
               "permutation, 686 servers on 245 switches of 14 ports, gap 1 %");
    time_alone(&bench, "jellyfish:servers=8000,switches=1000,ports=32,seed=1", 0.02,
               "permutation, 8,000 servers on 1,000 switches of degree 24, gap 2 %");
    if (bench.quick)
        compare_solvers(&bench, 50, 6);
    else {
        compare_solvers(&bench, 100, 6);
        compare_solvers(&bench, 200, 8); /* CLP alone takes a quarter of an hour */
    }
    return bench_finish(&bench);
}
