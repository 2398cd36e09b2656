/* walks: how evenly walks that never turn back spread over the nodes.
 *
 * Let A be the adjacency matrix of a graph of degree d, q = d - 1, and N(m) the matrix of the
 * numbers of walks of m cables that never take the same cable back at once: N(1) = A, N(2) = A N(1)
 * - d, N(m+1) = A N(m) - q N(m-1). So N(m) is a polynomial p of A. For the vector of ones it has
 * the eigenvalue d q^(m-1); the squares of all eigenvalues sum to F, the sum of the squares of all
 * entries of N(m). Hence every other eigenvalue a of A has p(a)^2 <= F - (d q^(m-1))^2. All zeros
 * of p are below 2 sqrt(q) (it is orthogonal on the spectrum of the infinite tree, Kesten 1959),
 * and p increases beyond; so a is at most 2 sqrt(q) or the point where p reaches the root of that
 * number. The Laplacian's eigenvalue is d - a.
 *
 * Entries are kept modulo 2^16. The true entries of every column sum to d q^(m-1); if the kept
 * entries have the same sum, nothing was lost. */
#include "flow/bisection/walks.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"

#define COLUMNS        32u /* a cache line of counts for every node */
#define STEPS_MAX      8u
#define PREFETCH_SLOTS 24u /* how many neighbours ahead a line is prefetched */

typedef uint16_t counts __attribute__((vector_size(COLUMNS * sizeof(uint16_t))));
typedef uint64_t words __attribute__((vector_size(sizeof(counts)))); /* the same bits */

struct walks {
    const struct graph *graph;
    uint16_t degree;
    counts *now, *before;
};

static bool counts_zero(const counts *line)
{
    words all = (words)*line;
    return (all[0] | all[1] | all[2] | all[3] | all[4] | all[5] | all[6] | all[7]) == 0;
}

static void lines_collect(const struct graph *graph, const counts *now, counts *out)
{
    uint32_t last = 2 * graph->link_count - 1;
    for (uint32_t v = 0; v < graph->node_count; v++) {
        counts sum = {0};
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t ahead = slot + PREFETCH_SLOTS;
            __builtin_prefetch(&now[graph->to[ahead < last ? ahead : last]]);
            sum += now[graph->to[slot]];
        }
        out[v] += sum;
    }
}

static void lines_pass_on(const struct graph *graph, const counts *now, counts *out)
{
    for (uint32_t v = 0; v < graph->node_count; v++) {
        if (counts_zero(&now[v]))
            continue;
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++)
            out[graph->to[slot]] += now[v];
    }
}

/* before = A now - back before; then exchanges the two. If few nodes have counts, these push them
 * to their neighbours; else every node collects from its neighbours. */
static void walks_step(struct walks *walks, uint16_t back)
{
    uint32_t nodes = walks->graph->node_count, used = 0;
    counts *now = walks->now, *out = walks->before;
    for (uint32_t v = 0; v < nodes; v++) {
        used += !counts_zero(&now[v]);
        out[v] = -out[v] * back; /* modulo 2^16 */
    }
    if (used < nodes / 2)
        lines_pass_on(walks->graph, now, out);
    else
        lines_collect(walks->graph, now, out);
    walks->now = out;
    walks->before = now;
}

/* All steps from COLUMNS nodes; adds up the entries and their squares. */
static void walks_block(struct walks *walks, uint32_t first, uint32_t steps, uint128 *sum,
                        uint128 *squares)
{
    uint32_t nodes = walks->graph->node_count;
    memset(walks->now, 0, nodes * sizeof *walks->now);
    memset(walks->before, 0, nodes * sizeof *walks->before);
    for (uint32_t i = 0; i < COLUMNS && first + i < nodes; i++)
        walks->now[first + i][i] = 1;
    for (uint32_t step = 1; step <= steps; step++)
        walks_step(walks, (uint16_t)(step == 2 ? walks->degree : walks->degree - 1));
    for (uint32_t v = 0; v < nodes; v++) {
        uint64_t line_sum = 0, line_squares = 0;
        for (uint32_t i = 0; i < COLUMNS; i++) {
            uint64_t entry = walks->now[v][i];
            line_sum += entry;
            line_squares += entry * entry;
        }
        *sum += line_sum;
        *squares += line_squares;
    }
}

/* p at a point that is at least its largest zero. */
static double polynomial(double degree, uint32_t steps, double at)
{
    double before = 1, now = at;
    for (uint32_t step = 2; step <= steps; step++) {
        double next = at * now - (step == 2 ? degree : degree - 1) * before;
        before = now;
        now = next;
    }
    return now;
}

/* The largest eigenvalue of A that p allows; rounding costs far less than the margin of one part in
 * 10^9. */
static double eigenvalue_most(double degree, uint32_t steps, double size)
{
    double low = 2 * sqrt(degree - 1), high = degree;
    size *= 1 + 1e-9;
    if (polynomial(degree, steps, low) >= size)
        return low * (1 + 1e-12);
    for (int i = 0; i < 100; i++) {
        double middle = low + (high - low) / 2;
        if (polynomial(degree, steps, middle) > size)
            high = middle;
        else
            low = middle;
    }
    return high * (1 + 1e-12);
}

static bool regular(const struct graph *graph)
{
    for (uint32_t v = 1; v < graph->node_count; v++)
        if (graph_degree(graph, v) != graph_degree(graph, 0))
            return false;
    return graph->node_count > 1 && graph_degree(graph, 0) >= 3 &&
           graph_degree(graph, 0) <= UINT16_MAX;
}

static double walks_of(const struct graph *graph, uint32_t steps)
{
    double degree = graph_degree(graph, 0);
    return degree * pow(degree - 1, steps - 1.0);
}

uint32_t walks_steps(const struct graph *graph, double lines)
{
    uint32_t steps = 1;
    if (!regular(graph))
        return 0;
    double nodes = graph->node_count, sweep = ceil(nodes / COLUMNS) * 2 * graph->link_count;
    /* A step passes on the lines of the nodes that the walks have reached so far. */
    for (; steps < STEPS_MAX; steps++) {
        lines -= sweep * fmin(1, COLUMNS * walks_of(graph, steps) / nodes);
        if (lines < 0 || walks_of(graph, steps + 1) / nodes > UINT16_MAX / 4)
            break;
    }
    return steps;
}

enum err walks_second(const struct graph *graph, uint32_t steps, double *bound, struct why *why)
{
    *bound = 0;
    if (steps < 1 || steps > STEPS_MAX || !regular(graph))
        return OK;
    uint32_t nodes = graph->node_count;
    struct walks walks = {
        .graph = graph,
        .degree = (uint16_t)graph_degree(graph, 0),
        .now = aligned_alloc(sizeof(counts), nodes * sizeof(counts)),
        .before = aligned_alloc(sizeof(counts), nodes * sizeof(counts)),
    };
    bool room = walks.now && walks.before;
    if (room) {
        uint128 sum = 0, squares = 0, each = walks.degree;
        for (uint32_t first = 0; first < nodes; first += COLUMNS)
            walks_block(&walks, first, steps, &sum, &squares);
        for (uint32_t step = 1; step < steps; step++)
            each *= walks.degree - 1u;
        if (sum == each * nodes) {
            double size = sqrt((double)(squares - each * each));
            *bound = fmax(0, walks.degree - eigenvalue_most(walks.degree, steps, size));
        }
    }
    free(walks.now);
    free(walks.before);
    return room ? OK : why_memory(why);
}
