/* clumsy: a service that makes every mistake that weft can detect, once, when a program asks it to.
 * It answers "as documented", or with the first call whose result is not the documented one. For
 * tests/cli/cluster_service.py, written with the public header alone. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <weft/service.h>

struct clumsy {
    char wrong[200]; /* the first call with another result than documented; or empty */
};

static void expect(struct weft_self *self, bool good, const char *what)
{
    struct clumsy *clumsy = weft_memory(self);
    if (!good && !clumsy->wrong[0])
        snprintf(clumsy->wrong, sizeof clumsy->wrong, "%s", what);
}

#define EXPECT(what) expect(self, (what), #what)

/* What the header allows must work before its limits are tried. */
static struct weft_packet *sizes(struct weft_self *self)
{
    struct weft_packet *packet = weft_packet(self, 100);
    char *payload = weft_payload(packet);
    memset(payload, 'x', 100);
    EXPECT(weft_set_size(packet, 10) == 0);
    EXPECT(weft_size(packet) == 10);
    EXPECT(weft_set_size(packet, 100) == 0);
    EXPECT(weft_size(packet) == 100);
    EXPECT(payload[9] == 'x' && payload[10] == 0 && payload[99] == 0);
    EXPECT(weft_set_size(packet, 101) == -EMSGSIZE);
    EXPECT(weft_set_size(packet, UINT32_MAX) == -EMSGSIZE);
    EXPECT(weft_size(packet) == 100);
    EXPECT(weft_set_priority(packet, 7) == 0);
    EXPECT(weft_set_priority(packet, 8) == -EINVAL);
    EXPECT(weft_packet(self, WEFT_PAYLOAD_MAX + 1) == NULL);
    EXPECT(weft_packet(self, UINT32_MAX) == NULL);
    EXPECT(weft_packet_hollow(self, 10, 11) == NULL);
    return packet;
}

/* The packet was sent or released before. */
static void use_again(struct weft_self *self, struct weft_packet *packet)
{
    struct weft_key key = {{0}};
    EXPECT(weft_done(packet) == -EINVAL);
    EXPECT(weft_refuse(self, packet) == -EINVAL);
    EXPECT(weft_send_key(self, packet, &key) == -EINVAL);
    EXPECT(weft_send_server(self, packet, 0) == -EINVAL);
    EXPECT(weft_send_port(self, packet, 0) == -EINVAL);
    EXPECT(weft_reply(self, packet) == -EINVAL);
    EXPECT(weft_address_key(self, packet, &key) == 0);
    EXPECT(weft_address_server(self, packet, 0) == 0);
    EXPECT(weft_address_port(self, packet, 0) == 0);
    EXPECT(weft_set_size(packet, 1) == -EINVAL);
    EXPECT(weft_set_identity(packet, 1) == -EINVAL);
    EXPECT(weft_set_priority(packet, 1) == -EINVAL);
    memset(weft_payload(packet), 'y', WEFT_PAYLOAD_MAX);
}

static void use_null(struct weft_self *self)
{
    weft_server server;
    struct weft_key key = {{0}};
    EXPECT(weft_done(NULL) == 0); /* allowed */
    EXPECT(weft_refuse(self, NULL) == -EINVAL);
    EXPECT(weft_send_key(self, NULL, &key) == -EINVAL);
    EXPECT(weft_send_server(self, NULL, 0) == -EINVAL);
    EXPECT(weft_send_port(self, NULL, 0) == -EINVAL);
    EXPECT(weft_reply(self, NULL) == -EINVAL);
    EXPECT(weft_address_key(self, NULL, &key) == 0);
    EXPECT(weft_address_server(self, NULL, 0) == 0);
    EXPECT(weft_address_port(self, NULL, 0) == 0);
    EXPECT(weft_set_size(NULL, 1) == -EINVAL);
    EXPECT(weft_set_identity(NULL, 1) == -EINVAL);
    EXPECT(weft_set_priority(NULL, 1) == -EINVAL);
    memset(weft_payload(NULL), 'z', WEFT_PAYLOAD_MAX);
    EXPECT(*(char *)weft_payload(NULL) == 0);
    EXPECT(weft_size(NULL) == 0 && weft_size_sent(NULL) == 0 && weft_hops(NULL) == 0);
    EXPECT(weft_identity(NULL) == 0 && weft_source(NULL) == WEFT_NOBODY);
    EXPECT(weft_port_in(NULL) == UINT32_MAX && !weft_is_for_key(NULL, &key));
    EXPECT(weft_local(self, NULL, NULL) == NULL);
    EXPECT(weft_servers(self, NULL, &server, 1) == 0);
    EXPECT(weft_servers(self, &key, NULL, 1) == 0);
    EXPECT(!weft_is_root(self, NULL));
    EXPECT(weft_stat(NULL, "name", 1) == -EINVAL);
    weft_key_of(NULL, 5);
}

static void use_what_is_not_there(struct weft_self *self, uint64_t client)
{
    weft_server servers[64];
    struct weft_key key = {{0}};
    EXPECT(weft_allocate(self, 100) == NULL);
    EXPECT(weft_wake(self, 1) == -EINVAL);
    EXPECT(weft_timer(self, weft_now(self), 0) == -EINVAL);
    EXPECT(weft_answer(self, client, 0, NULL, 10) == -EINVAL);
    EXPECT(weft_answer(self, client, 0, "", UINT32_MAX) == -EMSGSIZE);
    EXPECT(weft_local(self, "no such service", NULL) == NULL);
    EXPECT(!weft_reaches(self, UINT32_MAX) && weft_distance(self, UINT32_MAX) == UINT32_MAX);
    EXPECT(weft_neighbour(self, UINT32_MAX) == WEFT_NOBODY);
    EXPECT(weft_servers(self, &key, servers, UINT32_MAX) == weft_server_count(self));
    EXPECT(weft_send_server(self, weft_packet(self, 1), UINT32_MAX) == -EHOSTUNREACH);
    EXPECT(weft_send_port(self, weft_packet(self, 1), UINT32_MAX) == -EHOSTUNREACH);
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct clumsy *clumsy = weft_memory(self);
    struct weft_key key = {{0}};
    struct weft_packet *packet = sizes(self);
    EXPECT(weft_send_key(self, packet, NULL) == -EINVAL); /* takes the packet nevertheless */
    use_again(self, packet);
    packet = weft_packet(self, 10);
    EXPECT(weft_send_key(self, packet, &key) == 0);
    EXPECT(weft_done(packet) == -EINVAL); /* it waits for a link, or for its delivery here */
    packet = weft_packet(self, 10);
    EXPECT(weft_done(packet) == 0);
    use_again(self, packet);
    use_null(self);
    use_what_is_not_there(self, client);
    weft_packet(self, 0); /* forgotten: never released */
    const char *text = clumsy->wrong[0] ? clumsy->wrong : "as documented";
    weft_answer(self, client, ticket, text, (uint32_t)strlen(text));
}

static void deliver(struct weft_self *self, struct weft_packet *packet)
{
    EXPECT(weft_set_size(packet, weft_size(packet) + 1) == -EMSGSIZE);
    EXPECT(weft_done(packet) == 0);
    EXPECT(weft_done(packet) == -EINVAL);
}

static void stats(struct weft_self *self, struct weft_report *report)
{
    EXPECT(weft_stat(report, NULL, 1) == -EINVAL);
    EXPECT(weft_stat(report, "", 2) == -EINVAL);
    EXPECT(weft_stat(report, "two words", 3) == -EINVAL);
    EXPECT(weft_stat(report, "line\nbreak", 4) == -EINVAL);
    EXPECT(weft_stat(report, "a-name-that-is-longer-than-32-letters", 5) == -EINVAL);
    EXPECT(weft_stat(report, "sent", 6) == -EINVAL);
    EXPECT(weft_stat(report, "good", 7) == 0);
}

static const struct weft_service_ops ops = {.deliver = deliver, .request = request, .stats = stats};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "clumsy",
    .id = 301,
    .size = sizeof(struct clumsy),
    .ops = &ops,
};
