#pragma once
/* space: key spaces. All keys that begin with the prefix of a space belong to it, or to the space
 * with the longest such prefix; all others belong to the first space, which has the empty prefix.
 * Each space has placement groups of its own, so many copies, and a medium. Pure.
 *
 * Operators write
 *
 *     session/:memory:copies=2:groups=64,logs/:copies=1
 *
 * for two spaces besides the first one: their prefixes, then what is other than in that. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPACES_MAX       16 /* so that the copies of all fit into 64 bits */
#define SPACE_PREFIX_MAX 64 /* bytes */
#define SPACE_COPIES_MAX 5  /* the same as in the table of parameters */
#define SPACE_GROUPS     64 /* unless it is said */

struct key_space {
    uint8_t prefix[SPACE_PREFIX_MAX];
    uint32_t prefix_size;
    uint32_t first, count; /* its groups */
    uint32_t copies;
    bool in_memory;
};

struct spaces {
    uint32_t count;
    uint32_t group_count; /* of all */
    struct key_space list[SPACES_MAX];
};

/* The first space has these groups and copies. False: the text makes no sense, or there are too
 * many spaces or groups; `why`, of 128 bytes, says what is wrong. */
bool spaces_read(struct spaces *spaces, const char *text, uint32_t groups, uint32_t copies,
                 uint32_t copies_max, bool in_memory, char *why);
const struct key_space *spaces_of_key(const struct spaces *spaces, const void *key, uint32_t size);
const struct key_space *spaces_of_group(const struct spaces *spaces, uint32_t group);
uint32_t spaces_group(const struct spaces *spaces, const void *key, uint32_t size);
/* Is some key space kept in memory? */
bool spaces_use_memory(const struct spaces *spaces);
/* What decides where keys are, and so can never change: prefixes, groups and media. Copies can.
 * Returns the bytes, at most SPACES_LAYOUT_MAX. */
#define SPACES_LAYOUT_MAX (8 + SPACES_MAX * (SPACE_PREFIX_MAX + 16))
size_t spaces_layout(const struct spaces *spaces, uint8_t *bytes);
/* The copies of all spaces, below 16, in one number. */
uint64_t spaces_founding(const struct spaces *spaces);
uint32_t spaces_founding_copies(uint64_t founding, uint32_t space);
