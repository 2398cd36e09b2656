#pragma once
/* rule_tables_impl: a reader for each form of tables, and what they share
 * (table_reader.c). */

#include "base/json_reader.h"
#include "routing/rules/rule_tables.h"

struct table_reader {
    struct rule_tables *tables;
    const struct topology *topology;
    const char *name;
    struct why *why;
    unsigned long line;
    uint32_t at; /* the switch whose table is being read, or NODE_NONE */
};

/* ERR_INPUT with the line. */
#define reader_fail(reader, ...)                                                                   \
    why_fail_line((reader)->why, (reader)->name, (reader)->line, __VA_ARGS__)

MUST_CHECK enum err reader_add(struct table_reader *reader, struct table_rule rule);

/* A switch's table begins. `name` is the encoded one in text, the plain one in
 * JSON; it must be the node's. */
MUST_CHECK enum err reader_switch(struct table_reader *reader, uint64_t node, const char *name,
                                  size_t size, bool encoded);

/* Refuses a destination or a server that does not exist. */
MUST_CHECK enum err reader_to(const struct table_reader *reader, uint64_t node);
MUST_CHECK enum err reader_server(const struct table_reader *reader, uint64_t server);

/* The encoding of this file, which must be that of those before. */
MUST_CHECK enum err reader_encoding(struct table_reader *reader, enum rules_encoding encoding);

MUST_CHECK enum err reader_json(struct table_reader *reader, const char *data, size_t size);

/* A place in a line. */
struct cursor {
    const char *at, *end;
};

/* ERR_INPUT with the line, and how what stands there begins. */
MUST_CHECK enum err reader_fail_at(const struct table_reader *reader, const char *what,
                                   struct cursor at);

/* Passes a word if it stands there. */
bool cursor_take(struct cursor *cursor, const char *word);
/* Passes a number, decimal or 0x...; at most 32 bits. */
bool cursor_number(struct cursor *cursor, uint64_t *number);

/* A line of OpenFlow, or of labels. */
MUST_CHECK enum err reader_openflow(struct table_reader *reader, struct cursor line);
MUST_CHECK enum err reader_labels(struct table_reader *reader, struct cursor line);
