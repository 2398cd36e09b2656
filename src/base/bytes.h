#pragma once
/* bytes: cursors over memory, so that encoders and decoders read like the format.
 *
 * Integers travel in network order. A reader that runs out of bytes returns zeros and sets
 * `failed`, so one check of it covers all fields. A writer that runs out of room sets `failed`,
 * too. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
    const uint8_t *next; /* borrowed */
    size_t left;
    bool failed;
};

struct writer {
    uint8_t *next; /* borrowed */
    size_t left;
    bool failed;
};

static inline struct reader reader_make(const void *data, size_t size)
{
    return (struct reader){data, size, false};
}

static inline struct writer writer_make(void *data, size_t size)
{
    return (struct writer){data, size, false};
}

/* Returns the next `size` bytes in place, or NULL. */
static inline const uint8_t *read_bytes(struct reader *in, size_t size)
{
    const uint8_t *at = in->next;
    if (in->failed || size > in->left) {
        in->failed = true;
        return NULL;
    }
    in->next += size;
    in->left -= size;
    return at;
}

static inline void read_copy(struct reader *in, void *out, size_t size)
{
    const uint8_t *at = read_bytes(in, size);
    if (at)
        memcpy(out, at, size);
    else
        memset(out, 0, size);
}

static inline uint64_t read_integer(struct reader *in, unsigned size)
{
    const uint8_t *at = read_bytes(in, size);
    uint64_t value = 0;
    for (unsigned i = 0; at && i < size; i++)
        value = value << 8 | at[i];
    return value;
}

static inline uint8_t read_u8(struct reader *in)
{
    return (uint8_t)read_integer(in, 1);
}

static inline uint16_t read_u16(struct reader *in)
{
    return (uint16_t)read_integer(in, 2);
}

static inline uint32_t read_u32(struct reader *in)
{
    return (uint32_t)read_integer(in, 4);
}

static inline uint64_t read_u64(struct reader *in)
{
    return read_integer(in, 8);
}

static inline void write_bytes(struct writer *out, const void *data, size_t size)
{
    if (out->failed || size > out->left) {
        out->failed = true;
        return;
    }
    if (size)
        memcpy(out->next, data, size);
    out->next += size;
    out->left -= size;
}

static inline void write_integer(struct writer *out, uint64_t value, unsigned size)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * (size - 1 - i));
    write_bytes(out, bytes, size);
}

static inline void write_u8(struct writer *out, uint8_t value)
{
    write_integer(out, value, 1);
}

static inline void write_u16(struct writer *out, uint16_t value)
{
    write_integer(out, value, 2);
}

static inline void write_u32(struct writer *out, uint32_t value)
{
    write_integer(out, value, 4);
}

static inline void write_u64(struct writer *out, uint64_t value)
{
    write_integer(out, value, 8);
}
