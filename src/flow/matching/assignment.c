/* assignment: Jonker and Volgenant's shortest augmenting paths (Computing 38, 1987), described as a
 * sale. Rows buy columns. A column has a price, its profit to a row is weight minus price, and a
 * row wants the column of largest profit. If every row gets a column that it wants, no permutation
 * is heavier: moving rows to other columns gains nothing, and all prices are paid in either case.
 *
 * Invariant: a row that has a column wants it at the current prices.
 *
 * Prices start so high that few rows want to swap (open_sale). Then rows bid against each other,
 * which settles most of them (bid). For each remaining row, Dijkstra's algorithm finds a cheapest
 * chain of moves to a free column, where the length of a step is the profit that a row gives up
 * (augment).
 *
 * Ties are frequent here: most entries of the matrices of a routing are 0. A free column is taken
 * before others of the same distance, which ends most searches early. */
#include "flow/matching/assignment.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define NONE UINT32_MAX

struct sale {
    const double *weights; /* borrowed */
    uint32_t size;
    double *price;       /* per column */
    uint32_t *row_of;    /* per column, or NONE */
    uint32_t *column_of; /* per row, or NONE; borrowed */
    uint32_t *waiting;   /* rows without a column */
    uint32_t waiting_count;

    /* for one search, per column */
    double *loss; /* profit given up on the way to it; INFINITY after it is settled */
    double *gone; /* its price; INFINITY after it is settled */
    double *far;  /* the loss with which it was settled */
    uint32_t *before;
    uint32_t *settled;
};

static void sale_fini(struct sale *sale)
{
    free(sale->price);
    free(sale->row_of);
    free(sale->waiting);
    free(sale->loss);
    free(sale->gone);
    free(sale->far);
    free(sale->before);
    free(sale->settled);
}

static bool sale_init(struct sale *sale)
{
    uint32_t size = sale->size;
    sale->price = array_new(size, sizeof *sale->price);
    sale->row_of = array_new(size, sizeof *sale->row_of);
    sale->waiting = array_new(size, sizeof *sale->waiting);
    sale->loss = array_new(size, sizeof *sale->loss);
    sale->gone = array_new(size, sizeof *sale->gone);
    sale->far = array_new(size, sizeof *sale->far);
    sale->before = array_new(size, sizeof *sale->before);
    sale->settled = array_new(size, sizeof *sale->settled);
    return sale->price && sale->row_of && sale->waiting && sale->loss && sale->gone && sale->far &&
           sale->before && sale->settled;
}

static const double *row_weights(const struct sale *sale, uint32_t row)
{
    return sale->weights + (size_t)row * sale->size;
}

/* The column of largest profit to a row, and the next best; size is at least 2. */
struct choice {
    uint32_t best, second;
    double best_profit, second_profit;
};

static struct choice choose(const struct sale *sale, uint32_t row)
{
    const double *weights = row_weights(sale, row);
    struct choice choice = {NONE, NONE, -INFINITY, -INFINITY};
    for (uint32_t column = 0; column < sale->size; column++) {
        double profit = weights[column] - sale->price[column];
        if (profit <= choice.second_profit)
            continue;
        if (profit > choice.best_profit) {
            choice.second = choice.best;
            choice.second_profit = choice.best_profit;
            choice.best = column;
            choice.best_profit = profit;
        } else {
            choice.second = column;
            choice.second_profit = profit;
        }
    }
    return choice;
}

/* Each column costs as much as its largest weight in any row, and goes to that row if the row has
 * none yet. The price then rises to the point where the row is indifferent between the column and
 * its next best, so that other rows prefer other columns. */
static void open_sale(struct sale *sale)
{
    uint32_t size = sale->size;
    for (uint32_t i = 0; i < size; i++) {
        sale->column_of[i] = sale->row_of[i] = NONE;
        sale->before[i] = 0; /* the row with the largest weight so far */
        sale->price[i] = sale->weights[i];
    }
    for (uint32_t row = 1; row < size; row++) {
        const double *weights = row_weights(sale, row);
        for (uint32_t column = 0; column < size; column++)
            if (weights[column] > sale->price[column]) {
                sale->price[column] = weights[column];
                sale->before[column] = row;
            }
    }
    for (uint32_t column = 0; column < size; column++) {
        uint32_t row = sale->before[column];
        if (sale->column_of[row] != NONE)
            continue;
        sale->column_of[row] = column;
        sale->row_of[column] = row;
    }
    for (uint32_t row = 0; row < size; row++) {
        uint32_t column = sale->column_of[row];
        if (column == NONE) {
            sale->waiting[sale->waiting_count++] = row;
            continue;
        }
        double held = row_weights(sale, row)[column] - sale->price[column];
        struct choice choice = choose(sale, row);
        double other = choice.best == column ? choice.second_profit : choice.best_profit;
        if (size > 1 && other < held)
            sale->price[column] += held - other;
    }
}

/* One round of bids. A row raises the price of its best column to the point where it is indifferent
 * between this column and the next best, and takes it. The previous holder bids at once if the
 * price has risen, else in the next round, so that equal rows do not alternate for ever. */
static void bid(struct sale *sale)
{
    uint32_t left = sale->waiting_count, next = 0, steps = 0;
    sale->waiting_count = 0;
    while (next < left) {
        uint32_t row = sale->waiting[next++];
        struct choice choice = choose(sale, row);
        uint32_t column = choice.best, holder = sale->row_of[column];
        double price = sale->price[column] + (choice.best_profit - choice.second_profit);
        bool rises = price > sale->price[column];
        if (rises)
            sale->price[column] = price;
        else if (holder != NONE && sale->row_of[choice.second] == NONE)
            column = choice.second, holder = NONE; /* equally good, and free */
        sale->column_of[row] = column;
        sale->row_of[column] = row;
        if (holder == NONE)
            continue;
        sale->column_of[holder] = NONE;
        if (rises && steps++ < 8 * sale->size)
            sale->waiting[--next] = holder;
        else
            sale->waiting[sale->waiting_count++] = holder;
    }
}

/* Updates the columns that are not settled yet by `row`, whose own column was settled with loss
 * `base`. */
static void relax(struct sale *sale, uint32_t row, double base, double profit)
{
    const double *weights = row_weights(sale, row);
    double *loss = sale->loss;
    const double *gone = sale->gone;
    uint32_t *before = sale->before;
    double shift = base + profit;
    for (uint32_t column = 0; column < sale->size; column++) {
        double found = gone[column] - weights[column] + shift;
        bool better = found < loss[column];
        loss[column] = better ? found : loss[column];
        before[column] = better ? row : before[column];
    }
}

/* The nearest column that is not settled; of equal ones, a free one. */
static uint32_t nearest(const struct sale *sale)
{
    double least = INFINITY;
    uint32_t found = NONE;
    for (uint32_t column = 0; column < sale->size; column++)
        least = sale->loss[column] < least ? sale->loss[column] : least;
    assert(least < INFINITY); /* else every column is settled, but one was free */
    for (uint32_t column = 0; column < sale->size; column++) {
        if (sale->loss[column] > least)
            continue;
        if (sale->row_of[column] == NONE)
            return column;
        found = found == NONE ? column : found;
    }
    return found;
}

/* Gives `row` a column by moving other rows along a chain of least loss. */
static void augment(struct sale *sale, uint32_t row)
{
    uint32_t count = 0, column, at = row;
    double base = 0, profit = 0;
    for (uint32_t j = 0; j < sale->size; j++) {
        sale->loss[j] = INFINITY;
        sale->gone[j] = sale->price[j];
    }
    for (;;) {
        relax(sale, at, base, profit);
        column = nearest(sale);
        base = sale->loss[column];
        if (sale->row_of[column] == NONE)
            break;
        at = sale->row_of[column];
        profit = row_weights(sale, at)[column] - sale->price[column];
        sale->far[column] = base;
        sale->loss[column] = sale->gone[column] = INFINITY;
        sale->settled[count++] = column;
    }
    /* Now every row along the chain wants the column that it moves to. */
    for (uint32_t i = 0; i < count; i++)
        sale->price[sale->settled[i]] += base - sale->far[sale->settled[i]];
    for (;;) {
        uint32_t buyer = sale->before[column], left = sale->column_of[buyer];
        sale->row_of[column] = buyer;
        sale->column_of[buyer] = column;
        if (buyer == row)
            return;
        column = left;
    }
}

enum err assignment_solve(const double *weights, uint32_t size, uint32_t *column_of, double *total,
                          double *prices, struct why *why)
{
    struct sale sale = {.weights = weights, .size = size, .column_of = column_of};
    if (!sale_init(&sale)) {
        sale_fini(&sale);
        return why_memory(why);
    }
    *total = 0;
    if (size > 0)
        open_sale(&sale);
    for (int round = 0; round < 2 && size > 1; round++)
        bid(&sale);
    for (uint32_t i = 0; i < sale.waiting_count; i++)
        augment(&sale, sale.waiting[i]);
    for (uint32_t row = 0; row < size; row++)
        *total += row_weights(&sale, row)[column_of[row]];
    for (uint32_t column = 0; column < size && prices; column++)
        prices[column] = sale.price[column];
    sale_fini(&sale);
    return OK;
}

enum err assignment_heaviest(const double *weights, uint32_t size, uint32_t *column_of,
                             double *total, struct why *why)
{
    return assignment_solve(weights, size, column_of, total, NULL, why);
}

double assignment_bound(const double *weights, uint32_t size, const double *prices)
{
    double bound = 0;
    for (uint32_t row = 0; row < size; row++) {
        double most = -INFINITY;
        for (uint32_t column = 0; column < size; column++) {
            double profit = weights[(size_t)row * size + column] - prices[column];
            most = profit > most ? profit : most;
        }
        bound += most + prices[row];
    }
    return bound;
}
