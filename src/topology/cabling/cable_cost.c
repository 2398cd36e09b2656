/* cable_cost: one table of keys that the defaults, the reader and the writer use, so that they
 * cannot disagree. */
#include "topology/cabling/cable_cost.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/nearest.h"

struct key {
    const char *name;
    size_t offset;
    bool whole; /* a uint32_t; else a double */
    double standard, low, high;
    const char *meaning;
};

#define REAL(name, standard, low, high, meaning)                                                   \
    {                                                                                              \
#name, offsetof(struct cable_cost, name), false, standard, low, high, meaning              \
    }
#define WHOLE(name, standard, low, high, meaning)                                                  \
    {                                                                                              \
#name, offsetof(struct cable_cost, name), true, standard, low, high, meaning               \
    }

static const struct key keys[] = {
    REAL(rack_width_m, 0.6, 0.1, 100, "width of a rack along its row, m"),
    REAL(row_pitch_m, 2.4, 0.1, 100, "distance from one row of racks to the next, m"),
    REAL(tray_height_m, 2.6, 0, 100, "height of the overhead trays above the floor, m"),
    REAL(slack_m, 1, 0, 100, "added to a cable between two racks, m"),
    REAL(rack_slack_m, 0.5, 0, 100, "added to a cable inside one rack, m"),
    REAL(container_gap_m, 2, 0, 1000, "distance between two containers, m"),
    WHOLE(rack_units, 42, 1, 1000, "height of a rack, units of 44.45 mm"),
    WHOLE(switch_units, 1, 1, 1000, "height of a switch, units"),
    WHOLE(server_units, 1, 1, 1000, "height of a server, units"),
    WHOLE(servers_per_rack, 40, 1, 1000, "servers that one rack may hold"),
    WHOLE(switches_per_rack, 32, 1, 1000, "switches in a rack of switches only"),
    WHOLE(container_racks, 20, 1, 100000, "racks in one row of a container"),
    WHOLE(container_servers, 2500, 1, 100000000,
          "servers per container, if the topology has no groups"),
    REAL(copper_limit_m, 10, 0, 1e6, "a longer cable is optical, m"),
    REAL(copper_metre, 5.5, 0, 1e9, "price of a metre of copper cable"),
    REAL(optical_metre, 5.5, 0, 1e9, "price of a metre of fibre"),
    REAL(copper_end, 5, 0, 1e9, "price of a connector; a copper cable has two"),
    REAL(transceiver, 200, 0, 1e9, "price of a transceiver; an optical cable has two"),
    REAL(labour_share, 0.1, 0, 0.99, "labour, as a share of the whole cabling cost"),
    REAL(switch_port, 0, 0, 1e9, "price of a switch per port; 0 leaves switches out"),
};

#define KEY_COUNT (sizeof keys / sizeof *keys)

static void key_set(struct cable_cost *cost, const struct key *key, double value)
{
    char *at = (char *)cost + key->offset;
    uint32_t whole = (uint32_t)value;
    if (key->whole)
        memcpy(at, &whole, sizeof whole);
    else
        memcpy(at, &value, sizeof value);
}

static double key_get(const struct cable_cost *cost, const struct key *key)
{
    const char *at = (const char *)cost + key->offset;
    uint32_t whole;
    double value;
    if (key->whole) {
        memcpy(&whole, at, sizeof whole);
        return whole;
    }
    memcpy(&value, at, sizeof value);
    return value;
}

struct cable_cost cable_cost_default(void)
{
    struct cable_cost cost;
    for (size_t i = 0; i < KEY_COUNT; i++)
        key_set(&cost, &keys[i], keys[i].standard);
    return cost;
}

/* A part of the input without the blanks around it. */
struct word {
    const char *at;
    size_t size;
};

static struct word word_trim(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    return (struct word){at, (size_t)(end - at)};
}

/* The position of the reader, for its errors. */
struct reading {
    const char *name;
    uint32_t line;
    uint32_t given[KEY_COUNT]; /* line on which a key was set, or 0 */
};

static enum err value_read(struct cable_cost *cost, size_t index, struct word value,
                           const struct reading *reading, struct why *why)
{
    const struct key *key = &keys[index];
    char copy[64] = "", *end = copy;
    double number = NAN;
    if (value.size > 0 && value.size < sizeof copy) {
        memcpy(copy, value.at, value.size);
        copy[value.size] = '\0';
        number = strtod(copy, &end);
    }
    if (end == copy || *end || strlen(copy) != value.size || !isfinite(number))
        return why_fail_line(why, reading->name, reading->line, "%s: '%.*s' is not a number",
                             key->name, (int)(value.size < 40 ? value.size : 40), value.at);
    if (number < key->low || number > key->high || (key->whole && number != floor(number)))
        return why_fail_line(why, reading->name, reading->line,
                             "%s must be a %snumber from %g to %g", key->name,
                             key->whole ? "whole " : "", key->low, key->high);
    key_set(cost, key, number);
    return OK;
}

static enum err line_read(struct cable_cost *cost, struct word line, struct reading *reading,
                          struct why *why)
{
    const char *equals = memchr(line.at, '=', line.size);
    if (!equals)
        return why_fail_line(why, reading->name, reading->line, "expected 'key = value'");
    struct word key = word_trim(line.at, equals);
    struct word value = word_trim(equals + 1, line.at + line.size);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strlen(keys[i].name) != key.size || memcmp(keys[i].name, key.at, key.size) != 0)
            continue;
        if (reading->given[i])
            return why_fail_line(why, reading->name, reading->line, "%s was already set on line %u",
                                 keys[i].name, reading->given[i]);
        reading->given[i] = reading->line;
        return value_read(cost, i, value, reading, why);
    }
    struct nearest nearest = nearest_make(key.at, key.size);
    for (size_t i = 0; i < KEY_COUNT; i++)
        nearest_try(&nearest, keys[i].name);
    return why_fail_line(why, reading->name, reading->line,
                         "no such key '%.*s'%s; 'weft topo cable --print-cost' prints all keys",
                         (int)(key.size < 40 ? key.size : 40), key.at, nearest_hint(&nearest));
}

/* Checks values that are valid alone but not together. */
static enum err model_check(const struct cable_cost *cost, const char *name, struct why *why)
{
    if (cost->switch_units + cost->server_units > cost->rack_units)
        return why_fail(
            why, ERR_INPUT,
            "%s: a switch of %u units and a server of %u units do not fit into a rack of %u units",
            name, cost->switch_units, cost->server_units, cost->rack_units);
    if (cost->tray_height_m < cost->rack_units * RACK_UNIT_M)
        return why_fail(why, ERR_INPUT,
                        "%s: trays at %g m are lower than a rack of %u units, which is %.2f m high",
                        name, cost->tray_height_m, cost->rack_units,
                        cost->rack_units * RACK_UNIT_M);
    return OK;
}

enum err cable_cost_read(struct cable_cost *cost, const char *data, size_t size, const char *name,
                         struct why *why)
{
    struct reading reading = {.name = name};
    const char *at = data, *end = data + size;
    *cost = cable_cost_default();
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = stop ? stop : end;
        const char *hash = memchr(at, '#', (size_t)(line_end - at));
        struct word line = word_trim(at, hash ? hash : line_end);
        reading.line++;
        if (line.size) {
            enum err err = line_read(cost, line, &reading, why);
            if (err)
                return err;
        }
        at = stop ? stop + 1 : end;
    }
    return model_check(cost, name, why);
}

/* Writes the fewest digits that read back as the same number; 40, not 4e+01. */
static void number_write(struct text *out, double value)
{
    char digits[32];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_puts(out, digits);
}

void cable_cost_write(const struct cable_cost *cost, struct text *out)
{
    text_puts(out, "# The cost model of weft topo cable; weft-cost(5) explains it.\n");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        text_printf(out, "\n# %s\n%s = ", keys[i].meaning, keys[i].name);
        number_write(out, key_get(cost, &keys[i]));
        text_puts(out, "\n");
    }
}
