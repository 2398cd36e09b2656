#include "sst/table/schema.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/compare.h"
#include "base/utf8.h"

#define ROW_SIZE_MAX  (1u << 30)
#define WIDE_LINE_MIN 48 /* a larger wide column begins on its own cache line */
#define WIRE_VERSION  1
#define WIRE_HEAD     8
#define WIRE_COLUMN   11 /* bytes of a column's description without its name */

#define TWO_TO_63 9223372036854775808.0
#define TWO_TO_64 18446744073709551616.0

static_assert(sizeof(struct row_head) == SCHEMA_LINE, "the head is the first line");
static_assert(SST_SIZE(SST_BOOL) == sizeof(bool), "a bool is a byte");
static_assert(WIRE_HEAD + SST_COLUMNS_MAX * (WIRE_COLUMN + SST_NAME_MAX - 1) <= SCHEMA_WIRE_MAX,
              "every description fits");

/* ---- checks of what a program declares ---- */

/* Names also come from other processes and are printed on terminals, so they must not contain
 * control characters. */
static bool name_is_clean(const char *name, size_t size)
{
    if (utf8_valid(name, size) != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (utf8_control(name + i, size - i))
            return false;
    return true;
}

static int name_check(const struct sst_column *column, uint32_t index, struct why *why)
{
    size_t size = column->name ? strnlen(column->name, SST_NAME_MAX) : 0;
    if (!size)
        return why_fail(why, -EINVAL, "column %u has no name", index);
    if (size == SST_NAME_MAX)
        return why_fail(why, -EINVAL, "the name of column %u is longer than %d bytes", index,
                        SST_NAME_MAX - 1);
    if (!name_is_clean(column->name, size))
        return why_fail(why, -EINVAL, "the name of column %u is not printable UTF-8", index);
    return 0;
}

static int column_check(const struct sst_column *column, uint32_t index, uint32_t struct_size,
                        struct why *why)
{
    int error = name_check(column, index, why);
    if (error < 0)
        return error;
    const char *name = column->name;
    if (column->type < SST_BOOL || column->type > SST_F64)
        return why_fail(why, -EINVAL, "column %s has the unknown type %d", name, (int)column->type);
    if (column->flags & ~(uint32_t)(SST_GUARD | SST_GROWS))
        return why_fail(why, -EINVAL, "column %s has unknown flags 0x%x", name, column->flags);
    if (!column->count)
        return why_fail(why, -EINVAL, "column %s has no elements", name);
    bool number = column->count == 1 && column->type != SST_BYTES;
    if (column->flags && !number)
        return why_fail(why, -EINVAL, "column %s %s and must be one number", name,
                        column->flags & SST_GUARD ? "is a guard" : "only grows");
    if (column->offset % SST_SIZE(column->type))
        return why_fail(why, -EINVAL, "column %s is not aligned in the struct", name);
    uint64_t end = column->offset + (uint64_t)column->count * SST_SIZE(column->type);
    if (end > struct_size)
        return why_fail(why, -EINVAL, "column %s ends at byte %llu, beyond the struct of %u bytes",
                        name, (unsigned long long)end, struct_size);
    return 0;
}

static int names_compare(const void *left, const void *right)
{
    const struct schema_column *const *one = left, *const *other = right;
    return strcmp((*one)->name, (*other)->name);
}

static int offsets_compare(const void *left, const void *right)
{
    const struct schema_column *const *one = left, *const *other = right;
    return compare_u64((*one)->offset, (*other)->offset);
}

/* Refuses two columns with the same name or with overlapping bytes in the struct. */
static int columns_check(const struct schema *schema, struct why *why)
{
    const struct schema_column *sorted[SST_COLUMNS_MAX];
    uint32_t count = schema->column_count;
    assert(count && count <= SST_COLUMNS_MAX);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &schema->columns[i];
    qsort(sorted, count, sizeof sorted[0], names_compare);
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            return why_fail(why, -EINVAL, "two columns are called %s", sorted[i]->name);
    qsort(sorted, count, sizeof sorted[0], offsets_compare);
    for (uint32_t i = 1; i < count; i++)
        if (sorted[i - 1]->offset + sorted[i - 1]->size > sorted[i]->offset)
            return why_fail(why, -EINVAL, "columns %s and %s overlap in the struct",
                            sorted[i - 1]->name, sorted[i]->name);
    return 0;
}

/* ---- the row ---- */

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static bool is_wide(const struct schema_column *column)
{
    return column->count > 1 || column->type == SST_BYTES;
}

/* Places the columns and returns the size of the row, which may be too large. If the size is below
 * 2^32, so are all offsets. */
static uint64_t row_lay_out(struct schema *schema)
{
    uint64_t at = sizeof(struct row_head);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        struct schema_column *column = &schema->columns[i];
        if (is_wide(column) || column->flags & SST_GUARD)
            continue;
        column->cell = column->watch = (uint32_t)at;
        at += 8;
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        struct schema_column *column = &schema->columns[i];
        if (!is_wide(column))
            continue;
        if (column->size > WIDE_LINE_MIN)
            at = round_up(at, SCHEMA_LINE);
        column->watch = (uint32_t)at;
        column->cell = (uint32_t)at + 8;
        at += 8 + round_up(column->size, 8);
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        struct schema_column *column = &schema->columns[i];
        if (!(column->flags & SST_GUARD))
            continue;
        at = round_up(at, SCHEMA_LINE);
        column->cell = column->watch = (uint32_t)at;
        at += SCHEMA_LINE;
    }
    return round_up(at, SCHEMA_LINE);
}

/* A machine of the other byte order would misread our rows, so the order is part of the hash. */
static uint8_t byte_order(void)
{
    const uint16_t word = 0x0102;
    uint8_t first;
    memcpy(&first, &word, 1);
    return first;
}

/* Hashes the names and everything that decides the bytes of the row. The offsets in the struct are
 * left out: members may be compiled with another struct layout. */
static uint64_t layout_hash(const struct schema *schema)
{
    uint8_t bytes[SCHEMA_WIRE_MAX], digest[crypto_generichash_BYTES_MIN];
    struct writer out = writer_make(bytes, sizeof bytes);
    write_u8(&out, WIRE_VERSION);
    write_u8(&out, byte_order());
    write_u32(&out, schema->row_size);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        uint8_t size = (uint8_t)strlen(column->name);
        write_u8(&out, size);
        write_bytes(&out, column->name, size);
        write_u8(&out, (uint8_t)column->type);
        write_u8(&out, (uint8_t)column->flags);
        write_u32(&out, column->count);
    }
    assert(!out.failed);
    crypto_generichash(digest, sizeof digest, bytes, sizeof bytes - out.left, NULL, 0);
    struct reader in = reader_make(digest, sizeof digest);
    return read_u64(&in);
}

int schema_make(struct schema *schema, const struct sst_column *columns, uint32_t count,
                uint32_t struct_size, struct why *why)
{
    *schema = (struct schema){.struct_size = struct_size};
    if (!columns || !count)
        return why_fail(why, -EINVAL, "the table has no columns");
    if (count > SST_COLUMNS_MAX)
        return why_fail(why, -EINVAL, "the table has %u columns; the limit is %d", count,
                        SST_COLUMNS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        int error = column_check(&columns[i], i, struct_size, why);
        if (error < 0)
            return error;
        struct schema_column *column = &schema->columns[schema->column_count++];
        memcpy(column->name, columns[i].name, strlen(columns[i].name) + 1);
        column->type = columns[i].type;
        column->count = columns[i].count;
        column->flags = columns[i].flags;
        column->offset = columns[i].offset;
        column->size = columns[i].count * SST_SIZE(columns[i].type);
    }
    int error = columns_check(schema, why);
    if (error < 0)
        return error;
    uint64_t size = row_lay_out(schema);
    if (size > ROW_SIZE_MAX)
        return why_fail(why, -EINVAL, "a row of %llu bytes is larger than 1 GiB",
                        (unsigned long long)size);
    schema->row_size = (uint32_t)size;
    schema->lone = count == 1 && !is_wide(&schema->columns[0]);
    schema->hash = layout_hash(schema);
    return 0;
}

/* ---- numbers ---- */

static uint64_t field_load(const void *field, unsigned size)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (size) {
    case 1:
        memcpy(&one, field, sizeof one);
        return one;
    case 2:
        memcpy(&two, field, sizeof two);
        return two;
    case 4:
        memcpy(&four, field, sizeof four);
        return four;
    default:
        memcpy(&eight, field, sizeof eight);
        return eight;
    }
}

static void field_store(void *field, unsigned size, uint64_t value)
{
    uint8_t one = (uint8_t)value;
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;
    switch (size) {
    case 1:
        memcpy(field, &one, sizeof one);
        return;
    case 2:
        memcpy(field, &two, sizeof two);
        return;
    case 4:
        memcpy(field, &four, sizeof four);
        return;
    default:
        memcpy(field, &value, sizeof value);
    }
}

uint64_t schema_widen(const struct schema_column *column, const void *field)
{
    assert(column->type != SST_BYTES);
    unsigned size = SST_SIZE(column->type), spare = 64 - 8 * size;
    if (column->type == SST_F32) {
        float value;
        memcpy(&value, field, sizeof value);
        return schema_bits(value);
    }
    uint64_t value = field_load(field, size);
    if (column->type == SST_BOOL)
        return value != 0;
    if (schema_kind(column) == SCHEMA_SIGNED)
        return (uint64_t)((int64_t)(value << spare) >> spare);
    return value;
}

void schema_narrow(const struct schema_column *column, uint64_t cell, void *field)
{
    assert(column->type != SST_BYTES);
    if (column->type == SST_F32) {
        float value = (float)schema_double(cell);
        memcpy(field, &value, sizeof value);
        return;
    }
    if (column->type == SST_BOOL)
        cell = cell != 0;
    field_store(field, SST_SIZE(column->type), cell);
}

/* The largest value of an integer type. The smallest of a signed type is -largest - 1. */
static uint64_t largest(const struct schema_column *column)
{
    if (column->type == SST_BOOL)
        return 1;
    return UINT64_MAX >> (64 - 8 * SST_SIZE(column->type)) >>
           (schema_kind(column) == SCHEMA_SIGNED);
}

/* A finite number that an F32 column would turn into infinity does not fit. */
static int cell_float(const struct schema_column *column, double value, uint64_t *cell)
{
    if (column->type == SST_F32) {
        float narrow = (float)value;
        if (isinf(narrow) && !isinf(value))
            return -ERANGE;
        value = narrow;
    }
    *cell = schema_bits(value);
    return 0;
}

int schema_cell_u64(const struct schema_column *column, uint64_t value, uint64_t *cell)
{
    assert(column->type != SST_BYTES);
    if (schema_kind(column) == SCHEMA_FLOAT)
        return cell_float(column, (double)value, cell);
    if (value > largest(column))
        return -ERANGE;
    *cell = value;
    return 0;
}

int schema_cell_i64(const struct schema_column *column, int64_t value, uint64_t *cell)
{
    assert(column->type != SST_BYTES);
    if (value >= 0)
        return schema_cell_u64(column, (uint64_t)value, cell);
    switch (schema_kind(column)) {
    case SCHEMA_UNSIGNED:
        return -ERANGE;
    case SCHEMA_SIGNED:
        if (value < -(int64_t)largest(column) - 1)
            return -ERANGE;
        *cell = (uint64_t)value;
        return 0;
    case SCHEMA_FLOAT:
        return cell_float(column, (double)value, cell);
    }
    assert_unreachable();
}

/* An integer column takes integral values only. */
int schema_cell_f64(const struct schema_column *column, double value, uint64_t *cell)
{
    assert(column->type != SST_BYTES);
    if (schema_kind(column) == SCHEMA_FLOAT)
        return cell_float(column, value, cell);
    if (!(value >= -TWO_TO_63 && value < TWO_TO_64) || value != floor(value))
        return -ERANGE;
    return value < 0 ? schema_cell_i64(column, (int64_t)value, cell)
                     : schema_cell_u64(column, (uint64_t)value, cell);
}

bool schema_falls(const struct schema_column *column, uint64_t from, uint64_t to)
{
    switch (schema_kind(column)) {
    case SCHEMA_UNSIGNED:
        return to < from;
    case SCHEMA_SIGNED:
        return (int64_t)to < (int64_t)from;
    case SCHEMA_FLOAT: /* NaN counts as smaller: after NaN any value would be accepted */
        return !(schema_double(to) >= schema_double(from));
    }
    assert_unreachable();
}

/* ---- descriptions ---- */

int schema_write(const struct schema *schema, uint8_t *out, size_t size)
{
    struct writer writer = writer_make(out, size);
    write_u8(&writer, WIRE_VERSION);
    write_u8(&writer, byte_order());
    write_u16(&writer, (uint16_t)schema->column_count);
    write_u32(&writer, schema->struct_size);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        uint8_t name_size = (uint8_t)strlen(column->name);
        write_u8(&writer, (uint8_t)column->type);
        write_u8(&writer, (uint8_t)column->flags);
        write_u32(&writer, column->count);
        write_u32(&writer, column->offset);
        write_u8(&writer, name_size);
        write_bytes(&writer, column->name, name_size);
    }
    return writer.failed ? -EMSGSIZE : (int)(size - writer.left);
}

int schema_read(struct schema *schema, const uint8_t *bytes, size_t size)
{
    struct sst_column columns[SST_COLUMNS_MAX];
    char names[SST_COLUMNS_MAX][SST_NAME_MAX] = {{0}};
    struct reader in = reader_make(bytes, size);
    unsigned version = read_u8(&in), order = read_u8(&in);
    uint32_t count = read_u16(&in), struct_size = read_u32(&in);
    if (version != WIRE_VERSION || order != byte_order() || count > SST_COLUMNS_MAX)
        return -EPROTO;
    for (uint32_t i = 0; i < count; i++) {
        columns[i].type = (enum sst_type)read_u8(&in);
        columns[i].flags = read_u8(&in);
        columns[i].count = read_u32(&in);
        columns[i].offset = read_u32(&in);
        columns[i].name = names[i];
        unsigned name_size = read_u8(&in);
        if (name_size >= SST_NAME_MAX)
            return -EPROTO;
        read_copy(&in, names[i], name_size);
        if (strlen(names[i]) != name_size) /* a name with a zero byte inside would be truncated */
            return -EPROTO;
    }
    if (in.failed || in.left || schema_make(schema, columns, count, struct_size, NULL) < 0)
        return -EPROTO;
    return 0;
}
