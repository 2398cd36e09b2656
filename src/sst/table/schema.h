#pragma once
/* schema: the columns of a table, and their positions in a row of memory.
 *
 * The program has its own struct. The row that members write into each other's memory has this
 * layout:
 *
 *   head     one line: struct row_head
 *   cells    columns of one number: 8 bytes each, whatever their type; then wide columns, which
 *            have several elements: a sequence word and the elements, padded to a multiple of 8
 *   guards   a line each
 *
 * A reader that polls a column looks at one word, the *watch*. It is the cell itself or, for a wide
 * column, the sequence word, which is odd while the elements are being written and a new even
 * number afterwards. A column of one SST_BYTES counts as wide, too.
 *
 * Pure: no memory, no clock, no output. Two layouts are equal if and only if their hashes are
 * equal. The hash covers the names and everything that decides the bytes of a row, and nothing
 * else: members may place a field at different offsets in their structs. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <weft/sst.h>

#include "base/err.h"

#define SCHEMA_LINE     64
#define SCHEMA_WIRE_MAX (16 + SST_COLUMNS_MAX * (SST_NAME_MAX + 16)) /* bytes of a description */

/* The first line of every row; 8-byte words, so that a fabric writes each one atomically. */
struct row_head {
    uint64_t sequence; /* odd while several columns change; grows by 2 with every put */
    uint64_t barrier;  /* how often the owner called sst_barrier */
    uint64_t asleep; /* 1 while the owner's detector sleeps: a member that writes over a fabric must
                        wake it */
    uint64_t reserved[5];
};

struct schema_column {
    char name[SST_NAME_MAX];
    enum sst_type type;
    uint32_t count;
    uint32_t flags;
    uint32_t offset; /* in the program's struct */
    uint32_t cell;   /* in the row: offset of the number, or of the first element */
    uint32_t watch;  /* in the row: offset of the word to poll; equal to `cell` if the column is one
                        number */
    uint32_t size;   /* bytes of its elements in the struct */
};

struct schema {
    struct schema_column columns[SST_COLUMNS_MAX];
    uint32_t column_count;
    uint32_t struct_size;
    uint32_t row_size; /* bytes of a row, a multiple of a line */
    bool lone;         /* the only column is one number: no put can be seen half done */
    uint64_t hash;
};

/* Returns -EINVAL with a reason if there are no columns or too many; if a name is missing, too
 * long, used twice or contains characters that control a terminal; if a type or flag is unknown or
 * a count is 0; if a column reaches beyond the struct, overlaps another or is not aligned to its
 * type; if a guard or growing column is not one number; or if a row exceeds 1 GiB. */
MUST_CHECK int schema_make(struct schema *schema, const struct sst_column *columns, uint32_t count,
                           uint32_t struct_size, struct why *why);

static inline bool schema_is_number(const struct schema_column *column)
{
    return column->watch == column->cell;
}

/* How to interpret a cell. */
enum schema_kind { SCHEMA_UNSIGNED, SCHEMA_SIGNED, SCHEMA_FLOAT };

/* For columns of one number. */
static inline enum schema_kind schema_kind(const struct schema_column *column)
{
    const unsigned floats = 1u << SST_F32 | 1u << SST_F64;
    const unsigned integers = 1u << SST_I8 | 1u << SST_I16 | 1u << SST_I32 | 1u << SST_I64;
    if (floats >> column->type & 1)
        return SCHEMA_FLOAT;
    return integers >> column->type & 1 ? SCHEMA_SIGNED : SCHEMA_UNSIGNED;
}

static inline uint64_t schema_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double schema_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Convert a number to its cell and back. The field of the struct has the column's type; the cell
 * has 8 bytes: integers are sign-extended, floats are the bits of a double. */
uint64_t schema_widen(const struct schema_column *column, const void *field);
void schema_narrow(const struct schema_column *column, uint64_t cell, void *field);

/* Convert a number to the column's cell, or return -ERANGE if it does not fit. An integer column
 * takes exact values only. A float column takes the nearest value, including NaN and infinity, but
 * a finite number must not become infinite. The cell is the same that schema_widen makes. */
MUST_CHECK int schema_cell_u64(const struct schema_column *column, uint64_t value, uint64_t *cell);
MUST_CHECK int schema_cell_i64(const struct schema_column *column, int64_t value, uint64_t *cell);
MUST_CHECK int schema_cell_f64(const struct schema_column *column, double value, uint64_t *cell);

/* Is `to` less than `from`? For columns that only grow. NaN counts as less. */
bool schema_falls(const struct schema_column *column, uint64_t from, uint64_t to);

/* Write and read a description of the columns, for a receiver that does not have the struct.
 * schema_write returns the size, at most SCHEMA_WIRE_MAX, or -EMSGSIZE. schema_read checks as
 * schema_make does and returns -EPROTO. */
int schema_write(const struct schema *schema, uint8_t *out, size_t size);
MUST_CHECK int schema_read(struct schema *schema, const uint8_t *bytes, size_t size);
