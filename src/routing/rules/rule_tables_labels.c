/* rule_tables_labels: tables as MPLS labels, one rule per line:
 *   ftn to=7 push=23 port=4       a packet to switch 7 starts with a label
 *   ilm label=17 swap=19 port=3   a packet on its way
 *   ilm label=16 pop              a packet that has arrived
 *   server index=0 port=12 */
#include "routing/rules/rule_tables_impl.h"

static bool cursor_field(struct cursor *cursor, const char *word, uint64_t *number)
{
    while (cursor_take(cursor, " "))
        ;
    return cursor_take(cursor, word) && cursor_number(cursor, number);
}

enum err reader_labels(struct table_reader *reader, struct cursor line)
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
        return reader_fail_at(reader,
                              "expected ftn, ilm or server with the fields of weft-rules(5)", line);
    }
    if (!err && at.at < at.end)
        err = reader_fail_at(reader, "expected nothing after the rule", at);
    return err ? err : reader_add(reader, rule);
}
