/* Tests neighbour reports against a small plan: a report is refused in one line, or it is inspected
 * and gets a repair whose cost is the one that the counts imply. */
#include "fuzz.h"
#include "topology/cabling/inspection.h"
#include "topology/cabling/neighbour_report.h"
#include "topology/cabling/repair.h"

static void inspect(const struct topology *plan, const struct neighbour_reports *reports,
                    bool ports)
{
    struct inspection seen;
    struct repair repair;
    struct why why = {""};
    assert(inspection_make(&seen, plan, reports, ports, &why) == OK);
    assert(seen.right_count + seen.misplaced_count + seen.missing_count == plan->graph.link_count);
    assert(seen.right_count + seen.misplaced_count + seen.surplus_count == seen.found_count);
    assert(repair_make(&repair, &seen, &plan->graph, &why) == OK);
    uint32_t missing = seen.missing_count, surplus = seen.surplus_count;
    assert(repair.moves ==
           seen.misplaced_count + 2 * missing + (surplus > missing ? surplus - missing : 0));
    repair_fini(&repair);
    inspection_fini(&seen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const plans[] = {"novacube:4x3", "fattree:k=4"};
    for (int i = 0; i < 2; i++) {
        struct topology plan;
        struct neighbour_reports reports;
        struct why why = {""};
        assert(topology_build(&plan, plans[i], &why) == OK);
        if (neighbour_reports_read(&reports, &plan, (const char *)data, size, "seen", &why)) {
            fuzz_check_why(&why);
        } else {
            inspect(&plan, &reports, true);
            inspect(&plan, &reports, false);
            neighbour_reports_fini(&reports);
        }
        topology_fini(&plan);
    }
    return 0;
}
