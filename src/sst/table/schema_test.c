#include "sst/table/schema.h"

#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"

struct sample {
    uint64_t step;
    bool ready;
    int8_t small;
    uint16_t port;
    int32_t delta;
    float load;
    double costs[4];
    uint8_t text[100];
    uint32_t pair[2];
    uint64_t guard;
    uint8_t tail[1];
};

enum { STEP, READY, SMALL, PORT, DELTA, LOAD, COSTS, TEXT, PAIR, GUARD, TAIL, COLUMNS };

static const struct sst_column sample[COLUMNS] = {
    [STEP] = SST_COLUMN(struct sample, step, SST_U64, SST_GROWS),
    [READY] = SST_COLUMN(struct sample, ready, SST_BOOL, 0),
    [SMALL] = SST_COLUMN(struct sample, small, SST_I8, 0),
    [PORT] = SST_COLUMN(struct sample, port, SST_U16, 0),
    [DELTA] = SST_COLUMN(struct sample, delta, SST_I32, 0),
    [LOAD] = SST_COLUMN(struct sample, load, SST_F32, 0),
    [COSTS] = SST_COLUMN(struct sample, costs, SST_F64, 0),
    [TEXT] = SST_COLUMN(struct sample, text, SST_BYTES, 0),
    [PAIR] = SST_COLUMN(struct sample, pair, SST_U32, 0),
    [GUARD] = SST_COLUMN(struct sample, guard, SST_U64, SST_GUARD | SST_GROWS),
    [TAIL] = SST_COLUMN(struct sample, tail, SST_BYTES, 0),
};

static void make(struct schema *schema, const struct sst_column *columns, uint32_t count,
                 uint32_t struct_size)
{
    struct why why = {{0}};
    int error = schema_make(schema, columns, count, struct_size, &why);
    if (error < 0)
        fail_msg("%s", why.text);
}

static void assert_same(const struct schema *one, const struct schema *other)
{
    assert_int_equal(one->column_count, other->column_count);
    assert_memory_equal(one->columns, other->columns, sizeof one->columns);
    assert_int_equal(one->struct_size, other->struct_size);
    assert_int_equal(one->row_size, other->row_size);
    assert_int_equal(one->lone, other->lone);
    assert_int_equal(one->hash, other->hash);
}

/* ---- what weft/sst.h promises to programs that declare columns ---- */

static void a_type_has_the_size_of_its_field(void **state)
{
    const unsigned sizes[] = {
        [SST_BOOL] = sizeof(bool),    [SST_U8] = sizeof(uint8_t),   [SST_I8] = sizeof(int8_t),
        [SST_BYTES] = sizeof(char),   [SST_U16] = sizeof(uint16_t), [SST_I16] = sizeof(int16_t),
        [SST_U32] = sizeof(uint32_t), [SST_I32] = sizeof(int32_t),  [SST_F32] = sizeof(float),
        [SST_U64] = sizeof(uint64_t), [SST_I64] = sizeof(int64_t),  [SST_F64] = sizeof(double),
    };
    for (enum sst_type type = SST_BOOL; type <= SST_F64; type++)
        assert_int_equal(SST_SIZE(type), sizes[type]);
}

static void a_column_describes_its_field(void **state)
{
    const struct sst_column one = SST_COLUMN(struct sample, delta, SST_I32, SST_GROWS);
    const struct sst_column array = SST_COLUMN(struct sample, costs, SST_F64, 0);
    const struct sst_column bytes = SST_COLUMN(struct sample, costs, SST_BYTES, 0);
    assert_string_equal(one.name, "delta");
    assert_int_equal(one.type, SST_I32);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.offset, offsetof(struct sample, delta));
    assert_int_equal(one.flags, SST_GROWS);
    assert_string_equal(array.name, "costs");
    assert_int_equal(array.count, 4);
    assert_int_equal(array.offset, offsetof(struct sample, costs));
    assert_int_equal(array.flags, 0);
    assert_int_equal(bytes.count, 4 * sizeof(double));
}

/* ---- layout ---- */

static void columns_are_at_their_documented_offsets(void **state)
{
    struct schema schema;
    make(&schema, sample, COLUMNS, sizeof(struct sample));
    /* after the head: six numbers */
    for (uint32_t i = STEP; i <= LOAD; i++) {
        assert_int_equal(schema.columns[i].cell, 64 + 8 * i);
        assert_true(schema_is_number(&schema.columns[i]));
    }
    /* wide columns: 32 bytes directly follow, 100 bytes begin a new line, 8 bytes follow, and one
     * SST_BYTES is wide, too */
    assert_int_equal(schema.columns[COSTS].watch, 112);
    assert_int_equal(schema.columns[COSTS].cell, 120);
    assert_int_equal(schema.columns[TEXT].watch, 192);
    assert_int_equal(schema.columns[TEXT].cell, 200);
    assert_int_equal(schema.columns[PAIR].watch, 200 + 104);
    assert_int_equal(schema.columns[TAIL].watch, 320);
    assert_int_equal(schema.columns[TAIL].cell, 328);
    assert_false(schema_is_number(&schema.columns[TAIL]));
    /* the guard has its own line, the last of the row */
    assert_int_equal(schema.columns[GUARD].cell, 384);
    assert_true(schema_is_number(&schema.columns[GUARD]));
    assert_int_equal(schema.row_size, 448);
    assert_int_equal(schema.struct_size, sizeof(struct sample));
    assert_int_equal(schema.columns[TEXT].size, 100);
    assert_string_equal(schema.columns[COSTS].name, "costs");
    assert_false(schema.lone);
}

static void a_column_of_48_bytes_needs_no_line_of_its_own(void **state)
{
    struct schema schema;
    for (uint32_t size = 1; size < 200; size++) {
        const struct sst_column columns[] = {{"one", SST_BYTES, 1, 0, 0},
                                             {"more", SST_BYTES, size, 1, 0}};
        make(&schema, columns, 2, size + 1);
        assert_int_equal(schema.columns[1].watch, size > 48 ? 128 : 80);
    }
}

static void a_schema_of_one_number_is_lone(void **state)
{
    struct schema schema;
    struct sst_column column = {"step", SST_I16, 1, 0, 0};
    make(&schema, &column, 1, 2);
    assert_true(schema.lone);
    assert_int_equal(schema.row_size, 128);
    column.flags = SST_GUARD;
    make(&schema, &column, 1, 2);
    assert_true(schema.lone);
    column = (struct sst_column){"step", SST_I16, 2, 0, 0};
    make(&schema, &column, 1, 4);
    assert_false(schema.lone);
    column = (struct sst_column){"step", SST_BYTES, 1, 0, 0};
    make(&schema, &column, 1, 1);
    assert_false(schema.lone);
}

/* Checks what must hold for any layout and any order of columns. */
static void check_layout(const struct schema *schema)
{
    uint8_t *taken = calloc(1, schema->row_size);
    memset(taken, 1, sizeof(struct row_head));
    assert_int_equal(schema->row_size % SCHEMA_LINE, 0);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        bool guard = column->flags & SST_GUARD;
        uint32_t from = column->watch, end = from + 8;
        if (guard)
            end = from + SCHEMA_LINE;
        else if (!schema_is_number(column))
            end = column->cell + column->size;
        assert_int_equal(column->watch % (guard ? SCHEMA_LINE : 8), 0);
        assert_true(schema_is_number(column) || column->cell == column->watch + 8);
        assert_true(end <= schema->row_size);
        for (uint32_t at = from; at < end; at++)
            assert_int_equal(taken[at]++, 0);
    }
    free(taken);
}

static uint32_t random_columns(struct rng *rng, struct sst_column *columns,
                               char names[][SST_NAME_MAX], uint32_t *struct_size)
{
    uint32_t count = 1 + (uint32_t)rng_below(rng, rng_below(rng, 8) ? 8 : SST_COLUMNS_MAX);
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        enum sst_type type = (enum sst_type)(1 + rng_below(rng, SST_F64));
        bool number = rng_below(rng, 2) && type != SST_BYTES;
        uint32_t size = SST_SIZE(type);
        at = (at + size - 1) / size * size + size * (uint32_t)rng_below(rng, 2);
        snprintf(names[i], SST_NAME_MAX, "column %u", i);
        columns[i] = (struct sst_column){
            .name = names[i],
            .type = type,
            .count = number ? 1 : 1 + (uint32_t)rng_below(rng, 40),
            .offset = at,
        };
        if (type != SST_BYTES && columns[i].count == 1)
            columns[i].flags = (uint32_t)rng_below(rng, 4);
        at += columns[i].count * size;
    }
    *struct_size = at + (uint32_t)rng_below(rng, 8);
    return count;
}

static void columns_never_overlap_and_descriptions_survive_reading(void **state)
{
    const uint64_t seed = 41;
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (unsigned round = 0; round < 500; round++) {
        struct sst_column columns[SST_COLUMNS_MAX];
        char names[SST_COLUMNS_MAX][SST_NAME_MAX];
        uint32_t struct_size, count = random_columns(&rng, columns, names, &struct_size);
        struct schema schema, read;
        uint8_t wire[SCHEMA_WIRE_MAX];
        make(&schema, columns, count, struct_size);
        check_layout(&schema);
        int size = schema_write(&schema, wire, sizeof wire);
        assert_true(size > 0 && size <= SCHEMA_WIRE_MAX);
        assert_int_equal(schema_read(&read, wire, (size_t)size), 0);
        assert_same(&schema, &read);
        assert_int_equal(schema_write(&schema, wire, (size_t)size - 1), -EMSGSIZE);
        assert_int_equal(schema_read(&read, wire, (size_t)size - 1), -EPROTO);
    }
}

/* ---- refusals ---- */

static void refuse(const struct sst_column *columns, uint32_t count, uint32_t struct_size,
                   const char *part)
{
    struct schema schema;
    struct why why = {{0}};
    assert_int_equal(schema_make(&schema, columns, count, struct_size, &why), -EINVAL);
    if (!strstr(why.text, part))
        fail_msg("\"%s\" does not say \"%s\"", why.text, part);
    assert_int_equal(schema_make(&schema, columns, count, struct_size, NULL), -EINVAL);
}

static void refuse_one(struct sst_column column, const char *part)
{
    refuse(&column, 1, 64, part);
}

static void invalid_columns_are_refused_with_a_reason(void **state)
{
    static struct sst_column many[SST_COLUMNS_MAX + 1];
    refuse(sample, 0, sizeof(struct sample), "no columns");
    refuse(NULL, 1, 8, "no columns");
    refuse(many, SST_COLUMNS_MAX + 1, 8, "the table has 129 columns; the limit is 128");
    refuse_one((struct sst_column){NULL, SST_U8, 1, 0, 0}, "column 0 has no name");
    refuse_one((struct sst_column){"", SST_U8, 1, 0, 0}, "column 0 has no name");
    refuse_one((struct sst_column){"thirty-two bytes are one too many", SST_U8, 1, 0, 0},
               "longer than 31 bytes");
    refuse_one((struct sst_column){"clear\033[2J", SST_U8, 1, 0, 0}, "not printable");
    refuse_one((struct sst_column){"next\302\205line", SST_U8, 1, 0, 0}, "not printable");
    refuse_one((struct sst_column){"half\303", SST_U8, 1, 0, 0}, "not printable");
    refuse_one((struct sst_column){"a", (enum sst_type)0, 1, 0, 0}, "unknown type 0");
    refuse_one((struct sst_column){"a", (enum sst_type)(SST_F64 + 1), 1, 0, 0}, "unknown type 13");
    refuse_one((struct sst_column){"a", SST_U8, 1, 0, 4}, "unknown flags 0x4");
    refuse_one((struct sst_column){"a", SST_U8, 0, 0, 0}, "no elements");
    refuse_one((struct sst_column){"a", SST_U8, 2, 0, SST_GUARD}, "is a guard");
    refuse_one((struct sst_column){"a", SST_BYTES, 1, 0, SST_GUARD}, "is a guard");
    refuse_one((struct sst_column){"a", SST_BYTES, 1, 0, SST_GROWS}, "only grows");
    refuse_one((struct sst_column){"a", SST_U32, 2, 0, SST_GROWS}, "only grows");
    refuse_one((struct sst_column){"a", SST_U32, 1, 2, 0}, "not aligned");
    refuse_one((struct sst_column){"a", SST_F64, 1, 4, 0}, "not aligned");
    refuse_one((struct sst_column){"a", SST_U64, 8, 8, 0},
               "ends at byte 72, beyond the struct of 64");
    refuse_one((struct sst_column){"a", SST_U64, UINT32_MAX, 0, 0}, "ends at byte 34359738360");
    refuse_one((struct sst_column){"a", SST_U8, 1, UINT32_MAX, 0}, "ends at byte 4294967296");
}

static void conflicting_columns_are_refused(void **state)
{
    const struct sst_column twins[] = {
        {"a", SST_U8, 1, 0, 0}, {"b", SST_U8, 1, 1, 0}, {"a", SST_U8, 1, 2, 0}};
    const struct sst_column over[] = {{"high", SST_U32, 1, 4, 0}, {"low", SST_U8, 5, 0, 0}};
    const struct sst_column near[] = {{"high", SST_U32, 1, 4, 0}, {"low", SST_U8, 4, 0, 0}};
    const struct sst_column huge[] = {{"huge", SST_BYTES, 1u << 30, 0, 0}};
    const struct sst_column sum[] = {{"half", SST_BYTES, UINT32_MAX / 2, 0, 0},
                                     {"rest", SST_BYTES, UINT32_MAX / 2, UINT32_MAX / 2, 0}};
    struct schema schema;
    refuse(twins, 3, 64, "two columns are called a");
    refuse(over, 2, 64, "columns low and high overlap");
    make(&schema, near, 2, 64);
    refuse(huge, 1, 1u << 30, "larger than 1 GiB");
    refuse(sum, 2, UINT32_MAX, "larger than 1 GiB");
}

/* ---- the hash ---- */

static uint64_t hash_of(const struct sst_column *columns, uint32_t count, uint32_t struct_size)
{
    struct schema schema;
    make(&schema, columns, count, struct_size);
    return schema.hash;
}

static void hashes_differ_exactly_if_layouts_do(void **state)
{
    const struct sst_column base[] = {{"one", SST_U32, 1, 0, 0}, {"two", SST_U32, 2, 4, 0}};
    struct sst_column other[2];
    const uint64_t hash = hash_of(base, 2, 16);
    assert_int_equal(hash, hash_of(base, 2, 12)); /* the size of the struct does not count */
    memcpy(other, base, sizeof base);
    other[0].offset = 8;
    other[1].offset = 0;
    assert_int_equal(hash, hash_of(other, 2, 12));
    memcpy(other, base, sizeof base);
    other[0].name = "ome";
    assert_int_not_equal(hash, hash_of(other, 2, 12));
    other[0] = base[0];
    other[0].type = SST_I32;
    assert_int_not_equal(hash, hash_of(other, 2, 12));
    other[0] = base[0];
    other[0].flags = SST_GROWS;
    assert_int_not_equal(hash, hash_of(other, 2, 12));
    other[0] = base[0];
    other[1].count = 1;
    assert_int_not_equal(hash, hash_of(other, 2, 12));
    other[0] = base[1];
    other[1] = base[0];
    assert_int_not_equal(hash, hash_of(other, 2, 12));
    assert_int_not_equal(hash, hash_of(base, 1, 12));
}

/* ---- numbers ---- */

static struct schema_column column_of(enum sst_type type)
{
    return (struct schema_column){.type = type, .count = 1, .cell = 64, .watch = 64};
}

static void check_field(enum sst_type type, const void *field, uint64_t cell)
{
    struct schema_column column = column_of(type);
    uint8_t back[9];
    unsigned size = SST_SIZE(type);
    assert_int_equal(schema_widen(&column, field), cell);
    memset(back, 0xa5, sizeof back);
    schema_narrow(&column, cell, back);
    assert_memory_equal(back, field, size);
    assert_int_equal(back[size], 0xa5);
}

#define CHECK_FIELD(column, ctype, value, cell)                                                    \
    check_field(column, &(const ctype){value}, (uint64_t)(cell))

static void fields_are_widened_and_narrowed(void **state)
{
    CHECK_FIELD(SST_BOOL, bool, true, 1);
    CHECK_FIELD(SST_BOOL, bool, false, 0);
    CHECK_FIELD(SST_U8, uint8_t, 255, 255);
    CHECK_FIELD(SST_I8, int8_t, -128, -128);
    CHECK_FIELD(SST_I8, int8_t, 127, 127);
    CHECK_FIELD(SST_U16, uint16_t, 65535, 65535);
    CHECK_FIELD(SST_I16, int16_t, -32768, -32768);
    CHECK_FIELD(SST_U32, uint32_t, UINT32_MAX, UINT32_MAX);
    CHECK_FIELD(SST_I32, int32_t, INT32_MIN, INT32_MIN);
    CHECK_FIELD(SST_U64, uint64_t, UINT64_MAX, UINT64_MAX);
    CHECK_FIELD(SST_I64, int64_t, INT64_MIN, INT64_MIN);
    CHECK_FIELD(SST_F32, float, -0.1f, schema_bits((double)-0.1f));
    CHECK_FIELD(SST_F32, float, -INFINITY, schema_bits(-INFINITY));
    CHECK_FIELD(SST_F64, double, 0.1, schema_bits(0.1));
    CHECK_FIELD(SST_F64, double, -0.0, UINT64_C(1) << 63);
}

static void check_range(enum sst_type type, int64_t least, uint64_t largest)
{
    struct schema_column column = column_of(type);
    uint64_t cell = 0;
    assert_int_equal(schema_cell_i64(&column, least, &cell), 0);
    assert_int_equal(cell, (uint64_t)least);
    assert_int_equal(schema_cell_f64(&column, (double)least, &cell), 0);
    assert_int_equal(cell, (uint64_t)least);
    if (least > INT64_MIN) {
        assert_int_equal(schema_cell_i64(&column, least - 1, &cell), -ERANGE);
        assert_int_equal(schema_cell_f64(&column, (double)least - 1, &cell), -ERANGE);
    }
    assert_int_equal(schema_cell_u64(&column, largest, &cell), 0);
    assert_int_equal(cell, largest);
    if (largest < UINT64_MAX)
        assert_int_equal(schema_cell_u64(&column, largest + 1, &cell), -ERANGE);
    if (largest < INT64_MAX) {
        assert_int_equal(schema_cell_i64(&column, (int64_t)largest, &cell), 0);
        assert_int_equal(schema_cell_i64(&column, (int64_t)largest + 1, &cell), -ERANGE);
        assert_int_equal(schema_cell_f64(&column, (double)largest, &cell), 0);
        assert_int_equal(cell, largest);
    }
    assert_int_equal(schema_cell_f64(&column, (double)largest + 1, &cell), -ERANGE);
    assert_int_equal(schema_cell_f64(&column, 0.5, &cell), -ERANGE);
    assert_int_equal(schema_cell_f64(&column, NAN, &cell), -ERANGE);
    assert_int_equal(schema_cell_f64(&column, INFINITY, &cell), -ERANGE);
    assert_int_equal(schema_cell_f64(&column, -INFINITY, &cell), -ERANGE);
    assert_int_equal(schema_cell_f64(&column, -0.0, &cell), 0);
    assert_int_equal(cell, 0);
}

static void integer_columns_accept_exactly_their_range(void **state)
{
    check_range(SST_BOOL, 0, 1);
    check_range(SST_U8, 0, UINT8_MAX);
    check_range(SST_I8, INT8_MIN, INT8_MAX);
    check_range(SST_U16, 0, UINT16_MAX);
    check_range(SST_I16, INT16_MIN, INT16_MAX);
    check_range(SST_U32, 0, UINT32_MAX);
    check_range(SST_I32, INT32_MIN, INT32_MAX);
    check_range(SST_U64, 0, UINT64_MAX);
    check_range(SST_I64, INT64_MIN, INT64_MAX);
}

static void float_columns_store_the_nearest_value(void **state)
{
    struct schema_column wide = column_of(SST_F64), narrow = column_of(SST_F32);
    uint64_t cell = 0;
    assert_int_equal(schema_cell_f64(&wide, 0.1, &cell), 0);
    assert_int_equal(cell, schema_bits(0.1));
    assert_int_equal(schema_cell_f64(&narrow, 0.1, &cell), 0);
    assert_int_equal(cell, schema_bits((double)0.1f));
    assert_int_equal(schema_cell_u64(&wide, UINT64_MAX, &cell), 0);
    assert_int_equal(cell, schema_bits(18446744073709551616.0));
    assert_int_equal(schema_cell_i64(&narrow, -16777217, &cell), 0);
    assert_int_equal(cell, schema_bits(-16777216.0));
    assert_int_equal(schema_cell_f64(&narrow, FLT_MAX, &cell), 0);
    assert_int_equal(schema_cell_f64(&narrow, 2 * (double)FLT_MAX, &cell), -ERANGE);
    assert_int_equal(schema_cell_f64(&narrow, -DBL_MAX, &cell), -ERANGE);
    assert_int_equal(schema_cell_f64(&narrow, -INFINITY, &cell), 0);
    assert_int_equal(cell, schema_bits(-INFINITY));
    assert_int_equal(schema_cell_f64(&narrow, NAN, &cell), 0);
    assert_true(isnan(schema_double(cell)));
}

static bool falls(enum sst_type type, uint64_t from, uint64_t to)
{
    struct schema_column column = column_of(type);
    return schema_falls(&column, from, to);
}

static void values_fall_by_the_order_of_their_type(void **state)
{
    assert_false(falls(SST_U64, 1, 1));
    assert_false(falls(SST_U64, 1, UINT64_MAX));
    assert_true(falls(SST_U64, UINT64_MAX, 1));
    assert_true(falls(SST_BOOL, 1, 0));
    assert_true(falls(SST_I8, 1, (uint64_t)-1));
    assert_false(falls(SST_I8, (uint64_t)-1, 1));
    assert_true(falls(SST_F64, schema_bits(-1), schema_bits(-1.5)));
    assert_false(falls(SST_F32, schema_bits(-1), schema_bits(0.5)));
    assert_false(falls(SST_F64, schema_bits(0.0), schema_bits(-0.0)));
    assert_true(falls(SST_F64, schema_bits(0.0), schema_bits(NAN)));
}

/* ---- descriptions ---- */

static void malformed_descriptions_are_rejected(void **state)
{
    struct schema schema, read;
    uint8_t wire[SCHEMA_WIRE_MAX], bad[SCHEMA_WIRE_MAX];
    make(&schema, sample, COLUMNS, sizeof(struct sample));
    int size = schema_write(&schema, wire, sizeof wire);
    assert_true(size > 0);
    for (int short_size = 0; short_size < size; short_size++)
        assert_int_equal(schema_read(&read, wire, (size_t)short_size), -EPROTO);
    wire[size] = 0;
    assert_int_equal(schema_read(&read, wire, (size_t)size + 1), -EPROTO);
    /* another version, the other byte order, wrong number of columns, wrong type, flag, count */
    const struct {
        unsigned at;
        uint8_t value;
    } changes[] = {{0, 2}, {1, (uint8_t)(3 - wire[1])}, {2, 1}, {8, 0}, {8, 99}, {9, 8}, {13, 0}};
    for (unsigned i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        memcpy(bad, wire, (size_t)size);
        bad[changes[i].at] = changes[i].value;
        assert_int_equal(schema_read(&read, bad, (size_t)size), -EPROTO);
    }
    assert_int_equal(schema_read(&read, wire, (size_t)size), 0);
    assert_same(&schema, &read);
}

static void the_largest_description_fits(void **state)
{
    struct sst_column columns[SST_COLUMNS_MAX];
    char names[SST_COLUMNS_MAX][SST_NAME_MAX];
    struct schema schema;
    uint8_t wire[SCHEMA_WIRE_MAX];
    for (uint32_t i = 0; i < SST_COLUMNS_MAX; i++) {
        snprintf(names[i], SST_NAME_MAX, "%031u", i);
        columns[i] = (struct sst_column){names[i], SST_U8, 1, i, SST_GUARD};
    }
    make(&schema, columns, SST_COLUMNS_MAX, SST_COLUMNS_MAX);
    assert_int_equal(schema.row_size, 64 * (1 + SST_COLUMNS_MAX));
    assert_true(schema_write(&schema, wire, sizeof wire) > 0);
}

TEST_MAIN(TEST(a_type_has_the_size_of_its_field), TEST(a_column_describes_its_field),
          TEST(columns_are_at_their_documented_offsets),
          TEST(a_column_of_48_bytes_needs_no_line_of_its_own), TEST(a_schema_of_one_number_is_lone),
          TEST(columns_never_overlap_and_descriptions_survive_reading),
          TEST(invalid_columns_are_refused_with_a_reason), TEST(conflicting_columns_are_refused),
          TEST(hashes_differ_exactly_if_layouts_do), TEST(fields_are_widened_and_narrowed),
          TEST(integer_columns_accept_exactly_their_range),
          TEST(float_columns_store_the_nearest_value), TEST(values_fall_by_the_order_of_their_type),
          TEST(malformed_descriptions_are_rejected), TEST(the_largest_description_fits))
