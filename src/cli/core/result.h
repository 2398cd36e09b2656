#pragma once
/* result: the result of a command as one tree, which is printed as JSON or as text.
 *
 * The tree is the JSON object: named values, objects and arrays in order. The text is a page that
 * names values of the tree in braces (page.h). A hidden value is only for the page.
 *
 * Keys are borrowed and must outlive the result; strings are copied. If memory runs out, printing
 * the result fails. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "base/wide.h"

#define RESULT_DEPTH_MAX 16

enum result_kind {
    RESULT_NULL,
    RESULT_BOOL,
    RESULT_UINT,
    RESULT_NUMBER,
    RESULT_WIDE, /* a whole number of 128 bits */
    RESULT_STRING,
    RESULT_OBJECT,
    RESULT_ARRAY,
};

struct result_node {
    const char *key; /* NULL in an array */
    union {
        uint64_t whole; /* of RESULT_UINT and RESULT_BOOL */
        double number;
        size_t string; /* where the string or the wide number begins in `strings` */
        size_t end;    /* of an object or array: the first node after it */
    };
    enum result_kind kind;
    bool hidden; /* JSON leaves it out */
    bool flat;   /* JSON writes this object or array on one line */
};

struct result_copy;

struct result {
    const char *page;          /* borrowed */
    struct result_node *nodes; /* owned; an object or array is followed by its contents */
    size_t count, capacity;
    struct result_copy *copies; /* owned: keys made by result_copy */
    struct text strings;        /* values that do not fit into a node; strings end in a zero byte */
    size_t open[RESULT_DEPTH_MAX]; /* open objects and arrays; 0 is the root */
    int depth;
    bool hide, flatten; /* apply to the next node */
    bool writing;       /* a string of result_words is open */
    bool failed;
};

/* Opens the root object of the result; `page` shows it as text. */
void result_begin(struct result *result, const char *page);
void result_fini(struct result *result);

/* Open an object or array until result_end. `key` is NULL for an item of an array. */
void result_object(struct result *result, const char *key);
void result_array(struct result *result, const char *key);
void result_end(struct result *result);

/* result_hide makes the next value visible for the page only; result_flat makes JSON write the next
 * object or array on one line. */
struct result *result_hide(struct result *result);
struct result *result_flat(struct result *result);

void result_null(struct result *result, const char *key);
void result_bool(struct result *result, const char *key, bool value);
void result_uint(struct result *result, const char *key, uint64_t value);
void result_number(struct result *result, const char *key, double value); /* NaN is null */
void result_wide(struct result *result, const char *key, uint128 value);
void result_string(struct result *result, const char *key, const char *value); /* NULL is null */

/* Adds a string: the caller writes it to the returned text before its next call on the result. */
struct text *result_words(struct result *result, const char *key);

/* Copies a key that does not outlive the result; the copy does. */
const char *result_copy(struct result *result, const char *key);

/* Adds the value if it is known, else null. */
void result_uint_if(struct result *result, const char *key, bool known, uint64_t value);

/* Prints the result as JSON; page.h prints it as text. */
void result_json(struct result *result, struct text *out);

/* ---- for page.c ---- */

/* Ends the root object. Returns false, and marks `out` as failed, if memory has run out. */
bool result_close(struct result *result, struct text *out);

const char *result_string_at(const struct result *result, const struct result_node *node);
uint128 result_wide_at(const struct result *result, const struct result_node *node);

/* Finds a value of an object by its name, hidden or not; NULL if there is none. */
const struct result_node *result_field(const struct result *result,
                                       const struct result_node *object, const char *name,
                                       size_t size);

/* Returns the node after this one and its contents. */
const struct result_node *result_next(const struct result *result, const struct result_node *node);
