/* weft route deadlock */
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/file.h"
#include "cli/core/progress.h"
#include "cli/route/route_call.h"
#include "routing/deadlock/deadlock.h"
#include "routing/deadlock/layers.h"

struct examination {
    struct route_call route;
    const char *lanes; /* the value of --lanes, or "own" */
    struct lane_rule rule;
    bool layered;            /* --lanes layers */
    uint32_t layers;         /* how many make it free; 0: not searched for, or impossible */
    struct dependency graph; /* filled in if has_graph */
    struct deadlock found;   /* filled in if has_found */
    bool has_graph, has_found;
};

static enum err lanes_refuse(const char *word, struct why *why)
{
    struct nearest nearest = nearest_make(word, strlen(word));
    nearest_try_all(&nearest, (const char *const[]){"own", "none", "hops", "layers", NULL});
    return why_fail(why, ERR_USAGE,
                    "--lanes %s%s: expected own, none, hops, layers or a number from 1 to %u", word,
                    nearest_hint(&nearest), ROUTE_HOP_MAX);
}

/* Reads --lanes: "own", "none", "hops", "layers" or a number of lanes. */
static enum err read_lanes(const struct call *call, struct examination *examination,
                           struct why *why)
{
    const char *word = call_option(call, "lanes");
    uint64_t count = 1;
    examination->lanes = word ? word : "own";
    if (!word || !strcmp(word, "own"))
        examination->rule.kind = LANE_OWN;
    else if (!strcmp(word, "none"))
        examination->rule = (struct lane_rule){LANE_FOLDED, 1};
    else if (!strcmp(word, "hops"))
        examination->rule.kind = LANE_HOPS;
    else if (!strcmp(word, "layers"))
        examination->rule.kind = LANE_KEPT;
    else if (call_uint(call, "lanes", 1, ROUTE_HOP_MAX, &count, NULL))
        return lanes_refuse(word, why);
    else
        examination->rule = (struct lane_rule){LANE_FOLDED, (uint32_t)count};
    examination->layered = examination->rule.kind == LANE_KEPT;
    return OK;
}

static enum err examine_lanes(struct examination *examination, const struct lane_choice *choice,
                              struct why *why)
{
    enum err err = dependency_find(&examination->graph, &examination->route.router,
                                   examination->rule, choice, progress_observer, why);
    examination->has_graph = !err;
    if (!err)
        err = deadlock_judge(&examination->found, &examination->graph, why);
    examination->has_found = !err;
    return err;
}

/* Searches for layers. If they are the lanes that the user asked for, they are
 * examined like any others, so that the verdict does not rely on the search. */
static enum err examine_layers(struct examination *examination, struct why *why)
{
    const struct router *router = &examination->route.router;
    struct layers layers;
    bool found;
    enum err err = layers_find(&layers, router, &found, progress_observer, why);
    if (err)
        return err;
    examination->layers = layers.count;
    if (examination->layered && !found)
        return why_fail(why, ERR_NO,
                        "--lanes layers: layers cannot make %s free of deadlock on this network",
                        router->algorithm->name);
    if (examination->layered) {
        struct lane_choice choice = layers_choice(&layers);
        err = examine_lanes(examination, &choice, why);
    }
    layers_fini(&layers);
    return err;
}

static enum err examine(struct examination *examination, struct why *why)
{
    if (examination->layered)
        return examine_layers(examination, why);
    enum err err = examine_lanes(examination, NULL, why);
    if (!err && !examination->found.free && examination->found.lanes == 1)
        err = examine_layers(examination, why);
    return err;
}

/* --- all dependencies, as lines that another program can check --- */

static enum err write_dependencies(const char *path, const struct examination *examination,
                                   struct why *why)
{
    const struct dependency *graph = &examination->graph;
    const uint32_t *number = examination->found.drain.number;
    struct text out = {0};
    text_puts(&out, "channel,lane,number,next_channel,next_lane,next_number,wait,from,to,hops\n");
    for (uint32_t wait = 0; wait < graph->waits.count; wait++) {
        const uint32_t *numbers = dependency_wait(graph, wait);
        const struct waiting_packet *packet = &graph->examples[wait];
        struct virtual_channel held = dependency_channel(graph, numbers[0]);
        for (uint32_t i = 1; i < graph->width && numbers[i] != INTERN_NONE; i++) {
            struct virtual_channel next = dependency_channel(graph, numbers[i]);
            text_printf(&out, "%u,%u,", held.channel, held.lane);
            if (number[numbers[0]] != DRAIN_STUCK)
                text_printf(&out, "%u", number[numbers[0]]);
            text_printf(&out, ",%u,%u,", next.channel, next.lane);
            if (number[numbers[i]] != DRAIN_STUCK)
                text_printf(&out, "%u", number[numbers[i]]);
            text_printf(&out, ",%u,%u,%u,%u\n", wait, packet->from, packet->to, packet->hops);
        }
    }
    enum err err = text_ok(&out) ? file_write(path, &out, why) : why_memory(why);
    text_fini(&out);
    return err;
}

/* --- reports --- */

static const char deadlock_page[] =
    "{algorithm} on {topology}\n"
    "  deadlock          {verdict}\n"
    "  virtual channels  {virtual_channels}, {lanes_text}"
    "{?idle}; the algorithm has {virtual_channels_declared}{/}\n"
    "  dependencies      {dependencies} between {held} held channels, from {states} states\n"
    "{?layers_help}  layers            {layers} would make it free (--lanes layers)\n{/}"
    "{?cycle}\n   channel  lane   between                  held by a packet that waits for the "
    "next\n"
    "{#cycle}  {channel%8u} {lane%5u}   {between%-24s} from {packet.from} to {packet.to}, after "
    "{packet.hops|hop|hops}\n{/}\n{meaning}{/}";

static void put_node(struct result *result, const char *key, const struct topology *topology,
                     uint32_t node)
{
    char name[NODE_NAME_SIZE];
    result_string(result, key, topology_name(topology, node, name));
}

static void cycle_put(struct result *result, const struct examination *examination)
{
    const struct topology *topology = &examination->route.topology;
    const struct graph *graph = &topology->graph;
    if (examination->found.free) {
        result_null(result, "cycle");
        return;
    }
    result_array(result, "cycle");
    for (uint32_t i = 0; i < examination->found.cycle_length; i++) {
        const struct deadlock_step *step = &examination->found.cycle[i];
        uint32_t from = graph_channel_from(graph, step->held.channel);
        uint32_t to = graph_channel_to(graph, step->held.channel);
        char name[NODE_NAME_SIZE];
        result_object(result, NULL);
        result_uint(result, "channel", step->held.channel);
        put_node(result, "from", topology, from);
        put_node(result, "to", topology, to);
        struct text *between = result_words(result_hide(result), "between");
        text_printf(between, "%s -> ", topology_name(topology, from, name));
        text_puts(between, topology_name(topology, to, name));
        result_uint(result, "lane", step->held.lane);
        result_object(result, "packet");
        put_node(result, "from", topology, step->packet.from);
        put_node(result, "to", topology, step->packet.to);
        result_uint(result, "hops", step->packet.hops);
        result_end(result);
        result_end(result);
    }
    result_end(result);
}

/* What a cycle means for packets. */
static const char *meaning_of(const struct examination *examination)
{
    if (examination->found.at_once)
        return "If these packets are sent at the same moment, as many of each as a channel holds, "
               "they "
               "take their first channels and block each other for ever.";
    if (examination->route.router.algorithm->oblivious)
        return "Each of these waits can happen, so there is no proof that the routing is free of "
               "deadlock. Whether all can happen at the same time is not decided.";
    return "These channels do not drain: packets can wait in each of them for channels that do not "
           "drain either.";
}

static void verdict_put(struct result *result, const struct examination *examination)
{
    const struct deadlock *found = &examination->found;
    bool oblivious = examination->route.router.algorithm->oblivious;
    struct text *out = result_words(result_hide(result), "verdict");
    if (found->free && oblivious)
        text_puts(out, "free: the dependencies have no cycle");
    else if (found->wormhole)
        text_puts(out, "free: each packet can always escape to virtual channels without a cycle");
    else if (found->free)
        text_puts(out, "free, if packets are stored whole: each can always turn to a channel "
                       "that drains");
    else
        text_printf(out, "%s free: a cycle of %u channels", found->at_once ? "NOT" : "not proven",
                    found->cycle_length);
}

static const char *lanes_text(const struct examination *examination)
{
    return examination->rule.kind == LANE_OWN    ? "of the algorithm"
           : examination->rule.kind == LANE_HOPS ? "one for each hop taken"
           : examination->layered                ? "each for whole routes"
                                                 : "of the algorithm, modulo N";
}

static void report(struct result *result, const struct examination *examination, const char *name)
{
    const struct router *router = &examination->route.router;
    const struct deadlock *found = &examination->found;
    const char *meaning = meaning_of(examination);
    result_string(result, "topology", name);
    result_string(result, "algorithm", router->algorithm->name);
    result_bool(result, "oblivious", router->algorithm->oblivious);
    result_string(result, "lanes", examination->lanes);
    result_string(result_hide(result), "lanes_text", lanes_text(examination));
    result_bool(result, "free", found->free);
    verdict_put(result, examination);
    result_bool(result, "wormhole_free", found->wormhole);
    result_uint(result, "virtual_channels", found->lanes);
    result_uint(result, "virtual_channels_declared", router->lane_count);
    result_bool(result_hide(result), "idle",
                examination->rule.kind == LANE_OWN && found->lanes < router->lane_count);
    result_uint(result, "channels", graph_channel_count(&router->topology->graph));
    result_uint(result, "held", found->channels);
    result_uint(result, "stuck", found->stuck);
    result_uint(result, "states", found->states);
    result_uint(result, "dependencies", found->dependencies);
    cycle_put(result, examination);
    text_wrap(result_words(result_hide(result), "meaning"), meaning, strlen(meaning), 2, 78);
    if (found->free)
        result_null(result, "at_once");
    else
        result_bool(result, "at_once", found->at_once);
    result_uint_if(result, "layers", examination->layers, examination->layers);
    result_bool(result_hide(result), "layers_help", !examination->layered && examination->layers);
}

static enum err deadlock_run(struct call *call, struct why *why)
{
    struct examination examination = {0};
    const char *path;
    enum err err = call_out_file(call, "dependencies", &path, why);
    if (!err)
        err = read_lanes(call, &examination, why);
    if (!err)
        err = route_call_open(&examination.route, call, why);
    if (err)
        return err;
    err = examine(&examination, why);
    if (!err && path)
        err = write_dependencies(path, &examination, why);
    if (!err)
        report(call_result(call, deadlock_page), &examination, call->arguments[0]);
    call->no = !err && !examination.found.free;
    if (examination.has_found)
        deadlock_fini(&examination.found);
    if (examination.has_graph)
        dependency_fini(&examination.graph);
    route_call_close(&examination.route);
    return err;
}

static const struct option deadlock_options[] = {
    ROUTE_CALL_OPTIONS,
    {"lanes", "own|none|hops|layers|N", "which virtual channels are used (default own)"},
    {"dependencies", "FILE",
     "write every dependency, with its number and an example, as a CSV file"},
    {0},
};

const struct command command_route_deadlock = {
    .name = "route deadlock",
    .arguments = "SPEC|FILE",
    .summary = "prove that a routing is free of deadlock, or show a cycle",
    .description =
        "Follows the packets from every source to every destination through all moves that the "
        "algorithm allows, and notes which virtual channel a packet can hold while it waits for "
        "which other one: the channel dependency graph. Prints \"free\" with the number of "
        "virtual channels used, or a shortest cycle with a packet for each of its steps. The "
        "exit code is 0 if the routing is free, and 1 otherwise.\n\n"
        "\"free\" is a proof: the virtual channels are numbered so that every packet waits for "
        "one with a lower number. This numbering is checked for every wait, and --dependencies "
        "writes it to a file, so that others can check it.\n\n"
        "A cycle under oblivious routing consists of waits that can happen. If every packet of the "
        "cycle holds its first channel and has no other channel to take, sending all of them at "
        "the same moment blocks them for ever, and the verdict is \"NOT free\". Otherwise it is "
        "not decided whether all waits can happen at the same time, and the verdict is \"not "
        "proven free\". If one of several shortest cycles gives the verdict \"NOT free\", such a "
        "cycle is printed. An adaptive packet waits for several channels and needs only one of "
        "them: routing is free if each packet can always take a channel that drains. This holds "
        "for packets that are stored whole (store-and-forward, virtual cut-through), and for "
        "wormhole routing as well if there are escape channels without a cycle that are always "
        "offered and never left (Duato).\n\n"
        "--lanes chooses the virtual channels of each link: own uses those of the algorithm, N the "
        "same modulo N, none only one. With hops a packet changes to the next virtual channel at "
        "each hop, which is always free of deadlock. With layers a packet stays in one virtual "
        "channel (layer), which depends on its route: the first layer in which the route closes no "
        "cycle. With ecmp and k-shortest every path is a route; with other algorithms every state "
        "in which a packet may start is a route. If a routing with one virtual channel is not "
        "free, the command prints how many layers it needs.\n\n"
        "Packets start and end at nodes with servers, or at all nodes if no node has servers.",
    .options = deadlock_options,
    .examples = "  weft route deadlock torus:8x8x8 --algorithm dor\n"
                "  weft route deadlock torus:4x4 --algorithm dor --lanes none\n"
                "  weft route deadlock novacube:6x6 --algorithm pora --json",
    .run = deadlock_run,
};
