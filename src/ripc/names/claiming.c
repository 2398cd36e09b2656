#include "ripc/names/claiming.h"

#include "base/check.h"

#define ASK_SENDS       3
#define GRACE_NSEC      (5 * NSEC_PER_SEC) /* time in which a new binding yields to an older one */
#define ASSERT_WAIT_MAX (8 * NSEC_PER_SEC)
#define ASSERT_CALM     (30 * NSEC_PER_SEC) /* a rival that was silent this long counts as new */

void claiming_start(struct claiming *claiming, const struct names_tuning *tuning, bool group)
{
    *claiming = (struct claiming){.probing = !group, .assert_wait = tuning->assert_wait};
}

enum claiming_act claiming_hurry(struct claiming *claiming, const struct names_tuning *tuning,
                                 nsec *wait)
{
    claiming->probing = false;
    claiming->said = 1;
    *wait = tuning->repeat_wait;
    return CLAIMING_CLAIM;
}

enum claiming_act claiming_next(struct claiming *claiming, const struct names_tuning *tuning,
                                nsec *wait)
{
    if (claiming->objector) {
        assert(claiming->probing);
        return CLAIMING_LOST;
    }
    if (claiming->probing && claiming->said < tuning->probe_count) {
        claiming->said++;
        *wait = tuning->probe_wait;
        return CLAIMING_PROBE;
    }
    if (claiming->probing || claiming->said == 0)
        return claiming_hurry(claiming, tuning, wait);
    claiming->said++;
    return CLAIMING_REPEAT;
}

void claiming_renew(struct claiming *claiming)
{
    if (!claiming->probing)
        claiming->said = 0;
}

void claiming_objected(struct claiming *claiming, const struct claim *other)
{
    assert(claiming->probing);
    claiming->objector = other->address.context;
}

bool claiming_probed(struct claiming *claiming, const struct claim *own, const struct claim *other)
{
    if (!claiming->probing || own->address.context <= other->address.context)
        return true;
    claiming_objected(claiming, other);
    return false;
}

void claiming_withdrawn(struct claiming *claiming, const struct claim *other)
{
    if (claiming->objector == other->address.context)
        claiming->objector = 0; /* the objector has withdrawn its claim */
}

static bool claim_is_newer(const struct claim *claim, const struct claim *than)
{
    if (claim->incarnation != than->incarnation)
        return claim->incarnation > than->incarnation;
    return claim->address.context < than->address.context;
}

bool claiming_yields(const struct claim *own, const struct claim *other, uint64_t now,
                     uint64_t said, bool keyed)
{
    if (own->member != other->member)
        return false; /* one claims a group, the other a service: neither has precedence */
    bool newer = claim_is_newer(own, other);
    /* The age of the newer binding, by the clock of its claimant. */
    uint64_t age = newer ? now - own->incarnation : said - other->incarnation;
    if (age < GRACE_NSEC)
        return newer;
    return keyed && !newer;
}

bool claiming_may_assert(const struct claiming *claiming, nsec now)
{
    return now >= claiming->assert_at;
}

void claiming_asserted(struct claiming *claiming, const struct names_tuning *tuning, nsec now)
{
    if (now > claiming->assert_at + ASSERT_CALM)
        claiming->assert_wait = tuning->assert_wait;
    claiming->assert_at = now + claiming->assert_wait;
    if (claiming->assert_wait < ASSERT_WAIT_MAX)
        claiming->assert_wait *= 2;
}

nsec asking_next(struct name_question *asking, const struct names_tuning *tuning)
{
    if (asking->answered || asking->sends == ASK_SENDS)
        return NSEC_NEVER;
    /* The waits are 1, 4 and 1 times ask_wait. The first repetition comes soon, because the
     * question may be lost; the second late, because the asked process may just be starting. */
    return tuning->ask_wait * (asking->sends++ == 1 ? 4 : 1);
}
