/* weft route rules: makes forwarding tables, writes them, reads them again and replays them. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/file.h"
#include "cli/core/load.h"
#include "cli/core/progress.h"
#include "cli/route/rules_report.h"
#include "routing/route.h"

#define NAME_LENGTH_MAX 200 /* of a file, without its ending; systems allow 255 */

/* The state of one call. */
struct tables_call {
    struct call *call;
    struct topology topology;
    struct rules_report report;
    struct rules rules;  /* of all switches, or of one */
    uint32_t only;       /* the switch whose table is printed; NODE_NONE: all */
    bool labels;         /* --format mpls */
    bool json;           /* --format json */
    const char *tag;     /* --tag, or NULL */
    struct text remarks; /* at the head of every file */
};

/* --- options --- */

static enum err options_read(struct tables_call *tables, struct why *why)
{
    static const char *const algorithms[] = {"k-shortest", "ecmp", NULL};
    static const char *const formats[] = {"openflow", "mpls", "json", NULL};
    static const char *const tags[] = {"vlan", "mpls", NULL};
    const struct call *call = tables->call;
    static const char *const format_endings[][3] = {
        {".flows", ".txt", NULL}, {".mpls", ".txt", NULL}, {".json", NULL}};
    int algorithm = 0, format = 0, tag = 0;
    uint64_t ways = ROUTE_WAYS_DEFAULT, seed = 1;
    enum err err = call_choice(call, "algorithm", algorithms, &algorithm, why);
    if (!err)
        err = call_choice(call, "format", formats, &format, why);
    if (!err)
        err = call_choice(call, "tag", tags, &tag, why);
    if (!err)
        err = call_uint(call, "ways", 1, UINT32_MAX, &ways, why);
    if (!err)
        err = call_uint(call, "seed", 0, UINT64_MAX, &seed, why);
    if (!err)
        err = call_out_file(call, "out", &tables->report.file, why);
    if (!err)
        err =
            call_out_ending(call, "out", format_endings[format], "; --format chooses another", why);
    if (err)
        return err;
    tables->labels = format == 1;
    tables->json = format == 2;
    tables->tag = call_option(call, "tag");
    if (tables->tag && format != 0)
        return why_fail(why, ERR_USAGE, "--tag %s: needs --format openflow", tables->tag);
    if (call_has(call, "check") &&
        (call_has(call, "out") || call_has(call, "switch") || call_has(call, "format")))
        return why_fail(why, ERR_USAGE,
                        "--check: cannot be combined with --out, --switch or --format");
    tables->report.order = (struct rules_order){
        .labels = tables->labels ? RULES_SWAPPED : RULES_CONSTANT,
        .rule = algorithm ? K_SHORTEST_EQUAL : K_SHORTEST_ANY,
        .ways = (uint32_t)ways,
        .seed = seed,
        .progress = progress_observer,
    };
    return OK;
}

static enum err switch_find(struct tables_call *tables, struct why *why)
{
    const char *name = call_option(tables->call, "switch");
    tables->only = NODE_NONE;
    if (!name)
        return OK;
    tables->only = topology_find(&tables->topology, name);
    if (tables->only == NODE_NONE)
        return why_fail(why, ERR_USAGE, "--switch %s: no such switch", name);
    return OK;
}

/* Chooses the smallest tag that holds the labels, unless --tag names one. */
static enum err encoding_choose(struct tables_call *tables, struct why *why)
{
    uint32_t labels = tables->rules.label_count;
    struct rules_report *report = &tables->report;
    report->labels = labels;
    if (tables->labels) {
        report->encoding = RULES_LABELS;
        return OK;
    }
    if (tables->json) {
        report->encoding = RULES_JSON;
        return OK;
    }
    bool vlan = tables->tag ? strcmp(tables->tag, "vlan") == 0 : labels <= RULES_VLAN_COUNT;
    report->encoding = vlan ? RULES_OPENFLOW_VLAN : RULES_OPENFLOW_MPLS;
    if (vlan && labels > RULES_VLAN_COUNT)
        return why_fail(why, ERR_USAGE,
                        "--tag vlan: paths to one destination need %u tags, but there are only %u "
                        "VLANs: use --tag mpls",
                        labels, RULES_VLAN_COUNT);
    return OK;
}

static void remarks_make(struct tables_call *tables)
{
    struct text *out = &tables->remarks;
    const struct rules_report *report = &tables->report;
    bool openflow =
        report->encoding == RULES_OPENFLOW_VLAN || report->encoding == RULES_OPENFLOW_MPLS;
    out->size = 0;
    text_printf(out, "%s: %s, --ways %u, seed %llu; see weft-rules(5)\n", report->name,
                rules_report_algorithm(report), report->order.ways,
                (unsigned long long)report->order.seed);
    if (openflow)
        text_puts(out, "load a switch's lines with: ovs-ofctl -O OpenFlow15 bundle BRIDGE FILE\n"
                       "port P of the cabling is OpenFlow port P + 1; server I of switch S is "
                       "02:SS:SS:SS:II:II\n");
}

/* --- reading tables back --- */

/* Replays the tables that were read, and frees them. */
static enum err tables_replay(struct tables_call *tables, struct rule_tables *read,
                              const struct rules *expected, struct observer progress,
                              struct why *why)
{
    enum err err = rule_tables_sort(read, why);
    if (err)
        return err;
    rule_tables_count(read, &tables->report.counts);
    return replay_tables(&tables->report.replay, read, expected, progress, why);
}

/* New tables must pass the replay; if they do not, it is a bug of weft. */
static enum err faults_refuse(const struct tables_call *tables, struct why *why)
{
    const struct rule_replay *replay = &tables->report.replay;
    if (!replay->fault_count)
        return OK;
    return why_fail(why, ERR_SYSTEM,
                    "the new tables do not pass the check, which is a bug in weft: %.*s",
                    (int)strcspn(replay->found.data, "\n"), replay->found.data);
}

/* Reads and replays the text of new tables. */
static enum err text_replay(struct tables_call *tables, const struct text *text,
                            const struct rules *rules, struct observer progress, struct why *why)
{
    struct rule_tables read = {0};
    if (!text_ok(text))
        return why_memory(why);
    enum err err =
        rule_tables_read(&read, &tables->topology, "tables", text->data, text->size, why);
    if (!err)
        err = tables_replay(tables, &read, rules, progress, why);
    rule_tables_fini(&read);
    return err ? err : faults_refuse(tables, why);
}

/* --- writing them --- */

/* Composes a file of the switches first .. last - 1. */
static enum err file_compose(struct tables_call *tables, const struct rules *rules, uint32_t first,
                             uint32_t last, struct text *out, struct why *why)
{
    struct rules_writer writer;
    enum err err =
        rules_writer_init(&writer, out, &tables->topology, rules, tables->report.encoding, why);
    if (err)
        return err;
    rules_write_begin(&writer, text_ok(&tables->remarks) ? tables->remarks.data : NULL);
    for (uint32_t v = first; v < last; v++)
        rules_write_switch(&writer, v);
    rules_write_end(&writer);
    rules_writer_fini(&writer);
    return text_ok(out) ? OK : why_memory(why);
}

static const char *file_ending(enum rules_encoding encoding)
{
    switch (encoding) {
    case RULES_OPENFLOW_VLAN:
    case RULES_OPENFLOW_MPLS:
        return "flows";
    case RULES_LABELS:
        return "mpls";
    case RULES_JSON:
        return "json";
    case RULES_ENCODING_COUNT:
        break;
    }
    assert_unreachable();
}

/* Makes FOLDER/NAME.flows. If the name is too long for a file, NAME is %nNUMBER, which is never the
 * name of a switch. */
static void file_name(struct text *out, const struct tables_call *tables, const char *folder,
                      uint32_t node, const char *ending)
{
    char name[NODE_NAME_SIZE];
    bool slash = folder[0] && folder[strlen(folder) - 1] == '/';
    out->size = 0;
    text_printf(out, "%s%s", folder, slash ? "" : "/");
    size_t start = out->size;
    rules_write_name(out, topology_name(&tables->topology, node, name));
    if (text_ok(out) && out->size - start > NAME_LENGTH_MAX) {
        out->size = start;
        text_printf(out, "%%n%u", node);
    }
    text_printf(out, ".%s", ending);
}

static bool is_folder(const char *path)
{
    struct stat status;
    size_t size = strlen(path);
    if (size && path[size - 1] == '/')
        return true;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Writes a file for each switch. */
static enum err folder_write(struct tables_call *tables, const char *folder, struct why *why)
{
    struct text path = {0}, text = {0};
    uint32_t nodes = tables->topology.graph.node_count;
    bool all = tables->only == NODE_NONE;
    enum err err = file_make_folder(folder, why);
    for (uint32_t v = all ? 0 : tables->only; v < (all ? nodes : tables->only + 1) && !err; v++) {
        text.size = 0;
        file_name(&path, tables, folder, v, file_ending(tables->report.encoding));
        err = file_compose(tables, &tables->rules, v, v + 1, &text, why);
        if (!err && !text_ok(&path))
            err = why_memory(why);
        if (!err)
            err = file_write(path.data, &text, why);
    }
    text_fini(&path);
    text_fini(&text);
    return err;
}

/* Prints the tables, or writes them and reports. `text` has all requested tables. */
static enum err tables_deliver(struct tables_call *tables, struct text *text, struct why *why)
{
    struct call *call = tables->call;
    const char *path = tables->report.file;
    enum err err = OK;
    if (path && is_folder(path))
        err = folder_write(tables, path, why);
    else if (path)
        err = file_write(path, text, why);
    if (err)
        return err;
    if (call->json || path) {
        rules_report(call, &tables->report);
    } else {
        text_fini(&call->out);
        call->out = *text;
        *text = (struct text){0};
    }
    return OK;
}

/* --- all tables at once --- */

static enum err tables_make(struct tables_call *tables, struct why *why)
{
    struct text text = {0};
    enum err err = rules_make(&tables->rules, &tables->topology, &tables->report.order, why);
    if (!err)
        err = encoding_choose(tables, why);
    if (err)
        return err;
    remarks_make(tables);
    err = file_compose(tables, &tables->rules, 0, tables->topology.graph.node_count, &text, why);
    if (!err)
        err = text_replay(tables, &text, &tables->rules, progress_observer, why);
    if (!err)
        err = tables_deliver(tables, &text, why);
    text_fini(&text);
    return err;
}

/* --- the table of one switch, one destination at a time --- */

/* Keeps the rules that belong to the table of the switch. */
static enum err slice_keep(struct tables_call *tables, const struct rules *slice, struct why *why)
{
    struct rules *kept = &tables->rules;
    if (!array_reserve(&kept->hops, &kept->hop_capacity, kept->hop_count + slice->hop_count,
                       sizeof *kept->hops) ||
        !array_reserve(&kept->ways, &kept->way_capacity, kept->way_count + slice->way_count,
                       sizeof *kept->ways))
        return why_memory(why);
    for (size_t i = 0; i < slice->hop_count; i++)
        if (slice->hops[i].at == tables->only)
            kept->hops[kept->hop_count++] = slice->hops[i];
    for (size_t i = 0; i < slice->way_count; i++)
        if (slice->ways[i].from == tables->only || slice->ways[i].to == tables->only)
            kept->ways[kept->way_count++] = slice->ways[i];
    if (slice->label_count > kept->label_count)
        kept->label_count = slice->label_count;
    return OK;
}

static enum err slice_make(struct tables_call *tables, struct rules_maker *maker, uint32_t to,
                           struct rules *slice, struct text *text, struct why *why)
{
    slice->hop_count = slice->way_count = 0;
    text->size = 0;
    enum err err = rules_maker_add(maker, to, slice, why);
    if (err)
        return err;
    rules_sort(slice);
    err = slice_keep(tables, slice, why);
    if (!err)
        err = encoding_choose(tables, why);
    if (!err)
        err = file_compose(tables, slice, 0, tables->topology.graph.node_count, text, why);
    return err ? err : text_replay(tables, text, slice, (struct observer){0}, why);
}

/* Makes the table of one switch. For each destination it makes the tables of all
 * switches, replays them, and drops what is not needed. */
static enum err slices_make(struct tables_call *tables, struct why *why)
{
    struct topology *topology = &tables->topology;
    struct rules slice = {0};
    struct text text = {0};
    struct rules_maker *maker;
    tables->rules = (struct rules){.labels = tables->report.order.labels, .only = NODE_NONE};
    enum err err = rules_maker_open(&maker, topology, &tables->report.order, why);
    for (uint32_t to = 0; to < topology->graph.node_count && !err; to++) {
        if (topology->sites[to].servers)
            err = slice_make(tables, maker, to, &slice, &text, why);
        progress_show("replay", to + 1, topology->graph.node_count);
    }
    rules_maker_close(maker);
    rules_fini(&slice);
    if (!err) {
        tables->rules.label_count = tables->report.labels;
        rules_sort(&tables->rules);
    }
    text_fini(&text);
    return err;
}

/* Checks that no two rules of the switch match the same packets, for all destinations. */
static enum err switch_check(struct tables_call *tables, const struct text *text, struct why *why)
{
    struct rule_tables read = {0};
    enum err err =
        rule_tables_read(&read, &tables->topology, "tables", text->data, text->size, why);
    if (!err)
        err = rule_tables_sort(&read, why);
    if (!err)
        err = replay_overlaps(&tables->report.replay, &read, why);
    rule_tables_fini(&read);
    return err ? err : faults_refuse(tables, why);
}

static enum err switch_make(struct tables_call *tables, struct why *why)
{
    struct text text = {0};
    enum err err = slices_make(tables, why);
    if (!err)
        err = encoding_choose(tables, why);
    if (err)
        return err;
    remarks_make(tables);
    err = file_compose(tables, &tables->rules, tables->only, tables->only + 1, &text, why);
    if (!err)
        err = switch_check(tables, &text, why);
    if (!err)
        err = tables_deliver(tables, &text, why);
    text_fini(&text);
    return err;
}

/* --- tables from files --- */

static enum err file_check(struct tables_call *tables, struct rule_tables *read, const char *path,
                           struct why *why)
{
    char *data;
    size_t size;
    enum err err = file_read(path, &data, &size, why);
    if (err)
        return err;
    err = rule_tables_read(read, &tables->topology,
                           strcmp(path, "-") == 0 ? "standard input" : path, data, size, why);
    free(data);
    return err;
}

/* Reads the files of all switches, which have the format of the first. */
static enum err folder_check(struct tables_call *tables, struct rule_tables *read,
                             const char *folder, struct why *why)
{
    static const enum rules_encoding forms[] = {RULES_OPENFLOW_VLAN, RULES_LABELS, RULES_JSON};
    struct text path = {0};
    const char *ending = NULL;
    enum err err = OK;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !ending; i++) {
        file_name(&path, tables, folder, 0, file_ending(forms[i]));
        if (text_ok(&path) && access(path.data, F_OK) == 0)
            ending = file_ending(forms[i]);
    }
    for (uint32_t v = 0; v < tables->topology.graph.node_count && !err; v++) {
        file_name(&path, tables, folder, v, ending ? ending : "flows");
        err = text_ok(&path) ? file_check(tables, read, path.data, why) : why_memory(why);
    }
    text_fini(&path);
    return err;
}

static enum err tables_check(struct tables_call *tables, const char *path, struct why *why)
{
    struct call *call = tables->call;
    struct rule_tables read = {.topology = &tables->topology};
    struct rules_report *report = &tables->report;
    enum err err = is_folder(path) ? folder_check(tables, &read, path, why)
                                   : file_check(tables, &read, path, why);
    if (!err) /* for the expected lengths of the paths */
        err = rules_make(&tables->rules, &tables->topology, &report->order, why);
    if (!err)
        err = tables_replay(tables, &read, &tables->rules, progress_observer, why);
    report->encoding = read.encoding;
    report->file = path;
    report->read = true;
    rule_tables_fini(&read);
    if (err)
        return err;
    call->no = report->replay.fault_count > 0;
    rules_report(call, report);
    return OK;
}

/* --- the command --- */

static enum err rules_run(struct call *call, struct why *why)
{
    struct tables_call tables = {.call = call};
    enum err err = options_read(&tables, why);
    if (!err)
        err = load_topology(&tables.topology, call->arguments[0], why);
    if (err)
        return err;
    tables.report.name = call->arguments[0];
    tables.report.topology = &tables.topology;
    tables.report.counts.per_switch =
        array_new(tables.topology.graph.node_count, sizeof *tables.report.counts.per_switch);
    err = tables.report.counts.per_switch ? switch_find(&tables, why) : why_memory(why);
    if (!err && call_has(call, "check"))
        err = tables_check(&tables, call_option(call, "check"), why);
    else if (!err)
        err = tables.only == NODE_NONE ? tables_make(&tables, why) : switch_make(&tables, why);
    rules_fini(&tables.rules);
    replay_fini(&tables.report.replay);
    text_fini(&tables.remarks);
    free(tables.report.counts.per_switch);
    topology_fini(&tables.topology);
    return err;
}

static const struct option rules_options[] = {
    {"algorithm", "k-shortest|ecmp",
     "which paths: the N shortest (default), or only those of the "
     "shortest length"},
    {"ways", "N", "the most paths for each pair of switches (default 8)"},
    {"seed", "N", "seed of the choice among paths of equal length (default 1)"},
    {"format", "openflow|mpls|json", "format of the tables (default openflow)"},
    {"tag", "vlan|mpls",
     "what carries the labels of openflow (default: VLAN tags if they suffice)"},
    {"switch", "SWITCH", "only the table of this switch; needs less memory than all tables"},
    {"out", "FILE|FOLDER",
     "write a file, or a folder with a file for each switch, and print a report"},
    {"check", "FILE|FOLDER", "check existing tables"},
    {0},
};

const struct command command_route_rules = {
    .name = "route rules",
    .arguments = "SPEC|FILE",
    .summary = "make forwarding tables for every switch, and check them",
    .description =
        "Finds the shortest paths between every two switches with servers and turns them into "
        "forwarding tables. The first switch chooses one of the paths for a packet and pushes a "
        "label; every switch on the path forwards by the label; the last switch removes it and "
        "delivers the packet.\n\n"
        "  openflow  lines for ovs-ofctl; a select group chooses among the paths, and the label\n"
        "            is a VLAN tag or MPLS label that does not change on the path. Paths to one\n"
        "            destination share a label unless they diverge at a switch\n"
        "  mpls      FTN and ILM entries; labels are local to a switch and swapped at every hop,\n"
        "            paths with the same remainder share one, and the last switch pops it\n"
        "  json      the tables of openflow as JSON\n\n"
        "Before anything is printed, the text is read again and every path of every pair is "
        "followed through it, switch by switch. Each pair must be reached over as many different "
        "paths as exist, up to --ways, of the right lengths and without loops; no rule may be "
        "unused or match packets that another rule matches. --check does the same with an "
        "existing file or folder; it prints each fault with its line, and the exit code is 1.\n\n"
        "Without --out the tables are printed; with --out or --json, a report is printed. "
        "weft-rules(5) describes the formats of the tables.",
    .options = rules_options,
    .examples = "  weft route rules jellyfish:servers=686,switches=245,ports=14 --out tables/\n"
                "  weft route rules fattree:k=4 --algorithm ecmp --switch 3\n"
                "  weft route rules torus:4x4 --ways 4 --format mpls > tables.mpls\n"
                "  weft route rules torus:4x4 --ways 4 --check tables.mpls --json",
    .run = rules_run,
};
