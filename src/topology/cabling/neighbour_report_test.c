#include "topology/cabling/neighbour_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/test.h"
#include "topology/cabling/port_label.h"

static struct topology torus;

static int torus_setup(void **state)
{
    return topology_build(&torus, "torus:3x3", NULL) != OK;
}

static int torus_teardown(void **state)
{
    topology_fini(&torus);
    return 0;
}

static enum err read_text(struct neighbour_reports *reports, const struct topology *plan,
                          const char *data, struct why *why)
{
    return neighbour_reports_read(reports, plan, data, strlen(data), "seen", why);
}

static void refused(const char *data, const char *reason)
{
    struct neighbour_reports reports;
    struct why why = {""};
    assert_int_equal(read_text(&reports, &torus, data, &why), ERR_INPUT);
    assert_string_equal(why.text, reason);
    assert_null(reports.items);
}

static void report_is(const struct neighbour_reports *reports, uint32_t index, uint32_t node,
                      uint32_t port, uint32_t neighbour, uint32_t neighbour_port, uint32_t line)
{
    const struct neighbour_report *report = &reports->items[index];
    assert_int_equal(report->node, node);
    assert_int_equal(report->port, port);
    assert_int_equal(report->neighbour, neighbour);
    assert_int_equal(report->neighbour_port, neighbour_port);
    assert_int_equal(report->line, line);
}

static void csv_allows_blanks_comments_and_quotes(void **state)
{
    struct neighbour_reports reports;
    assert_int_equal(read_text(&reports, &torus,
                               "# who sees whom\r\n\n Node , PORT, neighbour, neighbour_port\r\n"
                               "  4 ,+x,\t5,-x  # a comment\n\"0\", 3 ,6, +y\n4,0,5,1\n1,0,2,1",
                               NULL),
                     OK);
    assert_int_equal(reports.count, 3); /* one was repeated */
    report_is(&reports, 0, 0, 3, 6, 2, 5);
    report_is(&reports, 1, 1, 0, 2, 1, 7);
    report_is(&reports, 2, 4, 0, 5, 1, 4);
    assert_ptr_equal(neighbour_reports_find(&reports, 4, 0), &reports.items[2]);
    assert_null(neighbour_reports_find(&reports, 4, 1));
    neighbour_reports_fini(&reports);
}

static void json_is_read_too(void **state)
{
    struct neighbour_reports reports;
    assert_int_equal(
        read_text(&reports, &torus,
                  "[{\"node\": 4, \"port\": \"+x\", \"neighbour\": \"5\", \"neighbour_port\": 1},\n"
                  " {\"neighbour_port\": 0, \"seen_at\": [1, {}], \"neighbour\": 0, \"port\": 1,\n"
                  "  \"node\": 1}]\n",
                  NULL),
        OK);
    assert_int_equal(reports.count, 2);
    report_is(&reports, 0, 1, 1, 0, 0, 2);
    report_is(&reports, 1, 4, 0, 5, 1, 1);
    neighbour_reports_fini(&reports);
}

static void names_take_precedence_over_numbers(void **state)
{
    static const struct link pair[] = {{0, 1, PORT_ANY, PORT_ANY}};
    struct topology plan;
    struct neighbour_reports reports;
    assert_int_equal(topology_init(&plan, TOPOLOGY_OTHER, false, 3, pair, 1, NULL), OK);
    plan.names = array_new(3, sizeof *plan.names);
    plan.names[0] = strdup("rack 1, left");
    plan.names[1] = strdup("0");
    plan.names[2] = strdup("the \"best\"");
    assert_int_equal(
        read_text(&reports, &plan, "\"rack 1, left\",0,0,77\n\"the \"\"best\"\"\" ,5,2,6\n", NULL),
        OK);
    assert_int_equal(reports.count, 2);
    report_is(&reports, 0, 0, 0, 1, 77, 1);
    report_is(&reports, 1, 2, 5, 2, 6, 2);
    neighbour_reports_fini(&reports);
    topology_fini(&plan);
}

static void an_empty_file_has_no_reports(void **state)
{
    static const char *const files[] = {"", "\n# nothing\n", "node,port,neighbour,port\n", "[]"};
    for (unsigned i = 0; i < 4; i++) {
        struct neighbour_reports reports;
        assert_int_equal(read_text(&reports, &torus, files[i], NULL), OK);
        assert_int_equal(reports.count, 0);
        neighbour_reports_fini(&reports);
    }
}

static void every_error_names_its_line(void **state)
{
    refused("0,0,1,1\n0,1,9,0", "seen: line 2: the plan has no node '9'");
    refused("0,0,left,1", "seen: line 1: the plan has no node 'left'");
    refused("0,0,99999999999999999999,1",
            "seen: line 1: the plan has no node '99999999999999999999'");
    refused("-1,0,1,1", "seen: line 1: the plan has no node '-1'");
    refused("0,4,1,1", "seen: line 1: there is no port 4: node 0 has 4 ports, numbered from 0");
    refused("0,0,1,+z", "seen: line 1: '+z' is not a port number");
    refused("0,,1,1", "seen: line 1: '' is not a port number");
    refused("0,99999999999999999999,1,1",
            "seen: line 1: '99999999999999999999' is not a port number");
    refused("0,jump,1,1", "seen: line 1: 'jump' is not a port number");
    refused("0,0,1", "seen: line 1: expected the four fields node,port,neighbour,port");
    refused("\n\n0,0,1,1,2",
            "seen: line 3: expected only the four fields node,port,neighbour,port");
    refused("\"0,0,1,1", "seen: line 1: a closing quote is missing");
    refused("\"0\"0,0,1,1", "seen: line 1: expected a comma after the quoted name");
    refused("0,0,0,0", "seen: line 1: a port is reported as its own neighbour");
    refused("0,0,1,1\nnode,port,neighbour,port", "seen: line 2: the plan has no node 'node'");
    refused("0,0,1,1\n1,1,0,0\n0,+x,2,1",
            "seen: line 3: port +x(0) of node 0 has another neighbour on line 1");
    refused("[{\"node\": 0,\n\"port\": 0}]", "seen: line 1: the report has no neighbour");
    refused("[\n3]", "seen: line 2: expected an object: a report");
    refused("{}", "seen: line 1: the file should be an array");
    refused("[{\"node\": true}]", "seen: line 1: node must be a name or a number");
}

static void directions_have_names(void **state)
{
    char label[PORT_LABEL_SIZE];
    struct topology nova = {.kind = TOPOLOGY_NOVACUBE, .axis_count = 3};
    assert_string_equal(port_label(&nova, 0, label), "+x(0)");
    assert_string_equal(port_label(&nova, 5, label), "-z(5)");
    assert_string_equal(port_label(&nova, 6, label), "jump(6)");
    assert_string_equal(port_label(&nova, 7, label), "7");
    assert_int_equal(port_label_find(&nova, "jump", 4), 6);
    assert_int_equal(port_label_find(&nova, "-y", 2), 3);
    assert_int_equal(port_label_find(&nova, "+w", 2), PORT_ANY);
    assert_int_equal(port_label_find(&nova, "4", 1), 4);
    assert_int_equal(port_label_limit(&nova, 0) - 1, 6);
    nova.kind = TOPOLOGY_OTHER;
    assert_string_equal(port_label(&nova, 3, label), "3");
    assert_int_equal(port_label_find(&nova, "+x", 2), PORT_ANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(csv_allows_blanks_comments_and_quotes),
        TEST(json_is_read_too),
        TEST(names_take_precedence_over_numbers),
        TEST(an_empty_file_has_no_reports),
        TEST(every_error_names_its_line),
        TEST(directions_have_names),
    };
    return cmocka_run_group_tests(tests, torus_setup, torus_teardown);
}
