#include "cli/core/result.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/json.h"

struct result_copy {
    struct result_copy *next;
    char key[];
};

static bool is_container(const struct result_node *node)
{
    return node->kind == RESULT_OBJECT || node->kind == RESULT_ARRAY;
}

/* ---- building ---- */

static void words_end(struct result *result)
{
    if (result->writing)
        text_add(&result->strings, "", 1);
    result->writing = false;
}

/* Returns NULL if memory has run out. */
static struct result_node *node_add(struct result *result, const char *key, enum result_kind kind)
{
    words_end(result);
    assert(result->depth > 0 || result->count == 0);
    result->failed |=
        !array_reserve(&result->nodes, &result->capacity, result->count + 1, sizeof *result->nodes);
    if (result->failed)
        return NULL;
    if (result->depth > 0) {
        bool keyed = result->nodes[result->open[result->depth - 1]].kind == RESULT_OBJECT;
        assert(keyed == (key != NULL));
    }
    struct result_node *node = &result->nodes[result->count++];
    *node = (struct result_node){
        .key = key, .kind = kind, .hidden = result->hide, .flat = result->flatten};
    result->hide = result->flatten = false;
    return node;
}

static void container_open(struct result *result, const char *key, enum result_kind kind)
{
    assert(result->depth < RESULT_DEPTH_MAX);
    if (node_add(result, key, kind))
        result->open[result->depth] = result->count - 1;
    result->depth++;
}

void result_begin(struct result *result, const char *page)
{
    assert(result->count == 0);
    result->page = page;
    container_open(result, NULL, RESULT_OBJECT);
}

void result_fini(struct result *result)
{
    while (result->copies) {
        struct result_copy *copy = result->copies;
        result->copies = copy->next;
        free(copy);
    }
    free(result->nodes);
    text_fini(&result->strings);
}

void result_object(struct result *result, const char *key)
{
    container_open(result, key, RESULT_OBJECT);
}

void result_array(struct result *result, const char *key)
{
    container_open(result, key, RESULT_ARRAY);
}

void result_end(struct result *result)
{
    assert(result->depth > 1); /* result_close ends the root */
    words_end(result);
    result->depth--;
    if (!result->failed)
        result->nodes[result->open[result->depth]].end = result->count;
}

struct result *result_hide(struct result *result)
{
    result->hide = true;
    return result;
}

struct result *result_flat(struct result *result)
{
    result->flatten = true;
    return result;
}

const char *result_copy(struct result *result, const char *key)
{
    struct result_copy *copy = malloc(sizeof *copy + strlen(key) + 1);
    result->failed |= !copy;
    if (!copy)
        return "";
    strcpy(copy->key, key);
    copy->next = result->copies;
    result->copies = copy;
    return copy->key;
}

void result_null(struct result *result, const char *key)
{
    (void)node_add(result, key, RESULT_NULL);
}

void result_bool(struct result *result, const char *key, bool value)
{
    struct result_node *node = node_add(result, key, RESULT_BOOL);
    if (node)
        node->whole = value;
}

void result_uint(struct result *result, const char *key, uint64_t value)
{
    struct result_node *node = node_add(result, key, RESULT_UINT);
    if (node)
        node->whole = value;
}

void result_uint_if(struct result *result, const char *key, bool known, uint64_t value)
{
    if (known)
        result_uint(result, key, value);
    else
        result_null(result, key);
}

void result_number(struct result *result, const char *key, double value)
{
    struct result_node *node = node_add(result, key, RESULT_NUMBER);
    if (node)
        node->number = value;
}

struct text *result_words(struct result *result, const char *key)
{
    struct result_node *node = node_add(result, key, RESULT_STRING);
    if (node)
        node->string = result->strings.size;
    result->writing = true;
    return &result->strings;
}

void result_string(struct result *result, const char *key, const char *value)
{
    if (value)
        text_puts(result_words(result, key), value);
    else
        result_null(result, key);
}

void result_wide(struct result *result, const char *key, uint128 value)
{
    struct result_node *node = node_add(result, key, RESULT_WIDE);
    if (node)
        node->string = result->strings.size;
    text_add(&result->strings, (const char *)&value, sizeof value);
}

bool result_close(struct result *result, struct text *out)
{
    assert(result->depth == 1);
    words_end(result);
    if (!result->failed)
        result->nodes[0].end = result->count;
    out->failed |= result->failed || result->strings.failed;
    return !out->failed;
}

/* ---- reading ---- */

const char *result_string_at(const struct result *result, const struct result_node *node)
{
    assert(node->kind == RESULT_STRING);
    return result->strings.data + node->string;
}

uint128 result_wide_at(const struct result *result, const struct result_node *node)
{
    uint128 value;
    assert(node->kind == RESULT_WIDE);
    memcpy(&value, result->strings.data + node->string, sizeof value);
    return value;
}

const struct result_node *result_next(const struct result *result, const struct result_node *node)
{
    return is_container(node) ? &result->nodes[node->end] : node + 1;
}

const struct result_node *result_field(const struct result *result,
                                       const struct result_node *object, const char *name,
                                       size_t size)
{
    if (object->kind != RESULT_OBJECT)
        return NULL;
    const struct result_node *end = result_next(result, object);
    for (const struct result_node *node = object + 1; node < end; node = result_next(result, node))
        if (strlen(node->key) == size && memcmp(node->key, name, size) == 0)
            return node;
    return NULL;
}

/* ---- JSON ---- */

static void value_json(const struct result *result, const struct result_node *node,
                       struct json *json)
{
    switch (node->kind) {
    case RESULT_NULL:
        json_null(json);
        break;
    case RESULT_BOOL:
        json_bool(json, node->whole);
        break;
    case RESULT_UINT:
        json_uint(json, node->whole);
        break;
    case RESULT_NUMBER:
        json_number(json, node->number);
        break;
    case RESULT_WIDE:
        json_wide(json, result_wide_at(result, node));
        break;
    case RESULT_STRING:
        json_string(json, result_string_at(result, node));
        break;
    case RESULT_OBJECT:
    case RESULT_ARRAY:
        assert_unreachable();
    }
}

static void node_json(const struct result *result, const struct result_node *node,
                      struct json *json)
{
    bool indent = json->indent;
    if (node->hidden)
        return;
    if (node->key)
        json_key(json, node->key);
    if (!is_container(node)) {
        value_json(result, node, json);
        return;
    }
    bool object = node->kind == RESULT_OBJECT;
    (object ? json_object : json_array)(json);
    json->indent = indent && !node->flat;
    const struct result_node *end = result_next(result, node);
    for (const struct result_node *item = node + 1; item < end; item = result_next(result, item))
        node_json(result, item, json);
    json_end(json, object ? '}' : ']');
    json->indent = indent;
}

void result_json(struct result *result, struct text *out)
{
    struct json json = json_make(out, true);
    if (result_close(result, out))
        node_json(result, &result->nodes[0], &json);
}
