/* rule_tables_openflow: the lines of ovs-ofctl that weft-rules(5) lists.
 *
 * Fields may be in any order, and rules may give a priority, which has no effect, because no two
 * rules of a table may match the same packet. Everything else that ovs-ofctl accepts is refused,
 * because it cannot be replayed here. */
#include "routing/rules/rule_tables_impl.h"

#define VLAN_LAST 0xfffu
#define MPLS_LAST 0xfffffu

enum tag { TAG_UNSAID, TAG_ABSENT, TAG_ANY, TAG_IS };

/* What a flow matches. */
struct match {
    uint64_t table;
    enum tag tag;
    uint64_t label;
    bool addressed, prefix; /* an address was given; it is that of all servers of a switch */
    uint64_t node, server;
};

static bool take_byte(struct cursor *cursor, uint64_t *byte)
{
    *byte = 0;
    for (int i = 0; i < 2; i++, cursor->at++) {
        if (cursor->at == cursor->end)
            return false;
        char letter = *cursor->at;
        if (letter >= '0' && letter <= '9')
            *byte = *byte * 16 + (uint64_t)(letter - '0');
        else if (letter >= 'a' && letter <= 'f')
            *byte = *byte * 16 + (uint64_t)(letter - 'a' + 10);
        else
            return false;
    }
    return true;
}

/* Reads 02:SS:SS:SS:II:II, or this with /ff:ff:ff:ff:00:00 for every II:II. */
static bool take_address(struct cursor *cursor, struct match *match)
{
    uint64_t bytes[6];
    for (int i = 0; i < 6; i++)
        if ((i && !cursor_take(cursor, ":")) || !take_byte(cursor, &bytes[i]))
            return false;
    match->node = bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    match->server = bytes[4] << 8 | bytes[5];
    match->addressed = true;
    match->prefix = cursor_take(cursor, "/ff:ff:ff:ff:00:00");
    return bytes[0] == 2 && (!match->prefix || match->server == 0);
}

static bool take_field(const struct table_reader *reader, struct cursor *at, struct match *match)
{
    bool vlan = reader->tables->encoding == RULES_OPENFLOW_VLAN;
    uint64_t ignored;
    if (cursor_take(at, "table="))
        return cursor_number(at, &match->table) && match->table <= 1;
    if (cursor_take(at, "priority="))
        return cursor_number(at, &ignored) && ignored <= UINT16_MAX;
    if (cursor_take(at, "dl_dst="))
        return !match->addressed && take_address(at, match);
    if (match->tag != TAG_UNSAID) {
        if (!vlan && match->tag == TAG_ANY && cursor_take(at, "mpls_label=")) {
            match->tag = TAG_IS;
            return cursor_number(at, &match->label) && match->label <= MPLS_LAST;
        }
        return false;
    }
    if (cursor_take(at, vlan ? "vlan_tci=0/0x1000" : "ip")) {
        match->tag = TAG_ABSENT;
        return true;
    }
    if (cursor_take(at, vlan ? "vlan_tci=0x1000/0x1000" : "mpls")) {
        match->tag = TAG_ANY;
        return true;
    }
    match->tag = TAG_IS;
    return vlan && cursor_take(at, "dl_vlan=") && cursor_number(at, &match->label) &&
           match->label <= VLAN_LAST;
}

static enum err take_match(const struct table_reader *reader, struct cursor *at,
                           struct match *match)
{
    *match = (struct match){0};
    while (!cursor_take(at, "actions=")) {
        struct cursor field = *at;
        if (!take_field(reader, at, match) || !(cursor_take(at, ",") || cursor_take(at, " ")))
            return reader_fail_at(reader, "expected a field that weft-rules(5) lists", field);
        while (cursor_take(at, " "))
            ;
    }
    if (!match->addressed)
        return reader_fail(reader, "the rule has no dl_dst, so it would match every packet");
    return OK;
}

static bool take_output(struct cursor *at, uint32_t *port)
{
    uint64_t number;
    if (!cursor_take(at, "output:"))
        return false;
    if (cursor_take(at, "LOCAL")) {
        *port = TABLE_LOCAL;
        return true;
    }
    if (!cursor_number(at, &number) || number == 0 || number - 1 >= TABLE_LOCAL)
        return false;
    *port = (uint32_t)number - 1; /* weft's ports count from 0 */
    return true;
}

/* Reads the actions of a flow of table 0. */
static bool take_actions(const struct table_reader *reader, struct cursor *at,
                         const struct match *match, struct table_rule *rule)
{
    bool vlan = reader->tables->encoding == RULES_OPENFLOW_VLAN;
    uint64_t group;
    *rule = (struct table_rule){.key = (uint32_t)match->node};
    switch (match->tag) {
    case TAG_UNSAID:
        return false;
    case TAG_ABSENT:
        rule->kind = TABLE_CLASSIFY;
        rule->port = TABLE_OWN;
        if (cursor_take(at, "goto_table:1"))
            return true;
        if (!cursor_take(at, "group:") || !cursor_number(at, &group) || group == TABLE_OWN)
            return false;
        rule->port = (uint32_t)group;
        return true;
    case TAG_ANY:
        rule->kind = TABLE_FORWARD;
        rule->label = TABLE_ANY;
        rule->next = TABLE_POP;
        rule->port = TABLE_OWN;
        return cursor_take(at, vlan ? "pop_vlan,goto_table:1" : "pop_mpls:0x0800,goto_table:1");
    case TAG_IS:
        rule->kind = TABLE_FORWARD;
        rule->label = rule->next = (uint32_t)match->label;
        return take_output(at, &rule->port);
    }
    return false;
}

static enum err read_flow(struct table_reader *reader, struct cursor at)
{
    struct match match;
    struct table_rule rule;
    bool known;
    enum err err = take_match(reader, &at, &match);
    if (!err)
        err = reader_to(reader, match.node);
    if (err)
        return err;
    struct cursor actions = at;
    if (match.table == 1) {
        if (match.prefix || match.tag != TAG_UNSAID || match.node != reader->at)
            return reader_fail(
                reader, "a rule of table 1 must match the address of one server of this switch");
        err = reader_server(reader, match.server);
        rule = (struct table_rule){.kind = TABLE_SERVER, .key = (uint32_t)match.server};
        known = take_output(&at, &rule.port);
    } else {
        if (!match.prefix)
            return reader_fail(reader, "a rule of table 0 must match all servers of a switch: give "
                                       "the address with its mask");
        known = take_actions(reader, &at, &match, &rule);
    }
    if (!err && (!known || at.at < at.end))
        err = reader_fail_at(reader, "expected actions that weft-rules(5) lists", actions);
    return err ? err : reader_add(reader, rule);
}

static enum err read_group(struct table_reader *reader, struct cursor at)
{
    bool vlan = reader->tables->encoding == RULES_OPENFLOW_VLAN;
    struct cursor start = at;
    uint64_t group, label;
    if (!cursor_take(&at, "group_id=") || !cursor_number(&at, &group) || group == TABLE_OWN ||
        !cursor_take(&at, ",type=select"))
        return reader_fail_at(reader, "expected group_id=N,type=select and buckets", start);
    while (at.at < at.end) {
        struct table_rule rule = {.kind = TABLE_WAY, .key = (uint32_t)group};
        start = at;
        bool known = cursor_take(&at, vlan ? ",bucket=push_vlan:0x8100,set_field:"
                                           : ",bucket=push_mpls:0x8847,set_field:") &&
                     cursor_number(&at, &label) &&
                     cursor_take(&at, vlan ? "->vlan_vid," : "->mpls_label,");
        if (known && vlan) { /* the bit above the VLAN means that there is a tag */
            known = label > VLAN_LAST;
            label -= VLAN_LAST + 1;
        }
        known = known && label <= (vlan ? VLAN_LAST : MPLS_LAST);
        if (!known || !take_output(&at, &rule.port))
            return reader_fail_at(
                reader, "expected a bucket that pushes a tag, sets it and outputs to a port",
                start);
        rule.next = (uint32_t)label;
        enum err err = reader_add(reader, rule);
        if (err)
            return err;
    }
    return OK;
}

enum err reader_openflow(struct table_reader *reader, struct cursor line)
{
    if (cursor_take(&line, "flow add "))
        return read_flow(reader, line);
    if (cursor_take(&line, "group add "))
        return read_group(reader, line);
    return reader_fail_at(reader, "expected 'flow add' or 'group add'", line);
}
