#pragma once
/* dot_lexer: the tokens of graphviz's language, with their lines. It skips comments, and joins
 * quoted strings that + connects into one name. Only format_dot.c uses it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

enum dot_token {
    DOT_END,
    DOT_NAME, /* a word, a number, a quoted or an HTML string, in `text` */
    DOT_EDGE, /* -- or -> */
    DOT_MARK, /* one of { } [ ] ; , = : */
};

struct dot_lexer {
    enum dot_token token;
    char mark;        /* of DOT_MARK; '-' or '>' of DOT_EDGE */
    bool plain;       /* a word without quotes, which may be a keyword */
    struct text text; /* of DOT_NAME */
    uint32_t line;    /* on which the token begins */

    const char *name; /* borrowed, as are the next two */
    const char *at, *end;
    struct why *why;
    uint32_t line_at;
};

void dot_lexer_init(struct dot_lexer *lexer, const char *name, const char *data, size_t size,
                    struct why *why);
void dot_lexer_fini(struct dot_lexer *lexer);

MUST_CHECK enum err dot_lexer_next(struct dot_lexer *lexer);

/* Is the token this mark, or this keyword (in any case)? */
bool dot_lexer_is_mark(const struct dot_lexer *lexer, char mark);
bool dot_lexer_is_word(const struct dot_lexer *lexer, const char *word);

/* Fails with ERR_INPUT: the token is at a place where `wanted` should be. */
MUST_CHECK enum err dot_lexer_unexpected(const struct dot_lexer *lexer, const char *wanted);
