#pragma once
/* claim: claims as bytes, in a file and in a datagram, with a seal at the end.
 *
 * The seal is a keyed hash if there is a key, and a plain hash otherwise; a plain hash only detects
 * incomplete records. Reading copies the data, checks every field and never reads beyond the given
 * size. All functions are pure; numbers are big-endian. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ripc/names/names.h"

#define CLAIM_KEY_SIZE 32

/* Makes and checks seals. */
struct seal {
    bool keyed;
    uint8_t key[CLAIM_KEY_SIZE]; /* derived from the cluster's key, for names only */
};

MUST_CHECK int seal_init(struct seal *seal, const uint8_t *key); /* NULL: no key */
void seal_fini(struct seal *seal);                               /* wipes it */

/* ---- one claim in a file ---- */

#define CLAIM_RECORD_SIZE 96

void claim_record_write(const struct claim *claim, const struct seal *seal,
                        uint8_t out[CLAIM_RECORD_SIZE]);

/* -EPROTO: not a record; -EKEYREJECTED: a record with a wrong seal. */
MUST_CHECK int claim_record_read(struct claim *claim, const struct seal *seal, const uint8_t *data,
                                 size_t size);

/* ---- the name of that file ---- */

#define CLAIM_NAME_SIZE 40 /* with its terminating 0 */

/* claim.ID for a service, claim.ID.MEMBER for a member of a group; both in 16 hexadecimal
 * digits. */
void claim_name_write(char out[CLAIM_NAME_SIZE], uint64_t id, uint64_t member);
/* False: not the name of a claim. For a claim of a service, the member equals the id. */
bool claim_name_read(const char *name, uint64_t *id, uint64_t *member);

/* ---- datagrams ---- */

enum datagram_kind {
    DATAGRAM_QUERY = 1, /* which processes hold `query` (0: any id)? The claims are the sender's
                         * own. */
    DATAGRAM_PROBE,     /* the sender is about to make this claim; holders object */
    DATAGRAM_CLAIM,     /* the claims are valid */
    DATAGRAM_WITHDRAW,  /* the claims are withdrawn */
};

#define DATAGRAM_CLAIMS_MAX 16
#define DATAGRAM_SIZE_MAX   (40 + DATAGRAM_CLAIMS_MAX * 72 + 16)

struct datagram {
    enum datagram_kind kind;
    uint64_t domain; /* domain_hash of the domain's name */
    uint64_t sender; /* random, per open name service: identifies its own datagrams, which it also
                      * receives */
    uint64_t time;   /* wall clock in nanoseconds; with a key, old datagrams are ignored */
    uint64_t query;  /* the id of a QUERY or PROBE */
    unsigned count;
    struct claim claims[DATAGRAM_CLAIMS_MAX];
};

#define DATAGRAM_OTHER_DOMAIN 1

uint64_t domain_hash(const char *domain);

/* Returns the size. */
size_t datagram_write(const struct datagram *datagram, const struct seal *seal,
                      uint8_t out[DATAGRAM_SIZE_MAX]);

/* Returns 0, DATAGRAM_OTHER_DOMAIN if the datagram is not of `domain` (nothing more is read then),
 * -EPROTO or -EKEYREJECTED. */
MUST_CHECK int datagram_read(struct datagram *datagram, uint64_t domain, const struct seal *seal,
                             const uint8_t *data, size_t size);

/* ---- comparing ---- */

/* Compares everything except the process id. */
bool claim_equal(const struct claim *one, const struct claim *other);

/* True if reading could have returned this claim. Claims passed to be announced must be sound. */
bool claim_is_sound(const struct claim *claim);
