/* multicast: claims among hosts, by datagrams to a group.
 *
 * Whoever wants to know asks the group; the owner answers him alone. A query
 * carries what the asker claims itself, and everybody caches what it hears.
 *
 * A claim begins with probes. Whoever has the id objects with its own claim;
 * of two who probe at once the one with the lower context goes on. Nobody
 * objected, or he withdrew: the claim is said to all, twice. It ends with a
 * withdrawal.
 *
 * Two owners can meet all the same: one was too slow to object, or a network that
 * had come apart is whole again. A binding that is only seconds old yields to the
 * older one, in the first case. In the second the newer one is believed if there is
 * a key; without, each stands by its claim, ever more slowly.
 *
 * What others send cannot make us flood: answers to one have a budget a second;
 * beyond it they are said to all, a few times a second; and a wake-up reads a
 * bounded number of datagrams. The formats are in claim.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/check.h"
#include "base/id_map.h"
#include "base/list.h"
#include "ripc/names/group_socket.h"
#include "ripc/names/names_impl.h"

enum {
    READS_MAX = 64,           /* datagrams of one wake-up */
    ANSWERS_PER_SECOND = 256, /* to one */
    CRIES_PER_SECOND = 8,     /* answers to all, and claims repeated against a rival */
    ASKS_PER_SECOND = 512,
    ASKS_MAX = 4096, /* queries under way */
    ASK_SENDS = 3,
};

#define CLOCKS_APART_NSEC (120 * NSEC_PER_SEC) /* between two hosts with a key */
#define GRACE_NSEC        (5 * NSEC_PER_SEC)   /* in which a new binding yields to an older one */
#define ASSERT_WAIT_MAX   (8 * NSEC_PER_SEC)
#define ASSERT_CALM       (30 * NSEC_PER_SEC) /* a rival that was silent for so long is a new one */

/* A budget that fills again with time. */
struct rate {
    unsigned per_second;
    nsec full_at; /* when it will be full: now or before, if it is */
};

/* A claim of ours, or one to be. */
struct holding {
    struct holding *next; /* of the same id */
    struct multicast *multicast;
    struct claim claim;
    bool probing;
    uint64_t objector; /* the context that has it, or probes with more right; 0: nobody so far */
    unsigned said;     /* probes, or claims */
    struct poller_timer timer;
    nsec assert_at; /* not before this */
    nsec assert_wait;
};

/* A query without an answer so far. */
struct ask {
    struct multicast *multicast;
    uint64_t id;
    unsigned sends;
    bool answered;
    struct poller_timer timer;
};

struct multicast {
    struct name_service service;
    struct names *names;
    struct poller *poller;
    struct group_socket sockets;
    struct poller_watch *hear_watch;
    struct poller_watch *talk_watch;
    struct seal seal;
    uint64_t domain;
    uint64_t sender;
    struct id_map holdings; /* by id */
    struct id_map asks;     /* by id */
    nsec list_at;           /* the next query for everything not before this */
    struct rate answers, cries, queries;
};

static struct multicast *multicast_of(struct name_service *service)
{
    return container_of(service, struct multicast, service);
}

static bool rate_take(struct rate *rate)
{
    nsec now = clock_now(), cost = NSEC_PER_SEC / rate->per_second;
    if (rate->full_at < now)
        rate->full_at = now;
    if (rate->full_at + cost > now + NSEC_PER_SEC)
        return false;
    rate->full_at += cost;
    return true;
}

/* ---- speaking ---- */

static void say(struct multicast *multicast, struct datagram *datagram,
                const struct sockaddr_in *to)
{
    uint8_t data[DATAGRAM_SIZE_MAX];
    datagram->domain = multicast->domain;
    datagram->sender = multicast->sender;
    datagram->time = (uint64_t)clock_wall();
    group_socket_send(&multicast->sockets, to, data,
                      datagram_write(datagram, &multicast->seal, data));
}

static void say_claim(struct multicast *multicast, enum datagram_kind kind,
                      const struct claim *claim, const struct sockaddr_in *to)
{
    struct datagram datagram = {.kind = kind, .count = 1, .claims = {*claim}};
    datagram.query = kind == DATAGRAM_PROBE ? claim->id : 0;
    say(multicast, &datagram, to);
}

/* An answer: to one while there is budget, else to all, else not at all. */
static void answer(struct multicast *multicast, struct datagram *datagram,
                   const struct sockaddr_in *to)
{
    if (datagram->count && rate_take(&multicast->answers))
        say(multicast, datagram, to);
    else if (datagram->count && rate_take(&multicast->cries))
        say(multicast, datagram, NULL);
    datagram->count = 0;
}

static void answer_add(struct multicast *multicast, struct datagram *datagram,
                       const struct holding *holding, const struct sockaddr_in *to)
{
    for (; holding; holding = holding->next) {
        if (holding->probing)
            continue;
        datagram->claims[datagram->count++] = holding->claim;
        if (datagram->count == DATAGRAM_CLAIMS_MAX)
            answer(multicast, datagram, to);
    }
}

static void answer_query(struct multicast *multicast, uint64_t id, const struct sockaddr_in *to)
{
    struct datagram datagram = {.kind = DATAGRAM_CLAIM};
    const struct holding *holding;
    size_t cursor = 0;
    if (id)
        answer_add(multicast, &datagram, id_map_get(&multicast->holdings, id), to);
    while (!id && (holding = id_map_next(&multicast->holdings, &cursor)))
        answer_add(multicast, &datagram, holding, to);
    answer(multicast, &datagram, to);
}

/* What we claim goes along: whoever hears it need not ask for it. */
static void say_query(struct multicast *multicast, uint64_t id)
{
    struct datagram datagram = {.kind = DATAGRAM_QUERY, .query = id};
    const struct holding *holding;
    size_t cursor = 0;
    if (!rate_take(&multicast->queries))
        return;
    while (datagram.count < DATAGRAM_CLAIMS_MAX &&
           (holding = id_map_next(&multicast->holdings, &cursor)))
        if (!holding->probing)
            datagram.claims[datagram.count++] = holding->claim;
    say(multicast, &datagram, NULL);
}

/* ---- holdings ---- */

static struct holding *holding_find(const struct multicast *multicast, uint64_t id, uint64_t member)
{
    struct holding *holding = id_map_get(&multicast->holdings, id);
    while (holding && holding->claim.member != member)
        holding = holding->next;
    return holding;
}

static void holding_free(struct multicast *multicast, struct holding *holding)
{
    uint64_t id = holding->claim.id;
    struct holding *chain = id_map_get(&multicast->holdings, id), **link = &chain;
    while (*link != holding)
        link = &(*link)->next;
    *link = holding->next;
    if (chain) {
        bool put = id_map_put(&multicast->holdings, id, chain); /* needs no memory: it is there */
        assert(put);
    } else {
        id_map_take(&multicast->holdings, id);
    }
    poller_unset(multicast->poller, &holding->timer);
    free(holding);
}

static void holding_lose(struct multicast *multicast, struct holding *holding, int status)
{
    uint64_t id = holding->claim.id, member = holding->claim.member;
    holding_free(multicast, holding);
    names_settled(multicast->names, &multicast->service, id, member, status);
}

/* Says it the first time; the timer the second. */
static void holding_claim(struct holding *holding)
{
    struct multicast *multicast = holding->multicast;
    nsec again = clock_after(names_tuning(multicast->names)->repeat_wait);
    holding->probing = false;
    holding->said = 1;
    say_claim(multicast, DATAGRAM_CLAIM, &holding->claim, NULL);
    if (poller_set(multicast->poller, &holding->timer, again) < 0)
        holding->said = 2; /* no memory: once must do, those who ask are answered */
}

static void holding_fired(void *owner)
{
    struct holding *holding = owner;
    struct multicast *multicast = holding->multicast;
    const struct names_tuning *tuning = names_tuning(multicast->names);
    if (!holding->probing) {
        say_claim(multicast, DATAGRAM_CLAIM, &holding->claim, NULL);
        holding->said++;
        return;
    }
    if (holding->objector) {
        holding_lose(multicast, holding, -EADDRINUSE);
        return;
    }
    if (holding->said < tuning->probe_count &&
        poller_set(multicast->poller, &holding->timer, clock_after(tuning->probe_wait)) >= 0) {
        say_claim(multicast, DATAGRAM_PROBE, &holding->claim, NULL);
        holding->said++;
        return;
    }
    uint64_t id = holding->claim.id, member = holding->claim.member;
    holding_claim(holding);
    names_settled(multicast->names, &multicast->service, id, member, 0);
}

/* Somebody says that he has what is ours. */
static void holding_assert(struct holding *holding)
{
    struct multicast *multicast = holding->multicast;
    nsec now = clock_now();
    if (now < holding->assert_at || !rate_take(&multicast->cries))
        return;
    if (now > holding->assert_at + ASSERT_CALM)
        holding->assert_wait = names_tuning(multicast->names)->assert_wait;
    holding->assert_at = now + holding->assert_wait;
    if (holding->assert_wait < ASSERT_WAIT_MAX)
        holding->assert_wait *= 2;
    say_claim(multicast, DATAGRAM_CLAIM, &holding->claim, NULL);
}

/* ---- hearing ---- */

static bool claim_is_newer(const struct claim *claim, const struct claim *than)
{
    if (claim->incarnation != than->incarnation)
        return claim->incarnation > than->incarnation;
    return claim->place.context < than->place.context;
}

/* A claim on this host only is of no use to others. */
static bool claim_is_in_reach(const struct claim *claim)
{
    return claim->place.family != 0 || place_is_here(&claim->place);
}

/* What stands against the claim: our own of that member, or the id used otherwise. */
static struct holding *holding_against(const struct multicast *multicast, const struct claim *claim)
{
    struct holding *holding = id_map_get(&multicast->holdings, claim->id);
    for (; holding; holding = holding->next)
        if (holding->claim.place.context != claim->place.context &&
            (holding->claim.member == claim->member || holding->claim.group != claim->group))
            return holding;
    return NULL;
}

/* Is a claim that was said at that time (of its own clock) the end of ours? */
static bool holding_yields(const struct holding *holding, const struct claim *claim, uint64_t time)
{
    if (holding->claim.member != claim->member)
        return false; /* the id is a group's and a service's: nobody can tell who is right */
    bool newer = claim_is_newer(&holding->claim, claim);
    uint64_t age =
        newer ? (uint64_t)clock_wall() - holding->claim.incarnation : time - claim->incarnation;
    if (age < GRACE_NSEC)
        return newer;
    return holding->multicast->seal.keyed && !newer;
}

static void hear_claim(struct multicast *multicast, const struct claim *claim, uint64_t time)
{
    struct holding *holding = holding_against(multicast, claim);
    if (holding && holding->probing) {
        holding->objector = claim->place.context;
    } else if (holding && holding_yields(holding, claim, time)) {
        names_counts(multicast->names)->conflicts++;
        holding_lose(multicast, holding, -ESTALE);
    }
    struct ask *ask = id_map_get(&multicast->asks, claim->id);
    if (ask && !claim->group)
        ask->answered = true;
    if (!claim_is_in_reach(claim))
        return;
    nsec until = clock_after(names_tuning(multicast->names)->lifetime);
    int result = names_learn(multicast->names, &multicast->service, claim, until, false);
    holding = result == -EADDRINUSE ? holding_against(multicast, claim) : NULL;
    if (holding)
        holding_assert(holding);
}

/* Somebody is about to claim. */
static void hear_probe(struct multicast *multicast, const struct claim *claim,
                       const struct sockaddr_in *from)
{
    struct holding *holding = holding_against(multicast, claim);
    if (!holding)
        return;
    if (holding->probing && claim->place.context < holding->claim.place.context) {
        holding->objector = claim->place.context;
    } else if (rate_take(&multicast->answers)) {
        enum datagram_kind kind = holding->probing ? DATAGRAM_PROBE : DATAGRAM_CLAIM;
        say_claim(multicast, kind, &holding->claim, from);
    }
}

/* Whoever objected may have given it up just then. */
static void hear_withdraw(struct multicast *multicast, const struct claim *claim)
{
    struct holding *holding = holding_against(multicast, claim);
    if (holding && holding->objector == claim->place.context)
        holding->objector = 0;
    names_ended(multicast->names, claim, clock_after(names_tuning(multicast->names)->lifetime));
}

static bool datagram_is_fresh(const struct datagram *datagram)
{
    int64_t apart = (int64_t)(datagram->time - (uint64_t)clock_wall());
    return apart >= -CLOCKS_APART_NSEC && apart <= CLOCKS_APART_NSEC;
}

static void hear(struct multicast *multicast, const uint8_t *data, size_t size,
                 const struct sockaddr_in *from)
{
    struct names_counts *counts = names_counts(multicast->names);
    struct datagram datagram;
    int result = datagram_read(&datagram, multicast->domain, &multicast->seal, data, size);
    counts->datagrams++;
    counts->garbage += result == -EPROTO;
    counts->forged += result == -EKEYREJECTED;
    if (result != 0 || datagram.sender == multicast->sender)
        return;
    if (multicast->seal.keyed && !datagram_is_fresh(&datagram)) {
        counts->forged++;
        return;
    }
    switch (datagram.kind) {
    case DATAGRAM_QUERY:
        answer_query(multicast, datagram.query, from);
        for (unsigned i = 0; i < datagram.count; i++)
            hear_claim(multicast, &datagram.claims[i], datagram.time);
        return;
    case DATAGRAM_PROBE:
        hear_probe(multicast, &datagram.claims[0], from);
        return;
    case DATAGRAM_CLAIM:
        for (unsigned i = 0; i < datagram.count; i++)
            hear_claim(multicast, &datagram.claims[i], datagram.time);
        return;
    case DATAGRAM_WITHDRAW:
        for (unsigned i = 0; i < datagram.count; i++)
            hear_withdraw(multicast, &datagram.claims[i]);
        return;
    }
}

static void hear_all(struct multicast *multicast, int fd)
{
    for (int i = 0; i < READS_MAX; i++) {
        uint8_t data[DATAGRAM_SIZE_MAX + 1]; /* a longer one is cut, and so refused */
        struct sockaddr_in from = {0};
        socklen_t from_size = sizeof from;
        ssize_t size =
            recvfrom(fd, data, sizeof data, MSG_DONTWAIT, (struct sockaddr *)&from, &from_size);
        if (size < 0)
            return;
        hear(multicast, data, (size_t)size, &from);
    }
}

static void hear_ready(void *owner, uint32_t events)
{
    struct multicast *multicast = owner;
    hear_all(multicast, multicast->sockets.hear_fd);
}

static void talk_ready(void *owner, uint32_t events)
{
    struct multicast *multicast = owner;
    hear_all(multicast, multicast->sockets.talk_fd);
}

/* ---- the operations ---- */

static void ask_free(struct ask *ask)
{
    id_map_take(&ask->multicast->asks, ask->id);
    poller_unset(ask->multicast->poller, &ask->timer);
    free(ask);
}

/* Asks again after 1, 4 and 1 waits; then another call may. */
static void ask_fired(void *owner)
{
    struct ask *ask = owner;
    struct multicast *multicast = ask->multicast;
    nsec wait = names_tuning(multicast->names)->ask_wait * (ask->sends == 1 ? 4 : 1);
    if (ask->answered || ask->sends == ASK_SENDS ||
        poller_set(multicast->poller, &ask->timer, clock_after(wait)) < 0) {
        ask_free(ask);
        return;
    }
    ask->sends++;
    say_query(multicast, ask->id);
}

static void multicast_ask(struct name_service *service, uint64_t id)
{
    struct multicast *multicast = multicast_of(service);
    nsec at = clock_after(names_tuning(multicast->names)->ask_wait);
    if (id_map_get(&multicast->asks, id) || multicast->asks.count >= ASKS_MAX)
        return;
    struct ask *ask = array_new(1, sizeof *ask);
    if (!ask)
        return;
    *ask = (struct ask){.multicast = multicast, .id = id, .sends = 1};
    ask->timer = (struct poller_timer){.at = NSEC_NEVER, .fired = ask_fired, .owner = ask};
    if (!id_map_put(&multicast->asks, id, ask)) {
        free(ask);
        return;
    }
    if (poller_set(multicast->poller, &ask->timer, at) < 0)
        ask_free(ask);
    say_query(multicast, id);
}

static int multicast_announce(struct name_service *service, const struct claim *claim)
{
    struct multicast *multicast = multicast_of(service);
    const struct names_tuning *tuning = names_tuning(multicast->names);
    struct holding *holding = array_new(1, sizeof *holding);
    if (!holding)
        return -ENOMEM;
    *holding = (struct holding){.next = id_map_get(&multicast->holdings, claim->id),
                                .multicast = multicast,
                                .claim = *claim,
                                .probing = !claim->group,
                                .assert_wait = tuning->assert_wait};
    holding->timer =
        (struct poller_timer){.at = NSEC_NEVER, .fired = holding_fired, .owner = holding};
    if (!id_map_put(&multicast->holdings, claim->id, holding)) {
        free(holding);
        return -ENOMEM;
    }
    if (claim->group) { /* others have it too: nobody to ask */
        holding_claim(holding);
        return 0;
    }
    if (poller_set(multicast->poller, &holding->timer, clock_after(tuning->probe_wait)) < 0) {
        holding_free(multicast, holding);
        return -ENOMEM;
    }
    holding->said = 1;
    say_claim(multicast, DATAGRAM_PROBE, claim, NULL);
    return NAME_SERVICE_LATER;
}

static void multicast_withdraw(struct name_service *service, const struct claim *claim)
{
    struct multicast *multicast = multicast_of(service);
    struct holding *holding = holding_find(multicast, claim->id, claim->member);
    if (!holding)
        return;
    say_claim(multicast, DATAGRAM_WITHDRAW, &holding->claim, NULL); /* also what was a probe only */
    holding_free(multicast, holding);
}

static void multicast_renew(struct name_service *service, const struct claim *claim)
{
    struct holding *holding = holding_find(multicast_of(service), claim->id, claim->member);
    if (!holding)
        return;
    holding->claim = *claim;
    if (!holding->probing)
        holding_claim(holding);
}

static void multicast_list(struct name_service *service)
{
    struct multicast *multicast = multicast_of(service);
    if (clock_now() < multicast->list_at)
        return;
    multicast->list_at = clock_after(names_tuning(multicast->names)->ask_wait);
    say_query(multicast, 0);
}

static int multicast_alive(struct name_service *service, const struct claim *claim)
{
    return 0;
}

/* Withdraws all, sixteen to a datagram. */
static void holdings_end(struct multicast *multicast)
{
    struct datagram datagram = {.kind = DATAGRAM_WITHDRAW};
    struct holding *holding;
    size_t cursor = 0;
    while ((holding = id_map_next(&multicast->holdings, &cursor))) {
        while (holding) {
            struct holding *next = holding->next;
            datagram.claims[datagram.count++] = holding->claim;
            if (datagram.count == DATAGRAM_CLAIMS_MAX) {
                say(multicast, &datagram, NULL);
                datagram.count = 0;
            }
            poller_unset(multicast->poller, &holding->timer);
            free(holding);
            holding = next;
        }
    }
    if (datagram.count)
        say(multicast, &datagram, NULL);
    id_map_fini(&multicast->holdings);
}

static void multicast_close(struct name_service *service)
{
    struct multicast *multicast = multicast_of(service);
    struct ask *ask;
    size_t cursor = 0;
    holdings_end(multicast);
    while ((ask = id_map_next(&multicast->asks, &cursor))) {
        poller_unset(multicast->poller, &ask->timer);
        free(ask);
    }
    id_map_fini(&multicast->asks);
    poller_remove(multicast->poller, multicast->hear_watch);
    poller_remove(multicast->poller, multicast->talk_watch);
    group_socket_close(&multicast->sockets);
    seal_fini(&multicast->seal);
    free(multicast);
}

static int multicast_open(struct name_service **service, struct names *names, const char *argument,
                          const struct names_config *config, struct why *why)
{
    struct multicast *multicast = array_new(1, sizeof *multicast);
    if (!multicast)
        return why_fail(why, -ENOMEM, "not enough memory");
    multicast->service.ops = &name_service_multicast;
    multicast->names = names;
    multicast->poller = config->poller;
    multicast->sender = entropy_u64();
    multicast->answers.per_second = ANSWERS_PER_SECOND;
    multicast->cries.per_second = CRIES_PER_SECOND;
    multicast->queries.per_second = ASKS_PER_SECOND;
    int result = seal_init(&multicast->seal, config->key);
    if (result < 0) {
        free(multicast);
        return why_fail(why, result, "libsodium does not start");
    }
    multicast->domain = domain_hash(config->domain);
    result = group_socket_open(&multicast->sockets, argument ? argument : GROUP_SOCKET_DEFAULT,
                               config->address, why);
    if (result < 0) {
        seal_fini(&multicast->seal);
        free(multicast);
        return result;
    }
    result = poller_add(multicast->poller, multicast->sockets.hear_fd, EPOLLIN, hear_ready,
                        multicast, &multicast->hear_watch);
    if (result >= 0)
        result = poller_add(multicast->poller, multicast->sockets.talk_fd, EPOLLIN, talk_ready,
                            multicast, &multicast->talk_watch);
    if (result < 0) {
        multicast_close(&multicast->service);
        return why_fail(why, result, "cannot watch a socket: %s", strerror(-result));
    }
    *service = &multicast->service;
    return 0;
}

const struct name_service_ops name_service_multicast = {
    .word = "multicast",
    .later = true,
    .open = multicast_open,
    .close = multicast_close,
    .announce = multicast_announce,
    .withdraw = multicast_withdraw,
    .renew = multicast_renew,
    .ask = multicast_ask,
    .list = multicast_list,
    .alive = multicast_alive,
};
