#pragma once
/* lifeline_wire: the format of what travels on a lifeline, and the proof of knowing the secret.
 * Pure: no sockets, no state. docs/protocol.md describes the format in tables. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/lifeline/lifeline.h"

#define LIFELINE_VERSION 3

#define CONTROL_HEAD_SIZE  8
#define HELLO_FIXED_SIZE   85 /* without the card */
#define HELLO_SIZE_MAX     (HELLO_FIXED_SIZE + LIFELINE_CARD_MAX)
#define HELLO_CHALLENGE    32
#define HELLO_DIGEST       32
#define LIFELINE_KEY_SIZE  32
#define LIFELINE_FRAME_MAX (CONTROL_HEAD_SIZE + CONTROL_BODY_MAX)

/* Precedes every message. A stream needs the size to separate its messages; the size of a packet
 * must agree with it. */
struct control_head {
    uint16_t kind;
    uint16_t size; /* of the body */
    uint8_t fd_count;
};

void control_head_write(uint8_t out[CONTROL_HEAD_SIZE], const struct control_head *head);
/* -EPROTO: not a valid head, or larger than we accept. */
MUST_CHECK int control_head_read(struct control_head *head, const uint8_t in[CONTROL_HEAD_SIZE]);

/* The kinds of messages before a line is up. */
enum hello_kind {
    HELLO_GREETING = 1,
    HELLO_PROOF,
    HELLO_REFUSAL, /* u16 reason; the same in all versions */
};

enum hello_role { HELLO_CONNECTS = 1, HELLO_LISTENS };

struct lifeline_hello {
    enum hello_role role;
    bool keyed; /* has a secret */
    struct context_address address;
    uint8_t challenge[HELLO_CHALLENGE];
    uint16_t card_size;
    uint8_t card[LIFELINE_CARD_MAX];
};

/* Returns the size. */
size_t greeting_write(const struct lifeline_hello *hello, uint8_t out[HELLO_SIZE_MAX]);
/* -EPROTO: invalid; -EPROTONOSUPPORT: another version. */
MUST_CHECK int greeting_read(struct lifeline_hello *hello, const uint8_t *in, size_t size);

void hello_digest(uint8_t out[HELLO_DIGEST], const uint8_t *bytes, size_t size);

/* The proof that `prover` sends: a hash, keyed with the secret's key (NULL: with zeros), of its
 * role and of both greetings, including challenges and contexts. A peer that echoes our own proof
 * fails, because the role differs. */
void hello_proof(uint8_t out[HELLO_DIGEST], const uint8_t *key, enum hello_role prover,
                 const uint8_t connector[HELLO_DIGEST], const uint8_t listener[HELLO_DIGEST]);
bool hello_proof_equal(const uint8_t one[HELLO_DIGEST], const uint8_t other[HELLO_DIGEST]);

/* Why one side refuses the other. These numbers travel; each corresponds to an error. */
enum hello_refusal {
    REFUSAL_NONSENSE = 1, /* -EPROTO */
    REFUSAL_VERSION,      /* -EPROTONOSUPPORT */
    REFUSAL_KEY,          /* -EKEYREJECTED */
    REFUSAL_OTHER,        /* -EPIPE: not the requested context, or too busy */
};

uint16_t refusal_of_error(int error);
int refusal_error(uint16_t refusal);
