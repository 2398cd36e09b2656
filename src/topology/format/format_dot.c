/* format_dot: graphviz. The reader accepts the whole grammar: chains, subgraphs, links between
 * subgraphs, defaults, ports (which are positions in a drawing and are ignored). weft's attributes
 * are weft, direct, spec and axes of the graph; servers, ports, group and level of a node;
 * source_port and target_port of a link.
 *
 * Nodes are pushed on `members` when they are named; a subgraph is the range that was pushed since
 * it opened, which is also part of every enclosing subgraph. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "topology/format/dot_lexer.h"
#include "topology/format/format_impl.h"

#define DOT_DEPTH_MAX 64
#define DOT_CROSS_MAX 4000000u /* links that all statements between subgraphs may make */

/* A node or a subgraph in a chain: a range of members. */
struct dot_range {
    uint32_t from, count;
};

struct dot_input {
    struct dot_lexer lexer;
    struct draft *draft;
    uint32_t *members;
    size_t member_capacity;
    uint32_t member_count;
    struct dot_range *chain; /* a stack: inner statements push on top of outer ones */
    size_t chain_capacity;
    uint32_t chain_count;
    uint32_t *stamp; /* per node: the last range that was made unique and contains it */
    size_t stamp_capacity;
    uint32_t stamp_count;
    uint32_t stamp_last;
    uint64_t cross_count; /* links made so far by statements that make more than one */
    struct text name;     /* the word before the current token */
};

/* The object whose attributes a list sets; a NULL field has no attributes that weft reads. */
struct dot_target {
    struct draft *graph;
    struct draft_site *site;
    struct link *link;
};

static enum err body_read(struct dot_input *input, struct draft_site defaults, int depth);

static enum err name_keep(struct dot_input *input)
{
    input->name.size = 0;
    text_add(&input->name, input->lexer.text.data, input->lexer.text.size);
    return text_ok(&input->name) ? dot_lexer_next(&input->lexer) : why_memory(input->draft->why);
}

static enum err mark_expect(struct dot_input *input, char mark, const char *wanted)
{
    if (!dot_lexer_is_mark(&input->lexer, mark))
        return dot_lexer_unexpected(&input->lexer, wanted);
    return dot_lexer_next(&input->lexer);
}

/* Reads `= value` after the key in input->name. */
static enum err value_read(struct dot_input *input, struct dot_target target)
{
    struct dot_lexer *lexer = &input->lexer;
    enum err err = mark_expect(input, '=', "=");
    if (err)
        return err;
    if (lexer->token != DOT_NAME)
        return dot_lexer_unexpected(lexer, "a value");
    const char *key = input->name.data, *value = lexer->text.data;
    if (target.graph)
        err = draft_set_graph(target.graph, key, value, lexer->line);
    if (!err && target.site)
        err = draft_set_site(input->draft, target.site, key, value, lexer->line);
    if (!err && target.link)
        err = draft_set_link(input->draft, target.link, key, value, lexer->line);
    return err ? err : dot_lexer_next(lexer);
}

/* Reads any number of [key=value, key=value; ...] */
static enum err lists_read(struct dot_input *input, struct dot_target target)
{
    struct dot_lexer *lexer = &input->lexer;
    while (dot_lexer_is_mark(lexer, '[')) {
        enum err err = dot_lexer_next(lexer);
        while (!err && !dot_lexer_is_mark(lexer, ']')) {
            if (lexer->token != DOT_NAME)
                return dot_lexer_unexpected(lexer, "an attribute or ]");
            err = name_keep(input);
            if (!err)
                err = value_read(input, target);
            if (!err && (dot_lexer_is_mark(lexer, ',') || dot_lexer_is_mark(lexer, ';')))
                err = dot_lexer_next(lexer);
        }
        if (!err)
            err = dot_lexer_next(lexer);
        if (err)
            return err;
    }
    return OK;
}

static enum err member_push(struct dot_input *input, uint32_t node)
{
    if (input->member_count == UINT32_MAX ||
        !array_reserve(&input->members, &input->member_capacity, (size_t)input->member_count + 1,
                       sizeof *input->members))
        return why_memory(input->draft->why);
    input->members[input->member_count++] = node;
    return OK;
}

/* Reads the node whose name is in input->name; a port may follow. */
static enum err node_read(struct dot_input *input, const struct draft_site *defaults, uint32_t line)
{
    struct draft *draft = input->draft;
    uint32_t before = draft->names.count, node;
    enum err err = draft_mention(draft, input->name.data, input->name.size, line, &node);
    if (!err && draft->names.count > before)
        draft->nodes[node].site = *defaults;
    if (!err)
        err = member_push(input, node);
    for (int i = 0; !err && i < 2 && dot_lexer_is_mark(&input->lexer, ':'); i++) {
        err = dot_lexer_next(&input->lexer);
        if (!err && input->lexer.token != DOT_NAME)
            return dot_lexer_unexpected(&input->lexer, "the name of a port");
        if (!err)
            err = dot_lexer_next(&input->lexer);
    }
    return err;
}

/* A subgraph may name a node many times; a link to the subgraph joins each node once. */
static enum err range_unique(struct dot_input *input, struct dot_range *range)
{
    uint32_t nodes = input->draft->names.count, kept = 0;
    if (range->count == 0)
        return OK;
    uint32_t *members = input->members + range->from;
    if (!array_reserve(&input->stamp, &input->stamp_capacity, nodes, sizeof *input->stamp))
        return why_memory(input->draft->why);
    while (input->stamp_count < nodes)
        input->stamp[input->stamp_count++] = 0;
    input->stamp_last++;
    for (uint32_t i = 0; i < range->count; i++) {
        if (input->stamp[members[i]] == input->stamp_last)
            continue;
        input->stamp[members[i]] = input->stamp_last;
        members[kept++] = members[i];
    }
    range->count = kept;
    input->member_count = range->from + kept;
    return OK;
}

static enum err subgraph_read(struct dot_input *input, const struct draft_site *defaults, int depth)
{
    struct dot_lexer *lexer = &input->lexer;
    enum err err = OK;
    if (dot_lexer_is_word(lexer, "subgraph")) {
        err = dot_lexer_next(lexer);
        if (!err && lexer->token == DOT_NAME)
            err = dot_lexer_next(lexer);
    }
    return err ? err : body_read(input, *defaults, depth + 1);
}

static bool opens_subgraph(const struct dot_lexer *lexer)
{
    return dot_lexer_is_mark(lexer, '{') || dot_lexer_is_word(lexer, "subgraph");
}

/* Reads one end of a link and pushes it on the chain. `named`: a name was already read. */
static enum err end_read(struct dot_input *input, const struct draft_site *defaults, int depth,
                         bool named, uint32_t line)
{
    struct dot_range range = {input->member_count, 0};
    enum err err = OK;
    if (!named && opens_subgraph(&input->lexer)) {
        err = subgraph_read(input, defaults, depth);
        range.count = input->member_count - range.from;
        if (!err)
            err = range_unique(input, &range);
    } else {
        if (!named && input->lexer.token != DOT_NAME)
            return dot_lexer_unexpected(&input->lexer, "a node or a subgraph");
        if (!named)
            err = name_keep(input);
        if (!err)
            err = node_read(input, defaults, line);
        range.count = 1;
    }
    if (!err && !array_reserve(&input->chain, &input->chain_capacity,
                               (size_t)input->chain_count + 1, sizeof *input->chain))
        err = why_memory(input->draft->why);
    if (!err)
        input->chain[input->chain_count++] = range;
    return err;
}

static enum err ends_join(struct dot_input *input, struct dot_range one, struct dot_range other,
                          struct link link, uint32_t line)
{
    uint64_t count = (uint64_t)one.count * other.count;
    input->cross_count += count > 1 ? count : 0;
    if (input->cross_count > DOT_CROSS_MAX)
        return draft_fail(input->draft, line, "links between subgraphs make more than %u links",
                          DOT_CROSS_MAX);
    for (uint32_t i = 0; i < one.count; i++) {
        for (uint32_t k = 0; k < other.count; k++) {
            link.a = input->members[one.from + i];
            link.b = input->members[other.from + k];
            enum err err = draft_add_link(input->draft, &link, line);
            if (err)
                return err;
        }
    }
    return OK;
}

/* Reads a node, a subgraph, or a chain of them, and the attribute lists after it. */
static enum err chain_read(struct dot_input *input, const struct draft_site *defaults, int depth,
                           bool named, uint32_t line)
{
    struct dot_lexer *lexer = &input->lexer;
    uint32_t bottom = input->chain_count;
    struct link link = DRAFT_LINK_NEW;
    bool subgraph = !named && opens_subgraph(lexer);
    enum err err = end_read(input, defaults, depth, named, line);
    while (!err && lexer->token == DOT_EDGE) {
        if ((lexer->mark == '>') != input->draft->directed)
            return dot_lexer_unexpected(lexer, input->draft->directed ? "->" : "--");
        err = dot_lexer_next(lexer);
        if (!err)
            err = end_read(input, defaults, depth, false, lexer->line);
    }
    if (err)
        return err;
    struct dot_target target = {.link = &link};
    if (input->chain_count == bottom + 1) {
        if (subgraph) {
            input->chain_count = bottom;
            return OK; /* a list of attributes is an error here: no statement begins with one */
        }
        uint32_t node = input->members[input->chain[bottom].from];
        target = (struct dot_target){.site = &input->draft->nodes[node].site};
    }
    err = lists_read(input, target);
    for (uint32_t i = bottom; !err && i + 1 < input->chain_count; i++)
        err = ends_join(input, input->chain[i], input->chain[i + 1], link, line);
    input->chain_count = bottom;
    return err;
}

/* Reads graph, node or edge: default attributes for the rest of this subgraph. */
static enum err defaults_read(struct dot_input *input, struct draft_site *defaults, int depth)
{
    struct dot_lexer *lexer = &input->lexer;
    struct dot_target target = {0};
    if (dot_lexer_is_word(lexer, "node"))
        target.site = defaults;
    else if (dot_lexer_is_word(lexer, "graph") && depth == 0)
        target.graph = input->draft;
    enum err err = dot_lexer_next(lexer);
    if (err)
        return err;
    if (!dot_lexer_is_mark(lexer, '['))
        return dot_lexer_unexpected(lexer, "[");
    return lists_read(input, target);
}

static enum err statement_read(struct dot_input *input, struct draft_site *defaults, int depth)
{
    struct dot_lexer *lexer = &input->lexer;
    uint32_t line = lexer->line;
    if (dot_lexer_is_word(lexer, "graph") || dot_lexer_is_word(lexer, "node") ||
        dot_lexer_is_word(lexer, "edge"))
        return defaults_read(input, defaults, depth);
    if (opens_subgraph(lexer))
        return chain_read(input, defaults, depth, false, line);
    if (lexer->token != DOT_NAME || dot_lexer_is_word(lexer, "digraph") ||
        dot_lexer_is_word(lexer, "strict"))
        return dot_lexer_unexpected(lexer, "a node, a link or }");
    enum err err = name_keep(input);
    if (err)
        return err;
    if (dot_lexer_is_mark(lexer, '='))
        return value_read(input, (struct dot_target){.graph = depth ? NULL : input->draft});
    return chain_read(input, defaults, depth, true, line);
}

static enum err body_read(struct dot_input *input, struct draft_site defaults, int depth)
{
    struct dot_lexer *lexer = &input->lexer;
    if (depth > DOT_DEPTH_MAX)
        return draft_fail(input->draft, lexer->line, "subgraphs are nested more than %d deep",
                          DOT_DEPTH_MAX);
    enum err err = mark_expect(input, '{', "{");
    while (!err && !dot_lexer_is_mark(lexer, '}')) {
        err = statement_read(input, &defaults, depth);
        if (!err && dot_lexer_is_mark(lexer, ';'))
            err = dot_lexer_next(lexer);
        if (depth == 0)
            input->member_count = 0;
    }
    return err ? err : dot_lexer_next(lexer);
}

static enum err file_read(struct dot_input *input)
{
    struct dot_lexer *lexer = &input->lexer;
    enum err err = dot_lexer_next(lexer);
    if (!err && dot_lexer_is_word(lexer, "strict")) {
        input->draft->repeat = REPEAT_SAME;
        err = dot_lexer_next(lexer);
    }
    if (err)
        return err;
    input->draft->directed = dot_lexer_is_word(lexer, "digraph");
    if (!input->draft->directed && !dot_lexer_is_word(lexer, "graph"))
        return dot_lexer_unexpected(lexer, "graph or digraph");
    err = dot_lexer_next(lexer);
    if (!err && lexer->token == DOT_NAME)
        err = dot_lexer_next(lexer);
    if (!err)
        err = body_read(input, DRAFT_SITE_NEW, 0);
    if (!err && lexer->token != DOT_END)
        err = dot_lexer_unexpected(lexer, "the end of the file");
    return err;
}

enum err dot_format_read(struct draft *draft, const char *data, size_t size, uint32_t *line)
{
    struct dot_input input = {.draft = draft};
    dot_lexer_init(&input.lexer, draft->name, data, size, draft->why);
    enum err err = file_read(&input);
    *line = input.lexer.line;
    dot_lexer_fini(&input.lexer);
    text_fini(&input.name);
    free(input.members);
    free(input.chain);
    free(input.stamp);
    return err;
}

/* A backslash can only escape a quote, and nothing can escape the backslash: a name with an odd
 * number of backslashes before a quote or at its end cannot be written. */
static bool name_writable(const char *name)
{
    size_t backslashes = 0;
    for (;; name++) {
        if ((*name == '"' || !*name) && backslashes % 2)
            return false;
        if (!*name)
            return true;
        backslashes = *name == '\\' ? backslashes + 1 : 0;
    }
}

static void name_write(struct text *out, const struct topology *topology, uint32_t node)
{
    if (!topology->names) {
        text_printf(out, "%u", node);
        return;
    }
    text_puts(out, "\"");
    for (const char *at = topology->names[node]; *at; at++) {
        if (*at == '"')
            text_puts(out, "\\");
        text_add(out, at, 1);
    }
    text_puts(out, "\"");
}

static void node_write(struct text *out, const struct topology *topology, uint32_t node)
{
    const struct site *site = &topology->sites[node];
    text_puts(out, "  ");
    name_write(out, topology, node);
    text_printf(out, " [servers=%u", site->servers);
    if (site->ports)
        text_printf(out, ", ports=%u", site->ports);
    if (site->group != GROUP_NONE)
        text_printf(out, ", group=%u", site->group);
    if (site->level)
        text_printf(out, ", level=%u", site->level);
    text_puts(out, "];\n");
}

enum err dot_format_write(struct text *out, const struct topology *topology, struct why *why)
{
    const struct graph *graph = &topology->graph;
    char axes[FORMAT_AXES_SIZE];
    for (uint32_t v = 0; topology->names && v < graph->node_count; v++)
        if (!name_writable(topology->names[v]))
            return why_fail(
                why, ERR_USAGE,
                "dot: the format cannot express the backslashes in the name '%.60s'; use another",
                topology->names[v]);
    text_printf(out, "graph weft {\n  graph [weft=1, direct=%s",
                topology->direct ? "true" : "false");
    if (topology->spec[0])
        text_printf(out, ", spec=\"%s\"", topology->spec);
    format_print_axes(topology, axes);
    if (axes[0])
        text_printf(out, ", axes=\"%s\"", axes);
    text_puts(out, "];\n");
    for (uint32_t v = 0; v < graph->node_count; v++)
        node_write(out, topology, v);
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct link *link = &graph->links[e];
        text_puts(out, "  ");
        name_write(out, topology, link->a);
        text_puts(out, " -- ");
        name_write(out, topology, link->b);
        text_printf(out, " [source_port=%u, target_port=%u];\n", link->a_port, link->b_port);
    }
    text_puts(out, "}\n");
    return OK;
}
