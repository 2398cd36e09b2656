#pragma once
/* json_reader: reads JSON from memory, one event at a time, with line numbers.
 *
 * Strict RFC 8259: UTF-8 is checked, escapes are decoded, numbers keep their text. One exception:
 * NaN, Infinity and -Infinity, which Python writes, are read as JSON_NAN. A zero character in a
 * string (\u0000) is refused, because our texts cannot contain it.
 *
 * Usage: call json_reader_next until the event is JSON_END. After an error the reader cannot be
 * used any more. The data is borrowed and need not end in a zero byte. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

#define JSON_READER_DEPTH_MAX 64

enum json_event {
    JSON_END, /* only white space is left */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY, /* its value is the next event */
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
    JSON_NAN,
};

struct json_reader {
    enum json_event event;
    unsigned long line; /* on which the event begins */
    struct text text;   /* a key or string, decoded; the text of a number */

    const char *name; /* borrowed: the beginning of messages */
    const char *at, *end;
    unsigned long line_at; /* the line of `at` */
    struct why *why;       /* borrowed */
    int depth;
    bool in_object[JSON_READER_DEPTH_MAX];
    bool begun;   /* this object or array already has an item */
    bool keyed;   /* a key was read */
    bool started; /* the one outermost value was read, or is being read */
};

void json_reader_init(struct json_reader *reader, const char *name, const char *data, size_t size,
                      struct why *why);
void json_reader_fini(struct json_reader *reader);

/* Reads the next event: sets event, line and text. */
MUST_CHECK enum err json_reader_next(struct json_reader *reader);

/* Reads the next key or item of the object or array that has begun. False at its end, or if `*err`
 * is set, before or by this call:
 *
 *   while (json_reader_more(reader, &err))
 *       err = item_read(reader);
 */
bool json_reader_more(struct json_reader *reader, enum err *err);

/* Skips the value whose first event was just read. */
MUST_CHECK enum err json_reader_skip(struct json_reader *reader);

/* Is the text (of a key or a string) equal to this one? */
bool json_reader_is(const struct json_reader *reader, const char *text);

/* Reads the value of a key: an object, an array, a string, a number; or true or false. Refuses
 * anything else, naming it as `what`. */
MUST_CHECK enum err json_reader_expect(struct json_reader *reader, enum json_event event,
                                       const char *what);
MUST_CHECK enum err json_reader_bool(struct json_reader *reader, const char *what, bool *value);

/* ERR_INPUT and "name: line N: reason" with the line of the last event. */
#define json_reader_fail(reader, ...)                                                              \
    why_fail_line((reader)->why, (reader)->name, (reader)->line, __VA_ARGS__)
