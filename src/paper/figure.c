#include "paper/figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "paper/verdict.h"

void figure_result_fini(struct figure_result *result)
{
    for (size_t i = 0; i < result->table_count; i++)
        free(result->tables[i].cells);
    for (size_t i = 0; i < result->text_count; i++)
        free(result->texts[i]);
    free(result->texts);
    free(result->claims);
    *result = (struct figure_result){0};
}

const struct figure_table *figure_table_find(const struct figure_result *result, const char *name)
{
    for (size_t i = 0; i < result->table_count; i++)
        if (strcmp(result->tables[i].name, name) == 0)
            return &result->tables[i];
    assert_unreachable();
}

size_t figure_column_find(const struct figure_table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return i;
    assert_unreachable();
}

enum err figure_run(const struct figure *figure, struct figure_result *result,
                    const struct figure_call *call, struct why *why)
{
    *result = (struct figure_result){0};
    enum err err = figure->run(result, call, why);
    if (!err && result->failed)
        err = why_memory(why);
    if (err) {
        figure_result_fini(result);
        return err;
    }
    assert(result->claim_count > 0);
    for (size_t i = 0; i < result->claim_count; i++)
        assert(result->claims[i].verdict <= VERDICT_DIFFERS || result->claims[i].reason);
    return OK;
}

/* Allocates a text that is freed with the result. Returns NULL when memory has run out. */
static char *text_new(struct figure_result *result, size_t size)
{
    char *text = NULL;
    if (array_reserve(&result->texts, &result->text_capacity, result->text_count + 1, sizeof text))
        text = array_new(size, 1);
    if (text)
        result->texts[result->text_count++] = text;
    else
        result->failed = true;
    return text;
}

/* Reads "name" or "name (unit)"; changes `text`. */
static struct figure_column column_read(char *text)
{
    struct figure_column column = {.name = text, .unit = ""};
    char *unit = strstr(text, " (");
    if (unit) {
        size_t size = strlen(unit);
        assert(unit[size - 1] == ')');
        unit[size - 1] = *unit = '\0';
        column.unit = unit + 2;
    }
    return column;
}

/* Splits a heading into columns; changes `heading`. */
static void columns_read(struct figure_table *table, char *heading)
{
    for (char *at = heading, *next; at; at = next) {
        assert(table->column_count < FIGURE_COLUMN_MAX);
        next = strstr(at, ", ");
        if (next) {
            *next = '\0';
            next += 2;
        }
        table->columns[table->column_count++] = column_read(at);
    }
}

struct figure_table *figure_table_add(struct figure_result *result, const char *name,
                                      const char *heading)
{
    assert(result->table_count < FIGURE_TABLE_MAX);
    struct figure_table *table = &result->tables[result->table_count++];
    *table = (struct figure_table){.result = result, .name = name};
    char *copy = text_new(result, strlen(heading) + 1);
    if (copy)
        columns_read(table, strcpy(copy, heading));
    return table;
}

void figure_row(struct figure_table *table, const struct figure_cell *cells)
{
    struct figure_result *result = table->result;
    size_t used = table->row_count * table->column_count;
    if (result->failed || !array_reserve(&table->cells, &table->capacity,
                                         used + table->column_count, sizeof *cells)) {
        result->failed = true;
        return;
    }
    memcpy(table->cells + used, cells, table->column_count * sizeof *cells);
    table->row_count++;
}

void figure_row_numbers(struct figure_table *table, const double *numbers)
{
    struct figure_cell cells[FIGURE_COLUMN_MAX];
    for (size_t i = 0; i < table->column_count; i++)
        cells[i] = figure_number(numbers[i]);
    figure_row(table, cells);
}

void figure_row_named(struct figure_table *table, const char *word, const double *numbers)
{
    struct figure_cell cells[FIGURE_COLUMN_MAX] = {figure_word(word)};
    for (size_t i = 1; i < table->column_count; i++)
        cells[i] = figure_number(numbers[i - 1]);
    figure_row(table, cells);
}

void figure_row_words(struct figure_table *table, const char *word, const char *second,
                      const double *numbers)
{
    struct figure_cell cells[FIGURE_COLUMN_MAX] = {figure_word(word), figure_word(second)};
    for (size_t i = 2; i < table->column_count; i++)
        cells[i] = figure_number(numbers[i - 2]);
    figure_row(table, cells);
}

struct figure_cell figure_number(double number)
{
    return (struct figure_cell){.number = number};
}

struct figure_cell figure_word(const char *word)
{
    struct figure_cell cell = {.number = NAN};
    assert(strlen(word) < sizeof cell.word);
    strcpy(cell.word, word);
    return cell;
}

const char *figure_text(struct figure_result *result, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t size = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
    char *text = text_new(result, size);
    if (text)
        vsnprintf(text, size, format, again);
    va_end(again);
    va_end(arguments);
    return text ? text : "";
}

static void claim_add(struct figure_result *result, struct figure_claim claim)
{
    claim.verdict = verdict_of(&claim);
    if (result->failed || !array_reserve(&result->claims, &result->claim_capacity,
                                         result->claim_count + 1, sizeof claim)) {
        result->failed = true;
        return;
    }
    result->claims[result->claim_count++] = claim;
}

void figure_claim_at(struct figure_result *result, const char *where, const char *what,
                     struct says says, double found, double at, const char *reason)
{
    claim_add(result, (struct figure_claim){.where = where,
                                            .what = what,
                                            .says = says,
                                            .found = found,
                                            .at = at,
                                            .reason = reason});
}

void figure_claim(struct figure_result *result, const char *where, const char *what,
                  struct says says, double found, const char *reason)
{
    figure_claim_at(result, where, what, says, found, 0, reason);
}

void figure_claim_needs(struct figure_result *result, const char *where, const char *what,
                        struct says says, const char *needs, double found, const char *reason)
{
    claim_add(result, (struct figure_claim){.where = where,
                                            .what = what,
                                            .says = says,
                                            .found = needs ? NAN : found,
                                            .reason = needs ? needs : reason,
                                            .not_run = needs != NULL});
}

void figure_not_run(struct figure_result *result, const char *needs)
{
    for (size_t i = 0; i < result->claim_count; i++) {
        struct figure_claim *claim = &result->claims[i];
        claim->found = NAN;
        claim->reason = needs;
        claim->not_run = true;
        claim->verdict = verdict_of(claim);
    }
}

void figure_progress(const struct figure_call *call, uint64_t done, uint64_t total)
{
    if (call->progress)
        call->progress(call->context, done, total);
}

static void shares_sum(struct figure_distances *distances, const struct distance_tally *tally,
                       const struct topology *topology)
{
    uint32_t ends = topology->direct ? 0 : 2;
    double pairs = (double)distances->servers * (distances->servers - 1.0), within = 0;
    for (uint32_t hops = 0; hops <= FIGURE_HOP_MAX; hops++) {
        if (hops >= ends && hops - ends < tally->length)
            within += (double)tally->servers[hops - ends];
        distances->server_share[hops] = within / pairs;
    }
}

enum err figure_measure(const struct figure_call *call, const struct topology *topology,
                        struct figure_distances *distances, struct why *why)
{
    struct distance_tally tally = {0};
    enum err err = call->distances(call->context, &tally, topology, why);
    if (!err) {
        *distances = (struct figure_distances){
            .nodes = topology->graph.node_count,
            .servers = topology->server_count,
            .diameter = distance_diameter(&tally),
            .mean = distance_mean(&tally),
        };
        shares_sum(distances, &tally, topology);
    }
    distance_tally_fini(&tally);
    return err;
}

enum err figure_measure_spec(const struct figure_call *call, const char *spec,
                             struct figure_distances *distances, struct why *why)
{
    struct topology topology;
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    err = figure_measure(call, &topology, distances, why);
    topology_fini(&topology);
    return err;
}

void figure_cube_spec(char spec[SPEC_SIZE], const char *kind, uint32_t k, uint32_t n)
{
    int used = snprintf(spec, SPEC_SIZE, "%s:%u", kind, k);
    for (uint32_t axis = 1; axis < n; axis++)
        used += snprintf(spec + used, SPEC_SIZE - (size_t)used, "x%u", k);
}

void figure_jellyfish_words(char words[SPEC_SIZE], uint64_t servers, uint64_t switches,
                            uint32_t ports)
{
    snprintf(words, SPEC_SIZE, "jellyfish:servers=%" PRIu64 ",switches=%" PRIu64 ",ports=%u",
             servers, switches, ports);
}

void figure_jellyfish_spec(char spec[SPEC_SIZE], uint64_t servers, uint64_t switches,
                           uint32_t ports, uint64_t seed)
{
    figure_jellyfish_words(spec, servers, switches, ports);
    size_t used = strlen(spec);
    snprintf(spec + used, SPEC_SIZE - used, ",seed=%" PRIu64, seed);
}
