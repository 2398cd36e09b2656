/* format_draft: collects the content of a file together with line numbers. format_topology.c turns
 * the draft into a topology. */
#include "topology/format/format_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

void draft_fini(struct draft *draft)
{
    name_index_fini(&draft->names);
    free(draft->nodes);
    free(draft->links);
}

/* A name must be valid in every format and on one line of a terminal: no control characters, and
 * neither of the two code points that XML excludes. */
static enum err name_check(const struct draft *draft, const char *name, size_t size, uint32_t line)
{
    if (size > NODE_NAME_MAX)
        return draft_fail(draft, line, "a node's name is longer than %d bytes", NODE_NAME_MAX);
    if (utf8_valid(name, size) < size)
        return draft_fail(draft, line, "a node's name is not UTF-8");
    for (size_t i = 0; i < size; i++) {
        if (utf8_control(name + i, size - i))
            return draft_fail(draft, line, "a node's name contains a control character");
        if (i + 2 < size && memcmp(name + i, "\xef\xbf", 2) == 0 &&
            (unsigned char)name[i + 2] >= 0xbe)
            return draft_fail(draft, line,
                              "a node's name contains U+FFFE or U+FFFF, which are not characters");
    }
    return OK;
}

enum err draft_mention(struct draft *draft, const char *name, size_t size, uint32_t line,
                       uint32_t *node)
{
    *node = name_index_find(&draft->names, name, size);
    if (*node != NAME_NONE)
        return OK;
    enum err err = name_check(draft, name, size, line);
    if (err)
        return err;
    if (draft->names.count == GRAPH_NODE_MAX)
        return draft_fail(draft, line, "there are more than %u nodes, the maximum", GRAPH_NODE_MAX);
    if (!array_reserve(&draft->nodes, &draft->node_capacity, (size_t)draft->names.count + 1,
                       sizeof *draft->nodes) ||
        !name_index_add(&draft->names, name, size, node))
        return why_memory(draft->why);
    draft->nodes[*node] = (struct draft_node){.named = line};
    draft->nodes[*node].site = DRAFT_SITE_NEW;
    return OK;
}

enum err draft_declare(struct draft *draft, const char *name, size_t size, uint32_t line,
                       uint32_t *node)
{
    enum err err = draft_mention(draft, name, size, line, node);
    if (err)
        return err;
    if (draft->nodes[*node].declared)
        return draft_fail(draft, line, "node '%.60s' is listed twice, first on line %u",
                          name_index_text(&draft->names, *node), draft->nodes[*node].declared);
    draft->nodes[*node].declared = line;
    return OK;
}

enum err draft_add_link(struct draft *draft, const struct link *link, uint32_t line)
{
    if (link->a == link->b)
        return draft_fail(draft, line, "node '%.60s' is linked to itself",
                          name_index_text(&draft->names, link->a));
    if (draft->link_count == GRAPH_LINK_MAX)
        return draft_fail(draft, line, "there are more than %u links, the maximum", GRAPH_LINK_MAX);
    if (!array_reserve(&draft->links, &draft->link_capacity, (size_t)draft->link_count + 1,
                       sizeof *draft->links))
        return why_memory(draft->why);
    draft->links[draft->link_count++] = (struct draft_link){*link, line};
    return OK;
}

static enum err number_set(const struct draft *draft, const char *key, const char *value,
                           uint32_t line, uint32_t most, uint32_t *number)
{
    char *end = NULL;
    errno = 0;
    unsigned long long parsed = *value >= '0' && *value <= '9' ? strtoull(value, &end, 10) : 0;
    if (!end || *end || errno || parsed > most)
        return draft_fail(draft, line, "%s is '%.60s', not a whole number from 0 to %u", key, value,
                          most);
    *number = (uint32_t)parsed;
    return OK;
}

/* Reads "3x3x3". Impossible sizes are errors; sizes whose product is not the number of nodes are
 * dropped at the end. */
static enum err axes_set(struct draft *draft, const char *value, uint32_t line)
{
    const char *at = value;
    for (draft->axis_count = 0;;) {
        char *end;
        errno = 0;
        unsigned long long size = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        if (size == 0 || errno || size > GRAPH_NODE_MAX || (*end && *end != 'x') ||
            draft->axis_count == AXIS_MAX)
            return draft_fail(draft, line, "axes are '%.60s', not 1 to %d sizes such as 3x3x3",
                              value, AXIS_MAX);
        draft->axis_size[draft->axis_count++] = (uint32_t)size;
        if (!*end)
            return OK;
        at = end + 1;
    }
}

enum err draft_set_graph(struct draft *draft, const char *key, const char *value, uint32_t line)
{
    if (strcmp(key, "weft") == 0) {
        if (strcmp(value, "1") != 0)
            return draft_fail(draft, line, "weft is '%.60s', but this program reads only version 1",
                              value);
    } else if (strcmp(key, "direct") == 0) {
        draft->direct = strcmp(value, "true") == 0;
        draft->direct_said = true;
        if (!draft->direct && strcmp(value, "false") != 0)
            return draft_fail(draft, line, "direct is '%.60s', not true or false", value);
    } else if (strcmp(key, "axes") == 0) {
        return axes_set(draft, value, line);
    } else if (strcmp(key, "spec") == 0) {
        if (strlen(value) >= SPEC_SIZE)
            return draft_fail(draft, line, "spec is longer than %d bytes", SPEC_SIZE - 1);
        strcpy(draft->spec, value);
    }
    return OK;
}

enum err draft_set_site(const struct draft *draft, struct draft_site *site, const char *key,
                        const char *value, uint32_t line)
{
    if (strcmp(key, "servers") == 0) {
        site->has_servers = true;
        return number_set(draft, key, value, line, UINT32_MAX, &site->site.servers);
    }
    if (strcmp(key, "ports") == 0)
        return number_set(draft, key, value, line, UINT32_MAX, &site->site.ports);
    if (strcmp(key, "group") == 0)
        return number_set(draft, key, value, line, GROUP_NONE - 1, &site->site.group);
    if (strcmp(key, "level") == 0)
        return number_set(draft, key, value, line, UINT32_MAX, &site->site.level);
    return OK;
}

enum err draft_set_link(const struct draft *draft, struct link *link, const char *key,
                        const char *value, uint32_t line)
{
    if (strcmp(key, "source_port") == 0)
        return number_set(draft, key, value, line, PORT_ANY - 1, &link->a_port);
    if (strcmp(key, "target_port") == 0)
        return number_set(draft, key, value, line, PORT_ANY - 1, &link->b_port);
    return OK;
}
