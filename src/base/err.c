#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
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

/* A reason may quote a stranger's file: a control character in it could end
 * the line early or speak to the terminal, and what is no UTF-8, such as a
 * character that was cut, would make the whole output none. */
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

void why_set(struct why *why, const char *format, ...)
{
    if (!why)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
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
