#include "cli/show/bytes_text.h"

#include "base/utf8.h"

void bytes_text(struct text *out, const void *data, size_t size, size_t most)
{
    const char *at = data;
    size_t left = size < most ? size : most;
    while (left > 0) {
        size_t control = utf8_control(at, left);
        size_t valid = utf8_valid(at, left < 4 ? left : 4);
        size_t step = 1;
        if (control == 0 && *at == '\\') {
            text_puts(out, "\\\\");
        } else if (control == 0 && valid > 0) {
            while (step < valid && ((unsigned char)at[step] & 0xC0) == 0x80)
                step++;
            text_add(out, at, step);
        } else {
            text_printf(out, "\\x%02x", (unsigned char)*at);
        }
        at += step;
        left -= step;
    }
    if (size > most)
        text_puts(out, "...");
}
