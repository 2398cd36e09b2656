/* Tests forwarding tables for a small network: a table is refused in one line, or it is replayed
 * and the way of every packet ends. */
#include "fuzz.h"
#include "routing/rules/rule_replay.h"
#include "routing/rules/rule_tables.h"

/* Four switches in a ring with one chord; one switch has no servers. */
static void network_make(struct topology *topology, struct rules *rules)
{
    static const struct link links[] = {
        {0, 1, 0, 0}, {1, 2, 1, 0}, {2, 3, 1, 0}, {3, 0, 1, 1}, {0, 2, 2, 2},
    };
    static const uint32_t servers[] = {2, 1, 0, 1};
    struct rules_order order = {.ways = 2, .seed = 1};
    assert(topology_init(topology, TOPOLOGY_OTHER, false, 4, links, 5, NULL) == OK);
    for (uint32_t v = 0; v < 4; v++)
        topology->sites[v].servers = servers[v];
    topology_count_servers(topology);
    assert(rules_make(rules, topology, &order, NULL) == OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct topology topology;
    struct rules rules;
    struct rule_tables tables = {0};
    struct rule_replay replay = {0};
    struct why why = {""};
    network_make(&topology, &rules);
    if (rule_tables_read(&tables, &topology, "tables", (const char *)data, size, &why)) {
        fuzz_check_why(&why);
    } else {
        uint64_t per_switch[4] = {0}, faults = 0;
        struct rule_counts counts = {.per_switch = per_switch};
        assert(rule_tables_sort(&tables, &why) == OK);
        rule_tables_count(&tables, &counts);
        assert(counts.total == per_switch[0] + per_switch[1] + per_switch[2] + per_switch[3]);
        assert(counts.total <= tables.count);
        assert(replay_tables(&replay, &tables, &rules, (struct observer){0}, &why) == OK);
        for (int i = 0; i < REPLAY_FAULT_COUNT; i++)
            faults += replay.faults[i];
        assert(faults == replay.fault_count && replay.reached <= replay.pairs);
        assert(replay.pairs + replay.apart == 6 && replay.hops_max <= 3);
        assert(faults || replay.reached == 6);
        replay_fini(&replay);
    }
    rule_tables_fini(&tables);
    rules_fini(&rules);
    topology_fini(&topology);
    return 0;
}
