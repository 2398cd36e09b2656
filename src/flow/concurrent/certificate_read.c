/* certificate_read: parses a flow file. Keys may be in any order, but not repeated; unknown keys
 * are ignored. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/json_reader.h"
#include "base/name_index.h"
#include "flow/concurrent/certificate.h"

#define NAME_SHOWN 60 /* letters of an unknown name that an error repeats */
#define KEY_MAX    16 /* largest number of known keys of one object */

struct input {
    struct json_reader reader;
    struct certificate *certificate;
    const struct topology *topology;
    struct name_index names; /* the topology's names, in the order of its nodes, if it has any */
    uint32_t *hops;          /* owned; links of the path being read */
    size_t hop_capacity;
};

/* One key of an object, and the function that reads its value. */
struct field {
    const char *key;
    enum err (*read)(struct input *input, void *target);
};

static enum err names_collect(struct input *input)
{
    const struct topology *topology = input->topology;
    for (uint32_t v = 0; topology->names && v < topology->graph.node_count; v++) {
        uint32_t number;
        if (!name_index_add(&input->names, topology->names[v], strlen(topology->names[v]), &number))
            return why_memory(input->reader.why);
        assert(number == v); /* the names of a topology are unique */
    }
    return OK;
}

/* --- values --- */

/* Takes the number whose event was just read. */
static enum err real_take(struct input *input, const char *what, double *value)
{
    struct json_reader *reader = &input->reader;
    if (reader->event != JSON_NUMBER)
        return json_reader_fail(reader, "%s should be a finite number", what);
    *value = strtod(reader->text.data, NULL);
    if (!isfinite(*value))
        return json_reader_fail(reader, "%s should be a finite number", what);
    return OK;
}

static enum err real_read(struct input *input, const char *what, double *value)
{
    enum err err = json_reader_next(&input->reader);
    return err ? err : real_take(input, what, value);
}

/* Reads digits without sign, point or exponent; false if there are other letters or the number is
 * above `most`. */
static bool digits_take(const struct text *text, uint64_t most, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text->size; i++) {
        if (!isdigit((unsigned char)text->data[i]))
            return false;
        uint64_t digit = (uint64_t)(text->data[i] - '0');
        if (*value > (most - digit) / 10)
            return false;
        *value = 10 * *value + digit;
    }
    return text->size > 0;
}

static enum err uint_take(struct input *input, const char *what, uint64_t most, uint64_t *value)
{
    struct json_reader *reader = &input->reader;
    if (reader->event != JSON_NUMBER || !digits_take(&reader->text, most, value))
        return json_reader_fail(reader, "%s should be a whole number up to %llu", what,
                                (unsigned long long)most);
    return OK;
}

static enum err uint_read(struct input *input, const char *what, uint64_t most, uint64_t *value)
{
    enum err err = json_reader_next(&input->reader);
    return err ? err : uint_take(input, what, most, value);
}

static enum err node_take(struct input *input, uint32_t *node)
{
    struct json_reader *reader = &input->reader;
    uint64_t number = 0;
    *node = NODE_NONE;
    if (reader->event != JSON_STRING && reader->event != JSON_NUMBER)
        return json_reader_fail(reader, "a node should be a name or a number");
    if (input->topology->names)
        *node = name_index_find(&input->names, reader->text.data, reader->text.size);
    else if (digits_take(&reader->text, UINT32_MAX - 1, &number) &&
             number < input->topology->graph.node_count)
        *node = (uint32_t)number;
    if (*node != NODE_NONE)
        return OK;
    int shown = reader->text.size < NAME_SHOWN ? (int)reader->text.size : NAME_SHOWN;
    return json_reader_fail(reader, "the topology has no node '%.*s'", shown, reader->text.data);
}

static enum err node_read(struct input *input, void *target)
{
    enum err err = json_reader_next(&input->reader);
    return err ? err : node_take(input, target);
}

static enum err word_read(struct input *input, const char *what, const char *const *words,
                          int *index)
{
    struct json_reader *reader = &input->reader;
    enum err err = json_reader_expect(reader, JSON_STRING, what);
    if (err)
        return err;
    for (*index = 0; words[*index]; ++*index)
        if (json_reader_is(reader, words[*index]))
            return OK;
    return json_reader_fail(reader, "%s has an unknown value", what);
}

/* --- objects and arrays --- */

/* Reads the rest of an object. All of its fields must be present. */
static enum err object_read(struct input *input, const char *what, const struct field *fields,
                            void *target)
{
    struct json_reader *reader = &input->reader;
    unsigned long line = reader->line;
    bool seen[KEY_MAX] = {false};
    enum err err = OK;
    while (json_reader_more(reader, &err)) {
        size_t at = 0;
        while (fields[at].key && !json_reader_is(reader, fields[at].key))
            at++;
        assert(at < KEY_MAX);
        if (!fields[at].key) {
            err = json_reader_next(reader);
            if (!err)
                err = json_reader_skip(reader);
        } else if (seen[at]) {
            err = json_reader_fail(reader, "the key \"%s\" is repeated", fields[at].key);
        } else {
            seen[at] = true;
            err = fields[at].read(input, target);
        }
    }
    for (size_t at = 0; fields[at].key && !err; at++)
        if (!seen[at])
            err = why_fail_line(reader->why, reader->name, line, "%s has no \"%s\"", what,
                                fields[at].key);
    return err;
}

/* Reads an array item by item; `item` is called after the first event of each. */
static enum err array_read(struct input *input, const char *what,
                           enum err (*item)(struct input *input))
{
    struct json_reader *reader = &input->reader;
    enum err err = json_reader_expect(reader, JSON_ARRAY, what);
    while (json_reader_more(reader, &err))
        err = item(input);
    return err;
}

/* Reads an array of exactly two values. */
static enum err pair_read(struct input *input, const char *what, void *targets[2],
                          enum err (*take)(struct input *input, void *target))
{
    struct json_reader *reader = &input->reader;
    enum err err = json_reader_expect(reader, JSON_ARRAY, what);
    for (int i = 0; i < 3 && !err; i++) {
        err = json_reader_next(reader);
        if (err)
            break;
        if ((reader->event == JSON_ARRAY_END) != (i == 2))
            return json_reader_fail(reader, "%s should be an array of two values", what);
        if (i < 2)
            err = take(input, targets[i]);
    }
    return err;
}

/* --- links --- */

static enum err end_take(struct input *input, void *target)
{
    return node_take(input, target);
}

static enum err weight_take(struct input *input, void *target)
{
    return real_take(input, "a weight", target);
}

static enum err link_number_read(struct input *input, void *target)
{
    size_t expected = input->certificate->link_count - 1;
    uint64_t number;
    (void)target;
    enum err err = uint_read(input, "link", GRAPH_LINK_MAX, &number);
    if (!err && number != expected)
        err = json_reader_fail(&input->reader,
                               "found link %llu, expected link %zu: links must be in order",
                               (unsigned long long)number, expected);
    return err;
}

static enum err ends_read(struct input *input, void *target)
{
    struct certificate_link *link = target;
    void *ends[] = {&link->a, &link->b};
    return pair_read(input, "ends", ends, end_take);
}

static enum err weights_read(struct input *input, void *target)
{
    struct certificate_link *link = target;
    void *weights[] = {&link->weights[0], &link->weights[1]};
    return pair_read(input, "weights", weights, weight_take);
}

static enum err link_read(struct input *input)
{
    static const struct field fields[] = {
        {"link", link_number_read}, {"ends", ends_read}, {"weights", weights_read}, {NULL, NULL}};
    struct certificate *certificate = input->certificate;
    struct json_reader *reader = &input->reader;
    if (reader->event != JSON_OBJECT)
        return json_reader_fail(reader, "a link should be an object");
    if (certificate->link_count == GRAPH_LINK_MAX)
        return json_reader_fail(reader, "more than %u links", GRAPH_LINK_MAX);
    if (!array_reserve(&certificate->links, &certificate->link_capacity,
                       certificate->link_count + 1, sizeof *certificate->links))
        return why_memory(reader->why);
    struct certificate_link *link = &certificate->links[certificate->link_count++];
    *link = (struct certificate_link){.line = reader->line};
    return object_read(input, "a link", fields, link);
}

/* --- demands and their paths --- */

struct path_draft {
    double rate;
    size_t hops;
};

static enum err rate_read(struct input *input, void *target)
{
    struct path_draft *path = target;
    return real_read(input, "rate", &path->rate);
}

static enum err hops_read(struct input *input, void *target)
{
    struct json_reader *reader = &input->reader;
    struct path_draft *path = target;
    enum err err = json_reader_expect(reader, JSON_ARRAY, "the links of a path");
    while (json_reader_more(reader, &err)) {
        uint64_t link;
        err = uint_take(input, "a link", GRAPH_LINK_MAX, &link);
        if (!err &&
            !array_reserve(&input->hops, &input->hop_capacity, path->hops + 1, sizeof *input->hops))
            err = why_memory(reader->why);
        if (!err)
            input->hops[path->hops++] = (uint32_t)link;
    }
    return err;
}

static enum err path_read(struct input *input)
{
    static const struct field fields[] = {{"rate", rate_read}, {"links", hops_read}, {NULL, NULL}};
    struct certificate *certificate = input->certificate;
    struct json_reader *reader = &input->reader;
    size_t count = certificate->flow.path_count;
    unsigned long line = reader->line;
    struct path_draft path = {0};
    if (reader->event != JSON_OBJECT)
        return json_reader_fail(reader, "a path should be an object");
    enum err err = object_read(input, "a path", fields, &path);
    if (err)
        return err;
    if (!array_reserve(&certificate->rates, &certificate->rate_capacity, count + 1,
                       sizeof *certificate->rates) ||
        !array_reserve(&certificate->path_lines, &certificate->path_line_capacity, count + 1,
                       sizeof *certificate->path_lines))
        return why_memory(reader->why);
    certificate->rates[count] = path.rate;
    certificate->path_lines[count] = line;
    return path_set_path(&certificate->flow, input->hops, path.hops, reader->why);
}

static enum err from_read(struct input *input, void *target)
{
    return node_read(input, &((struct demand *)target)->from);
}

static enum err to_read(struct input *input, void *target)
{
    return node_read(input, &((struct demand *)target)->to);
}

static enum err amount_read(struct input *input, void *target)
{
    return real_read(input, "amount", &((struct demand *)target)->amount);
}

static enum err paths_read(struct input *input, void *target)
{
    (void)target;
    return array_read(input, "paths", path_read);
}

/* Refuses demands that no traffic has. */
static enum err demand_check(struct input *input, size_t index)
{
    const struct certificate *certificate = input->certificate;
    const struct demand *demand = &certificate->demands[index];
    unsigned long line = certificate->demand_lines[index];
    const char *reason = demand->from == demand->to ? "the demand is from a node to itself"
                         : !(demand->amount > 0)    ? "amount should be above 0"
                                                    : NULL;
    return reason ? why_fail_line(input->reader.why, input->reader.name, line, "%s", reason) : OK;
}

static enum err demand_read(struct input *input)
{
    static const struct field fields[] = {{"from", from_read},
                                          {"to", to_read},
                                          {"amount", amount_read},
                                          {"paths", paths_read},
                                          {NULL, NULL}};
    struct certificate *certificate = input->certificate;
    struct json_reader *reader = &input->reader;
    size_t count = certificate->flow.pair_count;
    if (reader->event != JSON_OBJECT)
        return json_reader_fail(reader, "a demand should be an object");
    if (!array_reserve(&certificate->demands, &certificate->demand_capacity, count + 1,
                       sizeof *certificate->demands) ||
        !array_reserve(&certificate->demand_lines, &certificate->demand_line_capacity, count + 1,
                       sizeof *certificate->demand_lines))
        return why_memory(reader->why);
    certificate->demands[count] = (struct demand){0};
    certificate->demand_lines[count] = reader->line;
    enum err err = path_set_pair(&certificate->flow, reader->why);
    if (!err)
        err = object_read(input, "a demand", fields, &certificate->demands[count]);
    return err ? err : demand_check(input, count);
}

/* --- the whole file --- */

static enum err version_read(struct input *input, void *target)
{
    uint64_t version;
    (void)target;
    enum err err = uint_read(input, "weft_flow", UINT64_MAX, &version);
    if (!err && version != 1)
        err = json_reader_fail(&input->reader,
                               "weft_flow is %llu, but this program reads only version 1",
                               (unsigned long long)version);
    return err;
}

/* Names that are too long are cut: they are only for people. */
static enum err topology_read(struct input *input, void *target)
{
    struct certificate *certificate = target;
    struct json_reader *reader = &input->reader;
    enum err err = json_reader_expect(reader, JSON_STRING, "topology");
    if (err)
        return err;
    size_t size = reader->text.size;
    size = size < CERTIFICATE_NAME_SIZE ? size : CERTIFICATE_NAME_SIZE - 1;
    memcpy(certificate->about.topology, reader->text.data, size);
    certificate->about.topology[size] = '\0';
    return OK;
}

static enum err nodes_read(struct input *input, void *target)
{
    uint64_t count;
    enum err err = uint_read(input, "nodes", GRAPH_NODE_MAX, &count);
    if (!err)
        ((struct certificate *)target)->node_count = (uint32_t)count;
    return err;
}

static enum err traffic_read_name(struct input *input, void *target)
{
    int index = 0;
    enum err err = word_read(input, "traffic", certificate_traffic_names, &index);
    ((struct certificate *)target)->about.traffic = (enum certificate_traffic)index;
    return err;
}

static enum err routing_read(struct input *input, void *target)
{
    int index = 0;
    enum err err = word_read(input, "routing", certificate_routing_names, &index);
    ((struct certificate *)target)->about.routing = (enum certificate_routing)index;
    return err;
}

static enum err ways_read(struct input *input, void *target)
{
    uint64_t ways;
    enum err err = uint_read(input, "ways", CERTIFICATE_WAYS_MAX, &ways);
    if (!err)
        ((struct certificate *)target)->about.ways = (uint32_t)ways;
    return err;
}

static enum err seed_read(struct input *input, void *target)
{
    return uint_read(input, "seed", UINT64_MAX, &((struct certificate *)target)->about.seed);
}

static enum err lower_read(struct input *input, void *target)
{
    return real_read(input, "throughput_lower", &((struct certificate *)target)->lower);
}

static enum err upper_read(struct input *input, void *target)
{
    return real_read(input, "throughput_upper", &((struct certificate *)target)->upper);
}

static enum err local_read(struct input *input, void *target)
{
    return real_read(input, "local", &((struct certificate *)target)->local);
}

static enum err count_read(struct input *input, void *target)
{
    return uint_read(input, "demand_count", UINT64_MAX,
                     &((struct certificate *)target)->demand_count);
}

static enum err links_read(struct input *input, void *target)
{
    (void)target;
    return array_read(input, "links", link_read);
}

static enum err demands_read(struct input *input, void *target)
{
    (void)target;
    return array_read(input, "demands", demand_read);
}

static enum err file_read_all(struct input *input)
{
    static const struct field fields[] = {
        {"weft_flow", version_read},
        {"topology", topology_read},
        {"nodes", nodes_read},
        {"traffic", traffic_read_name},
        {"seed", seed_read},
        {"routing", routing_read},
        {"ways", ways_read},
        {"throughput_lower", lower_read},
        {"throughput_upper", upper_read},
        {"demand_count", count_read},
        {"local", local_read},
        {"links", links_read},
        {"demands", demands_read},
        {NULL, NULL},
    };
    struct json_reader *reader = &input->reader;
    enum err err = names_collect(input);
    if (!err)
        err = json_reader_expect(reader, JSON_OBJECT, "the file");
    if (!err)
        err = object_read(input, "a flow file", fields, input->certificate);
    if (!err)
        err = json_reader_next(reader); /* refuses anything after the object */
    const struct certificate_about *about = &input->certificate->about;
    if (!err && (about->routing == CERTIFICATE_OPTIMAL) != (about->ways == 0))
        err = why_fail(reader->why, ERR_INPUT, "%s: %s routing cannot have %u ways", reader->name,
                       certificate_routing_names[about->routing], about->ways);
    return err;
}

enum err certificate_read(struct certificate *certificate, const struct topology *topology,
                          const char *name, const char *data, size_t size, struct why *why)
{
    struct input input = {.certificate = certificate, .topology = topology};
    *certificate = (struct certificate){.name = name};
    json_reader_init(&input.reader, name, data, size, why);
    enum err err = file_read_all(&input);
    json_reader_fini(&input.reader);
    name_index_fini(&input.names);
    free(input.hops);
    if (err)
        certificate_fini(certificate);
    return err;
}

void certificate_fini(struct certificate *certificate)
{
    free(certificate->links);
    free(certificate->demands);
    free(certificate->demand_lines);
    path_set_fini(&certificate->flow);
    free(certificate->rates);
    free(certificate->path_lines);
    *certificate = (struct certificate){0};
}
