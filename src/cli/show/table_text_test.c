#include "cli/show/table_text.h"

#include <string.h>

#include "base/test.h"

enum { ROW, STATE, NAME, STEP, COLUMNS };

static const struct table_text_column columns[COLUMNS] = {
    [ROW] = {.title = "row", .right = true, .key = true},
    [STATE] = {.title = "state", .key = true},
    [NAME] = {.title = "name"},
    [STEP] = {.title = "step", .right = true},
};

static const struct table_text_cell cells[] = {
    {"0", TABLE_TEXT_PLAIN},         {"live", TABLE_TEXT_PLAIN},    {"ada", TABLE_TEXT_PLAIN},
    {"7", TABLE_TEXT_NEW},           {"12", TABLE_TEXT_PLAIN},      {"frozen", TABLE_TEXT_ALARM},
    {"b\xc3\xa9", TABLE_TEXT_FAINT}, {"1000000", TABLE_TEXT_FAINT},
};

static const struct table_text example = {
    .columns = columns, .cells = cells, .column_count = COLUMNS, .row_count = 2};

#define SHOWS(call, expected)                                                                      \
    do {                                                                                           \
        struct text out = {0};                                                                     \
        call;                                                                                      \
        assert_string_equal(out.data, expected);                                                   \
        text_fini(&out);                                                                           \
    } while (0)

static void columns_are_as_wide_as_their_cells(void **state)
{
    SHOWS(table_text(&out, &example, &(struct table_text_style){0}),
          "row  state   name     step\n"
          "  0  live    ada         7\n"
          " 12  frozen  b\xc3\xa9    1000000\n");
}

static void columns_that_do_not_fit_follow_in_further_bands_with_the_keys(void **state)
{
    /* 26 columns hold all of it, 25 do not. */
    struct text wide = {0}, narrow = {0};
    assert_int_equal(table_text_natural_width(&example), 26);
    table_text(&wide, &example, &(struct table_text_style){.width = 26});
    table_text(&narrow, &example, &(struct table_text_style){.width = 25});
    assert_null(strstr(wide.data, "\n\n"));
    assert_string_equal(narrow.data, "row  state   name\n"
                                     "  0  live    ada\n"
                                     " 12  frozen  b\xc3\xa9\n"
                                     "\n"
                                     "row  state      step\n"
                                     "  0  live          7\n"
                                     " 12  frozen  1000000\n");
    text_fini(&wide);
    text_fini(&narrow);
}

static void a_cell_wider_than_the_line_ends_in_an_ellipsis(void **state)
{
    SHOWS(table_text(&out, &example, &(struct table_text_style){.width = 17}),
          "row  state   name\n"
          "  0  live    ada\n"
          " 12  frozen  b\xc3\xa9\n"
          "\n"
          "row  state   step\n"
          "  0  live       7\n"
          " 12  frozen  100\xe2\x80\xa6\n");
}

/* A terminal would wrap a wider line, and drawing over it would fail. */
static void no_line_is_wider_than_asked(void **state)
{
    for (uint32_t width = 1; width < 40; width++) {
        struct text out = {0};
        char *rest;
        table_text(&out, &example, &(struct table_text_style){.width = width});
        if (width >= 12) /* otherwise titles and cells may have no column */
            table_text_blocks(&out, &example, &(struct table_text_style){.width = width});
        assert_true(text_ok(&out));
        for (char *line = strtok_r(out.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            assert_in_range(table_text_width(line), 1, width);
        text_fini(&out);
    }
}

static void marks_are_colours_and_do_not_change_widths(void **state)
{
    SHOWS(table_text(&out, &example, &(struct table_text_style){.colour = true}),
          "row  state   name     step\n"
          "  0  live    ada         \033[1m7\033[0m\n"
          " 12  \033[31mfrozen\033[0m  \033[2mb\xc3\xa9\033[0m    \033[2m1000000\033[0m\n");
}

static void a_table_without_rows_has_its_titles(void **state)
{
    struct table_text empty = {.columns = columns, .column_count = COLUMNS};
    SHOWS(table_text(&out, &empty, &(struct table_text_style){0}), "row  state  name  step\n");
}

static void blocks_show_whole_cells(void **state)
{
    static const struct table_text_cell long_cells[] = {
        {"3", TABLE_TEXT_PLAIN},
        {"live", TABLE_TEXT_PLAIN},
        {"0123456789abcdefghij", TABLE_TEXT_PLAIN},
        {"10 200 3000 40000 5", TABLE_TEXT_PLAIN},
    };
    struct table_text one = {
        .columns = columns, .cells = long_cells, .column_count = COLUMNS, .row_count = 1};
    SHOWS(table_text_blocks(&out, &one, &(struct table_text_style){.width = 20}),
          "row 3, state live\n"
          "  name  0123456789ab\n"
          "        cdefghij\n"
          "  step  10 200 3000\n"
          "        40000 5\n");
    SHOWS(table_text_blocks(&out, &one, &(struct table_text_style){0}),
          "row 3, state live\n"
          "  name  0123456789abcdefghij\n"
          "  step  10 200 3000 40000 5\n");
}

static void lines_overwrite_the_last_ones(void **state)
{
    struct text out = {0};
    assert_int_equal(table_text_redraw(&out, "a\nb\n", 0, 24), 2);
    assert_string_equal(out.data, "\ra\033[K\nb\033[K\n\033[J");
    out.size = 0;
    assert_int_equal(table_text_redraw(&out, "c\n", 2, 24), 1);
    assert_string_equal(out.data, "\033[2A\rc\033[K\n\033[J");
    text_fini(&out);
}

static void lines_that_do_not_fit_are_counted(void **state)
{
    struct text out = {0};
    assert_int_equal(table_text_redraw(&out, "a\nb\nc\nd\n", 0, 4), 3);
    assert_string_equal(out.data, "\ra\033[K\nb\033[K\n\xe2\x80\xa6 2 more\033[K\n\033[J");
    out.size = 0;
    assert_int_equal(table_text_redraw(&out, "a\nb\nc\nd\n", 3, 5), 4);
    assert_null(strstr(out.data, "more"));
    text_fini(&out);
}

static void widths_are_columns_of_a_terminal(void **state)
{
    assert_int_equal(table_text_width("abc"), 3);
    assert_int_equal(table_text_width("\xe2\x80\xa6"), 1); /* an ellipsis */
    assert_int_equal(table_text_width("\xe6\xbc\xa2"), 2); /* a Chinese character */
    assert_int_equal(table_text_width("e\xcc\x81"), 1);    /* e and a combining accent */
    assert_int_equal(table_text_fitting("\xe6\xbc\xa2\xe6\xbc\xa2", 3), 3);
    assert_int_equal(table_text_fitting("e\xcc\x81"
                                        "e",
                                        1),
                     3);
}

TEST_MAIN(TEST(columns_are_as_wide_as_their_cells),
          TEST(columns_that_do_not_fit_follow_in_further_bands_with_the_keys),
          TEST(a_cell_wider_than_the_line_ends_in_an_ellipsis), TEST(no_line_is_wider_than_asked),
          TEST(marks_are_colours_and_do_not_change_widths),
          TEST(a_table_without_rows_has_its_titles), TEST(blocks_show_whole_cells),
          TEST(lines_overwrite_the_last_ones), TEST(lines_that_do_not_fit_are_counted),
          TEST(widths_are_columns_of_a_terminal))
