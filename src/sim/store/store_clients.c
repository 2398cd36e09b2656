#include "sim/store/store_clients.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/text.h"
#include "services/store/service/store.h"
#include "sim/store/store_pieces.h"
#include "sim/store/store_requests.h"
#include "sim/store/store_scans.h"

#define WRITERS  6
#define READERS  4   /* they read in the end: */
#define READS    120 /* all keys in use, and some former ones */
#define CLIENTS  (WRITERS + READERS)
#define LANES    2     /* requests of one client under way, at most; ... */
#define ECHO     LANES /* ... and one that was answered, and comes again */
#define TRIES    5     /* of one request, at most */
#define ECHOES   8     /* one of so many changes comes again */
#define REMOVALS 8     /* clients that hurry remove with one of so many requests ... */
#define RECENT   200   /* ... one of so many keys, those that came last */
#define MILLI    INT64_C(1000000)

#define STREAM 0x5c11e775

#define STEADY        (12000 * MILLI) /* how long the run goes on when nothing fails any more */
#define AVAILABLE     (8000 * MILLI)  /* from then on, every request must be answered for good */
#define FINAL         (9500 * MILLI)  /* the last requests begin */
#define PATIENCE_LAST (2000 * MILLI)
#define LATE          (300 * MILLI) /* behind its patience, an answer to a client is overdue */

#define TIMER_AVAILABLE UINT64_C(0xfffffffffffffff0)
#define TIMER_FINAL     UINT64_C(0xfffffffffffffff1)

/* What a client does with one request after the other. */
struct lane {
    bool busy;     /* with `request` */
    bool waiting;  /* for an answer; otherwise for the next try, or the next request */
    bool hurried;  /* it does not wait for as long as it says to the store */
    bool strict;   /* the store must be available */
    bool fair;     /* nothing fails any more */
    bool doubtful; /* an earlier try may have taken effect, or may still do so */
    unsigned tries;
    unsigned reads;  /* of readers: so many so far */
    uint64_t wake;   /* the timer that counts */
    uint64_t ticket; /* of the last try */
    uint32_t number; /* in the history */
    struct store_request request;
    uint8_t *value; /* room for what one request writes */
};

struct client {
    uint32_t program;
    weft_server server;
    unsigned index, lanes_used;
    uint64_t name;
    uint32_t requests; /* the number of the last one */
    uint64_t seen[STORE_KEYS_MAX];
    struct lane lanes[LANES + 1];
};

struct attempt {
    struct client *client;
    struct lane *lane;
    uint32_t number; /* of the request in the history */
    bool again, answered;
    struct store_pieces pieces;
};

static struct {
    struct weft_simulation *simulation;
    struct rng rng;
    struct store_keys keys;
    struct client clients[CLIENTS];
    struct store_account account;
    struct attempt *attempts; /* by ticket, from 1 */
    size_t attempt_count, attempts_room;
    bool steady, available, final;
    uint64_t segment; /* bytes */
    bool large;       /* some values are */
    bool hurry;       /* clients hardly rest */
    bool losses;      /* a key may be unavailable at the end */
    bool expires;     /* some keys have a time to live */
} all;

static int64_t now(void)
{
    return weft_sim_now(all.simulation);
}

static int64_t below(int64_t bound)
{
    return (int64_t)rng_below(&all.rng, (uint64_t)bound);
}

/* A timer replaces the one before it of the same lane. */
static void wait_for(struct client *client, struct lane *lane, int64_t wait)
{
    lane->wake++;
    uint64_t cookie = lane->wake << 8 | client->index << 2 | (uint64_t)(lane - client->lanes);
    int result = weft_sim_timer(all.simulation, now() + wait, cookie);
    assert(result == 0);
}

__attribute__((format(printf, 3, 4))) static void wrong(const struct client *client,
                                                        uint32_t number, const char *format, ...)
{
    struct text text = {0};
    char what[120];
    va_list words;
    va_start(words, format);
    vsnprintf(what, sizeof what, format, words);
    va_end(words);
    account_blame(&all.account, number, &text);
    weft_sim_fail(all.simulation, "client %u at server %u: %s: %.*s", client->index, client->server,
                  what, (int)text.size - 1, text.data);
    text_fini(&text);
}

static size_t value_room(void)
{
    return all.large ? REQUEST_LARGE_MAX : REQUEST_VALUE_MAX;
}

/* Behind its patience, an answer is overdue. A large value may be on its way for longer. */
static int64_t late(void)
{
    return all.large ? 12 * LATE : LATE;
}

/* ---- moving ---- */

static weft_server server_draw(void)
{
    uint32_t count = weft_sim_server_count(all.simulation);
    weft_server server = (weft_server)below(count);
    for (uint32_t i = 0; i < count && !weft_sim_is_up(all.simulation, server); i++)
        server = (server + 1) % count;
    return server;
}

static void attach(struct client *client, weft_server server)
{
    int64_t program = weft_sim_client(all.simulation, server);
    assert(program >= 0);
    client->program = (uint32_t)program;
    client->server = server;
}

/* The program disconnects: answers to what it has under way are lost. */
static void move(struct client *client)
{
    (void)weft_sim_close(all.simulation, client->program);
    attach(client, server_draw());
    weft_sim_record(all.simulation, "client %u goes to server %u", client->index, client->server);
    all.account.counts.moves++;
    for (unsigned i = 0; i <= ECHO; i++) {
        struct lane *lane = &client->lanes[i];
        if (!lane->busy || !lane->waiting)
            continue;
        lane->doubtful = true;
        lane->waiting = false;
        wait_for(client, lane, below(10 * MILLI));
    }
}

/* ---- what was answered is sent again ---- */

static bool is_echo(const struct client *client, const struct lane *lane)
{
    return lane == &client->lanes[ECHO];
}

/* A change that is done may come again as long as the client remembers it: so could a copy that
 * was on its way. So may one that was refused when it came again; of those there are few, and they
 * wait until another server perhaps leads. */
static void echo_plan(struct client *client, const struct lane *lane, bool refused)
{
    struct lane *echo = &client->lanes[ECHO];
    if (echo->busy || lane->request.op == STORE_GET || all.final || (!refused && below(ECHOES)))
        return;
    echo->busy = true;
    echo->fair = all.steady;
    echo->tries = 1;
    echo->number = lane->number;
    echo->request = lane->request;
    if (lane->request.value_size) {
        memcpy(echo->value, lane->request.value, lane->request.value_size);
        echo->request.value = echo->value;
    }
    wait_for(client, echo, below(MILLI << (refused && !all.steady ? 12 : below(10))));
}

static void echo_end(struct client *client)
{
    client->lanes[ECHO].busy = client->lanes[ECHO].waiting = false;
}

static void echo_judge(struct client *client, enum history_outcome outcome, uint64_t version,
                       const struct history_value *result)
{
    const struct lane *echo = &client->lanes[ECHO];
    const struct history_op *op = &all.account.history.ops[echo->number];
    bool same = outcome == op->outcome && version == op->version &&
                (!result || history_same_value(*result, op->result));
    if (!same)
        wrong(client, echo->number,
              "it has another answer when it comes again: %u, version %" PRIu64, outcome, version);
    all.account.counts.echoes++;
    echo_end(client);
}

/* ---- the end of a request ---- */

static void rest(struct client *client, struct lane *lane)
{
    lane->busy = lane->waiting = false;
    int64_t most = all.steady && !all.final ? 40 * MILLI : all.hurry ? MILLI / 2 : 5 * MILLI;
    wait_for(client, lane, below(most));
}

static void end(struct client *client, struct lane *lane, enum history_outcome outcome,
                uint64_t version, const struct history_value *result)
{
    const struct history_op *op = &all.account.history.ops[lane->number];
    if (is_echo(client, lane)) {
        echo_end(client);
        return;
    }
    if (outcome == HISTORY_REFUSED && lane->doubtful)
        outcome = HISTORY_UNKNOWN;
    account_end(&all.account, lane->number, outcome, version, result, now());
    account_close(&all.account, lane->number, now());
    all.account.counts.in_storm += !all.steady && store_fate_is_known(outcome);
    if (outcome == HISTORY_DONE || outcome == HISTORY_CONFLICT)
        client->seen[op->key] = version;
    if (op->kind != HISTORY_GET && outcome == HISTORY_UNKNOWN)
        store_keys_doubt(&all.keys, (unsigned)op->key);
    if (lane->strict && !store_fate_is_known(outcome))
        wrong(client, lane->number, "the store is not available again");
    if (outcome == HISTORY_DONE || (store_fate_is_known(outcome) && lane->tries > 1))
        echo_plan(client, lane, outcome != HISTORY_DONE);
    rest(client, lane);
}

/* A try has come to nothing; its effect is open if it is doubtful. */
static void fail_try(struct client *client, struct lane *lane, bool doubtful)
{
    lane->waiting = false;
    lane->doubtful |= doubtful;
    if (all.available || lane->tries == TRIES || (!lane->hurried && below(4) == 0)) {
        end(client, lane, HISTORY_REFUSED, 0, NULL);
        return;
    }
    wait_for(client, lane, below(60 * MILLI));
    if (below(3))
        move(client);
}

/* ---- sending ---- */

static uint64_t attempt_add(struct client *client, struct lane *lane)
{
    bool fits = array_reserve(&all.attempts, &all.attempts_room, all.attempt_count + 1,
                              sizeof *all.attempts);
    assert(fits);
    all.attempts[all.attempt_count++] = (struct attempt){
        .client = client, .lane = lane, .number = lane->number, .again = lane->tries > 0};
    return all.attempt_count;
}

static int send_bytes(struct client *client, struct lane *lane)
{
    struct store_request *request = &lane->request;
    request->again = lane->tries > 0;
    lane->ticket = attempt_add(client, lane);
    return pieces_send(all.simulation, client->program, lane->ticket, request);
}

static void try(struct client *client, struct lane *lane)
{
    int result = send_bytes(client, lane);
    assert(result == 0 || result == -ECONNREFUSED);
    if (result < 0) { /* the server is down */
        lane->waiting = false;
        if (below(2))
            move(client);
        wait_for(client, lane, below(20 * MILLI));
        return;
    }
    if (!is_echo(client, lane))
        account_sent(&all.account, lane->number, client->server);
    lane->tries++;
    lane->waiting = true;
    lane->hurried = !lane->strict && below(40) == 0;
    int64_t wait = lane->request.patience + late();
    wait_for(client, lane, lane->hurried ? below(5 * MILLI) : wait);
}

static unsigned key_to_read(unsigned reads)
{
    return reads < STORE_SLOTS ? all.keys.current[reads] : (unsigned)below(all.keys.count);
}

static unsigned key_to_remove(void)
{
    unsigned recent = all.keys.count < RECENT ? all.keys.count : RECENT;
    return all.keys.count - 1 - (unsigned)below(recent);
}

static void begin(struct client *client, struct lane *lane)
{
    static const int64_t patience[] = {100 * MILLI, 200 * MILLI, 400 * MILLI, 1000 * MILLI,
                                       2000 * MILLI};
    struct request_maker maker = {&all.keys,     &all.rng,
                                  client->index, client->requests + 1,
                                  client->seen,  all.expires && !all.available,
                                  all.large,     all.hurry && !all.steady};
    struct history_op op;
    if (client->index >= WRITERS)
        request_read_of(&maker, key_to_read(lane->reads++), &lane->request, &op);
    else if (below(20) == 0)
        request_read_of(&maker, (unsigned)below(all.keys.count), &lane->request, &op);
    else if (maker.busy && below(REMOVALS) == 0)
        request_removal_of(&maker, key_to_remove(), &lane->request, &op);
    else
        request_draw(&maker, &lane->request, lane->value, &op);
    if (op.kind == HISTORY_PUT)
        store_keys_put(&all.keys, (unsigned)op.key);
    client->requests++;
    lane->request.client = client->name;
    lane->request.patience = all.available ? PATIENCE_LAST : patience[below(5)];
    lane->strict = all.available && !all.losses;
    lane->fair = all.steady;
    lane->busy = true;
    lane->doubtful = false;
    lane->tries = 0;
    op.client = client->index;
    lane->number = account_begin(&all.account, &op, now());
    account_expires(&all.account, lane->number, (int64_t)lane->request.ttl);
    try(client, lane);
}

/* ---- events ---- */

static void overdue(struct client *client, struct lane *lane)
{
    if (lane->fair && !lane->hurried) {
        wrong(client, lane->number, "there is no answer");
        return;
    }
    fail_try(client, lane, true);
}

static bool is_over(const struct client *client, const struct lane *lane)
{
    return client->index < WRITERS ? all.final : lane->reads == READS;
}

/* May the client send no other request until an older one is over? */
static bool is_far_ahead(const struct client *client)
{
    uint32_t next = client->requests + 1;
    for (unsigned i = 0; i <= ECHO; i++) {
        const struct lane *lane = &client->lanes[i];
        if (lane->busy && next - lane->request.number >= STORE_WINDOW)
            return true;
    }
    return false;
}

static void lane_wake(struct client *client, struct lane *lane)
{
    if (lane->waiting)
        overdue(client, lane);
    else if (lane->busy)
        try(client, lane);
    else if (is_echo(client, lane))
        return;
    else if (is_far_ahead(client))
        rest(client, lane);
    else if (!is_over(client, lane))
        begin(client, lane);
}

static void client_start(struct client *client)
{
    for (unsigned i = 0; i < client->lanes_used; i++)
        rest(client, &client->lanes[i]);
}

static void readers_start(void)
{
    uint32_t servers = weft_sim_server_count(all.simulation), first = (uint32_t)below(servers);
    for (unsigned i = WRITERS; i < CLIENTS; i++) {
        uint32_t stride = servers > READERS ? servers / READERS : 1;
        attach(&all.clients[i], (first + (i - WRITERS) * stride) % servers);
        client_start(&all.clients[i]);
    }
}

static void timer(struct weft_simulation *simulation, uint64_t cookie)
{
    if (cookie == TIMER_AVAILABLE) {
        all.available = true;
        return;
    }
    if (cookie == TIMER_FINAL) {
        all.final = true;
        readers_start();
        return;
    }
    if (scans_timer(cookie))
        return;
    struct client *client = &all.clients[(cookie & 255) >> 2];
    struct lane *lane = &client->lanes[cookie & 3];
    if (lane->wake == cookie >> 8)
        lane_wake(client, lane);
}

/* The client has the answer to another try, or waits no more. */
static void late_answer(const struct client *client, uint32_t number,
                        const struct store_answer *said)
{
    const struct history_op *op = &all.account.history.ops[number];
    if (op->kind == HISTORY_GET || said->status != STORE_DONE)
        return;
    if (op->outcome == HISTORY_UNKNOWN)
        account_end(&all.account, number, HISTORY_DONE, said->version, NULL, now());
    else if (op->outcome != HISTORY_DONE || op->version != said->version)
        wrong(client, number, "another try is done, too, with version %" PRIu64, said->version);
}

/* A refusal of the first try says nothing of another one, which another leader may do. */
static bool is_overtaken(const struct lane *lane, const struct attempt *attempt, uint64_t ticket,
                         enum history_outcome outcome)
{
    return lane->request.op != STORE_GET && outcome != HISTORY_DONE && !attempt->again &&
           ticket != lane->ticket;
}

/* What the server says before it answers. */
static void no_answer(struct attempt *attempt, uint64_t ticket, enum pieces_news news,
                      uint64_t upload)
{
    struct client *client = attempt->client;
    struct lane *lane = attempt->lane;
    if (news == PIECES_WRONG)
        wrong(client, attempt->number, "the answer is malformed");
    if (!lane->busy || !lane->waiting || lane->ticket != ticket)
        return; /* the client does not wait for it any more */
    if (news == PIECES_AGAIN) {
        fail_try(client, lane, false);
    } else if (news == PIECES_SEND) {
        /* If the server ends meanwhile, down() notices. */
        (void)pieces_send_parts(all.simulation, client->program, ticket, &lane->request, upload);
        if (!lane->hurried)
            wait_for(client, lane, lane->request.patience + late());
    }
}

static void answer(struct weft_simulation *simulation, uint32_t program, uint64_t ticket,
                   const void *bytes, uint32_t size)
{
    struct store_answer said;
    enum history_outcome outcome;
    struct history_value result;
    bool has_result;
    uint64_t upload;
    if (scans_answer(ticket, bytes, size))
        return;
    assert(ticket >= 1 && ticket <= all.attempt_count);
    struct attempt *attempt = &all.attempts[ticket - 1];
    struct client *client = attempt->client;
    struct lane *lane = attempt->lane;
    if (attempt->answered)
        wrong(client, attempt->number, "there is a second answer");
    enum pieces_news news = pieces_hear(&attempt->pieces, bytes, size, &said, &upload);
    if (news != PIECES_ANSWER) {
        no_answer(attempt, ticket, news, upload);
        return;
    }
    attempt->answered = true;
    if (!lane->busy || lane->number != attempt->number) {
        late_answer(client, attempt->number, &said);
        return;
    }
    const char *odd = request_outcome(&lane->request, &said, &outcome, &result, &has_result);
    if (odd)
        wrong(client, lane->number, "%s (%s)", odd, store_status_text(said.status));
    else if (is_overtaken(lane, attempt, ticket, outcome))
        return;
    else if (is_echo(client, lane) && store_fate_is_known(outcome))
        echo_judge(client, outcome, said.version, has_result ? &result : NULL);
    else if (store_fate_is_known(outcome))
        end(client, lane, outcome, said.version, has_result ? &result : NULL);
    else if (ticket == lane->ticket)
        fail_try(client, lane, outcome == HISTORY_UNKNOWN);
}

static void down(struct weft_simulation *simulation, weft_server server)
{
    scans_down(server);
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &all.clients[i];
        for (unsigned j = 0; j <= ECHO; j++) {
            struct lane *lane = &client->lanes[j];
            if (client->server == server && lane->waiting)
                fail_try(client, lane, true);
        }
    }
}

static void phase(struct weft_simulation *simulation, enum weft_sim_phase phase)
{
    if (phase != WEFT_SIM_STEADY)
        return;
    all.steady = true;
    int result = weft_sim_timer(simulation, now() + AVAILABLE, TIMER_AVAILABLE);
    assert(result == 0);
    result = weft_sim_timer(simulation, now() + FINAL, TIMER_FINAL);
    assert(result == 0);
}

/* An empty disk, or one that damages what it keeps, may have had the last copy of a key. */
static void fault(struct weft_simulation *simulation, const struct weft_fault *fault)
{
    all.losses |= fault->kind == WEFT_FAULT_EMPTY || fault->kind == WEFT_FAULT_DISK_ROT;
}

static int start(struct weft_simulation *simulation)
{
    all.simulation = simulation;
    all.rng = rng_make(weft_sim_seed(simulation), STREAM);
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &all.clients[i];
        client->index = i;
        client->name = rng_next(&all.rng) | 1;
        client->lanes_used = i < WRITERS ? 1 + i % LANES : 1;
        for (unsigned j = 0; j <= ECHO && i < WRITERS; j++) {
            client->lanes[j].value = array_new(value_room(), 1);
            assert(client->lanes[j].value);
        }
        if (i >= WRITERS)
            continue;
        attach(client, server_draw());
        client_start(client);
    }
    scans_begin(&(struct store_scene){
        .simulation = simulation,
        .keys = &all.keys,
        .account = &all.account,
        .steady = &all.steady,
        .available = &all.available,
        .final = &all.final,
        .losses = &all.losses,
        .seed = weft_sim_seed(simulation),
    });
    return 0;
}

/* ---- the end ---- */

/* The sum of a counter over all servers. */
static uint64_t sum_of(struct weft_simulation *simulation, const char *counter)
{
    uint64_t sum = 0, value;
    for (uint32_t server = 0; server < weft_sim_server_count(simulation); server++) {
        if (weft_sim_stat(simulation, server, store_service.name, counter, &value))
            weft_sim_fail(simulation, "server %u does not tell its %s", server, counter);
        else
            sum += value;
    }
    return sum;
}

/* A log uses the space of dead records again when they are half of it, and keeps spare segments. */
#define SPACE(live) (2 * (live) + 8 * all.segment)

static void space_check(struct weft_simulation *simulation)
{
    uint64_t live = 0, bytes = 0;
    for (uint32_t server = 0; server < weft_sim_server_count(simulation); server++)
        if (weft_sim_stat(simulation, server, store_service.name, "log_live", &live) ||
            weft_sim_stat(simulation, server, store_service.name, "log_bytes", &bytes) ||
            bytes > SPACE(live))
            weft_sim_fail(simulation, "server %u: the log has %" PRIu64 " bytes for %" PRIu64,
                          server, bytes, live);
}

/* No request is under way, so each group has all its copies, and these are equal. */
static void copies_check(struct weft_simulation *simulation)
{
    uint64_t led = sum_of(simulation, "groups_led");
    uint64_t missing = sum_of(simulation, "copies_missing");
    bool is_still = all.account.clock_error >= 0; /* or a key may expire just now */
    if (led != all.keys.group_count)
        weft_sim_fail(simulation, "%" PRIu64 " groups of %u have a leader", led,
                      all.keys.group_count);
    else if (missing)
        weft_sim_fail(simulation, "%" PRIu64 " copies of groups are missing", missing);
    else if (is_still && sum_of(simulation, "digest") != sum_of(simulation, "digest_due"))
        weft_sim_fail(simulation, "in-sync servers of a group have different keys or versions");
    else if (sum_of(simulation, "compared"))
        return; /* servers scrub all the time, and that needs memory */
    else if (is_still && (sum_of(simulation, "under_way") || sum_of(simulation, "buffers_used")))
        weft_sim_fail(simulation, "servers keep requests or memory that are under way no more");
}

/* What the servers have found out about their copies since they began. */
static void hear_servers(struct weft_simulation *simulation)
{
    struct store_counts *counts = &all.account.counts;
    for (weft_server i = 0; i < weft_sim_server_count(simulation); i++) {
        uint64_t compared = 0, mended = 0, differing = 0;
        (void)!weft_sim_stat(simulation, i, store_service.name, "compared", &compared);
        (void)!weft_sim_stat(simulation, i, store_service.name, "mended", &mended);
        (void)!weft_sim_stat(simulation, i, store_service.name, "differing", &differing);
        counts->compared += compared;
        counts->mended += mended;
        if (differing)
            weft_sim_fail(simulation, "server %u: copies differ in %llu keys", i,
                          (unsigned long long)differing);
    }
}

static void finish(struct weft_simulation *simulation)
{
    hear_servers(simulation);
    for (unsigned i = 0; i < CLIENTS; i++) {
        const struct client *client = &all.clients[i];
        for (unsigned j = 0; j < client->lanes_used; j++)
            if (client->lanes[j].busy && client->lanes[j].strict)
                wrong(client, client->lanes[j].number, "there is no answer until the end");
        if (i >= WRITERS && client->lanes[0].reads < READS && all.final && !all.losses)
            weft_sim_fail(simulation, "client %u has not read all keys", i);
    }
    if (all.final && !all.losses) {
        copies_check(simulation);
        space_check(simulation);
    }
    all.account.counts.expired = sum_of(simulation, "expired");
    scans_judge();
    if (!account_judge(&all.account)) {
        const char *verdict = all.account.verdict.data;
        weft_sim_fail(simulation, "%.*s", (int)strcspn(verdict, "\n"), verdict);
    }
}

static const struct weft_checker_ops ops = {
    .start = start,
    .answer = answer,
    .timer = timer,
    .down = down,
    .fault = fault,
    .phase = phase,
    .finish = finish,
};

const struct weft_checker store_clients = {
    .version = WEFT_SIMULATION_VERSION,
    .name = "store",
    .steady_nsec = STEADY,
    .ops = &ops,
};

/* ---- what tests ask ---- */

void store_clients_begin(uint32_t group_count, uint64_t segment)
{
    account_fini(&all.account);
    scans_fini();
    for (unsigned i = 0; i < CLIENTS * (LANES + 1); i++)
        free(all.clients[i / (LANES + 1)].lanes[i % (LANES + 1)].value);
    for (size_t i = 0; i < all.attempt_count; i++)
        pieces_fini(&all.attempts[i].pieces);
    free(all.attempts);
    memset(&all, 0, sizeof all);
    all.segment = segment;
    store_keys_init(&all.keys, group_count);
}

void store_clients_use_large_values(void)
{
    all.large = true;
}

void store_clients_hurry(void)
{
    all.hurry = true;
}

void store_clients_expect_losses(void)
{
    all.losses = true;
}

void store_clients_expect_expiry(int64_t error)
{
    all.expires = true;
    all.account.clock_error = error;
}

const struct store_account *store_clients_account(void)
{
    return &all.account;
}
