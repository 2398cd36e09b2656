/* index: a crit-bit tree for each group (D. J. Bernstein's name; Morrison's PATRICIA, JACM 1968).
 *
 * A key is read as a sequence of 9 bits for each byte: a bit that is 1, because the byte exists,
 * then the byte's own bits, the highest first. Only zeros follow the last byte. So no key is the
 * beginning of another one, whatever bytes they contain, and the order of these sequences is the
 * order of the keys: memcmp, then the size.
 *
 * The position of a bit is 16 times the number of its byte, plus 0 for the bit that says that the
 * byte exists, or 1 to 8. An inner node has the position of the first bit in which the keys below
 * it differ. All keys below child[0] have a 0 there, and all below child[1] have a 1. Positions
 * grow on every path from the root, so a path has at most 9 * 250 + 1 inner nodes.
 *
 * The first byte of a block tells an inner node from an entry. The reference has no bit for that,
 * so that it reaches all of 32 GiB. */
#include "services/store/index/index.h"

#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "base/compare.h"
#include "base/hash.h"

#define POSITION_NONE UINT32_MAX /* the keys are equal */

struct index_group {
    uint64_t digest;
    uint32_t root;  /* a node or an entry; 0: the group is empty */
    uint32_t count; /* entries */
};

struct index_node {
    uint8_t kind; /* 0 */
    uint16_t position;
    uint32_t child[2]; /* nodes or entries */
};

static_assert(sizeof(struct index_group) == INDEX_GROUP_SIZE, "the header states it");
static_assert(offsetof(struct index_entry, kind) == 0 && offsetof(struct index_node, kind) == 0,
              "the first byte of a block tells what it is");
static_assert(offsetof(struct index_entry, key) + INDEX_KEY_SIZE_MAX <= BLOCKS_SIZE_MAX,
              "every entry fits into a block");
/* A tree with n entries has n - 1 inner nodes. */
static_assert(offsetof(struct index_entry, key) + (BLOCKS_UNIT - 1) + 16 <= INDEX_OVERHEAD_MAX &&
                  sizeof(struct index_node) <= 16,
              "the memory for a key is bounded");

static struct index_group *group_at(const struct index *index, uint32_t group)
{
    assert(group < index->group_count);
    return &index->groups[group];
}

/* NULL if the reference is to an entry. */
static struct index_node *node_at(const struct index *index, uint32_t reference)
{
    void *block = blocks_at(&index->blocks, reference);
    return *(const uint8_t *)block ? NULL : block;
}

static uint32_t entry_size(uint32_t key_size)
{
    return (uint32_t)offsetof(struct index_entry, key) + key_size;
}

static uint32_t bit_at(struct index_key key, uint32_t position)
{
    uint32_t byte = position >> 4;
    uint32_t bits = byte < key.size ? 0x100u | key.bytes[byte] : 0;
    return bits >> (8 - (position & 15)) & 1;
}

/* The position of the first bit in which two keys differ. */
static uint32_t differ(struct index_key one, struct index_key other)
{
    uint32_t size = least_u32(one.size, other.size), byte = 0;
    while (byte + 8 <= size && hash_word(one.bytes + byte) == hash_word(other.bytes + byte))
        byte += 8;
    while (byte < size && one.bytes[byte] == other.bytes[byte])
        byte++;
    if (byte < size) {
        uint32_t bits = one.bytes[byte] ^ other.bytes[byte];
        return byte << 4 | ((uint32_t)__builtin_clz(bits) - 23); /* 1 if the highest of 8 bits */
    }
    return one.size == other.size ? POSITION_NONE : byte << 4;
}

static bool key_begins(struct index_key key, struct index_key prefix)
{
    return key.size >= prefix.size &&
           (!prefix.size || !memcmp(key.bytes, prefix.bytes, prefix.size));
}

static uint64_t entry_hash(const struct index_entry *entry)
{
    if (entry->kind != INDEX_VALUE)
        return 0;
    uint64_t hash = hash_bytes(entry->key, entry->key_size);
    return hash_mix(hash_mix(hash ^ entry->version) + entry->kind);
}

/* The entry at the end of the key's path. Of all entries, it has the longest beginning in common
 * with the key. The tree is not empty. */
static struct index_entry *nearest(const struct index *index, uint32_t root, struct index_key key)
{
    const struct index_node *node;
    while ((node = node_at(index, root)))
        root = node->child[bit_at(key, node->position)];
    return blocks_at(&index->blocks, root);
}

/* The first entry below a reference. */
static struct index_entry *first_below(const struct index *index, uint32_t reference)
{
    const struct index_node *node;
    while ((node = node_at(index, reference)))
        reference = node->child[0];
    return blocks_at(&index->blocks, reference);
}

bool index_init(struct index *index, void *memory, uint64_t size, uint32_t group_count)
{
    uint64_t groups_size = (uint64_t)group_count * sizeof(struct index_group);
    if (size < groups_size + BLOCKS_UNIT)
        return false;
    *index = (struct index){.groups = memory, .group_count = group_count};
    blocks_init(&index->blocks, (uint8_t *)memory + groups_size, size - groups_size);
    return true;
}

void index_clear(struct index *index)
{
    uint64_t size = index->blocks.unit_count * BLOCKS_UNIT;
    memset(index->groups, 0, index->group_count * sizeof *index->groups);
    index->count = 0;
    blocks_init(&index->blocks, index->blocks.memory, size);
}

struct index_entry *index_find(const struct index *index, uint32_t group, struct index_key key)
{
    uint32_t root = group_at(index, group)->root;
    assert(key.size <= INDEX_KEY_SIZE_MAX);
    if (!root)
        return NULL;
    struct index_entry *entry = nearest(index, root, key);
    return entry->key_size == key.size && key_begins(index_key_of(entry), key) ? entry : NULL;
}

/* A new entry outside the tree; 0 if the region is full. */
static uint32_t entry_make(struct index *index, struct index_key key, uint64_t version,
                           enum index_kind kind)
{
    uint32_t reference = blocks_take(&index->blocks, entry_size(key.size));
    if (!reference)
        return 0;
    struct index_entry *entry = blocks_at(&index->blocks, reference);
    *entry = (struct index_entry){
        .kind = (uint8_t)kind, .key_size = (uint8_t)key.size, .version = version};
    if (key.size)
        memcpy(entry->key, key.bytes, key.size);
    return reference;
}

/* Puts a node above the subtree whose keys agree with the new key up to `position`. */
static void graft(struct index *index, uint32_t *slot, struct index_key key, uint32_t position,
                  uint32_t entry, uint32_t reference)
{
    struct index_node *node;
    while ((node = node_at(index, *slot)) && node->position < position)
        slot = &node->child[bit_at(key, node->position)];
    uint32_t side = bit_at(key, position);
    node = blocks_at(&index->blocks, reference);
    *node = (struct index_node){.position = (uint16_t)position};
    node->child[side] = entry;
    node->child[!side] = *slot;
    *slot = reference;
}

struct index_entry *index_insert(struct index *index, uint32_t group, struct index_key key,
                                 uint64_t version, enum index_kind kind, bool *is_new)
{
    struct index_group *tree = group_at(index, group);
    uint32_t position = POSITION_NONE;
    assert(key.size <= INDEX_KEY_SIZE_MAX && (kind == INDEX_VALUE || kind == INDEX_TOMBSTONE));
    *is_new = false;
    if (tree->root) {
        struct index_entry *near = nearest(index, tree->root, key);
        position = differ(key, index_key_of(near));
        if (position == POSITION_NONE)
            return near;
    }
    uint32_t reference = entry_make(index, key, version, kind);
    if (!reference)
        return NULL;
    if (tree->root) {
        uint32_t node = blocks_take(&index->blocks, sizeof(struct index_node));
        if (!node) {
            blocks_give(&index->blocks, reference, entry_size(key.size));
            return NULL;
        }
        graft(index, &tree->root, key, position, reference, node);
    } else {
        tree->root = reference;
    }
    struct index_entry *entry = blocks_at(&index->blocks, reference);
    tree->digest += entry_hash(entry);
    tree->count++;
    index->count++;
    *is_new = true;
    return entry;
}

void index_change(struct index *index, uint32_t group, struct index_entry *entry, uint64_t version,
                  enum index_kind kind)
{
    struct index_group *tree = group_at(index, group);
    assert(kind == INDEX_VALUE || kind == INDEX_TOMBSTONE);
    tree->digest -= entry_hash(entry);
    entry->version = version;
    entry->kind = (uint8_t)kind;
    tree->digest += entry_hash(entry);
}

void index_remove(struct index *index, uint32_t group, struct index_entry *entry)
{
    struct index_group *tree = group_at(index, group);
    struct index_key key = index_key_of(entry);
    uint32_t *slot = &tree->root, *above = NULL; /* `above` refers to the node that has `slot` */
    struct index_node *node, *parent = NULL;
    assert(tree->root);
    while ((node = node_at(index, *slot))) {
        above = slot;
        parent = node;
        slot = &node->child[bit_at(key, node->position)];
    }
    uint32_t reference = *slot;
    assert(blocks_at(&index->blocks, reference) == (void *)entry);
    tree->digest -= entry_hash(entry);
    tree->count--;
    index->count--;
    if (parent) { /* the sibling takes the place of the parent */
        uint32_t parent_reference = *above;
        *above = parent->child[slot == &parent->child[0]];
        blocks_give(&index->blocks, parent_reference, sizeof *parent);
    } else {
        tree->root = 0;
        assert(!tree->digest); /* else a version was changed without index_change */
    }
    blocks_give(&index->blocks, reference, entry_size(key.size));
}

/* The first entry whose key is not before `key`, or, if `is_past`, comes after it. */
static struct index_entry *seek(const struct index *index, uint32_t root, struct index_key key,
                                bool is_past)
{
    uint32_t position = differ(key, index_key_of(nearest(index, root, key)));
    uint32_t right = 0; /* the nearest subtree whose keys all come after the path */
    const struct index_node *node;
    while ((node = node_at(index, root)) && node->position < position) {
        uint32_t side = bit_at(key, node->position);
        if (!side)
            right = node->child[1];
        root = node->child[side];
    }
    /* The keys below `root` agree with the key up to the position, and differ there. So all of
     * them come before it, or all come after it. */
    if (position != POSITION_NONE)
        is_past = bit_at(key, position);
    if (is_past)
        root = right;
    return root ? first_below(index, root) : NULL;
}

struct index_entry *index_next(const struct index *index, uint32_t group,
                               const struct index_key *after, struct index_key prefix)
{
    uint32_t root = group_at(index, group)->root;
    struct index_entry *entry;
    assert(prefix.size <= INDEX_KEY_SIZE_MAX && (!after || after->size <= INDEX_KEY_SIZE_MAX));
    if (!root)
        return NULL;
    uint32_t position = after ? differ(*after, prefix) : 0;
    if (after && (position == POSITION_NONE || bit_at(*after, position)))
        entry = seek(index, root, *after, true);
    else /* the first key that can begin with the prefix is the prefix itself */
        entry = seek(index, root, prefix, false);
    return entry && key_begins(index_key_of(entry), prefix) ? entry : NULL;
}

bool index_drop(struct index *index, uint32_t group, uint32_t most)
{
    const struct index_group *tree = group_at(index, group);
    for (; most && tree->root; most--)
        index_remove(index, group, first_below(index, tree->root));
    return !tree->root;
}

uint32_t index_count(const struct index *index, uint32_t group)
{
    return group_at(index, group)->count;
}

uint64_t index_digest(const struct index *index, uint32_t group)
{
    return group_at(index, group)->digest;
}

/* Adds what is below a reference to `sum` and `*size`, the bytes of its blocks. Returns the first
 * entry. */
static const struct index_entry *subtree_check(const struct index *index, uint32_t reference,
                                               uint32_t position_min, struct index_group *sum,
                                               uint64_t *size)
{
    const struct index_node *node = node_at(index, reference);
    if (!node) {
        const struct index_entry *entry = blocks_at(&index->blocks, reference);
        assert(entry->kind == INDEX_VALUE || entry->kind == INDEX_TOMBSTONE);
        assert(entry->key_size <= INDEX_KEY_SIZE_MAX);
        sum->digest += entry_hash(entry);
        sum->count++;
        *size += blocks_round(entry_size(entry->key_size));
        return entry;
    }
    uint32_t position = node->position;
    assert(position >= position_min && (position & 15) <= 8);
    *size += blocks_round(sizeof *node);
    const struct index_entry *first = subtree_check(index, node->child[0], position + 1, sum, size);
    const struct index_entry *second =
        subtree_check(index, node->child[1], position + 1, sum, size);
    /* All keys below a child agree up to a later position, so one key stands for all of them. */
    assert(differ(index_key_of(first), index_key_of(second)) == position);
    assert(bit_at(index_key_of(second), position));
    return first;
}

void index_check(const struct index *index)
{
    uint64_t count = 0, size = 0;
    for (uint32_t group = 0; group < index->group_count; group++) {
        const struct index_group *tree = group_at(index, group);
        struct index_group sum = {0};
        if (tree->root)
            subtree_check(index, tree->root, 0, &sum, &size);
        assert(sum.digest == tree->digest && sum.count == tree->count);
        count += sum.count;
    }
    assert(count == index->count && size == index->blocks.used);
    blocks_check(&index->blocks);
}
