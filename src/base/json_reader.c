/* json_reader: a cursor, and a stack with one bit per open bracket.
 *
 * Invariants: `at` never passes `end`; line_at is one more than the number of newlines before `at`;
 * depth counts the open brackets. Bytes of a string are checked as UTF-8 when they are copied. */
#include "base/json_reader.h"

#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

void json_reader_init(struct json_reader *reader, const char *name, const char *data, size_t size,
                      struct why *why)
{
    *reader = (struct json_reader){
        .name = name, .at = data, .end = data + size, .line = 1, .line_at = 1, .why = why};
}

void json_reader_fini(struct json_reader *reader)
{
    text_fini(&reader->text);
}

static void space_skip(struct json_reader *reader)
{
    for (; reader->at < reader->end; reader->at++) {
        char c = *reader->at;
        if (c == '\n')
            reader->line_at++;
        else if (c != ' ' && c != '\t' && c != '\r')
            break;
    }
}

static enum err unexpected(struct json_reader *reader, const char *wanted)
{
    reader->line = reader->line_at;
    if (reader->at == reader->end)
        return json_reader_fail(reader, "the file ends where %s should be", wanted);
    unsigned char c = (unsigned char)*reader->at;
    if (c < ' ' || c >= 0x7f)
        return json_reader_fail(reader, "byte 0x%02x where %s should be", c, wanted);
    return json_reader_fail(reader, "'%c' where %s should be", c, wanted);
}

static enum err hex_read(struct json_reader *reader, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++, reader->at++) {
        char c = reader->at < reader->end ? *reader->at : '\0';
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return unexpected(reader, "one of the four hexadecimal digits of \\u");
        *value = *value * 16 + (uint32_t)digit;
    }
    return OK;
}

/* After "\u". A character beyond 16 bits is written as two halves. */
static enum err unicode_read(struct json_reader *reader)
{
    uint32_t code, low;
    enum err err = hex_read(reader, &code);
    if (err)
        return err;
    reader->line = reader->line_at;
    if (code == 0)
        return json_reader_fail(reader, "a zero character in a string");
    if (code >= 0xdc00 && code < 0xe000)
        return json_reader_fail(reader, "the second half of a surrogate pair without its first");
    if (code >= 0xd800 && code < 0xdc00) {
        if (reader->end - reader->at < 2 || reader->at[0] != '\\' || reader->at[1] != 'u')
            return json_reader_fail(reader, "half of a surrogate pair");
        reader->at += 2;
        err = hex_read(reader, &low);
        if (err)
            return err;
        if (low < 0xdc00 || low >= 0xe000)
            return json_reader_fail(reader, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    char bytes[4];
    text_add(&reader->text, bytes, utf8_put(bytes, code));
    return OK;
}

static enum err escape_read(struct json_reader *reader)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    reader->at++;
    if (reader->at == reader->end)
        return unexpected(reader, "an escape");
    if (*reader->at == 'u') {
        reader->at++;
        return unicode_read(reader);
    }
    const char *found = *reader->at ? strchr(letters, *reader->at) : NULL;
    if (!found)
        return unexpected(reader, "a known escape after \\");
    text_add(&reader->text, &meanings[found - letters], 1);
    reader->at++;
    return OK;
}

static enum err string_read(struct json_reader *reader)
{
    reader->text.size = 0;
    text_add(&reader->text, "", 0);
    reader->at++;
    for (;;) {
        const char *from = reader->at;
        while (reader->at < reader->end && *reader->at != '"' && *reader->at != '\\' &&
               (unsigned char)*reader->at >= ' ')
            reader->at++;
        size_t size = (size_t)(reader->at - from), valid = utf8_valid(from, size);
        if (valid < size) {
            reader->at = from + valid;
            return unexpected(reader, "UTF-8");
        }
        text_add(&reader->text, from, size);
        if (reader->at == reader->end || (unsigned char)*reader->at < ' ')
            return unexpected(reader, "the end of a string");
        if (*reader->at == '"')
            break;
        enum err err = escape_read(reader);
        if (err)
            return err;
    }
    reader->at++;
    return text_ok(&reader->text) ? OK : why_memory(reader->why);
}

static bool digits_skip(struct json_reader *reader)
{
    const char *from = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        reader->at++;
    return reader->at > from;
}

static bool letter_skip(struct json_reader *reader, const char *letters)
{
    if (reader->at == reader->end || !*reader->at || !strchr(letters, *reader->at))
        return false;
    reader->at++;
    return true;
}

static bool word_skip(struct json_reader *reader, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0)
        return false;
    reader->at += size;
    return true;
}

static enum err number_read(struct json_reader *reader)
{
    const char *from = reader->at;
    if (word_skip(reader, "-Infinity")) {
        reader->event = JSON_NAN;
        return OK;
    }
    letter_skip(reader, "-");
    bool zero = reader->at < reader->end && *reader->at == '0';
    if (zero)
        reader->at++;
    else if (!digits_skip(reader))
        return unexpected(reader, "a digit");
    if (zero && reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        return unexpected(reader, "the end of a number that begins with 0");
    if (letter_skip(reader, ".") && !digits_skip(reader))
        return unexpected(reader, "a digit");
    if (letter_skip(reader, "eE")) {
        letter_skip(reader, "+-");
        if (!digits_skip(reader))
            return unexpected(reader, "a digit");
    }
    reader->event = JSON_NUMBER;
    reader->text.size = 0;
    text_add(&reader->text, from, (size_t)(reader->at - from));
    return text_ok(&reader->text) ? OK : why_memory(reader->why);
}

static enum err word_read(struct json_reader *reader)
{
    static const struct {
        const char *word;
        enum json_event event;
    } words[] = {{"true", JSON_TRUE},
                 {"false", JSON_FALSE},
                 {"null", JSON_NULL},
                 {"NaN", JSON_NAN},
                 {"Infinity", JSON_NAN}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (word_skip(reader, words[i].word)) {
            reader->event = words[i].event;
            return OK;
        }
    }
    return unexpected(reader, "a value");
}

static enum err open_read(struct json_reader *reader, bool object)
{
    if (reader->depth == JSON_READER_DEPTH_MAX)
        return json_reader_fail(reader, "more than %d brackets inside each other",
                                JSON_READER_DEPTH_MAX);
    reader->at++;
    reader->in_object[reader->depth++] = object;
    reader->begun = false;
    reader->event = object ? JSON_OBJECT : JSON_ARRAY;
    return OK;
}

static enum err value_read(struct json_reader *reader)
{
    reader->line = reader->line_at;
    reader->started = true;
    reader->keyed = false;
    reader->begun = true;
    if (reader->at == reader->end)
        return unexpected(reader, "a value");
    char c = *reader->at;
    if (c == '{' || c == '[')
        return open_read(reader, c == '{');
    if (c == '"') {
        reader->event = JSON_STRING;
        return string_read(reader);
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return number_read(reader);
    return word_read(reader);
}

static enum err key_read(struct json_reader *reader)
{
    if (reader->at == reader->end || *reader->at != '"')
        return unexpected(reader, "a key in quotes");
    reader->line = reader->line_at;
    unsigned long line = reader->line;
    enum err err = string_read(reader);
    if (err)
        return err;
    space_skip(reader);
    if (reader->at == reader->end || *reader->at != ':')
        return unexpected(reader, "a colon after a key");
    reader->at++;
    reader->line = line;
    reader->keyed = true;
    reader->begun = true;
    reader->event = JSON_KEY;
    return OK;
}

enum err json_reader_next(struct json_reader *reader)
{
    space_skip(reader);
    if (reader->depth == 0) {
        if (!reader->started)
            return value_read(reader);
        reader->line = reader->line_at;
        if (reader->at < reader->end)
            return unexpected(reader, "the end of the file");
        reader->event = JSON_END;
        return OK;
    }
    if (reader->keyed)
        return value_read(reader);
    bool object = reader->in_object[reader->depth - 1];
    if (reader->at < reader->end && *reader->at == (object ? '}' : ']')) {
        reader->line = reader->line_at;
        reader->at++;
        reader->depth--;
        reader->begun = true;
        reader->event = object ? JSON_OBJECT_END : JSON_ARRAY_END;
        return OK;
    }
    if (reader->begun) {
        if (reader->at == reader->end || *reader->at != ',')
            return unexpected(reader, object ? "a comma or }" : "a comma or ]");
        reader->at++;
        space_skip(reader);
    }
    return object ? key_read(reader) : value_read(reader);
}

bool json_reader_more(struct json_reader *reader, enum err *err)
{
    if (!*err)
        *err = json_reader_next(reader);
    return !*err && reader->event != JSON_OBJECT_END && reader->event != JSON_ARRAY_END;
}

enum err json_reader_skip(struct json_reader *reader)
{
    if (reader->event != JSON_OBJECT && reader->event != JSON_ARRAY)
        return OK;
    int outside = reader->depth - 1;
    while (reader->depth > outside) {
        enum err err = json_reader_next(reader);
        if (err)
            return err;
    }
    return OK;
}

bool json_reader_is(const struct json_reader *reader, const char *text)
{
    size_t size = strlen(text);
    return reader->text.size == size && memcmp(reader->text.data, text, size) == 0;
}

enum err json_reader_expect(struct json_reader *reader, enum json_event event, const char *what)
{
    enum err err = json_reader_next(reader);
    if (!err && reader->event != event)
        err = json_reader_fail(reader, "%s should be %s", what,
                               event == JSON_OBJECT   ? "an object"
                               : event == JSON_ARRAY  ? "an array"
                               : event == JSON_STRING ? "a string"
                                                      : "a number");
    return err;
}

enum err json_reader_bool(struct json_reader *reader, const char *what, bool *value)
{
    enum err err = json_reader_next(reader);
    if (err)
        return err;
    if (reader->event != JSON_TRUE && reader->event != JSON_FALSE)
        return json_reader_fail(reader, "%s should be true or false", what);
    *value = reader->event == JSON_TRUE;
    return OK;
}
