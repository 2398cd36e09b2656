#pragma once
/* err: how a call says no.
 *
 * A broken invariant of ours is an assertion. What the world refuses is an
 * `enum err`, and, where a person will read it, one line of reason in a
 * `struct why` that the caller owns. The first to fail writes the line; those
 * above pass it on. Only the command line prints it. */

#include <stdarg.h>

#define ERR_LIST(X)                                                                                \
    X(ERR_USAGE, "bad usage")           /* asked for something that cannot be */                   \
    X(ERR_INPUT, "bad input")           /* data from outside is broken */                          \
    X(ERR_MEMORY, "not enough memory")  /* an allocation was refused */                            \
    X(ERR_SYSTEM, "the system refused") /* a file, a process, a disk */

enum err {
    OK,
#define ERR_ENUM(name, text) name,
    ERR_LIST(ERR_ENUM)
#undef ERR_ENUM
};

#define WHY_SIZE 320

struct why {
    char text[WHY_SIZE]; /* one line without a newline; empty while all is well */
};

#define MUST_CHECK __attribute__((warn_unused_result))

/* The general text of a code, for a caller that has no better line. */
const char *err_text(enum err err);

/* Writes the reason and returns the code, so that a failing function ends in
 * one statement. A NULL why is allowed: the caller does not care. */
MUST_CHECK enum err why_fail(struct why *why, enum err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ERR_INPUT with "name: line N: " before the reason: what every reader of a
 * file says. */
MUST_CHECK enum err why_fail_line(struct why *why, const char *name, unsigned long line,
                                  const char *format, ...) __attribute__((format(printf, 4, 5)));
MUST_CHECK enum err why_fail_line_list(struct why *why, const char *name, unsigned long line,
                                       const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

/* ERR_MEMORY with its usual line. */
MUST_CHECK enum err why_memory(struct why *why);
