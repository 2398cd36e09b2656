/* certificate_write: one line per link, per demand and per path, so that an error that names a line
 * is easy to find. */
#include "base/check.h"
#include "base/json.h"
#include "flow/concurrent/certificate.h"

const char *const certificate_traffic_names[] = {
    [CERTIFICATE_PERMUTATION] = "permutation",
    [CERTIFICATE_ALL_TO_ALL] = "all-to-all",
    [CERTIFICATE_LONGEST_MATCHING] = "longest-matching",
    [CERTIFICATE_FILE] = "file",
    [CERTIFICATE_TRAFFIC_COUNT] = NULL,
};

const char *const certificate_routing_names[] = {
    [CERTIFICATE_OPTIMAL] = "optimal",
    [CERTIFICATE_ECMP] = "ecmp",
    [CERTIFICATE_K_SHORTEST] = "k-shortest",
    [CERTIFICATE_ROUTING_COUNT] = NULL,
};

/* Writes a node as in topology files: by its number if nodes have no names. */
static void write_node(struct json *json, const struct topology *topology, uint32_t node)
{
    if (topology->names)
        json_string(json, topology->names[node]);
    else
        json_uint(json, node);
}

static void write_about(struct json *json, const struct certificate_about *about,
                        const struct topology *topology, const struct traffic *traffic,
                        const struct concurrent *concurrent)
{
    json_put_uint(json, "weft_flow", 1);
    json_put_string(json, "topology", about->topology);
    json_put_uint(json, "nodes", topology->graph.node_count);
    json_put_string(json, "traffic", certificate_traffic_names[about->traffic]);
    json_put_uint(json, "seed", about->seed);
    json_put_string(json, "routing", certificate_routing_names[about->routing]);
    json_put_uint(json, "ways", about->ways);
    json_put_number(json, "throughput_lower", concurrent->lower);
    json_put_number(json, "throughput_upper", concurrent->upper);
    json_put_uint(json, "demand_count", traffic->count);
    json_put_number(json, "local", traffic->local);
}

static void write_links(struct json *json, const struct topology *topology, const double *weights)
{
    const struct graph *graph = &topology->graph;
    json_key(json, "links");
    json_array(json);
    for (uint32_t e = 0; e < graph->link_count; e++) {
        json_object(json);
        json->indent = false;
        json_put_uint(json, "link", e);
        json_key(json, "ends");
        json_array(json);
        write_node(json, topology, graph->links[e].a);
        write_node(json, topology, graph->links[e].b);
        json_end(json, ']');
        json_key(json, "weights");
        json_array(json);
        json_number(json, weights[2 * (size_t)e]);
        json_number(json, weights[2 * (size_t)e + 1]);
        json_end(json, ']');
        json_end(json, '}');
        json->indent = true;
    }
    json_end(json, ']');
}

static void write_path(struct json *json, const struct path_set *flow, size_t path, double rate)
{
    json_object(json);
    json->indent = false;
    json_put_number(json, "rate", rate);
    json_key(json, "links");
    json_array(json);
    for (size_t hop = flow->path_first[path]; hop < flow->path_first[path + 1]; hop++)
        json_uint(json, flow->channels[hop] / 2);
    json_end(json, ']');
    json_end(json, '}');
    json->indent = true;
}

static void write_demands(struct json *json, const struct topology *topology,
                          const struct traffic *traffic, const struct concurrent *concurrent)
{
    const struct path_set *flow = &concurrent->flow;
    json_key(json, "demands");
    json_array(json);
    for (size_t i = 0; i < traffic->count; i++) {
        const struct demand *demand = &traffic->demands[i];
        json_object(json);
        json->indent = false;
        json_key(json, "from");
        write_node(json, topology, demand->from);
        json_key(json, "to");
        write_node(json, topology, demand->to);
        json_put_number(json, "amount", demand->amount);
        json_key(json, "paths");
        json_array(json);
        json->indent = true;
        for (size_t p = flow->pair_first[i]; p < flow->pair_first[i + 1]; p++)
            write_path(json, flow, p, concurrent->rates[p]);
        json->indent = false;
        json_end(json, ']');
        json_end(json, '}');
        json->indent = true;
    }
    json_end(json, ']');
}

enum err certificate_write(struct text *out, const struct certificate_about *about,
                           const struct topology *topology, const struct traffic *traffic,
                           const struct concurrent *concurrent, struct why *why)
{
    assert(about->traffic < CERTIFICATE_TRAFFIC_COUNT);
    assert(about->routing < CERTIFICATE_ROUTING_COUNT);
    assert(concurrent->flow.pair_count == traffic->count);
    struct json json = json_make(out, true);
    json_object(&json);
    write_about(&json, about, topology, traffic, concurrent);
    write_links(&json, topology, concurrent->weights);
    write_demands(&json, topology, traffic, concurrent);
    json_end(&json, '}');
    return text_ok(out) ? OK : why_memory(why);
}
