/* space: see the header. */
#include "services/store/service/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "services/store/service/placement.h"

#define GROUPS_MAX 65536 /* of all spaces */
#define WHY        128

/* ---- reading ---- */

/* A part of the text. */
struct part {
    const char *text;
    size_t size;
};

/* The part until that character, or until the end; `rest` begins behind it. */
static struct part take(struct part *rest, char until)
{
    const char *end = memchr(rest->text, until, rest->size);
    struct part part = {rest->text, end ? (size_t)(end - rest->text) : rest->size};
    size_t taken = part.size + (end != NULL);
    rest->text += taken;
    rest->size -= taken;
    return part;
}

static bool is(struct part part, const char *word)
{
    return part.size == strlen(word) && memcmp(part.text, word, part.size) == 0;
}

static bool begins(struct part part, const char *word)
{
    return part.size > strlen(word) && memcmp(part.text, word, strlen(word)) == 0;
}

/* The number behind a word and '='; 0: it is none from 1 to `most`. */
static uint32_t number(struct part part, uint32_t most)
{
    uint64_t number = 0;
    (void)take(&part, '=');
    for (size_t i = 0; i < part.size; i++) {
        if (part.text[i] < '0' || part.text[i] > '9' || number > most)
            return 0;
        number = number * 10 + (uint64_t)(part.text[i] - '0');
    }
    return number <= most ? (uint32_t)number : 0;
}

static bool complain(char *why, const char *what, struct part part)
{
    (void)snprintf(why, WHY, "%s '%.*s'", what, part.size < 40 ? (int)part.size : 40, part.text);
    return false;
}

static bool word_read(struct key_space *space, struct part word, uint32_t copies_max, char *why)
{
    uint32_t *number_of = NULL, most = 0;
    if (is(word, "memory") || is(word, "disk")) {
        space->in_memory = is(word, "memory");
        return true;
    }
    if (begins(word, "copies=")) {
        number_of = &space->copies;
        most = copies_max;
    } else if (begins(word, "groups=")) {
        number_of = &space->count;
        most = GROUPS_MAX;
    }
    if (number_of)
        *number_of = number(word, most);
    return (number_of && *number_of) || complain(why, "this is not for a key space:", word);
}

static bool space_read(struct key_space *space, struct part text, uint32_t copies_max, char *why)
{
    struct part rest = text, prefix = take(&rest, ':');
    if (prefix.size == 0 || prefix.size > SPACE_PREFIX_MAX)
        return complain(why, "a prefix has 1 to 64 bytes:", text);
    memcpy(space->prefix, prefix.text, prefix.size);
    space->prefix_size = (uint32_t)prefix.size;
    while (rest.size) {
        if (!word_read(space, take(&rest, ':'), copies_max, why))
            return false;
    }
    return true;
}

static bool is_known(const struct spaces *spaces, const struct key_space *space)
{
    for (uint32_t i = 0; i < spaces->count; i++) {
        const struct key_space *other = &spaces->list[i];
        if (other->prefix_size == space->prefix_size &&
            memcmp(other->prefix, space->prefix, space->prefix_size) == 0)
            return true;
    }
    return false;
}

bool spaces_read(struct spaces *spaces, const char *text, uint32_t groups, uint32_t copies,
                 uint32_t copies_max, bool in_memory, char *why)
{
    struct part rest = {text, strlen(text)};
    *spaces = (struct spaces){.count = 1, .group_count = groups};
    spaces->list[0] = (struct key_space){.count = groups, .copies = copies, .in_memory = in_memory};
    while (rest.size) {
        struct part part = take(&rest, ',');
        struct key_space space = {.first = spaces->group_count,
                                  .count = SPACE_GROUPS,
                                  .copies = copies,
                                  .in_memory = in_memory};
        if (!space_read(&space, part, copies_max, why))
            return false;
        if (spaces->count == SPACES_MAX || space.count > GROUPS_MAX - spaces->group_count)
            return complain(why, "too many key spaces or groups, with", part);
        if (is_known(spaces, &space))
            return complain(why, "this key space is there twice:", part);
        spaces->group_count += space.count;
        spaces->list[spaces->count++] = space;
    }
    return true;
}

/* ---- looking up ---- */

static bool has_prefix(const struct key_space *space, const void *key, uint32_t size)
{
    return space->prefix_size <= size && memcmp(space->prefix, key, space->prefix_size) == 0;
}

const struct key_space *spaces_of_key(const struct spaces *spaces, const void *key, uint32_t size)
{
    const struct key_space *found = &spaces->list[0];
    for (uint32_t i = 1; i < spaces->count; i++) {
        const struct key_space *space = &spaces->list[i];
        if (space->prefix_size > found->prefix_size && has_prefix(space, key, size))
            found = space;
    }
    return found;
}

const struct key_space *spaces_of_group(const struct spaces *spaces, uint32_t group)
{
    const struct key_space *space = &spaces->list[0];
    while (group - space->first >= space->count)
        space++;
    return space;
}

uint32_t spaces_group(const struct spaces *spaces, const void *key, uint32_t size)
{
    const struct key_space *space = spaces_of_key(spaces, key, size);
    return space->first + placement_group(key, size, space->count);
}

bool spaces_use_memory(const struct spaces *spaces)
{
    for (uint32_t i = 0; i < spaces->count; i++) {
        if (spaces->list[i].in_memory)
            return true;
    }
    return false;
}

size_t spaces_layout(const struct spaces *spaces, uint8_t *bytes)
{
    struct writer out = writer_make(bytes, SPACES_LAYOUT_MAX);
    write_u32(&out, 1); /* the version of this form */
    write_u32(&out, spaces->count);
    for (uint32_t i = 0; i < spaces->count; i++) {
        const struct key_space *space = &spaces->list[i];
        write_u32(&out, space->prefix_size);
        write_bytes(&out, space->prefix, space->prefix_size);
        write_u32(&out, space->count);
        write_u32(&out, space->in_memory);
    }
    return SPACES_LAYOUT_MAX - out.left;
}

uint64_t spaces_founding(const struct spaces *spaces)
{
    uint64_t founding = 0;
    for (uint32_t i = 0; i < spaces->count; i++)
        founding |= (uint64_t)spaces->list[i].copies << 4 * i;
    return founding;
}

uint32_t spaces_founding_copies(uint64_t founding, uint32_t space)
{
    return founding >> 4 * space & 15;
}
