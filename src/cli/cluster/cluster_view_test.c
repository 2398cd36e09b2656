#include "cli/cluster/cluster_view.h"

#include <stdio.h>
#include <string.h>

#include "cli/cluster/cluster_example.h"

static struct example example;
static struct cluster_seen *before;
static struct cluster_health health;
static struct text out;

static void begin(const char *spec)
{
    example_open(&example, spec);
    size_t size = example.plan.server_count * sizeof *before;
    before = malloc(size);
    assert_non_null(before);
    for (node_id v = 0; v < example.plan.server_count; v++)
        example.seen[v].snapshot.now = 1000000000;
    memcpy(before, example.seen, size);
    for (node_id v = 0; v < example.plan.server_count; v++)
        example.seen[v].snapshot.now += 500000000; /* half a second later */
}

static const char *draw(uint32_t width, uint64_t rate)
{
    struct why why;
    struct table_text_style style = {.width = width};
    assert_int_equal(cluster_health(&health, &example.plan, example.seen, &why), OK);
    struct cluster_view view = {.plan = &example.plan,
                                .now = example.seen,
                                .before = before,
                                .health = &health,
                                .rate = rate};
    assert_int_equal(cluster_view_text(&view, &out, &style, &why), OK);
    assert_true(text_ok(&out));
    cluster_health_fini(&health);
    return out.data;
}

static void done(void)
{
    text_fini(&out);
    out = (struct text){0};
    free(before);
    example_close(&example);
}

static void an_idle_torus_is_drawn_in_slices(void **state)
{
    begin("torus:3x3x3");
    assert_string_equal(draw(80, 0),
                        "OK  27 of 27 servers  81 of 81 links up  0 packets/s  0 B/s  0 drops/s\n"
                        "\n"
                        "z 0                z 1                z 2\n"
                        " 0 ·  1 ·  2 ·      9 · 10 · 11 ·     18 · 19 · 20 · \n"
                        " · ·  · ·  · ·      · ·  · ·  · ·      · ·  · ·  · · \n"
                        " 3 ·  4 ·  5 ·     12 · 13 · 14 ·     21 · 22 · 23 · \n"
                        " · ·  · ·  · ·      · ·  · ·  · ·      · ·  · ·  · · \n"
                        " 6 ·  7 ·  8 ·     15 · 16 · 17 ·     24 · 25 · 26 · \n"
                        " · ·  · ·  · ·      · ·  · ·  · ·      · ·  · ·  · · \n"
                        "█ is 66 kB/s; right +x, below +y, diagonal +z; x down, / cut, ! miswired, "
                        "✗ dead\n");
    done();
}

static void slices_that_do_not_fit_beside_each_other_follow_below(void **state)
{
    begin("torus:3x3x3");
    const char *lines = draw(40, 0);
    assert_non_null(strstr(lines, "z 0                z 1\n"));
    assert_non_null(strstr(lines, "\nz 2\n18 · 19 · 20 · \n"));
    for (const char *line = lines; *line; line += strcspn(line, "\n") + 1) {
        char copy[512];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        assert_in_range(table_text_width(copy), 0, 40);
    }
    done();
}

static void a_loaded_link_is_visible_and_named(void **state)
{
    begin("torus:3x3");
    example.seen[4].snapshot.ports[0].bytes_out += 1000000; /* 4 to 5, 2 MB/s */
    example.seen[4].snapshot.ports[0].packets_out += 100;
    example.seen[5].snapshot.ports[1].bytes_out += 500000;
    example.seen[4].snapshot.node.drops[DROP_QUEUE_FULL] += 7;
    const char *lines = draw(80, 0);
    assert_non_null(strstr(lines, "200 packets/s  3.0 MB/s  14 drops/s\n"));
    assert_non_null(strstr(lines, "\n3 · 4 █ 5 · \n"));
    assert_non_null(strstr(lines, "\n  4 - 5  2.0 MB/s there, 1.0 MB/s back\n█ is 2.0 MB/s"));
    done();
}

static void loads_are_compared_with_the_rate_of_the_links(void **state)
{
    begin("torus:3x3");
    example.seen[4].snapshot.ports[0].bytes_out += 1000000;
    assert_non_null(strstr(draw(80, 32000000), "\n3 · 4 ▅ 5 · \n")); /* 2 of 4 MB/s */
    done();
}

static void faults_are_shown_at_their_places(void **state)
{
    begin("torus:3x3");
    example_die(&example, 8);
    example.seen[0].snapshot.ports[0].state = PORT_CUT;
    example.seen[3].snapshot.ports[0].state = PORT_DOWN;
    example.seen[4].snapshot.ports[2].state = PORT_MISWIRED;
    example.seen[1].snapshot.ports[0].state = PORT_COMING;
    example.seen[6].state = SERVER_SILENT;
    const char *lines = draw(80, 0);
    assert_non_null(strstr(lines, "WARN  7 of 9 servers"));
    assert_non_null(strstr(lines, "\n  SERVERS_DOWN: 1 of 9 servers is dead: 8\n"));
    assert_non_null(strstr(lines, "\n0 / 1 + 2 · \n·   ·   ·   \n3 x 4 · 5 · \n    !       \n"
                                  "?   7   ✗   \n"));
    done();
}

static void a_restarted_server_begins_without_load(void **state)
{
    begin("torus:3x3");
    before[4].snapshot.ports[0].bytes_out = 99999999; /* the difference would be negative */
    before[4].snapshot.node.drops[0] = 5;
    example.seen[4].snapshot.node.incarnation = 2;
    assert_non_null(strstr(draw(80, 0), "0 packets/s  0 B/s  0 drops/s\n"));
    done();
}

static void a_network_that_is_no_torus_is_a_list(void **state)
{
    begin("jellyfish:n=8,degree=3,seed=1");
    const char *lines = draw(40, 0);
    assert_non_null(
        strstr(lines, "\n0 ···   1 ···   2 ···   3 ···   4 ···\n5 ···   6 ···   7 ···\n"));
    done();
}

TEST_MAIN(TEST(an_idle_torus_is_drawn_in_slices),
          TEST(slices_that_do_not_fit_beside_each_other_follow_below),
          TEST(a_loaded_link_is_visible_and_named),
          TEST(loads_are_compared_with_the_rate_of_the_links),
          TEST(faults_are_shown_at_their_places), TEST(a_restarted_server_begins_without_load),
          TEST(a_network_that_is_no_torus_is_a_list))
