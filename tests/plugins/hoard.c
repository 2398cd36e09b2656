/* hoard: a service that, on server 4, keeps every packet that it can get: those that it makes,
 * those that are delivered to it and those that pass through. All other servers keep sending
 * packets to server 4 and past it. For tests/cli/cluster_service.py, written with the
 * public header alone. */
#include <weft/service.h>

#define HOARDER   4
#define BEGIN     300000000LL /* after the start, so that the servers know each other */
#define AGAIN     1000000LL
#define BURST     20
#define MADE_MOST 100000 /* where nothing stops it, it stops itself */

struct hoard {
    uint64_t made, refused, delivered, passed;
};

static int start(struct weft_self *self)
{
    return weft_timer(self, weft_now(self) + BEGIN, 0);
}

static void hoard(struct weft_self *self, struct hoard *hoard)
{
    while (hoard->made < MADE_MOST && weft_packet(self, 1000))
        hoard->made++;
    hoard->refused++;
}

static void send(struct weft_self *self, weft_server server)
{
    struct weft_packet *packet = weft_packet(self, 100);
    if (packet)
        weft_send_server(self, packet, server);
}

static void timer(struct weft_self *self, uint64_t cookie)
{
    if (weft_here(self) == HOARDER)
        hoard(self, weft_memory(self));
    for (unsigned i = 0; weft_here(self) != HOARDER && i < BURST; i++) {
        send(self, HOARDER);
        send(self, (weft_here(self) + 4) % weft_server_count(self));
    }
    weft_timer(self, weft_now(self) + AGAIN, 0);
}

static void deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct hoard *hoard = weft_memory(self);
    hoard->delivered++;
    if (weft_here(self) != HOARDER)
        weft_done(packet);
}

static enum weft_verdict intercept(struct weft_self *self, struct weft_packet *packet)
{
    struct hoard *hoard = weft_memory(self);
    hoard->passed++;
    return weft_here(self) == HOARDER ? WEFT_TAKEN : WEFT_PASS;
}

static void stats(struct weft_self *self, struct weft_report *report)
{
    const struct hoard *hoard = weft_memory(self);
    weft_stat(report, "made", hoard->made);
    weft_stat(report, "made_none", hoard->refused);
    weft_stat(report, "got", hoard->delivered);
    weft_stat(report, "passed", hoard->passed);
}

static const struct weft_service_ops ops = {
    .start = start, .deliver = deliver, .intercept = intercept, .timer = timer, .stats = stats};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "hoard",
    .id = 300,
    .size = sizeof(struct hoard),
    .ops = &ops,
};
