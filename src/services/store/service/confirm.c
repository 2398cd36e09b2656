/* confirm: a server that leads may tell what it has only if it still leads. It asks all other
 * keepers of its custody whether they act in the same view. If so, no other server has been made
 * the leader, since that takes the report of at least one of them in a later view.
 *
 * One round of questions serves all requests that came before it began. With each answer comes a
 * lease (lease.c), and as long as these last, no questions are needed. */
#include "services/store/planted.h"
#include "services/store/service/store_impl.h"

static uint32_t other_keepers(const struct group *group, uint32_t at)
{
    uint32_t keeper = group->replica.custody.keepers[at];
    return keeper == group->store->here ? WEFT_NOBODY : keeper;
}

static void say(struct group *group, weft_server server, enum letter_kind kind, uint64_t round)
{
    struct letter *letter = group->store->out;
    letter->kind = kind;
    letter->epoch = group->replica.epoch;
    letter->group = group->number;
    letter->round = round;
    letter->lease = kind == LETTER_CONFIRMED ? lease_give(group->store, server) : 0;
    mail_send(group->store, server, letter);
}

static void round_begin(struct group *group)
{
    group->round++;
    group->asked_at = weft_clock(group->store->self);
}

static void ask_all(struct group *group)
{
    for (uint32_t i = 0; i < group->replica.custody.keeper_count; i++) {
        uint32_t keeper = other_keepers(group, i);
        if (keeper != WEFT_NOBODY && group->rounds[i] < group->round)
            say(group, keeper, LETTER_CONFIRM, group->round);
    }
}

/* Have all others answered the present round? Then begins the next one if it is wanted. */
static void look(struct group *group)
{
    while (group->confirmed < group->wanted) {
        for (uint32_t i = 0; i < group->replica.custody.keeper_count; i++) {
            if (other_keepers(group, i) != WEFT_NOBODY && group->rounds[i] < group->round)
                return;
        }
        group->confirmed = group->round;
        if (group->confirmed < group->wanted) {
            round_begin(group);
            ask_all(group);
        }
    }
}

/* Begins another round, or lets it follow the one that is under way. Returns its number. */
static uint64_t want(struct group *group)
{
    bool under_way = group->confirmed < group->round;
    group->wanted = group->round + 1;
    if (!under_way) {
        round_begin(group);
        ask_all(group);
    }
    return group->wanted;
}

bool confirm_holds(struct group *group)
{
    struct store *store = group->store;
    int64_t left = lease_left(group), now = weft_now(store->self), before = store->read_at;
    bool ends_soon = left <= store->lease / 2, is_used = left > 0 || now - before < store->lease;
    store->read_at = now;
    if (ends_soon && is_used && group->confirmed == group->round)
        (void)want(group);
    return left > 0 || STORE_HAS(MINORITY_SERVES);
}

uint64_t confirm_ask(struct group *group)
{
    uint64_t next = group->round + 1; /* it begins after the value was found */
    if (confirm_holds(group))
        return group->confirmed;
    if (group->wanted < next)
        (void)want(group);
    look(group);
    return next;
}

void confirm_asked(struct group *group, uint32_t from, const struct letter *letter)
{
    if (letter->epoch == group->replica.epoch || STORE_HAS(VIEW_UNCHECKED))
        say(group, from, LETTER_CONFIRMED, letter->round);
}

void confirm_heard(struct group *group, uint32_t from, const struct letter *letter)
{
    const struct custody *custody = &group->replica.custody;
    if (letter->epoch != group->replica.epoch && !STORE_HAS(VIEW_UNCHECKED))
        return;
    for (uint32_t i = 0; i < custody->keeper_count; i++) {
        if (custody->keepers[i] == from && letter->round > group->rounds[i])
            group->rounds[i] = letter->round;
    }
    if (letter->round == group->round)
        lease_take(group, from, letter->lease);
    uint64_t before = group->confirmed;
    look(group);
    if (group->confirmed != before)
        group_look(group);
}

void confirm_tick(struct group *group)
{
    if (group->confirmed < group->round)
        ask_all(group);
}

void confirm_keepers_changed(struct group *group)
{
    memset(group->rounds, 0, sizeof group->rounds);
    confirm_tick(group);
}

void confirm_forget(struct group *group)
{
    memset(group->rounds, 0, sizeof group->rounds);
    group->confirmed = group->wanted = group->round;
}
