#include "cli/topo/topology_out.h"

#include <string.h>

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
    if (!err && !call_has(call, "format"))
        err = call_out_ending(call, "out", format_endings,
                              "; --format selects the format for other names", why);
    return err;
}

static void report(struct call *call, const struct topology *topology, enum format format,
                   const char *path)
{
    const char *kind = topology_kind_name(topology->kind);
    struct result *result =
        call_result(call, "{file}: {title}, {nodes|node|nodes}, {links|link|links}, "
                          "{servers|server|servers}, as {format}\n");
    result_string(result, "file", path);
    result_string(result, "format", format_words[format]);
    result_string(result, "kind", kind);
    result_string(result_hide(result), "title", topology->spec[0] ? topology->spec : kind);
    result_string(result, "spec", topology->spec);
    result_uint(result, "nodes", topology->graph.node_count);
    result_uint(result, "servers", topology->server_count);
    result_uint(result, "switches", topology_switch_count(topology));
    result_uint(result, "links", topology->graph.link_count);
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
