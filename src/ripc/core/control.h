#pragma once
/* control: the messages of two contexts over their lifeline. Pure codecs.
 *
 * A pipe is identified by a number that its sender chose. The number is unique within the sender's
 * context and never reused. */

#include <stdint.h>

#include "transport/lifeline/lifeline.h"
#include "transport/transport.h"

enum control_kind {
    CONTROL_OPEN = 1,      /* sender: opens a pipe, with the transport's offer */
    CONTROL_ANSWER,        /* receiver: accepts the pipe (with the transport's answer) or refuses
                            * it */
    CONTROL_CLOSE,         /* sender: nothing more will come on the pipe */
    CONTROL_GONE,          /* receiver: no longer reads from the pipe; number: frames that it took;
                            * item: acknowledgements that it made */
    CONTROL_CANCEL,        /* sender: drop the operation `number` of the pipe and acknowledge it */
    CONTROL_WITHDRAW,      /* give up the return buffer `number`, which was offered in the frame
                            * memory.address of the pipe; item: 1 if no answer is expected */
    CONTROL_WITHDRAWN,     /* the buffer is given up; status: 0, or -EALREADY if it was used; also
                            * unasked, if the offer was not kept */
    CONTROL_GRANT_ASK,     /* send me the memory of grant `number`; from: a service of mine */
    CONTROL_GRANT_ANSWER,  /* memory and rights, or status */
    CONTROL_GRANT_REVOKE,  /* forget grant `number` */
    CONTROL_GRANT_REVOKED, /* the grant is forgotten */
    CONTROL_COPY,          /* I cannot read item `item` of operation `number`: copy it to where I
                            * can */
    CONTROL_COPIED,        /* the copy, or status */
    CONTROL_NOTICE_ASK,    /* do you have the notice `number` at the id `to`? */
    CONTROL_NOTICE_ANSWER, /* status: 0, or -ENOENT if not; also unasked, after a notification of a
                            * notice that is closed */
    CONTROL_RETIRE, /* receiver: send nothing more on the pipe; item: enum ripc_retire_flag */
    CONTROL_HELD,   /* sender: it sends nothing more; number: frames that it has sent */
    CONTROL_NAME,   /* about a claim; item: an enum names_word; to: its id; from: its member;
                     * number: its incarnation; rights: 1 in a group; status */
    CONTROL_KIND_END,
};

#define CONTROL_NAME_MAX 16

/* The fields of all kinds. A kind uses the fields that its comment above mentions; the others are
 * 0. */
struct control_words {
    enum control_kind kind;
    uint64_t pipe;
    uint64_t from; /* service ids */
    uint64_t to;
    uint64_t number;
    uint32_t item;
    uint32_t rights;
    int32_t status;
    char transport[CONTROL_NAME_MAX]; /* zero-terminated */
    struct remote_memory memory;
    struct parcel parcel; /* with its descriptors */
};

/* The message borrows the parcel's descriptors. */
void control_write(struct control *control, const struct control_words *words);

/* Returns a peer's status as one that may be passed to the program. Values that a call uses for its
 * own state (try again, timed out, invalid use) become -EPROTO. */
int control_status(int64_t status);

/* -EPROTO if the message is malformed. The descriptors move into the parcel: call parcel_fini on it
 * in any case. */
int control_read(struct control *control, struct control_words *words);
