#pragma once
/* ballot: how the members of a multicast agree where the messages of their last view end,
 * and where those of the next begin. Pure: what each has told the others in its row goes in,
 * and what to do next comes out.
 *
 * There is a ballot for every epoch of the table, and its voters are exactly the members
 * of that epoch. Each of them goes these steps, and publishes each in its row:
 *
 *   promise   the messages of the view that ran are received no further; what it has
 *             of them, and how it voted last, is final until there is a decision
 *   vote      the member of the lowest row proposes when all have promised; the
 *             others vote for that
 *   start     all have voted: it is decided, and was carried out here
 *   run       all have started: messages of the new view may be received
 *
 * Whoever sees a later epoch leaves the ballot where it is and promises in the next one. What is
 * proposed:
 *
 *   - If every voter that was a member of the last view that somebody started has
 *     started it: that view ends where the first of them has nothing more (`cut`), and
 *     numbers go on above all that any of them has seen (`base`).
 *   - Otherwise somebody has not started it, so nobody runs it; but some may have carried out
 *     the decision that made it, and all of those who survive have voted for that. The
 *     last vote that anybody gave is proposed again.
 *
 * Why all decide the same: a decision of epoch e needs the votes of all members of e, and those
 * were given before any of them promised in a later epoch. Whoever proposes in e' > e waits
 * for the promises of all members of e', so it sees those votes, or later ones, which by
 * induction are for the same; it proposes something else only if all of them have
 * started, and thus have carried out the decision themselves. That needs one
 * member of e in e': if there is none, nobody is left who could disagree. */

#include <stdbool.h>
#include <stdint.h>

struct vote {
    uint64_t epoch;  /* in which it was given; 0: never voted */
    uint64_t closes; /* the view that ends, by its epoch; 0: there was none */
    uint64_t cut;    /* the first of its numbers that nobody delivers */
    uint64_t base;   /* the first number of the next view */
};

/* What a member says of itself. */
struct stand {
    uint64_t joined;   /* the first epoch in which it promised */
    uint64_t promised; /* epochs */
    uint64_t started;
    uint64_t received; /* the first number that it does not have */
    struct vote vote;
};

enum ballot_move {
    BALLOT_WAIT,    /* for the others */
    BALLOT_PROMISE, /* in this epoch */
    BALLOT_VOTE,    /* for *vote */
    BALLOT_START,   /* carry out what was voted for */
    BALLOT_RUN,     /* all have started; comes as long as nothing else does */
};

/* What the member of that index does next; stands are those of all members of the epoch, in the
 * order of their rows. */
enum ballot_move ballot_next(const struct stand *stands, unsigned count, unsigned own,
                             uint64_t epoch, struct vote *vote);
