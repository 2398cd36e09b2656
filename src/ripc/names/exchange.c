/* exchange: claims that contexts tell each other over the lifeline between them.
 *
 * A name service such as multicast carries claims to every host. A file does not: it only says
 * where processes listen. So a context whose list has a file (it *spreads* its claims) tells all
 * its claims to every peer, and asks every peer for theirs (NAMES_LISTEN). A context without a file
 * tells its claims to the peers that asked, and accepts the claims of its peers: this is how it
 * finds the sender of a message that it answers. The claims of a peer are forgotten when its
 * lifeline breaks (names_forget).
 *
 * A context that spreads asks its peers before it claims an id of a service:
 *
 *     NAMES_PROBE    to all peers; each answers
 *     NAMES_VERDICT  -EADDRINUSE if the peer holds the id, or claims it now and has the lower
 *                    context number
 *
 * The claim is settled when all peers have answered or are gone. A peer that does not answer for
 * PATIENCE_NSEC hangs; it does not keep others from claiming.
 *
 * Two contexts may claim an id before they are connected. When one hears the claim of the other,
 * the newer binding yields, unless it is older than a few seconds (claiming_yields). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/list.h"
#include "ripc/names/claiming.h"
#include "ripc/names/holding.h"
#include "ripc/names/names_impl.h"

#define PATIENCE_NSEC (2 * NSEC_PER_SEC)

struct names_line {
    struct list node;
    struct context_address address; /* of the peer, from its greeting */
    struct context_address dialled; /* family 0: the peer connected */
    void *peer;
    nsec since;
    bool wants; /* the peer asked for our claims */
    bool told;  /* the peer has told all its claims */
};

/* A claim of ours to which peers may object. */
struct probe {
    struct holding holding;
    nsec until;
    struct names_line **lines; /* those that have not answered; owned */
    size_t count;
    size_t capacity;
};

struct exchange {
    struct name_service service;
    struct names *names;
    struct poller *poller;
    struct poller_timer timer; /* for probes without an answer; always set */
    struct list lines;
    struct id_map probes;
    bool spreads;
};

static struct exchange *exchange_of(const struct name_service *service)
{
    return container_of((struct name_service *)(uintptr_t)service, struct exchange, service);
}

static struct exchange *exchange_in(const struct names *names)
{
    return exchange_of(names_exchange(names));
}

/* ---- what we say ---- */

static void claim_say(struct exchange *exchange, const struct names_line *line,
                      enum names_word word, const struct claim *claim)
{
    names_say(exchange->names, line->peer,
              &(struct names_saying){.word = word,
                                     .id = claim->id,
                                     .member = claim->member,
                                     .incarnation = claim->incarnation,
                                     .group = claim->group});
}

static void claim_say_all(struct exchange *exchange, enum names_word word,
                          const struct claim *claim)
{
    list_each(&exchange->lines, node)
    {
        const struct names_line *line = container_of(node, struct names_line, node);
        if (exchange->spreads || line->wants)
            claim_say(exchange, line, word, claim);
    }
}

/* ---- our claims ---- */

static void probe_free(struct exchange *exchange, struct probe *probe)
{
    holdings_take(&exchange->probes, &probe->holding);
    free(probe->lines);
    free(probe);
}

/* Ends the probe and reports its outcome. The callback may announce and withdraw. */
static void probe_end(struct exchange *exchange, struct probe *probe, int status)
{
    struct claim claim = probe->holding.claim;
    probe_free(exchange, probe);
    names_settled(exchange->names, &exchange->service, claim.id, claim.member, status);
}

/* Asks the peer, unless it is this context itself. */
static bool probe_ask(struct exchange *exchange, struct probe *probe, struct names_line *line)
{
    const struct claim *claim = &probe->holding.claim;
    if (line->address.context == claim->address.context)
        return true;
    if (!array_reserve(&probe->lines, &probe->capacity, probe->count + 1, sizeof(void *)))
        return false;
    probe->lines[probe->count++] = line;
    claim_say(exchange, line, NAMES_PROBE, claim);
    return true;
}

/* The peer does not object, or is gone. Returns true if the probe ended. */
static bool probe_passed(struct exchange *exchange, struct probe *probe,
                         const struct names_line *line)
{
    for (size_t i = 0; i < probe->count; i++)
        if (probe->lines[i] == line) {
            probe->lines[i] = probe->lines[--probe->count];
            if (probe->count)
                return false;
            probe_end(exchange, probe, 0);
            return true;
        }
    return false;
}

static struct probe *probe_next(const struct id_map *probes, size_t *cursor)
{
    struct holding *holding = id_map_next(probes, cursor);
    return holding ? container_of(holding, struct probe, holding) : NULL;
}

/* Peers that have not answered for long enough hang. */
static void exchange_late(void *owner)
{
    struct exchange *exchange = owner;
    size_t cursor = 0;
    struct probe *probe;
    nsec now = clock_now();
    int result = poller_set(exchange->poller, &exchange->timer, NSEC_FAR);
    assert(result == 0); /* the slot that the timer had is still free */
    while ((probe = probe_next(&exchange->probes, &cursor))) {
        if (probe->until > now) {
            poller_set_by(exchange->poller, &exchange->timer, probe->until);
            continue;
        }
        probe_end(exchange, probe, 0);
        cursor = 0; /* the callback may have changed the map */
    }
}

static int exchange_announce(struct name_service *service, const struct claim *claim)
{
    struct exchange *exchange = exchange_of(service);
    if (!exchange->spreads || claim->group)
        return 0;
    struct probe *probe = array_new(1, sizeof *probe);
    if (!probe)
        return -ENOMEM;
    probe->holding.claim = *claim;
    probe->until = clock_after(PATIENCE_NSEC);
    if (!holdings_put(&exchange->probes, &probe->holding)) {
        free(probe);
        return -ENOMEM;
    }
    list_each(&exchange->lines, node)
    {
        if (!probe_ask(exchange, probe, container_of(node, struct names_line, node))) {
            probe_free(exchange, probe);
            return -ENOMEM;
        }
    }
    if (probe->count == 0) {
        probe_free(exchange, probe);
        return 0;
    }
    poller_set_by(exchange->poller, &exchange->timer, probe->until);
    return NAME_SERVICE_LATER;
}

static struct probe *probe_find(const struct exchange *exchange, uint64_t id, uint64_t member)
{
    struct holding *holding = holdings_find(&exchange->probes, id, member);
    return holding ? container_of(holding, struct probe, holding) : NULL;
}

static void exchange_withdraw(struct name_service *service, const struct claim *claim)
{
    struct exchange *exchange = exchange_of(service);
    struct probe *probe = probe_find(exchange, claim->id, claim->member);
    struct claim own;
    if (probe)
        probe_free(exchange, probe);
    if (names_own(exchange->names, claim->id, claim->member, &own) == OWN_SETTLED)
        claim_say_all(exchange, NAMES_WITHDRAW, claim);
}

static void exchange_settled(struct name_service *service, const struct claim *claim)
{
    claim_say_all(exchange_of(service), NAMES_CLAIM, claim);
}

/* ---- lines ---- */

struct telling {
    struct exchange *exchange;
    struct names_line *line;
};

static void telling_claim(void *owner, const struct claim *claim)
{
    struct telling *telling = owner;
    struct claim own;
    struct probe *probe = probe_find(telling->exchange, claim->id, claim->member);
    if (names_own(telling->exchange->names, claim->id, claim->member, &own) == OWN_SETTLED)
        claim_say(telling->exchange, telling->line, NAMES_CLAIM, claim);
    else if (probe) /* without memory this peer is not asked; the others still are */
        (void)probe_ask(telling->exchange, probe, telling->line);
}

static void line_tell(struct exchange *exchange, struct names_line *line)
{
    struct telling telling = {exchange, line};
    names_each_mine(exchange->names, &exchange->service, telling_claim, &telling);
    names_say(exchange->names, line->peer, &(struct names_saying){.word = NAMES_TOLD});
}

struct names_line *names_line_up(struct names *names, const struct context_address *address,
                                 const struct context_address *dialled, void *peer)
{
    struct exchange *exchange = exchange_in(names);
    struct names_line *line = array_new(1, sizeof *line);
    if (!line)
        return NULL;
    line->address = *address;
    if (dialled)
        line->dialled = *dialled;
    line->peer = peer;
    line->since = clock_now();
    list_append(&exchange->lines, &line->node);
    if (exchange->spreads) {
        names_say(names, peer, &(struct names_saying){.word = NAMES_LISTEN});
        line_tell(exchange, line);
    }
    names_lines_changed(names, NULL);
    return line;
}

void names_line_down(struct names *names, struct names_line *line)
{
    struct exchange *exchange = exchange_in(names);
    size_t cursor = 0;
    struct probe *probe;
    list_remove(&line->node);
    while ((probe = probe_next(&exchange->probes, &cursor)))
        if (probe_passed(exchange, probe, line))
            cursor = 0; /* the callback may have changed the map */
    free(line);
    names_lines_changed(names, NULL);
}

void names_line_failed(struct names *names, const struct context_address *dialled, int reason)
{
    names_lacks(names, reason);
    names_lines_changed(names, dialled);
}

enum line_state exchange_line_at(const struct name_service *service,
                                 const struct context_address *address)
{
    enum line_state state = LINE_NONE;
    list_each(&exchange_of(service)->lines, node)
    {
        const struct names_line *line = container_of(node, struct names_line, node);
        if (!context_address_equal(&line->address, address) &&
            !context_address_equal(&line->dialled, address))
            continue;
        if (line->told || clock_now() - line->since > PATIENCE_NSEC) /* or it hangs */
            return LINE_TOLD;
        state = LINE_UNTOLD;
    }
    return state;
}

void exchange_spread(struct name_service *service)
{
    exchange_of(service)->spreads = true;
}

/* ---- what peers say ---- */

/* Two contexts that claim an id at the same time judge each other by the same rule, so one of them
 * wins. */
static int probe_judge(const struct exchange *exchange, const struct claim *claim)
{
    struct claim own;
    switch (names_own(exchange->names, claim->id, 0, &own)) {
    case OWN_NONE:
        return 0;
    case OWN_PENDING:
        return own.address.context < claim->address.context ? -EADDRINUSE : 0;
    case OWN_SETTLED:
        break;
    }
    return own.address.context == claim->address.context ? 0 : -EADDRINUSE;
}

static void verdict_heard(struct exchange *exchange, const struct names_line *line,
                          const struct names_saying *saying)
{
    struct probe *probe = probe_find(exchange, saying->id, saying->member);
    if (!probe)
        return; /* withdrawn, or decided without this peer */
    if (saying->status)
        probe_end(exchange, probe, -EADDRINUSE);
    else
        probe_passed(exchange, probe, line);
}

/* Gives an id of ours up if the other context claimed it a short time before us. */
static void claim_yield(struct exchange *exchange, const struct claim *other)
{
    struct claim own;
    uint64_t now = (uint64_t)clock_wall();
    if (!exchange->spreads || other->group ||
        names_own(exchange->names, other->id, other->member, &own) != OWN_SETTLED ||
        own.address.context == other->address.context ||
        !claiming_yields(&own, other, now, now, false))
        return;
    claim_say_all(exchange, NAMES_WITHDRAW, &own);
    names_settled(exchange->names, &exchange->service, own.id, own.member, -ESTALE);
}

static int claim_heard(struct exchange *exchange, struct names_line *line,
                       const struct names_saying *saying)
{
    struct claim claim = {.id = saying->id,
                          .member = saying->member,
                          .incarnation = saying->incarnation,
                          .group = saying->group,
                          .address = line->address};
    struct names_saying verdict = {
        .word = NAMES_VERDICT, .id = saying->id, .member = saying->member};
    if (saying->word == NAMES_WITHDRAW) {
        names_given_up(exchange->names, &exchange->service, claim.id, claim.member,
                       claim.address.context);
        return 0;
    }
    if (!claim_is_sound(&claim))
        return -EPROTO;
    if (saying->word == NAMES_PROBE) {
        verdict.status = probe_judge(exchange, &claim);
        names_say(exchange->names, line->peer, &verdict);
    } else if (!names_denies(exchange->names, &claim)) {
        claim_yield(exchange, &claim);
        /* Without memory, or if the id is ours, the claim is not used. */
        (void)!names_learn(exchange->names, &exchange->service, &claim, NSEC_NEVER, false);
    }
    return 0;
}

int names_line_heard(struct names *names, struct names_line *line,
                     const struct names_saying *saying)
{
    struct exchange *exchange = exchange_in(names);
    switch (saying->word) {
    case NAMES_LISTEN:
        line->wants = true;
        if (!exchange->spreads)
            line_tell(exchange, line);
        return 0;
    case NAMES_TOLD:
        line->told = true;
        names_lines_changed(names, NULL);
        return 0;
    case NAMES_CLAIM:
    case NAMES_WITHDRAW:
    case NAMES_PROBE:
        return claim_heard(exchange, line, saying);
    case NAMES_VERDICT:
        verdict_heard(exchange, line, saying);
        return 0;
    default:
        return -EPROTO;
    }
}

/* ---- the service ---- */

static void holding_free(void *owner, struct holding *holding)
{
    struct probe *probe = container_of(holding, struct probe, holding);
    free(probe->lines);
    free(probe);
}

static void exchange_close(struct name_service *service)
{
    struct exchange *exchange = exchange_of(service);
    struct list *node;
    while ((node = list_take(&exchange->lines)))
        free(container_of(node, struct names_line, node));
    holdings_fini(&exchange->probes, holding_free, exchange);
    poller_unset(exchange->poller, &exchange->timer);
    free(exchange);
}

static int exchange_open(struct name_service **service, struct names *names, const char *argument,
                         const struct names_config *config, struct why *why)
{
    struct exchange *exchange = array_new(1, sizeof *exchange);
    if (!exchange)
        return why_fail(why, -ENOMEM, "not enough memory");
    exchange->service.ops = &name_service_exchange;
    exchange->names = names;
    exchange->poller = config->poller;
    exchange->timer = (struct poller_timer){.fired = exchange_late, .owner = exchange};
    list_init(&exchange->lines);
    if (poller_set(exchange->poller, &exchange->timer, NSEC_FAR)) {
        free(exchange);
        return why_fail(why, -ENOMEM, "not enough memory");
    }
    *service = &exchange->service;
    return 0;
}

/* Peers tell their claims without being asked for one. */
static void exchange_ask(struct name_service *service, uint64_t id)
{
}

static void exchange_list(struct name_service *service)
{
}

static int exchange_alive(struct name_service *service, const struct claim *claim)
{
    return 0;
}

const struct name_service_ops name_service_exchange = {
    .word = "",
    .once = true,
    .open = exchange_open,
    .close = exchange_close,
    .announce = exchange_announce,
    .withdraw = exchange_withdraw,
    .settled = exchange_settled,
    .ask = exchange_ask,
    .list = exchange_list,
    .alive = exchange_alive,
};
