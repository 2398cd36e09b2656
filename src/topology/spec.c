/* spec: the table of generators, and the taking apart of their words. What a
 * parameter means and which values are possible is in each generator's file. */
#include "topology/spec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "topology/jellyfish.h"
#include "topology/topology.h"
#include "topology/torus.h"

struct generator {
    const char *name;
    enum err (*build)(struct topology *topology, const char *spec, struct why *why);
};

static const struct generator generators[] = {
    {"jellyfish", jellyfish_build},
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

const char *spec_parameters(const char *spec)
{
    const char *colon = strchr(spec, ':');
    assert(colon);
    return colon + 1;
}

static enum err field_unknown(const char *spec, const char *key, size_t size,
                              const struct spec_field *fields, size_t count, struct why *why)
{
    char known[128] = "";
    for (size_t i = 0; i < count; i++) {
        if (strlen(known) + strlen(fields[i].key) + 3 > sizeof known)
            break;
        strcat(known, i ? ", " : "");
        strcat(known, fields[i].key);
    }
    return why_fail(why, ERR_USAGE, "%s: no parameter '%.*s'; there are %s", spec, (int)size, key,
                    known);
}

static enum err field_read(const char *spec, const char *at, size_t size, struct spec_field *fields,
                           size_t count, struct why *why)
{
    const char *equals = memchr(at, '=', size);
    if (!equals || equals == at || equals == at + size - 1)
        return why_fail(why, ERR_USAGE, "%s: '%.*s' is not of the form key=value", spec, (int)size,
                        at);
    size_t key_size = (size_t)(equals - at), value_size = size - key_size - 1;
    for (size_t i = 0; i < count; i++) {
        struct spec_field *field = &fields[i];
        if (strlen(field->key) != key_size || memcmp(field->key, at, key_size) != 0)
            continue;
        if (field->given)
            return why_fail(why, ERR_USAGE, "%s: %s is given twice", spec, field->key);
        if (value_size >= SPEC_VALUE_SIZE)
            return why_fail(why, ERR_USAGE, "%s: the value of %s is too long", spec, field->key);
        memcpy(field->value, equals + 1, value_size);
        field->value[value_size] = '\0';
        field->given = true;
        return OK;
    }
    return field_unknown(spec, at, key_size, fields, count, why);
}

enum err spec_fields(const char *spec, struct spec_field *fields, size_t count, struct why *why)
{
    const char *at = spec_parameters(spec);
    for (;;) {
        size_t size = strcspn(at, ",");
        enum err err = field_read(spec, at, size, fields, count, why);
        if (err)
            return err;
        at += size;
        if (*at == '\0')
            return OK;
        at++;
    }
}

enum err spec_required(const char *spec, const struct spec_field *field, struct why *why)
{
    if (field->given)
        return OK;
    return why_fail(why, ERR_USAGE, "%s: %s is missing", spec, field->key);
}

static bool uint_read(const char *text, char **end, uint64_t *value)
{
    errno = 0;
    *value = strtoull(text, end, 10);
    return *text >= '0' && *text <= '9' && errno == 0;
}

enum err spec_uint(const char *spec, const struct spec_field *field, uint64_t low, uint64_t high,
                   uint64_t *value, struct why *why)
{
    uint64_t number;
    char *end;
    if (!field->given)
        return OK;
    if (!uint_read(field->value, &end, &number) || *end || number < low || number > high)
        return why_fail(why, ERR_USAGE, "%s: %s must be a whole number from %llu to %llu", spec,
                        field->key, (unsigned long long)low, (unsigned long long)high);
    *value = number;
    return OK;
}

enum err spec_real(const char *spec, const struct spec_field *field, double low, double high,
                   double *value, struct why *why)
{
    if (!field->given)
        return OK;
    char *end;
    double number = strtod(field->value, &end);
    if (*end || !isfinite(number) || number < low || number > high)
        return why_fail(why, ERR_USAGE, "%s: %s must be a number from %g to %g", spec, field->key,
                        low, high);
    *value = number;
    return OK;
}

enum err spec_sizes(const char *spec, uint32_t *sizes, uint32_t *count, uint32_t most,
                    struct why *why)
{
    const char *at = spec_parameters(spec);
    uint64_t product = 1;
    for (*count = 0;;) {
        uint64_t size;
        char *end;
        if (!uint_read(at, &end, &size) || (*end && *end != 'x'))
            return why_fail(why, ERR_USAGE, "%s: expected sizes such as 3x3x3", spec);
        if (size == 0)
            return why_fail(why, ERR_USAGE, "%s: a size of 0; sizes start at 1", spec);
        if (*count == most)
            return why_fail(why, ERR_USAGE, "%s: more than %u axes", spec, most);
        if (size > GRAPH_NODE_MAX || product * size > GRAPH_NODE_MAX)
            return why_fail(why, ERR_USAGE, "%s: more than the %u nodes that fit", spec,
                            GRAPH_NODE_MAX);
        product *= size;
        sizes[(*count)++] = (uint32_t)size;
        if (!*end)
            return OK;
        at = end + 1;
    }
}
