/* format: recognises the five formats and dispatches to their readers and writers. */
#include "topology/format/format.h"

#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "topology/format/format_impl.h"

const char *const format_words[FORMAT_COUNT + 1] = {"json",    "edgelist", "dot",
                                                    "graphml", "anynet",   NULL};

const char *const format_endings[] = {
    ".json", ".edgelist", ".edges", ".txt", ".dot", ".gv", ".graphml", ".anynet", NULL,
};

static const enum format ending_formats[] = {
    FORMAT_JSON, FORMAT_EDGELIST, FORMAT_EDGELIST, FORMAT_EDGELIST,
    FORMAT_DOT,  FORMAT_DOT,      FORMAT_GRAPHML,  FORMAT_ANYNET,
};

bool format_of_name(const char *name, enum format *format)
{
    size_t size = strlen(name);
    for (size_t i = 0; format_endings[i]; i++) {
        size_t ending = strlen(format_endings[i]);
        if (size > ending && strcasecmp(name + size - ending, format_endings[i]) == 0) {
            *format = ending_formats[i];
            return true;
        }
    }
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool word_is(const char *data, size_t size, const char *word)
{
    size_t length = strlen(word);
    return size > length && strncasecmp(data, word, length) == 0 &&
           (is_space(data[length]) || data[length] == '{' || data[length] == '"');
}

static size_t bom_size(const char *data, size_t size)
{
    return size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

enum format format_of_content(const char *data, size_t size)
{
    const char *at = data + bom_size(data, size), *end = data + size;
    for (;;) {
        while (at < end && is_space(*at))
            at++;
        if (at == end || *at != '#')
            break;
        while (at < end && *at != '\n') /* a comment, in DOT and edge lists */
            at++;
    }
    size_t left = (size_t)(end - at);
    if (left == 0)
        return FORMAT_EDGELIST;
    if (*at == '{' || *at == '[')
        return FORMAT_JSON;
    if (*at == '<')
        return FORMAT_GRAPHML;
    if (word_is(at, left, "graph") || word_is(at, left, "digraph") || word_is(at, left, "strict") ||
        (left > 1 && at[0] == '/' && (at[1] == '/' || at[1] == '*')))
        return FORMAT_DOT;
    if (word_is(at, left, "router") || word_is(at, left, "node"))
        return FORMAT_ANYNET;
    return FORMAT_EDGELIST;
}

enum err format_read(struct topology *out, enum format format, const char *name, const char *data,
                     size_t size, struct why *why)
{
    struct draft draft = {.name = name, .why = why};
    uint32_t line = 1;
    enum err err = OK;
    size_t skip = bom_size(data, size);
    data += skip;
    size -= skip;
    switch (format) { /* no default: the compiler reports a missing format */
    case FORMAT_JSON:
        err = json_format_read(&draft, data, size, &line);
        break;
    case FORMAT_EDGELIST:
        err = edgelist_format_read(&draft, data, size, &line);
        break;
    case FORMAT_DOT:
        err = dot_format_read(&draft, data, size, &line);
        break;
    case FORMAT_GRAPHML:
        err = graphml_format_read(&draft, data, size, &line);
        break;
    case FORMAT_ANYNET:
        err = anynet_format_read(&draft, data, size, &line);
        break;
    }
    if (!err)
        err = draft_finish(&draft, line, out);
    draft_fini(&draft);
    if (!err)
        check_slow(topology_check(out));
    return err;
}

enum err format_write(struct text *out, enum format format, const struct topology *topology,
                      struct why *why)
{
    enum err err = OK;
    switch (format) {
    case FORMAT_JSON:
        err = json_format_write(out, topology, why);
        break;
    case FORMAT_EDGELIST:
        err = edgelist_format_write(out, topology, why);
        break;
    case FORMAT_DOT:
        err = dot_format_write(out, topology, why);
        break;
    case FORMAT_GRAPHML:
        err = graphml_format_write(out, topology, why);
        break;
    case FORMAT_ANYNET:
        err = anynet_format_write(out, topology, why);
        break;
    }
    if (!err && !text_ok(out))
        err = why_memory(why);
    return err;
}
