#include "cli/sst/sst_cell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "cli/show/bytes_text.h"
#include "cli/show/table_text.h"

#define ELLIPSIS    "\xe2\x80\xa6"
#define NUMBER_SIZE 32

/* A number of any type. */
struct number {
    enum { NUMBER_BOOL, NUMBER_UNSIGNED, NUMBER_SIGNED, NUMBER_REAL } kind;
    union {
        uint64_t whole;
        int64_t whole_signed;
        double real;
    };
};

#define LOADED(type, of_kind, field)                                                               \
    do {                                                                                           \
        type value;                                                                                \
        memcpy(&value, at, sizeof value);                                                          \
        return (struct number){.kind = (of_kind), .field = value};                                 \
    } while (0)

static struct number number_load(enum sst_type type, const void *elements, uint32_t index)
{
    const uint8_t *at = (const uint8_t *)elements + (size_t)index * SST_SIZE(type);
    switch (type) {
    case SST_BOOL:
        return (struct number){.kind = NUMBER_BOOL, .whole = *at != 0};
    case SST_U8:
    case SST_BYTES:
        LOADED(uint8_t, NUMBER_UNSIGNED, whole);
    case SST_I8:
        LOADED(int8_t, NUMBER_SIGNED, whole_signed);
    case SST_U16:
        LOADED(uint16_t, NUMBER_UNSIGNED, whole);
    case SST_I16:
        LOADED(int16_t, NUMBER_SIGNED, whole_signed);
    case SST_U32:
        LOADED(uint32_t, NUMBER_UNSIGNED, whole);
    case SST_I32:
        LOADED(int32_t, NUMBER_SIGNED, whole_signed);
    case SST_F32:
        LOADED(float, NUMBER_REAL, real);
    case SST_U64:
        LOADED(uint64_t, NUMBER_UNSIGNED, whole);
    case SST_I64:
        LOADED(int64_t, NUMBER_SIGNED, whole_signed);
    case SST_F64:
        LOADED(double, NUMBER_REAL, real);
    }
    assert_unreachable();
}

/* Formats a number; reals have six digits. */
static const char *number_text(struct number number, char text[NUMBER_SIZE])
{
    switch (number.kind) {
    case NUMBER_BOOL:
        return strcpy(text, number.whole ? "true" : "false");
    case NUMBER_UNSIGNED:
        snprintf(text, NUMBER_SIZE, "%" PRIu64, number.whole);
        break;
    case NUMBER_SIGNED:
        snprintf(text, NUMBER_SIZE, "%" PRId64, number.whole_signed);
        break;
    case NUMBER_REAL:
        snprintf(text, NUMBER_SIZE, "%g", number.real);
        break;
    }
    return text;
}

/* Returns the size without trailing zero bytes. */
static size_t bytes_size(const void *bytes, uint32_t count)
{
    while (count > 0 && ((const char *)bytes)[count - 1] == '\0')
        count--;
    return count;
}

/* Writes the text for elements that are not shown; returns the width that is left. */
static uint32_t rest_text(char rest[NUMBER_SIZE], const char *before, uint32_t count, uint32_t most)
{
    snprintf(rest, NUMBER_SIZE, "%s" ELLIPSIS " (%u)", before, count);
    uint32_t width = table_text_width(rest);
    return most > width ? most - width : 0;
}

static void string_text(struct text *out, uint32_t count, const void *elements, uint32_t most)
{
    struct text all = {0};
    char rest[NUMBER_SIZE];
    size_t size = bytes_size(elements, count);
    size_t shown =
        most && size > 4 * (size_t)most ? 4 * (size_t)most : size; /* of UTF-8, at most */
    bytes_text(&all, elements, shown, shown);
    uint32_t room = rest_text(rest, "", count, most);
    if (all.size && !all.failed) {
        bool fits = shown == size && (!most || table_text_width(all.data) <= most);
        text_add(out, all.data, fits ? all.size : table_text_fitting(all.data, room));
        text_puts(out, fits ? "" : rest);
    }
    out->failed |= all.failed;
    text_fini(&all);
}

void sst_cell_text(struct text *out, enum sst_type type, uint32_t count, const void *elements,
                   uint32_t most)
{
    char text[NUMBER_SIZE], rest[NUMBER_SIZE];
    if (type == SST_BYTES) {
        string_text(out, count, elements, most);
        return;
    }
    uint32_t width = 0, room = rest_text(rest, " ", count, most);
    for (uint32_t i = 0; i < count; i++) {
        number_text(number_load(type, elements, i), text);
        width += (uint32_t)strlen(text) + (i > 0);
        /* The last element may use the room of the ellipsis, which is not needed then. */
        if (i > 0 && most && width > (i + 1 == count ? most : room)) {
            text_puts(out, rest);
            return;
        }
        text_printf(out, "%s%s", i ? " " : "", text);
    }
}

static void number_json(struct json *json, struct number number)
{
    switch (number.kind) {
    case NUMBER_BOOL:
        json_bool(json, number.whole != 0);
        break;
    case NUMBER_UNSIGNED:
        json_uint(json, number.whole);
        break;
    case NUMBER_SIGNED:
        json_int(json, number.whole_signed);
        break;
    case NUMBER_REAL:
        json_number(json, number.real);
        break;
    }
}

void sst_cell_json(struct json *json, enum sst_type type, uint32_t count, const void *elements)
{
    if (type == SST_BYTES) {
        struct text all = {0};
        bytes_text(&all, elements, bytes_size(elements, count), SIZE_MAX);
        json_string(json, all.data ? all.data : "");
        json->out->failed |= all.failed;
        text_fini(&all);
        return;
    }
    if (count == 1) {
        number_json(json, number_load(type, elements, 0));
        return;
    }
    json_array(json);
    for (uint32_t i = 0; i < count; i++)
        number_json(json, number_load(type, elements, i));
    json_end(json, ']');
}
