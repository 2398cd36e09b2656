/* weft route list */
#include "base/json.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "routing/route.h"
#include "topology/topology.h"

/* A small network of each kind. What an algorithm fits is tried, not written
 * down a second time. */
static const struct {
    const char *kind, *spec;
} samples[] = {
    {"torus", "torus:4x4"},
    {"novacube", "novacube:4x4"},
    {"any", "jellyfish:n=10,degree=3,seed=1"}, /* no structure at all */
};
enum { SAMPLE_COUNT = sizeof samples / sizeof *samples };

static enum err find_fits(const struct topology *topologies, const char *algorithm, bool *fits,
                          struct why *why)
{
    for (int i = 0; i < SAMPLE_COUNT; i++) {
        struct router router;
        enum err err = router_open(&router, algorithm, &topologies[i], NULL, why);
        fits[i] = !err;
        if (!err)
            router_close(&router);
        else if (err != ERR_USAGE)
            return err;
    }
    return OK;
}

static void list_json(struct json *json, const struct route_algorithm *algorithm, const bool *fits)
{
    json_object(json);
    json_put_string(json, "name", algorithm->name);
    json_put_string(json, "summary", algorithm->summary);
    json_key(json, "fits");
    json_array(json);
    for (int i = 0; i < SAMPLE_COUNT; i++)
        if (fits[i])
            json_string(json, samples[i].kind);
    json_end(json, ']');
    json_put_bool(json, "oblivious", algorithm->oblivious);
    json_end(json, '}');
}

static void list_text(struct text *out, const struct route_algorithm *algorithm, const bool *fits)
{
    struct text kinds = {0};
    for (int i = 0; i < SAMPLE_COUNT; i++)
        if (fits[i] && !(fits[SAMPLE_COUNT - 1] && i + 1 < SAMPLE_COUNT))
            text_printf(&kinds, "%s%s", kinds.size ? ", " : "", samples[i].kind);
    text_printf(out, "%-16s  %-15s  %-9s  %s\n", algorithm->name, kinds.data ? kinds.data : "",
                algorithm->oblivious ? "oblivious" : "adaptive", algorithm->summary);
    out->failed |= kinds.failed;
    text_fini(&kinds);
}

static enum err list_all(struct call *call, const struct topology *topologies, struct why *why)
{
    struct json json = json_make(&call->out, true);
    if (call->json) {
        json_object(&json);
        json_key(&json, "algorithms");
        json_array(&json);
    } else {
        text_printf(&call->out, "%-16s  %-15s  %-9s  %s\n", "algorithm", "network", "",
                    "how a packet goes");
    }
    for (const struct route_algorithm *const *each = route_algorithms; *each; each++) {
        bool fits[SAMPLE_COUNT];
        enum err err = find_fits(topologies, (*each)->name, fits, why);
        if (err)
            return err;
        if (call->json)
            list_json(&json, *each, fits);
        else
            list_text(&call->out, *each, fits);
    }
    if (call->json) {
        json_end(&json, ']');
        json_end(&json, '}');
    }
    return OK;
}

static enum err list_run(struct call *call, struct why *why)
{
    struct topology topologies[SAMPLE_COUNT] = {{0}};
    enum err err = OK;
    for (int i = 0; i < SAMPLE_COUNT && !err; i++)
        err = topology_build(&topologies[i], samples[i].spec, why);
    if (!err)
        err = list_all(call, topologies, why);
    for (int i = 0; i < SAMPLE_COUNT; i++)
        topology_fini(&topologies[i]);
    return err;
}

static const struct option list_options[] = {{0}};

const struct command command_route_list = {
    .name = "route list",
    .arguments = "",
    .summary = "the routing algorithms there are",
    .description =
        "Lists the algorithms that --algorithm names, the networks each can be used on, and what "
        "it does. An oblivious algorithm takes its ways whatever the load; the probabilities of an "
        "adaptive one depend on it, and where weft needs them without a load, all ways it may take "
        "count alike.\n\n"
        "With --json, fits lists kinds of network; any is a network without structure.",
    .options = list_options,
    .examples = "  weft route list\n"
                "  weft route list --json",
    .run = list_run,
};
