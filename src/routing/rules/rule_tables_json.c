/* rule_tables_json: tables as JSON. */
#include <stdlib.h>

#include "routing/rules/rule_tables_impl.h"

/* The members of one rule of any kind. */
enum member { MEMBER_TO, MEMBER_TAG, MEMBER_PORT, MEMBER_SERVER, MEMBER_COUNT };

static const char *const member_keys[MEMBER_COUNT] = {"to", "tag", "port", "server"};

/* Reads a whole number below 2^32 - 1. */
static enum err number_read(struct json_reader *json, const char *what, uint64_t *number)
{
    enum err err = json_reader_expect(json, JSON_NUMBER, what);
    if (err)
        return err;
    struct cursor at = {json->text.data, json->text.data + json->text.size};
    if (!cursor_number(&at, number) || at.at < at.end || *number >= TABLE_LOCAL)
        return json_reader_fail(json, "%s must be a whole number below 2^32", what);
    return OK;
}

static enum err member_read(struct json_reader *json, int member, uint64_t *values)
{
    if (member != MEMBER_PORT)
        return number_read(json, member_keys[member], &values[member]);
    enum err err = json_reader_next(json);
    if (err)
        return err;
    if (json->event == JSON_NULL) {
        values[MEMBER_PORT] = TABLE_LOCAL;
        return OK;
    }
    struct cursor at = {json->text.data, json->text.data + json->text.size};
    if (json->event != JSON_NUMBER || !cursor_number(&at, &values[MEMBER_PORT]) || at.at < at.end ||
        values[MEMBER_PORT] >= TABLE_LOCAL)
        return json_reader_fail(json, "port must be a whole number below 2^32, or null");
    return OK;
}

static enum err rule_add(struct table_reader *reader, const struct json_reader *json,
                         enum table_kind kind, unsigned seen, const uint64_t *values)
{
    unsigned needed =
        1u << MEMBER_PORT |
        (kind == TABLE_SERVER ? 1u << MEMBER_SERVER : 1u << MEMBER_TO | 1u << MEMBER_TAG);
    if (seen != needed)
        return json_reader_fail(json, "expected %s",
                                kind == TABLE_SERVER ? "server and port" : "to, tag and port");
    struct table_rule rule = {.kind = (uint8_t)kind, .port = (uint32_t)values[MEMBER_PORT]};
    enum err err;
    if (kind == TABLE_SERVER) {
        rule.key = (uint32_t)values[MEMBER_SERVER];
        err = reader_server(reader, rule.key);
    } else {
        rule.key = (uint32_t)values[MEMBER_TO];
        rule.next = (uint32_t)values[MEMBER_TAG];
        rule.label = kind == TABLE_FORWARD ? rule.next : 0;
        err = reader_to(reader, rule.key);
    }
    return err ? err : reader_add(reader, rule);
}

/* Reads the array of a switch's rules of one kind. */
static enum err rules_read(struct table_reader *reader, struct json_reader *json,
                           enum table_kind kind)
{
    enum err err = json_reader_expect(json, JSON_ARRAY, "the rules");
    while (json_reader_more(json, &err)) {
        uint64_t values[MEMBER_COUNT] = {0};
        unsigned seen = 0;
        reader->line = json->line;
        if (json->event != JSON_OBJECT)
            return json_reader_fail(json, "expected an object: a rule");
        while (json_reader_more(json, &err)) {
            int member = 0;
            while (member < MEMBER_COUNT && !json_reader_is(json, member_keys[member]))
                member++;
            if (member == MEMBER_COUNT || seen & 1u << member)
                return json_reader_fail(json, "unexpected key '%.60s'", json->text.data);
            err = member_read(json, member, values);
            seen |= 1u << member;
        }
        if (!err)
            err = rule_add(reader, json, kind, seen, values);
    }
    return err;
}

static enum err switch_read(struct table_reader *reader, struct json_reader *json)
{
    uint64_t node = UINT64_MAX;
    enum err err = OK;
    reader->at = NODE_NONE;
    while (json_reader_more(json, &err)) {
        reader->line = json->line;
        if (json_reader_is(json, "switch")) {
            err = number_read(json, "switch", &node);
        } else if (json_reader_is(json, "name")) {
            err = json_reader_expect(json, JSON_STRING, "name");
            if (!err && node == UINT64_MAX)
                err = json_reader_fail(json, "the key switch must come before name");
            if (!err)
                err = reader_switch(reader, node, json->text.data, json->text.size, false);
        } else if (json_reader_is(json, "servers")) {
            err = rules_read(reader, json, TABLE_SERVER);
        } else if (json_reader_is(json, "ways")) {
            err = rules_read(reader, json, TABLE_WAY);
        } else if (json_reader_is(json, "hops")) {
            err = rules_read(reader, json, TABLE_FORWARD);
        } else {
            err = json_reader_fail(json, "unexpected key '%.60s'", json->text.data);
        }
    }
    return err;
}

static enum err switches_read(struct table_reader *reader, struct json_reader *json)
{
    enum err err = json_reader_expect(json, JSON_ARRAY, "switches");
    while (json_reader_more(json, &err)) {
        if (json->event != JSON_OBJECT)
            return json_reader_fail(json, "expected an object: a switch");
        err = switch_read(reader, json);
    }
    return err;
}

static enum err document_read(struct table_reader *reader, struct json_reader *json)
{
    bool ours = false;
    enum err err = json_reader_expect(json, JSON_OBJECT, "the file");
    while (json_reader_more(json, &err)) {
        reader->line = json->line;
        if (json_reader_is(json, "weft_rules")) {
            err = json_reader_expect(json, JSON_STRING, "weft_rules");
            ours = !err && json_reader_is(json, rules_encoding_words[RULES_JSON]);
            if (!err && !ours)
                err = json_reader_fail(json, "weft_rules must be \"json\"");
        } else if (ours && json_reader_is(json, "switches")) {
            err = switches_read(reader, json);
        } else if (ours) {
            err = json_reader_fail(json, "unexpected key '%.60s'", json->text.data);
        } else {
            err = json_reader_fail(json, "expected the key weft_rules first");
        }
    }
    if (!err && !ours)
        err = json_reader_fail(json, "expected the key weft_rules first");
    return err ? err : json_reader_next(json); /* refuses anything after the object */
}

enum err reader_json(struct table_reader *reader, const char *data, size_t size)
{
    struct json_reader json;
    reader->line = 1;
    enum err err = reader_encoding(reader, RULES_JSON);
    if (err)
        return err;
    json_reader_init(&json, reader->name, data, size, reader->why);
    err = document_read(reader, &json);
    json_reader_fini(&json);
    return err;
}
