#include "topology/generators.h"

#include <string.h>

#include "topology/generate/degree_diameter.h"
#include "topology/generate/fattree.h"
#include "topology/generate/jellyfish.h"
#include "topology/generate/novacube.h"
#include "topology/generate/swdc.h"
#include "topology/generate/torus.h"
#include "topology/topology.h"

struct generator {
    const char *name;
    enum err (*build)(struct topology *topology, const char *spec, struct why *why);
};

static const struct generator generators[] = {
    {"degree-diameter", degree_diameter_build},
    {"fattree", fattree_build},
    {"jellyfish", jellyfish_build},
    {"novacube", novacube_build},
    {"swdc-hex3d", swdc_build},
    {"swdc-ring", swdc_build},
    {"swdc-torus2d", swdc_build},
    {"torus", torus_build},
};

#define GENERATOR_COUNT (sizeof generators / sizeof *generators)

static const struct generator *generator_find(const char *spec)
{
    size_t size = strcspn(spec, ":");
    if (spec[size] != ':')
        return NULL;
    for (size_t i = 0; i < GENERATOR_COUNT; i++)
        if (strlen(generators[i].name) == size && memcmp(generators[i].name, spec, size) == 0)
            return &generators[i];
    return NULL;
}

bool topology_is_spec(const char *text)
{
    return generator_find(text) != NULL;
}

enum err topology_build(struct topology *topology, const char *spec, struct why *why)
{
    const struct generator *generator = generator_find(spec);
    if (!generator)
        return why_fail(why, ERR_USAGE, "%s: no such topology; see 'weft help topo build'", spec);
    if (strlen(spec) >= SPEC_SIZE)
        return why_fail(why, ERR_USAGE, "%.40s...: longer than %d letters", spec, SPEC_SIZE - 1);
    return generator->build(topology, spec, why);
}

const char *generator_name(size_t index)
{
    return index < GENERATOR_COUNT ? generators[index].name : NULL;
}
