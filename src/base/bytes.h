#pragma once
/* bytes: cursors for what travels. Numbers are in network order.
 *
 * A cursor that meets its end fails for good: further reads yield zero and
 * further writes nothing, so that one look at `failed` covers all fields and a
 * decoder reads like the format. The memory is borrowed. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
    const uint8_t *at;
    size_t left;
    bool failed;
};

struct writer {
    uint8_t *at;
    size_t left;
    size_t size; /* written so far */
    bool failed;
};

static inline struct reader reader_make(const void *data, size_t size)
{
    return (struct reader){.at = (const uint8_t *)data, .left = size};
}

/* The next `size` bytes in place, or NULL. */
static inline const uint8_t *read_raw(struct reader *in, size_t size)
{
    if (in->failed || size > in->left) {
        in->failed = true;
        return NULL;
    }
    const uint8_t *at = in->at;
    in->at += size;
    in->left -= size;
    return at;
}

static inline void read_bytes(struct reader *in, void *out, size_t size)
{
    const uint8_t *at = read_raw(in, size);
    if (!size)
        return;
    if (at)
        memcpy(out, at, size);
    else
        memset(out, 0, size);
}

static inline uint64_t read_number(struct reader *in, size_t size)
{
    const uint8_t *at = read_raw(in, size);
    uint64_t value = 0;
    for (size_t i = 0; at && i < size; i++)
        value = value << 8 | at[i];
    return value;
}

static inline uint8_t read_u8(struct reader *in)
{
    return (uint8_t)read_number(in, 1);
}

static inline uint16_t read_u16(struct reader *in)
{
    return (uint16_t)read_number(in, 2);
}

static inline uint32_t read_u32(struct reader *in)
{
    return (uint32_t)read_number(in, 4);
}

static inline uint64_t read_u64(struct reader *in)
{
    return read_number(in, 8);
}

static inline struct writer writer_make(void *out, size_t size)
{
    return (struct writer){.at = (uint8_t *)out, .left = size};
}

static inline void write_bytes(struct writer *out, const void *data, size_t size)
{
    if (out->failed || size > out->left) {
        out->failed = true;
        return;
    }
    if (size)
        memcpy(out->at, data, size);
    out->at += size;
    out->left -= size;
    out->size += size;
}

static inline void write_number(struct writer *out, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    write_bytes(out, bytes, size);
}

static inline void write_u8(struct writer *out, uint8_t value)
{
    write_number(out, value, 1);
}

static inline void write_u16(struct writer *out, uint16_t value)
{
    write_number(out, value, 2);
}

static inline void write_u32(struct writer *out, uint32_t value)
{
    write_number(out, value, 4);
}

static inline void write_u64(struct writer *out, uint64_t value)
{
    write_number(out, value, 8);
}
