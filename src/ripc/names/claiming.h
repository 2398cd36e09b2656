#pragma once
/* claiming: decides what to send next, and when, to claim an id or to ask for one, among peers that
 * may lose datagrams, answer late or not at all. Pure: the caller passes in what it received and
 * how much time has passed, and does the sending.
 *
 *   probing --no objection to any probe--> claimed, sent twice --a rival--> asserted again
 *   probing --an objection that remains when a probe is over--> lost
 *
 * The claim of a group member has no rivals and needs no probes. */

#include "ripc/names/names_impl.h"

/* State of one claim; all zeroes before claiming_start. */
struct claiming {
    bool probing;
    uint64_t objector; /* the context that holds the id, or probes for it with priority; 0: none so
                        * far */
    unsigned said;     /* number of probes or claims sent */
    nsec assert_at;    /* do not assert before this */
    nsec assert_wait;
};

enum claiming_act {
    CLAIMING_PROBE,  /* send a probe: we are about to claim the id */
    CLAIMING_CLAIM,  /* the id is ours: send the claim */
    CLAIMING_REPEAT, /* send the claim once more; no further wait */
    CLAIMING_LOST,   /* give the claim up */
};

void claiming_start(struct claiming *claiming, const struct names_tuning *tuning, bool group);

/* Returns what to do now. Call it at the start, and when the wait that it returned last is over.
 * Sets `wait` for CLAIMING_PROBE and CLAIMING_CLAIM; it must then be called again. */
enum claiming_act claiming_next(struct claiming *claiming, const struct names_tuning *tuning,
                                nsec *wait);

/* Claims at once instead of waiting for objections to a probe. Returns CLAIMING_CLAIM. */
enum claiming_act claiming_hurry(struct claiming *claiming, const struct names_tuning *tuning,
                                 nsec *wait);

/* The address of our claim has changed: claiming_next sends it twice again. */
void claiming_renew(struct claiming *claiming);

/* While we probe, another context reports that it holds the id. */
void claiming_objected(struct claiming *claiming, const struct claim *other);

/* Another context probes for the id. Returns true if we have priority and must object. */
bool claiming_probed(struct claiming *claiming, const struct claim *own, const struct claim *other);

/* Another context has withdrawn its claim. */
void claiming_withdrawn(struct claiming *claiming, const struct claim *other);

/* Another context claims our id, at time `said` of its wall clock; `now` is the time of our wall
 * clock. Returns true if we must give the id up. */
bool claiming_yields(const struct claim *own, const struct claim *other, uint64_t now,
                     uint64_t said, bool keyed);

/* May we assert our claim again now? Call claiming_asserted after doing so. */
bool claiming_may_assert(const struct claiming *claiming, nsec now);
void claiming_asserted(struct claiming *claiming, const struct names_tuning *tuning, nsec now);

/* A question; all zeroes before the first time. */
struct name_question {
    unsigned sends;
    bool answered;
};

/* Send the question now, and call this again after the returned time. NSEC_NEVER: stop asking. */
nsec asking_next(struct name_question *asking, const struct names_tuning *tuning);
