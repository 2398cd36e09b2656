/* lanczos: every new vector is orthogonalised twice against all earlier ones, so that no copies of
 * an eigenvalue appear; restarts from the best vector until it no longer changes. */
#include "flow/bisection/lanczos.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rng.h"

static double dot(const double *a, const double *b, uint32_t size)
{
    double sum[4] = {0}; /* four sums at once: a dependent chain of additions is slow */
    uint32_t i = 0;
    for (; i + 4 <= size; i += 4)
        for (uint32_t j = 0; j < 4; j++)
            sum[j] += a[i + j] * b[i + j];
    for (; i < size; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void add_multiple(double *restrict a, double factor, const double *restrict b, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        a[i] += factor * b[i];
}

static void scale(double *a, double factor, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        a[i] *= factor;
}

/* The number of eigenvalues of the tridiagonal matrix below x (Sturm). */
static uint32_t eigenvalues_below(const double *diagonal, const double *beside, uint32_t size,
                                  double x)
{
    uint32_t count = 0;
    double pivot = 1;
    for (uint32_t i = 0; i < size; i++) {
        double carry = i ? beside[i - 1] * beside[i - 1] / pivot : 0;
        pivot = diagonal[i] - x - carry;
        if (fabs(pivot) < 1e-290)
            pivot = -1e-290;
        count += pivot < 0;
    }
    return count;
}

static double tridiagonal_least(const double *diagonal, const double *beside, uint32_t size)
{
    double low = INFINITY, high = INFINITY;
    for (uint32_t i = 0; i < size; i++) {
        double radius = (i ? fabs(beside[i - 1]) : 0) + (i + 1 < size ? fabs(beside[i]) : 0);
        low = fmin(low, diagonal[i] - radius);
        high = fmin(high, diagonal[i]);
    }
    for (int i = 0; i < 200; i++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (eigenvalues_below(diagonal, beside, size, middle) > 0)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* The eigenvector by inverse iteration: the matrix minus a shift just below its least eigenvalue is
 * positive definite, so elimination needs no pivoting. */
static void tridiagonal_vector(const double *diagonal, const double *beside, uint32_t size,
                               double least, double *vector, double *pivot)
{
    double shift = least - 1e-13 * (1 + fabs(least));
    for (uint32_t i = 0; i < size; i++)
        vector[i] = 1 + 0.1 * (i % 7);
    for (int round = 0; round < 6; round++) {
        for (uint32_t i = 0; i < size; i++) {
            double factor = i ? beside[i - 1] / pivot[i - 1] : 0;
            pivot[i] = diagonal[i] - shift - (i ? factor * beside[i - 1] : 0);
            if (pivot[i] < 1e-290)
                pivot[i] = 1e-290;
            if (i)
                vector[i] -= factor * vector[i - 1];
        }
        for (uint32_t i = size; i-- > 0;)
            vector[i] = (vector[i] - (i + 1 < size ? beside[i] * vector[i + 1] : 0)) / pivot[i];
        scale(vector, 1 / sqrt(dot(vector, vector, size)), size);
    }
}

struct work {
    double *basis; /* steps vectors, one after another */
    double *next;
    double *diagonal, *beside, *small, *pivot; /* steps each */
};

/* One cycle from `vector`, which it replaces. Returns the remaining error: how far the vector is
 * from being an eigenvector. */
static double cycle(const struct lanczos_matrix *matrix, const double *avoid, uint32_t steps,
                    struct work *work, double *value, double *vector)
{
    uint32_t size = matrix->size, used = 0;
    double beta = 0;
    memcpy(work->basis, vector, size * sizeof *vector);
    for (;;) {
        const double *last = work->basis + (size_t)used * size;
        matrix->multiply(matrix->context, last, work->next);
        work->diagonal[used] = dot(work->next, last, size);
        used++;
        for (int twice = 0; twice < 2; twice++) {
            if (avoid)
                add_multiple(work->next, -dot(work->next, avoid, size), avoid, size);
            for (uint32_t i = 0; i < used; i++) {
                const double *old = work->basis + (size_t)i * size;
                add_multiple(work->next, -dot(work->next, old, size), old, size);
            }
        }
        beta = sqrt(dot(work->next, work->next, size));
        if (used == steps || beta < 1e-11)
            break;
        work->beside[used - 1] = beta;
        double *new = work->basis + (size_t)used *size;
        memcpy(new, work->next, size * sizeof *new);
        scale(new, 1 / beta, size);
    }
    *value = tridiagonal_least(work->diagonal, work->beside, used);
    tridiagonal_vector(work->diagonal, work->beside, used, *value, work->small, work->pivot);
    memset(vector, 0, size * sizeof *vector);
    for (uint32_t i = 0; i < used; i++)
        add_multiple(vector, work->small[i], work->basis + (size_t)i * size, size);
    scale(vector, 1 / sqrt(dot(vector, vector, size)), size);
    return beta * fabs(work->small[used - 1]);
}

enum err lanczos_least(const struct lanczos_matrix *matrix, const double *avoid, uint32_t steps,
                       uint32_t cycles, uint64_t seed, double *value, double *vector,
                       struct why *why)
{
    uint32_t size = matrix->size, room = avoid ? size - 1 : size;
    if (steps > room)
        steps = room;
    struct work work = {
        .basis = array_new((size_t)steps * size, sizeof(double)),
        .next = array_new(size, sizeof(double)),
        .diagonal = array_new(steps, sizeof(double)),
        .beside = array_new(steps, sizeof(double)),
        .small = array_new(steps, sizeof(double)),
        .pivot = array_new(steps, sizeof(double)),
    };
    bool room_found =
        work.basis && work.next && work.diagonal && work.beside && work.small && work.pivot;
    if (room_found) {
        struct rng rng = rng_make(seed, 0);
        for (uint32_t i = 0; i < size; i++)
            vector[i] = rng_unit(&rng) - 0.5;
        if (avoid)
            add_multiple(vector, -dot(vector, avoid, size), avoid, size);
        scale(vector, 1 / sqrt(dot(vector, vector, size)), size);
        for (uint32_t i = 0; i < cycles; i++)
            if (cycle(matrix, avoid, steps, &work, value, vector) <= 1e-9 * fabs(*value))
                break;
    }
    free(work.basis);
    free(work.next);
    free(work.diagonal);
    free(work.beside);
    free(work.small);
    free(work.pivot);
    return room_found ? OK : why_memory(why);
}
