#include "ripc/names/names_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/socket.h"

#define WORD_MAX 64 /* longer than any id or address */

struct names_file_line {
    const char *name; /* of the file */
    unsigned long number;
    char words[4][WORD_MAX + 1];
    unsigned count;
};

struct names_file_entry {
    struct claim claim;
    unsigned long line;
};

/* Blanks, and the carriage return that some systems put at the end of a line. */
static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Splits a line without its comment into fields. */
static int line_split(struct names_file_line *line, const char *at, const char *end,
                      struct why *why)
{
    const char *comment = memchr(at, '#', (size_t)(end - at));
    if (comment)
        end = comment;
    for (line->count = 0; at < end; at++) {
        if (is_blank(*at))
            continue;
        const char *start = at;
        while (at < end && !is_blank(*at))
            at++;
        size_t size = (size_t)(at - start);
        if (size > WORD_MAX || line->count == 4 || memchr(start, '\0', size)) {
            why_set_line(why, line->name, line->number,
                         "expected ID ADDRESS:PORT or ID ADDRESS:PORT MEMBER");
            return -EINVAL;
        }
        memcpy(line->words[line->count], start, size);
        line->words[line->count++][size] = '\0';
    }
    return 0;
}

static int id_read(const struct names_file_line *line, const char *word, uint64_t *id,
                   struct why *why)
{
    char *end;
    bool hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
    const char *digits = hex ? word + 2 : word;
    errno = 0;
    *id = strtoull(digits, &end, hex ? 16 : 10);
    /* strtoull also accepts signs, blanks and a second 0x. */
    bool clean = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") == strlen(digits);
    if (clean && *digits && !*end && !errno && *id)
        return 0;
    why_set_line(why, line->name, line->number,
                 "bad id '%s': expected 1 to 2^64-1, decimal, or hexadecimal after 0x", word);
    return -EINVAL;
}

/* Reads ADDRESS:PORT or [ADDRESS]:PORT; changes the field. */
static int address_read(const struct names_file_line *line, char *word, struct context_address *out,
                        struct why *why)
{
    char shown[WORD_MAX + 1];
    char *colon = strrchr(word, ':'), *address = word;
    struct socket_address parsed;
    strcpy(shown, word);
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    unsigned long port =
        digits && digits <= 5 && !colon[1 + digits] ? strtoul(colon + 1, NULL, 10) : 0;
    bool bracketed = colon && colon - word > 2 && word[0] == '[' && colon[-1] == ']';
    if (bracketed) {
        colon[-1] = '\0';
        address++;
    } else if (colon) {
        *colon = '\0';
    }
    if (!port || port > UINT16_MAX || socket_parse(address, &parsed) < 0 ||
        bracketed != (parsed.storage.ss_family == AF_INET6)) {
        why_set_line(why, line->name, line->number,
                     "bad address '%s': expected for example 10.0.0.1:17701 or [fd00::1]:17701",
                     shown);
        return -EINVAL;
    }
    socket_to_address(&parsed, out);
    out->port = (uint16_t)port;
    return 0;
}

static int entry_read(struct names_file_entry *entry, struct names_file_line *line, struct why *why)
{
    struct claim *claim = &entry->claim;
    *entry = (struct names_file_entry){.line = line->number};
    if (line->count != 2 && line->count != 3) {
        why_set_line(why, line->name, line->number,
                     "expected ID ADDRESS:PORT or ID ADDRESS:PORT MEMBER");
        return -EINVAL;
    }
    int result = id_read(line, line->words[0], &claim->id, why);
    if (result >= 0)
        result = address_read(line, line->words[1], &claim->address, why);
    claim->member = claim->id;
    if (result >= 0 && line->count == 3) {
        claim->group = true;
        result = id_read(line, line->words[2], &claim->member, why);
        if (result >= 0 && claim->member == claim->id) {
            why_set_line(why, line->name, line->number, "a group cannot be its own member");
            result = -EINVAL;
        }
    }
    return result;
}

static int u64_compare(uint64_t one, uint64_t other)
{
    return (one > other) - (one < other);
}

static int entry_compare(const void *left, const void *right)
{
    const struct names_file_entry *one = left, *other = right;
    int by_id = u64_compare(one->claim.id, other->claim.id);
    int by_member = u64_compare(one->claim.member, other->claim.member);
    return by_id ? by_id : by_member ? by_member : u64_compare(one->line, other->line);
}

/* The entries are sorted, so of contradicting entries at least two are adjacent. */
static int entries_check(const struct names_file_entry *entries, size_t count, const char *name,
                         struct why *why)
{
    for (size_t i = 1; i < count; i++) {
        const struct names_file_entry *one = &entries[i - 1], *other = &entries[i];
        if (one->claim.id != other->claim.id)
            continue;
        unsigned long first = one->line < other->line ? one->line : other->line;
        unsigned long second = one->line < other->line ? other->line : one->line;
        if (one->claim.member == other->claim.member)
            why_set_line(why, name, second, "repeats the id of line %lu", first);
        else if (one->claim.group != other->claim.group)
            why_set_line(why, name, second,
                         "the id is a group here and a service in line %lu, or vice versa", first);
        else
            continue;
        return -EINVAL;
    }
    return 0;
}

static int entries_finish(struct names_file *file, struct names_file_entry *entries, size_t count,
                          const char *name, struct why *why)
{
    if (count)
        qsort(entries, count, sizeof *entries, entry_compare);
    int result = entries_check(entries, count, name, why);
    if (result < 0)
        return result;
    file->claims = array_new(count, sizeof *file->claims);
    if (!file->claims)
        return why_fail(why, -ENOMEM, "not enough memory");
    for (size_t i = 0; i < count; i++)
        file->claims[i] = entries[i].claim;
    file->count = count;
    return 0;
}

int names_file_read(struct names_file *file, const char *text, size_t size, const char *name,
                    struct why *why)
{
    const char *at = text, *end = text + size;
    struct names_file_entry *entries = NULL;
    size_t count = 0, capacity = 0;
    struct names_file_line line = {.name = name};
    int result = 0;
    *file = (struct names_file){0};
    for (const char *stop; at < end && result >= 0; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            stop = end;
        line.number++;
        result = line_split(&line, at, stop, why);
        if (result < 0 || line.count == 0)
            continue;
        if (!array_reserve(&entries, &capacity, count + 1, sizeof *entries))
            result = why_fail(why, -ENOMEM, "not enough memory");
        else
            result = entry_read(&entries[count++], &line, why);
    }
    if (result >= 0)
        result = entries_finish(file, entries, count, name, why);
    free(entries);
    return result;
}

void names_file_fini(struct names_file *file)
{
    free(file->claims);
    *file = (struct names_file){0};
}

size_t names_file_find(const struct names_file *file, uint64_t id)
{
    size_t low = 0, high = file->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->claims[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
