#pragma once
/* schema: the columns of a table, and where they lie in a row of memory.
 *
 * The program has its struct; the row that members write into each other's
 * memory is laid out by us:
 *
 *   head     one line: struct row_head
 *   cells    numbers of one element, 8 bytes each, whatever their type; then
 *            columns of several elements: a sequence word, their elements, up to
 *            a multiple of 8
 *   guards   a line each
 *
 * A reader that polls a column looks at one word, the *watch*: the cell itself, or
 * the sequence word, which is odd while its elements are being written and another
 * even number afterwards. A column of one SST_BYTES is of several elements, too.
 *
 * Pure: no memory, no clock, no output. Layouts are equal iff their hashes are:
 * everything that decides the bytes of a row, and the names, goes into it (and nothing
 * else: where a field lies in the struct is each member's own affair). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <weft/sst.h>

#include "base/err.h"

#define SCHEMA_LINE     64
#define SCHEMA_WIRE_MAX (16 + SST_COLUMNS_MAX * (SST_NAME_MAX + 16)) /* bytes of a description */

/* The first line of every row; 8-byte words so that a fabric writes each at once. */
struct row_head {
    uint64_t sequence; /* odd while several columns change; grows by 2 with every put */
    uint64_t barrier;  /* how often the owner called sst_barrier */
    uint64_t asleep;   /* 1 while its detector sleeps: who writes over a fabric must tell it */
    uint64_t reserved[5];
};

struct schema_column {
    char name[SST_NAME_MAX];
    enum sst_type type;
    uint32_t count;
    uint32_t flags;
    uint32_t offset; /* in the program's struct */
    uint32_t cell;   /* in the row: of the number, or of the first element */
    uint32_t watch;  /* in the row: of the word to poll; equal to cell iff it is one number */
    uint32_t size;   /* bytes of its elements in the struct */
};

struct schema {
    struct schema_column columns[SST_COLUMNS_MAX];
    uint32_t column_count;
    uint32_t struct_size;
    uint32_t row_size; /* bytes of a row, a multiple of a line */
    bool lone;         /* a single column of one number: no put can be seen half done */
    uint64_t hash;
};

/* -EINVAL with a reason: no columns or too many, a name that is missing, too long or
 * there twice, an unknown type or flag, a count of 0, a column that reaches
 * beyond the struct or over another, that is not aligned to its type in it, a guard or
 * growing column that is not one number, a name that a terminal would obey, a row
 * beyond 1 GiB. */
MUST_CHECK int schema_make(struct schema *schema, const struct sst_column *columns, uint32_t count,
                           uint32_t struct_size, struct why *why);

static inline bool schema_is_number(const struct schema_column *column)
{
    return column->watch == column->cell;
}

/* How a cell is to be understood. */
enum schema_kind { SCHEMA_UNSIGNED, SCHEMA_SIGNED, SCHEMA_FLOAT };

/* Of a number's column. */
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

/* A number's cell and back. The struct's field has the column's type; the cell is
 * 8 bytes: integers extended by their sign, floats as a double's bits. */
uint64_t schema_widen(const struct schema_column *column, const void *field);
void schema_narrow(const struct schema_column *column, uint64_t cell, void *field);

/* Does a number of that kind fit the column? -ERANGE if not: integers must be equal to
 * it, floats (the nearest there is, NaN and infinity too) only may not become infinite.
 * The cell is what schema_widen makes of it. */
MUST_CHECK int schema_cell_u64(const struct schema_column *column, uint64_t value, uint64_t *cell);
MUST_CHECK int schema_cell_i64(const struct schema_column *column, int64_t value, uint64_t *cell);
MUST_CHECK int schema_cell_f64(const struct schema_column *column, double value, uint64_t *cell);

/* Does `to` come before `from`? For columns that only grow; to NaN falls. */
bool schema_falls(const struct schema_column *column, uint64_t from, uint64_t to);

/* A description to send to somebody who does not know the struct, and what it says.
 * Returns the size, at most SCHEMA_WIRE_MAX, or -EMSGSIZE; reading checks as schema_make does:
 * -EPROTO. */
int schema_write(const struct schema *schema, uint8_t *out, size_t size);
MUST_CHECK int schema_read(struct schema *schema, const uint8_t *bytes, size_t size);
