#pragma once
/* text: output that grows in memory before it is written to a file, so that a failure half-way
 * leaves no half-written file.
 *
 * A failed allocation is remembered, not reported by each call: write everything, then check
 * text_ok once. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wide.h"

struct text {
    char *data; /* owned; ends in a zero byte once anything was added */
    size_t size;
    size_t capacity;
    bool failed;
};

void text_fini(struct text *text);
bool text_ok(const struct text *text);

void text_add(struct text *text, const char *data, size_t size);
void text_puts(struct text *text, const char *string);
void text_wide(struct text *text, uint128 value); /* in decimal */
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "1 cable", "2 cables". */
void text_count(struct text *text, uint64_t count, const char *one, const char *many);

/* Writes the words of a string, separated by spaces or newlines, as a paragraph: indented lines of
 * at most `width` columns (a longer word gets its own line). */
void text_wrap(struct text *text, const char *string, size_t size, int indent, int width);
