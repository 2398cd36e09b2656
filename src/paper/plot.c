#include "paper/plot.h"

#include <string.h>

#include "base/check.h"
#include "paper/report.h"

/* Numbers of weft are in colour; printed numbers are black, hollow and a little
 * larger, so that ours are visible inside them where the two agree. */
static const char *const style_words[] = {
    [STYLE_BOTH] = "linespoints linewidth 1.5 pointsize 0.6",
    [STYLE_LINE] = "lines linewidth 1.5",
    [STYLE_POINTS] = "points linewidth 1.5",
    [STYLE_PAPER] = "points linecolor \"black\" linewidth 1.5 pointsize 1.4",
};

/* Point types of gnuplot: filled for our numbers, hollow for the paper's. */
static const int marks_ours[] = {7, 5, 9, 13, 11};
static const int marks_paper[] = {6, 4, 8, 12, 10};
#define MARK_COUNT 5

/* Inside gnuplot's double quotes a backslash and a quote need a backslash. */
static void quoted(struct text *out, const char *string)
{
    text_puts(out, "\"");
    for (; *string; string++)
        text_printf(out, *string == '"' || *string == '\\' ? "\\%c" : "%c", *string);
    text_puts(out, "\"");
}

/* Writes the rows of one curve as a block of data. Returns how many there are. */
static size_t series_data(struct text *out, const struct figure_table *table,
                          const struct figure_series *series, const char *across, int number)
{
    size_t x = figure_column_find(table, across), y = figure_column_find(table, series->y),
           rows = 0;
    size_t key = series->key ? figure_column_find(table, series->key) : 0;
    char one[REPORT_CELL_SIZE], other[REPORT_CELL_SIZE];
    text_printf(out, "$curve%d << END\n", number);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct figure_cell *cells = table->cells + row * table->column_count;
        if (series->key && strcmp(report_cell(&cells[key], one), series->value) != 0)
            continue;
        const char *at = report_cell(&cells[x], one), *value = report_cell(&cells[y], other);
        if (!*at || !*value)
            continue;
        text_printf(out, "%s %s\n", at, value);
        rows++;
    }
    text_puts(out, "END\n");
    return rows;
}

/* Appends a curve to the plot command. */
static void curve_append(struct text *curves, const char *block, int number, const char *style,
                         int mark, const char *title)
{
    text_printf(curves, "%s$%s%d with %s pointtype %d title ", curves->size ? ", \\\n  " : "",
                block, number, style, mark);
    quoted(curves, title);
    text_puts(curves, " noenhanced");
}

/* Writes the printed numbers of the claims that have a place in the plot.
 * Returns how many there are. */
static size_t claims_data(struct text *out, const struct figure_result *result)
{
    size_t marked = 0;
    text_puts(out, "$paper0 << END\n");
    for (size_t i = 0; i < result->claim_count; i++) {
        const struct figure_claim *claim = &result->claims[i];
        if (claim->at == 0)
            continue;
        text_printf(out, "%.10g %.10g\n", claim->at, claim->says.number);
        if (claim->says.relation == RELATION_BETWEEN)
            text_printf(out, "%.10g %.10g\n", claim->at, claim->says.high);
        marked++;
    }
    text_puts(out, "END\n");
    return marked;
}

/* Axes fit the data, with a little room for the marks at the edges; a linear y
 * axis begins at 0. */
static void axes_print(struct text *out, const struct figure_plot *plot)
{
    text_puts(out, "set xlabel ");
    quoted(out, plot->x.label);
    text_puts(out, " noenhanced\nset ylabel ");
    quoted(out, plot->y.label);
    text_puts(out, " noenhanced\n");
    text_puts(out, plot->x.log ? "set logscale x\n"
                               : "set autoscale xfix\nset offsets graph 0.03, graph 0.03, 0, 0\n");
    text_puts(out, plot->y.log ? "set logscale y\n" : "set yrange [0:*]\n");
    if (plot->x.step > 0)
        text_printf(out, "set xtics %g\n", plot->x.step);
}

void plot_script(struct text *out, const struct figure *figure, const struct figure_result *result)
{
    const struct figure_plot *plot = &figure->plot;
    const struct figure_table *table = figure_table_find(result, plot->table);
    text_printf(
        out,
        "# gnuplot %s.gp > %s.svg\n"
        "set terminal svg size 860,480 dynamic font \"sans-serif,13\" background \"white\"\n"
        "set encoding utf8\nset key outside right center vertical Left reverse\nset grid\n"
        "set border 3\nset tics nomirror\nset title ",
        figure->name, figure->name);
    quoted(out, figure->what);
    text_puts(out, " noenhanced\n");
    axes_print(out, plot);
    struct text curves = {0};
    int ours = 0, printed = 0;
    for (int i = 0; plot->series[i].title; i++) {
        const struct figure_series *series = &plot->series[i];
        if (series_data(out, table, series, plot->x.column, i) == 0)
            continue; /* gnuplot rejects an empty block */
        int mark = series->style == STYLE_PAPER ? marks_paper[printed++ % MARK_COUNT]
                                                : marks_ours[ours++ % MARK_COUNT];
        curve_append(&curves, "curve", i, style_words[series->style], mark, series->title);
    }
    if (claims_data(out, result) > 0)
        curve_append(&curves, "paper", 0, style_words[STYLE_PAPER],
                     marks_paper[printed % MARK_COUNT], "printed in the paper");
    if (!text_ok(&curves))
        out->failed = true;
    else if (curves.size)
        text_printf(out, "plot %s\n", curves.data);
    text_fini(&curves);
}
