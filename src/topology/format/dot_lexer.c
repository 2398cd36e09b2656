/* dot_lexer: graphviz's lexical rules. In a quoted string \" is a quote, a backslash at the end of
 * a line joins the lines, and every other backslash is a plain character (\\ is two of them). An
 * HTML string keeps its outer brackets, so that it differs from a word. */
#include "topology/format/dot_lexer.h"

#include <string.h>
#include <strings.h>

#include "base/check.h"

void dot_lexer_init(struct dot_lexer *lexer, const char *name, const char *data, size_t size,
                    struct why *why)
{
    *lexer = (struct dot_lexer){
        .name = name, .at = data, .end = data + size, .why = why, .line = 1, .line_at = 1};
}

void dot_lexer_fini(struct dot_lexer *lexer)
{
    text_fini(&lexer->text);
}

static char peek(const struct dot_lexer *lexer, size_t ahead)
{
    return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : '\0';
}

/* Advances by one byte and counts lines. */
static void step(struct dot_lexer *lexer)
{
    lexer->line_at += *lexer->at == '\n';
    lexer->at++;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static enum err space_skip(struct dot_lexer *lexer)
{
    for (;;) {
        char c = peek(lexer, 0);
        if (lexer->at == lexer->end) {
            return OK;
        } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
            step(lexer);
        } else if (c == '#' || (c == '/' && peek(lexer, 1) == '/')) {
            while (lexer->at < lexer->end && *lexer->at != '\n')
                step(lexer);
        } else if (c == '/' && peek(lexer, 1) == '*') {
            uint32_t from = lexer->line_at;
            lexer->at += 2;
            while (lexer->at < lexer->end && !(*lexer->at == '*' && peek(lexer, 1) == '/'))
                step(lexer);
            if (lexer->at == lexer->end)
                return why_fail_line(lexer->why, lexer->name, from, "the comment has no end");
            lexer->at += 2;
        } else {
            return OK;
        }
    }
}

static enum err quoted_read(struct dot_lexer *lexer)
{
    uint32_t from = lexer->line_at;
    lexer->at++;
    while (lexer->at < lexer->end && *lexer->at != '"') {
        if (*lexer->at == '\\' && peek(lexer, 1) == '"') {
            lexer->at++;
        } else if (*lexer->at == '\\' && peek(lexer, 1) == '\n') {
            lexer->at++;
            step(lexer);
            continue;
        } else if (*lexer->at == '\\' && peek(lexer, 1) == '\\') {
            text_add(&lexer->text, lexer->at, 1);
            lexer->at++;
        }
        text_add(&lexer->text, lexer->at, 1);
        step(lexer);
    }
    if (lexer->at == lexer->end)
        return why_fail_line(lexer->why, lexer->name, from, "the quoted string has no end");
    lexer->at++;
    return OK;
}

/* Reads a quoted string and any further ones that + joins to it. */
static enum err quoted_join(struct dot_lexer *lexer)
{
    for (;;) {
        enum err err = quoted_read(lexer);
        if (err)
            return err;
        const char *at = lexer->at;
        uint32_t line = lexer->line_at;
        err = space_skip(lexer);
        if (err)
            return err;
        if (peek(lexer, 0) != '+') {
            lexer->at = at;
            lexer->line_at = line;
            return OK;
        }
        lexer->at++;
        err = space_skip(lexer);
        if (err)
            return err;
        if (peek(lexer, 0) != '"')
            return why_fail_line(lexer->why, lexer->name, lexer->line_at,
                                 "expected a quoted string after +");
    }
}

static enum err html_read(struct dot_lexer *lexer)
{
    uint32_t from = lexer->line_at, depth = 0;
    while (lexer->at < lexer->end) {
        depth += *lexer->at == '<';
        depth -= *lexer->at == '>';
        text_add(&lexer->text, lexer->at, 1);
        step(lexer);
        if (depth == 0)
            return OK;
    }
    return why_fail_line(lexer->why, lexer->name, from, "the HTML string has no end");
}

static enum err numeral_read(struct dot_lexer *lexer)
{
    const char *from = lexer->at;
    lexer->at += *lexer->at == '-';
    while (is_digit(peek(lexer, 0)))
        lexer->at++;
    lexer->at += peek(lexer, 0) == '.';
    while (is_digit(peek(lexer, 0)))
        lexer->at++;
    size_t size = (size_t)(lexer->at - from);
    if (is_letter(peek(lexer, 0)) || !is_digit(lexer->at[-1]))
        if (is_letter(peek(lexer, 0)) || size < 2 || !is_digit(lexer->at[-2]))
            return why_fail_line(lexer->why, lexer->name, lexer->line_at,
                                 "'%.*s' is neither a number nor a name",
                                 (int)(size < 40 ? size : 40) + is_letter(peek(lexer, 0)), from);
    text_add(&lexer->text, from, size);
    return OK;
}

static enum err name_read(struct dot_lexer *lexer)
{
    char c = *lexer->at;
    enum err err = OK;
    lexer->token = DOT_NAME;
    lexer->text.size = 0;
    text_add(&lexer->text, "", 0);
    if (c == '"') {
        err = quoted_join(lexer);
    } else if (c == '<') {
        err = html_read(lexer);
    } else if (is_letter(c)) {
        const char *from = lexer->at;
        while (lexer->at < lexer->end && (is_letter(*lexer->at) || is_digit(*lexer->at)))
            lexer->at++;
        text_add(&lexer->text, from, (size_t)(lexer->at - from));
        lexer->plain = true;
    } else {
        err = numeral_read(lexer);
    }
    return err || text_ok(&lexer->text) ? err : why_memory(lexer->why);
}

enum err dot_lexer_next(struct dot_lexer *lexer)
{
    enum err err = space_skip(lexer);
    if (err)
        return err;
    lexer->line = lexer->line_at;
    lexer->plain = false;
    if (lexer->at == lexer->end) {
        lexer->token = DOT_END;
        return OK;
    }
    char c = *lexer->at, after = peek(lexer, 1);
    if (c == '-' && (after == '-' || after == '>')) {
        lexer->token = DOT_EDGE;
        lexer->mark = after;
        lexer->at += 2;
        return OK;
    }
    if (c && strchr("{}[];,=:", c)) {
        lexer->token = DOT_MARK;
        lexer->mark = c;
        lexer->at++;
        return OK;
    }
    if (c == '"' || c == '<' || is_letter(c) || is_digit(c) || c == '-' || c == '.')
        return name_read(lexer);
    return why_fail_line(lexer->why, lexer->name, lexer->line, "unexpected character '%c'", c);
}

bool dot_lexer_is_mark(const struct dot_lexer *lexer, char mark)
{
    return lexer->token == DOT_MARK && lexer->mark == mark;
}

bool dot_lexer_is_word(const struct dot_lexer *lexer, const char *word)
{
    return lexer->token == DOT_NAME && lexer->plain && strcasecmp(lexer->text.data, word) == 0;
}

enum err dot_lexer_unexpected(const struct dot_lexer *lexer, const char *wanted)
{
    switch (lexer->token) {
    case DOT_END:
        return why_fail_line(lexer->why, lexer->name, lexer->line,
                             "the file ends where %s should be", wanted);
    case DOT_NAME:
        return why_fail_line(lexer->why, lexer->name, lexer->line, "'%.60s' where %s should be",
                             lexer->text.data, wanted);
    case DOT_EDGE:
        return why_fail_line(lexer->why, lexer->name, lexer->line, "'-%c' where %s should be",
                             lexer->mark, wanted);
    case DOT_MARK:
        return why_fail_line(lexer->why, lexer->name, lexer->line, "'%c' where %s should be",
                             lexer->mark, wanted);
    }
    assert_unreachable();
}
