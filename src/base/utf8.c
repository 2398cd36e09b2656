#include "base/utf8.h"

#include "base/check.h"

/* Returns the size of the well-formed character at the start, or 0. */
static size_t character_size(const unsigned char *at, size_t left)
{
    if (at[0] < 0x80)
        return 1;
    size_t size = at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
    if (size == 0 || size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90))
        return 0; /* overlong */
    if ((at[0] == 0xed && at[1] >= 0xa0) || (at[0] == 0xf4 && at[1] >= 0x90))
        return 0; /* a surrogate, or above U+10FFFF */
    return size;
}

size_t utf8_valid(const char *data, size_t size)
{
    size_t at = 0;
    while (at < size) {
        size_t step = character_size((const unsigned char *)data + at, size - at);
        if (step == 0)
            break;
        at += step;
    }
    return at;
}

size_t utf8_control(const char *data, size_t size)
{
    const unsigned char *at = (const unsigned char *)data;
    if (size > 0 && (at[0] < ' ' || at[0] == 0x7f))
        return 1;
    return size > 1 && at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0 ? 2 : 0;
}

size_t utf8_put(char bytes[4], uint32_t code)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    assert(code < 0x110000);
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(lead[size] | code);
    return size;
}
