#include "cli/cluster/cluster_commission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rng.h"
#include "cli/core/file.h"
#include "cli/core/load.h"

#define SERIAL_FIRST 1000
#define SERIAL_STEP  9      /* the largest difference to the next serial number */
#define STREAM       0x636f /* of random numbers */

/* ---- machines and cables ---- */

/* Copies the wiring with its nodes in the order of their serial numbers, which are their names. */
static enum err wiring_name(struct topology *out, const struct topology *as, const uint32_t *serial,
                            const uint32_t *rank_of, struct why *why)
{
    const struct graph *graph = &as->graph;
    uint32_t count = graph->node_count;
    struct link *links = array_new(graph->link_count + 1, sizeof *links);
    if (!links)
        return why_memory(why);
    for (uint32_t i = 0; i < graph->link_count; i++) {
        links[i] = graph->links[i];
        links[i].a = rank_of[links[i].a];
        links[i].b = rank_of[links[i].b];
    }
    enum err err = topology_init(out, TOPOLOGY_OTHER, true, count, links, graph->link_count, why);
    free(links);
    if (err)
        return err;
    out->names = array_new(count, sizeof *out->names);
    for (uint32_t rank = 0; out->names && rank < count; rank++) {
        char name[NODE_NAME_SIZE];
        snprintf(name, sizeof name, "%u", serial[rank]);
        out->names[rank] = strdup(name);
        if (!out->names[rank])
            err = why_memory(why);
    }
    if (!out->names)
        err = why_memory(why);
    if (err)
        topology_fini(out);
    return err;
}

static enum err wiring_make(struct cluster *cluster, const struct topology *as,
                            struct topology *wiring, struct why *why)
{
    uint32_t count = cluster->plan.server_count, serial = SERIAL_FIRST;
    struct rng rng = rng_make(cluster->file.seed, STREAM);
    uint32_t *rank_of = array_new(count, sizeof *rank_of);
    cluster->serials = array_new(count, sizeof *cluster->serials);
    if (!rank_of || !cluster->serials) {
        free(rank_of);
        return why_memory(why);
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        serial += 1 + (uint32_t)rng_below(&rng, SERIAL_STEP);
        cluster->serials[rank] = serial;
        rank_of[rank] = rank;
    }
    rng_shuffle(&rng, rank_of, count);
    enum err err = wiring_name(wiring, as, cluster->serials, rank_of, why);
    free(rank_of);
    return err;
}

enum err cluster_machines_make(struct cluster *cluster, const char *wiring_file,
                               struct topology *wiring, struct why *why)
{
    struct topology lies;
    uint32_t count = cluster->plan.server_count;
    if (!wiring_file)
        return wiring_make(cluster, &cluster->topology, wiring, why);
    enum err err = load_topology(&lies, wiring_file, why);
    if (err)
        return err;
    if (!lies.direct || lies.graph.node_count != count)
        err = why_fail(why, ERR_USAGE, "--wiring %s: expected the cables of %u servers, not of %u",
                       wiring_file, count, lies.graph.node_count);
    else
        err = wiring_make(cluster, &lies, wiring, why);
    topology_fini(&lies);
    return err;
}

/* ---- findings ---- */

enum err cluster_findings_read(struct cluster_findings *findings, const struct cluster *cluster,
                               struct why *why)
{
    char path[CLUSTER_PATH_SIZE], *data;
    uint32_t count = cluster->plan.server_count, any = 0;
    size_t size;
    *findings = (struct cluster_findings){.serials = array_new(count, sizeof(uint32_t))};
    if (!findings->serials)
        return why_memory(why);
    enum err err = serial_places_find(findings->serials, cluster->folder, count, why);
    for (uint32_t i = 0; i < count && !any; i++)
        any = findings->serials[i];
    if (!err && any) { /* all servers agree, so one answer suffices */
        serial_path(path, cluster->folder, any, "findings");
        err = file_read(path, &data, &size, why);
        if (!err) {
            text_add(&findings->lines, data, size);
            free(data);
        }
    }
    if (err)
        cluster_findings_fini(findings);
    return err;
}

void cluster_findings_fini(struct cluster_findings *findings)
{
    free(findings->serials);
    text_fini(&findings->lines);
    *findings = (struct cluster_findings){0};
}

void cluster_findings_put(const struct cluster_findings *findings, const struct cluster *cluster,
                          struct result *result)
{
    const struct topology *topology = &cluster->topology;
    char name[CLUSTER_NAME_SIZE];
    uint32_t at[AXIS_MAX];
    result_array(result, "machines");
    for (node_id v = 0; v < cluster->plan.server_count; v++) {
        if (!findings->serials[v])
            continue;
        result_object(result, NULL);
        result_uint(result, "serial", findings->serials[v]);
        result_uint(result, "server", v);
        result_string(result_hide(result), "name", cluster_name(cluster, v, name));
        if (topology->axis_count) {
            topology_coordinate(topology, v, at);
            result_array(result, "coordinate");
            for (uint32_t axis = 0; axis < topology->axis_count; axis++)
                result_uint(result, NULL, at[axis]);
            result_end(result);
        }
        result_end(result);
    }
    result_end(result);
    result_array(result, "findings");
    const char *end;
    for (const char *line = findings->lines.data; line && (end = strchr(line, '\n'));
         line = end + 1)
        text_add(result_words(result, NULL), line, (size_t)(end - line));
    result_end(result);
}
