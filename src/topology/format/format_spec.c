/* format_spec: decides whether the spec in a file is true.
 *
 * A file can contain the spec `torus:3x3x3` and describe another network. So the topology is built
 * from the spec and compared; only if it is equal, the spec is kept. A small file must not make
 * weft build a large network in vain, so a spec that cannot give this many nodes and links is not
 * built at all. Only the nodes and links that the file contains count for this check; a claim such
 * as four billion ports does not justify building as much. */
#include "topology/format/format_impl.h"

#include <string.h>

#include "base/check.h"
#include "topology/generate/jellyfish_words.h"
#include "topology/spec.h"

/* The whole number at *at, saturated; moves past its digits. */
static uint64_t number_read(const char **at)
{
    uint64_t value = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (value < (uint64_t)1 << 40)
            value = value * 10 + (uint64_t)(**at - '0');
    return value;
}

static bool key_is(const char *key, size_t size, const char *word)
{
    return strlen(word) == size && memcmp(key, word, size) == 0;
}

/* Can `key=value`, or a value without a key, belong to a network of this many nodes? Products of
 * sizes count as nodes; a fat-tree of parameter k has 5k^2/4. */
static bool field_plausible(const char *key, size_t key_size, const char *value, const char *end,
                            uint64_t nodes)
{
    if (key_is(key, key_size, "seed") || key_is(key, key_size, "servers"))
        return true; /* these cost nothing to build */
    while (value < end) {
        if (*value < '0' || *value > '9') {
            value++;
            continue;
        }
        uint64_t number = number_read(&value);
        while (*value == 'x' && value[1] >= '0' && value[1] <= '9') {
            value++;
            uint64_t factor = number_read(&value);
            if (number > nodes)
                return false;
            number = factor && number > nodes / factor ? nodes + 1 : number * factor;
        }
        if (number > nodes || (key_is(key, key_size, "k") && number * number > nodes))
            return false;
    }
    return true;
}

/* The size of a Jellyfish follows from its spec, so the spec is parsed. Few ports of a Jellyfish
 * are free: at most one in each container, and one between containers. */
static bool jellyfish_plausible(const struct topology *topology, const char *spec)
{
    struct jellyfish_words words;
    uint64_t nodes = topology->graph.node_count, ports = 0;
    if (jellyfish_words_read(&words, spec, NULL) || words.node_count != nodes)
        return false;
    for (uint32_t r = 0; r < words.run_count; r++)
        ports += (uint64_t)words.runs[r].count * words.runs[r].ports;
    return ports <= words.server_count + 2 * (uint64_t)topology->graph.link_count + 2 * nodes;
}

static bool spec_plausible(const struct topology *topology, const char *spec)
{
    if (strncmp(spec, "jellyfish:", strlen("jellyfish:")) == 0)
        return jellyfish_plausible(topology, spec);
    for (const char *at = spec_parameters(spec); *at;) {
        size_t size = strcspn(at, ",");
        const char *equals = memchr(at, '=', size);
        size_t key_size = equals ? (size_t)(equals - at) : 0;
        if (!field_plausible(at, key_size, equals ? equals + 1 : at, at + size,
                             topology->graph.node_count))
            return false;
        at += size;
        at += *at == ',';
    }
    return true;
}

static bool same_sites(const struct topology *one, const struct topology *other)
{
    static_assert(sizeof(struct site) == 4 * sizeof(uint32_t), "no padding to compare");
    return one->direct == other->direct &&
           memcmp(one->sites, other->sites, one->graph.node_count * sizeof *one->sites) == 0;
}

enum err format_trust_spec(struct topology *topology, const char *spec, struct why *why)
{
    struct topology built;
    struct why ignored;
    if (!topology_is_spec(spec) || !spec_plausible(topology, spec))
        return OK;
    enum err err = topology_build(&built, spec, &ignored);
    if (err)
        return err == ERR_MEMORY ? why_memory(why) : OK;
    if (graph_equal(&topology->graph, &built.graph) && same_sites(topology, &built)) {
        topology->kind = built.kind;
        memcpy(topology->spec, built.spec, sizeof built.spec);
        topology->axis_count = built.axis_count;
        memcpy(topology->axis_size, built.axis_size, sizeof built.axis_size);
    }
    topology_fini(&built);
    return OK;
}
