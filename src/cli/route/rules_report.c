#include "cli/route/rules_report.h"

#include <math.h>
#include <string.h>

#include "base/json.h"

typedef unsigned long long count;

const char *rules_report_algorithm(const struct rules_report *report)
{
    return report->order.rule == K_SHORTEST_EQUAL ? "ecmp" : "k-shortest";
}

/* The switch with the most rules. */
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

static void verdict_text(struct text *out, const struct rules_report *report)
{
    const struct replay *replay = &report->replay;
    if (!replay->fault_count) {
        text_puts(out, "every pair is reached on every path, without loops; "
                       "no rule is unused or ambiguous\n");
        return;
    }
    text_puts(out, "NO: ");
    bool begun = false;
    for (int i = 0; i < REPLAY_FAULT_COUNT; i++) {
        if (!replay->faults[i])
            continue;
        text_printf(out, "%s%llu ", begun ? ", " : "", (count)replay->faults[i]);
        for (const char *letter = replay_fault_words[i]; *letter; letter++)
            text_add(out, *letter == '_' ? " " : letter, 1);
        begun = true;
    }
    text_printf(out, "\n\n%s", replay->found.data);
    if (replay->fault_count > REPLAY_FOUND_MAX)
        text_printf(out, "and %llu more\n", (count)(replay->fault_count - REPLAY_FOUND_MAX));
}

void rules_report_text(struct text *out, const struct rules_report *report)
{
    const struct replay *replay = &report->replay;
    const struct rule_counts *counts = &report->counts;
    char name[NODE_NAME_SIZE];
    text_printf(out, "%s: ", report->name);
    text_count(out, report->topology->graph.node_count, "switch", "switches");
    text_puts(out, ", ");
    text_count(out, report->topology->server_count, "server", "servers");
    text_printf(out, "; %s, %u ways, seed %llu\n", rules_report_algorithm(report),
                report->order.ways, (count)report->order.seed);
    text_printf(out, "  form       %s\n", rules_encoding_words[report->encoding]);
    text_printf(out, "  rules      %10llu", (count)counts->total);
    if (counts->total) {
        uint32_t most = busiest(report);
        text_printf(out, "   mean %.1f, most %llu at switch ", rules_mean(report),
                    (count)counts->per_switch[most]);
        rules_write_name(out, topology_name(report->topology, most, name));
    }
    text_printf(out, "\n  by label   %10llu\n  ways       %10llu\n", (count)counts->forward,
                (count)counts->ways);
    if (report->labels)
        text_printf(out, "  labels     %10u   at most for one %s\n", report->labels,
                    report->encoding == RULES_LABELS ? "switch" : "destination");
    text_printf(out, "  pairs      %10llu   of switches with servers, reached %llu",
                (count)replay->pairs, (count)replay->reached);
    if (replay->apart)
        text_printf(out, "; no cables join %llu more", (count)replay->apart);
    text_printf(out, "\n  paths      %10llu", (count)replay->paths);
    if (replay->paths)
        text_printf(out, "   mean %.3f hops, longest %u", path_mean(report), replay->hops_max);
    text_puts(out, "\n  checked    ");
    verdict_text(out, report);
    if (report->file && !report->read)
        text_printf(out, "  written    %s\n", report->file);
}

static void replay_json(struct json *json, const struct replay *replay)
{
    json_key(json, "checked");
    json_object(json);
    json_put_uint(json, "pairs", replay->pairs);
    json_put_uint(json, "pairs_apart", replay->apart);
    json_put_uint(json, "paths", replay->paths);
    json_put_uint(json, "reached", replay->reached);
    for (int i = 0; i < REPLAY_FAULT_COUNT; i++)
        json_put_uint(json, replay_fault_words[i], replay->faults[i]);
    json_put_bool(json, "ok", replay->fault_count == 0);
    json_key(json, "findings");
    json_array(json);
    char *line = replay->found.data;
    while (line && *line) {
        char *end = strchr(line, '\n');
        *end = '\0'; /* the text ends every line */
        json_string(json, line);
        *end = '\n';
        line = end + 1;
    }
    json_end(json, ']');
    json_end(json, '}');
}

void rules_report_json(struct text *out, const struct rules_report *report)
{
    struct json json = json_make(out, true);
    char name[NODE_NAME_SIZE];
    uint32_t nodes = report->topology->graph.node_count, most = nodes ? busiest(report) : 0;
    json_object(&json);
    json_put_string(&json, "topology", report->name);
    json_put_string(&json, "algorithm", rules_report_algorithm(report));
    json_put_uint(&json, "ways", report->order.ways);
    json_put_uint(&json, "seed", report->order.seed);
    json_put_string(&json, "form", rules_encoding_words[report->encoding]);
    json_put_uint(&json, "switches", nodes);
    json_put_uint(&json, "servers", report->topology->server_count);
    json_put_uint(&json, "rules_total", report->counts.total);
    json_put_uint(&json, "rules_max", nodes ? report->counts.per_switch[most] : 0);
    if (nodes)
        json_put_string(&json, "rules_max_switch", topology_name(report->topology, most, name));
    else
        json_put_null(&json, "rules_max_switch");
    json_put_number(&json, "rules_mean", rules_mean(report));
    json_put_uint(&json, "rules_by_label", report->counts.forward);
    json_put_uint(&json, "way_entries", report->counts.ways);
    if (report->read)
        json_put_null(&json, "labels");
    else
        json_put_uint(&json, "labels", report->labels);
    json_put_number(&json, "mean_path", path_mean(report));
    json_put_uint(&json, "longest_path", report->replay.hops_max);
    replay_json(&json, &report->replay);
    if (report->file)
        json_put_string(&json, report->read ? "read" : "written", report->file);
    json_end(&json, '}');
}
