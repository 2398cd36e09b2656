#pragma once
/* claim: claims as bytes, in a file and in a datagram, with a seal at the end.
 *
 * The seal is a keyed hash when there is a key, and a plain one otherwise: then
 * it only tells a whole record from half of one. Reading copies, checks every
 * field and never looks beyond the size it was given. Everything here is a pure
 * function of its arguments; numbers travel with the highest byte first. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ripc/names/names.h"

#define CLAIM_KEY_SIZE 32

/* What makes and checks seals. */
struct seal {
    bool keyed;
    uint8_t key[CLAIM_KEY_SIZE]; /* not the cluster's own: derived, for names only */
};

MUST_CHECK int seal_init(struct seal *seal, const uint8_t *key); /* NULL: no key */
void seal_fini(struct seal *seal);                               /* wipes it */

/* ---- one claim in a file ---- */

#define CLAIM_RECORD_SIZE 96

void claim_record_write(const struct claim *claim, const struct seal *seal,
                        uint8_t out[CLAIM_RECORD_SIZE]);

/* -EPROTO: no record; -EKEYREJECTED: one, but the seal is wrong. */
MUST_CHECK int claim_record_read(struct claim *claim, const struct seal *seal, const uint8_t *data,
                                 size_t size);

/* ---- the name of that file ---- */

#define CLAIM_NAME_SIZE 40 /* with its end */

/* claim.ID of a service, claim.ID.MEMBER of a member of a group, both in 16 hexadecimal digits. */
void claim_name_write(char out[CLAIM_NAME_SIZE], uint64_t id, uint64_t member);
/* False: it is the name of something else. A service's claim has its id as its member. */
bool claim_name_read(const char *name, uint64_t *id, uint64_t *member);

/* ---- datagrams ---- */

enum datagram_kind {
    DATAGRAM_QUERY = 1, /* who has `query` (0: anything)? The claims are the asker's own. */
    DATAGRAM_PROBE,     /* the one claim is about to be made: does anybody mind? */
    DATAGRAM_CLAIM,     /* the claims hold */
    DATAGRAM_WITHDRAW,  /* they do no more */
};

#define DATAGRAM_CLAIMS_MAX 16
#define DATAGRAM_SIZE_MAX   (40 + DATAGRAM_CLAIMS_MAX * 72 + 16)

struct datagram {
    enum datagram_kind kind;
    uint64_t domain; /* domain_hash of its name */
    uint64_t sender; /* random, of one open name service: its own words come back to it */
    uint64_t time;   /* the wall's, in nanoseconds: with a key, old ones are not believed */
    uint64_t query;  /* the id of a QUERY or PROBE */
    unsigned count;
    struct claim claims[DATAGRAM_CLAIMS_MAX];
};

#define DATAGRAM_OTHER_DOMAIN 1

uint64_t domain_hash(const char *domain);

/* Returns the size. */
size_t datagram_write(const struct datagram *datagram, const struct seal *seal,
                      uint8_t out[DATAGRAM_SIZE_MAX]);

/* 0, or DATAGRAM_OTHER_DOMAIN if it is not of `domain` (nothing more is read then), -EPROTO,
 * -EKEYREJECTED. */
MUST_CHECK int datagram_read(struct datagram *datagram, uint64_t domain, const struct seal *seal,
                             const uint8_t *data, size_t size);

/* ---- comparing ---- */

/* Everything but the process id. */
bool claim_equal(const struct claim *one, const struct claim *other);

/* Could this have been read from bytes? What a caller passes to be announced must. */
bool claim_is_sound(const struct claim *claim);
