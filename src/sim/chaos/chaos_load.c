#include "sim/chaos/chaos_load.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "sim/checkers/checker.h"

/* ---- load ---- */

enum {
    WANTS_ANSWER = 1,
    HAS_STOP = 2, /* the receiver sends it on to its target */
    TO_KEY = 4,   /* the target is `key`, else `server` */
    PICK = 8,     /* the server that has it after `pick` hops intercepts it ... */
    PICK_ANSWER = 16,
    PICK_KEEP = 32, /* ... and releases it */
    PICK_HOLD = 64, /* ... and holds it for a while */
    FOR_KEY = 128,  /* it is on its way to the key `to_key`, else to the server `to` */
};

/* hash 8, number 8, flags, pick, passed, hops, server 4, key 20, source 4, to 4, to_key 20 */
#define LETTER_SIZE 72
#define HELD_MAX    4
#define TIMER_SEND  1
#define TIMER_HELD  2

#define QUESTION_DRAWS 100 /* keys that are tried for a question */

struct letter {
    uint64_t number;
    uint8_t flags, pick;
    weft_server server;
    struct weft_key key;
    /* Repeats what the packet's header says, for the receiver to compare. */
    weft_server source, to;
    struct weft_key to_key;
    uint8_t hops;   /* of the packet, when it was last sent */
    uint8_t passed; /* how many servers it has passed since: intercept() counts them */
};

struct load {
    int64_t interval;
    uint64_t number;
    bool timer_set;
    int64_t timer_at;
    uint8_t *up; /* by server: peer_up was called for it, and not peer_down */
    struct weft_packet *held[HELD_MAX];
    struct chaos_load_counts counts;
};

static void letter_write(const struct letter *letter, uint8_t *bytes)
{
    struct writer out = writer_make(bytes + 8, LETTER_SIZE - 8);
    write_u64(&out, letter->number);
    write_u8(&out, letter->flags);
    write_u8(&out, letter->pick);
    write_u8(&out, letter->passed);
    write_u8(&out, letter->hops);
    write_u32(&out, letter->server);
    write_bytes(&out, letter->key.bytes, WEFT_KEY_SIZE);
    write_u32(&out, letter->source);
    write_u32(&out, letter->to);
    write_bytes(&out, letter->to_key.bytes, WEFT_KEY_SIZE);
    assert(!out.failed && !out.left);
    out = writer_make(bytes, 8);
    write_u64(&out, hash_bytes(bytes + 8, LETTER_SIZE - 8));
}

/* False: it was damaged on its way. */
static bool letter_read(struct weft_packet *packet, struct letter *letter)
{
    const uint8_t *bytes = weft_payload(packet);
    if (weft_size(packet) < LETTER_SIZE)
        return false;
    struct reader in = reader_make(bytes, LETTER_SIZE);
    if (read_u64(&in) != hash_bytes(bytes + 8, LETTER_SIZE - 8))
        return false;
    letter->number = read_u64(&in);
    letter->flags = read_u8(&in);
    letter->pick = read_u8(&in);
    letter->passed = read_u8(&in);
    letter->hops = read_u8(&in);
    letter->server = read_u32(&in);
    const uint8_t *key = read_bytes(&in, WEFT_KEY_SIZE);
    letter->source = read_u32(&in);
    letter->to = read_u32(&in);
    const uint8_t *to_key = read_bytes(&in, WEFT_KEY_SIZE);
    assert(key && to_key);
    memcpy(letter->key.bytes, key, WEFT_KEY_SIZE);
    memcpy(letter->to_key.bytes, to_key, WEFT_KEY_SIZE);
    return true;
}

static struct weft_key any_key(struct weft_self *self)
{
    struct weft_key key = {{0}};
    uint64_t route = weft_random(self);
    for (unsigned i = 0; i < 8; i++)
        key.bytes[WEFT_KEY_SIZE - 1 - i] = (uint8_t)(route >> 8 * i);
    return key;
}

static weft_server any_server(struct weft_self *self)
{
    return (weft_server)(weft_random(self) % weft_server_count(self));
}

static void send_to(struct weft_self *self, struct weft_packet *packet, struct letter *letter,
                    bool to_key, const struct weft_key *key, weft_server server)
{
    struct load *load = weft_memory(self);
    letter->flags = (uint8_t)(to_key ? letter->flags | FOR_KEY : letter->flags & ~FOR_KEY);
    letter->to_key = *key;
    letter->to = server;
    letter->source = weft_source(packet);
    letter->hops = (uint8_t)weft_hops(packet);
    letter->passed = 0;
    letter_write(letter, weft_payload(packet));
    int result = to_key ? weft_send_key(self, packet, key) : weft_send_server(self, packet, server);
    load->counts.refused += result < 0;
}

/* Sends it back to its source. */
static void answer(struct weft_self *self, struct weft_packet *packet, struct letter *letter)
{
    struct load *load = weft_memory(self);
    letter->flags &= (uint8_t)~FOR_KEY;
    letter->to = weft_source(packet);
    letter->source = weft_here(self);
    letter->hops = letter->passed = 0;
    letter_write(letter, weft_payload(packet));
    load->counts.refused += weft_reply(self, packet) < 0;
}

static uint8_t any_flags(struct weft_self *self)
{
    uint64_t draw = weft_random(self);
    uint8_t flags = draw % 4 == 0 ? WANTS_ANSWER : 0;
    flags |= draw >> 8 & 1 ? TO_KEY : 0;
    flags |= (draw >> 16) % 5 == 0 ? HAS_STOP : 0;
    if ((draw >> 24) % 4 == 0)
        flags |=
            PICK | (uint8_t)(PICK_ANSWER << (draw >> 32) % 4); /* the fourth case: sends it on */
    return flags;
}

static void make_one(struct weft_self *self)
{
    struct load *load = weft_memory(self);
    uint64_t draw = weft_random(self);
    uint32_t size = draw % 16 == 0 ? LETTER_SIZE + (uint32_t)((draw >> 8) % 8000) : LETTER_SIZE;
    struct weft_packet *packet = weft_packet_hollow(self, size, LETTER_SIZE);
    if (!packet)
        return;
    struct letter letter = {
        .number = load->number++,
        .flags = any_flags(self) & 127,
        .pick = (uint8_t)(1 + (draw >> 32) % 3),
        .server = any_server(self),
        .key = any_key(self),
    };
    weft_set_identity(packet, (uint32_t)letter.number);
    load->counts.made++;
    struct weft_key key = any_key(self);
    send_to(self, packet, &letter, (draw >> 40) % 4 != 0, &key, any_server(self));
}

static void timer_set(struct weft_self *self)
{
    struct load *load = weft_memory(self);
    if (!load->interval || load->timer_set)
        return;
    int64_t wait = 1 + (int64_t)(weft_random(self) % (uint64_t)(2 * load->interval));
    load->timer_at = weft_now(self) + wait;
    load->timer_set = weft_timer(self, load->timer_at, TIMER_SEND) == 0;
}

static void held_send(struct weft_self *self)
{
    struct load *load = weft_memory(self);
    for (unsigned i = 0; i < HELD_MAX; i++) {
        struct weft_packet *packet = load->held[i];
        load->held[i] = NULL;
        struct letter letter;
        if (!packet)
            continue;
        struct weft_key key = any_key(self);
        bool whole = letter_read(packet, &letter);
        assert(whole); /* it was read when it was put there */
        send_to(self, packet, &letter, true, &key, 0);
    }
}

static void load_timer(struct weft_self *self, uint64_t cookie)
{
    struct load *load = weft_memory(self);
    if (cookie == TIMER_HELD) {
        held_send(self);
        return;
    }
    load->timer_set = false;
    load->counts.timers_early += weft_now(self) < load->timer_at;
    for (uint64_t count = weft_random(self) % 4; load->interval && count; count--)
        make_one(self);
    timer_set(self);
}

/* Compares what the node says of the packet with what its sender wrote into it. */
static void observe(struct weft_self *self, const struct weft_packet *packet,
                    const struct letter *letter)
{
    struct load *load = weft_memory(self);
    struct weft_key key;
    bool right = weft_is_for_key(packet, &key)
                     ? letter->flags & FOR_KEY && !memcmp(&key, &letter->to_key, sizeof key)
                     : !(letter->flags & FOR_KEY) && letter->to == weft_here(self);
    load->counts.misdelivered += !right || weft_source(packet) != letter->source ||
                                 weft_identity(packet) != (uint32_t)letter->number;
    /* Between the servers at both ends; and here, if this server became the root only while the
     * packet waited to be forwarded. */
    unsigned crossed = weft_hops(packet) - letter->hops, passed = letter->passed;
    load->counts.passes_wrong += passed != crossed && passed + 1 != crossed;
}

static void load_deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct load *load = weft_memory(self);
    struct letter letter;
    load->counts.got++;
    if (!letter_read(packet, &letter)) {
        load->counts.damaged++;
        weft_done(packet);
        return;
    }
    observe(self, packet, &letter);
    uint8_t flags = letter.flags;
    letter.flags &= (uint8_t)(flags & HAS_STOP ? ~HAS_STOP : ~(WANTS_ANSWER | PICK));
    if (flags & HAS_STOP) {
        load->counts.relayed++;
        send_to(self, packet, &letter, flags & TO_KEY, &letter.key, letter.server);
    } else if (flags & WANTS_ANSWER) {
        load->counts.answered++;
        answer(self, packet, &letter);
    } else {
        weft_done(packet);
    }
}

/* True: there was room to hold it. */
static bool hold(struct weft_self *self, struct weft_packet *packet)
{
    struct load *load = weft_memory(self);
    for (unsigned i = 0; i < HELD_MAX; i++) {
        if (load->held[i])
            continue;
        if (weft_timer(self, weft_now(self) + 3000000, TIMER_HELD) < 0)
            return false;
        load->held[i] = packet;
        load->counts.held++;
        return true;
    }
    return false;
}

static enum weft_verdict load_intercept(struct weft_self *self, struct weft_packet *packet)
{
    struct load *load = weft_memory(self);
    struct letter letter;
    if (!letter_read(packet, &letter))
        return WEFT_PASS;
    if (!(letter.flags & PICK) || weft_hops(packet) != letter.pick) {
        letter.passed++;
        letter_write(&letter, weft_payload(packet));
        return WEFT_PASS;
    }
    uint8_t flags = letter.flags;
    letter.flags &= (uint8_t)~PICK;
    letter_write(&letter, weft_payload(packet));
    load->counts.picked++;
    if (flags & PICK_HOLD && hold(self, packet))
        return WEFT_TAKEN;
    if (flags & PICK_ANSWER)
        answer(self, packet, &letter);
    else if (flags & PICK_KEEP)
        weft_done(packet);
    else
        send_to(self, packet, &letter, flags & TO_KEY, &letter.key, letter.server);
    return WEFT_TAKEN;
}

static void question(struct weft_self *self, uint64_t client, uint64_t ticket, uint32_t keys)
{
    for (uint32_t draws = 0; keys && draws < QUESTION_DRAWS; draws++) {
        struct weft_key key = any_key(self);
        if (!weft_is_root(self, &key))
            continue;
        (void)weft_answer(self, client, ticket, &key, sizeof key);
        keys--;
    }
}

static void load_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                         const void *bytes, uint32_t size)
{
    struct load *load = weft_memory(self);
    struct chaos_load_order order;
    if (size == sizeof(struct chaos_load_question)) {
        struct chaos_load_question asked;
        memcpy(&asked, bytes, sizeof asked);
        question(self, client, ticket, asked.keys);
        return;
    }
    if (size != sizeof order)
        return;
    memcpy(&order, bytes, sizeof order);
    load->interval = order.interval_nsec;
    timer_set(self);
}

static int load_start(struct weft_self *self)
{
    struct load *load = weft_memory(self);
    load->up = weft_allocate(self, weft_server_count(self));
    return load->up ? 0 : -ENOMEM;
}

static void load_peer(struct weft_self *self, weft_server server, bool up)
{
    struct load *load = weft_memory(self);
    load->counts.peers_repeated += load->up[server] == up || server == weft_here(self);
    load->up[server] = up;
    if (up)
        checker_peers_add(&load->counts.peers, server);
    else
        checker_peers_remove(&load->counts.peers, server);
}

static void load_peer_up(struct weft_self *self, weft_server server)
{
    load_peer(self, server, true);
}

static void load_peer_down(struct weft_self *self, weft_server server)
{
    load_peer(self, server, false);
}

static void load_stop(struct weft_self *self)
{
    struct load *load = weft_memory(self);
    for (unsigned i = 0; i < HELD_MAX; i++)
        if (load->held[i])
            weft_done(load->held[i]);
}

static void load_stats(struct weft_self *self, struct weft_report *report)
{
    const struct load *load = weft_memory(self);
    weft_stat(report, "made", load->counts.made);
    weft_stat(report, "refused", load->counts.refused);
    weft_stat(report, "got", load->counts.got);
    weft_stat(report, "answered", load->counts.answered);
    weft_stat(report, "relayed", load->counts.relayed);
    weft_stat(report, "picked", load->counts.picked);
    weft_stat(report, "held", load->counts.held);
    weft_stat(report, "damaged", load->counts.damaged);
    weft_stat(report, "peers", load->counts.peers);
    weft_stat(report, "peers_repeated", load->counts.peers_repeated);
    weft_stat(report, "passes_wrong", load->counts.passes_wrong);
    weft_stat(report, "misdelivered", load->counts.misdelivered);
    weft_stat(report, "timers_early", load->counts.timers_early);
    weft_stat(report, "timer_overdue", load->timer_set && load->timer_at < weft_now(self));
}

static const struct weft_service_ops load_ops = {
    .start = load_start,
    .peer_up = load_peer_up,
    .peer_down = load_peer_down,
    .stop = load_stop,
    .deliver = load_deliver,
    .intercept = load_intercept,
    .timer = load_timer,
    .request = load_request,
    .stats = load_stats,
};

const struct weft_service chaos_load_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "load",
    .id = CHAOS_LOAD,
    .weight = 2,
    .size = sizeof(struct load),
    .ops = &load_ops,
};

/* ---- press ---- */

struct press {
    uint32_t port, size;
    int64_t until;
};

static struct weft_packet *press_poll(struct weft_self *self, unsigned port, uint32_t room)
{
    const struct press *press = weft_memory(self);
    if (port != press->port || weft_now(self) >= press->until ||
        room < WEFT_HEADER_SIZE + press->size)
        return NULL;
    struct weft_packet *packet = weft_packet_hollow(self, press->size, 0);
    if (packet && !weft_address_port(self, packet, port)) {
        weft_done(packet);
        return NULL;
    }
    return packet;
}

static void press_deliver(struct weft_self *self, struct weft_packet *packet)
{
    weft_done(packet);
}

static void press_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                          const void *bytes, uint32_t size)
{
    struct press *press = weft_memory(self);
    struct chaos_press_order order;
    if (size != sizeof order)
        return;
    memcpy(&order, bytes, sizeof order);
    *press = (struct press){order.port, order.size, weft_now(self) + order.length_nsec};
    weft_wake(self, 1u << order.port);
}

static const struct weft_service_ops press_ops = {
    .deliver = press_deliver,
    .poll = press_poll,
    .request = press_request,
};

#define PRESS_SERVICE(index, share)                                                                \
    {                                                                                              \
        .version = WEFT_SERVICE_VERSION, .name = "press-" #share, .id = CHAOS_PRESS + (index),     \
        .weight = (share), .queue = WEFT_QUEUE_OWN, .size = sizeof(struct press),                  \
        .ops = &press_ops                                                                          \
    }

const struct weft_service chaos_press_services[CHAOS_PRESS_COUNT] = {
    PRESS_SERVICE(0, 2),
    PRESS_SERVICE(1, 4),
    PRESS_SERVICE(2, 1),
};
