#include "routing/rules/rule_tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "routing/rules/rule_tables_impl.h"

#define SHOWN 60 /* letters of a bad line that a refusal repeats */

void rule_tables_fini(struct rule_tables *tables)
{
    for (size_t i = 0; i < tables->file_count; i++)
        free(tables->files[i]);
    free(tables->files);
    free(tables->rules);
    free(tables->first);
    *tables = (struct rule_tables){0};
}

/* --- for the readers --- */

enum err reader_add(struct table_reader *reader, struct table_rule rule)
{
    struct rule_tables *tables = reader->tables;
    if (reader->at == NODE_NONE)
        return reader_fail(reader, "a rule before the line that names its switch");
    if (tables->count >= UINT32_MAX ||
        !array_reserve(&tables->rules, &tables->capacity, tables->count + 1, sizeof *tables->rules))
        return why_memory(reader->why);
    rule.at = reader->at;
    rule.line = (uint32_t)reader->line;
    rule.file = (uint16_t)(tables->file_count - 1);
    rule.order = (uint32_t)tables->count;
    rule.used = false;
    tables->rules[tables->count++] = rule;
    return OK;
}

enum err reader_switch(struct table_reader *reader, uint64_t node, const char *name, size_t size,
                       bool encoded)
{
    char buffer[NODE_NAME_SIZE];
    struct text expected = {0};
    if (node >= reader->topology->graph.node_count)
        return reader_fail(reader, "there is no switch %llu: this network has %u",
                           (unsigned long long)node, reader->topology->graph.node_count);
    const char *known = topology_name(reader->topology, (uint32_t)node, buffer);
    if (encoded)
        rules_write_name(&expected, known);
    else
        text_puts(&expected, known);
    if (!text_ok(&expected)) {
        text_fini(&expected);
        return why_memory(reader->why);
    }
    enum err err = OK;
    if (expected.size != size || (size && memcmp(expected.data, name, size) != 0))
        err = reader_fail(reader, "switch %llu is '%.*s' here, not '%.*s'",
                          (unsigned long long)node, SHOWN, expected.data ? expected.data : "",
                          size < SHOWN ? (int)size : SHOWN, name);
    text_fini(&expected);
    reader->at = (uint32_t)node;
    return err;
}

enum err reader_to(const struct table_reader *reader, uint64_t node)
{
    const struct topology *topology = reader->topology;
    if (node >= topology->graph.node_count || topology->sites[node].servers == 0)
        return reader_fail(reader, "no servers are at switch %llu", (unsigned long long)node);
    return OK;
}

enum err reader_server(const struct table_reader *reader, uint64_t server)
{
    if (reader->at != NODE_NONE && server >= reader->topology->sites[reader->at].servers)
        return reader_fail(reader, "there is no server %llu at switch %u",
                           (unsigned long long)server, reader->at);
    return OK;
}

enum err reader_encoding(struct table_reader *reader, enum rules_encoding encoding)
{
    struct rule_tables *tables = reader->tables;
    if (tables->file_count > 1 && tables->encoding != encoding)
        return reader_fail(reader, "tables in form '%s', those before were '%s'",
                           rules_encoding_words[encoding], rules_encoding_words[tables->encoding]);
    tables->encoding = encoding;
    return OK;
}

/* --- lines --- */

bool cursor_take(struct cursor *cursor, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < size || memcmp(cursor->at, word, size) != 0)
        return false;
    cursor->at += size;
    return true;
}

static int digit_of(char letter, int base)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (base == 16 && letter >= 'a' && letter <= 'f')
        return letter - 'a' + 10;
    return -1;
}

bool cursor_number(struct cursor *cursor, uint64_t *number)
{
    int base = cursor_take(cursor, "0x") ? 16 : 10;
    const char *start = cursor->at;
    *number = 0;
    for (; cursor->at < cursor->end; cursor->at++) {
        int digit = digit_of(*cursor->at, base);
        if (digit < 0)
            break;
        *number = *number * (uint64_t)base + (uint64_t)digit;
        if (*number > UINT32_MAX)
            return false;
    }
    return cursor->at > start;
}

static bool cursor_field(struct cursor *cursor, const char *word, uint64_t *number)
{
    while (cursor_take(cursor, " "))
        ;
    return cursor_take(cursor, word) && cursor_number(cursor, number);
}

/* ftn to=7 push=23 port=4, ilm label=17 swap=19 port=3, ilm label=16 pop,
 * server index=0 port=12 */
static enum err reader_labels(struct table_reader *reader, struct cursor line)
{
    struct cursor at = line;
    uint64_t one = 0, two = 0, three = 0;
    struct table_rule rule;
    enum err err = OK;
    if (cursor_field(&at, "ftn to=", &one) && cursor_field(&at, "push=", &two) &&
        cursor_field(&at, "port=", &three)) {
        rule = (struct table_rule){.kind = TABLE_WAY, .key = (uint32_t)one, .next = (uint32_t)two};
        rule.port = (uint32_t)three;
        err = reader_to(reader, one);
    } else if (at = line, cursor_field(&at, "ilm label=", &one) && cursor_take(&at, " pop")) {
        rule = (struct table_rule){.kind = TABLE_FORWARD, .key = TABLE_ANY};
        rule.label = (uint32_t)one;
        rule.next = TABLE_POP;
        rule.port = TABLE_OWN;
    } else if (at = line, cursor_field(&at, "ilm label=", &one) &&
                              cursor_field(&at, "swap=", &two) &&
                              cursor_field(&at, "port=", &three)) {
        rule = (struct table_rule){.kind = TABLE_FORWARD, .key = TABLE_ANY};
        rule.label = (uint32_t)one;
        rule.next = (uint32_t)two;
        rule.port = (uint32_t)three;
    } else if (at = line,
               cursor_field(&at, "server index=", &one) &&
                   (cursor_take(&at, " port=local") ? (three = TABLE_LOCAL, true)
                                                    : cursor_field(&at, "port=", &three))) {
        rule = (struct table_rule){.kind = TABLE_SERVER, .key = (uint32_t)one};
        rule.port = (uint32_t)three;
        err = reader_server(reader, one);
    } else {
        return reader_fail(reader, "expected ftn, ilm or server and its fields, found '%.*s'",
                           line.end - line.at < SHOWN ? (int)(line.end - line.at) : SHOWN, line.at);
    }
    if (!err && at.at < at.end)
        err = reader_fail(reader, "nothing was expected after the rule, found '%.*s'",
                          at.end - at.at < SHOWN ? (int)(at.end - at.at) : SHOWN, at.at);
    return err ? err : reader_add(reader, rule);
}

/* #@ weft-rules FORM, #@ switch NUMBER NAME */
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
        return reader_fail(reader, "expected '#@ weft-rules' and openflow vlan, openflow mpls or "
                                   "mpls, or JSON");
    return reader_fail(reader, "expected '#@ switch' and its number and name");
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
        return why_fail(why, ERR_INPUT, "%s: more than %u files of tables", name, UINT16_MAX);
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

/* --- looking for rules --- */

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
    size_t places = (size_t)tables->topology->graph.node_count * TABLE_KIND_COUNT;
    free(tables->first);
    tables->first = array_new(places + 1, sizeof *tables->first);
    if (!tables->first)
        return why_memory(why);
    if (tables->count)
        qsort(tables->rules, tables->count, sizeof *tables->rules, rule_compare);
    for (size_t i = 0; i < tables->count; i++)
        tables->first[(size_t)tables->rules[i].at * TABLE_KIND_COUNT + tables->rules[i].kind + 1]++;
    for (size_t i = 0; i < places; i++)
        tables->first[i + 1] += tables->first[i];
    return OK;
}

struct table_rule *rule_tables_find(const struct rule_tables *tables, uint32_t at,
                                    enum table_kind kind, uint32_t key, uint32_t label,
                                    size_t *count)
{
    size_t place = (size_t)at * TABLE_KIND_COUNT + kind;
    size_t low = tables->first[place], high = tables->first[place + 1], end = high;
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
