#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

const char *err_text(enum err err)
{
    switch (err) {
    case OK:
        return "no error";
#define ERR_CASE(name, text)                                                                       \
    case name:                                                                                     \
        return text;
        ERR_LIST(ERR_CASE)
#undef ERR_CASE
    }
    assert_unreachable();
}

/* A reason may quote a foreign file: a control character in it could end the line early or control
 * the terminal, and bytes that are not UTF-8, such as a truncated character, would make the whole
 * output invalid. */
static void why_clean(struct why *why)
{
    char *at = why->text, *end = at + strlen(at);
    for (char *valid = at + utf8_valid(at, (size_t)(end - at)); at < end; at++) {
        if (at == valid) {
            *at = '?';
            valid = at + 1 + utf8_valid(at + 1, (size_t)(end - at - 1));
        } else {
            memset(at, '?', utf8_control(at, (size_t)(end - at)));
        }
    }
}

/* The quotation comes first and the reason last, so the middle of a line that is too long is left
 * out. Without memory for the whole line its end is cut instead. */
__attribute__((format(printf, 3, 0))) static void why_shorten(struct why *why, size_t size,
                                                              const char *format, va_list args)
{
    static const char gap[] = " ... ";
    const size_t head = sizeof why->text / 3, tail = sizeof why->text - head - sizeof gap;
    char *whole = malloc(size + 1);
    if (!whole)
        return;
    vsnprintf(whole, size + 1, format, args);
    memcpy(why->text + head, gap, sizeof gap - 1);
    memcpy(why->text + head + sizeof gap - 1, whole + size - tail, tail + 1);
    free(whole);
}

void why_set(struct why *why, const char *format, ...)
{
    if (!why)
        return;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(why->text, sizeof why->text, format, args);
    if (size >= (int)sizeof why->text)
        why_shorten(why, (size_t)size, format, again);
    va_end(again);
    va_end(args);
    why_clean(why);
}

void why_set_line(struct why *why, const char *name, unsigned long line, const char *format, ...)
{
    if (!why)
        return;
    /* A long path must not push the reason off the line. */
    int used = snprintf(why->text, sizeof why->text, "%.200s: line %lu: ", name, line);
    assert(used > 0 && (size_t)used < sizeof why->text);
    va_list args;
    va_start(args, format);
    vsnprintf(why->text + used, sizeof why->text - (size_t)used, format, args);
    va_end(args);
    why_clean(why);
}
