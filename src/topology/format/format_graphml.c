/* format_graphml: GraphML through libexpat, as networkx writes and reads it.
 *
 * Attributes are declared as <key> and given as <data>; weft's attributes have the same names as in
 * the other formats. Hyperedges and graphs inside nodes are refused, and so is every entity
 * declaration: no topology needs one, and nested entities turn small files into huge ones.
 *
 * expat calls back into C, so a failure is kept in `err` and the parser is stopped; nothing is done
 * after that. */
#include <expat.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/format/format_impl.h"

#define GRAPHML_KEY_MAX 1000      /* real files have a few dozen */
#define GRAPHML_CHUNK   (1 << 24) /* bytes per call of expat, which counts in int */

enum owner {
    OWNER_NONE, /* attributes that weft does not know are ignored */
    OWNER_GRAPH,
    OWNER_NODE,
    OWNER_EDGE,
};

/* A <key>: which kind of object has the attribute, its name, and its default value. */
struct graphml_key {
    enum owner owner;
    char name[16]; /* longer names are not weft's */
    char fallback[24];
    bool has_fallback;
};

struct graphml_input {
    XML_Parser parser;
    struct draft *draft;
    enum err err;
    uint32_t depth;
    uint32_t graph_depth; /* of the open <graph>, 0 if none */
    bool graph_seen;
    enum owner owner; /* the open element inside the graph */
    uint32_t line;    /* the line on which it began */
    uint32_t node;
    struct link link;
    struct name_index key_ids;
    struct graphml_key *keys;
    size_t key_capacity;
    uint32_t key_open;    /* the <key> that is open, or NAME_NONE */
    uint32_t value_depth; /* depth of the open <data> or <default> that is read; 0 if none */
    uint32_t value_key;   /* the key of that value */
    struct text letters;  /* the value so far */
};

static uint32_t line_now(const struct graphml_input *input)
{
    unsigned long line = XML_GetCurrentLineNumber(input->parser);
    return line < UINT32_MAX ? (uint32_t)line : UINT32_MAX;
}

static void stop(struct graphml_input *input, enum err err)
{
    if (!err || input->err)
        return;
    input->err = err;
    XML_StopParser(input->parser, XML_FALSE);
}

static const char *attribute(const char **attributes, const char *name)
{
    for (; *attributes; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return NULL;
}

/* Tags may have a namespace prefix. */
static const char *tag_name(const char *tag)
{
    const char *colon = strrchr(tag, ':');
    return colon ? colon + 1 : tag;
}

static enum owner owner_of(const char *word)
{
    if (!word)
        return OWNER_NONE;
    return strcmp(word, "graph") == 0  ? OWNER_GRAPH
           : strcmp(word, "node") == 0 ? OWNER_NODE
           : strcmp(word, "edge") == 0 ? OWNER_EDGE
                                       : OWNER_NONE;
}

static enum err key_begin(struct graphml_input *input, const char **attributes)
{
    const char *id = attribute(attributes, "id"), *name = attribute(attributes, "attr.name");
    const char *what = attribute(attributes, "for");
    uint32_t before = input->key_ids.count, key;
    if (!id)
        return draft_fail(input->draft, line_now(input), "<key> has no id");
    if (before == GRAPHML_KEY_MAX)
        return draft_fail(input->draft, line_now(input), "there are more than %d keys, the maximum",
                          GRAPHML_KEY_MAX);
    if (!name_index_add(&input->key_ids, id, strlen(id), &key) ||
        !array_reserve(&input->keys, &input->key_capacity, (size_t)key + 1, sizeof *input->keys))
        return why_memory(input->draft->why);
    if (input->key_ids.count == before)
        return draft_fail(input->draft, line_now(input), "key '%.60s' is declared twice", id);
    input->keys[key] = (struct graphml_key){.owner = owner_of(what)};
    if (name && strlen(name) < sizeof input->keys[key].name)
        strcpy(input->keys[key].name, name);
    else
        input->keys[key].owner = OWNER_NONE;
    input->key_open = key;
    return OK;
}

/* Collects the text until the element at this depth ends. */
static void value_begin(struct graphml_input *input, uint32_t key)
{
    if (input->value_depth)
        return; /* an element inside a value is part of it */
    input->value_depth = input->depth;
    input->value_key = key;
    input->letters.size = 0;
    text_add(&input->letters, "", 0);
}

static enum err value_set(struct graphml_input *input, const struct graphml_key *key,
                          const char *value, uint32_t line)
{
    struct draft *draft = input->draft;
    switch (key->owner) {
    case OWNER_NONE:
        return OK;
    case OWNER_GRAPH:
        /* networkx writes True and False, as Python does */
        if (strcmp(key->name, "direct") == 0 && strcasecmp(value, "true") == 0)
            value = "true";
        else if (strcmp(key->name, "direct") == 0 && strcasecmp(value, "false") == 0)
            value = "false";
        return draft_set_graph(draft, key->name, value, line);
    case OWNER_NODE:
        return draft_set_site(draft, &draft->nodes[input->node].site, key->name, value, line);
    case OWNER_EDGE:
        return draft_set_link(draft, &input->link, key->name, value, line);
    }
    assert_unreachable();
}

/* Sets the default values of keys where no value is given. */
static enum err fallbacks_set(struct graphml_input *input)
{
    for (uint32_t key = 0; key < input->key_ids.count; key++) {
        const struct graphml_key *at = &input->keys[key];
        if (at->has_fallback && at->owner == input->owner) {
            enum err err = value_set(input, at, at->fallback, input->line);
            if (err)
                return err;
        }
    }
    return OK;
}

static enum err graph_begin(struct graphml_input *input, const char **attributes)
{
    const char *direction = attribute(attributes, "edgedefault");
    if (input->graph_seen)
        return draft_fail(input->draft, line_now(input),
                          "the file has a second <graph>, or a <graph> inside another");
    if (direction && strcmp(direction, "directed") != 0 && strcmp(direction, "undirected") != 0)
        return draft_fail(input->draft, line_now(input),
                          "edgedefault is '%.60s', not directed or undirected", direction);
    input->draft->directed = direction && strcmp(direction, "directed") == 0;
    input->graph_seen = true;
    input->graph_depth = input->depth;
    input->owner = OWNER_GRAPH;
    input->line = line_now(input);
    return fallbacks_set(input);
}

static enum err node_begin(struct graphml_input *input, const char **attributes)
{
    const char *id = attribute(attributes, "id");
    input->line = line_now(input);
    if (!id)
        return draft_fail(input->draft, input->line, "<node> has no id");
    input->owner = OWNER_NODE;
    enum err err = draft_declare(input->draft, id, strlen(id), input->line, &input->node);
    return err ? err : fallbacks_set(input);
}

static enum err edge_begin(struct graphml_input *input, const char **attributes)
{
    const char *source = attribute(attributes, "source"), *target = attribute(attributes, "target");
    const char *directed = attribute(attributes, "directed");
    struct draft *draft = input->draft;
    input->line = line_now(input);
    input->link = DRAFT_LINK_NEW;
    if (!source || !target)
        return draft_fail(draft, input->line, "<edge> has no %s", source ? "target" : "source");
    if (directed && (strcmp(directed, "true") == 0) != draft->directed)
        return draft_fail(draft, input->line, "the graph has both directed and undirected edges");
    input->owner = OWNER_EDGE;
    enum err err = draft_mention(draft, source, strlen(source), input->line, &input->link.a);
    if (!err)
        err = draft_mention(draft, target, strlen(target), input->line, &input->link.b);
    return err ? err : fallbacks_set(input);
}

static enum err data_begin(struct graphml_input *input, const char **attributes)
{
    const char *id = attribute(attributes, "key");
    if (!id)
        return draft_fail(input->draft, line_now(input), "<data> has no key");
    uint32_t key = name_index_find(&input->key_ids, id, strlen(id));
    if (key == NAME_NONE)
        return draft_fail(input->draft, line_now(input), "no key '%.60s' is declared", id);
    if (input->keys[key].owner == input->owner)
        value_begin(input, key);
    return OK;
}

static enum err tag_begin(struct graphml_input *input, const char *tag, const char **attributes)
{
    const char *name = tag_name(tag);
    if (input->depth == 1) {
        if (strcmp(name, "graphml") == 0)
            return OK;
        return draft_fail(input->draft, line_now(input), "<%.60s> where <graphml> should be", name);
    }
    if (input->depth == 2 && strcmp(name, "key") == 0)
        return key_begin(input, attributes);
    if (strcmp(name, "graph") == 0)
        return graph_begin(input, attributes);
    if (strcmp(name, "default") == 0 && input->depth == 3 && input->key_open != NAME_NONE) {
        value_begin(input, input->key_open);
        return OK;
    }
    if (!input->graph_depth)
        return OK;
    if (strcmp(name, "hyperedge") == 0)
        return draft_fail(input->draft, line_now(input),
                          "hyperedges are not supported: a link joins two nodes");
    if (strcmp(name, "data") == 0)
        return data_begin(input, attributes);
    if (input->depth != input->graph_depth + 1)
        return OK;
    if (strcmp(name, "node") == 0)
        return node_begin(input, attributes);
    if (strcmp(name, "edge") == 0)
        return edge_begin(input, attributes);
    return OK;
}

static void XMLCALL on_begin(void *user, const char *tag, const char **attributes)
{
    struct graphml_input *input = user;
    if (input->err)
        return;
    input->depth++;
    stop(input, tag_begin(input, tag, attributes));
}

/* Removes white space around a value. */
static const char *letters_trim(struct text *letters)
{
    char *from = letters->data, *end = letters->data + letters->size;
    while (end > from && strchr(" \t\r\n", end[-1]))
        *--end = '\0';
    return from + strspn(from, " \t\r\n");
}

static enum err value_end(struct graphml_input *input, bool data)
{
    struct graphml_key *key = &input->keys[input->value_key];
    input->value_depth = 0;
    if (!text_ok(&input->letters))
        return why_memory(input->draft->why);
    const char *value = letters_trim(&input->letters);
    if (data)
        return value_set(input, key, value, line_now(input));
    key->has_fallback = strlen(value) < sizeof key->fallback;
    if (key->has_fallback)
        strcpy(key->fallback, value);
    return OK;
}

static enum err tag_end(struct graphml_input *input, const char *name)
{
    if (input->value_depth == input->depth)
        return value_end(input, strcmp(name, "data") == 0);
    if (input->depth == 2)
        input->key_open = NAME_NONE;
    if (input->graph_depth && input->depth == input->graph_depth + 1) {
        enum owner owner = input->owner;
        input->owner = OWNER_GRAPH;
        if (owner == OWNER_EDGE && strcmp(name, "edge") == 0)
            return draft_add_link(input->draft, &input->link, input->line);
    }
    if (input->depth == input->graph_depth)
        input->graph_depth = 0;
    return OK;
}

static void XMLCALL on_end(void *user, const char *tag)
{
    struct graphml_input *input = user;
    if (input->err)
        return;
    stop(input, tag_end(input, tag_name(tag)));
    input->depth--;
}

static void XMLCALL on_letters(void *user, const char *data, int size)
{
    struct graphml_input *input = user;
    if (input->value_depth && !input->err)
        text_add(&input->letters, data, (size_t)size);
}

static void XMLCALL on_entity(void *user, const char *name, int is_parameter, const char *value,
                              int size, const char *base, const char *system_id,
                              const char *public_id, const char *notation)
{
    struct graphml_input *input = user;
    stop(input, draft_fail(input->draft, line_now(input),
                           "the file declares the entity '%.60s'; entities are not allowed", name));
}

static enum err bytes_parse(struct graphml_input *input, const char *data, size_t size)
{
    for (;;) {
        int chunk = size < GRAPHML_CHUNK ? (int)size : GRAPHML_CHUNK;
        bool last = (size_t)chunk == size;
        enum XML_Status status = XML_Parse(input->parser, data, chunk, last);
        if (input->err)
            return input->err;
        if (status != XML_STATUS_OK) {
            enum XML_Error error = XML_GetErrorCode(input->parser);
            if (error == XML_ERROR_NO_MEMORY)
                return why_memory(input->draft->why);
            return draft_fail(input->draft, line_now(input), "not XML: %s", XML_ErrorString(error));
        }
        if (last)
            return OK;
        data += chunk;
        size -= (size_t)chunk;
    }
}

enum err graphml_format_read(struct draft *draft, const char *data, size_t size, uint32_t *line)
{
    struct graphml_input input = {.draft = draft, .key_open = NAME_NONE};
    draft->declare = true;
    input.parser = XML_ParserCreate(NULL);
    if (!input.parser)
        return why_memory(draft->why);
    XML_SetHashSalt(input.parser, 1); /* otherwise expat asks the system for randomness */
    XML_SetUserData(input.parser, &input);
    XML_SetElementHandler(input.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(input.parser, on_letters);
    XML_SetEntityDeclHandler(input.parser, on_entity);
    enum err err = bytes_parse(&input, data, size);
    *line = line_now(&input);
    if (!err && !input.graph_seen)
        err = draft_fail(draft, *line, "the file has no <graph>");
    XML_ParserFree(input.parser);
    name_index_fini(&input.key_ids);
    free(input.keys);
    text_fini(&input.letters);
    return err;
}

static void escaped_write(struct text *out, const char *value)
{
    for (; *value; value++) {
        const char *entity = *value == '&'   ? "&amp;"
                             : *value == '<' ? "&lt;"
                             : *value == '>' ? "&gt;"
                             : *value == '"' ? "&quot;"
                                             : NULL;
        if (entity)
            text_puts(out, entity);
        else
            text_add(out, value, 1);
    }
}

static void name_write(struct text *out, const struct topology *topology, uint32_t node)
{
    char buffer[NODE_NAME_SIZE];
    escaped_write(out, topology_name(topology, node, buffer));
}

static const char graphml_head[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
    "<key id=\"weft\" for=\"graph\" attr.name=\"weft\" attr.type=\"long\"/>\n"
    "<key id=\"direct\" for=\"graph\" attr.name=\"direct\" attr.type=\"boolean\"/>\n"
    "<key id=\"spec\" for=\"graph\" attr.name=\"spec\" attr.type=\"string\"/>\n"
    "<key id=\"axes\" for=\"graph\" attr.name=\"axes\" attr.type=\"string\"/>\n"
    "<key id=\"servers\" for=\"node\" attr.name=\"servers\" attr.type=\"long\"/>\n"
    "<key id=\"ports\" for=\"node\" attr.name=\"ports\" attr.type=\"long\"/>\n"
    "<key id=\"group\" for=\"node\" attr.name=\"group\" attr.type=\"long\"/>\n"
    "<key id=\"level\" for=\"node\" attr.name=\"level\" attr.type=\"long\"/>\n"
    "<key id=\"source_port\" for=\"edge\" attr.name=\"source_port\" attr.type=\"long\"/>\n"
    "<key id=\"target_port\" for=\"edge\" attr.name=\"target_port\" attr.type=\"long\"/>\n"
    "<graph edgedefault=\"undirected\">\n";

static void node_write(struct text *out, const struct topology *topology, uint32_t node)
{
    const struct site *site = &topology->sites[node];
    text_puts(out, "<node id=\"");
    name_write(out, topology, node);
    text_printf(out, "\"><data key=\"servers\">%u</data>", site->servers);
    if (site->ports)
        text_printf(out, "<data key=\"ports\">%u</data>", site->ports);
    if (site->group != GROUP_NONE)
        text_printf(out, "<data key=\"group\">%u</data>", site->group);
    if (site->level)
        text_printf(out, "<data key=\"level\">%u</data>", site->level);
    text_puts(out, "</node>\n");
}

enum err graphml_format_write(struct text *out, const struct topology *topology, struct why *why)
{
    const struct graph *graph = &topology->graph;
    char axes[FORMAT_AXES_SIZE];
    text_puts(out, graphml_head);
    text_printf(out, "<data key=\"weft\">1</data>\n<data key=\"direct\">%s</data>\n",
                topology->direct ? "true" : "false");
    if (topology->spec[0]) {
        text_puts(out, "<data key=\"spec\">");
        escaped_write(out, topology->spec);
        text_puts(out, "</data>\n");
    }
    format_print_axes(topology, axes);
    if (axes[0])
        text_printf(out, "<data key=\"axes\">%s</data>\n", axes);
    for (uint32_t v = 0; v < graph->node_count; v++)
        node_write(out, topology, v);
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct link *link = &graph->links[e];
        text_puts(out, "<edge source=\"");
        name_write(out, topology, link->a);
        text_puts(out, "\" target=\"");
        name_write(out, topology, link->b);
        text_printf(out,
                    "\"><data key=\"source_port\">%u</data><data key=\"target_port\">%u</data>"
                    "</edge>\n",
                    link->a_port, link->b_port);
    }
    text_puts(out, "</graph>\n</graphml>\n");
    return OK;
}
