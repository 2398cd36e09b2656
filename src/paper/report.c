#include "paper/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paper/verdict.h"

#define VALUE_SIZE 64

static const char *const relation_word[] = {
    [RELATION_EQUAL] = "",           [RELATION_ABOVE] = "> ", [RELATION_BELOW] = "< ",
    [RELATION_AT_MOST] = "at most ", [RELATION_BETWEEN] = "",
};

/* Five figures, but whole numbers in full. */
static void value_format(char *out, size_t size, double value)
{
    bool whole = fabs(value) < 1e15 && value == floor(value);
    snprintf(out, size, whole ? "%.0f" : "%.5g", value);
}

static void unit_append(char *out, size_t size, const char *unit)
{
    size_t used = strlen(out);
    if (unit)
        snprintf(out + used, size - used, " %s", unit);
}

static void paper_format(char *out, size_t size, const struct figure_claim *claim)
{
    char low[24], high[24] = "";
    value_format(low, sizeof low, claim->paper);
    if (claim->relation == RELATION_BETWEEN)
        value_format(high, sizeof high, claim->paper_high);
    snprintf(out, size, "%s%s%s%s", relation_word[claim->relation], low, *high ? " to " : "", high);
    unit_append(out, size, claim->unit);
}

static void found_format(char *out, size_t size, const struct figure_claim *claim)
{
    if (isnan(claim->found)) {
        snprintf(out, size, "-");
        return;
    }
    value_format(out, size, claim->found);
    unit_append(out, size, claim->unit);
}

/* The columns of the line of one claim. */
struct claim_line {
    char what[160], paper[VALUE_SIZE], found[VALUE_SIZE];
};

static void line_format(struct claim_line *line, const struct figure_claim *claim)
{
    snprintf(line->what, sizeof line->what, "%s (%s)", claim->what, claim->where);
    paper_format(line->paper, sizeof line->paper, claim);
    found_format(line->found, sizeof line->found, claim);
}

static int wider(int width, const char *text)
{
    int size = (int)strlen(text);
    return size > width ? size : width;
}

void report_claims(struct text *out, const struct figure *figure,
                   const struct figure_result *result)
{
    struct claim_line line;
    int what = 0, paper = 0, found = 0;
    for (size_t i = 0; i < result->claim_count; i++) {
        line_format(&line, &result->claims[i]);
        what = wider(what, line.what);
        paper = wider(paper, line.paper);
        found = wider(found, line.found);
    }
    text_printf(out, "%s: %s, %s\n", figure->name, figure->paper, figure->what);
    for (size_t i = 0; i < result->claim_count; i++) {
        const struct figure_claim *claim = &result->claims[i], *next = claim + 1;
        line_format(&line, claim);
        text_printf(out, "  %-*s  paper %-*s  weft %-*s  %s\n", what, line.what, paper, line.paper,
                    found, line.found, verdict_text(claim->verdict));
        if (claim->verdict == VERDICT_AGREES || !claim->reason)
            continue;
        bool shared = i + 1 < result->claim_count && next->verdict == claim->verdict &&
                      next->reason && strcmp(next->reason, claim->reason) == 0;
        if (!shared)
            text_wrap(out, claim->reason, strlen(claim->reason), 6, 98);
    }
    if (figure->choice)
        text_wrap(out, figure->choice, strlen(figure->choice), 2, 98);
}

const char *report_cell(const struct figure_cell *cell, char buffer[REPORT_CELL_SIZE])
{
    if (cell->word[0])
        return cell->word;
    if (isnan(cell->number))
        return "";
    bool whole = fabs(cell->number) < 1e15 && cell->number == floor(cell->number);
    snprintf(buffer, REPORT_CELL_SIZE, whole ? "%.0f" : "%.10g", cell->number);
    return buffer;
}

/* Quoted only where it must be. */
static void csv_field(struct text *out, const char *field)
{
    if (!strpbrk(field, ",\"\n")) {
        text_puts(out, field);
        return;
    }
    text_puts(out, "\"");
    for (; *field; field++)
        text_printf(out, *field == '"' ? "\"\"" : "%c", *field);
    text_puts(out, "\"");
}

void report_csv(struct text *out, const struct figure_table *table)
{
    char buffer[REPORT_CELL_SIZE];
    for (size_t i = 0; i < table->column_count; i++) {
        const struct figure_column *column = &table->columns[i];
        text_printf(out, "%s%s", i ? "," : "", column->name);
        if (column->unit[0])
            text_printf(out, " (%s)", column->unit);
    }
    text_puts(out, "\n");
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            text_puts(out, i ? "," : "");
            csv_field(out, report_cell(&table->cells[row * table->column_count + i], buffer));
        }
        text_puts(out, "\n");
    }
}

static void claim_json(struct json *json, const struct figure_claim *claim)
{
    json_object(json);
    json_put_string(json, "where", claim->where);
    json_put_string(json, "what", claim->what);
    json_put_string(json, "unit", claim->unit ? claim->unit : "");
    json_put_string(json, "relation", relation_text(claim->relation));
    json_put_number(json, "paper", claim->paper);
    if (claim->relation == RELATION_BETWEEN)
        json_put_number(json, "paper_high", claim->paper_high);
    json_put_number(json, "tolerance", claim->tolerance);
    json_put_number(json, "weft", claim->found);
    json_put_string(json, "verdict", verdict_text(claim->verdict));
    if (claim->verdict != VERDICT_AGREES && claim->reason)
        json_put_string(json, "reason", claim->reason);
    json_end(json, '}');
}

static void table_json(struct json *json, const struct figure_table *table)
{
    json_object(json);
    json_put_string(json, "name", table->name);
    json_key(json, "columns");
    json_array(json);
    for (size_t i = 0; i < table->column_count; i++) {
        json_object(json);
        json_put_string(json, "name", table->columns[i].name);
        json_put_string(json, "unit", table->columns[i].unit);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_key(json, "rows");
    json_array(json);
    for (size_t row = 0; row < table->row_count; row++) {
        json_array(json);
        for (size_t i = 0; i < table->column_count; i++) {
            const struct figure_cell *cell = &table->cells[row * table->column_count + i];
            if (cell->word[0])
                json_string(json, cell->word);
            else
                json_number(json, cell->number);
        }
        json_end(json, ']');
    }
    json_end(json, ']');
    json_end(json, '}');
}

void report_json(struct json *json, const struct figure *figure, const struct figure_call *call,
                 const struct figure_result *result)
{
    json_put_string(json, "name", figure->name);
    json_put_string(json, "paper", figure->paper);
    json_put_string(json, "what", figure->what);
    json_put_string(json, "size", call->quick ? figure->size_quick : figure->size);
    json_put_bool(json, "quick", call->quick);
    json_put_uint(json, "seed", call->seed);
    if (figure->choice)
        json_put_string(json, "choice", figure->choice);
    json_key(json, "claims");
    json_array(json);
    for (size_t i = 0; i < result->claim_count; i++)
        claim_json(json, &result->claims[i]);
    json_end(json, ']');
    json_key(json, "tables");
    json_array(json);
    for (size_t i = 0; i < result->table_count; i++)
        table_json(json, &result->tables[i]);
    json_end(json, ']');
}
