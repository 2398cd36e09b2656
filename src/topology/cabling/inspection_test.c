#include "topology/cabling/inspection.h"

#include <string.h>

#include "base/test.h"

/* Reads the reports and inspects them against a ring of four servers. */
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

static void one_report_per_cable_or_per_end(void **state)
{
    counts_are("0,0,1,1\n1,0,2,1\n2,0,3,1\n3,0,0,1\n", true, 4, 0, 0, 0, 0);
    counts_are("0,0,1,1\n1,1,0,0\n2,1,1,0\n2,0,3,1\n3,1,2,0\n0,1,3,0\n3,0,0,1\n1,0,2,1\n", true, 4,
               0, 0, 0, 0);
}

static void ports_count_only_when_they_should(void **state)
{
    /* the cable of 0 and 1 the wrong way round, like that of 0 and 3 */
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
    /* three in a ring are no swap */
    inspect(&seen, "0,0,2,1\n1,0,3,1\n2,0,1,1\n3,0,0,1\n", true);
    assert_int_equal(seen.misplaced_count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(seen.misplaced[i].swap, FINDING_NONE);
    inspection_fini(&seen);
}

static void contradictions_name_both_reports(void **state)
{
    struct inspection seen;
    /* a sees b, b sees c, c is silent: both reports are in doubt */
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
    /* two claim a silent port */
    inspect(&seen, "0,0,1,1\n2,1,1,1\n", true);
    assert_int_equal(seen.found_count, 0);
    assert_int_equal(seen.contradiction_count, 1);
    inspection_fini(&seen);
    counts_are("0,0,1,1\n1,0,2,1\n2,0,3,1\n3,0,0,1\n0,1,2,1\n", true, 2, 0, 2, 0, 2);
}

TEST_MAIN(TEST(one_report_per_cable_or_per_end), TEST(ports_count_only_when_they_should),
          TEST(findings_have_names), TEST(a_swap_is_one_finding),
          TEST(contradictions_name_both_reports))
