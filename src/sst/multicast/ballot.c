#include "sst/multicast/ballot.h"

#include "base/check.h"

/* Makes the proposal after all have promised. */
static struct vote ballot_propose(const struct stand *stands, unsigned count, uint64_t epoch)
{
    struct vote last = {0};
    uint64_t started = 0;
    for (unsigned i = 0; i < count; i++) {
        if (stands[i].started > started)
            started = stands[i].started;
        if (stands[i].vote.epoch > last.epoch)
            last = stands[i].vote;
    }
    bool all_started = last.epoch <= started;
    struct vote fresh = {.epoch = epoch, .closes = started, .cut = UINT64_MAX};
    for (unsigned i = 0; i < count; i++) {
        if (stands[i].joined > started)
            continue; /* it was not a member of that view */
        all_started &= stands[i].started == started;
        if (stands[i].received < fresh.cut)
            fresh.cut = stands[i].received;
        if (stands[i].received > fresh.base)
            fresh.base = stands[i].received;
    }
    if (started == 0)
        fresh.cut = 0;
    last.epoch = epoch;
    return all_started ? fresh : last;
}

enum ballot_move ballot_next(const struct stand *stands, unsigned count, unsigned own,
                             uint64_t epoch, struct vote *vote)
{
    assert(own < count);
    if (stands[own].promised != epoch)
        return BALLOT_PROMISE;
    bool promised = true, voted = true, started = true;
    for (unsigned i = 0; i < count; i++) {
        promised &= stands[i].promised == epoch;
        voted &= stands[i].vote.epoch == epoch;
        started &= stands[i].started == epoch;
    }
    if (stands[own].vote.epoch != epoch) {
        if (own == 0 && promised)
            *vote = ballot_propose(stands, count, epoch);
        else if (own != 0 && stands[0].vote.epoch == epoch)
            *vote = stands[0].vote;
        else
            return BALLOT_WAIT;
        return BALLOT_VOTE;
    }
    if (stands[own].started != epoch)
        return voted ? BALLOT_START : BALLOT_WAIT;
    return started ? BALLOT_RUN : BALLOT_WAIT;
}
