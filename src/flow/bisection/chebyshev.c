/* chebyshev: bounds by the norm of a polynomial of the Laplacian.
 *
 * Let X = (L - c) / h map [low, high] to [-1, 1], let T be Chebyshev's polynomial of degree m, and
 * P the projection orthogonal to the vector of ones. T(X) P is computed column by column with the
 * recurrence Y' = 2 X Y - Y''. For a unit eigenvector u of the second eigenvalue, which X maps to
 * x, u'T(X)P = T(x) u', so |T(x)| is at most F, the root of the sum of the squares of all entries.
 * If x < -1 then |T(x)| = cosh(m acosh|x|), and so |x| <= cosh(acosh(F) / m).
 *
 * Rounding: each step leaves an error D and propagates it: u' times the result is T(x) u' + sum of
 * U(x) u'D, with U Chebyshev's polynomials of the second kind of degree below m, for which m |T(x)|
 * is at least |U(x)|. Hence |T(x)| (1 - m sum |D|) <= F. Errors along the vector of ones do not
 * count, because u is orthogonal to it; so the mean of a column may be subtracted at every step,
 * which keeps that direction, where T is huge, from dominating F. */
#include "flow/bisection/chebyshev.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define COLUMNS 16u /* processed at a time, side by side for every node */

struct columns {
    double entry[COLUMNS];
};

struct recurrence {
    const struct graph *graph;
    double center, half; /* c and h */
    double *squares;     /* per step: the sum of squares of all entries so far */
    struct columns *now, *before;
};

/* Subtracts the mean from every column, and returns the sum of squares. */
static double columns_project(struct columns *columns, uint32_t nodes)
{
    struct columns mean = {{0}};
    double squares = 0;
    for (uint32_t v = 0; v < nodes; v++)
        for (uint32_t i = 0; i < COLUMNS; i++)
            mean.entry[i] += columns[v].entry[i];
    for (uint32_t v = 0; v < nodes; v++)
        for (uint32_t i = 0; i < COLUMNS; i++)
            columns[v].entry[i] -= mean.entry[i] / nodes;
    for (uint32_t v = 0; v < nodes; v++) {
        double sum = 0;
        for (uint32_t i = 0; i < COLUMNS; i++)
            sum += columns[v].entry[i] * columns[v].entry[i];
        squares += sum;
    }
    return squares;
}

/* before = factor * (L - c) now - before. */
static void columns_step(const struct recurrence *recurrence, double factor)
{
    const struct graph *graph = recurrence->graph;
    for (uint32_t v = 0; v < graph->node_count; v++) {
        struct columns sum = {{0}};
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            const struct columns *other = &recurrence->now[graph->to[slot]];
            for (uint32_t i = 0; i < COLUMNS; i++)
                sum.entry[i] += other->entry[i];
        }
        double own = graph_degree(graph, v) - recurrence->center;
        struct columns *out = &recurrence->before[v];
        for (uint32_t i = 0; i < COLUMNS; i++)
            out->entry[i] =
                factor * (own * recurrence->now[v].entry[i] - sum.entry[i]) - out->entry[i];
    }
}

/* All steps for the columns of COLUMNS nodes from `first` on. */
static void block_run(struct recurrence *recurrence, uint32_t first, uint32_t steps)
{
    uint32_t nodes = recurrence->graph->node_count;
    memset(recurrence->now, 0, nodes * sizeof *recurrence->now);
    memset(recurrence->before, 0, nodes * sizeof *recurrence->before);
    for (uint32_t i = 0; i < COLUMNS && first + i < nodes; i++)
        recurrence->now[first + i].entry[i] = 1;
    recurrence->squares[0] += columns_project(recurrence->now, nodes);
    for (uint32_t step = 1; step <= steps; step++) {
        columns_step(recurrence, (step == 1 ? 1 : 2) / recurrence->half);
        struct columns *swap = recurrence->now;
        recurrence->now = recurrence->before;
        recurrence->before = swap;
        recurrence->squares[step] += columns_project(recurrence->now, nodes);
    }
}

/* An upper bound of the sum of |D| over all steps. The absolute values of a row of 2 X sum to at
 * most `norm`, and every entry of a step is a sum of at most degree + 8 rounded terms. */
static double rounding(const struct recurrence *recurrence, uint32_t steps)
{
    const struct graph *graph = recurrence->graph;
    uint32_t degree_max = 0;
    double sum = 0;
    for (uint32_t v = 0; v < graph->node_count; v++)
        if (graph_degree(graph, v) > degree_max)
            degree_max = graph_degree(graph, v);
    double norm = 2 * (2.0 * degree_max + fabs(recurrence->center)) / recurrence->half;
    for (uint32_t step = 0; step <= steps; step++)
        sum += (norm + 4) * sqrt(recurrence->squares[step]);
    return (degree_max + 8.0) * DBL_EPSILON * sum;
}

enum err chebyshev_second(const struct graph *graph, double low, double high, uint32_t steps,
                          struct observer progress, double *bound, struct why *why)
{
    uint32_t nodes = graph->node_count;
    *bound = 0;
    if (nodes < 2 || steps < 1 || !(high > low))
        return OK;
    struct recurrence recurrence = {
        .graph = graph,
        .center = (low + high) / 2,
        .half = (high - low) / 2,
        .squares = array_new(steps + 1, sizeof(double)),
        .now = array_new(nodes, sizeof(struct columns)),
        .before = array_new(nodes, sizeof(struct columns)),
    };
    bool room = recurrence.squares && recurrence.now && recurrence.before;
    if (room) {
        for (uint32_t first = 0; first < nodes; first += COLUMNS) {
            observer_tell(&progress, "bisection, spectral bound", first, nodes);
            block_run(&recurrence, first, steps);
        }
        double size = sqrt(recurrence.squares[steps]) * (1 + 1e-9);
        double error = steps * rounding(&recurrence, steps);
        if (error < 0.5) {
            double highest = fmax(1, size / (1 - error));
            double x = cosh(acosh(highest) / steps) * (1 + 1e-12);
            *bound = fmax(0, recurrence.center - recurrence.half * x);
        }
    }
    free(recurrence.squares);
    free(recurrence.now);
    free(recurrence.before);
    return room ? OK : why_memory(why);
}
