#pragma once
/* json: a writer that cannot produce invalid JSON. It appends to a text that the caller owns;
 * text_ok shows whether memory ran out. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "base/wide.h"

#define JSON_DEPTH_MAX 32

struct json {
    struct text *out; /* borrowed */
    int depth;
    bool indent;                /* one item per line; else all on one */
    bool begun[JSON_DEPTH_MAX]; /* this level already has an item */
    bool keyed;                 /* a key was written; its value follows */
};

struct json json_make(struct text *out, bool indent);

void json_object(struct json *json);          /* opens { ... */
void json_array(struct json *json);           /* opens [ ... */
void json_end(struct json *json, char close); /* '}' or ']' */
void json_key(struct json *json, const char *key);

void json_string(struct json *json, const char *value);
void json_uint(struct json *json, uint64_t value);
void json_int(struct json *json, int64_t value);
void json_wide(struct json *json, uint128 value);
void json_number(struct json *json, double value); /* shortest form that reads back; NaN is null */
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/* Key and value at once, for a field of an object. */
void json_put_string(struct json *json, const char *key, const char *value);
void json_put_uint(struct json *json, const char *key, uint64_t value);
void json_put_number(struct json *json, const char *key, double value);
void json_put_bool(struct json *json, const char *key, bool value);
void json_put_null(struct json *json, const char *key);
