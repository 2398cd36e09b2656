/* format_anynet: the network file of the BookSim simulator.
 *
 *   router 0 node 0 node 1 router 1 router 2 5
 *
 * A line names a router (or a node, which is a server) and the routers and nodes that are joined to
 * it. A number after a neighbour is the latency of that channel; the reader checks it and ignores
 * it. A link may be listed at one end or at both and is one link either way, so parallel links
 * cannot be written. The format has no comments. Router numbers become the names of our nodes;
 * nothing else is kept. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "topology/format/format_impl.h"

struct anynet_input {
    struct draft *draft;
    const char *at, *end;
    uint32_t line;
    struct name_index servers;
    uint32_t *home; /* per server: its router */
    size_t home_capacity;
};

struct word {
    const char *text;
    size_t size; /* 0 at the end of the line */
};

static struct word word_next(struct anynet_input *input)
{
    while (input->at < input->end &&
           (*input->at == ' ' || *input->at == '\t' || *input->at == '\r'))
        input->at++;
    struct word word = {input->at, 0};
    while (input->at < input->end && *input->at != ' ' && *input->at != '\t' &&
           *input->at != '\r' && *input->at != '\n')
        input->at++;
    word.size = (size_t)(input->at - word.text);
    return word;
}

static bool word_is(struct word word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.text, text, word.size) == 0;
}

static bool word_is_number(struct word word, bool fraction)
{
    size_t digits = 0;
    for (size_t i = 0; i < word.size; i++) {
        if (word.text[i] >= '0' && word.text[i] <= '9')
            digits++;
        else if (word.text[i] == '.' && fraction)
            fraction = false;
        else
            return false;
    }
    return digits > 0;
}

static int word_width(struct word word)
{
    return word.size < 40 ? (int)word.size : 40;
}

/* Reads "router" or "node", then a whole number. */
static enum err thing_read(struct anynet_input *input, struct word kind, bool *router,
                           struct word *number)
{
    *router = word_is(kind, "router");
    if (!*router && !word_is(kind, "node"))
        return draft_fail(input->draft, input->line, "'%.*s' where 'router' or 'node' should be",
                          word_width(kind), kind.text);
    *number = word_next(input);
    if (!word_is_number(*number, false))
        return draft_fail(input->draft, input->line, "'%.*s' where the number of a %s should be",
                          word_width(*number), number->text, *router ? "router" : "node");
    /* "007" is router 7 */
    while (number->size > 1 && number->text[0] == '0') {
        number->text++;
        number->size--;
    }
    return OK;
}

static enum err server_attach(struct anynet_input *input, struct word server, uint32_t router)
{
    uint32_t number = name_index_find(&input->servers, server.text, server.size);
    if (number != NAME_NONE) {
        if (input->home[number] == router)
            return OK; /* already listed from the other side */
        return draft_fail(input->draft, input->line, "node %.*s is joined to a second router",
                          word_width(server), server.text);
    }
    if (!name_index_add(&input->servers, server.text, server.size, &number) ||
        !array_reserve(&input->home, &input->home_capacity, (size_t)number + 1,
                       sizeof *input->home))
        return why_memory(input->draft->why);
    input->home[number] = router;
    input->draft->nodes[router].site.site.servers++;
    return OK;
}

/* Joins the first router or node of the line to another one. */
static enum err thing_join(struct anynet_input *input, bool head_router, struct word head,
                           bool router, struct word thing)
{
    struct link link = DRAFT_LINK_NEW;
    if (!head_router && !router)
        return draft_fail(input->draft, input->line, "node %.*s is joined to a node",
                          word_width(head), head.text);
    struct word first = head_router ? head : thing;
    enum err err = draft_mention(input->draft, first.text, first.size, input->line, &link.a);
    if (err)
        return err;
    if (head_router != router)
        return server_attach(input, head_router ? thing : head, link.a);
    err = draft_mention(input->draft, thing.text, thing.size, input->line, &link.b);
    return err ? err : draft_add_link(input->draft, &link, input->line);
}

static enum err line_read(struct anynet_input *input)
{
    bool head_router, router;
    struct word kind = word_next(input), head, thing;
    uint32_t node;
    if (kind.size == 0)
        return OK;
    enum err err = thing_read(input, kind, &head_router, &head);
    if (!err && head_router)
        err = draft_mention(input->draft, head.text, head.size, input->line, &node);
    for (kind = word_next(input); !err && kind.size > 0;) {
        err = thing_read(input, kind, &router, &thing);
        if (!err)
            err = thing_join(input, head_router, head, router, thing);
        kind = word_next(input);
        if (kind.size && !word_is(kind, "router") && !word_is(kind, "node")) {
            if (!err && !word_is_number(kind, true))
                err = draft_fail(input->draft, input->line,
                                 "'%.*s' where 'router', 'node' or a latency should be",
                                 word_width(kind), kind.text);
            kind = word_next(input);
        }
    }
    return err;
}

enum err anynet_format_read(struct draft *draft, const char *data, size_t size, uint32_t *line)
{
    struct anynet_input input = {.draft = draft, .at = data, .end = data + size, .line = 1};
    enum err err = OK;
    draft->repeat = REPEAT_SAME;
    while (!err && input.at < input.end) {
        err = line_read(&input);
        if (!err && input.at < input.end) {
            input.at++;
            input.line++;
        }
    }
    /* Direct if every router has one server: a plain direct network has this form. */
    draft->direct_said = draft->direct = true;
    for (uint32_t v = 0; v < draft->names.count; v++) {
        draft->nodes[v].site.has_servers = true;
        draft->direct &= draft->nodes[v].site.site.servers == 1;
    }
    *line = input.line;
    name_index_fini(&input.servers);
    free(input.home);
    return err;
}

enum err anynet_format_write(struct text *out, const struct topology *topology, struct why *why)
{
    const struct graph *graph = &topology->graph;
    uint32_t server = 0;
    bool parallel;
    enum err err = format_find_parallel(topology, &parallel, why);
    if (err)
        return err;
    if (parallel)
        return why_fail(why, ERR_USAGE,
                        "anynet: two nodes have more than one cable, which this format cannot "
                        "express; use another");
    if (topology->server_count > GRAPH_NODE_MAX)
        return why_fail(why, ERR_USAGE, "anynet: %u servers are too many; the maximum is %u",
                        topology->server_count, GRAPH_NODE_MAX);
    for (uint32_t v = 0; v < graph->node_count; v++) {
        text_printf(out, "router %u", v);
        for (uint32_t i = 0; i < topology->sites[v].servers; i++)
            text_printf(out, " node %u", server++);
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++)
            if (!(graph->channel[slot] & 1)) /* each link once, at its first end */
                text_printf(out, " router %u", graph->to[slot]);
        text_puts(out, "\n");
        if (!text_ok(out))
            break;
    }
    return OK;
}
