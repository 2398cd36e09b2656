#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"

struct json json_make(struct text *out, bool indent)
{
    return (struct json){.out = out, .indent = indent};
}

static void json_line(struct json *json)
{
    if (!json->indent)
        return;
    text_puts(json->out, "\n");
    for (int i = 0; i < json->depth; i++)
        text_puts(json->out, "  ");
}

/* Writes what precedes an item: a comma, a new line. */
static void json_item(struct json *json)
{
    if (json->keyed) {
        json->keyed = false;
        return;
    }
    if (json->depth == 0)
        return;
    if (json->begun[json->depth])
        text_puts(json->out, json->indent ? "," : ", ");
    json->begun[json->depth] = true;
    json_line(json);
}

static void json_open(struct json *json, const char *bracket)
{
    json_item(json);
    text_puts(json->out, bracket);
    json->depth++;
    assert(json->depth < JSON_DEPTH_MAX);
    json->begun[json->depth] = false;
}

void json_object(struct json *json)
{
    json_open(json, "{");
}

void json_array(struct json *json)
{
    json_open(json, "[");
}

void json_end(struct json *json, char close)
{
    assert(json->depth > 0 && !json->keyed);
    bool begun = json->begun[json->depth];
    json->depth--;
    if (begun)
        json_line(json);
    text_add(json->out, &close, 1);
    if (json->depth == 0)
        text_puts(json->out, "\n");
}

static void json_quoted(struct json *json, const char *value)
{
    text_puts(json->out, "\"");
    for (const char *at = value; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\')
            text_printf(json->out, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            text_printf(json->out, "\\u%04x", c);
        else
            text_add(json->out, at, 1);
    }
    text_puts(json->out, "\"");
}

void json_key(struct json *json, const char *key)
{
    assert(!json->keyed);
    json_item(json);
    json_quoted(json, key);
    text_puts(json->out, ": ");
    json->keyed = true;
}

void json_string(struct json *json, const char *value)
{
    json_item(json);
    json_quoted(json, value);
}

void json_uint(struct json *json, uint64_t value)
{
    json_item(json);
    text_printf(json->out, "%llu", (unsigned long long)value);
}

void json_int(struct json *json, int64_t value)
{
    json_item(json);
    text_printf(json->out, "%lld", (long long)value);
}

void json_wide(struct json *json, uint128 value)
{
    json_item(json);
    text_wide(json->out, value);
}

void json_number(struct json *json, double value)
{
    json_item(json);
    if (!isfinite(value)) {
        text_puts(json->out, "null");
        return;
    }
    char buffer[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, sizeof buffer, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    text_puts(json->out, buffer);
}

void json_bool(struct json *json, bool value)
{
    json_item(json);
    text_puts(json->out, value ? "true" : "false");
}

void json_null(struct json *json)
{
    json_item(json);
    text_puts(json->out, "null");
}

void json_put_string(struct json *json, const char *key, const char *value)
{
    json_key(json, key);
    json_string(json, value);
}

void json_put_uint(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_uint(json, value);
}

void json_put_number(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_number(json, value);
}

void json_put_bool(struct json *json, const char *key, bool value)
{
    json_key(json, key);
    json_bool(json, value);
}

void json_put_null(struct json *json, const char *key)
{
    json_key(json, key);
    json_null(json);
}
