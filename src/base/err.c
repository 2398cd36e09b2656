#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"

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
 * the line early or speak to the terminal. */
static void why_clean(struct why *why)
{
    for (unsigned char *at = (unsigned char *)why->text; *at; at++)
        if (*at < ' ' || *at == 0x7f)
            *at = '?';
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
