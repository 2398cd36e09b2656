#pragma once
/* rule_tables_impl: a reader for each form of tables, and the code that they share
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

/* Fails with ERR_INPUT and names the line. */
#define reader_fail(reader, ...)                                                                   \
    why_fail_line((reader)->why, (reader)->name, (reader)->line, __VA_ARGS__)

MUST_CHECK enum err reader_add(struct table_reader *reader, struct table_rule rule);

/* Begins the table of a switch. `name` is encoded in text and plain in JSON; it must be the node's
 * name. */
MUST_CHECK enum err reader_switch(struct table_reader *reader, uint64_t node, const char *name,
                                  size_t size, bool encoded);

/* Refuses a destination or a server that does not exist. */
MUST_CHECK enum err reader_to(const struct table_reader *reader, uint64_t node);
MUST_CHECK enum err reader_server(const struct table_reader *reader, uint64_t server);

/* Sets the encoding of this file, which must be that of the earlier files. */
MUST_CHECK enum err reader_encoding(struct table_reader *reader, enum rules_encoding encoding);

MUST_CHECK enum err reader_json(struct table_reader *reader, const char *data, size_t size);

/* A position in a line. */
struct cursor {
    const char *at, *end;
};

/* Fails with ERR_INPUT, names the line, and shows the text at this position. */
MUST_CHECK enum err reader_fail_at(const struct table_reader *reader, const char *what,
                                   struct cursor at);

/* Skips a word if it is at this position. */
bool cursor_take(struct cursor *cursor, const char *word);
/* Reads a number, decimal or 0x...; at most 32 bits. */
bool cursor_number(struct cursor *cursor, uint64_t *number);

/* Reads a line of OpenFlow, or of labels. */
MUST_CHECK enum err reader_openflow(struct table_reader *reader, struct cursor line);
MUST_CHECK enum err reader_labels(struct table_reader *reader, struct cursor line);
