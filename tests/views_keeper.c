#include "views_keeper.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define EPOCHS 4096
#define TIMER  1

struct keeper {
    struct weft_self *self;
    struct views *views;
};

static struct {
    bool rots;
    struct keeper *keepers[KEEPERS_COUNT]; /* NULL: it does not run */
    uint32_t known[KEEPERS_COUNT];         /* the latest view that the server has entered */
    struct roster *decided[EPOCHS];        /* by epoch; NULL: none so far */
    uint32_t latest;
    char wrong[200];
} all;

__attribute__((format(printf, 1, 2))) static void wrong(const char *format, ...)
{
    va_list words;
    if (all.wrong[0])
        return;
    va_start(words, format);
    vsnprintf(all.wrong, sizeof all.wrong, format, words);
    va_end(words);
}

/* ---- the service ---- */

static void opened(void *owner, int result)
{
    const struct keeper *keeper = owner;
    weft_server here = weft_here(keeper->self);
    bool lost = result == 1 || result == -EBADMSG;
    if (lost && all.known[here] && !all.rots)
        wrong("server %u was in view %u and knows nothing (%d)", here, all.known[here], result);
    if (lost)
        all.known[here] = 0;
    if (result < 0 && result != -EBADMSG)
        wrong("server %u: the state cannot be read (%d)", here, result);
    const struct roster *roster = views_roster(keeper->views);
    if (roster && roster->epoch < all.known[here])
        wrong("server %u was in view %u and starts in %u", here, all.known[here], roster->epoch);
}

static void entered(void *owner, const struct roster *roster, uint32_t before)
{
    const struct keeper *keeper = owner;
    weft_server here = weft_here(keeper->self);
    assert(roster->epoch < EPOCHS);
    struct roster **decided = &all.decided[roster->epoch];
    if (!*decided) {
        *decided = malloc(roster_size(roster->count));
        assert(*decided);
        roster_copy(*decided, roster);
    }
    if (!roster_same(*decided, roster))
        wrong("server %u: there are two rosters for view %u", here, roster->epoch);
    if (roster->epoch <= before || roster->epoch <= all.known[here])
        wrong("server %u went from view %u to %u", here, all.known[here], roster->epoch);
    all.known[here] = roster->epoch;
    all.latest = roster->epoch > all.latest ? roster->epoch : all.latest;
}

static const struct views_events events = {.opened = opened, .entered = entered};

static int start(struct weft_self *self)
{
    struct keeper *keeper = weft_memory(self);
    const struct views_settings settings = {.suspect = 300000000, .timer = TIMER};
    keeper->self = self;
    keeper->views = views_init(self, &settings, &events, keeper);
    assert(keeper->views && weft_here(self) < KEEPERS_COUNT);
    all.keepers[weft_here(self)] = keeper;
    views_open(keeper->views);
    return 0;
}

static void stop(struct weft_self *self)
{
    all.keepers[weft_here(self)] = NULL;
}

static void deliver(struct weft_self *self, struct weft_packet *packet)
{
    const struct keeper *keeper = weft_memory(self);
    views_deliver(keeper->views, packet);
}

static void timer(struct weft_self *self, uint64_t cookie)
{
    const struct keeper *keeper = weft_memory(self);
    views_timer(keeper->views);
}

static void peer_up(struct weft_self *self, weft_server server)
{
    const struct keeper *keeper = weft_memory(self);
    views_peer(keeper->views, server, true);
}

static void peer_down(struct weft_self *self, weft_server server)
{
    const struct keeper *keeper = weft_memory(self);
    views_peer(keeper->views, server, false);
}

static const struct weft_service_ops ops = {
    .start = start,
    .stop = stop,
    .deliver = deliver,
    .timer = timer,
    .peer_up = peer_up,
    .peer_down = peer_down,
};

const struct weft_service views_keeper = {
    .version = WEFT_SERVICE_VERSION,
    .name = "views",
    .id = VIEWS_KEEPER,
    .size = sizeof(struct keeper),
    .ops = &ops,
    .files = VIEWS_FILES,
};

/* ---- what tests ask ---- */

void keepers_begin(bool rots)
{
    for (unsigned i = 0; i < EPOCHS; i++)
        free(all.decided[i]);
    memset(&all, 0, sizeof all);
    all.rots = rots;
}

void keepers_erased(weft_server server)
{
    all.known[server] = 0;
}

const char *keepers_wrong(void)
{
    return all.wrong[0] ? all.wrong : NULL;
}

struct views *keepers_views(weft_server server)
{
    return all.keepers[server] ? all.keepers[server]->views : NULL;
}

void keepers_print(weft_server server, char *text, unsigned size)
{
    const struct views *views = keepers_views(server);
    const struct roster *roster = views ? views_roster(views) : NULL;
    uint32_t members = 0;
    for (uint32_t i = 0; roster && i < roster->count; i++)
        members += roster_has(roster, i);
    if (!roster)
        snprintf(text, size, "server %u %s", server, views ? "is not open" : "does not run");
    else
        snprintf(text, size, "server %u is in view %u of %u members, %s of them%s", server,
                 roster->epoch, members, views_is_member(views) ? "one" : "none",
                 views_has_quorum(views) ? "" : ", without a quorum");
}

uint32_t keepers_odd(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct views *views = keepers_views(i);
        const struct roster *roster = views ? views_roster(views) : NULL;
        if (views && (!roster || !views_is_member(views) || roster->epoch != all.latest))
            return i;
    }
    return count;
}

uint32_t keepers_epoch(void)
{
    return all.latest;
}
