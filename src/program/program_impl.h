#pragma once
/* program_impl: an attachment, for the files of this folder.
 *
 *   contact.c   the connection: see contact.h
 *   inbox.c     messages that wait for weft_take
 *   place.c     where a server's socket is
 *   receive.c   what a received message, a lost server and a returned server lead to
 *   wait.c      one thread receives while several wait
 *   program.c   the calls of weft/weft.h
 *
 * The folder store has the calls of weft/store.h, which use those.
 *
 * Each file calls only files above it in this list.
 *
 * Tickets: those of weft_ask are odd, those of weft_post are even. So an answer that comes after
 * its weft_ask timed out is recognised and dropped, and a second answer to a posted request is
 * recognised, too.
 *
 * The monitor protects everything but the constant fields. The thread with `receiving` uses the
 * contact without it only in poll(), for its descriptor. */

#include <weft/weft.h>

#include "base/id_map.h"
#include "base/list.h"
#include "program/contact.h"
#include "program/inbox.h"
#include "transport/fork/owner.h"
#include "transport/wake/monitor.h"

/* One weft_ask, on the stack of its thread. */
struct ask {
    struct list node; /* in `asks` while it is under way */
    uint64_t ticket;
    void *answer;
    size_t room;
    int result; /* size of the answer, or a negative errno */
    bool sent, done;
};

struct weft_attachment {
    struct owner owner;
    struct monitor monitor;
    struct contact contact;
    char *path;          /* of the server's socket; constant, owned */
    bool memory;         /* memory may be shared; constant */
    struct list asks;    /* of weft_ask, sent and not answered */
    struct id_map posts; /* by ticket: the service's number plus one */
    struct inbox inbox;
    uint64_t next_ask, next_post; /* tickets */
    uint64_t reattached;
    nsec retry_at;       /* GONE: when to connect again; GREETING: when to give up */
    nsec retry_wait;     /* the delay before the next attempt; 0: the attachment is up */
    bool receiving;      /* a thread receives for all that wait */
    uint32_t senders;    /* threads that wait for room */
    uint32_t spins_vain; /* polls in a row that found nothing: see wait.c */
    uint32_t spin_rests; /* waits that do not poll yet */
    bool armed_early;    /* the bell was armed before the last request was sent */
    uint32_t looks;      /* calls that did not wait, since the socket was last looked at */
    int epoll_fd; /* of weft_attachment_fd; -1: none. Contains the next two and the contact's */
    int event_fd; /* becomes readable when another thread put a message into the inbox */
    int timer_fd; /* becomes readable at retry_at */
    bool armed;   /* weft_attachment_arm returned 0 */
};

/* Will the next wait poll? */
static inline bool program_polls(const struct weft_attachment *attachment)
{
    return !attachment->spin_rests;
}

/* receive.c */
/* Receives what is there, a batch at most, and connects again if it is time to. Returns whether
 * anything changed. `thorough`: see contact_hear. */
bool program_progress(struct weft_attachment *attachment, bool thorough);
/* The server is gone: ends all requests, and connects again later. */
void program_lose(struct weft_attachment *attachment);
/* Adds the contact's descriptor to the set of weft_attachment_fd, and sets its timer. */
void program_watch(struct weft_attachment *attachment);

/* Makes the descriptor of weft_attachment_fd readable. */
void program_signal(struct weft_attachment *attachment);

/* wait.c */
/* With the monitor held: waits until the condition is met. It is evaluated with the monitor held,
 * and may send. Returns 0, -ETIMEDOUT, or -EAGAIN if the deadline is WEFT_NOW. */
typedef bool program_condition(struct weft_attachment *attachment, void *context);
MUST_CHECK int attachment_wait(struct weft_attachment *attachment, program_condition *is_met,
                               void *context, nsec deadline);
