/* pair_list: the heaviest permutation of one channel's pairs. Most channels are used by few sources
 * and to few destinations: only these become rows and columns. Weights are positive, so rows and
 * columns that are left over, with weight 0, never cost anything. */
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "flow/matching/assignment.h"
#include "flow/worst/worst_impl.h"

#define SIZE_MAX_ROWS 16384u /* a matrix of 2 GB */

/* Numbers from 0 for the nodes that occur in a list. */
struct numbers {
    uint32_t *of;   /* per node, or NODE_NONE */
    uint32_t *node; /* per number */
    uint32_t count;
};

static bool numbers_init(struct numbers *numbers, uint32_t node_count)
{
    *numbers = (struct numbers){
        .of = array_new(node_count, sizeof *numbers->of),
        .node = array_new(node_count, sizeof *numbers->node),
    };
    for (uint32_t v = 0; numbers->of && v < node_count; v++)
        numbers->of[v] = NODE_NONE;
    return numbers->of && numbers->node;
}

static void numbers_fini(struct numbers *numbers)
{
    free(numbers->of);
    free(numbers->node);
}

static uint32_t numbers_add(struct numbers *numbers, uint32_t node)
{
    if (numbers->of[node] == NODE_NONE) {
        numbers->node[numbers->count] = node;
        numbers->of[node] = numbers->count++;
    }
    return numbers->of[node];
}

enum err pair_list_limit(const struct pair_list *list, uint32_t node_count, double *limit,
                         struct why *why)
{
    double *most = array_new(2 * (size_t)node_count, sizeof *most), sums[2] = {0};
    if (!most)
        return why_memory(why);
    for (size_t i = 0; i < list->count; i++) {
        const struct pair_load *pair = &list->pairs[i];
        double *row = &most[pair->row], *column = &most[node_count + (size_t)pair->column];
        *row = pair->load > *row ? pair->load : *row;
        *column = pair->load > *column ? pair->load : *column;
    }
    for (uint32_t v = 0; v < node_count; v++) {
        sums[0] += most[v];
        sums[1] += most[node_count + (size_t)v];
    }
    *limit = sums[0] < sums[1] ? sums[0] : sums[1];
    free(most);
    return OK;
}

/* Memory for one assignment. */
struct dense {
    double *weights, *prices;
    uint32_t *column_of;
};

static void dense_fini(struct dense *dense)
{
    free(dense->weights);
    free(dense->prices);
    free(dense->column_of);
}

static enum err dense_solve(struct dense *dense, const struct pair_list *list,
                            const struct numbers *rows, const struct numbers *columns,
                            struct heaviest *heaviest, struct why *why)
{
    uint32_t size = rows->count > columns->count ? rows->count : columns->count;
    if (size > SIZE_MAX_ROWS)
        return why_fail(why, ERR_USAGE,
                        "the worst case of a channel that %u nodes use is too large to compute; "
                        "the limit is %u nodes",
                        size, SIZE_MAX_ROWS);
    dense->weights = array_new((size_t)size * size, sizeof *dense->weights);
    dense->prices = array_new(size, sizeof *dense->prices);
    dense->column_of = array_new(size, sizeof *dense->column_of);
    if (!dense->weights || !dense->prices || !dense->column_of)
        return why_memory(why);
    for (size_t i = 0; i < list->count; i++) {
        const struct pair_load *pair = &list->pairs[i];
        dense->weights[(size_t)rows->of[pair->row] * size + columns->of[pair->column]] = pair->load;
    }
    enum err err = assignment_solve(dense->weights, size, dense->column_of, &heaviest->load,
                                    dense->prices, why);
    if (!err)
        heaviest->bound = assignment_bound(dense->weights, size, dense->prices);
    return err;
}

enum err pair_list_heaviest(const struct pair_list *list, uint32_t node_count, uint32_t *to,
                            struct heaviest *heaviest, struct why *why)
{
    struct numbers rows = {0}, columns = {0};
    struct dense dense = {0};
    bool room = numbers_init(&rows, node_count) && numbers_init(&columns, node_count);
    enum err err = room ? OK : why_memory(why);
    for (size_t i = 0; i < list->count && !err; i++) {
        numbers_add(&rows, list->pairs[i].row);
        numbers_add(&columns, list->pairs[i].column);
    }
    if (!err)
        err = dense_solve(&dense, list, &rows, &columns, heaviest, why);
    for (uint32_t v = 0; v < node_count && !err; v++)
        to[v] = NODE_NONE;
    uint32_t size = rows.count > columns.count ? rows.count : columns.count;
    for (uint32_t row = 0; row < rows.count && !err; row++) {
        uint32_t column = dense.column_of[row];
        if (column < columns.count && dense.weights[(size_t)row * size + column] > 0)
            to[rows.node[row]] = columns.node[column];
    }
    dense_fini(&dense);
    numbers_fini(&rows);
    numbers_fini(&columns);
    return err;
}
