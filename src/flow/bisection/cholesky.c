/* cholesky: panel by panel, right-looking.
 *
 * Nearly all of the work is subtracting the product of a panel with its own transpose from the rest
 * of the matrix. It runs over tiles that are small enough for the registers, from copies in which
 * the numbers are in the order of use, so that the compiler vectorises it. */
#include "flow/bisection/cholesky.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define PANEL     96u /* columns factored at a time */
#define TILE_ROW  4u
#define TILE_COL  8u
#define ROW_BLOCK 256u /* rows packed at a time: they fit into the second-level cache */

/* Factors the square at `at`, of `width` columns. */
static bool corner_factor(double *matrix, size_t size, uint32_t at, uint32_t width)
{
    for (uint32_t j = at; j < at + width; j++) {
        double *row = matrix + j * size;
        double pivot = row[j];
        for (uint32_t k = at; k < j; k++)
            pivot -= row[k] * row[k];
        if (!(pivot > 0)) /* also true for NaN */
            return false;
        row[j] = sqrt(pivot);
        for (uint32_t i = j + 1; i < at + width; i++) {
            double *below = matrix + i * size;
            double sum = below[j];
            for (uint32_t k = at; k < j; k++)
                sum -= below[k] * row[k];
            below[j] = sum / row[j];
        }
    }
    return true;
}

/* Divides the rows below the corner by it. The corner's columns are copied first, so that the inner
 * loop reads memory sequentially. */
static void panel_solve(double *matrix, size_t size, uint32_t at, uint32_t width, uint32_t nodes,
                        double *columns)
{
    for (uint32_t k = 0; k < width; k++)
        for (uint32_t j = 0; j < width; j++)
            columns[k * PANEL + j] = j > k ? matrix[(at + j) * size + at + k] : 0;
    for (uint32_t i = at + width; i < nodes; i++) {
        double *restrict row = matrix + i * size + at;
        for (uint32_t k = 0; k < width; k++) {
            row[k] /= matrix[(at + k) * size + at + k];
            const double *restrict column = columns + k * PANEL;
            double value = row[k];
            for (uint32_t j = k + 1; j < width; j++)
                row[j] -= value * column[j];
        }
    }
}

/* packed[k * tile + i]: column k of `tile` rows; missing rows are zeros. */
static void tile_pack(const double *matrix, size_t size, uint32_t row, uint32_t rows, uint32_t at,
                      uint32_t width, uint32_t tile, double *packed)
{
    for (uint32_t i = 0; i < tile; i++)
        for (uint32_t k = 0; k < width; k++)
            packed[k * tile + i] = i < rows ? matrix[(row + i) * size + at + k] : 0;
}

static void tile_multiply(const double *restrict left, const double *restrict right, uint32_t width,
                          double sum[restrict TILE_ROW][TILE_COL])
{
    double total[TILE_ROW][TILE_COL] = {{0}};
    for (uint32_t k = 0; k < width; k++)
        for (uint32_t i = 0; i < TILE_ROW; i++)
            for (uint32_t j = 0; j < TILE_COL; j++)
                total[i][j] += left[k * TILE_ROW + i] * right[k * TILE_COL + j];
    for (uint32_t i = 0; i < TILE_ROW; i++)
        for (uint32_t j = 0; j < TILE_COL; j++)
            sum[i][j] = total[i][j];
}

/* Subtracts the panel's product with its transpose from rows first .. last - 1 of the part to the
 * right of the panel. */
static void rows_update(double *matrix, size_t size, uint32_t at, uint32_t width, uint32_t first,
                        uint32_t last, double *left, double *right)
{
    uint32_t start = at + width;
    for (uint32_t i = first; i < last; i += TILE_ROW)
        tile_pack(matrix, size, i, last - i < TILE_ROW ? last - i : TILE_ROW, at, width, TILE_ROW,
                  left + (size_t)(i - first) * width);
    for (uint32_t j = start; j < last; j += TILE_COL) {
        uint32_t cols = last - j < TILE_COL ? last - j : TILE_COL;
        tile_pack(matrix, size, j, cols, at, width, TILE_COL, right);
        for (uint32_t i = first; i < last; i += TILE_ROW) {
            if (i + TILE_ROW <= j)
                continue; /* above the diagonal */
            double sum[TILE_ROW][TILE_COL];
            tile_multiply(left + (size_t)(i - first) * width, right, width, sum);
            for (uint32_t r = 0; r < TILE_ROW && i + r < last; r++)
                for (uint32_t c = 0; c < cols; c++)
                    matrix[(i + r) * size + j + c] -= sum[r][c];
        }
    }
}

enum err cholesky_factor(double *matrix, uint32_t size, bool *positive, struct why *why)
{
    double *left = array_new((size_t)ROW_BLOCK * PANEL, sizeof *left);
    double *right = array_new((size_t)TILE_COL * PANEL, sizeof *right);
    double *columns = array_new((size_t)PANEL * PANEL, sizeof *columns);
    enum err err = OK;
    *positive = false;
    if (!left || !right || !columns) {
        err = why_memory(why);
        goto done;
    }
    for (uint32_t at = 0; at < size; at += PANEL) {
        uint32_t width = size - at < PANEL ? size - at : PANEL;
        if (!corner_factor(matrix, size, at, width))
            goto done;
        panel_solve(matrix, size, at, width, size, columns);
        for (uint32_t row = at + width; row < size; row += ROW_BLOCK) {
            uint32_t last = size - row < ROW_BLOCK ? size : row + ROW_BLOCK;
            rows_update(matrix, size, at, width, row, last, left, right);
        }
    }
    *positive = true;
done:
    free(left);
    free(right);
    free(columns);
    return err;
}

void cholesky_solve(const double *factor, uint32_t size, double *x)
{
    for (uint32_t i = 0; i < size; i++) {
        const double *row = factor + (size_t)i * size;
        double sum = x[i];
        for (uint32_t k = 0; k < i; k++)
            sum -= row[k] * x[k];
        x[i] = sum / row[i];
    }
}

void cholesky_solve_transposed(const double *factor, uint32_t size, double *x)
{
    for (uint32_t i = size; i-- > 0;) {
        const double *row = factor + (size_t)i * size;
        x[i] /= row[i];
        double value = x[i];
        for (uint32_t k = 0; k < i; k++)
            x[k] -= value * row[k];
    }
}
