#include "topology/cabling/inspection.h"

#include <string.h>

#include "base/test.h"
#include "base/text.h"

/* Reads the reports and compares them with a ring of four servers. */
static void inspect(struct inspection *inspection, const char *data, bool ports)
{
    struct topology plan;
    struct neighbour_reports reports;
    assert_int_equal(topology_build(&plan, "torus:4", NULL), OK);
    assert_int_equal(neighbour_reports_read(&reports, &plan, data, strlen(data), "seen", NULL), OK);
    assert_int_equal(inspection_make(inspection, &plan, &reports, ports, NULL), OK);
    neighbour_reports_fini(&reports);
    topology_fini(&plan);
}

static void counts_are(const char *data, bool ports, uint32_t right, uint32_t misplaced,
                       uint32_t missing, uint32_t surplus, uint32_t contradictions)
{
    struct inspection seen;
    inspect(&seen, data, ports);
    assert_int_equal(seen.right_count, right);
    assert_int_equal(seen.misplaced_count, misplaced);
    assert_int_equal(seen.missing_count, missing);
    assert_int_equal(seen.surplus_count, surplus);
    assert_int_equal(seen.contradiction_count, contradictions);
    assert_int_equal(inspection_ok(&seen), !(misplaced || missing || surplus || contradictions));
    inspection_fini(&seen);
}

static void a_cable_may_be_reported_from_one_end_or_both(void **state)
{
    counts_are("0,0,1,1\n1,0,2,1\n2,0,3,1\n3,0,0,1\n", true, 4, 0, 0, 0, 0);
    counts_are("0,0,1,1\n1,1,0,0\n2,1,1,0\n2,0,3,1\n3,1,2,0\n0,1,3,0\n3,0,0,1\n1,0,2,1\n", true, 4,
               0, 0, 0, 0);
}

static void ports_are_compared_only_on_request(void **state)
{
    /* the cable between 0 and 1 is reversed, and so is that between 0 and 3 */
    const char *data = "0,1,1,1\n1,0,2,1\n2,0,3,1\n3,0,0,0\n";
    counts_are(data, false, 4, 0, 0, 0, 0);
    counts_are(data, true, 2, 2, 0, 0, 0);
}

static void findings_have_names(void **state)
{
    counts_are("1,0,2,1\n2,0,3,1\n3,0,0,1\n", true, 3, 0, 1, 0, 0);
    counts_are("1,0,2,1\n2,0,3,1\n3,0,0,1\n0,0,1,1\n", true, 4, 0, 0, 0, 0);
    counts_are("0,0,2,1\n2,0,3,1\n3,0,0,1\n", true, 2, 1, 1, 0, 0);
    counts_are("", true, 0, 0, 4, 0, 0);
    counts_are("0,0,1,1\n1,0,2,1\n2,0,0,1\n3,0,3,1\n", true, 2, 2, 0, 0, 0);
    counts_are("0,0,1,1\n1,0,2,1\n2,0,3,1\n0,1,3,0\n", false, 4, 0, 0, 0, 0);
    counts_are("0,0,1,1\n0,1,1,0\n2,0,3,1\n3,0,2,1\n", false, 2, 2, 0, 0, 0);
}

static void a_swap_is_one_finding(void **state)
{
    struct inspection seen;
    inspect(&seen, "0,0,3,1\n1,0,2,1\n2,0,1,1\n3,0,0,1\n", true);
    assert_int_equal(seen.misplaced_count, 2);
    assert_int_equal(seen.misplaced[0].swap, 1);
    assert_int_equal(seen.misplaced[1].swap, 0);
    inspection_fini(&seen);
    /* three cables in a cycle are not a swap */
    inspect(&seen, "0,0,2,1\n1,0,3,1\n2,0,1,1\n3,0,0,1\n", true);
    assert_int_equal(seen.misplaced_count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(seen.misplaced[i].swap, FINDING_NONE);
    inspection_fini(&seen);
}

/* Thousands of cables at one node or between the same two nodes, for which a quadratic search would
 * take minutes. */
static void many_cables_at_one_node_are_fast(void **state)
{
    enum { CABLES = 30000 };
    static struct link star[CABLES], pairs[2 * CABLES];
    struct text hub = {0}, crossed = {0};
    for (uint32_t i = 0; i < CABLES; i++) {
        star[i] = (struct link){0, i + 1, PORT_ANY, PORT_ANY};
        pairs[2 * i] = (struct link){0, 1, PORT_ANY, PORT_ANY};
        pairs[2 * i + 1] = (struct link){2, 3, PORT_ANY, PORT_ANY};
        text_printf(&hub, "0,%u,0,%u\n", 2 * i, 2 * i + 1);
        text_printf(&crossed, "0,%u,3,%u\n2,%u,1,%u\n", i, i, i, i);
    }
    const struct {
        uint32_t nodes, links;
        const struct link *plan;
        const struct text *seen;
        bool swapped;
    } cases[] = {{CABLES + 1, CABLES, star, &hub, false}, {4, 2 * CABLES, pairs, &crossed, true}};
    for (int i = 0; i < 2; i++) {
        struct topology plan;
        struct neighbour_reports reports;
        struct inspection seen;
        assert_int_equal(topology_init(&plan, TOPOLOGY_OTHER, true, cases[i].nodes, cases[i].plan,
                                       cases[i].links, NULL),
                         OK);
        assert_int_equal(neighbour_reports_read(&reports, &plan, cases[i].seen->data,
                                                cases[i].seen->size, "seen", NULL),
                         OK);
        assert_int_equal(inspection_make(&seen, &plan, &reports, false, NULL), OK);
        assert_int_equal(seen.misplaced_count, cases[i].links);
        for (uint32_t m = 0; m < seen.misplaced_count; m++) {
            uint32_t other = seen.misplaced[m].swap;
            assert_int_equal(other != FINDING_NONE, cases[i].swapped);
            assert_true(!cases[i].swapped || seen.misplaced[other].swap == m);
        }
        inspection_fini(&seen);
        neighbour_reports_fini(&reports);
        topology_fini(&plan);
    }
    text_fini(&hub);
    text_fini(&crossed);
}

static void contradictions_name_both_reports(void **state)
{
    struct inspection seen;
    /* a reports b, b reports c, c reports nothing: both reports are in doubt */
    inspect(&seen, "0,0,1,1\n1,1,2,0\n", true);
    assert_int_equal(seen.found_count, 0);
    assert_int_equal(seen.contradiction_count, 1);
    assert_int_equal(seen.contradictions[0].claim.line + seen.contradictions[0].other.line, 3);
    inspection_fini(&seen);
    /* ... but two ends that agree outweigh a third */
    inspect(&seen, "0,0,1,1\n1,1,2,0\n2,0,1,1\n", true);
    assert_int_equal(seen.found_count, 1);
    assert_int_equal(seen.contradiction_count, 1);
    assert_int_equal(seen.contradictions[0].claim.line, 1);
    assert_int_equal(seen.contradictions[0].other.line, 2);
    inspection_fini(&seen);
    /* two ports report the same silent port */
    inspect(&seen, "0,0,1,1\n2,1,1,1\n", true);
    assert_int_equal(seen.found_count, 0);
    assert_int_equal(seen.contradiction_count, 1);
    inspection_fini(&seen);
    counts_are("0,0,1,1\n1,0,2,1\n2,0,3,1\n3,0,0,1\n0,1,2,1\n", true, 2, 0, 2, 0, 2);
}

TEST_MAIN(TEST(a_cable_may_be_reported_from_one_end_or_both),
          TEST(ports_are_compared_only_on_request), TEST(findings_have_names),
          TEST(a_swap_is_one_finding), TEST(many_cables_at_one_node_are_fast),
          TEST(contradictions_name_both_reports))
