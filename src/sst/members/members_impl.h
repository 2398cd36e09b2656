#pragma once
/* members_impl: what the files of members share.
 *
 *   members.c          opening, joining, leaving, the step
 *   members_meeting.c  whom we know: meetings, and deaths
 *   members_post.c     messages on their way
 *
 * All of it is used by one thread at a time, but `woken`. */

#include <stdatomic.h>

#include "base/list.h"
#include "ripc/message/poll.h"
#include "sst/council/council.h"
#include "sst/members/members.h"

/* Somebody in a row of the table, or about to be. */
struct acquaintance {
    ripc_id id; /* 0: nobody */
    uint64_t nonce;
    bool installed;       /* a member of the view; else we are meeting */
    bool offered;         /* our introduction is made */
    bool told;            /* the council knows how the meeting went */
    bool done;            /* both have taken the other's introduction */
    bool dead;            /* the council knows */
    uint64_t encounter;   /* our name for the meeting */
    uint64_t heard;       /* the peer's encounter, whose introduction we took; or 0 */
    uint64_t incarnation; /* of the peer's binding of its id; 0 until it introduced itself */
    int64_t since;        /* when we began to meet */
    int64_t say_at;       /* when to introduce ourselves again */
    struct introduction introduction; /* ours, to it */
};

/* An introduction that came before we know why. */
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
    ripc_id group; /* of those who are in the table */
    ripc_id seat;  /* of whoever founds it */
    struct council council;
    struct acquaintance rows[SST_ROWS_MAX];
    struct early early[SST_ROWS_MAX]; /* by the row of whom it came from */

    struct list letters; /* to peers that cannot take them yet */
    unsigned letter_count;

    bool grouped;                  /* in the group */
    bool nobody;                   /* our question found nobody in the group */
    bool is_left;                  /* said by the council */
    bool expelled;                 /* said by the council; told to the table */
    int refused;                   /* said by the council, with ... */
    char reason[COUNCIL_TEXT_MAX]; /* ... this */
    int64_t tick_at;               /* when the council wants to be called */

    members_observer *observer;
    void *observer_argument;
    members_gone *gone; /* or NULL */
    void *gone_argument;
    uint64_t strange; /* what did not even reach the council */
    /* What other threads see of the counters; stored relaxed after each step, and before the
     * council speaks, so that its message carries them. */
    _Atomic uint64_t refused_shown, strange_shown;
    _Atomic bool woken; /* by members_wake, any thread; see service_await */
};

/* ---- members_post.c ---- */

/* Sends it now, or as soon as the peer can take it; after a while it is dropped, as any
 * message may be. `to` may be the group. 0, or why it cannot even be tried. */
int post_send(struct members *members, ripc_id to, const uint8_t *bytes, size_t size);

/* Tries again. Returns how many went. */
int post_flush(struct members *members);
void post_drop(struct members *members);

/* When a letter grows too old. */
int64_t post_due(const struct members *members);

/* ---- members_meeting.c ---- */

/* The council's: begin, and undo. */
void acquaintance_meet(struct members *members, uint32_t row, ripc_id id, uint64_t nonce);
void acquaintance_part(struct members *members, uint32_t row, uint64_t nonce);
void acquaintances_install(struct members *members, const struct view *view);

/* A COUNCIL_MEET came. */
void acquaintance_hear(struct members *members, ripc_id from,
                       const struct council_message *message);

/* Makes offers, introduces, gives up. Returns how many things it did. */
int acquaintances_work(struct members *members, int64_t now);
int64_t acquaintances_due(const struct members *members);

/* Who of them has died? Tells the council and the table. Returns how many. */
int acquaintances_bury(struct members *members);
