#pragma once
/* members_impl: what the files of members share.
 *
 *   members.c          opening, joining, leaving, the step
 *   members_meeting.c  the other members and newcomers: meetings and deaths
 *   members_post.c     messages to be sent
 *
 * One thread at a time uses all of it, except `woken`. */

#include <stdatomic.h>

#include "base/list.h"
#include "ripc/message/poll.h"
#include "sst/council/council.h"
#include "sst/members/members.h"

/* A process that has a row of the table, or is about to get one. */
struct acquaintance {
    ripc_id id; /* 0: none */
    uint64_t nonce;
    bool installed;       /* a member of the view; otherwise we are meeting it */
    bool offered;         /* we have made our introduction */
    bool told;            /* the council knows the outcome of the meeting */
    bool done;            /* both sides have taken the other's introduction */
    bool dead;            /* the council knows of its death, ... */
    bool silent;          /* ... which is not certain ... */
    bool held;            /* ... and not reported to the table yet */
    int64_t silent_at;    /* when we noticed that it cannot be reached */
    uint64_t encounter;   /* our number for the meeting */
    uint64_t heard;       /* the peer's number of the introduction that we took, or 0 */
    uint64_t incarnation; /* of the peer's binding of its id; 0 until the peer introduced itself */
    int64_t since;        /* when we began to meet it */
    int64_t say_at;       /* when to send our introduction again */
    struct introduction introduction; /* ours, for this peer */
};

/* An introduction that arrived before the council asked for the meeting. */
struct early {
    ripc_id from; /* 0: none */
    uint64_t nonce;
    uint32_t row_to;
    uint64_t encounter;
    uint64_t heard;
    bool done;
    uint64_t incarnation;
    struct introduction introduction;
};

struct members {
    struct ripc *ripc;
    struct ripc_service *service;
    struct members_config config;
    ripc_id group; /* of all members of the table */
    ripc_id seat;  /* id that a process binds while it founds the table */
    struct council council;
    struct acquaintance rows[SST_ROWS_MAX];
    struct early early[SST_ROWS_MAX]; /* by the sender's row */

    struct list letters; /* for peers that cannot receive them yet */
    unsigned letter_count;

    bool grouped;                  /* we are in the group */
    bool group_empty;              /* our JOIN found no process in the group */
    bool is_left;                  /* reported by the council */
    bool expelled;                 /* reported by the council; the table knows */
    int refused;                   /* status reported by the council ... */
    char reason[COUNCIL_TEXT_MAX]; /* ... and its reason */
    int64_t tick_at;               /* when the council wants to be called */
    int64_t tell_at;               /* when to look for strangers in the group; only a leader does */

    members_observer *observer;
    void *observer_argument;
    members_gone *gone; /* or NULL */
    void *gone_argument;
    uint64_t strange; /* messages that did not even reach the council */
    /* Copies of the counters for other threads. Stored relaxed after each step, and before the
     * council sends a message, so that its receiver sees itself counted. */
    _Atomic uint64_t refused_shown, strange_shown;
    _Atomic bool woken; /* set by members_wake from any thread; see service_await */
};

/* ---- members_post.c ---- */

/* Sends the message now, or as soon as the peer can receive it; drops it after a while, as any
 * message may be lost. `to` may be the group. Returns 0, or an error if it cannot even try. */
int post_send(struct members *members, ripc_id to, const uint8_t *bytes, size_t size);

/* Tries to send waiting messages again. Returns how many were sent. */
int post_flush(struct members *members);
void post_drop(struct members *members);

/* When the oldest waiting message expires. */
int64_t post_due(const struct members *members);

/* ---- members_meeting.c ---- */

/* For the council: begin and undo a meeting. */
void acquaintance_meet(struct members *members, uint32_t row, ripc_id id, uint64_t nonce);
void acquaintance_part(struct members *members, uint32_t row, uint64_t nonce);
void acquaintances_install(struct members *members, const struct view *view);

/* Handles a COUNCIL_MEET. */
void acquaintance_hear(struct members *members, ripc_id from,
                       const struct council_message *message);

/* Makes offers, sends introductions, gives up old meetings. Returns the number of actions. */
int acquaintances_work(struct members *members, int64_t now);
int64_t acquaintances_due(const struct members *members);

/* Tells the council and the table which of them have died. Returns how many. */
int acquaintances_bury(struct members *members);

/* Is there a silent member that the table was not told of yet? It may turn out to have ended. */
bool acquaintances_hold(const struct members *members);

/* Reports silent members to the table, after a while and if we belong to the majority. Returns how
 * many. */
int acquaintances_release(struct members *members, int64_t now);
