#pragma once
/* What the parts of views share: views.c (state, disk, timer), propose.c (what is proposed, and
 * when), spread.c (neighbours and waves) and install.c (the view that the server is in). */

#include "services/store/view/news.h"
#include "services/store/view/twin.h"
#include "services/store/view/views.h"

#define PORTS_MOST 64
#define NO_PORT    UINT32_MAX

#define MSEC 1000000LL

struct views_port {
    weft_server neighbour; /* WEFT_NOBODY: the link is not up */
    /* What the neighbour has told. */
    uint64_t run;   /* its process; 0: nothing was heard since the link came up */
    uint32_t heard; /* the number of its last packet */
    uint32_t epoch;
    view_ballot ballot;
    enum decision_phase phase;
    bool is_child; /* this server is its parent in that wave */
    bool complete;
    /* What this server tells. */
    uint32_t number;   /* of the last packet */
    uint32_t asked;    /* the number of the packet that said all that is new */
    bool waits;        /* for an answer */
    bool news;         /* there is something new for it */
    bool answers;      /* it wants an answer */
    int64_t again_at;  /* when to repeat what was not answered */
    int64_t again_for; /* the interval, which grows */
};

/* What spreads at the moment, in the view that the server is in. */
struct wave {
    view_ballot ballot;        /* 0: none */
    enum decision_phase phase; /* DECISION_ASKS or DECISION_PROPOSES */
    uint32_t parent;           /* a port; NO_PORT: this server proposes */
    struct roster *roster;     /* DECISION_PROPOSES: the proposal; DECISION_ASKS: see `found` */
    view_ballot found;         /* the highest ballot that a vote mentions, of `roster`; 0: none */
    uint64_t *votes;           /* that have come, and this server's */
    uint64_t vote;             /* the change that makes this server's vote durable; 0: it is, or
                                * there is none */
    bool told;                 /* all votes so far are under way to the parent, ... */
    bool told_complete;        /* ... and so is that no more will come */
    int64_t tell_at;           /* when to tell them although some are missing */
};

/* Of the operator, about a server. */
struct order {
    enum roster_duty duty;
    int64_t until; /* it holds */
};

/* A membership of this server that has ended. */
struct stay {
    uint32_t from, until; /* views */
};
#define STAYS_MAX 16 /* that are remembered */

struct views {
    struct weft_self *self;
    struct views_settings settings;
    uint64_t founding;
    const struct views_events *events;
    void *owner;
    uint32_t count; /* planned servers */
    bool is_open;
    uint64_t process;     /* names it for neighbours; random */
    uint64_t run;         /* names it in rosters; random, and another one after views_begin_again */
    bool leaves;          /* the wish of this server */
    bool looks, was_read; /* views_look was called; the state was read, */
    int read;             /* with this result */
    bool loses;           /* its disk gets another name when the state was read */
    uint64_t
        naming; /* the change that makes the name durable; 0: it is. It wishes nothing before */
    struct twin twin;
    struct decision decision;
    struct roster
        *entered;      /* the view that the server acts in: decision.view when that is durable */
    uint64_t entering; /* the change that makes it durable; 0: it is */
    struct stay stays[STAYS_MAX]; /* oldest first; durable with decision.view */
    uint32_t stay_count;
    struct roster *former;   /* the view before decision.view, if its epoch is one less */
    view_ballot last_ballot; /* in which decision.view was decided; 0: unknown */
    struct wave wave;
    struct views_port ports[PORTS_MOST];
    uint32_t port_count;
    /* A whole roster that is being fetched, piece by piece. */
    bool fetching;
    struct roster *fetched;
    uint32_t fetched_count; /* entries so far */
    uint32_t fetch_port;
    int64_t fetch_at; /* when to ask again */
    /* Proposing. */
    uint64_t proposing;       /* the change that makes the own vote durable; 0: none is awaited */
    int64_t proposed_until;   /* when the proposal counts as failed */
    int64_t retry_at;         /* before that, no other one */
    int64_t need_since;       /* since when another view is needed; 0: it is not */
    struct view_wish *wishes; /* of other servers, and of this one; run 0: none */
    struct order *orders;
    int64_t *lost; /* since when a server cannot be reached; 0: it can */
    int64_t wish_at;
    uint32_t wish_turn, wish_to;
    struct roster *scratch;
    struct view_news *out, *in; /* the packet that is written, or was read */
    int64_t armed;              /* when the timer fires; 0: it is not set */
    struct views_counts counts;
};

/* ---- install.c ---- */

bool views_may_vote(const struct views *views);
/* decision.view is a later one now. */
void views_install(struct views *views, const struct roster *roster, view_ballot ballot);
void wave_end(struct views *views);

/* ---- spread.c: calls install.c. After it, propose_votes is to be called ---- */

void spread_init(struct views *views);
/* Looks at the links again. */
void spread_look(struct views *views);
/* Begins a wave of this server. */
void spread_begin(struct views *views, view_ballot ballot, enum decision_phase phase);
void spread_news(struct views *views); /* for all neighbours */
/* A change is durable. */
void spread_saved(struct views *views, uint64_t change);
void spread_state(struct views *views, uint32_t port, struct view_news *news);
void spread_fetch(struct views *views, uint32_t port, const struct view_fetch *fetch);
void spread_piece(struct views *views, uint32_t port, const struct view_piece *piece);
/* Sends what is due. */
void spread_flush(struct views *views);
bool spread_is_busy(const struct views *views);

/* ---- propose.c: calls spread.c and install.c ---- */

void propose_open(struct views *views);
void propose_look(struct views *views);
void propose_order(struct views *views, weft_server server, enum roster_duty duty);
void propose_wish(struct views *views, weft_server server, const struct view_wish *wish);
/* Counts the votes that have come for what this server asks or proposes. */
void propose_votes(struct views *views);
void propose_saved(struct views *views, uint64_t change);
void propose_entered(struct views *views);
