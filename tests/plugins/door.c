/* door: a service with sockets and pipes, for tests/cli/cluster_descriptors.py, written with the
 * public headers alone. Clients of its listener get bytes without end. A program asks it to
 *
 *   mistakes       make every mistake that weft can detect; the answer is "as documented", or the
 *                  first call whose result is not
 *   pipe           pass a text through a pipe to itself; the answer is the text
 *   connect PORT   connect to that port of this machine, send "hello", and answer what comes back
 *   ignore PORT    the same, but ignore what comes back, as a careless service would
 *   delay PORT     the same as connect, but compute for 300 ms before the answer */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <weft/descriptor.h>

#define DESCRIPTORS 40

struct door {
    int64_t port; /* a parameter */
    weft_descriptor listener, peer;
    uint64_t client, ticket; /* the program that waits for an answer */
    uint64_t ends, rooms;    /* calls of flood() that ended a client, or were for room */
    bool ignores, delays;
    char wrong[200]; /* the first call with another result than documented; or empty */
};

static void answer(struct weft_self *self, const char *text)
{
    const struct door *door = weft_memory(self);
    weft_answer(self, door->client, door->ticket, text, (uint32_t)strlen(text));
}

/* ---- clients: bytes without end ---- */

static void flood(struct weft_self *self, weft_descriptor descriptor, void *user)
{
    static const char bytes[65536];
    struct door *door = weft_memory(self);
    int64_t sent;
    do
        sent = weft_descriptor_write(self, descriptor, bytes, sizeof bytes);
    while (sent == sizeof bytes);
    if (sent >= 0 || sent == -EAGAIN)
        return; /* it is called again when there is room */
    door->ends++;
    weft_descriptor_close(self, descriptor);
}

static void on_room(struct weft_self *self, weft_descriptor descriptor, void *user)
{
    struct door *door = weft_memory(self);
    door->rooms++;
    flood(self, descriptor, user);
}

static void on_accepted(struct weft_self *self, weft_descriptor listener, void *user,
                        weft_descriptor client)
{
    flood(self, client, NULL);
}

static const struct weft_descriptor_ops flood_ops = {.accepted = on_accepted, .writable = on_room};

/* ---- peers: what they send is the answer ---- */

static void on_readable(struct weft_self *self, weft_descriptor descriptor, void *user)
{
    char bytes[100];
    struct door *door = weft_memory(self);
    if (door->ignores)
        return;
    for (clock_t end = clock() + CLOCKS_PER_SEC * 3 / 10; door->delays && clock() < end;)
        ;
    int64_t size = weft_descriptor_read(self, descriptor, bytes, sizeof bytes - 1);
    if (size == -EAGAIN)
        return;
    bytes[size > 0 ? size : 0] = 0;
    answer(self, size > 0 ? bytes : size ? "failed" : "ended");
    weft_descriptor_close(self, descriptor);
}

static void on_connected(struct weft_self *self, weft_descriptor descriptor, void *user, int result)
{
    if (!result)
        result = weft_descriptor_write(self, descriptor, "hello", 5) == 5 ? 0 : -EIO;
    if (!result)
        return;
    answer(self, strerrorname_np(-result));
    weft_descriptor_close(self, descriptor);
}

static const struct weft_descriptor_ops peer_ops = {.connected = on_connected,
                                                    .readable = on_readable};

static void through_pipe(struct weft_self *self)
{
    struct door *door = weft_memory(self);
    int fds[2];
    int result = pipe2(fds, O_CLOEXEC) ? -errno : 0;
    if (!result)
        result = weft_descriptor_adopt(self, fds[0], &peer_ops, NULL, &door->peer);
    if (result || write(fds[1], "through a pipe", 14) != 14)
        answer(self, strerrorname_np(-result));
    close(fds[1]);
}

/* ---- mistakes ---- */

static void expect(struct weft_self *self, bool good, const char *what)
{
    struct door *door = weft_memory(self);
    if (!good && !door->wrong[0])
        snprintf(door->wrong, sizeof door->wrong, "%s", what);
}

#define EXPECT(what) expect(self, (what), #what)

static void mistakes(struct weft_self *self)
{
    static const struct weft_descriptor_ops none;
    struct door *door = weft_memory(self);
    weft_descriptor listener = door->listener, other;
    char bytes[8];
    EXPECT(weft_descriptor_listen(self, "localhost", 0, &flood_ops, NULL, &other) == -EINVAL);
    EXPECT(weft_descriptor_listen(self, NULL, 0, NULL, NULL, &other) == -EINVAL);
    EXPECT(weft_descriptor_listen(self, NULL, 0, &flood_ops, NULL, NULL) == -EINVAL);
    EXPECT(weft_descriptor_listen(self, NULL, 0, &none, NULL, &other) == -EINVAL);
    EXPECT(weft_descriptor_connect(self, NULL, 0, &none, NULL, &other) == -EINVAL);
    EXPECT(weft_descriptor_connect(self, "example.org", 1, &peer_ops, NULL, &other) == -EINVAL);
    EXPECT(weft_descriptor_adopt(self, 0, &none, NULL, &other) == -EINVAL);
    int result = weft_descriptor_adopt(self, -1, &peer_ops, NULL, &other);
    EXPECT(result == -EBADF || result == -EOPNOTSUPP); /* the latter in the simulator */
    EXPECT(weft_descriptor_listen(self, NULL, (uint16_t)weft_descriptor_port(self, listener),
                                  &flood_ops, NULL, &other) == -EADDRINUSE);
    EXPECT(weft_descriptor_read(self, listener, bytes, 8) == -EINVAL);
    EXPECT(weft_descriptor_write(self, listener, bytes, 8) == -EINVAL);
    EXPECT(weft_descriptor_finish(self, listener) == -EINVAL);
    EXPECT(weft_descriptor_close(self, 0) == -EINVAL);
    EXPECT(weft_descriptor_pause(self, 4711, true) == -EINVAL);
    EXPECT(weft_descriptor_user(self, UINT64_MAX) == NULL);
    EXPECT(weft_descriptor_set_user(self, listener + 64, NULL) == -EINVAL);
    EXPECT(weft_descriptor_port(self, listener | 0xfffff) == -EINVAL);
    EXPECT(weft_descriptor_listen(self, NULL, 0, &flood_ops, bytes, &other) == 0);
    EXPECT(weft_descriptor_user(self, other) == bytes);
    EXPECT(weft_descriptor_close(self, other) == 0);
    EXPECT(weft_descriptor_close(self, other) == -EBADF); /* no mistake: it was open once */
    EXPECT(weft_descriptor_write(self, other, bytes, 8) == -EBADF);
    answer(self, door->wrong[0] ? door->wrong : "as documented");
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct door *door = weft_memory(self);
    char text[100] = "";
    memcpy(text, bytes, size < sizeof text ? size : sizeof text - 1);
    door->client = client;
    door->ticket = ticket;
    const char *port = strchr(text, ' ');
    door->ignores = text[0] == 'i';
    door->delays = text[0] == 'd';
    if (strcmp(text, "pipe") == 0)
        through_pipe(self);
    else if (!port)
        mistakes(self);
    else if (weft_descriptor_connect(self, "127.0.0.1", (uint16_t)atoi(port), &peer_ops, NULL,
                                     &door->peer))
        answer(self, "failed");
}

static int start(struct weft_self *self)
{
    struct door *door = weft_memory(self);
    return weft_descriptor_listen(self, NULL, (uint16_t)door->port, &flood_ops, NULL,
                                  &door->listener);
}

static void stats(struct weft_self *self, struct weft_report *report)
{
    const struct door *door = weft_memory(self);
    weft_stat(report, "port", (uint64_t)weft_descriptor_port(self, door->listener));
    weft_stat(report, "ends", door->ends);
    weft_stat(report, "rooms", door->rooms);
}

static const struct weft_service_ops ops = {.start = start, .request = request, .stats = stats};

static const struct weft_parameter parameters[] = {
    {WEFT_PARAMETER(struct door, port, INTEGER), .value = "0", .minimum = "0", .maximum = "65535",
     .help = "where all servers listen; 0: any free port"},
    {0},
};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "door",
    .id = 303,
    .size = sizeof(struct door),
    .ops = &ops,
    .parameters = parameters,
    .descriptors = DESCRIPTORS,
};
