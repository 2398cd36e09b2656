/* format_edgelist: one link per line, `u v`, as networkx writes it; numbers or a Python dictionary
 * may follow, and # begins a comment.
 *
 * Comments hold what the plain form cannot express; other programs ignore them. weft reads them
 * only after the line `# weft edgelist`:
 *
 *   # weft edgelist 1
 *   # weft graph direct true
 *   # weft graph spec torus:3x3x3
 *   # weft graph axes 3x3x3
 *   # weft node 0 servers 1 ports 6 group 2 level 1 name rack 7, upper switch
 *   0 1 {'source_port': 0, 'target_port': 1}
 *
 * A name extends to the end of its line. If all names are valid words, links are written with them;
 * else they are written with node numbers, and the names are in the comments. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/format/format_impl.h"

struct edgelist_input {
    struct draft *draft;
    uint32_t line;
    bool ours;                 /* the line `# weft edgelist` has been read */
    struct name_index aliases; /* words by which links refer to the listed nodes */
    uint32_t *alias_node;
    size_t alias_capacity;
    struct text key, value;
};

/* The rest of a line. */
struct rest {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void blanks_skip(struct rest *rest)
{
    while (rest->at < rest->end && is_blank(*rest->at))
        rest->at++;
}

static struct rest word_next(struct rest *rest)
{
    blanks_skip(rest);
    struct rest word = {rest->at, rest->at};
    while (rest->at < rest->end && !is_blank(*rest->at))
        rest->at++;
    word.end = rest->at;
    return word;
}

static size_t rest_size(struct rest rest)
{
    return (size_t)(rest.end - rest.at);
}

static int rest_width(struct rest rest)
{
    return rest_size(rest) < 40 ? (int)rest_size(rest) : 40;
}

static bool rest_is(struct rest rest, const char *text)
{
    return rest_size(rest) == strlen(text) && memcmp(rest.at, text, rest_size(rest)) == 0;
}

/* Makes a copy that ends in a zero byte, for functions such as draft_set_link. */
static enum err rest_copy(struct edgelist_input *input, struct rest rest, struct text *out)
{
    out->size = 0;
    text_add(out, rest.at, rest_size(rest));
    return text_ok(out) ? OK : why_memory(input->draft->why);
}

static enum err node_of_word(struct edgelist_input *input, struct rest word, uint32_t *node)
{
    uint32_t alias = name_index_find(&input->aliases, word.at, rest_size(word));
    if (alias != NAME_NONE) {
        assert(input->alias_node);
        *node = input->alias_node[alias];
        return OK;
    }
    return draft_mention(input->draft, word.at, rest_size(word), input->line, node);
}

/* Skips one Python string; false if it does not end. */
static bool string_skip(struct rest *rest)
{
    char quote = *rest->at++;
    while (rest->at < rest->end && *rest->at != quote)
        rest->at += *rest->at == '\\' && rest->at + 1 < rest->end ? 2 : 1;
    if (rest->at == rest->end)
        return false;
    rest->at++;
    return true;
}

/* Takes the text up to one of `stops` outside quotes and brackets. False if there is none in the
 * line, or if quotes or brackets do not match. */
static bool item_next(struct rest *rest, const char *stops, struct rest *item)
{
    int depth = 0;
    blanks_skip(rest);
    item->at = rest->at;
    while (rest->at < rest->end) {
        char c = *rest->at;
        if (depth == 0 && c && strchr(stops, c)) {
            for (item->end = rest->at; item->end > item->at && is_blank(item->end[-1]);)
                item->end--;
            return true;
        }
        if (c == '\'' || c == '"') {
            if (!string_skip(rest))
                return false;
            continue;
        }
        depth += c == '[' || c == '(' || c == '{';
        depth -= c == ']' || c == ')' || c == '}';
        if (depth < 0)
            return false;
        rest->at++;
    }
    return false;
}

/* Reads {'key': value, ...}: uses the keys that weft knows and ignores the others. */
static enum err dictionary_read(struct edgelist_input *input, struct rest *rest, struct link *link)
{
    struct rest key, value;
    rest->at++;
    blanks_skip(rest);
    while (rest->at < rest->end && *rest->at != '}') {
        if (!item_next(rest, ":", &key))
            return draft_fail(input->draft, input->line,
                              "the dictionary is not of the form "
                              "{'key': value}");
        rest->at++;
        if (!item_next(rest, ",}", &value))
            return draft_fail(input->draft, input->line, "the dictionary has no end");
        if (rest_size(key) >= 2 && (*key.at == '\'' || *key.at == '"')) {
            key.at++;
            key.end--;
            enum err err = rest_copy(input, key, &input->key);
            if (!err)
                err = rest_copy(input, value, &input->value);
            if (!err)
                err = draft_set_link(input->draft, link, input->key.data, input->value.data,
                                     input->line);
            if (err)
                return err;
        }
        if (*rest->at == ',')
            rest->at++;
        blanks_skip(rest);
    }
    if (rest->at == rest->end)
        return draft_fail(input->draft, input->line, "the dictionary has no end");
    rest->at++;
    return OK;
}

static bool is_number(struct edgelist_input *input, struct rest word)
{
    char *end;
    if (rest_copy(input, word, &input->value))
        return false;
    strtod(input->value.data, &end);
    return end > input->value.data && !*end;
}

static enum err link_read(struct edgelist_input *input, struct rest rest)
{
    struct link link = DRAFT_LINK_NEW;
    struct rest one = word_next(&rest), other = word_next(&rest), more;
    if (rest_size(one) == 0)
        return OK;
    if (rest_size(other) == 0)
        return draft_fail(input->draft, input->line, "only one node, '%.*s': a link needs two",
                          rest_width(one), one.at);
    enum err err = node_of_word(input, one, &link.a);
    if (!err)
        err = node_of_word(input, other, &link.b);
    blanks_skip(&rest);
    if (!err && rest.at < rest.end && *rest.at == '{') {
        err = dictionary_read(input, &rest, &link);
        more = word_next(&rest);
        if (!err && rest_size(more))
            err = draft_fail(input->draft, input->line, "unexpected '%.*s' after the dictionary",
                             rest_width(more), more.at);
    }
    while (!err && rest_size(more = word_next(&rest)))
        if (!is_number(input, more))
            err = draft_fail(input->draft, input->line,
                             "'%.*s' where a number or a {dictionary} should be", rest_width(more),
                             more.at);
    return err ? err : draft_add_link(input->draft, &link, input->line);
}

/* Records that links refer to the node by this word, whatever its name is. */
static enum err alias_add(struct edgelist_input *input, struct rest word, uint32_t node)
{
    uint32_t alias = name_index_find(&input->aliases, word.at, rest_size(word));
    if (alias != NAME_NONE)
        return draft_fail(input->draft, input->line, "node '%.*s' is listed twice",
                          rest_width(word), word.at);
    if (!name_index_add(&input->aliases, word.at, rest_size(word), &alias) ||
        !array_reserve(&input->alias_node, &input->alias_capacity, (size_t)alias + 1,
                       sizeof *input->alias_node))
        return why_memory(input->draft->why);
    input->alias_node[alias] = node;
    return OK;
}

/* Reads the rest of a line after `# weft node`. */
static enum err node_read(struct edgelist_input *input, struct rest rest)
{
    struct draft *draft = input->draft;
    struct draft_site site = DRAFT_SITE_NEW;
    struct rest word = word_next(&rest), key, name = word;
    uint32_t node;
    if (rest_size(word) == 0)
        return draft_fail(draft, input->line, "the node has no name");
    while (rest_size(key = word_next(&rest))) {
        if (rest_is(key, "name")) {
            name = (struct rest){rest.at + (rest.at < rest.end), rest.end};
            if (name.at < name.end && name.end[-1] == '\r')
                name.end--;
            break;
        }
        enum err err = rest_copy(input, key, &input->key);
        if (!err)
            err = rest_copy(input, word_next(&rest), &input->value);
        if (!err)
            err = draft_set_site(draft, &site, input->key.data, input->value.data, input->line);
        if (err)
            return err;
    }
    enum err err = draft_declare(draft, name.at, rest_size(name), input->line, &node);
    if (!err)
        err = alias_add(input, word, node);
    if (!err)
        draft->nodes[node].site = site;
    return err;
}

/* Reads a comment; `rest` begins after its #. */
static enum err comment_read(struct edgelist_input *input, struct rest rest)
{
    if (!rest_is(word_next(&rest), "weft"))
        return OK;
    struct rest what = word_next(&rest);
    if (rest_is(what, "edgelist")) {
        input->ours = true;
        enum err err = rest_copy(input, word_next(&rest), &input->value);
        return err ? err : draft_set_graph(input->draft, "weft", input->value.data, input->line);
    }
    if (!input->ours)
        return OK;
    if (rest_is(what, "node"))
        return node_read(input, rest);
    if (!rest_is(what, "graph"))
        return draft_fail(input->draft, input->line, "'# weft %.*s' is unknown", rest_width(what),
                          what.at);
    enum err err = rest_copy(input, word_next(&rest), &input->key);
    if (!err)
        err = rest_copy(input, word_next(&rest), &input->value);
    return err ? err
               : draft_set_graph(input->draft, input->key.data, input->value.data, input->line);
}

enum err edgelist_format_read(struct draft *draft, const char *data, size_t size, uint32_t *line)
{
    struct edgelist_input input = {.draft = draft, .line = 1};
    const char *at = data, *end = data + size;
    enum err err = OK;
    while (!err && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct rest rest = {at, stop ? stop : end};
        blanks_skip(&rest);
        if (rest.at < rest.end && *rest.at == '#') {
            rest.at++;
            err = comment_read(&input, rest);
        } else {
            const char *comment = memchr(rest.at, '#', rest_size(rest));
            if (comment)
                rest.end = comment;
            err = link_read(&input, rest);
        }
        if (!stop || err)
            break;
        at = stop + 1;
        input.line++;
    }
    *line = input.line;
    name_index_fini(&input.aliases);
    free(input.alias_node);
    text_fini(&input.key);
    text_fini(&input.value);
    return err;
}

/* May links be written with this name? Python splits lines at any Unicode white space, and must
 * take the name as one word. */
static bool name_is_word(const char *name)
{
    static const char *const spaces[] = {"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80",
                                         "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
                                         "\xe2\x81\x9f", "\xe3\x80\x80"};
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == '#' ||
            (memcmp(at, "\xe2\x80", 2) == 0 && (unsigned char)at[2] >= 0x80 &&
             (unsigned char)at[2] <= 0x8a))
            return false;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strstr(name, spaces[i]))
            return false;
    return *name != '\0';
}

static void node_write(struct text *out, const struct topology *topology, uint32_t node, bool words)
{
    const struct site *site = &topology->sites[node];
    if (words)
        text_printf(out, "# weft node %s servers %u", topology->names[node], site->servers);
    else
        text_printf(out, "# weft node %u servers %u", node, site->servers);
    if (site->ports)
        text_printf(out, " ports %u", site->ports);
    if (site->group != GROUP_NONE)
        text_printf(out, " group %u", site->group);
    if (site->level)
        text_printf(out, " level %u", site->level);
    if (topology->names && !words)
        text_printf(out, " name %s", topology->names[node]);
    text_puts(out, "\n");
}

enum err edgelist_format_write(struct text *out, const struct topology *topology, struct why *why)
{
    const struct graph *graph = &topology->graph;
    char axes[FORMAT_AXES_SIZE];
    bool words = topology->names != NULL;
    for (uint32_t v = 0; words && v < graph->node_count; v++)
        words = name_is_word(topology->names[v]);
    text_printf(out, "# weft edgelist 1\n# weft graph direct %s\n",
                topology->direct ? "true" : "false");
    if (topology->spec[0])
        text_printf(out, "# weft graph spec %s\n", topology->spec);
    format_print_axes(topology, axes);
    if (axes[0])
        text_printf(out, "# weft graph axes %s\n", axes);
    for (uint32_t v = 0; v < graph->node_count; v++)
        node_write(out, topology, v, words);
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct link *link = &graph->links[e];
        if (words)
            text_printf(out, "%s %s", topology->names[link->a], topology->names[link->b]);
        else
            text_printf(out, "%u %u", link->a, link->b);
        text_printf(out, " {'source_port': %u, 'target_port': %u}\n", link->a_port, link->b_port);
    }
    return OK;
}
