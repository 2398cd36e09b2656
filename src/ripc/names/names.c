/* names: the front end of the name services. It keeps what all of them reported in one cache, asks
 * all of them, and claims with all of them or with none. services.c lists them.
 *
 * The program is called back last, when the cache is consistent, with a copy of the claim, because
 * the callback may ask, announce, withdraw and forget. A loop over claims that calls back notes a
 * serial number first and skips newer claims, so that claims added by a callback cannot prolong the
 * loop. */
#include "ripc/names/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "ripc/names/cache.h"
#include "ripc/names/names_impl.h"

#define BATCH 64 /* claims that a loop collects before it calls back */

struct names {
    struct poller *poller;
    const struct names_events *events;
    void *owner;
    struct names_tuning tuning;
    struct names_counts counts;
    struct cache cache;
    struct poller_timer sweep; /* not set while no claim in the cache can expire */
    bool adrift;               /* the address in our claims is currently unknown to the fabric */
    int lack;                  /* the last error that names_lacks reported ... */
    nsec lacked_at;            /* ... and when; 0: never */
    const struct claim *over;  /* given up by its holder, while this is reported; else NULL */
    unsigned service_count;
    struct name_service *services[NAMES_SERVICE_MAX];
};

static const struct names_tuning tuning_default = {
    .lifetime = 120 * NSEC_PER_SEC,
    .probe_wait = 20 * NSEC_PER_SEC / 1000,
    .probe_count = 3,
    .repeat_wait = 100 * NSEC_PER_SEC / 1000,
    .ask_wait = 40 * NSEC_PER_SEC / 1000,
    .assert_wait = 250 * NSEC_PER_SEC / 1000,
    .rescan_wait = 200 * NSEC_PER_SEC / 1000,
};

const struct names_tuning *names_tuning(const struct names *names)
{
    return &names->tuning;
}

void names_tune(struct names *names, const struct names_tuning *tuning)
{
    assert(tuning->probe_count >= 1);
    names->tuning = *tuning;
}

struct names_counts *names_counts(struct names *names)
{
    return &names->counts;
}

void names_count(const struct names *names, struct names_counts *counts)
{
    *counts = names->counts;
}

/* ---- opening ---- */

static void names_sweep(void *owner);

struct names *names_new(const struct names_config *config)
{
    assert(config->poller && config->events);
    struct names *names = array_new(1, sizeof *names);
    if (!names)
        return NULL;
    names->poller = config->poller;
    names->events = config->events;
    names->owner = config->owner;
    names->tuning = tuning_default;
    names->sweep = (struct poller_timer){.at = NSEC_NEVER, .fired = names_sweep, .owner = names};
    return names;
}

int names_add(struct names *names, const struct name_service_ops *ops, const char *argument,
              const struct names_config *config, struct why *why)
{
    if (names->service_count == NAMES_SERVICE_MAX)
        return why_fail(why, -EINVAL, "more than %d name services", NAMES_SERVICE_MAX - 1);
    for (unsigned i = 0; i < names->service_count; i++)
        if (ops->once && names->services[i]->ops == ops)
            return why_fail(why, -EINVAL, "name service %s is listed twice", ops->word);
    struct name_service **service = &names->services[names->service_count];
    int result = ops->open(service, names, argument, config, why);
    if (result < 0)
        return result;
    assert((*service)->ops == ops);
    (*service)->index = names->service_count++;
    return 0;
}

void names_close(struct names *names)
{
    if (!names)
        return;
    while (names->service_count > 0) {
        struct name_service *service = names->services[--names->service_count];
        service->ops->close(service);
    }
    poller_unset(names->poller, &names->sweep);
    cache_fini(&names->cache);
    free(names);
}

/* ---- claims of others ---- */

/* True if another context claims an id of ours, or uses our group's id for a service. */
static bool name_is_ours(const struct cached_name *name, const struct claim *claim)
{
    for (const struct own_claim *mine = name->mines; mine; mine = mine->next) {
        if (!mine->settled || mine->claim.address.context == claim->address.context)
            continue;
        if (mine->claim.member == claim->member || mine->claim.group != claim->group)
            return true;
    }
    return false;
}

/* Starts the timer that searches for expired claims, a few times per lifetime. */
static void sweep_start(struct names *names, nsec until)
{
    if (until == NSEC_NEVER || names->sweep.at != NSEC_NEVER)
        return;
    /* If memory for the timer is short, claims stay longer, which does no harm. */
    if (poller_set(names->poller, &names->sweep, clock_after(names->tuning.lifetime / 4)) < 0)
        return;
}

/* Reports that the holder has given the claim up. The callback may cause other reports, also of
 * this kind. */
static void claim_over(struct names *names, const struct claim *claim)
{
    const struct claim *outer = names->over;
    names->over = claim;
    names->events->gone(names->owner, claim);
    names->over = outer;
}

bool names_is_over(const struct names *names, const struct claim *claim)
{
    return names->over && claim_equal(names->over, claim);
}

/* Removes the claim and reports it. */
static void known_drop(struct names *names, struct cached_name *name, struct known *known,
                       bool is_over)
{
    struct claim claim = known->claim;
    bool ended = known->ended;
    cache_drop(&names->cache, name, known);
    cache_prune(&names->cache, claim.id);
    if (ended)
        return;
    if (is_over)
        claim_over(names, &claim);
    else
        names->events->gone(names->owner, &claim);
}

/* Does a service that reported the claim know that its holder is dead? */
static bool known_is_dead(const struct names *names, const struct known *known, uint64_t ignored)
{
    for (unsigned i = 0; i < names->service_count; i++) {
        struct name_service *service = names->services[i];
        if (known->sources & 1u << i && service->ops->alive(service, &known->claim) < 0)
            return true;
    }
    return false;
}

/* A claim proved by a lock on this host takes precedence over what others sent, unless the lock's
 * holder is dead. So a stranger cannot mislead processes of the same host. */
static bool known_is_firmer(const struct names *names, const struct known *known,
                            const struct known *offer)
{
    return known->firm && !known->ended && !offer->firm &&
           !claim_equal(&known->claim, &offer->claim) && !known_is_dead(names, known, 0);
}

/* The same for claims of the other kind: an id belongs to a service or to a group, and a lock on
 * this host proves which of the two. */
static bool name_is_proved_otherwise(const struct names *names, const struct cached_name *name,
                                     const struct known *offer)
{
    for (size_t i = 0; !offer->firm && i < name->count; i++) {
        const struct known *known = &name->claims[i];
        if (known->firm && !known->ended && known->claim.group != offer->claim.group &&
            !known_is_dead(names, known, 0))
            return true;
    }
    return false;
}

/* Removes the claims that a proved claim refutes: those of the other kind without a proof. To be
 * called when the proved claim is in the cache: then no callback can bring them back. */
static void name_refute(struct names *names, uint64_t id, bool group)
{
    struct known *refuted;
    do {
        struct cached_name *name = cache_find(&names->cache, id);
        refuted = NULL;
        for (size_t i = 0; name && i < name->count; i++) {
            struct known *known = &name->claims[i];
            if (!known->firm && !known->own && !known->ended && known->claim.group != group)
                refuted = known;
        }
        if (refuted)
            known_drop(names, name, refuted, false);
    } while (refuted);
}

int names_learn(struct names *names, struct name_service *service, const struct claim *claim,
                nsec until, bool firm)
{
    struct known offer = {
        .claim = *claim, .until = until, .sources = 1u << service->index, .firm = firm};
    const struct cached_name *name = cache_find(&names->cache, claim->id);
    if (name && name_is_ours(name, claim)) {
        /* The operator's file tells where an id usually is: not a rival. */
        if (!claim->address.context)
            return 0;
        names->counts.conflicts++;
        return -EADDRINUSE;
    }
    const struct own_claim *mine = name ? name_mine(name, claim->member) : NULL;
    if (mine && mine->settled)
        return 0; /* our own claim, received back */
    const struct known *known = name ? name_known(name, claim->member) : NULL;
    if (known && known_is_firmer(names, known, &offer))
        return 0;
    if (name && name_is_proved_otherwise(names, name, &offer))
        return 0;
    int news = cache_learn(&names->cache, &offer);
    if (news < 0)
        return news;
    if (firm && news != CACHE_OLD && news != CACHE_FULL)
        name_refute(names, claim->id, claim->group);
    if (news != CACHE_FULL)
        sweep_start(names, until);
    if (news == CACHE_NEW || news == CACHE_MOVED)
        names->events->found(names->owner, &offer.claim);
    return 0;
}

static void known_lose(struct names *names, const struct name_service *service, uint64_t id,
                       uint64_t member, uint64_t context, bool is_over)
{
    assert(context || service);
    struct cached_name *name = cache_find(&names->cache, id);
    struct known *known = name ? name_known(name, member) : NULL;
    if (!known || known->own || known->ended)
        return;
    if (context ? known->claim.address.context == context : known->sources & 1u << service->index)
        known_drop(names, name, known, is_over);
}

void names_lost(struct names *names, struct name_service *service, uint64_t id, uint64_t member,
                uint64_t context)
{
    known_lose(names, service, id, member, context, false);
}

void names_given_up(struct names *names, struct name_service *service, uint64_t id, uint64_t member,
                    uint64_t context)
{
    known_lose(names, service, id, member, context, true);
}

void names_ended(struct names *names, const struct claim *claim, nsec until)
{
    struct cached_name *name = cache_find(&names->cache, claim->id);
    struct known *known = name ? name_known(name, claim->member) : NULL;
    if (!known || known->own || known->ended || known->firm || /* for those the lock decides */
        known->claim.address.context != claim->address.context ||
        known->claim.incarnation > claim->incarnation)
        return;
    struct claim copy = known->claim;
    known->ended = true;
    known->until = until;
    known->claim.incarnation = claim->incarnation;
    sweep_start(names, until);
    claim_over(names, &copy);
}

bool names_wants(const struct names *names, uint64_t id)
{
    const struct cached_name *name = cache_find(&names->cache, id);
    return name && (name->asked || name->count);
}

void names_each_wanted(struct names *names, void (*each)(void *owner, uint64_t id), void *owner)
{
    /* The callback changes the cache, so the ids are collected first. */
    const struct cached_name *name;
    size_t cursor = 0, count = 0;
    uint64_t *ids = array_new(names->cache.names.count, sizeof *ids);
    if (!ids)
        return;
    while ((name = id_map_next(&names->cache.names, &cursor)))
        if (name->asked || name->count)
            ids[count++] = name->id;
    for (size_t i = 0; i < count; i++)
        each(owner, ids[i]);
    free(ids);
}

unsigned names_told(const struct names *names, const struct name_service *service, uint64_t id,
                    uint64_t *members, unsigned max)
{
    const struct cached_name *name = cache_find(&names->cache, id);
    unsigned count = 0;
    for (size_t i = 0; name && i < name->count && count < max; i++) {
        const struct known *known = &name->claims[i];
        if (!known->own && !known->ended && known->sources & 1u << service->index)
            members[count++] = known->claim.member;
    }
    return count;
}

/* ---- our claims ---- */

static void mine_free(struct names *names, struct own_claim *mine)
{
    uint64_t id = mine->claim.id;
    struct cached_name *name = cache_find(&names->cache, id);
    struct own_claim **link = &name->mines;
    while (*link != mine)
        link = &(*link)->next;
    *link = mine->next;
    free(mine);
    cache_prune(&names->cache, id);
}

/* Withdraws the claim from every service except `but`, which has already released it. */
static void mine_release(struct names *names, struct own_claim *mine,
                         const struct name_service *but)
{
    for (unsigned i = 0; i < names->service_count; i++) {
        struct name_service *service = names->services[i];
        if (mine->held & 1u << i && service != but)
            service->ops->withdraw(service, &mine->claim);
    }
    mine->held = 0;
}

/* All services agreed: from now on the claim is in the cache like any other. */
static int mine_settle(struct names *names, struct own_claim *mine)
{
    struct claim claim = mine->claim;
    struct known own = {.claim = claim, .until = NSEC_NEVER, .own = true};
    struct cached_name *name = cache_find(&names->cache, claim.id);
    struct known *known = name_known(name, claim.member);
    if (known) { /* a claim of another that was given up; ours replaces it */
        own.serial = ++names->cache.serial;
        *known = own;
    } else {
        int result = cache_learn(&names->cache, &own);
        if (result < 0)
            return result;
    }
    mine->settled = true;
    for (unsigned i = 0; i < names->service_count; i++)
        if (names->services[i]->ops->settled)
            names->services[i]->ops->settled(names->services[i], &claim);
    names->events->announced(names->owner, claim.id, claim.member, 0);
    /* Reports the claim, unless the program withdrew it at once. */
    name = cache_find(&names->cache, claim.id);
    mine = name ? name_mine(name, claim.member) : NULL;
    if (mine && mine->claim.incarnation == claim.incarnation)
        names->events->found(names->owner, &claim);
    return 0;
}

static void mine_refused(struct names *names, struct own_claim *mine, const struct name_service *by,
                         int status)
{
    struct claim claim = mine->claim;
    struct cached_name *name = cache_find(&names->cache, claim.id);
    struct known *known = name_known(name, claim.member);
    mine_release(names, mine, by);
    if (known && known->own)
        cache_drop(&names->cache, name, known);
    mine_free(names, mine);
    names->events->announced(names->owner, claim.id, claim.member, status);
}

void names_settled(struct names *names, struct name_service *service, uint64_t id, uint64_t member,
                   int status)
{
    struct cached_name *name = cache_find(&names->cache, id);
    struct own_claim *mine = name ? name_mine(name, member) : NULL;
    if (!mine || !(mine->held & 1u << service->index))
        return;
    mine->pending &= ~(1u << service->index);
    if (status >= 0 && !mine->pending && !mine->settled) {
        status = mine_settle(names, mine);
        service = NULL; /* it holds the claim and must release it like the others */
    }
    if (status < 0)
        mine_refused(names, mine, service, status);
}

int names_announce(struct names *names, const struct claim *claim)
{
    if (!claim_is_sound(claim))
        return -EINVAL;
    struct cached_name *name = cache_name(&names->cache, claim->id);
    if (!name)
        return -ENOMEM;
    for (const struct own_claim *other = name->mines; other; other = other->next) {
        if (other->claim.member == claim->member)
            return -EALREADY;
        if (other->claim.group != claim->group) {
            names->events->announced(names->owner, claim->id, claim->member, -EADDRINUSE);
            return 0;
        }
    }
    struct own_claim *mine = array_new(1, sizeof *mine);
    if (!mine) {
        cache_prune(&names->cache, claim->id);
        return -ENOMEM;
    }
    *mine = (struct own_claim){.next = name->mines, .claim = *claim, .begun = clock_now()};
    name->mines = mine;
    int result = 0;
    for (unsigned i = 0; i < names->service_count && result >= 0; i++) {
        result = names->services[i]->ops->announce(names->services[i], claim);
        if (result >= 0)
            mine->held |= 1u << i;
        if (result == NAME_SERVICE_LATER)
            mine->pending |= 1u << i;
    }
    if (result >= 0 && !mine->pending)
        result = mine_settle(names, mine);
    if (result >= 0)
        return 0;
    if (result == -EADDRINUSE) {
        mine_refused(names, mine, NULL, result);
        return 0;
    }
    mine_release(names, mine, NULL);
    mine_free(names, mine);
    return result;
}

void names_withdraw(struct names *names, uint64_t id, uint64_t member)
{
    struct cached_name *name = cache_find(&names->cache, id);
    struct own_claim *mine = name ? name_mine(name, member) : NULL;
    if (!mine)
        return;
    struct known *known = name_known(name, member);
    struct claim claim = mine->claim;
    bool told = known && known->own;
    mine_release(names, mine, NULL);
    if (told)
        cache_drop(&names->cache, name, known);
    mine_free(names, mine);
    if (told)
        names->events->gone(names->owner, &claim);
}

static void mine_move(struct names *names, struct cached_name *name, struct own_claim *mine,
                      const struct context_address *address)
{
    uint64_t now = (uint64_t)clock_wall();
    uint64_t least = mine->claim.incarnation + 1;
    struct known *known = name_known(name, mine->claim.member);
    mine->claim.address = *address;
    mine->claim.incarnation = now > least ? now : least;
    if (known && known->own)
        known->claim = mine->claim;
    for (unsigned i = 0; i < names->service_count; i++) {
        struct name_service *service = names->services[i];
        if (mine->held & 1u << i && service->ops->renew)
            service->ops->renew(service, &mine->claim);
    }
}

void names_move(struct names *names, const struct context_address *address)
{
    struct cached_name *name;
    size_t cursor = 0;
    names->adrift = !address;
    while (address && (name = id_map_next(&names->cache.names, &cursor)))
        for (struct own_claim *mine = name->mines; mine; mine = mine->next)
            mine_move(names, name, mine, address);
}

void names_each_mine(struct names *names, const struct name_service *service,
                     void (*each)(void *owner, const struct claim *claim), void *owner)
{
    const struct cached_name *name;
    size_t cursor = 0;
    while ((name = id_map_next(&names->cache.names, &cursor)))
        for (const struct own_claim *mine = name->mines; mine; mine = mine->next)
            if (mine->held & 1u << service->index &&
                !(names->adrift && mine->claim.address.family == ADDRESS_FABRIC))
                each(owner, &mine->claim);
}

enum own_state names_own(const struct names *names, uint64_t id, uint64_t member,
                         struct claim *claim)
{
    const struct cached_name *name = cache_find(&names->cache, id);
    const struct own_claim *mine = name ? name->mines : NULL;
    while (mine && member && mine->claim.member != member)
        mine = mine->next;
    if (!mine)
        return OWN_NONE;
    *claim = mine->claim;
    return mine->settled ? OWN_SETTLED : OWN_PENDING;
}

nsec names_own_begun(const struct names *names, uint64_t id, uint64_t member)
{
    const struct cached_name *name = cache_find(&names->cache, id);
    const struct own_claim *mine = name ? name_mine(name, member) : NULL;
    return mine && !mine->settled ? mine->begun : 0;
}

/* ---- asking ---- */

int names_ask(struct names *names, uint64_t id)
{
    if (!id)
        return -EINVAL;
    struct cached_name *name = cache_name(&names->cache, id);
    if (!name)
        return -ENOMEM;
    name->asked = true;
    uint64_t serial = names->cache.serial; /* newer claims are reported by names_learn */
    for (unsigned i = 0; i < names->service_count; i++)
        names->services[i]->ops->ask(names->services[i], id);

    name = cache_find(&names->cache, id);
    size_t count = name ? name->count : 0;
    struct known *copy = array_copy(count ? name->claims : NULL, count, sizeof *copy);
    if (!copy)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (!copy[i].ended && copy[i].serial <= serial)
            names->events->found(names->owner, &copy[i].claim);
    free(copy);
    name = cache_find(&names->cache, id);
    return name ? (int)name_count(name) : 0;
}

void names_hurry(struct names *names, uint64_t id)
{
    for (unsigned i = 0; i < names->service_count; i++)
        if (names->services[i]->ops->hurry)
            names->services[i]->ops->hurry(names->services[i], id);
}

bool names_answer_later(const struct names *names)
{
    bool later = false;
    for (unsigned i = 0; i < names->service_count; i++)
        later |= names->services[i]->ops->later;
    return later;
}

nsec names_answered(const struct names *names, uint64_t id)
{
    const struct cached_name *name = cache_find(&names->cache, id);
    nsec earliest = NSEC_NEVER;
    for (unsigned i = 0; i < names->service_count; i++) {
        nsec answered = name ? name->answered[i] : 0;
        if (names->services[i]->ops->answers && answered < earliest)
            earliest = answered;
    }
    return earliest;
}

void names_lacks(struct names *names, int error)
{
    if (!lifeline_lacks(error))
        return;
    names->lack = error;
    names->lacked_at = clock_now();
}

int names_lack(const struct names *names, nsec since)
{
    return names->lacked_at && names->lacked_at >= since ? names->lack : 0;
}

void names_told_all(struct names *names, const struct name_service *service, uint64_t id)
{
    struct cached_name *name = cache_find(&names->cache, id);
    if (!name)
        return;
    name->answered[service->index] = clock_now();
    if (names->events->answered)
        names->events->answered(names->owner);
}

void names_told_part(struct names *names, const struct name_service *service, uint64_t id)
{
    struct cached_name *name = cache_find(&names->cache, id);
    if (name)
        name->answered[service->index] = 0;
}

bool names_denies(const struct names *names, const struct claim *claim)
{
    bool denied = false;
    for (unsigned i = 0; i < names->service_count; i++) {
        struct name_service *service = names->services[i];
        denied = denied || (service->ops->denies && service->ops->denies(service, claim));
    }
    return denied;
}

void names_lines_changed(struct names *names, const struct context_address *failed)
{
    for (unsigned i = 0; i < names->service_count; i++)
        if (names->services[i]->ops->line_changed)
            names->services[i]->ops->line_changed(names->services[i], failed);
}

void names_say(struct names *names, void *peer, const struct names_saying *saying)
{
    if (names->events->say)
        names->events->say(names->owner, peer, saying);
}

int names_contact(struct names *names, const struct context_address *address)
{
    return names->events->contact ? names->events->contact(names->owner, address) : -EHOSTUNREACH;
}

struct name_service *names_exchange(const struct names *names)
{
    assert(names->service_count);
    return names->services[0]; /* names_open adds it first */
}

void names_ignore(struct names *names, uint64_t id)
{
    struct cached_name *name = cache_find(&names->cache, id);
    if (name) {
        name->asked = false;
        cache_prune(&names->cache, id);
    }
}

unsigned names_known(struct names *names, uint64_t id, struct claim *out, unsigned max)
{
    struct cached_name *name = cache_find(&names->cache, id);
    struct claim dead[BATCH];
    unsigned count = 0, dead_count = 0;
    for (size_t i = 0; name && i < name->count; i++) {
        const struct known *known = &name->claims[i];
        if (known->ended)
            continue;
        if (!known->own && dead_count < BATCH && known_is_dead(names, known, 0)) {
            dead[dead_count++] = known->claim;
            continue;
        }
        if (count < max)
            out[count] = known->claim;
        count++;
    }
    for (unsigned i = 0; i < dead_count; i++)
        names_given_up(names, NULL, id, dead[i].member, dead[i].address.context);
    return count;
}

/* ---- forgetting ---- */

typedef bool known_test(const struct names *names, const struct known *known, uint64_t argument);

/* Removes all claims that pass the test. Reports all of them or only those of ids that were asked
 * for. */
static void known_drop_all(struct names *names, known_test *test, uint64_t argument, bool tell_all)
{
    uint64_t serial = names->cache.serial;
    unsigned count;
    do {
        struct claim claims[BATCH];
        bool tell[BATCH];
        struct cached_name *name;
        size_t cursor = 0;
        count = 0;
        while (count < BATCH && (name = id_map_next(&names->cache.names, &cursor))) {
            for (size_t i = name->count; i-- > 0 && count < BATCH;) {
                struct known *known = &name->claims[i];
                if (known->own || known->serial > serial || !test(names, known, argument))
                    continue;
                tell[count] = !known->ended && (tell_all || name->asked);
                claims[count++] = known->claim;
                cache_drop(&names->cache, name, known);
            }
        }
        for (unsigned i = 0; i < count; i++)
            cache_prune(&names->cache, claims[i].id);
        for (unsigned i = 0; i < count; i++)
            if (tell[i])
                names->events->gone(names->owner, &claims[i]);
    } while (count == BATCH);
}

static bool known_is_of_context(const struct names *names, const struct known *known,
                                uint64_t context)
{
    return known->claim.address.context == context && !known->ended;
}

void names_forget(struct names *names, uint64_t context)
{
    if (context) /* 0 is the operator's file, which no failure invalidates */
        known_drop_all(names, known_is_of_context, context, true);
}

static bool known_is_old(const struct names *names, const struct known *known, uint64_t now)
{
    return known->until <= (nsec)now;
}

static void sweep_ask(void *owner, uint64_t id)
{
    struct names *names = owner;
    const struct cached_name *name = cache_find(&names->cache, id);
    nsec soon = clock_after(names->tuning.lifetime / 2);
    bool old = false;
    if (!name || !name->asked)
        return;
    for (size_t i = 0; i < name->count; i++)
        old |= !name->claims[i].ended && name->claims[i].until <= soon;
    for (unsigned i = 0; i < names->service_count && old; i++)
        names->services[i]->ops->ask(names->services[i], id);
}

/* Forgets claims that were not repeated for a lifetime. For ids that this process wants it asks
 * before that: if there is no answer, the holder is gone. */
static void names_sweep(void *owner)
{
    struct names *names = owner;
    struct cached_name *name;
    size_t cursor = 0;
    bool more = false;
    known_drop_all(names, known_is_old, (uint64_t)clock_now(), false);
    names_each_wanted(names, sweep_ask, names);
    while ((name = id_map_next(&names->cache.names, &cursor)))
        for (size_t i = 0; i < name->count; i++)
            more |= name->claims[i].until != NSEC_NEVER;
    if (more)
        sweep_start(names, 0);
}

/* ---- listing ---- */

int names_list(struct names *names, names_each *each, void *argument)
{
    known_drop_all(names, known_is_dead, 0, true);
    for (unsigned i = 0; i < names->service_count; i++)
        names->services[i]->ops->list(names->services[i]);
    const struct cached_name *name;
    size_t cursor = 0;
    int count = 0;
    while ((name = id_map_next(&names->cache.names, &cursor))) {
        for (size_t i = 0; i < name->count; i++) {
            if (name->claims[i].ended)
                continue;
            each(argument, &name->claims[i].claim);
            count++;
        }
    }
    return count;
}
