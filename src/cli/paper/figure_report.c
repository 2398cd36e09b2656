#include "cli/paper/figure_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "cli/show/table_text.h"
#include "paper/verdict.h"

#define VALUE_SIZE 64
#define LINE_WIDTH 98

static const char *const relation_word[] = {
    [RELATION_EQUAL] = "",           [RELATION_ABOVE] = "> ", [RELATION_BELOW] = "< ",
    [RELATION_AT_MOST] = "at most ", [RELATION_BETWEEN] = "",
};

/* Formats with five significant digits; whole numbers have all digits. */
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

static void says_format(char *out, size_t size, const struct says *says)
{
    char low[24], high[24] = "";
    value_format(low, sizeof low, says->number);
    if (says->relation == RELATION_BETWEEN)
        value_format(high, sizeof high, says->high);
    snprintf(out, size, "%s%s%s%s", relation_word[says->relation], low, *high ? " to " : "", high);
    unit_append(out, size, says->unit);
}

static void found_format(char *out, size_t size, const struct figure_claim *claim)
{
    if (isnan(claim->found)) {
        snprintf(out, size, "-");
        return;
    }
    value_format(out, size, claim->found);
    unit_append(out, size, claim->says.unit);
}

/* The texts in the line of one claim. */
struct claim_line {
    char label[160], printed[VALUE_SIZE], found[VALUE_SIZE];
};

static void line_format(struct claim_line *line, const struct figure_claim *claim)
{
    snprintf(line->label, sizeof line->label, "%s (%s)", claim->what, claim->where);
    says_format(line->printed, sizeof line->printed, &claim->says);
    found_format(line->found, sizeof line->found, claim);
}

/* The widths of the columns of these lines. */
struct widths {
    int label, printed, found;
};

static int wider(int width, const char *text)
{
    int size = (int)strlen(text);
    return size > width ? size : width;
}

static struct widths widths_find(const struct figure_result *found)
{
    struct claim_line line;
    struct widths widths = {0};
    for (size_t i = 0; i < found->claim_count; i++) {
        line_format(&line, &found->claims[i]);
        widths.label = wider(widths.label, line.label);
        widths.printed = wider(widths.printed, line.printed);
        widths.found = wider(widths.found, line.found);
    }
    return widths;
}

static void cell_add(struct result *result, const char *key, int width, const char *cell)
{
    text_printf(result_words(result_hide(result), key), "%-*s", width, cell);
}

static void lines_add(struct result *result, const char *key, const char *string, int indent)
{
    text_wrap(result_words(result_hide(result), key), string, strlen(string), indent, LINE_WIDTH);
}

/* Returns the reason of a claim that does not agree, or NULL. */
static const char *reason_of(const struct figure_claim *claim)
{
    return claim->verdict == VERDICT_AGREES ? NULL : claim->reason;
}

/* Tells whether the next claim has the same reason; the page then shows it once, under the last. */
static bool reason_goes_on(const struct figure_claim *claim, const struct figure_claim *next)
{
    return next->verdict == claim->verdict && next->reason &&
           strcmp(next->reason, claim->reason) == 0;
}

static void claim_add(struct result *result, const struct figure_claim *claim,
                      const struct figure_claim *next, const struct widths *widths)
{
    struct claim_line line;
    const struct says *says = &claim->says;
    const char *reason = reason_of(claim);
    line_format(&line, claim);
    result_object(result, NULL);
    cell_add(result, "label", widths->label, line.label);
    cell_add(result, "printed", widths->printed, line.printed);
    cell_add(result, "found", widths->found, line.found);
    result_string(result, "where", claim->where);
    result_string(result, "what", claim->what);
    result_string(result, "unit", says->unit ? says->unit : "");
    result_string(result, "relation", relation_text(says->relation));
    result_number(result, "paper", says->number);
    if (says->relation == RELATION_BETWEEN)
        result_number(result, "paper_high", says->high);
    result_number(result, "tolerance", says->tolerance);
    result_number(result, "weft", claim->found);
    result_string(result, "verdict", verdict_text(claim->verdict));
    if (reason) {
        result_string(result, "reason", reason);
        if (!next || !reason_goes_on(claim, next))
            lines_add(result, "because", reason, 6);
    }
    result_end(result);
}

/* --- the columns that the texts refer to --- */

/* Reads the names of figure->shown; returns how many columns there are. */
static size_t shown_read(const struct figure *figure, const struct figure_table *table,
                         size_t columns[FIGURE_COLUMN_MAX])
{
    size_t count = 0;
    for (const char *at = figure->shown; *at; at += strspn(at, ", ")) {
        char name[64];
        size_t size = strcspn(at, ",");
        assert(size < sizeof name && count < FIGURE_COLUMN_MAX);
        snprintf(name, sizeof name, "%.*s", (int)size, at);
        columns[count++] = figure_column_find(table, name);
        at += size;
    }
    return count;
}

/* Writes lines of cells separated by tabs: a line of names, a line of units if there are any, and a
 * line for each row. Columns of words are aligned left, columns of numbers right. */
static void shown_lines(struct text *lines, char sides[FIGURE_COLUMN_MAX + 1],
                        const struct figure_table *table, const size_t *columns, size_t count)
{
    bool units = false;
    for (size_t i = 0; i < count; i++) {
        sides[i] = table->row_count && table->cells[columns[i]].word[0] ? '<' : '>';
        units = units || table->columns[columns[i]].unit[0];
        text_printf(lines, "%s%s", i ? "\t" : "", table->columns[columns[i]].name);
    }
    sides[count] = '\0';
    for (size_t i = 0; i < count && units; i++)
        text_printf(lines, "%s%s", i ? "\t" : "\n", table->columns[columns[i]].unit);
    for (size_t row = 0; row < table->row_count; row++)
        for (size_t i = 0; i < count; i++) {
            const struct figure_cell *cell = &table->cells[row * table->column_count + columns[i]];
            char value[VALUE_SIZE] = "-";
            if (!isnan(cell->number))
                value_format(value, sizeof value, cell->number);
            text_printf(lines, "%s%s", i ? "\t" : "\n", cell->word[0] ? cell->word : value);
        }
    text_puts(lines, "\n");
}

static void shown_add(struct result *result, const struct figure *figure,
                      const struct figure_result *found)
{
    const struct figure_table *table = figure_table_find(found, figure->plot.table);
    size_t columns[FIGURE_COLUMN_MAX], count = shown_read(figure, table, columns);
    char sides[FIGURE_COLUMN_MAX + 1];
    struct text lines = {0}, laid = {0};
    shown_lines(&lines, sides, table, columns, count);
    if (text_ok(&lines))
        table_text_lines(&laid, lines.data, sides);
    struct text *out = result_words(result_hide(result), "columns");
    bool whole = text_ok(&lines) && text_ok(&laid) && laid.data;
    result->failed = result->failed || !whole;
    for (const char *at = whole ? laid.data : ""; *at && !result->failed;) {
        size_t size = strcspn(at, "\n") + 1;
        text_printf(out, "  %.*s", (int)size, at);
        at += size;
    }
    text_fini(&laid);
    text_fini(&lines);
}

static void columns_add(struct result *result, const struct figure_table *table)
{
    result_array(result, "columns");
    for (size_t i = 0; i < table->column_count; i++) {
        result_object(result, NULL);
        result_string(result, "name", table->columns[i].name);
        result_string(result, "unit", table->columns[i].unit);
        result_end(result);
    }
    result_end(result);
}

static void rows_add(struct result *result, const struct figure_table *table)
{
    result_array(result, "rows");
    for (size_t row = 0; row < table->row_count; row++) {
        result_array(result, NULL);
        for (size_t i = 0; i < table->column_count; i++) {
            const struct figure_cell *cell = &table->cells[row * table->column_count + i];
            if (cell->word[0])
                result_string(result, NULL, cell->word);
            else
                result_number(result, NULL, cell->number);
        }
        result_end(result);
    }
    result_end(result);
}

void figure_report(struct result *result, const struct figure *figure,
                   const struct figure_call *call, const struct figure_result *found)
{
    struct widths widths = widths_find(found);
    result_string(result, "name", figure->name);
    result_string(result, "paper", figure->paper);
    result_string(result, "what", figure->what);
    result_string(result, "size", (call->quick ? &figure->quick : &figure->full)->what);
    result_bool(result, "quick", call->quick);
    result_uint(result, "seed", call->seed);
    if (figure->choice) {
        result_string(result, "choice", figure->choice);
        lines_add(result, "choice_lines", figure->choice, 2);
    }
    if (figure->shown)
        shown_add(result, figure, found);
    result_array(result, "claims");
    for (size_t i = 0; i < found->claim_count; i++)
        claim_add(result, &found->claims[i],
                  i + 1 < found->claim_count ? &found->claims[i + 1] : NULL, &widths);
    result_end(result);
    result_array(result, "tables");
    for (size_t i = 0; i < found->table_count; i++) {
        result_object(result, NULL);
        result_string(result, "name", found->tables[i].name);
        columns_add(result, &found->tables[i]);
        rows_add(result, &found->tables[i]);
        result_end(result);
    }
    result_end(result);
}
