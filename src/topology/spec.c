/* spec: parses the parameters of a generator. Each generator's file defines what a parameter means
 * and which values are possible; generators.c lists the generators. */
#include "topology/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/nearest.h"
#include "topology/topology.h"

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
    struct nearest nearest = nearest_make(key, size);
    for (size_t i = 0; i < count; i++)
        nearest_try(&nearest, fields[i].key);
    for (size_t i = 0; i < count; i++) {
        if (strlen(known) + strlen(fields[i].key) + 3 > sizeof known)
            break;
        strcat(known, i ? ", " : "");
        strcat(known, fields[i].key);
    }
    return why_fail(why, ERR_USAGE, "%s: no parameter '%.*s'%s; there are %s", spec, (int)size, key,
                    nearest_hint(&nearest), known);
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

static enum err fields_read(const char *spec, const char *at, struct spec_field *fields,
                            size_t count, struct why *why)
{
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

enum err spec_fields(const char *spec, struct spec_field *fields, size_t count, struct why *why)
{
    return fields_read(spec, spec_parameters(spec), fields, count, why);
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

/* Reads what follows the numbers: nothing, or a comma and fields. */
static enum err rest_read(const char *spec, const char *rest, struct spec_field *fields,
                          size_t count, struct why *why)
{
    if (*rest == '\0')
        return OK;
    if (count == 0)
        return why_fail(why, ERR_USAGE, "%s: nothing may follow the sizes", spec);
    return fields_read(spec, rest + 1, fields, count, why);
}

enum err spec_sizes(const char *spec, uint32_t *sizes, uint32_t *count, uint32_t most,
                    struct spec_field *fields, size_t field_count, struct why *why)
{
    const char *at = spec_parameters(spec);
    uint64_t product = 1;
    for (*count = 0;;) {
        uint64_t size;
        char *end;
        /* A number beyond 64 bits is also a size, one that is too large. */
        bool number = uint_read(at, &end, &size) || errno == ERANGE;
        if (!number || (*end && *end != 'x' && *end != ','))
            return why_fail(why, ERR_USAGE, "%s: expected sizes such as 3x3x3", spec);
        if (size == 0)
            return why_fail(why, ERR_USAGE, "%s: a size of 0; sizes start at 1", spec);
        if (*count == most)
            return why_fail(why, ERR_USAGE, "%s: more than %u %s", spec, most,
                            most == 1 ? "size" : "sizes");
        if (size > GRAPH_NODE_MAX || product * size > GRAPH_NODE_MAX)
            return why_fail(why, ERR_USAGE, "%s: more than the %u nodes that fit", spec,
                            GRAPH_NODE_MAX);
        product *= size;
        sizes[(*count)++] = (uint32_t)size;
        if (*end != 'x')
            return rest_read(spec, end, fields, field_count, why);
        at = end + 1;
    }
}

enum err spec_numbers(const char *spec, uint32_t *numbers, uint32_t count, const char *form,
                      struct spec_field *fields, size_t field_count, struct why *why)
{
    const char *at = spec_parameters(spec);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number;
        char *end;
        bool last = i + 1 == count;
        if (!uint_read(at, &end, &number) || number > UINT32_MAX ||
            (*end != ',' && !(last && *end == '\0')))
            return why_fail(why, ERR_USAGE, "%s: expected %s", spec, form);
        numbers[i] = (uint32_t)number;
        at = last ? end : end + 1;
    }
    return rest_read(spec, at, fields, field_count, why);
}

void spec_write_sizes(char *text, const char *name, const uint32_t *sizes, uint32_t count)
{
    size_t used = (size_t)snprintf(text, SPEC_SIZE, "%s:%u", name, sizes[0]);
    for (uint32_t i = 1; i < count; i++)
        used += (size_t)snprintf(text + used, SPEC_SIZE - used, "x%u", sizes[i]);
    assert(used < SPEC_SIZE);
}
