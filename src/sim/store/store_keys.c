#include "sim/store/store_keys.h"

#include <stdio.h>
#include <string.h>

#include "services/store/service/placement.h"

#define DOUBTS_MAX 8

#define LONG_KEY   3 /* as long as a key may be */
#define SHORT_KEY  9 /* one byte, or few */
#define BINARY_KEY 10

/* Slots whose keys are in the same placement group: that of the key in the slot named. */
static const uint8_t beside[STORE_SLOTS + 1] = {0, 1, 2, 0, 0, 0, 1, 1, 8, 9, 10, 11, STORE_COLD};

static void key_name(struct store_key *key, unsigned index, unsigned attempt)
{
    memset(key->bytes, '-', sizeof key->bytes);
    int size = key->slot == SHORT_KEY
                   ? snprintf(key->bytes, sizeof key->bytes, "%u", index - SHORT_KEY)
                   : snprintf(key->bytes, sizeof key->bytes, "key %u, %u", index, attempt);
    key->bytes[size] = key->slot == BINARY_KEY ? 0 : '-';
    key->size =
        key->slot == LONG_KEY ? sizeof key->bytes : (uint32_t)size + (key->slot == BINARY_KEY);
}

static void key_add(struct store_keys *keys, unsigned slot)
{
    unsigned index = keys->count++, first = beside[slot], attempt = 0;
    struct store_key *key = &keys->keys[index];
    uint32_t group;
    key->slot = slot;
    do {
        key_name(key, index, attempt++);
        group = placement_group(key->bytes, key->size, keys->group_count);
    } while (first != slot && group != keys->groups[first]);
    keys->groups[slot] = group;
    keys->current[slot] = index;
}

void store_keys_init(struct store_keys *keys, uint32_t group_count)
{
    keys->group_count = group_count;
    keys->count = 0;
    for (unsigned slot = 0; slot <= STORE_COLD; slot++)
        key_add(keys, slot);
}

void store_keys_put(struct store_keys *keys, unsigned index)
{
    if (keys->current[STORE_COLD] == index && keys->count < STORE_KEYS_MAX)
        key_add(keys, STORE_COLD);
}

void store_keys_doubt(struct store_keys *keys, unsigned index)
{
    struct store_key *key = &keys->keys[index];
    if (++key->doubts >= DOUBTS_MAX && keys->current[key->slot] == index &&
        keys->count < STORE_KEYS_MAX)
        key_add(keys, key->slot);
}
