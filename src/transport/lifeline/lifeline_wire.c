#include "transport/lifeline/lifeline_wire.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

#define CONTROL_MAGIC 0x5774     /* "Wt" */
#define HELLO_MAGIC   0x77656674 /* "weft" */

enum { HELLO_FLAG_KEYED = 1, FAMILY_NONE = 0, FAMILY_FABRIC = 1, FAMILY_4 = 4, FAMILY_6 = 6 };

static_assert(HELLO_SIZE_MAX <= CONTROL_BODY_MAX, "a hello fits into a message");
static_assert(crypto_generichash_KEYBYTES == LIFELINE_KEY_SIZE, "the key has libsodium's size");
static_assert(crypto_generichash_BYTES == HELLO_DIGEST, "the hash has libsodium's size");

void control_head_write(uint8_t out[CONTROL_HEAD_SIZE], const struct control_head *head)
{
    struct writer to = writer_make(out, CONTROL_HEAD_SIZE);
    write_u16(&to, CONTROL_MAGIC);
    write_u16(&to, head->kind);
    write_u16(&to, head->size);
    write_u8(&to, head->fd_count);
    write_u8(&to, 0);
    assert(!to.failed);
}

int control_head_read(struct control_head *head, const uint8_t in[CONTROL_HEAD_SIZE])
{
    struct reader from = reader_make(in, CONTROL_HEAD_SIZE);
    uint16_t magic = read_u16(&from);
    head->kind = read_u16(&from);
    head->size = read_u16(&from);
    head->fd_count = read_u8(&from);
    uint8_t reserved = read_u8(&from);
    if (from.failed || magic != CONTROL_MAGIC || reserved || head->size > CONTROL_BODY_MAX ||
        head->fd_count > CONTROL_FD_MAX)
        return -EPROTO;
    return 0;
}

static uint8_t family_write(uint8_t family)
{
    return family == AF_INET          ? FAMILY_4
           : family == AF_INET6       ? FAMILY_6
           : family == ADDRESS_FABRIC ? FAMILY_FABRIC
                                      : FAMILY_NONE;
}

static bool family_read(uint8_t wire, uint8_t *family)
{
    *family = wire == FAMILY_4        ? AF_INET
              : wire == FAMILY_6      ? AF_INET6
              : wire == FAMILY_FABRIC ? ADDRESS_FABRIC
                                      : 0;
    return wire == family_write(*family);
}

size_t greeting_write(const struct lifeline_hello *hello, uint8_t out[HELLO_SIZE_MAX])
{
    struct writer to = writer_make(out, HELLO_SIZE_MAX);
    write_u32(&to, HELLO_MAGIC);
    write_u16(&to, LIFELINE_VERSION);
    write_u8(&to, hello->keyed ? HELLO_FLAG_KEYED : 0);
    write_u8(&to, (uint8_t)hello->role);
    write_u64(&to, hello->address.context);
    write_bytes(&to, hello->address.host, sizeof hello->address.host);
    write_u8(&to, family_write(hello->address.family));
    write_bytes(&to, hello->address.address, sizeof hello->address.address);
    write_u16(&to, hello->address.port);
    write_bytes(&to, hello->challenge, sizeof hello->challenge);
    write_u16(&to, hello->card_size);
    write_bytes(&to, hello->card, hello->card_size);
    assert(!to.failed);
    return HELLO_SIZE_MAX - to.left;
}

int greeting_read(struct lifeline_hello *hello, const uint8_t *in, size_t size)
{
    struct reader from = reader_make(in, size);
    memset(hello, 0, sizeof *hello);
    if (read_u32(&from) != HELLO_MAGIC)
        return -EPROTO;
    uint16_t version = read_u16(&from);
    if (!from.failed && version != LIFELINE_VERSION)
        return -EPROTONOSUPPORT; /* the rest may have another format */
    uint8_t flags = read_u8(&from);
    uint8_t role = read_u8(&from);
    hello->keyed = flags & HELLO_FLAG_KEYED;
    hello->role = (enum hello_role)role;
    hello->address.context = read_u64(&from);
    read_copy(&from, hello->address.host, sizeof hello->address.host);
    bool known = family_read(read_u8(&from), &hello->address.family);
    read_copy(&from, hello->address.address, sizeof hello->address.address);
    hello->address.port = read_u16(&from);
    read_copy(&from, hello->challenge, sizeof hello->challenge);
    hello->card_size = read_u16(&from);
    if (hello->card_size > LIFELINE_CARD_MAX)
        return -EPROTO;
    read_copy(&from, hello->card, hello->card_size);
    if (from.failed || from.left || !known || (flags & ~HELLO_FLAG_KEYED) ||
        (role != HELLO_CONNECTS && role != HELLO_LISTENS) || !hello->address.context)
        return -EPROTO;
    return 0;
}

void hello_digest(uint8_t out[HELLO_DIGEST], const uint8_t *bytes, size_t size)
{
    crypto_generichash(out, HELLO_DIGEST, bytes, size, NULL, 0);
}

void hello_proof(uint8_t out[HELLO_DIGEST], const uint8_t *key, enum hello_role prover,
                 const uint8_t connector[HELLO_DIGEST], const uint8_t listener[HELLO_DIGEST])
{
    static const uint8_t no_key[LIFELINE_KEY_SIZE];
    uint8_t said[16 + 1 + 2 * HELLO_DIGEST];
    struct writer to = writer_make(said, sizeof said);
    write_bytes(&to, "weft lifeline  1", 16);
    write_u8(&to, (uint8_t)prover);
    write_bytes(&to, connector, HELLO_DIGEST);
    write_bytes(&to, listener, HELLO_DIGEST);
    assert(!to.failed && !to.left);
    crypto_generichash(out, HELLO_DIGEST, said, sizeof said, key ? key : no_key, LIFELINE_KEY_SIZE);
}

bool hello_proof_equal(const uint8_t one[HELLO_DIGEST], const uint8_t other[HELLO_DIGEST])
{
    return sodium_memcmp(one, other, HELLO_DIGEST) == 0;
}

uint16_t refusal_of_error(int error)
{
    switch (error) {
    case -EPROTO:
        return REFUSAL_NONSENSE;
    case -EPROTONOSUPPORT:
        return REFUSAL_VERSION;
    case -EKEYREJECTED:
        return REFUSAL_KEY;
    default:
        return REFUSAL_OTHER;
    }
}

int refusal_error(uint16_t refusal)
{
    switch (refusal) {
    case REFUSAL_NONSENSE:
        return -EPROTO;
    case REFUSAL_VERSION:
        return -EPROTONOSUPPORT;
    case REFUSAL_KEY:
        return -EKEYREJECTED;
    default:
        return -EPIPE;
    }
}
