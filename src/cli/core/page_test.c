#include "cli/core/page.h"

#include "base/test.h"

/* Two servers, one of them without a pid, and some numbers. */
static void example_fill(struct result *result, const char *page)
{
    result_begin(result, page);
    result_string(result, "name", "torus:2");
    result_uint(result, "count", 2);
    result_uint(result, "one", 1);
    result_uint(result, "none", 0);
    result_number(result, "share", 0.256);
    result_number(result, "unknown", NAN);
    result_number(result, "time", 1500);
    result_string(result, "word", "");
    result_bool(result, "clean", true);
    result_wide(result, "wide", (uint128)1 << 64);
    result_object(result, "links");
    result_uint(result, "up", 6);
    result_uint(result, "down", 0);
    result_end(result);
    result_array(result, "empty");
    result_end(result);
    result_array(result, "ids");
    result_uint(result, NULL, 4);
    result_uint(result, NULL, 5);
    result_end(result);
    result_array(result, "servers");
    for (unsigned i = 0; i < 2; i++) {
        result_object(result, NULL);
        result_uint(result, "id", i);
        result_uint_if(result, "pid", i == 1, 77);
        text_printf(result_words(result_hide(result), "label"), "server %u", i);
        result_end(result);
    }
    result_end(result);
}

#define SHOWS(page, expected)                                                                      \
    do {                                                                                           \
        struct result result = {0};                                                                \
        struct text out = {0};                                                                     \
        example_fill(&result, page);                                                               \
        page_print(&result, &out);                                                                 \
        assert_string_equal(out.size ? out.data : "", expected);                                   \
        text_fini(&out);                                                                           \
        result_fini(&result);                                                                      \
    } while (0)

static void values_replace_their_names(void **state)
{
    SHOWS("", "");
    SHOWS("no tag\n", "no tag\n");
    SHOWS("{name}: {count}, {share}\n", "torus:2: 2, 0.256\n");
    SHOWS("{links.up} of {links.down}", "6 of 0");
    SHOWS("{wide}", "18446744073709551616");
}

static void conversions_work_as_in_printf(void **state)
{
    SHOWS("{name%10s}|{name%-10s}|{name%.3s}|", "   torus:2|torus:2   |tor|");
    SHOWS("{count%4u}|{count%-4u}|{count%04x}", "   2|2   |0002");
    SHOWS("{share%.1f}|{share%6.2f}|{share%.2g}|{count%.1f}", "0.3|  0.26|0.26|2.0");
    SHOWS("{share*100%.1f} %|{share*100%7.2f} %|{count/4%g}", "25.6 %|  25.60 %|0.5");
    SHOWS("{count%t}, {time%t}, {time%b}", "2 ns, 1.50 us, 1.5 kB/s");
}

static void counts_are_followed_by_singular_or_plural(void **state)
{
    SHOWS("{one|hop|hops}, {count|hop|hops}, {none|hop|hops}", "1 hop, 2 hops, 0 hops");
    SHOWS("{one|server is|servers are} up", "1 server is up");
}

static void null_is_printed_as_a_dash(void **state)
{
    SHOWS("{unknown%.2f}|{unknown%4s}|", "-|   -|");
}

static void conditions_hide_missing_and_empty_values(void **state)
{
    SHOWS("{?count}yes{/}{?none}no{/}{?unknown}no{/}{?word}no{/}{?clean}, yes{/}", "yes, yes");
    SHOWS("{?empty}no{:}nothing{/}{?nowhere}no{/}{?links.up}, up{/}", "nothing, up");
    SHOWS("{?links}a{:}b{/}{?none}c{:}d{/}", "ad");
    SHOWS("{?none}{?count}x{:}y{/}{nowhere}{#nowhere}z{/}{:}{?count}in{:}out{/}{/}", "in");
    SHOWS("{?count}{?none}x{:}y{/}{:}z{/}!", "y!");
}

static void items_are_shown_one_by_one(void **state)
{
    SHOWS("{#servers}{label} {pid%3u} of {name}\n{/}",
          "server 0   - of torus:2\nserver 1  77 of torus:2\n");
    SHOWS("{#ids|, }{.}{/}.", "4, 5.");
    SHOWS("{#ids}<{.%2u}>{/}", "< 4>< 5>");
    SHOWS("{#empty}{nowhere}{/}{#empty|, }x{:}none{/}", "none");
    SHOWS("{#servers|; }{id}{?pid} runs{/}{#ids| }{.}{id}{/}{/}", "040 50; 1 runs41 51");
    SHOWS("{#links}{.} {/}", "6 0 ");
}

static void tables_are_as_wide_as_their_cells(void **state)
{
    SHOWS("{=<>}server\tpid\n{#servers}{label}\t{pid}\n{/}{/}.",
          "server    pid\nserver 0    -\nserver 1   77\n.");
    SHOWS("{=><<}n\t\tlast\n{#ids}{.}\t{?none}x{/}\t\n{/}{/}", "n     last\n4     \n5     \n");
    SHOWS("{?none}{=<}nowhere\t{nowhere}{/}{:}{=>}title\n{#empty}x\n{/}{/}{/}", "title\n");
}

static void running_out_of_memory_is_reported(void **state)
{
    struct result result = {0};
    struct text out = {0};
    result_begin(&result, "{a}");
    result_uint(&result, "a", 1);
    result.failed = true;
    page_print(&result, &out);
    assert_false(text_ok(&out));
    text_fini(&out);
    result_fini(&result);
}

TEST_MAIN(TEST(values_replace_their_names), TEST(conversions_work_as_in_printf),
          TEST(counts_are_followed_by_singular_or_plural), TEST(null_is_printed_as_a_dash),
          TEST(conditions_hide_missing_and_empty_values), TEST(items_are_shown_one_by_one),
          TEST(tables_are_as_wide_as_their_cells), TEST(running_out_of_memory_is_reported))
