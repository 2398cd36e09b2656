/* views: see the header. This file has the state of a server, how it is kept, and the timer. */
#include "services/store/view/views.h"

#include <errno.h>
#include <string.h>

#include "base/bitset.h"
#include "base/bytes.h"
#include "base/check.h"
#include "services/store/planted.h"
#include "services/store/view/views_impl.h"

#define TICK_NSEC (100 * MSEC) /* between two looks at links, wishes and proposals */
#define BUSY_NSEC (10 * MSEC)  /* the same while something is under way */

/* The state on the disk: cluster and server 8, disk 8, promised 8, accepted 8, stays, epoch 4,
 * entries, changes of the accepted roster. */
#define STATE_ROOM (64 + STAYS_MAX * 8 + NEWS_SERVERS_MAX * 40 + CHANGES_MAX * 24)

static void saved(void *owner, uint64_t change);
static uint32_t state_write(void *owner, void *bytes, uint32_t room);
static void state_opened(void *owner, const void *bytes, int64_t size);

static const struct twin_events twin_events = {
    .opened = state_opened, .write = state_write, .saved = saved};

static struct roster *roster_allocate(struct views *views)
{
    struct roster *roster = weft_allocate(views->self, roster_size(views->count));
    if (roster)
        roster_plan(roster, views->count);
    return roster;
}

static bool allocate(struct views *views)
{
    struct weft_self *self = views->self;
    struct roster **const rosters[] = {
        &views->decision.view, &views->decision.roster, &views->decision.proposal, &views->entered,
        &views->former,        &views->wave.roster,     &views->fetched,           &views->scratch,
    };
    bool all = true;
    for (unsigned i = 0; i < sizeof rosters / sizeof *rosters; i++)
        all &= (*rosters[i] = roster_allocate(views)) != NULL;
    size_t votes = 8 * bitset_words(views->count);
    views->decision.votes = weft_allocate(self, votes);
    views->wave.votes = weft_allocate(self, votes);
    views->wishes = weft_allocate(self, views->count * sizeof *views->wishes);
    views->lost = weft_allocate(self, views->count * sizeof *views->lost);
    views->orders = weft_allocate(self, views->count * sizeof *views->orders);
    views->out = weft_allocate(self, sizeof *views->out);
    views->in = weft_allocate(self, sizeof *views->in);
    return all && views->decision.votes && views->wave.votes && views->wishes && views->lost &&
           views->orders && views->out && views->in;
}

struct views *views_init(struct weft_self *self, const struct views_settings *settings,
                         const struct views_events *events, void *owner)
{
    struct views *views = weft_allocate(self, sizeof *views);
    if (!views)
        return NULL;
    views->self = self;
    views->settings = *settings;
    views->founding = settings->founding;
    views->events = events;
    views->owner = owner;
    views->count = weft_server_count(self);
    views->port_count = weft_port_count(self);
    views->decision.server = weft_here(self);
    views->twin = (struct twin){
        .self = self, .names = {"view.a", "view.b"}, .events = &twin_events, .owner = views};
    if (views->count > NEWS_SERVERS_MAX || views->port_count > PORTS_MOST || !allocate(views) ||
        !twin_init(&views->twin, STATE_ROOM))
        return NULL;
    return views;
}

/* ---- the state on the disk ---- */

static uint64_t draw_name(struct views *views)
{
    return weft_random(views->self) | 1; /* 0 means none */
}

static uint32_t state_write(void *owner, void *bytes, uint32_t room)
{
    struct views *views = owner;
    const struct decision *decision = &views->decision;
    struct view_changes *changes = &views->out->changes;
    struct writer out = writer_make(bytes, room);
    write_u32(&out, views->count);
    write_u32(&out, weft_here(views->self));
    write_u64(&out, decision->disk);
    write_u64(&out, decision->promised);
    write_u64(&out, decision->accepted);
    write_u32(&out, views->stay_count);
    for (uint32_t i = 0; i < views->stay_count; i++) {
        write_u32(&out, views->stays[i].from);
        write_u32(&out, views->stays[i].until);
    }
    write_u32(&out, decision->view->epoch);
    for (uint32_t i = 0; i < views->count; i++)
        news_entry_write(&out, &decision->view->entries[i]);
    if (decision->accepted) {
        bool fits = changes_between(changes, decision->view, decision->roster);
        assert(fits);
        news_changes_write(&out, changes);
    }
    write_u64(&out, views->settings.layout);
    write_u64(&out, views->founding);
    assert(!out.failed);
    views->counts.saves++;
    return (uint32_t)(room - out.left);
}

/* It is not the disk of this server in this cluster, as it is set up. */
static bool is_refused(int result)
{
    return result == -EXDEV || result == -EMEDIUMTYPE || result == -EPROTO;
}

/* 0; -EXDEV; -EMEDIUMTYPE; or -EBADMSG: nonsense with a right digest. */
static int state_read(struct views *views, const void *bytes, size_t size)
{
    struct decision *decision = &views->decision;
    struct reader in = reader_make(bytes, size);
    uint32_t count = read_u32(&in), server = read_u32(&in);
    if (count != views->count || server != weft_here(views->self))
        return -EXDEV;
    decision->disk = read_u64(&in);
    decision->promised = read_u64(&in);
    decision->accepted = read_u64(&in);
    views->stay_count = read_u32(&in);
    bool sense = decision->disk && views->stay_count <= STAYS_MAX;
    for (uint32_t i = 0; sense && i < views->stay_count; i++) {
        views->stays[i].from = read_u32(&in);
        views->stays[i].until = read_u32(&in);
    }
    decision->view->epoch = read_u32(&in);
    for (uint32_t i = 0; i < count; i++)
        sense &= news_entry_read(&in, &decision->view->entries[i]);
    if (sense && decision->accepted)
        sense = news_changes_read(&in, &views->in->changes) &&
                changes_apply(&views->in->changes, decision->view, decision->roster);
    if (sense && in.left) { /* earlier versions of weft did not write these */
        if (read_u64(&in) != views->settings.layout)
            return -EMEDIUMTYPE;
        uint64_t founding = read_u64(&in);
        views->founding = decision->view->epoch ? founding : views->settings.founding;
    }
    return sense && !in.failed && !in.left ? 0 : -EBADMSG;
}

/* Nothing is known: the server is new. */
static void state_begin(struct views *views)
{
    struct decision *decision = &views->decision;
    roster_plan(decision->view, views->count);
    decision->promised = 0;
    decision->accepted = 0;
    views->stay_count = 0;
    decision->disk = draw_name(views);
    views->entering = twin_change(&views->twin);
}

static void rename_disk(struct views *views)
{
    views->decision.disk = draw_name(views);
    views->naming = twin_change(&views->twin);
}

static void begin(struct views *views)
{
    views->is_open = true;
    decision_init(&views->decision);
    roster_copy(views->entered, views->decision.view);
    spread_init(views);
    propose_open(views);
}

/* views_open was called, and what was kept is known. */
static void settle(struct views *views, int result)
{
    if (result == 1 || result == -EBADMSG)
        state_begin(views);
    else if (result == 0 && views->loses)
        rename_disk(views);
    views->events->opened(views->owner, result);
    if (!is_refused(result))
        begin(views);
}

static void state_opened(void *owner, const void *bytes, int64_t size)
{
    struct views *views = owner;
    int result = size > 0 ? state_read(views, bytes, (size_t)size) : (int)size;
    if (result == 0 && size == 0)
        result = 1;
    if (result < 0 && result != -EBADMSG && !is_refused(result))
        return; /* twin_tick reads again */
    views->was_read = true;
    views->read = result;
    if (views->process)
        settle(views, result);
    else
        views->events->looked(views->owner, result);
}

/* ---- views ---- */

/* The view is durable: the server acts in it, and tells others. */
static void enter(struct views *views)
{
    uint32_t before = views->entered->epoch;
    views->entering = 0;
    roster_copy(views->entered, views->decision.view);
    if (views->entered->epoch > before) {
        views->counts.entered++;
        views->events->entered(views->owner, views->entered, before);
    }
    propose_entered(views);
    spread_news(views);
}

static void finish(struct views *views);

static void saved(void *owner, uint64_t change)
{
    struct views *views = owner;
    if (views->naming && change >= views->naming) {
        views->naming = 0;
        if (views->events->renamed)
            views->events->renamed(views->owner);
    }
    if (views->entering && change >= views->entering)
        enter(views);
    spread_saved(views, change);
    propose_saved(views, change);
    finish(views);
}

/* ---- the timer, and what the service passes on ---- */

static void arm(struct views *views)
{
    int64_t now = weft_now(views->self);
    bool busy = views->is_open && (spread_is_busy(views) || views->proposing ||
                                   views->decision.phase != DECISION_RESTS);
    int64_t at = now + (busy ? BUSY_NSEC : TICK_NSEC);
    if (views->armed > now && views->armed <= at)
        return;
    if (weft_timer(views->self, at, views->settings.timer) == 0)
        views->armed = at;
}

/* Ends each call from outside. */
static void finish(struct views *views)
{
    if (views->is_open)
        spread_flush(views);
    arm(views);
}

static void look(struct views *views)
{
    spread_look(views);
    propose_votes(views);
}

void views_timer(struct views *views)
{
    if (weft_now(views->self) < views->armed)
        return; /* a timer that was set before another one was needed earlier */
    views->armed = 0;
    twin_tick(&views->twin);
    if (views->is_open) {
        look(views);
        propose_look(views);
    }
    finish(views);
}

void views_open(struct views *views)
{
    views->leaves = false;
    if (views->process)
        return; /* it is being opened: the owner has begun again meanwhile */
    views->process = draw_name(views);
    views->run = draw_name(views);
    if (views->was_read)
        settle(views, views->read);
    else if (!views->looks)
        twin_open(&views->twin);
    arm(views);
}

void views_look(struct views *views)
{
    views->looks = true;
    twin_open(&views->twin);
    arm(views);
}

static uint32_t find_port(const struct views *views, const struct weft_packet *packet)
{
    uint32_t port = weft_port_in(packet);
    bool near = port < views->port_count && weft_hops(packet) == 1 &&
                views->ports[port].neighbour == weft_source(packet);
    return near ? port : NO_PORT;
}

/* Packets from others than neighbours can only be wishes. */
static bool take(struct views *views, const struct weft_packet *packet, struct view_news *news)
{
    uint32_t port = find_port(views, packet);
    if (news->kind == NEWS_WISH)
        propose_wish(views, weft_source(packet), &news->wish);
    else if (port == NO_PORT)
        return false;
    else if (news->kind == NEWS_STATE)
        spread_state(views, port, news);
    else if (news->kind == NEWS_FETCH)
        spread_fetch(views, port, &news->fetch);
    else
        spread_piece(views, port, &news->piece);
    return true;
}

void views_deliver(struct views *views, struct weft_packet *packet)
{
    bool sense = news_read(views->in, views->count, weft_payload(packet), weft_size(packet));
    if (!sense) {
        views->counts.garbage++;
        weft_refuse(views->self, packet);
        return;
    }
    if (views->is_open) {
        look(views); /* the link may just have come up */
        (void)take(views, packet, views->in);
        propose_votes(views);
        finish(views);
    }
    weft_done(packet);
}

void views_peer(struct views *views, weft_server server, bool up)
{
    if (!views->is_open)
        return;
    views->lost[server] = up ? 0 : weft_now(views->self);
    if (!up)
        views->wishes[server].run = 0;
    look(views);
    propose_look(views);
    finish(views);
}

void views_wish(struct views *views, bool leaves)
{
    views->leaves = leaves;
    if (!views->is_open)
        return;
    views->wish_at = 0;
    propose_look(views);
    finish(views);
}

void views_order(struct views *views, weft_server server, enum roster_duty duty)
{
    if (!views->is_open || server >= views->count)
        return;
    propose_order(views, server, duty);
    finish(views);
}

void views_begin_again(struct views *views)
{
    views->run = draw_name(views);
    views_wish(views, false);
}

void views_lose(struct views *views)
{
    views->loses = true;
    if (views->is_open)
        rename_disk(views);
}

/* ---- what the owner asks ---- */

uint64_t views_founding(const struct views *views)
{
    return views->founding;
}

uint64_t views_disk(const struct views *views)
{
    return views->decision.disk;
}

const struct roster *views_roster(const struct views *views)
{
    return views->is_open ? views->entered : NULL;
}

static bool has_run(const struct roster *roster, uint32_t server, uint64_t run)
{
    return roster_has(roster, server) && roster->entries[server].run == run;
}

bool views_is_member(const struct views *views)
{
    return views->is_open && has_run(views->entered, views->decision.server, views->run);
}

void views_count(const struct views *views, struct views_counts *counts)
{
    *counts = views->counts;
}
