/* simplex: Dantzig's method on a condensed table.
 *
 * Only the columns of variables outside the basis are stored; a pivot exchanges a row's variable
 * with a column's. The limits are changed by tiny amounts, so that ties do not make the method
 * cycle. */
#include "flow/bisection/simplex.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define LIMIT_STEP 1e-10 /* by how much more each row's limit is changed than the one before */
#define LEAST      1e-9  /* smaller pivots and gains count as 0 */

enum err simplex_init(struct simplex *simplex, uint32_t rows, uint32_t columns, struct why *why)
{
    *simplex = (struct simplex){.row_count = rows, .column_count = columns};
    simplex->table = array_new(((size_t)rows + 1) * ((size_t)columns + 1), sizeof(double));
    simplex->basis = array_new(rows, sizeof *simplex->basis);
    simplex->beside = array_new(columns, sizeof *simplex->beside);
    if (!simplex->table || !simplex->basis || !simplex->beside) {
        simplex_fini(simplex);
        return why_memory(why);
    }
    for (uint32_t row = 0; row < rows; row++)
        simplex->basis[row] = columns + row;
    for (uint32_t column = 0; column < columns; column++)
        simplex->beside[column] = column;
    return OK;
}

void simplex_fini(struct simplex *simplex)
{
    free(simplex->table);
    free(simplex->basis);
    free(simplex->beside);
    *simplex = (struct simplex){0};
}

static double *row_at(struct simplex *simplex, uint32_t row)
{
    return simplex->table + (size_t)row * (simplex->column_count + 1);
}

void simplex_set(struct simplex *simplex, uint32_t row, uint32_t column, double value)
{
    assert(row < simplex->row_count && column < simplex->column_count);
    row_at(simplex, row)[column] = value;
}

void simplex_set_limit(struct simplex *simplex, uint32_t row, double limit)
{
    assert(row < simplex->row_count && limit >= 0);
    row_at(simplex, row)[simplex->column_count] = limit + LIMIT_STEP * (row + 1);
}

void simplex_set_gain(struct simplex *simplex, uint32_t column, double gain)
{
    assert(column < simplex->column_count);
    row_at(simplex, simplex->row_count)[column] = -gain;
}

static void pivot(struct simplex *simplex, uint32_t row, uint32_t column)
{
    double *restrict mine = row_at(simplex, row);
    double inverse = 1 / mine[column];
    for (uint32_t j = 0; j <= simplex->column_count; j++)
        mine[j] *= inverse;
    mine[column] = inverse;
    for (uint32_t i = 0; i <= simplex->row_count; i++) {
        double *restrict other = row_at(simplex, i);
        double factor = other[column];
        if (i == row || factor == 0)
            continue;
        other[column] = 0;
        for (uint32_t j = 0; j <= simplex->column_count; j++)
            other[j] -= factor * mine[j];
    }
    uint32_t leaving = simplex->basis[row];
    simplex->basis[row] = simplex->beside[column];
    simplex->beside[column] = leaving;
}

/* Picks the column that gains most per unit, then the row that limits it first. */
static bool step(struct simplex *simplex)
{
    const double *gains = row_at(simplex, simplex->row_count);
    uint32_t column = 0, row = simplex->row_count;
    for (uint32_t j = 1; j < simplex->column_count; j++)
        if (gains[j] < gains[column])
            column = j;
    if (gains[column] > -LEAST)
        return false;
    double best = INFINITY;
    for (uint32_t i = 0; i < simplex->row_count; i++) {
        const double *mine = row_at(simplex, i);
        if (mine[column] > LEAST && mine[simplex->column_count] / mine[column] < best) {
            best = mine[simplex->column_count] / mine[column];
            row = i;
        }
    }
    if (row == simplex->row_count)
        return false; /* unbounded: no caller here has such a program */
    pivot(simplex, row, column);
    return true;
}

void simplex_solve(struct simplex *simplex, double *x)
{
    uint32_t steps_max = 20 * (simplex->row_count + simplex->column_count);
    while (steps_max-- > 0 && step(simplex))
        continue;
    for (uint32_t column = 0; column < simplex->column_count; column++)
        x[column] = 0;
    for (uint32_t row = 0; row < simplex->row_count; row++)
        if (simplex->basis[row] < simplex->column_count)
            x[simplex->basis[row]] = fmax(0, row_at(simplex, row)[simplex->column_count]);
}
