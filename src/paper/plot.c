#include "paper/plot.h"

#include <string.h>

#include "base/check.h"
#include "paper/report.h"

static const struct figure_table *table_find(const struct figure_result *result, const char *name)
{
    for (size_t i = 0; i < result->table_count; i++)
        if (strcmp(result->tables[i].name, name) == 0)
            return &result->tables[i];
    assert_unreachable();
}

static size_t column_find(const struct figure_table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return i;
    assert_unreachable();
}

static const char *const style_word[] = {
    [STYLE_BOTH] = "linespoints",
    [STYLE_LINE] = "lines",
    [STYLE_POINTS] = "points",
};

/* Inside gnuplot's double quotes a backslash and a quote need a backslash. */
static void quoted(struct text *out, const char *string)
{
    text_puts(out, "\"");
    for (; *string; string++)
        text_printf(out, *string == '"' || *string == '\\' ? "\\%c" : "%c", *string);
    text_puts(out, "\"");
}

/* The rows of one curve as a block of data; returns how many there are. */
static size_t series_data(struct text *out, const struct figure_table *table,
                          const struct figure_series *series, int number)
{
    size_t x = column_find(table, series->x), y = column_find(table, series->y), rows = 0;
    size_t key = series->key ? column_find(table, series->key) : 0;
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

void plot_script(struct text *out, const struct figure *figure, const struct figure_result *result)
{
    const struct figure_plot *plot = figure->plot;
    const struct figure_table *table = table_find(result, plot->table);
    text_printf(
        out,
        "# gnuplot %s.gp > %s.svg\n"
        "set terminal svg size 720,480 dynamic font \"sans-serif,13\" background \"white\"\n"
        "set encoding utf8\nset key outside bottom center horizontal\nset grid\n"
        "set border 3\nset tics nomirror\nset offsets graph 0.02, graph 0.02, "
        "graph 0.05, graph 0.05\n",
        figure->name, figure->name);
    text_puts(out, "set title ");
    quoted(out, figure->what);
    text_puts(out, " noenhanced\nset xlabel ");
    quoted(out, plot->x_label);
    text_puts(out, " noenhanced\nset ylabel ");
    quoted(out, plot->y_label);
    text_printf(out, " noenhanced\n%s%s", plot->log_x ? "set logscale x\n" : "",
                plot->log_y ? "set logscale y\n" : "");
    struct text curves = {0};
    for (int i = 0; plot->series[i].title; i++) {
        const struct figure_series *series = &plot->series[i];
        if (series_data(out, table, series, i) == 0)
            continue; /* gnuplot refuses an empty block */
        text_printf(&curves, "%s$curve%d with %s linewidth 1.5 pointtype %d title ",
                    curves.size ? ", \\\n  " : "", i, style_word[series->style], 4 + i);
        quoted(&curves, series->title);
        text_puts(&curves, " noenhanced");
    }
    if (!text_ok(&curves))
        out->failed = true;
    else if (curves.size)
        text_printf(out, "plot %s\n", curves.data);
    text_fini(&curves);
}
