/* echo: a service that sends a program's bytes to another server and back. A request begins with
 * the number of that server (4 bytes, the most significant first); the answer is the whole request.
 * examples/ask.c uses it, and build/bench/client measures with it.
 *
 *     cc -shared -fPIC -o echo.so echo.c
 *     weft up --service ./echo.so */
#include <string.h>
#include <weft/service.h>

/* What travels: the program and its ticket, then the request. */
struct __attribute__((packed)) message {
    uint64_t client;
    uint64_t ticket;
    uint8_t back; /* 1: on the way back */
    uint8_t request[];
};

static void deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct message *message = weft_payload(packet);
    uint32_t size = weft_size(packet);
    if (size < sizeof *message) {
        weft_refuse(self, packet);
    } else if (message->back) {
        weft_answer(self, message->client, message->ticket, message->request,
                    size - (uint32_t)sizeof *message);
        weft_done(packet);
    } else {
        message->back = 1;
        weft_reply(self, packet);
    }
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    const uint8_t *at = bytes;
    if (size < 4 || size > WEFT_PAYLOAD_MAX - sizeof(struct message))
        return; /* no answer: the program's deadline passes */
    weft_server to = (weft_server)at[0] << 24 | (weft_server)at[1] << 16 | at[2] << 8 | at[3];
    if (to == weft_here(self)) {
        weft_answer(self, client, ticket, bytes, size);
        return;
    }
    struct weft_packet *packet = weft_packet(self, (uint32_t)sizeof(struct message) + size);
    if (!packet)
        return;
    struct message *message = weft_payload(packet);
    message->client = client;
    message->ticket = ticket;
    memcpy(message->request, bytes, size);
    weft_send_server(self, packet, to);
}

static const struct weft_service_ops ops = {.deliver = deliver, .request = request};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "echo",
    .id = 258,
    .ops = &ops,
};
