#pragma once
/* utf8: checks UTF-8 and encodes a character. */

#include <stddef.h>
#include <stdint.h>

/* How many bytes from the start are whole characters of well-formed UTF-8 (no overlong forms, no
 * surrogates, nothing above U+10FFFF); `size` if all are. */
size_t utf8_valid(const char *data, size_t size);

/* The size of the control character at the start: one byte in ASCII, two for U+0080 to U+009F,
 * which terminals obey as well; 0 if there is none. */
size_t utf8_control(const char *data, size_t size);

/* Encodes the character; returns how many bytes. `code` is below 0x110000. */
size_t utf8_put(char bytes[4], uint32_t code);
