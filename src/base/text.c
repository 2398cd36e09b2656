#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

void text_fini(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

bool text_ok(const struct text *text)
{
    return !text->failed;
}

static bool text_reserve(struct text *text, size_t more)
{
    if (!text->failed && array_reserve(&text->data, &text->capacity, text->size + more + 1, 1))
        return true;
    text->failed = true;
    return false;
}

void text_add(struct text *text, const char *data, size_t size)
{
    if (!text_reserve(text, size))
        return;
    if (size)
        memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void text_puts(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_wide(struct text *text, uint128 value)
{
    char digits[39]; /* 2^128 has 39 digits */
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value);
    text_add(text, digits + at, sizeof digits - at);
}

void text_printf(struct text *text, const char *format, ...)
{
    char small[256];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    assert(size >= 0);
    if ((size_t)size < sizeof small) {
        text_add(text, small, (size_t)size);
    } else if (text_reserve(text, (size_t)size)) {
        vsnprintf(text->data + text->size, (size_t)size + 1, format, again);
        text->size += (size_t)size;
    }
    va_end(again);
}

void text_count(struct text *text, uint64_t count, const char *one, const char *many)
{
    text_printf(text, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
}

void text_wrap(struct text *text, const char *string, size_t size, int indent, int width)
{
    int column = 0;
    for (size_t at = 0; at < size;) {
        size_t end = at;
        while (end < size && string[end] != ' ' && string[end] != '\n')
            end++;
        int length = (int)(end - at);
        if (length) {
            bool breaks = column > 0 && column + 1 + length > width;
            if (breaks)
                text_puts(text, "\n");
            column = column == 0 || breaks ? indent + length : column + 1 + length;
            text_printf(text, "%*s%.*s", column == indent + length ? indent : 1, "", length,
                        string + at);
        }
        at = end + 1;
    }
    text_puts(text, column ? "\n" : "");
}
