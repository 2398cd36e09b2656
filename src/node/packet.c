#include "node/packet.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "keyspace/keyspace.h"

enum { AT_KIND = 1, AT_SIZE = 6, AT_DESTINATION = 12, AT_IDENTITY = 32, AT_CHECK = 36 };

/* The header as five words, least significant byte first: read once, then decoded in registers. */
struct header {
    uint64_t words[PACKET_HEADER_SIZE / 8];
};

static struct header header_load(const uint8_t *bytes)
{
    struct header header;
    for (unsigned i = 0; i < PACKET_HEADER_SIZE / 8; i++)
        header.words[i] = hash_word(bytes + 8 * i);
    return header;
}

static uint64_t rotated(uint64_t word, unsigned by)
{
    return word << by | word >> (64 - by);
}

/* The check of the header without its two hop bytes and the check itself. The products do not
 * depend on each other; as the factors are odd, a changed word always changes the sum. But the
 * highest bits of all words have the same weight in it, so two flipped ones would cancel out:
 * `turned`, in which they have different places, tells them apart. */
static uint32_t header_check(const struct header *header)
{
    const uint64_t *words = header->words;
    uint64_t sum = (words[0] & 0xffff0000ffffffffu) * 0x9e3779b97f4a7c15u +
                   words[1] * 0xbf58476d1ce4e5b9u + words[2] * 0x94d049bb133111ebu +
                   words[3] * 0xd6e8feb86659fd93u + (words[4] & 0xffffffffu) * 0xa0761d6478bd642fu;
    uint64_t turned = rotated(words[1], 11) ^ rotated(words[2], 23) ^ rotated(words[3], 41);
    return (uint32_t)(hash_mix(sum ^ turned) >> 32);
}

/* The number at that byte of a word, stored most significant byte first. */
static uint16_t word_u16(uint64_t word, unsigned at)
{
    return __builtin_bswap16((uint16_t)(word >> 8 * at));
}

static uint32_t word_u32(uint64_t word, unsigned at)
{
    return __builtin_bswap32((uint32_t)(word >> 8 * at));
}

static void put_u16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    put_u16(at, (uint16_t)(value >> 16));
    put_u16(at + 2, (uint16_t)value);
}

void packet_seal(struct packet *packet)
{
    assert(packet->size >= PACKET_HEADER_SIZE && packet->size <= PACKET_SIZE_MAX);
    assert(packet->stored >= PACKET_HEADER_SIZE && packet->stored <= packet->size);
    uint8_t *bytes = packet->bytes;
    bytes[0] = PACKET_VERSION;
    bytes[AT_KIND] =
        (uint8_t)(packet->kind | packet->priority << PACKET_PRIORITY_SHIFT |
                  (packet->stream ? PACKET_STREAM : 0) | (packet->marked ? PACKET_MARKED : 0));
    put_u16(bytes + 2, packet->service);
    packet_seal_hops(packet);
    put_u16(bytes + AT_SIZE, (uint16_t)(packet->size - PACKET_HEADER_SIZE));
    put_u32(bytes + 8, packet->source);
    if (packet->kind != PACKET_TO_KEY) {
        memset(bytes + AT_DESTINATION, 0, KEY_SIZE);
        if (packet->kind == PACKET_TO_SERVER)
            put_u32(bytes + AT_DESTINATION, packet->server);
    }
    put_u32(bytes + AT_IDENTITY, packet->identity);
    struct header header = header_load(bytes);
    put_u32(bytes + AT_CHECK, header_check(&header));
    packet->read = true;
    packet->changed = false;
}

bool packet_read(struct packet *packet, uint32_t most)
{
    if (packet->stored < PACKET_HEADER_SIZE)
        return false;
    struct header header = header_load(packet->bytes);
    const uint64_t *words = header.words;
    uint8_t kind = (uint8_t)(words[0] >> 8);
    uint32_t size = PACKET_HEADER_SIZE + (uint32_t)word_u16(words[0], AT_SIZE);
    if ((uint8_t)words[0] != PACKET_VERSION || word_u32(words[4], 4) != header_check(&header) ||
        size > PACKET_SIZE_MAX || size > most || (kind & PACKET_KIND_MASK) > PACKET_TO_KEY ||
        kind >= 2 * PACKET_MARKED || (kind & (PACKET_MARKED | PACKET_STREAM)) == PACKET_MARKED)
        return false;
    packet->size = size;
    packet->stored = packet->stored < size ? packet->stored : size;
    packet->kind = kind & PACKET_KIND_MASK;
    packet->priority = kind >> PACKET_PRIORITY_SHIFT & PACKET_PRIORITY_MAX;
    packet->stream = kind & PACKET_STREAM;
    packet->marked = kind & PACKET_MARKED;
    packet->service = word_u16(words[0], 2);
    packet->hops_left = (uint8_t)(words[0] >> 32);
    packet->hops = (uint8_t)(words[0] >> 40);
    packet->source = word_u32(words[1], 0);
    packet->server = word_u32(words[1], 4);
    packet->route = __builtin_bswap64(words[3]);
    packet->identity = word_u32(words[4], 0);
    packet->read = true;
    packet->changed = packet->unseen = false;
    return true;
}

void packet_set_key(struct packet *packet, const struct key *key)
{
    packet->kind = PACKET_TO_KEY;
    memcpy(packet->bytes + AT_DESTINATION, key->bytes, KEY_SIZE);
    packet->route = key_route(key);
}

void packet_get_key(const struct packet *packet, struct key *key)
{
    assert(packet->kind == PACKET_TO_KEY);
    memcpy(key->bytes, packet->bytes + AT_DESTINATION, KEY_SIZE);
}

void packet_set_server(struct packet *packet, node_id server)
{
    packet->kind = PACKET_TO_SERVER;
    packet->server = server;
    packet->route = 0;
}

/* ---- a pool of equal buffers ---- */

struct buffers {
    struct packet_pool pool;
    struct packet *free;
    uint32_t stored; /* bytes that a packet has room for */
    uint32_t count;
    uint8_t *memory; /* owned */
};

/* A packet and its bytes are adjacent: the header is on the next cache line. */
static size_t buffer_size(uint32_t stored)
{
    return (sizeof(struct packet) + 63) / 64 * 64 + ((size_t)stored + 63) / 64 * 64;
}

static struct packet *buffers_take(struct packet_pool *pool, uint32_t stored)
{
    struct buffers *buffers = (struct buffers *)pool;
    struct packet *packet = buffers->free;
    if (!packet || stored > buffers->stored)
        return NULL;
    buffers->free = packet->next;
    pool->live++;
    *packet = (struct packet){
        .pool = pool,
        .bytes = (uint8_t *)packet + (sizeof(struct packet) + 63) / 64 * 64,
        .stored = stored,
        .size = stored,
        .port_in = PORT_NONE,
    };
    return packet;
}

static void buffers_give(struct packet_pool *pool, struct packet *packet)
{
    struct buffers *buffers = (struct buffers *)pool;
    assert(pool->live > 0);
    pool->live--;
    packet->next = buffers->free; /* reuse the last one first: it is still in the cache */
    buffers->free = packet;
}

static const struct packet_pool_ops buffers_ops = {buffers_take, buffers_give};

struct packet_pool *packet_pool_open(uint32_t count, uint32_t stored)
{
    struct buffers *buffers = calloc(1, sizeof *buffers);
    if (!buffers)
        return NULL;
    *buffers = (struct buffers){{&buffers_ops, 0, 0}, NULL, stored, count, NULL};
    buffers->memory = aligned_alloc(64, count * buffer_size(stored));
    if (!buffers->memory) {
        free(buffers);
        return NULL;
    }
    for (uint32_t i = count; i-- > 0;) {
        struct packet *packet =
            (struct packet *)(void *)(buffers->memory + i * buffer_size(stored));
        packet->next = buffers->free;
        buffers->free = packet;
    }
    return &buffers->pool;
}

void packet_pool_close(struct packet_pool *pool)
{
    struct buffers *buffers = (struct buffers *)pool;
    assert(pool->live == pool->abandoned);
    free(buffers->memory);
    free(buffers);
}
