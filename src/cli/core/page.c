#include "cli/core/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/show/table_text.h"
#include "cli/show/unit_text.h"

#define TABLE_COLUMNS_MAX 16

struct printer {
    const struct result *result;
    struct text *out;
    const struct result_node *scopes[RESULT_DEPTH_MAX]; /* the innermost is the last */
    int depth;
};

/* The text between two braces. */
struct tag {
    char kind;        /* '?', '#', '=', ':', '/', or 0 for a value */
    const char *name; /* borrowed from the page */
    size_t name_size;
    double times, parts; /* "*100" and "/1000" after the name */
    const char *rest;    /* from '%' or '|' on */
    size_t rest_size;
    const char *behind; /* after the closing brace */
};

static struct tag tag_read(const char *at)
{
    const char *end = strchr(at, '}');
    assert(*at == '{' && end);
    struct tag tag = {.name = at + 1, .behind = end + 1};
    if (strchr("?#=:/", *tag.name))
        tag.kind = *tag.name++;
    tag.name_size = strcspn(tag.name, "*/%|}");
    tag.rest = tag.name + tag.name_size;
    tag.times = tag.parts = 1;
    if (*tag.rest == '*' || *tag.rest == '/') {
        char *after;
        *(*tag.rest == '*' ? &tag.times : &tag.parts) = strtod(tag.rest + 1, &after);
        tag.rest = after;
    }
    tag.rest_size = (size_t)(end - tag.rest);
    return tag;
}

static const struct result_node *path_find(const struct result *result,
                                           const struct result_node *node, const char *name,
                                           size_t size)
{
    while (node && size > 0) {
        const char *dot = memchr(name, '.', size);
        size_t step = dot ? (size_t)(dot - name) : size;
        node = result_field(result, node, name, step);
        step += dot != NULL;
        name += step;
        size -= step;
    }
    return node;
}

/* Finds a value, innermost scope first. Returns NULL if no scope has it. */
static const struct result_node *find(const struct printer *printer, const struct tag *tag)
{
    if (tag->name_size == 1 && *tag->name == '.')
        return printer->scopes[printer->depth - 1];
    const struct result_node *found = NULL;
    for (int i = printer->depth; !found && i-- > 0;)
        found = path_find(printer->result, printer->scopes[i], tag->name, tag->name_size);
    return found;
}

static bool is_set(const struct printer *printer, const struct result_node *node)
{
    if (!node)
        return false;
    switch (node->kind) {
    case RESULT_NULL:
        return false;
    case RESULT_BOOL:
    case RESULT_UINT:
        return node->whole != 0;
    case RESULT_NUMBER:
        return !isnan(node->number) && node->number != 0;
    case RESULT_WIDE:
        return result_wide_at(printer->result, node) != 0;
    case RESULT_STRING:
        return *result_string_at(printer->result, node);
    case RESULT_OBJECT:
    case RESULT_ARRAY:
        return result_next(printer->result, node) > node + 1;
    }
    assert_unreachable();
}

/* ---- values ---- */

/* A conversion of printf: "%-8s", "%10.6f". */
struct conversion {
    bool left, zeros;
    int width, precision; /* precision is -1 if there is none */
    char letter;
};

static int digits_read(const char **at)
{
    int value = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        value = 10 * value + (**at - '0');
    return value;
}

static struct conversion conversion_read(const struct tag *tag)
{
    struct conversion conversion = {.precision = -1, .letter = 's'};
    const char *at = tag->rest;
    if (tag->rest_size == 0)
        return conversion;
    assert(*at == '%');
    for (at++; *at == '-' || *at == '0'; at++) {
        conversion.left |= *at == '-';
        conversion.zeros |= *at == '0';
    }
    conversion.width = digits_read(&at);
    if (*at == '.') {
        at++;
        conversion.precision = digits_read(&at);
    }
    conversion.letter = *at++;
    assert(at == tag->rest + tag->rest_size);
    if (conversion.left)
        conversion.width = -conversion.width;
    return conversion;
}

static double number_of(const struct result_node *node, const struct tag *tag)
{
    assert(node->kind == RESULT_UINT || node->kind == RESULT_NUMBER);
    double number = node->kind == RESULT_UINT ? (double)node->whole : node->number;
    return tag->times * number / tag->parts;
}

static void words_print(const struct printer *printer, const struct result_node *node,
                        const struct conversion *as)
{
    struct text *out = printer->out;
    switch (node->kind) {
    case RESULT_UINT:
        text_printf(out, "%*" PRIu64, as->width, node->whole);
        break;
    case RESULT_NUMBER:
        text_printf(out, "%*g", as->width, node->number);
        break;
    case RESULT_WIDE:
        text_wide(out, result_wide_at(printer->result, node));
        break;
    default:
        text_printf(out, "%*.*s", as->width, as->precision,
                    result_string_at(printer->result, node));
    }
}

static void value_print(const struct printer *printer, const struct result_node *node,
                        const struct tag *tag)
{
    struct text *out = printer->out;
    struct conversion as = conversion_read(tag);
    if (node->kind == RESULT_NULL || (node->kind == RESULT_NUMBER && isnan(node->number))) {
        text_printf(out, "%*s", as.width, "-");
        return;
    }
    switch (as.letter) {
    case 'f':
        text_printf(out, "%*.*f", as.width, as.precision, number_of(node, tag));
        break;
    case 'g':
        text_printf(out, "%*.*g", as.width, as.precision, number_of(node, tag));
        break;
    case 't':
        unit_text_nsec(out, number_of(node, tag));
        break;
    case 'b':
        unit_text_rate(out, number_of(node, tag));
        break;
    case 'x':
        assert(node->kind == RESULT_UINT);
        text_printf(out, as.zeros ? "%0*" PRIx64 : "%*" PRIx64, as.width, node->whole);
        break;
    case 'u':
    case 's':
        words_print(printer, node, &as);
        break;
    default:
        assert_unreachable();
    }
}

/* {name|one|many}. */
static void count_print(const struct printer *printer, const struct result_node *node,
                        const struct tag *tag)
{
    const char *one = tag->rest + 1;
    const char *bar = memchr(one, '|', tag->rest_size - 1);
    assert(bar && node->kind == RESULT_UINT);
    const char *word = node->whole == 1 ? one : bar + 1;
    const char *end = node->whole == 1 ? bar : tag->behind - 1;
    text_printf(printer->out, "%" PRIu64 " %.*s", node->whole, (int)(end - word), word);
}

static void tag_print(const struct printer *printer, const struct tag *tag)
{
    const struct result_node *node = find(printer, tag);
    assert(node); /* otherwise the page names a value that the result does not have */
    if (tag->rest_size && *tag->rest == '|')
        count_print(printer, node, tag);
    else
        value_print(printer, node, tag);
}

/* ---- parts ---- */

static const char *part_print(struct printer *printer, const char *at, bool shown);

/* Closes the part of {?name}, {#name} or {=<>}; `at` is the {:} or {/} after it. `otherwise` says
 * whether to print the text after {:}. */
static const char *part_close(struct printer *printer, const char *at, bool otherwise)
{
    struct tag tag = tag_read(at);
    if (tag.kind == ':') {
        at = part_print(printer, tag.behind, otherwise);
        tag = tag_read(at);
    }
    assert(tag.kind == '/');
    return tag.behind;
}

static const char *condition_print(struct printer *printer, const struct tag *tag, bool shown)
{
    bool set = shown && is_set(printer, find(printer, tag));
    const char *at = part_print(printer, tag->behind, set);
    return part_close(printer, at, shown && !set);
}

static const char *items_print(struct printer *printer, const struct tag *tag, bool shown)
{
    const struct result *result = printer->result;
    const struct result_node *list = shown ? find(printer, tag) : NULL;
    bool set = is_set(printer, list);
    assert(!shown || (list && (list->kind == RESULT_ARRAY || list->kind == RESULT_OBJECT)));
    const char *at = set ? NULL : part_print(printer, tag->behind, false);
    const struct result_node *end = set ? result_next(result, list) : NULL;
    for (const struct result_node *item = list + set; item < end;
         item = result_next(result, item)) {
        if (item > list + 1 && tag->rest_size)
            text_add(printer->out, tag->rest + 1, tag->rest_size - 1);
        assert(printer->depth < RESULT_DEPTH_MAX);
        printer->scopes[printer->depth++] = item;
        at = part_print(printer, tag->behind, true);
        printer->depth--;
    }
    assert(at); /* a list that is not empty has an item */
    return part_close(printer, at, shown && !set);
}

/* {=<>}: splits the text of the part into cells. */
static const char *table_print(struct printer *printer, const struct tag *tag, bool shown)
{
    char sides[TABLE_COLUMNS_MAX + 1] = "";
    struct text lines = {0}, *out = printer->out;
    assert(tag->name_size <= TABLE_COLUMNS_MAX);
    memcpy(sides, tag->name, tag->name_size);
    printer->out = &lines;
    const char *at = part_print(printer, tag->behind, shown);
    printer->out = out;
    out->failed |= shown && !text_ok(&lines);
    if (shown && text_ok(&lines))
        table_text_lines(out, lines.data, sides);
    text_fini(&lines);
    return part_close(printer, at, false);
}

/* Prints or skips text up to the {:} or {/} that ends the part, or up to the end of the page. */
static const char *part_print(struct printer *printer, const char *at, bool shown)
{
    for (;;) {
        size_t size = strcspn(at, "{");
        if (shown)
            text_add(printer->out, at, size);
        at += size;
        if (!*at)
            return at;
        struct tag tag = tag_read(at);
        if (tag.kind == ':' || tag.kind == '/')
            return at;
        if (tag.kind == '?')
            at = condition_print(printer, &tag, shown);
        else if (tag.kind == '#')
            at = items_print(printer, &tag, shown);
        else if (tag.kind == '=')
            at = table_print(printer, &tag, shown);
        else if (shown)
            tag_print(printer, &tag);
        if (!tag.kind)
            at = tag.behind;
    }
}

void page_print(struct result *result, struct text *out)
{
    if (!result_close(result, out))
        return;
    struct printer printer = {.result = result, .out = out, .scopes = {result->nodes}, .depth = 1};
    const char *end = part_print(&printer, result->page, true);
    assert(!*end); /* otherwise the page closes a part that it did not open */
}
