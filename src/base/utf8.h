#pragma once
/* utf8: is it, and how to write one character of it. */

#include <stddef.h>
#include <stdint.h>

/* How many bytes from the start are whole characters of well-formed UTF-8
 * (no overlong forms, no surrogates, nothing above U+10FFFF); `size` if all. */
size_t utf8_valid(const char *data, size_t size);

/* The character's bytes; returns how many. `code` is below 0x110000. */
size_t utf8_put(char bytes[4], uint32_t code);
