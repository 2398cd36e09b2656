/* key: names of data. */
#include <string.h>

/* The calls of OpenSSL 3 look up the algorithm and allocate memory each time, which takes ten times
 * as long as the hash of a name. The deprecated calls work on our memory only. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "base/check.h"
#include "keyspace/keyspace.h"

static_assert(SHA_DIGEST_LENGTH == KEY_SIZE, "a key has the size of a SHA-1 digest");

uint64_t key_route(const struct key *key)
{
    uint64_t route = 0;
    for (unsigned i = KEY_SIZE - 8; i < KEY_SIZE; i++)
        route = route << 8 | key->bytes[i];
    return route;
}

struct key key_make(uint64_t route)
{
    struct key key = {0};
    for (unsigned i = KEY_SIZE; i-- > KEY_SIZE - 8; route >>= 8)
        key.bytes[i] = (uint8_t)route;
    return key;
}

struct key key_hash(const void *name, uint32_t size)
{
    struct key key;
    SHA_CTX state;
    int done =
        SHA1_Init(&state) && SHA1_Update(&state, name, size) && SHA1_Final(key.bytes, &state);
    assert(done); /* these calls cannot fail: they only work on memory */
    return key;
}

static int digit_value(char digit)
{
    const char *digits = "0123456789abcdef";
    char low = digit >= 'A' && digit <= 'F' ? (char)(digit - 'A' + 'a') : digit;
    const char *at = low ? strchr(digits, low) : NULL;
    return at ? (int)(at - digits) : -1;
}

bool key_parse(struct key *key, const char *text)
{
    size_t size = strnlen(text, 2 * KEY_SIZE + 1);
    if (size == 0 || size > 2 * KEY_SIZE)
        return false;
    struct key read = {0};
    for (size_t i = 0; i < size; i++) {
        int value = digit_value(text[size - 1 - i]);
        if (value < 0)
            return false;
        read.bytes[KEY_SIZE - 1 - i / 2] |= (uint8_t)(value << 4 * (i % 2));
    }
    *key = read;
    return true;
}

void key_text(const struct key *key, char out[2 * KEY_SIZE + 1])
{
    for (unsigned i = 0; i < KEY_SIZE; i++) {
        out[2 * i] = "0123456789abcdef"[key->bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[key->bytes[i] & 15];
    }
    out[2 * KEY_SIZE] = 0;
}
