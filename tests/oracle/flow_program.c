#include "oracle/flow_program.h"

#include <assert.h>
#include <coin/Clp_C_Interface.h>
#include <math.h>
#include <stdlib.h>

/* A program under construction, column by column, all variables >= 0. */
struct program {
    int column_count, row_count;
    CoinBigIndex *start; /* column_count + 1 */
    int *row;
    double *value;
    double *row_low, *row_high;
    int entry_count;
};

static struct program program_make(size_t columns, size_t rows, size_t entries)
{
    assert(rows > 0 && entries > 0);
    struct program program = {.row_count = (int)rows};
    program.start = calloc(columns + 1, sizeof *program.start);
    program.row = calloc(entries, sizeof *program.row);
    program.value = calloc(entries, sizeof *program.value);
    program.row_low = calloc(rows, sizeof *program.row_low);
    program.row_high = calloc(rows, sizeof *program.row_high);
    assert(program.start && program.row && program.value && program.row_low && program.row_high);
    return program;
}

static void program_entry(struct program *program, size_t row, double value)
{
    program->row[program->entry_count] = (int)row;
    program->value[program->entry_count++] = value;
}

static void program_end_column(struct program *program)
{
    program->start[++program->column_count] = program->entry_count;
}

/* Limits the rows from `first` on to at most 1, without a lower limit. */
static void program_limit(struct program *program, size_t first)
{
    for (size_t row = first; row < (size_t)program->row_count; row++) {
        program->row_low[row] = -INFINITY;
        program->row_high[row] = 1;
    }
}

/* Maximises the last variable. */
static double program_solve(struct program *program)
{
    size_t columns = (size_t)program->column_count;
    double *low = calloc(columns, sizeof *low), *high = calloc(columns, sizeof *high);
    double *gain = calloc(columns, sizeof *gain);
    assert(low && high && gain);
    for (size_t i = 0; i < columns; i++)
        high[i] = INFINITY;
    gain[columns - 1] = 1;
    Clp_Simplex *model = Clp_newModel();
    Clp_setLogLevel(model, 0);
    Clp_loadProblem(model, program->column_count, program->row_count, program->start, program->row,
                    program->value, low, high, gain, program->row_low, program->row_high);
    Clp_setOptimizationDirection(model, -1);
    Clp_initialSolve(model);
    double optimum = Clp_status(model) == 0 ? Clp_objectiveValue(model) : NAN;
    Clp_deleteModel(model);
    free(low);
    free(high);
    free(gain);
    free(program->start);
    free(program->row);
    free(program->value);
    free(program->row_low);
    free(program->row_high);
    return optimum;
}

/* rank[v]: the number of node v among the sources, or -1. */
static size_t rank_sources(const struct graph *graph, const struct traffic *traffic, int *rank)
{
    size_t count = 0;
    for (uint32_t v = 0; v < graph->node_count; v++)
        rank[v] = -1;
    for (size_t k = 0; k < traffic->count; k++)
        if (rank[traffic->demands[k].from] < 0)
            rank[traffic->demands[k].from] = (int)count++;
    return count;
}

double flow_program_solve(const struct graph *graph, const struct traffic *traffic)
{
    size_t nodes = graph->node_count, channels = graph_channel_count(graph);
    int *rank = calloc(nodes, sizeof *rank);
    assert(rank);
    size_t sources = rank_sources(graph, traffic, rank);
    size_t limits = sources * nodes; /* the first row of the channels */
    struct program program = program_make(sources * channels + 1, limits + channels,
                                          3 * sources * channels + traffic->count);
    for (uint32_t source = 0; source < nodes; source++)
        for (uint32_t c = 0; rank[source] >= 0 && c < channels; c++) {
            size_t row = (size_t)rank[source] * nodes;
            uint32_t from = graph_channel_from(graph, c), to = graph_channel_to(graph, c);
            if (to != source)
                program_entry(&program, row + to, 1);
            if (from != source)
                program_entry(&program, row + from, -1);
            program_entry(&program, limits + c, 1);
            program_end_column(&program);
        }
    for (size_t k = 0; k < traffic->count; k++) {
        const struct demand *demand = &traffic->demands[k];
        program_entry(&program, (size_t)rank[demand->from] * nodes + demand->to, -demand->amount);
    }
    program_end_column(&program);
    program_limit(&program, limits);
    free(rank);
    return program_solve(&program);
}

double flow_program_solve_paths(const struct graph *graph, const struct traffic *traffic,
                                const struct path_set *paths)
{
    size_t channels = graph_channel_count(graph), limits = traffic->count;
    struct program program = program_make(paths->path_count + 1, limits + channels,
                                          paths->path_count + paths->hop_count + traffic->count);
    for (size_t k = 0; k < traffic->count; k++)
        for (size_t p = paths->pair_first[k]; p < paths->pair_first[k + 1]; p++) {
            program_entry(&program, k, 1);
            for (size_t h = paths->path_first[p]; h < paths->path_first[p + 1]; h++)
                program_entry(&program, limits + paths->channels[h], 1);
            program_end_column(&program);
        }
    for (size_t k = 0; k < traffic->count; k++)
        program_entry(&program, k, -traffic->demands[k].amount);
    program_end_column(&program);
    program_limit(&program, limits);
    return program_solve(&program);
}
