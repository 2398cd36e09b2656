/* directory: which program holds which name.
 *
 * A name (domain and id) hashes to a key. The key's root stores the claims on the name, decides
 * which claimant holds it, and copies the claims to the two servers that take over next, so that
 * nothing is lost when the root crashes. A program's own server repeats the program's claims every
 * second. A claim that is no longer repeated, because its server is gone, expires after a few
 * seconds. A root that has just started has no claims yet, so it waits until every claim must have
 * been repeated before it answers that a name is unclaimed.
 *
 *   program --CLAIM--> its server --CLAIM--> root --COPY--> the next two
 *                                 <-CLAIMED-
 *   program ---ASK---> its server ---ASK---> root, or a server on the way with fresh claims
 *           <-ANSWER--            <-ANSWER--
 *
 * A server repeats the questions of its programs and passes the answers on, so that programs see
 * changes. A withdrawal takes the place of its claim and is repeated in the same way, until the
 * root confirms it or the claim must have expired; its program does not wait for that.
 *
 * There are three tables, whose sizes are parameters: `mines`, the claims of programs here;
 * `wants`, the questions of programs here; and `held`, the claims on keys whose root we are or may
 * become. id 0 marks a free entry. */
#include "services/directory/directory.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/directory.h"

enum { COPIES = 2 };

#define MSEC       (1000 * 1000LL)
#define TICK_NSEC  (100 * MSEC)  /* interval of the checks for due work */
#define AGAIN_NSEC (1000 * MSEC) /* between two claims of the same name, or two questions */
#define RETRY_NSEC (200 * MSEC)  /* after a missing answer, or an answer of -EAGAIN */
#define FRESH_NSEC (1500 * MSEC) /* of a claim with which a server on the way may answer */
/* A new server has received all claims this long after it joined ... */
#define YOUNG_NSEC  (1500 * MSEC)
#define GROWN_NSEC  (5000 * MSEC)  /* ... and in any case this long after its start */
#define WANTED_NSEC (30000 * MSEC) /* how long a question is repeated */

struct name {
    uint64_t domain;
    uint64_t id; /* 0: a free entry */
};

struct mine {
    struct name name;
    uint64_t client;
    bool accepted; /* by the root, at least once */
    bool leaving;  /* withdrawn, and not confirmed yet; of no program any more */
    int64_t until; /* of a withdrawal: the claim has expired everywhere */
    int64_t due;
    struct directory_claim claim;
};

struct want {
    struct name name;
    uint64_t client;
    int64_t until;
    int64_t due;
};

struct held {
    struct name name;
    int64_t until; /* on the clock of `aged` */
    int64_t heard;
    struct directory_claim claim;
};

struct directory {
    /* Parameters. */
    int64_t lease;       /* life of a claim that is not repeated, while we run */
    int64_t names;       /* entries of `mines`, and of `wants` */
    int64_t claims_held; /* entries of `held` */
    struct mine *mines;
    struct want *wants;
    struct held *held;
    uint32_t mine_count, want_count, held_count; /* entries in use, from the first on */
    int64_t started;
    int64_t joined; /* when another server was reachable, or a claim or question came; 0: not yet */
    bool ticking;
    int64_t ticked; /* when the pending tick was set */
    int64_t aged;   /* nanoseconds for which claims were held while we ran */
    uint32_t round;
    struct directory_message message, answer; /* scratch: too large for the stack */
    uint8_t bytes[DIRECTORY_MESSAGE_MAX];
    uint64_t claims, refusals, asks, answers_on_way, garbage, overflows;
};

static bool name_equal(const struct name *one, const struct name *other)
{
    return one->id == other->id && one->domain == other->domain;
}

static struct name name_of(const struct directory_message *message)
{
    return (struct name){message->domain, message->id};
}

static struct weft_key key_of(const struct name *name)
{
    uint8_t bytes[16];
    struct writer out = writer_make(bytes, sizeof bytes);
    write_u64(&out, name->domain);
    write_u64(&out, name->id);
    return weft_key_of(bytes, sizeof bytes);
}

/* ---- sending ---- */

/* Makes a packet with the message; NULL: no buffer, and the sender's timer retries. */
static struct weft_packet *packet_of(struct weft_self *self,
                                     const struct directory_message *message)
{
    struct directory *directory = weft_memory(self);
    uint32_t size = (uint32_t)directory_write(message, directory->bytes);
    struct weft_packet *packet = weft_packet(self, size);
    if (packet)
        memcpy(weft_payload(packet), directory->bytes, size);
    return packet;
}

static void message_begin(struct directory_message *message, enum directory_operation operation,
                          const struct name *name)
{
    message->operation = operation;
    message->status = 0;
    message->round = 0;
    message->part = 0;
    message->parts = 1;
    message->count = 0;
    message->domain = name->domain;
    message->id = name->id;
}

static void message_add(struct directory_message *message, const struct directory_claim *claim)
{
    assert(message->count < DIRECTORY_CLAIMS_MAX);
    message->claims[message->count++] = *claim;
}

/* Sends a message to the root of the name, with one claim or none. Repetition makes up for
 * losses. */
static void key_tell(struct weft_self *self, enum directory_operation operation,
                     const struct name *name, const struct directory_claim *claim)
{
    struct directory *directory = weft_memory(self);
    struct weft_key key = key_of(name);
    message_begin(&directory->answer, operation, name);
    if (claim)
        message_add(&directory->answer, claim);
    struct weft_packet *packet = packet_of(self, &directory->answer);
    if (packet)
        (void)weft_send_key(self, packet, &key);
}

static void server_tell(struct weft_self *self, weft_server to, enum directory_operation operation,
                        const struct name *name, const struct directory_claim *claim, int status)
{
    struct directory *directory = weft_memory(self);
    message_begin(&directory->answer, operation, name);
    directory->answer.status = status;
    message_add(&directory->answer, claim);
    struct weft_packet *packet = packet_of(self, &directory->answer);
    if (packet)
        (void)weft_send_server(self, packet, to);
}

static void client_tell(struct weft_self *self, const struct mine *mine, int status)
{
    struct directory *directory = weft_memory(self);
    message_begin(&directory->answer, DIRECTORY_CLAIMED, &mine->name);
    directory->answer.status = status;
    message_add(&directory->answer, &mine->claim);
    uint32_t size = (uint32_t)directory_write(&directory->answer, directory->bytes);
    weft_answer(self, mine->client, 0, directory->bytes, size);
}

/* Sends to the servers that store the claim besides the root. */
static void copies_tell(struct weft_self *self, enum directory_operation operation,
                        const struct name *name, const struct directory_claim *claim)
{
    weft_server servers[1 + COPIES];
    struct weft_key key = key_of(name);
    unsigned count = weft_servers(self, &key, servers, 1 + COPIES);
    for (unsigned i = 0; i < count; i++)
        if (servers[i] != weft_here(self))
            server_tell(self, servers[i], operation, name, claim, 0);
}

static void tick_start(struct weft_self *self)
{
    struct directory *directory = weft_memory(self);
    int64_t now = weft_now(self);
    if (directory->ticking)
        return;
    directory->ticking = weft_timer(self, now + TICK_NSEC, 0) == 0;
    directory->ticked = now;
}

/* ---- claims that we hold ---- */

static struct held *held_find(struct directory *directory, const struct name *name, uint64_t member)
{
    for (uint32_t i = 0; i < directory->held_count; i++) {
        struct held *held = &directory->held[i];
        if (name_equal(&held->name, name) && held->claim.member == member)
            return held;
    }
    return NULL;
}

static void held_drop(struct directory *directory, struct held *held)
{
    *held = directory->held[--directory->held_count];
}

static bool held_put(struct weft_self *self, const struct name *name,
                     const struct directory_claim *claim)
{
    struct directory *directory = weft_memory(self);
    struct held *held = held_find(directory, name, claim->member);
    if (!held && directory->held_count == directory->claims_held) {
        directory->overflows++;
        return false;
    }
    if (!held)
        held = &directory->held[directory->held_count++];
    int64_t now = weft_now(self);
    *held = (struct held){
        .name = *name, .until = directory->aged + directory->lease, .heard = now, .claim = *claim};
    tick_start(self);
    return true;
}

/* Different members of one group do not conflict. Otherwise the holder wins, unless the claimant is
 * its own newer incarnation or the holder is unreachable. */
static bool claim_conflicts(const struct weft_self *self, const struct directory_claim *has,
                            const struct directory_claim *wants)
{
    if (!weft_reaches(self, has->server))
        return false;
    if (has->group != wants->group)
        return true;
    if (has->member != wants->member)
        return false;
    return has->server != wants->server || has->incarnation > wants->incarnation;
}

/* Are we so new that we may not have received all claims yet? */
static bool is_young(struct weft_self *self)
{
    struct directory *directory = weft_memory(self);
    int64_t now = weft_now(self);
    if (!directory->joined)
        directory->joined = now;
    return now - directory->started < GROWN_NSEC && now - directory->joined < YOUNG_NSEC;
}

/* Expired by the clock, though perhaps only because this server was paused: it does not block new
 * claims. */
static bool held_is_stale(struct weft_self *self, const struct held *held)
{
    const struct directory *directory = weft_memory(self);
    return weft_now(self) - held->heard >= directory->lease;
}

/* Decides as the root: 0, -EADDRINUSE, -EAGAIN, -ENOSPC. */
static int claim_decide(struct weft_self *self, const struct name *name,
                        const struct directory_claim *claim)
{
    struct directory *directory = weft_memory(self);
    bool young = is_young(self), known = false;
    for (uint32_t i = 0; i < directory->held_count; i++) {
        const struct held *held = &directory->held[i];
        if (!name_equal(&held->name, name))
            continue;
        if (!held_is_stale(self, held) && claim_conflicts(self, &held->claim, claim))
            return -EADDRINUSE;
        known |= held->claim.member == claim->member;
    }
    if (young && !known)
        return -EAGAIN; /* the holder may not have repeated its claim to us yet */
    return held_put(self, name, claim) ? 0 : -ENOSPC;
}

static void claim_heard(struct weft_self *self, weft_server from)
{
    struct directory *directory = weft_memory(self);
    struct name name = name_of(&directory->message);
    struct directory_claim *claim = &directory->message.claims[0];
    claim->server = from;
    directory->claims++;
    int status = claim_decide(self, &name, claim);
    directory->refusals += status == -EADDRINUSE;
    if (status == 0)
        copies_tell(self, DIRECTORY_COPY, &name, claim);
    server_tell(self, from, DIRECTORY_CLAIMED, &name, claim, status);
}

/* As the root (`tell`), or as a server that stores a copy. */
static void withdraw_heard(struct weft_self *self, weft_server from, bool tell)
{
    struct directory *directory = weft_memory(self);
    struct name name = name_of(&directory->message);
    struct directory_claim *claim = &directory->message.claims[0];
    struct held *held = held_find(directory, &name, claim->member);
    /* Without a claim, the last root may still send us a copy of it. */
    int status = tell && !held && is_young(self) ? -EAGAIN : 0;
    if (tell)
        claim->server = from;
    if (held && held->claim.server == claim->server &&
        held->claim.incarnation <= claim->incarnation) {
        held_drop(directory, held);
        if (tell)
            copies_tell(self, DIRECTORY_UNCOPY, &name, claim);
    }
    if (tell)
        server_tell(self, from, DIRECTORY_WITHDRAWN, &name, claim, status);
}

static void copy_heard(struct weft_self *self)
{
    struct directory *directory = weft_memory(self);
    struct name name = name_of(&directory->message);
    const struct directory_claim *claim = &directory->message.claims[0];
    const struct held *held = held_find(directory, &name, claim->member);
    if (!held || held->claim.incarnation <= claim->incarnation)
        (void)held_put(self, &name, claim);
}

/* ---- answering ---- */

static void answer_send(struct weft_self *self, weft_server to)
{
    struct directory *directory = weft_memory(self);
    struct weft_packet *packet = packet_of(self, &directory->answer);
    if (packet)
        (void)weft_send_server(self, packet, to);
    directory->answer.part++;
    directory->answer.count = 0;
}

/* Sends all claims that we hold on the name, in as many parts as necessary. */
static void answer_all(struct weft_self *self, weft_server to, const struct name *name, int status)
{
    struct directory *directory = weft_memory(self);
    struct directory_message *answer = &directory->answer;
    uint32_t count = 0;
    for (uint32_t i = 0; i < directory->held_count; i++)
        count += name_equal(&directory->held[i].name, name);
    message_begin(answer, DIRECTORY_ANSWER, name);
    answer->status = status;
    answer->round = ++directory->round;
    answer->parts =
        (uint8_t)(count ? (count + DIRECTORY_CLAIMS_MAX - 1) / DIRECTORY_CLAIMS_MAX : 1);
    for (uint32_t i = 0; i < directory->held_count; i++) {
        if (!name_equal(&directory->held[i].name, name))
            continue;
        message_add(answer, &directory->held[i].claim);
        if (answer->count == DIRECTORY_CLAIMS_MAX && answer->part + 1 < answer->parts)
            answer_send(self, to);
    }
    answer_send(self, to);
}

static void ask_heard(struct weft_self *self, weft_server from)
{
    struct directory *directory = weft_memory(self);
    struct name name = name_of(&directory->message);
    directory->asks++;
    answer_all(self, from, &name, is_young(self) ? -EAGAIN : 0);
}

/* Do we hold claims on the name, all of them repeated recently? */
static bool held_is_fresh(struct weft_self *self, const struct name *name)
{
    const struct directory *directory = weft_memory(self);
    int64_t since = weft_now(self) - FRESH_NSEC;
    bool any = false;
    for (uint32_t i = 0; i < directory->held_count; i++) {
        if (!name_equal(&directory->held[i].name, name))
            continue;
        if (directory->held[i].heard < since)
            return false;
        any = true;
    }
    return any && weft_now(self) - directory->started >= GROWN_NSEC;
}

/* ---- claims and questions of programs here ---- */

static struct mine *mine_find(struct directory *directory, const struct name *name, uint64_t member)
{
    for (uint32_t i = 0; i < directory->mine_count; i++) {
        struct mine *mine = &directory->mines[i];
        if (name_equal(&mine->name, name) && mine->claim.member == member)
            return mine;
    }
    return NULL;
}

static void mine_drop(struct directory *directory, struct mine *mine)
{
    *mine = directory->mines[--directory->mine_count];
}

static void mine_tell(struct weft_self *self, struct mine *mine)
{
    bool calm = mine->accepted && !mine->leaving;
    mine->due = weft_now(self) + (calm ? AGAIN_NSEC : RETRY_NSEC);
    key_tell(self, mine->leaving ? DIRECTORY_WITHDRAW : DIRECTORY_CLAIM, &mine->name, &mine->claim);
}

/* May a program that has `own` of the `count` entries of `mines` or `wants` get one more? When a
 * quarter is left, only programs with few entries do, so that one program cannot take all. */
static bool has_room(const struct directory *directory, uint32_t count, uint32_t own)
{
    uint32_t size = (uint32_t)directory->names;
    return count < size - size / 4 || (count < size && own < size / 16);
}

/* Returns an entry for a claim; if none is free, that of a withdrawal, which is then no longer
 * repeated. */
static struct mine *mine_take(struct directory *directory)
{
    if (directory->mine_count < (uint32_t)directory->names)
        return &directory->mines[directory->mine_count++];
    uint32_t i = 0;
    while (!directory->mines[i].leaving)
        i++;
    return &directory->mines[i];
}

/* Counts the claims of programs here, without withdrawals. */
static uint32_t mine_count(const struct directory *directory)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < directory->mine_count; i++)
        count += !directory->mines[i].leaving;
    return count;
}

static bool mine_is_of(const struct mine *mine, uint64_t client)
{
    return !mine->leaving && mine->client == client;
}

static void mine_add(struct weft_self *self, uint64_t client)
{
    struct directory *directory = weft_memory(self);
    struct name name = name_of(&directory->message);
    struct mine new = {.name = name, .client = client, .claim = directory->message.claims[0]};
    struct mine *mine = mine_find(directory, &name, new.claim.member);
    new.claim.server = weft_here(self);
    bool renews = mine && mine_is_of(mine, client);
    if (mine && !mine->leaving && !renews) {
        client_tell(self, &new, -EADDRINUSE);
        return;
    }
    uint32_t own = 0;
    for (uint32_t i = 0; i < directory->mine_count; i++)
        own += mine_is_of(&directory->mines[i], client);
    if (!renews && !has_room(directory, mine_count(directory), own)) {
        directory->overflows++;
        client_tell(self, &new, -ENOSPC);
        return;
    }
    if (!mine)
        mine = mine_take(directory);
    *mine = new;
    tick_start(self);
    mine_tell(self, mine);
}

static void mine_withdraw(struct weft_self *self, struct mine *mine)
{
    const struct directory *directory = weft_memory(self);
    mine->leaving = true;
    mine->until = weft_now(self) + directory->lease;
    mine_tell(self, mine);
}

/* The root no longer holds the claim. */
static void withdrawn_heard(struct weft_self *self)
{
    struct directory *directory = weft_memory(self);
    struct name name = name_of(&directory->message);
    const struct directory_claim *claim = &directory->message.claims[0];
    struct mine *mine = mine_find(directory, &name, claim->member);
    if (mine && mine->leaving && mine->claim.incarnation == claim->incarnation &&
        directory->message.status == 0)
        mine_drop(directory, mine);
}

/* The root has decided. */
static void claimed_heard(struct weft_self *self)
{
    struct directory *directory = weft_memory(self);
    struct name name = name_of(&directory->message);
    const struct directory_claim *claim = &directory->message.claims[0];
    int status = directory->message.status;
    struct mine *mine = mine_find(directory, &name, claim->member);
    if (!mine || mine->leaving || mine->claim.incarnation != claim->incarnation ||
        status == -EAGAIN)
        return;
    struct mine copy = *mine;
    if (status == 0) {
        mine->accepted = true;
        mine->due = weft_now(self) + AGAIN_NSEC;
        if (!copy.accepted)
            client_tell(self, &copy, 0);
        return;
    }
    mine_drop(directory, mine);
    client_tell(self, &copy, copy.accepted ? -ESTALE : status);
}

static void want_ask(struct weft_self *self, struct want *want)
{
    want->due = weft_now(self) + RETRY_NSEC; /* later, if an answer comes */
    key_tell(self, DIRECTORY_ASK, &want->name, NULL);
}

static void want_add(struct weft_self *self, uint64_t client)
{
    struct directory *directory = weft_memory(self);
    struct name name = name_of(&directory->message);
    struct want *want = NULL;
    uint32_t own = 0;
    for (uint32_t i = 0; i < directory->want_count; i++) {
        if (directory->wants[i].client != client)
            continue;
        own++;
        if (name_equal(&directory->wants[i].name, &name))
            want = &directory->wants[i];
    }
    if (!want && !has_room(directory, directory->want_count, own)) {
        directory->overflows++;
        return; /* the program asks again */
    }
    if (!want)
        want = &directory->wants[directory->want_count++];
    *want = (struct want){.name = name, .client = client, .until = weft_now(self) + WANTED_NSEC};
    tick_start(self);
    want_ask(self, want);
}

/* Passes the answer unchanged to all programs that asked. */
static void answer_heard(struct weft_self *self, const void *bytes, uint32_t size)
{
    struct directory *directory = weft_memory(self);
    struct name name = name_of(&directory->message);
    bool known = directory->message.count > 0;
    for (uint32_t i = 0; i < directory->want_count; i++) {
        struct want *want = &directory->wants[i];
        if (!name_equal(&want->name, &name))
            continue;
        if (known)
            want->due = weft_now(self) + AGAIN_NSEC;
        weft_answer(self, want->client, 0, bytes, size);
    }
}

/* ---- functions that the node calls ---- */

static int directory_start(struct weft_self *self)
{
    struct directory *directory = weft_memory(self);
    uint64_t names = (uint64_t)directory->names, claims = (uint64_t)directory->claims_held;
    directory->mines = weft_allocate(self, names * sizeof *directory->mines);
    directory->wants = weft_allocate(self, names * sizeof *directory->wants);
    directory->held = weft_allocate(self, claims * sizeof *directory->held);
    directory->started = weft_now(self);
    return directory->mines && directory->wants && directory->held ? 0 : -ENOMEM;
}

static void directory_deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct directory *directory = weft_memory(self);
    weft_server from = weft_source(packet);
    directory->message.operation = DIRECTORY_OPERATION_END;
    if (directory_read(&directory->message, weft_payload(packet), weft_size(packet)))
        directory->message.operation = DIRECTORY_OPERATION_END;
    switch (directory->message.operation) {
    case DIRECTORY_CLAIM:
        claim_heard(self, from);
        break;
    case DIRECTORY_CLAIMED:
        claimed_heard(self);
        break;
    case DIRECTORY_WITHDRAW:
        withdraw_heard(self, from, true);
        break;
    case DIRECTORY_WITHDRAWN:
        withdrawn_heard(self);
        break;
    case DIRECTORY_COPY:
        copy_heard(self);
        break;
    case DIRECTORY_UNCOPY:
        withdraw_heard(self, from, false);
        break;
    case DIRECTORY_ASK:
        ask_heard(self, from);
        break;
    case DIRECTORY_ANSWER:
        answer_heard(self, weft_payload(packet), weft_size(packet));
        break;
    case DIRECTORY_OPERATION_END:
        directory->garbage++;
        weft_refuse(self, packet);
        return;
    }
    weft_done(packet);
}

static enum weft_verdict directory_intercept(struct weft_self *self, struct weft_packet *packet)
{
    struct directory *directory = weft_memory(self);
    const uint8_t *payload = weft_payload(packet);
    if (!weft_size(packet) || payload[0] != DIRECTORY_ASK ||
        directory_read(&directory->message, payload, weft_size(packet)))
        return WEFT_PASS;
    struct name name = name_of(&directory->message);
    if (!held_is_fresh(self, &name))
        return WEFT_PASS;
    directory->answers_on_way++;
    answer_all(self, weft_source(packet), &name, 0);
    weft_done(packet);
    return WEFT_TAKEN;
}

/* Claims and questions have several answers, and some answers go to all programs that asked: they
 * are events, which name what they are about. */
static void directory_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                              const void *bytes, uint32_t size)
{
    struct directory *directory = weft_memory(self);
    struct directory_message *message = &directory->message;
    if (directory_read(message, bytes, size)) {
        directory->garbage++;
        return;
    }
    if (message->operation == DIRECTORY_CLAIM) {
        mine_add(self, client);
    } else if (message->operation == DIRECTORY_ASK) {
        want_add(self, client);
    } else if (message->operation == DIRECTORY_WITHDRAW) {
        struct name name = name_of(message);
        struct mine *mine = mine_find(directory, &name, message->claims[0].member);
        if (mine && mine_is_of(mine, client))
            mine_withdraw(self, mine);
    } else {
        directory->garbage++;
    }
}

static void directory_gone(struct weft_self *self, uint64_t client)
{
    struct directory *directory = weft_memory(self);
    for (uint32_t i = 0; i < directory->mine_count; i++)
        if (mine_is_of(&directory->mines[i], client))
            mine_withdraw(self, &directory->mines[i]);
    for (uint32_t i = directory->want_count; i-- > 0;)
        if (directory->wants[i].client == client)
            directory->wants[i] = directory->wants[--directory->want_count];
}

/* A server that had no processor for a while may run this timer before it receives the claims that
 * arrived meanwhile: such a pause does not age claims. */
static void held_age(struct directory *directory, int64_t now)
{
    int64_t passed = now - directory->ticked;
    directory->aged += passed < 2 * TICK_NSEC ? passed : 2 * TICK_NSEC;
    for (uint32_t i = directory->held_count; i-- > 0;)
        if (directory->held[i].until <= directory->aged)
            held_drop(directory, &directory->held[i]);
}

static void directory_timer(struct weft_self *self, uint64_t cookie)
{
    struct directory *directory = weft_memory(self);
    int64_t now = weft_now(self);
    directory->ticking = false;
    held_age(directory, now);
    for (uint32_t i = directory->want_count; i-- > 0;)
        if (directory->wants[i].until <= now)
            directory->wants[i] = directory->wants[--directory->want_count];
    for (uint32_t i = directory->mine_count; i-- > 0;) {
        struct mine *mine = &directory->mines[i];
        if (mine->leaving && mine->until <= now)
            mine_drop(directory, mine);
        else if (mine->due <= now)
            mine_tell(self, mine);
    }
    for (uint32_t i = 0; i < directory->want_count; i++)
        if (directory->wants[i].due <= now)
            want_ask(self, &directory->wants[i]);
    if (directory->mine_count || directory->want_count || directory->held_count)
        tick_start(self);
}

/* The new server has no claims and may soon answer for keys whose claims we hold. */
static void held_hand_over(struct weft_self *self, weft_server server)
{
    const struct directory *directory = weft_memory(self);
    for (uint32_t i = 0; i < directory->held_count; i++) {
        const struct held *held = &directory->held[i];
        weft_server servers[1 + COPIES];
        struct weft_key key = key_of(&held->name);
        unsigned count = weft_servers(self, &key, servers, 1 + COPIES);
        for (unsigned j = 0; j < count; j++)
            if (servers[j] == server)
                server_tell(self, server, DIRECTORY_COPY, &held->name, &held->claim, 0);
    }
}

/* Other servers may be roots now: our claims and questions are sent again at the next tick. */
static void claims_repeat(struct weft_self *self)
{
    struct directory *directory = weft_memory(self);
    for (uint32_t i = 0; i < directory->mine_count; i++)
        directory->mines[i].due = weft_now(self);
    for (uint32_t i = 0; i < directory->want_count; i++)
        directory->wants[i].due = weft_now(self);
}

static void directory_peer_up(struct weft_self *self, weft_server server)
{
    struct directory *directory = weft_memory(self);
    if (!directory->joined)
        directory->joined = weft_now(self);
    held_hand_over(self, server);
    claims_repeat(self);
}

static void directory_peer_down(struct weft_self *self, weft_server server)
{
    claims_repeat(self);
}

static void directory_stats(struct weft_self *self, struct weft_report *report)
{
    const struct directory *directory = weft_memory(self);
    uint32_t claimed = mine_count(directory);
    weft_stat(report, "claimed_here", claimed);
    weft_stat(report, "leaving_here", directory->mine_count - claimed);
    weft_stat(report, "wanted_here", directory->want_count);
    weft_stat(report, "held", directory->held_count);
    weft_stat(report, "claims", directory->claims);
    weft_stat(report, "refusals", directory->refusals);
    weft_stat(report, "asks", directory->asks);
    weft_stat(report, "answers_on_way", directory->answers_on_way);
    weft_stat(report, "overflows", directory->overflows);
    weft_stat(report, "garbage", directory->garbage);
}

static const struct weft_service_ops directory_ops = {
    .start = directory_start,
    .deliver = directory_deliver,
    .intercept = directory_intercept,
    .peer_up = directory_peer_up,
    .peer_down = directory_peer_down,
    .timer = directory_timer,
    .request = directory_request,
    .gone = directory_gone,
    .stats = directory_stats,
};

static_assert(DIRECTORY_CLAIMS_MAX * DIRECTORY_PARTS_MAX == 4096, "an answer holds all claims");

/* Programs' servers repeat claims every AGAIN_NSEC, so a shorter lease would end claims that are
 * still repeated. */
static const struct weft_parameter directory_parameters[] = {
    {WEFT_PARAMETER(struct directory, lease, DURATION), .value = "3500ms", .minimum = "2500ms",
     .maximum = "1h", .help = "life of a claim on a name that its server no longer repeats"},
    {WEFT_PARAMETER(struct directory, names, INTEGER), .value = "256", .minimum = "16",
     .maximum = "65536",
     .help =
         "names that programs of a server may claim, and ask for; one program gets three quarters"},
    {WEFT_PARAMETER(struct directory, claims_held, INTEGER), .value = "1024", .minimum = "64",
     .maximum = "4096", .help = "claims that a server stores as the root or a successor of names"},
    {0},
};

const struct weft_service service_directory = {
    .version = WEFT_SERVICE_VERSION,
    .name = "directory",
    .id = DIRECTORY_SERVICE,
    .weight = 1,
    .queue = WEFT_QUEUE_FIFO,
    .queue_packets = 1024,
    .size = sizeof(struct directory),
    .ops = &directory_ops,
    .parameters = directory_parameters,
};
