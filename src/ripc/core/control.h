#pragma once
/* control: what two contexts say over their lifeline. Pure codecs.
 *
 * A pipe is named by the number that its sender gave it; it is unique within
 * the sender's context for good. */

#include <stdint.h>

#include "transport/lifeline/lifeline.h"
#include "transport/transport.h"

enum control_kind {
    CONTROL_OPEN = 1,      /* sender: a pipe, with the transport's offer */
    CONTROL_ANSWER,        /* receiver: taken (with the transport's answer) or not */
    CONTROL_CLOSE,         /* sender: nothing more will come on the pipe */
    CONTROL_GONE,          /* receiver: nobody takes from the pipe any more */
    CONTROL_CANCEL,        /* sender: forget the operation `number` of the pipe, acknowledge it */
    CONTROL_WITHDRAW,      /* give up the return buffer `number` */
    CONTROL_WITHDRAWN,     /* done; status: 0, or -EALREADY if it was used */
    CONTROL_GRANT_ASK,     /* show me the memory of grant `number`; from: a service of mine */
    CONTROL_GRANT_ANSWER,  /* memory and rights, or status */
    CONTROL_GRANT_REVOKE,  /* forget grant `number` */
    CONTROL_GRANT_REVOKED, /* forgotten */
    CONTROL_COPY,          /* I cannot read item `item` of operation `number`: put it where I can */
    CONTROL_COPIED,        /* here it is, or status */
    CONTROL_KIND_END,
};

#define CONTROL_NAME_MAX 16

/* The fields of all kinds; each kind carries those its line above speaks of,
 * and zeroes for the rest. */
struct control_words {
    enum control_kind kind;
    uint64_t pipe;
    uint64_t from; /* services */
    uint64_t to;
    uint64_t number;
    uint32_t item;
    uint32_t rights;
    int32_t status;
    char transport[CONTROL_NAME_MAX]; /* ends in a zero */
    struct remote_memory memory;
    struct parcel parcel; /* descriptors included */
};

/* The parcel's descriptors are lent to the control message. */
void control_write(struct control *control, const struct control_words *words);

/* What a peer says of an outcome, as a status: its words cannot pass for those
 * that a call of ours has for itself (not yet, too late, wrong use). */
int control_status(int64_t status);

/* -EPROTO if it does not parse. The descriptors move into the parcel: call
 * parcel_fini on it in any case. */
int control_read(struct control *control, struct control_words *words);
