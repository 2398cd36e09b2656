#include "cli/route/rules_report.h"

#include <math.h>
#include <string.h>

const char *rules_report_algorithm(const struct rules_report *report)
{
    return report->order.rule == K_SHORTEST_EQUAL ? "ecmp" : "k-shortest";
}

/* Returns the switch with the most rules. */
static uint32_t busiest(const struct rules_report *report)
{
    uint32_t most = 0;
    for (uint32_t v = 1; v < report->topology->graph.node_count; v++)
        if (report->counts.per_switch[v] > report->counts.per_switch[most])
            most = v;
    return most;
}

static double rules_mean(const struct rules_report *report)
{
    double nodes = report->topology->graph.node_count;
    return nodes > 0 ? (double)report->counts.total / nodes : (double)NAN;
}

static double path_mean(const struct rules_report *report)
{
    double paths = (double)report->replay.paths;
    return paths > 0 ? (double)report->replay.hops / paths : (double)NAN;
}

static const char rules_page[] =
    "{topology}: {switches|switch|switches}, {servers|server|servers}; {algorithm}, at most "
    "{ways|path|paths} for each pair, seed {seed}\n"
    "  form       {form}\n"
    "  rules      {rules_total%10u}"
    "{?rules_total}   mean {rules_mean%.1f}, most {rules_max} at switch {rules_max_text}{/}\n"
    "  by label   {rules_by_label%10u}   of these rules match a label\n"
    "  first hops {way_entries%10u}   from which first switches choose, one for each path\n"
    "{?labels}  labels     {labels%10u}   the most "
    "{?swapped}at one switch{:}to one destination{/}\n{/}"
    "  pairs      {checked.pairs%10u}   of switches with servers, reached {checked.reached}"
    "{?checked.pairs_apart}; no cables join {checked.pairs_apart} more{/}\n"
    "  paths      {checked.paths%10u}"
    "{?checked.paths}   mean {mean_path%.3f} hops, longest {longest_path}{/}\n"
    "  checked    {?checked.ok}every pair is reached on every path, without loops; no rule is "
    "unused "
    "or ambiguous\n"
    "{:}NO: {#faults|, }{count} {fault}{/}\n\n{#checked.findings}{.}\n{/}"
    "{?faults_more}and {faults_more} more\n{/}{/}"
    "{?written}  written    {written}\n{/}";

/* Adds the faults for the page, with spaces instead of underscores in their names. */
static void faults_put(struct result *result, const struct rule_replay *replay)
{
    result_array(result_hide(result), "faults");
    for (int i = 0; i < REPLAY_FAULT_COUNT; i++) {
        if (!replay->faults[i])
            continue;
        result_object(result, NULL);
        result_uint(result, "count", replay->faults[i]);
        struct text *fault = result_words(result, "fault");
        for (const char *letter = replay_fault_words[i]; *letter; letter++)
            text_add(fault, *letter == '_' ? " " : letter, 1);
        result_end(result);
    }
    result_end(result);
    result_uint(result_hide(result), "faults_more",
                replay->fault_count > REPLAY_FOUND_MAX ? replay->fault_count - REPLAY_FOUND_MAX
                                                       : 0);
}

static void replay_put(struct result *result, const struct rule_replay *replay)
{
    result_object(result, "checked");
    result_uint(result, "pairs", replay->pairs);
    result_uint(result, "pairs_apart", replay->apart);
    result_uint(result, "paths", replay->paths);
    result_uint(result, "reached", replay->reached);
    for (int i = 0; i < REPLAY_FAULT_COUNT; i++)
        result_uint(result, replay_fault_words[i], replay->faults[i]);
    result_bool(result, "ok", replay->fault_count == 0);
    result_array(result, "findings");
    for (const char *line = replay->found.data; line && *line;) {
        size_t size = strcspn(line, "\n");
        text_add(result_words(result, NULL), line, size);
        line += size + 1; /* every line ends in a newline */
    }
    result_end(result);
    result_end(result);
}

void rules_report(struct call *call, const struct rules_report *report)
{
    struct result *result = call_result(call, rules_page);
    char name[NODE_NAME_SIZE] = "";
    uint32_t nodes = report->topology->graph.node_count, most = nodes ? busiest(report) : 0;
    const char *busy = nodes ? topology_name(report->topology, most, name) : NULL;
    result_string(result, "topology", report->name);
    result_string(result, "algorithm", rules_report_algorithm(report));
    result_uint(result, "ways", report->order.ways);
    result_uint(result, "seed", report->order.seed);
    result_string(result, "form", rules_encoding_words[report->encoding]);
    result_bool(result_hide(result), "swapped", report->encoding == RULES_LABELS);
    result_uint(result, "switches", nodes);
    result_uint(result, "servers", report->topology->server_count);
    result_uint(result, "rules_total", report->counts.total);
    result_uint(result, "rules_max", nodes ? report->counts.per_switch[most] : 0);
    result_string(result, "rules_max_switch", busy);
    rules_write_name(result_words(result_hide(result), "rules_max_text"), busy ? busy : "");
    result_number(result, "rules_mean", rules_mean(report));
    result_uint(result, "rules_by_label", report->counts.forward);
    result_uint(result, "way_entries", report->counts.ways);
    result_uint_if(result, "labels", !report->read, report->labels);
    result_number(result, "mean_path", path_mean(report));
    result_uint(result, "longest_path", report->replay.hops_max);
    faults_put(result, &report->replay);
    replay_put(result, &report->replay);
    if (report->file)
        result_string(result, report->read ? "read" : "written", report->file);
}
