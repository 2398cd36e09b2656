#pragma once
/* result: what a command has found, as one tree that is printed as JSON or as text.
 *
 * The tree is the JSON object: named values in order, with objects and arrays among them. The text
 * is a page that names values of the tree in braces (page.h). A hidden value is only for the page.
 *
 * Keys are borrowed and must outlive the result, strings are copied. Running out of memory is
 * remembered and shows when the result is printed. */

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
        size_t string; /* where the string, or the wide number, begins in `strings` */
        size_t end;    /* of an object or array: the first node behind it */
    };
    enum result_kind kind;
    bool hidden; /* JSON leaves it out */
    bool flat;   /* JSON writes this object or array on one line */
};

struct result_copy;

struct result {
    const char *page;          /* borrowed */
    struct result_node *nodes; /* owned; an object or array stands before what is in it */
    size_t count, capacity;
    struct result_copy *copies; /* owned: keys that nobody else keeps */
    struct text strings;        /* values that do not fit into a node; strings end in a zero byte */
    size_t open[RESULT_DEPTH_MAX]; /* objects and arrays that have no end yet; 0 is the root */
    int depth;
    bool hide, flatten; /* the next node is to be so */
    bool writing;       /* a string of result_words has no end yet */
    bool failed;
};

/* Opens the object that the result is, with the page that shows it as text. */
void result_begin(struct result *result, const char *page);
void result_fini(struct result *result);

/* An object or array that lasts until result_end. `key` is NULL for an item of an array. */
void result_object(struct result *result, const char *key);
void result_array(struct result *result, const char *key);
void result_end(struct result *result);

/* The next value is only for the page; the next object or array is one line of JSON. */
struct result *result_hide(struct result *result);
struct result *result_flat(struct result *result);

void result_null(struct result *result, const char *key);
void result_bool(struct result *result, const char *key, bool value);
void result_uint(struct result *result, const char *key, uint64_t value);
void result_number(struct result *result, const char *key, double value); /* NaN is null */
void result_wide(struct result *result, const char *key, uint128 value);
void result_string(struct result *result, const char *key, const char *value); /* NULL is null */

/* A string that is what the caller adds to the text before its next call on the result. */
struct text *result_words(struct result *result, const char *key);

/* A copy that lasts as long as the result, for a key that does not. */
const char *result_copy(struct result *result, const char *key);

/* The value if it is known, else null. */
void result_uint_if(struct result *result, const char *key, bool known, uint64_t value);

/* Prints it as JSON; page.h prints it as text. */
void result_json(struct result *result, struct text *out);

/* ---- for page.c ---- */

/* Ends the object that the result is. False, and `out` has failed, if memory ran out. */
bool result_close(struct result *result, struct text *out);

const char *result_string_at(const struct result *result, const struct result_node *node);
uint128 result_wide_at(const struct result *result, const struct result_node *node);

/* The field of an object by its name, hidden or not; NULL if there is none. */
const struct result_node *result_field(const struct result *result,
                                       const struct result_node *object, const char *name,
                                       size_t size);

/* The node behind this one and all that is in it. */
const struct result_node *result_next(const struct result *result, const struct result_node *node);
