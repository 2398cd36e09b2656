#include "cli/topo/topology_out.h"

#include <string.h>

#include "base/json.h"
#include "cli/core/file.h"
#include "cli/core/load.h"

enum err topology_out_format(const struct call *call, enum format fallback, enum format *format,
                             struct why *why)
{
    const char *path = call_option(call, "out");
    int choice = fallback;
    if (path && format_of_name(path, format))
        choice = *format;
    enum err err = call_choice(call, "format", format_words, &choice, why);
    *format = (enum format)choice;
    return err;
}

static void report(struct call *call, const struct topology *topology, enum format format,
                   const char *path)
{
    const struct graph *graph = &topology->graph;
    if (!call->json) {
        text_printf(&call->out, "%s: %s, ", path,
                    topology->spec[0] ? topology->spec : topology_kind_name(topology->kind));
        text_count(&call->out, graph->node_count, "node", "nodes");
        text_puts(&call->out, ", ");
        text_count(&call->out, graph->link_count, "link", "links");
        text_puts(&call->out, ", ");
        text_count(&call->out, topology->server_count, "server", "servers");
        text_printf(&call->out, ", as %s\n", format_words[format]);
        return;
    }
    struct json json = json_make(&call->out, true);
    json_object(&json);
    json_put_string(&json, "file", path);
    json_put_string(&json, "format", format_words[format]);
    json_put_string(&json, "kind", topology_kind_name(topology->kind));
    json_put_string(&json, "spec", topology->spec);
    json_put_uint(&json, "nodes", graph->node_count);
    json_put_uint(&json, "servers", topology->server_count);
    json_put_uint(&json, "switches", topology_switch_count(topology));
    json_put_uint(&json, "links", graph->link_count);
    json_end(&json, '}');
}

enum err topology_out_file(const char *path, const struct topology *topology, enum format format,
                           struct why *why)
{
    struct text text = {0};
    enum err err = format_write(&text, format, topology, why);
    if (!err)
        err = file_write(path, &text, why);
    text_fini(&text);
    return err;
}

static enum err deliver(struct call *call, const struct topology *topology, enum format format,
                        struct why *why)
{
    const char *path = call_option(call, "out");
    if (!path || strcmp(path, "-") == 0) {
        if (call->json && format != FORMAT_JSON)
            return why_fail(why, ERR_USAGE, "%s: --json reports on a file, which needs --out FILE",
                            call->command->name);
        return format_write(&call->out, format, topology, why);
    }
    enum err err = topology_out_file(path, topology, format, why);
    if (!err)
        report(call, topology, format, path);
    return err;
}

enum err topology_out_run(struct call *call, struct why *why)
{
    struct topology topology;
    enum format format;
    enum err err = topology_out_format(call, FORMAT_JSON, &format, why);
    if (!err)
        err = load_topology(&topology, call->arguments[0], why);
    if (err)
        return err;
    err = deliver(call, &topology, format, why);
    topology_fini(&topology);
    return err;
}
