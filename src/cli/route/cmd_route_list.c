/* weft route list */
#include "cli/commands.h"
#include "cli/core/call.h"
#include "routing/route.h"
#include "topology/topology.h"

/* A small network of each kind. The command tries each algorithm on each of them,
 * so that no second list is needed. */
static const struct {
    const char *kind, *spec;
} samples[] = {
    {"torus", "torus:4x4"},
    {"novacube", "novacube:4x4"},
    {"any", "jellyfish:n=10,degree=3,seed=1"}, /* a network without structure */
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

static const char list_page[] =
    "algorithm         network                     how a packet goes\n"
    "{#algorithms}{name%-16s}  {kinds%-15s}  {?oblivious}oblivious{:}adaptive {/}  {summary}\n{/}";

static void algorithm_put(struct result *result, const struct route_algorithm *algorithm,
                          const bool *fits)
{
    bool all = fits[SAMPLE_COUNT - 1];
    result_object(result, NULL);
    result_string(result, "name", algorithm->name);
    result_string(result, "summary", algorithm->summary);
    result_array(result, "fits");
    for (int i = 0; i < SAMPLE_COUNT; i++)
        if (fits[i])
            result_string(result, NULL, samples[i].kind);
    result_end(result);
    result_bool(result, "oblivious", algorithm->oblivious);
    struct text *kinds = result_words(result_hide(result), "kinds");
    const char *comma = "";
    for (int i = all ? SAMPLE_COUNT - 1 : 0; i < SAMPLE_COUNT; i++) {
        if (!fits[i])
            continue;
        text_printf(kinds, "%s%s", comma, samples[i].kind);
        comma = ", ";
    }
    result_end(result);
}

static enum err list_all(struct call *call, const struct topology *topologies, struct why *why)
{
    struct result *result = call_result(call, list_page);
    result_array(result, "algorithms");
    for (const struct route_algorithm *const *each = route_algorithms; *each; each++) {
        bool fits[SAMPLE_COUNT];
        enum err err = find_fits(topologies, (*each)->name, fits, why);
        if (err)
            return err;
        algorithm_put(result, *each, fits);
    }
    result_end(result);
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
    .summary = "list the routing algorithms",
    .description =
        "Lists the algorithms for --algorithm, the networks that each can be used on, and how it "
        "routes. An oblivious algorithm chooses paths independently of the load. An adaptive "
        "algorithm chooses by load. When weft computes paths or loads, there is no load to choose "
        "by, so all moves that a packet may take count as equally likely.\n\n"
        "With --json, fits lists kinds of network; any is a network without structure.",
    .options = list_options,
    .examples = "  weft route list\n"
                "  weft route list --json",
    .run = list_run,
};
