#include "flow/bisection/spectral.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "flow/bisection/chebyshev.h"
#include "flow/bisection/cholesky.h"
#include "flow/bisection/lanczos.h"
#include "flow/bisection/walks.h"

#define VISITS_MAX        4e10  /* cable ends visited by all steps of the polynomials */
#define STEPS_MIN         4u    /* of a polynomial; with fewer it proves almost nothing */
#define LINES_MAX         4e9   /* cache lines read for counting walks */
#define WEIGHTED_NODE_MAX 3000u /* with unequal weights: two factors and many solutions */

double spectral_bound(const struct halving *halving, double sigma, double tau)
{
    double total = (double)halving->total, gap = (double)halving_gap(halving);
    return (sigma * total - tau * gap * gap / total) / 4;
}

/* The lower triangle of L - sigma W + tau w w' / S, minus `shift` on the diagonal. */
static double *matrix_make(const struct graph *graph, const struct halving *halving, double sigma,
                           double tau, double shift)
{
    size_t size = graph->node_count;
    double *matrix = array_new(size * size, sizeof *matrix);
    if (!matrix)
        return NULL;
    for (uint32_t v = 0; v < size; v++) {
        double weight = halving_weight(halving, v);
        double part = tau * weight / (double)halving->total;
        for (uint32_t u = 0; u <= v; u++)
            matrix[v * size + u] = part * halving_weight(halving, u);
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++)
            if (graph->to[slot] < v)
                matrix[v * size + graph->to[slot]] -= 1;
        matrix[v * size + v] += graph_degree(graph, v) - sigma * weight - shift;
    }
    return matrix;
}

/* After Rump (Verification of positive definiteness, 2006). If Cholesky's method runs to its end on
 * a floating-point matrix A of order n, its factor R satisfies R'R = A + E with |E| <= g |R'||R|
 * entry by entry, where g = (n+1)u / (1 - (n+1)u) and u is half of DBL_EPSILON, for any order of
 * the sums. The norm of |R'||R| is at most its trace, which is at most trace(A) / (1 - g). So A has
 * no eigenvalue below -g trace(A) / (1 - g).
 *
 * Here A is M minus `shift` on the diagonal, so M has no eigenvalue below shift - g trace / (1 -
 * g). Computing an entry of A takes at most four roundings. On the diagonal, the absolute values of
 * the rounded numbers sum to `trace`; off the diagonal, they form a matrix of rank one whose norm
 * is no greater. Together the errors are at most 8 u trace. A shift of 4 (n + 4) u trace covers all
 * of that, about four times over. */
enum err spectral_prove(const struct graph *graph, const struct halving *halving, double sigma,
                        double tau, bool *proved, struct why *why)
{
    uint32_t size = graph->node_count;
    double trace = 0, total = (double)halving->total;
    for (uint32_t v = 0; v < size; v++) {
        double weight = halving_weight(halving, v);
        trace += graph_degree(graph, v) + fabs(sigma) * weight + tau * weight * weight / total;
    }
    double shift = 4 * (size + 4.0) * (DBL_EPSILON / 2) * trace;
    *proved = false;
    double *matrix = matrix_make(graph, halving, sigma, tau, shift);
    if (!matrix)
        return why_memory(why);
    enum err err = cholesky_factor(matrix, size, proved, why);
    free(matrix);
    return err;
}

static void laplacian_multiply(const void *context, const double *in, double *out)
{
    const struct graph *graph = context;
    for (uint32_t v = 0; v < graph->node_count; v++) {
        double sum = 0;
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++)
            sum += in[graph->to[slot]];
        out[v] = graph_degree(graph, v) * in[v] - sum;
    }
}

static enum err lower_by_factor(const struct graph *graph, const struct halving *halving,
                                double sigma, double *bound, struct why *why)
{
    /* The estimate may be slightly too high; each attempt uses a smaller part of it. */
    static const double part[] = {1 - 1e-7, 1 - 1e-4, 0.99, 0.9};
    bool proved = false;
    for (size_t i = 0; i < sizeof part / sizeof *part && !proved && sigma > 0; i++) {
        double less = part[i] * sigma;
        /* The vector of ones has eigenvalue 0 at tau = sigma; a slightly larger tau keeps the
         * matrix from being singular. */
        double tau = 1.01 * less;
        enum err err = spectral_prove(graph, halving, less, tau, &proved, why);
        if (err)
            return err;
        if (proved)
            *bound = spectral_bound(halving, less, tau) * (1 - 1e-12);
    }
    return OK;
}

static enum err estimate_plain(const struct graph *graph, bool hurried, uint64_t seed,
                               double *sigma, double *vector, struct why *why)
{
    uint32_t nodes = graph->node_count;
    double *ones = array_new(nodes, sizeof *ones);
    if (!ones)
        return why_memory(why);
    for (uint32_t v = 0; v < nodes; v++)
        ones[v] = 1 / sqrt(nodes);
    struct lanczos_matrix matrix = {nodes, laplacian_multiply, graph};
    enum err err = lanczos_least(&matrix, ones, hurried ? 40 : 120, hurried ? 1 : 12, seed, sigma,
                                 vector, why);
    free(ones);
    return err;
}

/* The factor F of L + w w' / S, for the inverse problem below. */
struct inverse {
    const struct halving *halving;
    double *factor;
};

/* out = - F^-1 W F'^-1 in: its least eigenvalue is -1 / sigma. */
static void inverse_multiply(const void *context, const double *in, double *out)
{
    const struct inverse *inverse = context;
    uint32_t size = inverse->halving->node_count;
    for (uint32_t v = 0; v < size; v++)
        out[v] = in[v];
    cholesky_solve_transposed(inverse->factor, size, out);
    for (uint32_t v = 0; v < size; v++)
        out[v] *= -(double)halving_weight(inverse->halving, v);
    cholesky_solve(inverse->factor, size, out);
}

/* For weights that differ, some of which may be 0: L x = sigma W x is inverted to F^-1 W F'^-1 y =
 * y / sigma with y = F'x. The vector of ones, which belongs to sigma = 0, has become F'1 and is
 * excluded. */
static enum err estimate_weighted(const struct graph *graph, const struct halving *halving,
                                  uint64_t seed, bool *found, double *sigma, double *vector,
                                  struct why *why)
{
    uint32_t size = graph->node_count;
    struct inverse inverse = {halving, matrix_make(graph, halving, 0, 1, 0)};
    double *ones = array_new(size, sizeof *ones);
    enum err err = OK;
    if (!inverse.factor || !ones)
        err = why_memory(why);
    else
        err = cholesky_factor(inverse.factor, size, found, why);
    if (!err && *found) {
        double norm = 0;
        for (uint32_t v = 0; v < size; v++)
            for (uint32_t u = 0; u <= v; u++)
                ones[u] += inverse.factor[(size_t)v * size + u];
        for (uint32_t v = 0; v < size; v++)
            norm += ones[v] * ones[v];
        for (uint32_t v = 0; v < size; v++)
            ones[v] /= sqrt(norm);
        struct lanczos_matrix matrix = {size, inverse_multiply, &inverse};
        double value = 0;
        err = lanczos_least(&matrix, ones, 60, 6, seed, &value, vector, why);
        cholesky_solve_transposed(inverse.factor, size, vector);
        *found = !err && value < 0;
        *sigma = -1 / value;
    }
    free(inverse.factor);
    free(ones);
    return err;
}

enum err spectral_estimate(const struct graph *graph, const struct halving *halving, bool hurried,
                           uint64_t seed, bool *found, double *sigma, double *vector,
                           struct why *why)
{
    bool connected;
    enum err err = graph_connected(graph, &connected, why);
    *found = false;
    if (err || graph->node_count < 3 || !connected)
        return err;
    if (halving->uniform) {
        *found = true;
        return estimate_plain(graph, hurried, seed, sigma, vector, why);
    }
    if (graph->node_count > WEIGHTED_NODE_MAX)
        return OK;
    return estimate_weighted(graph, halving, seed, found, sigma, vector, why);
}

static void negative_multiply(const void *context, const double *in, double *out)
{
    const struct graph *graph = context;
    laplacian_multiply(context, in, out);
    for (uint32_t v = 0; v < graph->node_count; v++)
        out[v] = -out[v];
}

/* For larger graphs: the polynomial of walks.h, which depends on the degree only and is computed in
 * integers. */
static enum err lower_by_walks(const struct graph *graph, const struct halving *halving,
                               double *bound, struct why *why)
{
    double second = 0;
    uint32_t steps = walks_steps(graph, LINES_MAX);
    enum err err = steps < STEPS_MIN ? OK : walks_second(graph, steps, &second, why);
    if (!err)
        *bound = spectral_bound(halving, second, second) * (1 - 1e-12);
    return err;
}

static enum err lower_by_polynomial(const struct graph *graph, const struct halving *halving,
                                    double sigma, uint64_t seed, struct observer progress,
                                    double *bound, struct why *why)
{
    double visits = 2.0 * graph->link_count * graph->node_count;
    double steps = VISITS_MAX / visits;
    if (!halving->uniform)
        return OK;
    if (steps < STEPS_MIN)
        return lower_by_walks(graph, halving, bound, why);
    double last, second, *vector = array_new(graph->node_count, sizeof *vector);
    if (!vector)
        return why_memory(why);
    struct lanczos_matrix matrix = {graph->node_count, negative_multiply, graph};
    enum err err = lanczos_least(&matrix, NULL, 60, 1, seed, &last, vector, why);
    free(vector);
    if (!err)
        err = chebyshev_second(graph, sigma, -last, steps < 30 ? (uint32_t)steps : 30, progress,
                               &second, why);
    if (!err)
        *bound = spectral_bound(halving, second, second) * (1 - 1e-12);
    return err;
}

enum err spectral_lower(const struct graph *graph, const struct halving *halving, double sigma,
                        uint64_t seed, struct observer progress, double *bound, struct why *why)
{
    *bound = 0;
    observer_tell(&progress, "bisection, spectral bound", 0, 0);
    if (graph->node_count <= SPECTRAL_NODE_MAX)
        return lower_by_factor(graph, halving, sigma, bound, why);
    return lower_by_polynomial(graph, halving, sigma, seed, progress, bound, why);
}
