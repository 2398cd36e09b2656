#pragma once
/* store_keys: the keys of a test of the store. At any time a few are in use. Several of these
 * belong to the same placement group, and some have odd names.
 *
 * After some changes with an unknown fate a key is replaced by another one of its group: the more
 * of them may have happened, the less an answer says, and the longer a judge takes.
 *
 * Cold keys are put once, and only read after that. There are many of them, so that a server that
 * learns a group has more to learn than fits into a letter. */

#include "wire/store.h"

#define STORE_SLOTS    12          /* keys in use */
#define STORE_COLD     STORE_SLOTS /* one more: the next cold key */
#define STORE_COUNTERS 3           /* the first slots: the values are numbers */
#define STORE_KEYS_MAX 2048

struct store_key {
    uint32_t size;
    char bytes[STORE_KEY_MAX];
    unsigned slot;
    unsigned doubts; /* changes with an unknown fate */
};

struct store_keys {
    uint32_t group_count; /* of the store */
    uint32_t groups[STORE_SLOTS + 1];
    struct store_key keys[STORE_KEYS_MAX];
    unsigned count;
    unsigned current[STORE_SLOTS + 1]; /* indices of keys */
};

void store_keys_init(struct store_keys *keys, uint32_t group_count);
/* That key was put. */
void store_keys_put(struct store_keys *keys, unsigned index);
/* The fate of a change of that key is unknown. */
void store_keys_doubt(struct store_keys *keys, unsigned index);

static inline bool store_key_counts(const struct store_keys *keys, unsigned index)
{
    return keys->keys[index].slot < STORE_COUNTERS;
}
