/* table_reader: the part of reading that all forms of tables share. */
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "routing/rules/rule_tables_impl.h"

#define SHOWN 60 /* letters of a bad line that an error repeats */

enum err reader_add(struct table_reader *reader, struct table_rule rule)
{
    struct rule_tables *tables = reader->tables;
    if (reader->at == NODE_NONE)
        return reader_fail(reader, "the rule comes before the line or key that names its switch");
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
        return reader_fail(reader,
                           "there is no switch %llu: the network has %u switches, numbered from 0",
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
        err = reader_fail(
            reader,
            "switch %llu of this network is '%.*s', not '%.*s'; the tables are for another network",
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
        return reader_fail(reader, "there is no switch %llu with servers",
                           (unsigned long long)node);
    return OK;
}

enum err reader_server(const struct table_reader *reader, uint64_t server)
{
    if (reader->at != NODE_NONE && server >= reader->topology->sites[reader->at].servers)
        return reader_fail(reader, "there is no server %llu at switch %u of this network",
                           (unsigned long long)server, reader->at);
    return OK;
}

enum err reader_encoding(struct table_reader *reader, enum rules_encoding encoding)
{
    struct rule_tables *tables = reader->tables;
    if (tables->file_count > 1 && tables->encoding != encoding)
        return reader_fail(reader, "this table has the form '%s', but the earlier tables have '%s'",
                           rules_encoding_words[encoding], rules_encoding_words[tables->encoding]);
    tables->encoding = encoding;
    return OK;
}

/* --- positions in a line --- */

enum err reader_fail_at(const struct table_reader *reader, const char *what, struct cursor at)
{
    return reader_fail(reader, "%s, found '%.*s'", what,
                       at.end - at.at < SHOWN ? (int)(at.end - at.at) : SHOWN, at.at);
}

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
