#include "cli/paper/figure_report.h"

#include <math.h>
#include <string.h>

#include "base/test.h"
#include "cli/core/page.h"

/* Makes as many rows as the seed; three of the claims are about that number. */
static enum err sample_run(struct figure_result *result, const struct figure_call *call,
                           struct why *why)
{
    struct figure_table *table = figure_table_add(result, "sizes", "name, size (m)");
    for (uint64_t i = 0; i < call->seed; i++)
        figure_row_named(table, "plain", (double[]){i == 2 ? NAN : (double)i / 2});
    figure_claim(result, "fig 1", "rows", says_equal(3, 0, NULL), (double)call->seed,
                 "the seed differs");
    figure_claim(result, "fig 1", "twice", says_equal(3, 0, NULL), (double)call->seed,
                 "the seed differs");
    figure_claim(result, "fig 1", "share", says_between(15, 20, "%"), NAN,
                 "the traces were never published");
    figure_claim_needs(result, "fig 1", "large", says_above(9, NULL), "run it without --quick", 8,
                       "never shown");
    figure_claim(result, "fig 1", "bare", says_equal(3, 0, NULL), (double)call->seed, NULL);
    return OK;
}

static const struct figure sample = {
    .name = "sample",
    .paper = "Paper",
    .what = "a sample",
    .full = {.what = "all"},
    .quick = {.what = "some"},
    .choice = "one of two readings",
    .shown = "name, size",
    .plot.table = "sizes",
    .run = sample_run,
};

/* Runs the figure with that seed and prints it with `print`. */
static struct text printed(uint64_t seed, void (*print)(struct result *, struct text *))
{
    struct figure_call call = {.seed = seed};
    struct figure_result found;
    struct result result = {0};
    struct text out = {0};
    struct why why = {""};
    assert_int_equal(figure_run(&sample, &found, &call, &why), OK);
    result_begin(&result, FIGURE_REPORT_PAGE);
    figure_report(&result, &sample, &call, &found);
    print(&result, &out);
    assert_true(text_ok(&out));
    result_fini(&result);
    figure_result_fini(&found);
    return out;
}

static void each_claim_has_a_line(void **state)
{
    struct text out = printed(3, page_print);
    assert_string_equal(out.data,
                        "sample: Paper, a sample\n"
                        "  rows (fig 1)   paper 3           weft 3  agrees\n"
                        "  twice (fig 1)  paper 3           weft 3  agrees\n"
                        "  share (fig 1)  paper 15 to 20 %  weft -  cannot be reproduced\n"
                        "      the traces were never published\n"
                        "  large (fig 1)  paper > 9         weft -  not run at this size\n"
                        "      run it without --quick\n"
                        "  bare (fig 1)   paper 3           weft 3  agrees\n"
                        "  one of two readings\n"
                        "  name   size\n"
                        "            m\n"
                        "  plain     0\n"
                        "  plain   0.5\n"
                        "  plain     -\n");
    text_fini(&out);
}

/* A reason that two claims share is printed under the second. */
static void reasons_are_shown_only_for_claims_that_do_not_agree(void **state)
{
    struct text out = printed(2, page_print);
    assert_string_equal(out.data,
                        "sample: Paper, a sample\n"
                        "  rows (fig 1)   paper 3           weft 2  differs\n"
                        "  twice (fig 1)  paper 3           weft 2  differs\n"
                        "      the seed differs\n"
                        "  share (fig 1)  paper 15 to 20 %  weft -  cannot be reproduced\n"
                        "      the traces were never published\n"
                        "  large (fig 1)  paper > 9         weft -  not run at this size\n"
                        "      run it without --quick\n"
                        "  bare (fig 1)   paper 3           weft 2  differs\n"
                        "  one of two readings\n"
                        "  name   size\n"
                        "            m\n"
                        "  plain     0\n"
                        "  plain   0.5\n");
    text_fini(&out);
}

/* JSON has no values that are only for the page; each claim has its own reason there. */
static void json_has_the_numbers(void **state)
{
    struct text out = printed(2, result_json);
    const char *reason = strstr(out.data, "\"reason\": \"the seed differs\"");
    assert_non_null(reason);
    assert_non_null(strstr(reason + 1, "\"reason\": \"the seed differs\""));
    assert_non_null(strstr(out.data, "\"paper_high\": 20"));
    assert_non_null(strstr(out.data, "\"weft\": null"));
    assert_non_null(strstr(out.data, "\"choice\": \"one of two readings\""));
    assert_non_null(strstr(out.data, "\"unit\": \"m\""));
    assert_non_null(strstr(out.data, "\"plain\""));
    assert_null(strstr(out.data, "label"));
    assert_null(strstr(out.data, "because"));
    assert_null(strstr(out.data, "choice_lines"));
    assert_non_null(strstr(out.data, "\"verdict\": \"not run at this size\""));
    assert_non_null(strstr(out.data, "\"reason\": \"run it without --quick\""));
    assert_null(strstr(out.data, "never shown"));
    text_fini(&out);
}

TEST_MAIN(TEST(each_claim_has_a_line), TEST(reasons_are_shown_only_for_claims_that_do_not_agree),
          TEST(json_has_the_numbers))
