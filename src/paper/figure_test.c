#include "paper/figure.h"

#include <math.h>
#include <string.h>

#include "base/test.h"
#include "paper/plot.h"
#include "paper/report.h"
#include "paper/verdict.h"

static enum verdict judged(enum relation relation, double paper, double tolerance, double found)
{
    struct figure_claim claim = {.says = {relation, paper, paper + 5, tolerance, NULL},
                                 .found = found};
    return verdict_of(&claim);
}

static void verdicts_follow_from_the_numbers(void **state)
{
    assert_int_equal(judged(RELATION_EQUAL, 7.5, 0.05, 7.52), VERDICT_AGREES);
    assert_int_equal(judged(RELATION_EQUAL, 7.5, 0.05, 7.44), VERDICT_DIFFERS);
    assert_int_equal(judged(RELATION_EQUAL, 6, 0, 6), VERDICT_AGREES);
    assert_int_equal(judged(RELATION_ABOVE, 99.5, 0, 99.5), VERDICT_DIFFERS);
    assert_int_equal(judged(RELATION_ABOVE, 99.5, 0, 99.51), VERDICT_AGREES);
    assert_int_equal(judged(RELATION_BELOW, 2.7, 0, 2.65), VERDICT_AGREES);
    assert_int_equal(judged(RELATION_BELOW, 2.7, 0, 2.7), VERDICT_DIFFERS);
    assert_int_equal(judged(RELATION_AT_MOST, 6, 0, 6), VERDICT_AGREES);
    assert_int_equal(judged(RELATION_AT_MOST, 6, 0, 7), VERDICT_DIFFERS);
    assert_int_equal(judged(RELATION_BETWEEN, 15, 0.5, 20.4), VERDICT_AGREES);
    assert_int_equal(judged(RELATION_BETWEEN, 15, 0.5, 20.6), VERDICT_DIFFERS);
    assert_int_equal(judged(RELATION_BETWEEN, 15, 0.5, 14.4), VERDICT_DIFFERS);
    for (int relation = RELATION_EQUAL; relation <= RELATION_BETWEEN; relation++)
        assert_int_equal(judged(relation, 1, 1, NAN), VERDICT_MISSING);
}

static void a_run_that_is_too_small_has_a_verdict_of_its_own(void **state)
{
    struct figure_result result = {0};
    figure_claim_needs(&result, "fig 1", "all", says_equal(3, 0, NULL), NULL, 3, "not used");
    figure_claim_needs(&result, "fig 1", "all", says_equal(3, 0, NULL), "a larger run", 3, NULL);
    assert_int_equal(result.claims[0].verdict, VERDICT_AGREES);
    assert_int_equal(result.claims[1].verdict, VERDICT_NOT_RUN);
    assert_string_equal(result.claims[1].reason, "a larger run");
    assert_true(isnan(result.claims[1].found));
    figure_not_run(&result, "more cores");
    for (size_t i = 0; i < result.claim_count; i++) {
        assert_int_equal(result.claims[i].verdict, VERDICT_NOT_RUN);
        assert_string_equal(result.claims[i].reason, "more cores");
        assert_true(isnan(result.claims[i].found));
    }
    figure_result_fini(&result);
}

/* --- a figure for the tests --- */

static enum err sample_run(struct figure_result *result, const struct figure_call *call,
                           struct why *why)
{
    struct figure_table *table = figure_table_add(result, "sizes", "name, size (m)");
    for (uint64_t i = 0; i < call->seed; i++)
        figure_row_named(table, i % 2 ? "a \"b\", c" : "plain",
                         (double[]){i == 2 ? NAN : (double)i / 2});
    figure_claim(result, "fig 1", "rows", says_equal(3, 0, NULL), (double)table->row_count,
                 figure_text(result, "the seed says %s", "otherwise"));
    figure_claim_at(result, "fig 2", "share", says_between(15, 20, "%"), NAN, 2,
                    "the traces were never published");
    figure_claim(result, "fig 3", "rows", says_equal(3, 0, NULL), (double)table->row_count, NULL);
    if (call->quick)
        return why_fail(why, ERR_INPUT, "sample: refused");
    return OK;
}

static const struct figure sample = {
    .name = "sample",
    .paper = "Paper",
    .what = "a sample",
    .full = {.what = "all"},
    .quick = {.what = "some"},
    .plot.table = "sizes",
    .plot.x = {.column = "size", .label = "x"},
    .plot.y = {.label = "y"},
    .plot.series =
        {
            {"plain \"ones\"", "size", "name", "plain", STYLE_BOTH},
            {"none", "size", "name", "absent", STYLE_POINTS},
        },
    .run = sample_run,
};

static struct figure_result sample_result(uint64_t seed)
{
    struct figure_result result;
    struct why why = {""};
    assert_int_equal(figure_run(&sample, &result, &(struct figure_call){.seed = seed}, &why), OK);
    return result;
}

static void tables_become_csv(void **state)
{
    struct figure_result result = sample_result(4);
    struct text csv = {0};
    report_csv(&csv, &result.tables[0]);
    assert_string_equal(csv.data, "name,size (m)\nplain,0\n\"a \"\"b\"\", c\",0.5\nplain,\n"
                                  "\"a \"\"b\"\", c\",1.5\n");
    text_fini(&csv);
    figure_result_fini(&result);
}

static void plots_carry_their_data(void **state)
{
    struct figure_result result = sample_result(5);
    struct text script = {0};
    plot_script(&script, &sample, &result);
    /* Rows 0 and 4 are plain and have a number; the second curve is empty. */
    assert_non_null(strstr(script.data, "$curve0 << END\n0 0\n2 2\nEND\n"));
    assert_non_null(strstr(script.data, "title \"plain \\\"ones\\\"\""));
    assert_null(strstr(script.data, "\"none\""));
    /* The claim with a place in the plot is marked at both ends of its range. */
    assert_non_null(strstr(script.data, "$paper0 << END\n2 15\n2 20\nEND\n"));
    assert_non_null(strstr(script.data, "title \"printed in the paper\""));
    text_fini(&script);
    figure_result_fini(&result);
}

static void a_failed_run_keeps_nothing(void **state)
{
    struct figure_result result;
    struct why why = {""};
    struct figure_call call = {.quick = true, .seed = 9};
    assert_int_equal(figure_run(&sample, &result, &call, &why), ERR_INPUT);
    assert_string_equal(why.text, "sample: refused");
    assert_int_equal(result.table_count, 0);
    assert_null(result.claims);
}

static void headings_name_columns_and_units(void **state)
{
    struct figure_result result = {0};
    const struct figure_table *table =
        figure_table_add(&result, "sizes", "network, rate (K/s), load_max (of mean), n");
    assert_int_equal(table->column_count, 4);
    assert_string_equal(table->columns[0].name, "network");
    assert_string_equal(table->columns[0].unit, "");
    assert_string_equal(table->columns[1].name, "rate");
    assert_string_equal(table->columns[1].unit, "K/s");
    assert_string_equal(table->columns[2].unit, "of mean");
    assert_string_equal(table->columns[3].name, "n");
    assert_string_equal(table->columns[3].unit, "");
    figure_result_fini(&result);
}

static void every_figure_has_all_its_parts(void **state)
{
    for (int i = 0; figures[i]; i++) {
        const struct figure *figure = figures[i];
        assert_true(*figure->name && *figure->paper && *figure->what && *figure->full.what &&
                    *figure->quick.what);
        assert_true(figure->full.seconds > 0 && figure->quick.seconds > 0);
        assert_non_null(figure->plot.series[0].title);
        assert_non_null(figure->run);
    }
}

TEST_MAIN(TEST(verdicts_follow_from_the_numbers),
          TEST(a_run_that_is_too_small_has_a_verdict_of_its_own), TEST(tables_become_csv),
          TEST(plots_carry_their_data), TEST(headings_name_columns_and_units),
          TEST(a_failed_run_keeps_nothing), TEST(every_figure_has_all_its_parts))
