#pragma once
/* decision: one server's part in deciding which roster the next view has (Paxos, one decision for
 * each epoch). A state machine without clock, memory and output: its caller sends messages, and
 * makes durable what a comment calls durable.
 *
 * A proposer draws a ballot and asks all servers for their *promise* to accept no lower one. When a
 * quorum of the present view has promised, it *proposes* a roster: the one that was accepted with
 * the highest ballot, if a promise mentions any, otherwise its own. When a quorum has *accepted*
 * it, it is decided. Servers answer only when their promise or acceptance is durable.
 *
 * Ballots of round 0 belong to the first server of a view: it may propose without asking, once,
 * because no lower ballot exists. So a view that the first server changes takes one round.
 *
 * Answers may be collected on their way: the votes of several servers are a set, and of the
 * accepted rosters only the one with the highest ballot counts. */

#include <stdbool.h>
#include <stdint.h>

#include "services/store/view/roster.h"

/* The round in the upper half, the proposer's number plus 1 in the lower half; 0: none. */
typedef uint64_t view_ballot;

enum decision_phase {
    DECISION_RESTS,
    DECISION_ASKS,     /* has asked for promises */
    DECISION_PROPOSES, /* has proposed a roster */
};

struct decision {
    uint32_t server; /* this one */
    uint64_t disk;   /* its own */
    /* Durable. */
    struct roster *view;   /* the view that this server is in; never NULL */
    view_ballot promised;  /* it accepts no lower ballot for the next view */
    view_ballot accepted;  /* with this ballot it accepted ... */
    struct roster *roster; /* ... this roster; void if `accepted` is 0 */
    /* The proposer; lost with the process. */
    enum decision_phase phase;
    view_ballot ballot;
    view_ballot found;       /* the highest ballot that a promise mentioned; 0: none */
    struct roster *proposal; /* DECISION_ASKS: void unless `found`. DECISION_PROPOSES: proposed */
    uint64_t *votes;         /* servers that have promised, or accepted; bitset_words(count) */
};

/* Forgets the proposer's state, as at a start of the process. */
void decision_init(struct decision *decision);

/* ---- every server ---- */

/* A proposer asks for a promise about the view of that epoch. True: this server promises; when
 * `promised` is durable, it answers with `accepted` and `roster`. */
bool decision_promise(struct decision *decision, uint32_t epoch, view_ballot ballot);
/* A proposer proposes a roster. True: this server accepts; it answers when `promised`, `accepted`
 * and `roster` are durable. */
bool decision_accept(struct decision *decision, view_ballot ballot, const struct roster *roster);
/* That roster was decided. True: it is later than the present view, and `view` is that roster now;
 * the server acts in the new view when this is durable. The roster may be any later one: a server
 * that was away misses views. */
bool decision_install(struct decision *decision, const struct roster *roster);

/* ---- the proposer ---- */

/* May this server propose in round 0? */
bool decision_is_first(const struct decision *decision);
/* Each of these starts with a new ballot, which is higher than all that this server has seen. It
 * votes for itself, so what is durable has changed: the message goes out when that is done, or
 * a process that starts again could use the same ballot for another roster. The server must be one
 * that may vote. The first asks for promises, the second proposes in round 0 at once. */
void decision_ask(struct decision *decision);
void decision_propose_first(struct decision *decision, const struct roster *roster);
/* Promises of a set of servers for the view of that epoch; `found` and `roster` are the highest
 * ballot that they have accepted, and its roster. True: with these there is a quorum. */
bool decision_promised(struct decision *decision, uint32_t epoch, view_ballot ballot,
                       const uint64_t *servers, view_ballot found, const struct roster *roster);
/* After that: proposes the roster that was found, or if there is none, this one. Votes for it, too.
 * False: this server has promised more to another proposer in the meantime. */
bool decision_propose(struct decision *decision, const struct roster *roster);
/* These servers have accepted the proposal of that ballot. True: with these it is decided. */
bool decision_accepted(struct decision *decision, uint32_t epoch, view_ballot ballot,
                       const uint64_t *servers);
/* Is there a quorum? Also true for a single server that votes for itself alone. */
bool decision_has_quorum(const struct decision *decision);
