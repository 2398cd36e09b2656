#pragma once
/* digest: a number of 64 bits that changes if bytes of a segment change. Pure.
 *
 * Bytes are used as 64-bit words, eight to a stripe. Each word is added to a sum, and so is the
 * product of its halves after a key was mixed in; the keys change from stripe to stripe, so words
 * that trade places are noticed. A processor with vector instructions handles two or four words at
 * a time, about as fast as it reads them. The result is the same on every machine. It finds damage,
 * and is no defence against deliberate collisions. */

#include <stddef.h>
#include <stdint.h>

uint64_t digest_bytes(const void *bytes, size_t size);

/* Copies the bytes, and returns the digest of what it wrote, even if another processor changes the
 * source meanwhile: each byte is read once. The two places do not overlap. */
uint64_t digest_copy(void *to, const void *bytes, size_t size);

/* The digest of bytes that come in pieces of any size; the same as that of all of them at once. */
struct digest {
    uint64_t sums[8], keys[8];
    size_t size;      /* of all bytes */
    uint8_t rest[64]; /* the beginning of a stripe */
};

void digest_begin(struct digest *digest);
void digest_add(struct digest *digest, const void *bytes, size_t size);
uint64_t digest_end(const struct digest *digest);

/* The same without vector instructions; a test compares the two. */
uint64_t digest_plain(const void *bytes, size_t size);
