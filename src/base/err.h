#pragma once
/* err: how a call reports failure.
 *
 * A violated invariant of our own is an assertion. A failure caused from outside is an `enum err`,
 * and, if a person will read it, one line of reason in a `struct why` that the caller owns. The
 * function that fails first writes the line; its callers pass it on. Only the command line prints
 * it. */

#define ERR_LIST(X)                                                                                \
    X(ERR_USAGE, "bad usage")           /* the request cannot be met */                            \
    X(ERR_INPUT, "bad input")           /* data from outside is invalid or unreadable */           \
    X(ERR_NO, "the answer is no")       /* of a valid question: there is no path, no proof */      \
    X(ERR_MEMORY, "not enough memory")  /* an allocation failed */                                 \
    X(ERR_SYSTEM, "the system refused") /* a file, a process, a disk */

enum err {
    OK,
#define ERR_ENUM(name, text) name,
    ERR_LIST(ERR_ENUM)
#undef ERR_ENUM
};

#define WHY_SIZE 320

struct why {
    char text[WHY_SIZE]; /* one line without a newline; empty if nothing has failed */
};

#define MUST_CHECK __attribute__((warn_unused_result))

/* The general text of a code, for a caller that has no better line. */
const char *err_text(enum err err);

/* Writes the reason. `why` may be NULL if the caller does not need the reason. */
void why_set(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with "name: line N: " before it, for readers of files. */
void why_set_line(struct why *why, const char *name, unsigned long line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Write the reason and evaluate to the code, so that a failing function ends in one statement.
 * These are macros so that compilers and analysers see that the result is never OK. */
#define why_fail(why, err, ...) (why_set((why), __VA_ARGS__), (err))
#define why_fail_line(why, name, line, ...)                                                        \
    (why_set_line((why), (name), (line), __VA_ARGS__), ERR_INPUT)

/* ERR_MEMORY with its usual line. */
MUST_CHECK static inline enum err why_memory(struct why *why)
{
    return why_fail(why, ERR_MEMORY, "not enough memory");
}
