#pragma once
/* ballot: how the members of a multicast agree where the messages of their last view end, and where
 * those of the next view begin. Pure: its input is what each member has published in its row, its
 * output is what to do next.
 *
 * There is a ballot for every epoch of the table. Its voters are exactly the members of that epoch.
 * Each of them takes these steps, and publishes each step in its row:
 *
 *   promise   the member receives no more messages of the view that ran; what it has received,
 *             and its last vote, are final until there is a decision
 *   vote      the member with the lowest row proposes when all have promised; the others vote
 *             for its proposal
 *   start     all have voted: the proposal is decided, and this member has carried it out
 *   run       all have started: messages of the new view may be received
 *
 * A member that sees a later epoch abandons the ballot and promises in the later one. The proposal
 * is:
 *
 *   - If all voters that were members of the last started view have started it: that view ends
 *     at the first number that one of them has not received (`cut`), and the next view
 *     numbers its messages above everything that any of them has received (`base`).
 *   - Otherwise some member has not started that view, so no member runs it. But some members
 *     may have carried out the decision that made it, and all survivors of those have voted
 *     for it. So the latest vote of any member is proposed again.
 *
 * Why all decide the same: a decision of epoch e needs the votes of all members of e, and they
 * voted before any of them promised in a later epoch. The proposer of epoch e' > e waits for the
 * promises of all members of e', so it sees those votes, or later ones, which by induction are for
 * the same proposal. It proposes something else only if all of them have started, and so have
 * carried out the decision themselves. This needs one member of e in e'; without one, no process is
 * left that could disagree. */

#include <stdbool.h>
#include <stdint.h>

struct vote {
    uint64_t epoch;  /* in which it was given; 0: never voted */
    uint64_t closes; /* the view that ends, by its epoch; 0: there was none */
    uint64_t cut;    /* the first of its numbers that no member delivers */
    uint64_t base;   /* the first number of the next view */
};

/* What a member publishes about itself. */
struct stand {
    uint64_t joined;   /* the first epoch in which it promised */
    uint64_t promised; /* an epoch */
    uint64_t started;
    uint64_t received; /* the first number that it has not received */
    struct vote vote;
};

enum ballot_move {
    BALLOT_WAIT,    /* for the other members */
    BALLOT_PROMISE, /* in this epoch */
    BALLOT_VOTE,    /* for *vote */
    BALLOT_START,   /* carry out what was voted for */
    BALLOT_RUN,     /* all have started; returned as long as nothing else is to be done */
};

/* Returns what the member with index `own` does next. `stands` are those of all members of the
 * epoch, in the order of their rows. */
enum ballot_move ballot_next(const struct stand *stands, unsigned count, unsigned own,
                             uint64_t epoch, struct vote *vote);
