/* claim: see claim.h. The formats are drawn in docs/protocol.md. */
#include "ripc/names/claim.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/check.h"

#define SEAL_SIZE   16
#define CLAIM_SIZE  72
#define HEADER_SIZE 40
#define VERSION     1

#define CLAIM_GROUP 1 /* the only flag of a claim */

static const uint8_t record_magic[4] = {'W', 'F', 'C', 'L'};
static const uint8_t datagram_magic[4] = {'W', 'F', 'N', 'M'};

static_assert(CLAIM_RECORD_SIZE == 8 + CLAIM_SIZE + SEAL_SIZE, "the sum of its parts");
/* NOLINTNEXTLINE(misc-redundant-expression): both sides shall be the same sum */
static_assert(DATAGRAM_SIZE_MAX == HEADER_SIZE + DATAGRAM_CLAIMS_MAX * CLAIM_SIZE + SEAL_SIZE,
              "the sum of its parts");
static_assert(CLAIM_KEY_SIZE == crypto_generichash_KEYBYTES, "what the hash takes");

int seal_init(struct seal *seal, const uint8_t *key)
{
    static const uint8_t purpose[] = "weft names";
    *seal = (struct seal){.keyed = key != NULL};
    if (sodium_init() < 0)
        return -ENOSYS;
    /* A separate key, so that none of these seals is valid as a proof in another protocol. */
    if (key)
        crypto_generichash(seal->key, sizeof seal->key, purpose, sizeof purpose - 1, key,
                           CLAIM_KEY_SIZE);
    return 0;
}

void seal_fini(struct seal *seal)
{
    sodium_memzero(seal, sizeof *seal);
}

static void seal_write(const struct seal *seal, const uint8_t *data, size_t size, uint8_t *out)
{
    int result = crypto_generichash(out, SEAL_SIZE, data, size, seal->keyed ? seal->key : NULL,
                                    seal->keyed ? sizeof seal->key : 0);
    assert(result == 0);
}

static bool seal_matches(const struct seal *seal, const uint8_t *data, size_t size)
{
    uint8_t expected[SEAL_SIZE];
    seal_write(seal, data, size, expected);
    return sodium_memcmp(expected, data + size, SEAL_SIZE) == 0;
}

/* AF_INET6 has a different number on every system. */
static const struct {
    uint8_t family, wire;
} families[] = {{0, 0}, {ADDRESS_FABRIC, 1}, {AF_INET, 4}, {AF_INET6, 6}};

enum { FAMILY_COUNT = sizeof families / sizeof *families };

static uint8_t family_to_wire(uint8_t family)
{
    for (unsigned i = 0; i < FAMILY_COUNT; i++)
        if (families[i].family == family)
            return families[i].wire;
    return 0;
}

static bool family_of_wire(uint8_t wire, uint8_t *family)
{
    for (unsigned i = 0; i < FAMILY_COUNT; i++) {
        *family = families[i].family;
        if (families[i].wire == wire)
            return true;
    }
    return false;
}

static void write_claim(struct writer *out, const struct claim *claim)
{
    write_u64(out, claim->id);
    write_u64(out, claim->member);
    write_u64(out, claim->incarnation);
    write_u64(out, claim->address.context);
    write_bytes(out, claim->address.host, 16);
    write_u8(out, family_to_wire(claim->address.family));
    write_u8(out, claim->group ? CLAIM_GROUP : 0);
    write_u16(out, claim->address.port);
    write_u32(out, (uint32_t)claim->pid);
    write_bytes(out, claim->address.address, 16);
}

static bool address_is_sound(const struct context_address *address)
{
    static const uint8_t zero[16];
    switch (address->family) {
    case AF_INET:
        return address->port != 0 && memcmp(address->address + 4, zero, 12) == 0;
    case AF_INET6:
        return address->port != 0;
    case ADDRESS_FABRIC:
        return address->port == 0 && memcmp(address->address, zero, 16) != 0;
    case 0: /* this host only */
        return address->port == 0 && memcmp(address->address, zero, 16) == 0;
    default:
        return false;
    }
}

bool claim_is_sound(const struct claim *claim)
{
    return claim->id && claim->member && claim->incarnation && claim->address.context &&
           (claim->member != claim->id) == claim->group && claim->pid >= 0 &&
           address_is_sound(&claim->address);
}

/* Accepts only what write_claim can have written, so that each claim has one form. */
static bool read_claim(struct reader *in, struct claim *claim)
{
    *claim = (struct claim){.id = read_u64(in)};
    claim->member = read_u64(in);
    claim->incarnation = read_u64(in);
    claim->address.context = read_u64(in);
    read_copy(in, claim->address.host, sizeof claim->address.host);
    uint8_t family = read_u8(in), flags = read_u8(in);
    claim->address.port = read_u16(in);
    uint32_t pid = read_u32(in);
    read_copy(in, claim->address.address, sizeof claim->address.address);
    if (in->failed || pid > INT32_MAX || flags > CLAIM_GROUP ||
        !family_of_wire(family, &claim->address.family))
        return false;
    claim->group = flags == CLAIM_GROUP;
    claim->pid = (int)pid;
    return claim_is_sound(claim);
}

void claim_record_write(const struct claim *claim, const struct seal *seal,
                        uint8_t out[CLAIM_RECORD_SIZE])
{
    struct writer writer = writer_make(out, CLAIM_RECORD_SIZE - SEAL_SIZE);
    write_bytes(&writer, record_magic, sizeof record_magic);
    write_u32(&writer, VERSION);
    write_claim(&writer, claim);
    assert(!writer.failed && writer.left == 0);
    seal_write(seal, out, CLAIM_RECORD_SIZE - SEAL_SIZE, out + CLAIM_RECORD_SIZE - SEAL_SIZE);
}

int claim_record_read(struct claim *claim, const struct seal *seal, const uint8_t *data,
                      size_t size)
{
    if (size != CLAIM_RECORD_SIZE || memcmp(data, record_magic, sizeof record_magic) != 0)
        return -EPROTO;
    struct reader in = reader_make(data + sizeof record_magic, size - sizeof record_magic);
    if (read_u32(&in) != VERSION)
        return -EPROTO;
    if (!seal_matches(seal, data, size - SEAL_SIZE))
        return seal->keyed ? -EKEYREJECTED : -EPROTO;
    return read_claim(&in, claim) ? 0 : -EPROTO;
}

uint64_t domain_hash(const char *domain)
{
    uint8_t hash[crypto_generichash_BYTES];
    int result =
        crypto_generichash(hash, sizeof hash, (const uint8_t *)domain, strlen(domain), NULL, 0);
    assert(result == 0);
    struct reader in = reader_make(hash, sizeof hash);
    return read_u64(&in);
}

size_t datagram_write(const struct datagram *datagram, const struct seal *seal,
                      uint8_t out[DATAGRAM_SIZE_MAX])
{
    assert(datagram->count <= DATAGRAM_CLAIMS_MAX);
    size_t size = HEADER_SIZE + datagram->count * CLAIM_SIZE;
    struct writer writer = writer_make(out, size);
    write_bytes(&writer, datagram_magic, sizeof datagram_magic);
    write_u8(&writer, VERSION);
    write_u8(&writer, (uint8_t)datagram->kind);
    write_u8(&writer, (uint8_t)datagram->count);
    write_u8(&writer, 0);
    write_u64(&writer, datagram->domain);
    write_u64(&writer, datagram->sender);
    write_u64(&writer, datagram->time);
    write_u64(&writer, datagram->query);
    for (unsigned i = 0; i < datagram->count; i++)
        write_claim(&writer, &datagram->claims[i]);
    assert(!writer.failed && writer.left == 0);
    seal_write(seal, out, size, out + size);
    return size + SEAL_SIZE;
}

static bool datagram_is_sound(const struct datagram *datagram)
{
    switch (datagram->kind) {
    case DATAGRAM_QUERY:
        return true;
    case DATAGRAM_PROBE:
        return datagram->count == 1 && datagram->query == datagram->claims[0].id;
    case DATAGRAM_CLAIM:
    case DATAGRAM_WITHDRAW:
        return datagram->count >= 1 && datagram->query == 0;
    }
    return false;
}

int datagram_read(struct datagram *datagram, uint64_t domain, const struct seal *seal,
                  const uint8_t *data, size_t size)
{
    if (size < HEADER_SIZE + SEAL_SIZE || memcmp(data, datagram_magic, sizeof datagram_magic) != 0)
        return -EPROTO;
    struct reader in = reader_make(data + sizeof datagram_magic, size - sizeof datagram_magic);
    uint8_t version = read_u8(&in), kind = read_u8(&in), count = read_u8(&in);
    uint8_t reserved = read_u8(&in);
    if (version != VERSION || reserved || kind < DATAGRAM_QUERY || kind > DATAGRAM_WITHDRAW ||
        count > DATAGRAM_CLAIMS_MAX || size != HEADER_SIZE + (size_t)count * CLAIM_SIZE + SEAL_SIZE)
        return -EPROTO;
    *datagram = (struct datagram){.kind = (enum datagram_kind)kind, .count = count};
    datagram->domain = read_u64(&in);
    if (datagram->domain != domain)
        return DATAGRAM_OTHER_DOMAIN;
    if (!seal_matches(seal, data, size - SEAL_SIZE))
        return seal->keyed ? -EKEYREJECTED : -EPROTO;
    datagram->sender = read_u64(&in);
    datagram->time = read_u64(&in);
    datagram->query = read_u64(&in);
    for (unsigned i = 0; i < datagram->count; i++)
        if (!read_claim(&in, &datagram->claims[i]))
            return -EPROTO;
    return datagram_is_sound(datagram) ? 0 : -EPROTO;
}

bool claim_equal(const struct claim *one, const struct claim *other)
{
    return one->id == other->id && one->member == other->member && one->group == other->group &&
           one->incarnation == other->incarnation &&
           one->address.context == other->address.context &&
           context_address_equal(&one->address, &other->address) &&
           memcmp(one->address.host, other->address.host, sizeof one->address.host) == 0;
}

void claim_name_write(char out[CLAIM_NAME_SIZE], uint64_t id, uint64_t member)
{
    int size = snprintf(out, CLAIM_NAME_SIZE, "claim.%016" PRIx64, id);
    if (member != id)
        snprintf(out + size, CLAIM_NAME_SIZE - (size_t)size, ".%016" PRIx64, member);
}

/* Sixteen lower-case hexadecimal digits; not 0. */
static bool digits_read(const char *text, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < 16; i++) {
        char c = text[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
            return false;
        *value = *value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return *value != 0;
}

bool claim_name_read(const char *name, uint64_t *id, uint64_t *member)
{
    size_t size = strlen(name);
    if (strncmp(name, "claim.", 6) != 0 || (size != 22 && size != 39) || !digits_read(name + 6, id))
        return false;
    *member = *id;
    return size == 22 || (name[22] == '.' && digits_read(name + 23, member) && *member != *id);
}
