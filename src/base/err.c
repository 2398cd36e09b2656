#include "base/err.h"

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

enum err why_fail(struct why *why, enum err err, const char *format, ...)
{
    assert(err != OK);
    if (why) {
        va_list args;
        va_start(args, format);
        vsnprintf(why->text, sizeof why->text, format, args);
        va_end(args);
        why_clean(why);
    }
    return err;
}

enum err why_fail_line_list(struct why *why, const char *name, unsigned long line,
                            const char *format, va_list args)
{
    if (why) {
        /* A long path must not push the reason off the line. */
        int used = snprintf(why->text, sizeof why->text, "%.200s: line %lu: ", name, line);
        assert(used > 0 && (size_t)used < sizeof why->text);
        vsnprintf(why->text + used, sizeof why->text - (size_t)used, format, args);
        why_clean(why);
    }
    return ERR_INPUT;
}

enum err why_fail_line(struct why *why, const char *name, unsigned long line, const char *format,
                       ...)
{
    va_list args;
    va_start(args, format);
    enum err err = why_fail_line_list(why, name, line, format, args);
    va_end(args);
    return err;
}

enum err why_memory(struct why *why)
{
    return why_fail(why, ERR_MEMORY, "not enough memory");
}
