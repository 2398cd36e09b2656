/* Tests the JSON reader: a document is refused in one line, or reads the same after our writer has
 * written it again. */
#include <math.h>

#include "base/json.h"
#include "base/json_reader.h"
#include "fuzz.h"

/* Writes the event as JSON; false if it cannot (too deep, or not a finite number). */
static bool event_write(struct json *json, const struct json_reader *reader)
{
    switch (reader->event) {
    case JSON_END:
        return true;
    case JSON_OBJECT:
        if (json->depth + 2 < JSON_DEPTH_MAX)
            json_object(json);
        return json->depth + 2 < JSON_DEPTH_MAX;
    case JSON_ARRAY:
        if (json->depth + 2 < JSON_DEPTH_MAX)
            json_array(json);
        return json->depth + 2 < JSON_DEPTH_MAX;
    case JSON_OBJECT_END:
    case JSON_ARRAY_END:
        json_end(json, reader->event == JSON_OBJECT_END ? '}' : ']');
        return true;
    case JSON_KEY:
        json_key(json, reader->text.data);
        return true;
    case JSON_STRING:
        json_string(json, reader->text.data);
        return true;
    case JSON_NUMBER:
        json_number(json, strtod(reader->text.data, NULL));
        return isfinite(strtod(reader->text.data, NULL));
    case JSON_TRUE:
    case JSON_FALSE:
        json_bool(json, reader->event == JSON_TRUE);
        return true;
    case JSON_NULL:
    case JSON_NAN:
        json_null(json);
        return true;
    }
    assert_unreachable();
}

static enum err document_copy(const char *data, size_t size, struct text *out, bool *faithful)
{
    struct json_reader reader;
    struct why why = {""};
    struct json json = json_make(out, false);
    enum err err;
    json_reader_init(&reader, "input", data, size, &why);
    while (!(err = json_reader_next(&reader)) && reader.event != JSON_END && *faithful)
        *faithful = event_write(&json, &reader);
    if (err)
        fuzz_check_why(&why);
    assert(reader.line >= 1 && reader.at <= reader.end);
    json_reader_fini(&reader);
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text once = {0}, twice = {0};
    bool faithful = true;
    enum err err = document_copy((const char *)data, size, &once, &faithful);
    if (!err && faithful) {
        assert(document_copy(once.data, once.size, &twice, &faithful) == OK && faithful);
        assert(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
    }
    text_fini(&once);
    text_fini(&twice);
    return 0;
}
