#pragma once
/* utf8: is it, and how to write one character of it. */

#include <stddef.h>
#include <stdint.h>

/* How many bytes from the start are whole characters of well-formed UTF-8
 * (no overlong forms, no surrogates, nothing above U+10FFFF); `size` if all. */
size_t utf8_valid(const char *data, size_t size);

/* How many bytes the control character at the start has: one in ASCII, two for
 * U+0080 to U+009F, which terminals obey as well; 0 if none begins here. */
size_t utf8_control(const char *data, size_t size);

/* The character's bytes; returns how many. `code` is below 0x110000. */
size_t utf8_put(char bytes[4], uint32_t code);
