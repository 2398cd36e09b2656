/* multicast: claims between hosts, by datagrams to a group.
 *
 * A context that looks for an id sends a query to the group, and the holder answers that context
 * directly. A query carries the claims of its sender, and every context caches the claims that it
 * receives.
 *
 * A claim begins with probes. A holder of the id objects with its own claim; of two contexts that
 * probe at the same time, the one with the lower context number continues. If there is no
 * objection, or it was withdrawn, the claim is sent to the group, twice. It ends with a withdrawal.
 *
 * Two holders can still meet: one was too slow to object, or a partitioned network was joined
 * again. In the first case, a binding that is only seconds old yields to the older one. In the
 * second case, the newer binding wins if there is a key; without a key each holder keeps asserting
 * its claim, at growing intervals.
 *
 * Datagrams of others cannot make us flood the network: answers to single contexts have a budget
 * per second; beyond it answers go to the whole group, a few times per second; and a wake-up reads
 * a limited number of datagrams. claiming.c decides what is sent when; the formats are in
 * claim.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/check.h"
#include "base/id_map.h"
#include "base/list.h"
#include "ripc/names/claiming.h"
#include "ripc/names/group_socket.h"
#include "ripc/names/holding.h"
#include "ripc/names/names_impl.h"

enum {
    READS_MAX = 64,           /* datagrams per wake-up */
    ANSWERS_PER_SECOND = 256, /* to single contexts */
    CRIES_PER_SECOND = 8,     /* answers to the group, and claims repeated against a rival */
    ASKS_PER_SECOND = 512,
    ASKS_MAX = 4096, /* queries under way */
};

#define CLOCK_SKEW_NSEC_MAX (120 * NSEC_PER_SEC) /* between two hosts with a key */

/* A budget that refills over time. */
struct rate {
    unsigned per_second;
    nsec full_at; /* when it will be full; in the past if it is full */
};

/* A claim of ours, or one that we probe for. */
struct announcement {
    struct holding holding; /* must be first */
    struct multicast *multicast;
    struct claiming claiming;
    struct poller_timer timer;
};

/* A query without an answer so far. */
struct query {
    struct multicast *multicast;
    uint64_t id;
    struct name_question asking;
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
    struct id_map holdings; /* struct announcement */
    struct id_map queries;  /* by id */
    nsec list_at;           /* do not query for all ids before this */
    struct rate answers, cries, asks;
};

static struct multicast *multicast_of(struct name_service *service)
{
    return container_of(service, struct multicast, service);
}

static struct announcement *announcement_of(struct holding *holding)
{
    return container_of(holding, struct announcement, holding);
}

static bool is_probing(const struct holding *holding)
{
    return container_of(holding, const struct announcement, holding)->claiming.probing;
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

/* ---- sending ---- */

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

/* Sends an answer: to one context while there is budget, else to the group, else not at all. */
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
        if (is_probing(holding))
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
        answer_add(multicast, &datagram, holdings_of(&multicast->holdings, id), to);
    while (!id && (holding = id_map_next(&multicast->holdings, &cursor)))
        answer_add(multicast, &datagram, holding, to);
    answer(multicast, &datagram, to);
}

/* Our claims are included: the receivers need not ask for them. */
static void say_query(struct multicast *multicast, uint64_t id)
{
    struct datagram datagram = {.kind = DATAGRAM_QUERY, .query = id};
    const struct holding *holding;
    size_t cursor = 0;
    if (!rate_take(&multicast->asks))
        return;
    while (datagram.count < DATAGRAM_CLAIMS_MAX &&
           (holding = id_map_next(&multicast->holdings, &cursor)))
        if (!is_probing(holding))
            datagram.claims[datagram.count++] = holding->claim;
    say(multicast, &datagram, NULL);
}

/* ---- announcements ---- */

static void announcement_free(struct announcement *announcement)
{
    struct multicast *multicast = announcement->multicast;
    holdings_take(&multicast->holdings, &announcement->holding);
    poller_unset(multicast->poller, &announcement->timer);
    free(announcement);
}

static void announcement_lose(struct announcement *announcement, int status)
{
    struct multicast *multicast = announcement->multicast;
    uint64_t id = announcement->holding.claim.id, member = announcement->holding.claim.member;
    announcement_free(announcement);
    names_settled(multicast->names, &multicast->service, id, member, status);
}

/* Sends the claim the first time; the timer repeats it. */
static void announcement_claim(struct announcement *announcement, nsec wait)
{
    struct multicast *multicast = announcement->multicast;
    say_claim(multicast, DATAGRAM_CLAIM, &announcement->holding.claim, NULL);
    if (poller_set(multicast->poller, &announcement->timer, clock_after(wait)) < 0)
        return; /* no memory for the timer: the claim is sent only once */
}

static void announcement_fired(void *owner)
{
    struct announcement *announcement = owner;
    struct multicast *multicast = announcement->multicast;
    const struct names_tuning *tuning = names_tuning(multicast->names);
    const struct claim *claim = &announcement->holding.claim;
    uint64_t id = claim->id, member = claim->member;
    nsec wait;
    enum claiming_act act = claiming_next(&announcement->claiming, tuning, &wait);
    if (act == CLAIMING_PROBE &&
        poller_set(multicast->poller, &announcement->timer, clock_after(wait)) < 0)
        act = claiming_hurry(&announcement->claiming, tuning, &wait); /* no memory for the timer */
    switch (act) {
    case CLAIMING_PROBE:
        say_claim(multicast, DATAGRAM_PROBE, claim, NULL);
        break;
    case CLAIMING_CLAIM:
        announcement_claim(announcement, wait);
        names_settled(multicast->names, &multicast->service, id, member, 0);
        break;
    case CLAIMING_REPEAT:
        say_claim(multicast, DATAGRAM_CLAIM, claim, NULL);
        break;
    case CLAIMING_LOST:
        announcement_lose(announcement, -EADDRINUSE);
        break;
    }
}

/* Another context claims our id. */
static void announcement_assert(struct announcement *announcement)
{
    struct multicast *multicast = announcement->multicast;
    nsec now = clock_now();
    if (!claiming_may_assert(&announcement->claiming, now) || !rate_take(&multicast->cries))
        return;
    claiming_asserted(&announcement->claiming, names_tuning(multicast->names), now);
    say_claim(multicast, DATAGRAM_CLAIM, &announcement->holding.claim, NULL);
}

/* ---- receiving ---- */

/* A claim without a network address is of no use to other hosts. */
static bool claim_is_in_reach(const struct claim *claim)
{
    return claim->address.family != 0 || context_address_is_here(&claim->address);
}

/* Returns the claim of ours that conflicts with this one: it has the same member, or one of the two
 * uses the id for a group and the other for a service. */
static struct announcement *announcement_against(const struct multicast *multicast,
                                                 const struct claim *claim)
{
    struct holding *holding = holdings_of(&multicast->holdings, claim->id);
    for (; holding; holding = holding->next)
        if (holding->claim.address.context != claim->address.context &&
            (holding->claim.member == claim->member || holding->claim.group != claim->group))
            return announcement_of(holding);
    return NULL;
}

static void hear_claim(struct multicast *multicast, const struct claim *claim, uint64_t time)
{
    struct announcement *ours = announcement_against(multicast, claim);
    if (ours && ours->claiming.probing) {
        claiming_objected(&ours->claiming, claim);
    } else if (ours && claiming_yields(&ours->holding.claim, claim, (uint64_t)clock_wall(), time,
                                       multicast->seal.keyed)) {
        names_counts(multicast->names)->conflicts++;
        announcement_lose(ours, -ESTALE);
    }
    struct query *query = id_map_get(&multicast->queries, claim->id);
    if (query && !claim->group)
        query->asking.answered = true;
    if (!claim_is_in_reach(claim))
        return;
    nsec until = clock_after(names_tuning(multicast->names)->lifetime);
    int result = names_learn(multicast->names, &multicast->service, claim, until, false);
    ours = result == -EADDRINUSE ? announcement_against(multicast, claim) : NULL;
    if (ours)
        announcement_assert(ours);
}

/* Another context is about to claim the id. */
static void hear_probe(struct multicast *multicast, const struct claim *claim,
                       const struct sockaddr_in *from)
{
    struct announcement *ours = announcement_against(multicast, claim);
    if (!ours || !claiming_probed(&ours->claiming, &ours->holding.claim, claim))
        return;
    enum datagram_kind kind = ours->claiming.probing ? DATAGRAM_PROBE : DATAGRAM_CLAIM;
    if (rate_take(&multicast->answers))
        say_claim(multicast, kind, &ours->holding.claim, from);
}

/* The context that objected may just have withdrawn its claim. */
static void hear_withdraw(struct multicast *multicast, const struct claim *claim)
{
    struct announcement *ours = announcement_against(multicast, claim);
    if (ours)
        claiming_withdrawn(&ours->claiming, claim);
    names_ended(multicast->names, claim, clock_after(names_tuning(multicast->names)->lifetime));
}

static bool datagram_is_fresh(const struct datagram *datagram)
{
    int64_t skew = (int64_t)(datagram->time - (uint64_t)clock_wall());
    return skew >= -CLOCK_SKEW_NSEC_MAX && skew <= CLOCK_SKEW_NSEC_MAX;
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
        uint8_t data[DATAGRAM_SIZE_MAX + 1]; /* one byte more, so that a datagram that is too long
                                              * is noticed and refused */
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

static void query_free(struct query *query)
{
    id_map_take(&query->multicast->queries, query->id);
    poller_unset(query->multicast->poller, &query->timer);
    free(query);
}

/* When the query is over, another call may ask again. */
static void query_fired(void *owner)
{
    struct query *query = owner;
    struct multicast *multicast = query->multicast;
    nsec wait = asking_next(&query->asking, names_tuning(multicast->names));
    if (wait == NSEC_NEVER || poller_set(multicast->poller, &query->timer, clock_after(wait)) < 0) {
        query_free(query);
        return;
    }
    say_query(multicast, query->id);
}

static void multicast_ask(struct name_service *service, uint64_t id)
{
    struct multicast *multicast = multicast_of(service);
    if (id_map_get(&multicast->queries, id) || multicast->queries.count >= ASKS_MAX)
        return;
    struct query *query = array_new(1, sizeof *query);
    if (!query)
        return;
    *query = (struct query){.multicast = multicast, .id = id};
    query->timer = (struct poller_timer){.at = NSEC_NEVER, .fired = query_fired, .owner = query};
    if (!id_map_put(&multicast->queries, id, query)) {
        free(query);
        return;
    }
    nsec wait = asking_next(&query->asking, names_tuning(multicast->names));
    if (poller_set(multicast->poller, &query->timer, clock_after(wait)) < 0)
        query_free(query);
    say_query(multicast, id);
}

static int multicast_announce(struct name_service *service, const struct claim *claim)
{
    struct multicast *multicast = multicast_of(service);
    const struct names_tuning *tuning = names_tuning(multicast->names);
    struct announcement *announcement = array_new(1, sizeof *announcement);
    nsec wait;
    if (!announcement)
        return -ENOMEM;
    *announcement = (struct announcement){.holding.claim = *claim, .multicast = multicast};
    announcement->timer =
        (struct poller_timer){.at = NSEC_NEVER, .fired = announcement_fired, .owner = announcement};
    claiming_start(&announcement->claiming, tuning, claim->group);
    if (!holdings_put(&multicast->holdings, &announcement->holding)) {
        free(announcement);
        return -ENOMEM;
    }
    if (claiming_next(&announcement->claiming, tuning, &wait) == CLAIMING_CLAIM) {
        announcement_claim(announcement, wait); /* group members share the id: no probes needed */
        return 0;
    }
    if (poller_set(multicast->poller, &announcement->timer, clock_after(wait)) < 0) {
        announcement_free(announcement);
        return -ENOMEM;
    }
    say_claim(multicast, DATAGRAM_PROBE, claim, NULL);
    return NAME_SERVICE_LATER;
}

static void multicast_withdraw(struct name_service *service, const struct claim *claim)
{
    struct multicast *multicast = multicast_of(service);
    struct holding *holding = holdings_find(&multicast->holdings, claim->id, claim->member);
    assert(holding); /* names withdraws only what is held here */
    say_claim(multicast, DATAGRAM_WITHDRAW, &holding->claim, NULL); /* also if it was only a
                                                                     * probe */
    announcement_free(announcement_of(holding));
}

static void multicast_renew(struct name_service *service, const struct claim *claim)
{
    struct multicast *multicast = multicast_of(service);
    struct holding *holding = holdings_find(&multicast->holdings, claim->id, claim->member);
    nsec wait;
    assert(holding); /* names renews only what is held here */
    struct announcement *announcement = announcement_of(holding);
    holding->claim = *claim;
    if (announcement->claiming.probing)
        return;
    claiming_renew(&announcement->claiming);
    enum claiming_act act =
        claiming_next(&announcement->claiming, names_tuning(multicast->names), &wait);
    assert(act == CLAIMING_CLAIM);
    announcement_claim(announcement, wait);
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

/* Withdraws all claims, sixteen per datagram. */
struct farewell {
    struct multicast *multicast;
    struct datagram datagram;
};

static void announcement_end(void *owner, struct holding *holding)
{
    struct farewell *farewell = owner;
    struct datagram *datagram = &farewell->datagram;
    datagram->claims[datagram->count++] = holding->claim;
    if (datagram->count == DATAGRAM_CLAIMS_MAX) {
        say(farewell->multicast, datagram, NULL);
        datagram->count = 0;
    }
    poller_unset(farewell->multicast->poller, &announcement_of(holding)->timer);
    free(announcement_of(holding));
}

static void announcements_end(struct multicast *multicast)
{
    struct farewell farewell = {.multicast = multicast, .datagram.kind = DATAGRAM_WITHDRAW};
    holdings_fini(&multicast->holdings, announcement_end, &farewell);
    if (farewell.datagram.count)
        say(multicast, &farewell.datagram, NULL);
}

static void multicast_close(struct name_service *service)
{
    struct multicast *multicast = multicast_of(service);
    struct query *query;
    size_t cursor = 0;
    announcements_end(multicast);
    while ((query = id_map_next(&multicast->queries, &cursor))) {
        poller_unset(multicast->poller, &query->timer);
        free(query);
    }
    id_map_fini(&multicast->queries);
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
    multicast->asks.per_second = ASKS_PER_SECOND;
    int result = seal_init(&multicast->seal, config->key);
    if (result < 0) {
        free(multicast);
        return why_fail(why, result, "libsodium cannot be initialised");
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
