/* format_json: node-link JSON, as networkx writes and reads it.
 *
 *   {"directed": false, "multigraph": false,
 *    "graph": {"weft": 1, "direct": true, "spec": "torus:3x3x3", "axes": [3, 3, 3]},
 *    "nodes": [{"id": 0, "servers": 1, "ports": 6, "group": 2, "level": 1}, ...],
 *    "links": [{"source": 0, "target": 1, "source_port": 0, "target_port": 1}, ...]}
 *
 * The list of links is there twice, as "links" and as "edges": networkx up to 3.3 reads the first,
 * networkx from 3.6 on the second. The reader takes a file with either list, or with both if they
 * agree. The keys may be in any order, and unknown keys are ignored. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "topology/format/format_impl.h"

struct json_input {
    struct json_reader reader;
    struct draft *draft;
    struct text name;  /* a node's name under construction */
    struct text other; /* the name of a link's second end */
    bool has_nodes, has_links, has_edges;
    bool again;        /* this is the second list of the same links */
    uint32_t compared; /* how many of the second list agree with the first */
};

static uint32_t line_of(const struct json_input *input)
{
    unsigned long line = input->reader.line;
    return line < UINT32_MAX ? (uint32_t)line : UINT32_MAX;
}

/* Writes a string inside a tuple as Python prints it. */
static void python_string(struct text *out, const struct text *value)
{
    bool single = memchr(value->data, '\'', value->size) != NULL;
    char quote = single && !memchr(value->data, '"', value->size) ? '"' : '\'';
    text_add(out, &quote, 1);
    for (size_t i = 0; i < value->size; i++) {
        char c = value->data[i];
        if (c == quote || c == '\\')
            text_printf(out, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            text_printf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if ((unsigned char)c < ' ' || c == 0x7f)
            text_printf(out, "\\x%02x", c);
        else
            text_add(out, &c, 1);
    }
    text_add(out, &quote, 1);
}

/* networkx writes a tuple as an array; the node's name is the text that Python prints for the
 * tuple. The JSON reader limits the nesting of arrays. */
static enum err tuple_read(struct json_input *input, struct text *name)
{
    struct json_reader *reader = &input->reader;
    uint32_t count = 0;
    enum err err = OK;
    text_puts(name, "(");
    while (json_reader_more(reader, &err)) {
        if (count++)
            text_puts(name, ", ");
        if (reader->event == JSON_ARRAY)
            err = tuple_read(input, name);
        else if (reader->event == JSON_STRING)
            python_string(name, &reader->text);
        else if (reader->event == JSON_NUMBER)
            text_add(name, reader->text.data, reader->text.size);
        else if (reader->event == JSON_TRUE || reader->event == JSON_FALSE)
            text_puts(name, reader->event == JSON_TRUE ? "True" : "False");
        else if (reader->event == JSON_NULL)
            text_puts(name, "None");
        else
            err = json_reader_fail(reader, "a node's name should not contain an object");
    }
    text_puts(name, count == 1 ? ",)" : ")");
    return err;
}

/* Reads the value of "id", "source" or "target". */
static enum err name_read(struct json_input *input, const char *what, struct text *name)
{
    struct json_reader *reader = &input->reader;
    enum err err = json_reader_next(reader);
    name->size = 0;
    if (err)
        return err;
    if (reader->event == JSON_STRING || reader->event == JSON_NUMBER)
        text_add(name, reader->text.data, reader->text.size);
    else if (reader->event == JSON_ARRAY)
        err = tuple_read(input, name);
    else
        err = json_reader_fail(reader, "%s should be a number, a string or an array", what);
    if (!err && !text_ok(name))
        err = why_memory(input->draft->why);
    return err;
}

static const char *own_key(const struct json_reader *reader, const char *const *keys)
{
    for (; *keys; keys++)
        if (json_reader_is(reader, *keys))
            return *keys;
    return NULL;
}

static enum err value_skip(struct json_reader *reader)
{
    enum err err = json_reader_next(reader);
    return err ? err : json_reader_skip(reader);
}

/* Reads the value of a key of a node or a link. A key in `keys` needs a whole number, which goes
 * into the draft; null counts as not given. Any other key may have any value. */
static enum err attribute_read(struct json_input *input, const char *const *keys,
                               struct draft_site *site, struct link *link)
{
    struct json_reader *reader = &input->reader;
    const char *key = own_key(reader, keys);
    if (!key)
        return value_skip(reader);
    enum err err = json_reader_next(reader);
    if (err || reader->event == JSON_NULL)
        return err;
    if (reader->event != JSON_NUMBER)
        return json_reader_fail(reader, "%s should be a whole number", key);
    return site ? draft_set_site(input->draft, site, key, reader->text.data, line_of(input))
                : draft_set_link(input->draft, link, key, reader->text.data, line_of(input));
}

static enum err node_read(struct json_input *input)
{
    static const char *const keys[] = {"servers", "ports", "group", "level", NULL};
    struct json_reader *reader = &input->reader;
    struct draft_site site = DRAFT_SITE_NEW;
    uint32_t line = line_of(input), node;
    bool named = false;
    enum err err = OK;
    if (reader->event != JSON_OBJECT)
        return json_reader_fail(reader, "a node should be an object");
    while (json_reader_more(reader, &err)) {
        bool id = json_reader_is(reader, "id");
        err = id ? name_read(input, "id", &input->name) : attribute_read(input, keys, &site, NULL);
        named |= id;
    }
    if (err)
        return err;
    if (!named)
        return draft_fail(input->draft, line, "the node has no id");
    err = draft_declare(input->draft, input->name.data, input->name.size, line, &node);
    if (!err)
        input->draft->nodes[node].site = site;
    return err;
}

static enum err lists_differ(const struct json_input *input, uint32_t line)
{
    return draft_fail(
        input->draft, line,
        "\"links\" and \"edges\" differ at entry %u, counted from 0; change both lists, "
        "or remove one",
        input->compared);
}

static enum err link_compare(struct json_input *input, const struct link *link, uint32_t line)
{
    const struct draft *draft = input->draft;
    const struct link *first =
        input->compared < draft->link_count ? &draft->links[input->compared].link : NULL;
    if (!first || link->a != first->a || link->b != first->b || link->a_port != first->a_port ||
        link->b_port != first->b_port)
        return lists_differ(input, line);
    input->compared++;
    return OK;
}

static enum err link_read(struct json_input *input)
{
    static const char *const keys[] = {"source_port", "target_port", NULL};
    struct json_reader *reader = &input->reader;
    struct draft *draft = input->draft;
    struct link link = DRAFT_LINK_NEW;
    uint32_t line = line_of(input);
    bool source = false, target = false;
    enum err err = OK;
    if (reader->event != JSON_OBJECT)
        return json_reader_fail(reader, "a link should be an object");
    while (json_reader_more(reader, &err)) {
        if (json_reader_is(reader, "source")) {
            err = name_read(input, "source", &input->name);
            source = true;
        } else if (json_reader_is(reader, "target")) {
            err = name_read(input, "target", &input->other);
            target = true;
        } else {
            err = attribute_read(input, keys, NULL, &link);
        }
    }
    if (err)
        return err;
    if (!source || !target)
        return draft_fail(draft, line, "the link has no %s", source ? "target" : "source");
    err = draft_mention(draft, input->name.data, input->name.size, line, &link.a);
    if (!err)
        err = draft_mention(draft, input->other.data, input->other.size, line, &link.b);
    if (err)
        return err;
    return input->again ? link_compare(input, &link, line) : draft_add_link(draft, &link, line);
}

static enum err list_read(struct json_input *input, const char *what, bool *seen,
                          enum err (*item_read)(struct json_input *input))
{
    struct json_reader *reader = &input->reader;
    if (*seen)
        return json_reader_fail(reader, "%s is given twice", what);
    *seen = true;
    enum err err = json_reader_expect(reader, JSON_ARRAY, what);
    while (json_reader_more(reader, &err))
        err = item_read(input);
    return err;
}

/* Reads "links" or "edges"; if the file had the other list before, compares the two. */
static enum err links_read(struct json_input *input, const char *what, bool *seen)
{
    input->again = input->has_links || input->has_edges;
    enum err err = list_read(input, what, seen, link_read);
    if (!err && input->again && input->compared != input->draft->link_count)
        err = lists_differ(input, line_of(input));
    return err;
}

static enum err axes_read(struct json_input *input)
{
    struct draft *draft = input->draft;
    draft->axis_count = 0;
    enum err err = json_reader_expect(&input->reader, JSON_ARRAY, "axes");
    while (json_reader_more(&input->reader, &err)) {
        struct draft one = {.name = draft->name, .why = draft->why};
        if (input->reader.event != JSON_NUMBER || draft->axis_count == AXIS_MAX)
            return json_reader_fail(&input->reader, "axes should be 1 to %d sizes", AXIS_MAX);
        err = draft_set_graph(&one, "axes", input->reader.text.data, line_of(input));
        draft->axis_size[draft->axis_count++] = one.axis_size[0];
    }
    return err;
}

/* Reads the "graph" object; old versions of networkx wrote a list, which is ignored. */
static enum err graph_read(struct json_input *input)
{
    struct json_reader *reader = &input->reader;
    enum err err = json_reader_next(reader);
    if (err || reader->event != JSON_OBJECT)
        return err ? err : json_reader_skip(reader);
    while (json_reader_more(reader, &err)) {
        if (json_reader_is(reader, "axes")) {
            err = axes_read(input);
        } else if (json_reader_is(reader, "direct")) {
            err = json_reader_bool(reader, "direct", &input->draft->direct);
            input->draft->direct_said = true;
        } else if (json_reader_is(reader, "spec")) {
            err = json_reader_expect(reader, JSON_STRING, "spec");
            if (!err)
                err = draft_set_graph(input->draft, "spec", reader->text.data, line_of(input));
        } else if (json_reader_is(reader, "weft")) {
            err = json_reader_expect(reader, JSON_NUMBER, "weft");
            if (!err)
                err = draft_set_graph(input->draft, "weft", reader->text.data, line_of(input));
        } else {
            err = value_skip(reader);
        }
    }
    return err;
}

static enum err top_read(struct json_input *input)
{
    struct json_reader *reader = &input->reader;
    bool multigraph = true;
    enum err err = json_reader_expect(reader, JSON_OBJECT, "the file");
    while (json_reader_more(reader, &err)) {
        if (json_reader_is(reader, "directed"))
            err = json_reader_bool(reader, "directed", &input->draft->directed);
        else if (json_reader_is(reader, "multigraph"))
            err = json_reader_bool(reader, "multigraph", &multigraph);
        else if (json_reader_is(reader, "graph"))
            err = graph_read(input);
        else if (json_reader_is(reader, "nodes"))
            err = list_read(input, "nodes", &input->has_nodes, node_read);
        else if (json_reader_is(reader, "links"))
            err = links_read(input, "links", &input->has_links);
        else if (json_reader_is(reader, "edges"))
            err = links_read(input, "edges", &input->has_edges);
        else
            err = value_skip(reader);
    }
    input->draft->repeat = multigraph ? REPEAT_PARALLEL : REPEAT_REFUSED;
    if (!err)
        err = json_reader_next(reader); /* nothing may follow */
    if (!err && !input->has_nodes)
        err = json_reader_fail(reader, "the file has no list of \"nodes\"");
    if (!err && !input->has_links && !input->has_edges)
        err = json_reader_fail(reader, "the file has no list of \"links\" or \"edges\"");
    return err;
}

enum err json_format_read(struct draft *draft, const char *data, size_t size, uint32_t *line)
{
    struct json_input input = {.draft = draft};
    draft->declare = true;
    json_reader_init(&input.reader, draft->name, data, size, draft->why);
    enum err err = top_read(&input);
    *line = line_of(&input);
    json_reader_fini(&input.reader);
    text_fini(&input.name);
    text_fini(&input.other);
    return err;
}

static void name_write(struct json *json, const struct topology *topology, uint32_t node)
{
    if (topology->names)
        json_string(json, topology->names[node]);
    else
        json_uint(json, node);
}

/* Opens an object that is written on a line of its own in an indented list. */
static void line_open(struct json *json)
{
    json_object(json);
    json->indent = false;
}

static void line_close(struct json *json)
{
    json_end(json, '}');
    json->indent = true;
}

static void graph_write(struct json *json, const struct topology *topology)
{
    json_key(json, "graph");
    line_open(json);
    json_put_uint(json, "weft", 1);
    json_put_bool(json, "direct", topology->direct);
    if (topology->spec[0])
        json_put_string(json, "spec", topology->spec);
    if (topology->axis_count) {
        json_key(json, "axes");
        json_array(json);
        for (uint32_t axis = 0; axis < topology->axis_count; axis++)
            json_uint(json, topology->axis_size[axis]);
        json_end(json, ']');
    }
    line_close(json);
}

static void node_write(struct json *json, const struct topology *topology, uint32_t node)
{
    const struct site *site = &topology->sites[node];
    line_open(json);
    json_key(json, "id");
    name_write(json, topology, node);
    json_put_uint(json, "servers", site->servers);
    if (site->ports)
        json_put_uint(json, "ports", site->ports);
    if (site->group != GROUP_NONE)
        json_put_uint(json, "group", site->group);
    if (site->level)
        json_put_uint(json, "level", site->level);
    line_close(json);
}

static void link_write(struct json *json, const struct topology *topology, const struct link *link)
{
    line_open(json);
    json_key(json, "source");
    name_write(json, topology, link->a);
    json_key(json, "target");
    name_write(json, topology, link->b);
    json_put_uint(json, "source_port", link->a_port);
    json_put_uint(json, "target_port", link->b_port);
}

/* keys[e] is the rank of link e among the cables between its two nodes: in a multigraph networkx
 * distinguishes parallel links by this key. */
static enum err keys_count(const struct graph *graph, uint32_t **keys, struct why *why)
{
    uint32_t *count = array_new(graph->node_count, sizeof *count);
    *keys = array_new(graph->link_count, sizeof **keys);
    if (!count || !*keys) {
        free(count);
        free(*keys);
        return why_memory(why);
    }
    for (uint32_t v = 0; v < graph->node_count; v++) {
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t other = graph->to[slot];
            if (v < other)
                (*keys)[graph->channel[slot] / 2] = count[other]++;
        }
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++)
            count[graph->to[slot]] = 0;
    }
    free(count);
    return OK;
}

static void links_write(struct json *json, const struct topology *topology, const uint32_t *keys,
                        const char *list)
{
    const struct graph *graph = &topology->graph;
    json_key(json, list);
    json_array(json);
    for (uint32_t e = 0; e < graph->link_count; e++) {
        link_write(json, topology, &graph->links[e]);
        if (keys)
            json_put_uint(json, "key", keys[e]);
        line_close(json);
    }
    json_end(json, ']');
}

enum err json_format_write(struct text *out, const struct topology *topology, struct why *why)
{
    const struct graph *graph = &topology->graph;
    bool parallel;
    uint32_t *keys = NULL;
    enum err err = format_find_parallel(topology, &parallel, why);
    if (!err && parallel)
        err = keys_count(graph, &keys, why);
    if (err)
        return err;
    struct json json = json_make(out, true);
    json_object(&json);
    json_put_bool(&json, "directed", false);
    json_put_bool(&json, "multigraph", parallel);
    graph_write(&json, topology);
    json_key(&json, "nodes");
    json_array(&json);
    for (uint32_t v = 0; v < graph->node_count; v++)
        node_write(&json, topology, v);
    json_end(&json, ']');
    links_write(&json, topology, keys, "links");
    links_write(&json, topology, keys, "edges");
    json_end(&json, '}');
    free(keys);
    return OK;
}
