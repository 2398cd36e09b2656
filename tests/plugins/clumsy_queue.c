/* clumsy_queue: a service with its own queue that makes the mistakes of poll(), intercept() and
 * weft_timer. A program asks server 0 for traffic: 40 packets to every other server, of which those
 * that pass through a server meet its intercept(). For tests/cli/cluster_service.py, written with
 * the public header alone. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <weft/service.h>

#define PACKETS 40
#define TIMERS  64

struct queue {
    struct weft_packet *sent; /* a packet that poll() returned before */
    unsigned polls, passed;
    uint64_t timers_refused, fired;
};

static struct weft_packet *make(struct weft_self *self, uint32_t size)
{
    struct weft_packet *packet = weft_packet(self, size);
    if (packet)
        weft_address_server(self, packet, weft_neighbour(self, 0));
    return packet;
}

/* Every mistake once, and good packets between them. */
static struct weft_packet *poll(struct weft_self *self, unsigned port, uint32_t room)
{
    struct queue *queue = weft_memory(self);
    if (port != 0)
        return NULL;
    switch (queue->polls++) {
    case 0:
        return weft_packet(self, 10); /* without an address */
    case 1:
        return queue->sent = make(self, 10);
    case 2:
        return queue->sent; /* sent before, and held by no service now */
    case 3:
        if (room < WEFT_HEADER_SIZE + WEFT_PAYLOAD_MAX)
            return make(self, WEFT_PAYLOAD_MAX);
        queue->polls--; /* the next call is for the same frame, which then has less room */
        return make(self, 10);
    default:
        return NULL;
    }
}

static void timer(struct weft_self *self, uint64_t cookie)
{
    struct queue *queue = weft_memory(self);
    queue->fired++;
    weft_wake(self, UINT32_MAX); /* after a mistake of poll() it has to be woken again */
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct queue *queue = weft_memory(self);
    for (weft_server server = 0; server < weft_server_count(self); server++)
        for (unsigned i = 0; i < PACKETS && server != weft_here(self); i++)
            weft_send_server(self, weft_packet(self, 100), server);
    for (unsigned i = 0; i <= TIMERS; i++)
        queue->timers_refused += weft_timer(self, weft_now(self), i) == -ENOSPC;
    weft_answer(self, client, ticket, "", 0);
}

static void deliver(struct weft_self *self, struct weft_packet *packet)
{
    weft_done(packet);
}

static enum weft_verdict intercept(struct weft_self *self, struct weft_packet *packet)
{
    struct queue *queue = weft_memory(self);
    switch (queue->passed++ % 4) {
    case 0:
        return (enum weft_verdict)7; /* travels on, because the service still holds it */
    case 1:
        weft_done(packet);
        return WEFT_PASS; /* the service does not hold it any more */
    case 2:
        weft_done(packet);
        packet = weft_packet(self, 100); /* most likely the same buffer */
        weft_done(packet);
        return WEFT_TAKEN;
    default:
        return WEFT_PASS;
    }
}

static void stats(struct weft_self *self, struct weft_report *report)
{
    const struct queue *queue = weft_memory(self);
    weft_stat(report, "passed", queue->passed);
    weft_stat(report, "polls", queue->polls);
    weft_stat(report, "timers_refused", queue->timers_refused);
    weft_stat(report, "fired", queue->fired);
}

static const struct weft_service_ops ops = {.deliver = deliver,
                                            .intercept = intercept,
                                            .poll = poll,
                                            .timer = timer,
                                            .request = request,
                                            .stats = stats};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "clumsy-queue",
    .id = 302,
    .queue = WEFT_QUEUE_OWN,
    .queue_packets = 1000,
    .size = sizeof(struct queue),
    .ops = &ops,
};
