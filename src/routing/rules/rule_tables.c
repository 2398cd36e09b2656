#include "routing/rules/rule_tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "routing/rules/rule_tables_impl.h"

void rule_tables_fini(struct rule_tables *tables)
{
    for (size_t i = 0; i < tables->file_count; i++)
        free(tables->files[i]);
    free(tables->files);
    free(tables->rules);
    free(tables->first);
    *tables = (struct rule_tables){0};
}

/* Reads #@ weft-rules FORM and #@ switch NUMBER NAME. */
static enum err reader_directive(struct table_reader *reader, struct cursor line, bool first)
{
    struct cursor at = line;
    uint64_t node;
    if (first && cursor_take(&at, "#@ weft-rules ")) {
        for (int i = 0; i < RULES_ENCODING_COUNT; i++) {
            struct cursor words = at;
            if (i != RULES_JSON && cursor_take(&words, rules_encoding_words[i]) &&
                words.at == words.end)
                return reader_encoding(reader, (enum rules_encoding)i);
        }
    } else if (!first && cursor_take(&at, "#@ switch ") && cursor_number(&at, &node) &&
               cursor_take(&at, " ")) {
        return reader_switch(reader, node, at.at, (size_t)(at.end - at.at), true);
    }
    if (first)
        return reader_fail(reader, "expected JSON, or a first line '#@ weft-rules' with openflow "
                                   "vlan, openflow mpls or mpls");
    return reader_fail(reader, "expected '#@ switch NUMBER NAME'");
}

static enum err reader_lines(struct table_reader *reader, const char *data, size_t size)
{
    const char *at = data, *end = data + size;
    bool first = true;
    for (reader->line = 1; at < end || first; reader->line++) {
        const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        struct cursor line = {at, stop ? stop : end};
        at = stop ? stop + 1 : end;
        while (line.end > line.at && (line.end[-1] == '\r' || line.end[-1] == ' '))
            line.end--;
        bool directive = line.end - line.at >= 2 && line.at[0] == '#' && line.at[1] == '@';
        const char *remark =
            line.at < line.end ? memchr(line.at, '#', (size_t)(line.end - line.at)) : NULL;
        if (remark && !directive)
            line.end = remark;
        while (line.end > line.at && line.end[-1] == ' ')
            line.end--;
        enum err err = OK;
        if (directive || first)
            err = reader_directive(reader, line, first);
        else if (line.at < line.end)
            err = reader->tables->encoding == RULES_LABELS ? reader_labels(reader, line)
                                                           : reader_openflow(reader, line);
        if (err)
            return err;
        first = false;
    }
    return OK;
}

enum err rule_tables_read(struct rule_tables *tables, const struct topology *topology,
                          const char *name, const char *data, size_t size, struct why *why)
{
    struct table_reader reader = {
        .tables = tables, .topology = topology, .name = name, .why = why, .at = NODE_NONE};
    if (tables->file_count > UINT16_MAX)
        return why_fail(why, ERR_INPUT, "%s: there are more than %u files of tables", name,
                        UINT16_MAX);
    tables->topology = topology;
    if (!array_reserve(&tables->files, &tables->file_capacity, tables->file_count + 1,
                       sizeof *tables->files))
        return why_memory(why);
    tables->files[tables->file_count] = strdup(name);
    if (!tables->files[tables->file_count])
        return why_memory(why);
    tables->file_count++;
    size_t blank = 0;
    while (blank < size && strchr(" \t\r\n", data[blank]) && data[blank])
        blank++;
    if (blank < size && data[blank] == '{')
        return reader_json(&reader, data, size);
    return reader_lines(&reader, data, size);
}

/* --- lookup --- */

static int rule_compare(const void *left, const void *right)
{
    const struct table_rule *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

enum err rule_tables_sort(struct rule_tables *tables, struct why *why)
{
    assert(tables->topology);
    size_t table_count = (size_t)tables->topology->graph.node_count * TABLE_KIND_COUNT;
    free(tables->first);
    tables->first = array_new(table_count + 1, sizeof *tables->first);
    if (!tables->first)
        return why_memory(why);
    if (tables->count)
        qsort(tables->rules, tables->count, sizeof *tables->rules, rule_compare);
    for (size_t i = 0; i < tables->count; i++)
        tables->first[(size_t)tables->rules[i].at * TABLE_KIND_COUNT + tables->rules[i].kind + 1]++;
    for (size_t i = 0; i < table_count; i++)
        tables->first[i + 1] += tables->first[i];
    return OK;
}

struct table_rule *rule_tables_find(const struct rule_tables *tables, uint32_t at,
                                    enum table_kind kind, uint32_t key, uint32_t label,
                                    size_t *count)
{
    size_t table = (size_t)at * TABLE_KIND_COUNT + kind;
    size_t low = tables->first[table], high = tables->first[table + 1], end = high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct table_rule *rule = &tables->rules[middle];
        if (rule->key < key || (rule->key == key && rule->label < label))
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < end && tables->rules[low + *count].key == key &&
           tables->rules[low + *count].label == label)
        ++*count;
    return *count ? &tables->rules[low] : NULL;
}

bool rule_tables_grouped(const struct rule_tables *tables)
{
    return tables->encoding == RULES_OPENFLOW_VLAN || tables->encoding == RULES_OPENFLOW_MPLS;
}

void rule_tables_count(const struct rule_tables *tables, struct rule_counts *counts)
{
    bool grouped = rule_tables_grouped(tables);
    for (size_t i = 0; i < tables->count; i++) {
        const struct table_rule *rule = &tables->rules[i], *last = i ? rule - 1 : NULL;
        bool way = rule->kind == TABLE_WAY;
        bool more =
            last && last->kind == TABLE_WAY && last->at == rule->at && last->key == rule->key;
        counts->ways += way;
        counts->forward += rule->kind == TABLE_FORWARD;
        if (way && (grouped || more))
            continue;
        counts->total++;
        counts->per_switch[rule->at]++;
    }
}
