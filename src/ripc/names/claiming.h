#pragma once
/* claiming: what to say next, and when, to claim an id or to ask for one among peers that may not
 * hear, may answer late, or not at all. Pure: the caller says what it heard and how much time has
 * passed, and does the talking.
 *
 *   probing --no objection to any probe--> claimed, said twice --a rival--> asserted again
 *   probing --an objection that stands when a probe is over--> lost
 *
 * The claim of a member of a group has no rivals and needs no probes. */

#include "ripc/names/names_impl.h"

/* Of one claim; all zeroes before claiming_start. */
struct claiming {
    bool probing;
    uint64_t objector; /* the context that has it, or probes with more right; 0: none so far */
    unsigned said;     /* probes, or claims */
    nsec assert_at;    /* not asserted before this */
    nsec assert_wait;
};

enum claiming_act {
    CLAIMING_PROBE,  /* say that we are about to claim it */
    CLAIMING_CLAIM,  /* it is ours: say so */
    CLAIMING_REPEAT, /* say so once more, and wait for nothing */
    CLAIMING_LOST,   /* give it up */
};

void claiming_start(struct claiming *claiming, const struct names_tuning *tuning, bool group);

/* What to do now: at the beginning, and when the wait that it returned last is over. `wait` is
 * set for CLAIMING_PROBE and CLAIMING_CLAIM: then it is called again. */
enum claiming_act claiming_next(struct claiming *claiming, const struct names_tuning *tuning,
                                nsec *wait);

/* In place of waiting for objections to a probe: claims at once. Returns CLAIMING_CLAIM. */
enum claiming_act claiming_hurry(struct claiming *claiming, const struct names_tuning *tuning,
                                 nsec *wait);

/* The address of a claim that is ours has changed: claiming_next says it twice again. */
void claiming_renew(struct claiming *claiming);

/* While we probe another says that it has it. */
void claiming_objected(struct claiming *claiming, const struct claim *other);

/* Somebody else probes for it. True: we have more right, and say so. */
bool claiming_probed(struct claiming *claiming, const struct claim *own, const struct claim *other);

/* Another has given it up. */
void claiming_withdrawn(struct claiming *claiming, const struct claim *other);

/* Another says, at the time `said` of its clock, that it has what is ours; `now` is the time of our
 * clock, both of the wall. Is that the end of ours? */
bool claiming_yields(const struct claim *own, const struct claim *other, uint64_t now,
                     uint64_t said, bool keyed);

/* May we stand by our claim again, now? If we do, claiming_asserted is called. */
bool claiming_may_assert(const struct claiming *claiming, nsec now);
void claiming_asserted(struct claiming *claiming, const struct names_tuning *tuning, nsec now);

/* A question; all zeroes before the first. */
struct name_question {
    unsigned sends;
    bool answered;
};

/* Asks now, and waits so long until it is called again; NSEC_NEVER: it is over, and asks no more.
 */
nsec asking_next(struct name_question *asking, const struct names_tuning *tuning);
