/* lines: a TCP server for lines of text that keeps names in the cluster.
 *
 *   cc -shared -fPIC -o lines.so lines.c $(pkg-config --cflags weft)
 *   weft up torus:3x3 --service ./lines.so
 *
 * A client of any server sends "set NAME VALUE" or "get NAME" in a line, and gets a line back. The
 * root of a name's key keeps the value. A client has one question under way: until the answer is
 * written, its server reads nothing more of it, so a client costs the same memory whatever it does.
 * docs/guide/descriptor.md explains each part. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <weft/descriptor.h>

#define CLIENTS  4096
#define LINE     128
#define NAMES    1024
#define PATIENCE 1000000000 /* nanoseconds; a question is lost after once to twice this time */

struct message { /* of a packet */
    struct weft_key key;
    weft_descriptor client; /* of the server that asks */
    uint32_t question;      /* of that client */
    char kind;              /* 's' set, 'g' get, '=' answer */
    char text[LINE];        /* the value; empty: none */
};

struct client {
    weft_descriptor descriptor; /* 0: this entry is free */
    uint32_t question;          /* the number of its last question */
    uint64_t since;             /* the tick since which it waits for the answer; 0: it does not */
    uint32_t in_size, out_size, out_sent;
    char in[LINE], out[LINE + 1];
};

struct lines {
    weft_descriptor listener;
    uint64_t ticks; /* of the timer, from 1 */
    struct client clients[CLIENTS];
    struct message names[NAMES]; /* that were set and of which this server is the root */
};

static void next_line(struct weft_self *self, struct client *client);

static void drop(struct weft_self *self, struct client *client)
{
    weft_descriptor_close(self, client->descriptor);
    *client = (struct client){0};
}

/* Writes what is left of the answer. When all is written, the next line has its turn. */
static void on_writable(struct weft_self *self, weft_descriptor descriptor, void *user)
{
    struct client *client = user;
    int64_t sent = weft_descriptor_write(self, descriptor, client->out + client->out_sent,
                                         client->out_size - client->out_sent);
    if (sent < 0 && sent != -EAGAIN) {
        drop(self, client);
        return;
    }
    client->out_sent += sent > 0 ? (uint32_t)sent : 0;
    if (client->out_sent < client->out_size)
        return; /* there is no room: this function is called again */
    client->out_size = client->out_sent = 0;
    next_line(self, client);
}

static void answer(struct weft_self *self, struct client *client, const char *text)
{
    client->since = 0;
    client->out_size = (uint32_t)snprintf(client->out, sizeof client->out, "%s\n", text);
    on_writable(self, client->descriptor, client);
}

static void ask(struct weft_self *self, struct client *client, const char *line)
{
    struct lines *lines = weft_memory(self);
    struct message message = {.client = client->descriptor, .kind = 's'};
    char name[LINE];
    if (sscanf(line, "set %127s %127[^\n]", name, message.text) != 2)
        message.kind = sscanf(line, "get %127s", name) == 1 ? 'g' : 0;
    struct weft_packet *packet = message.kind ? weft_packet(self, sizeof message) : NULL;
    if (!packet) {
        answer(self, client, message.kind ? "busy" : "usage: set NAME VALUE, or get NAME");
        return;
    }
    message.key = weft_key_of(name, (uint32_t)strlen(name));
    message.question = ++client->question;
    client->since = lines->ticks;
    memcpy(weft_payload(packet), &message, sizeof message);
    weft_send_key(self, packet, &message.key); /* if this fails, the timer answers */
}

/* Handles the first line of what was read, unless the client waits for an answer. */
static void next_line(struct weft_self *self, struct client *client)
{
    char line[LINE], *end = memchr(client->in, '\n', client->in_size);
    bool busy = client->since || client->out_size;
    weft_descriptor_pause(self, client->descriptor, busy || end);
    if (!busy && !end && client->in_size == LINE)
        drop(self, client); /* the line is too long */
    if (busy || !end)
        return;
    uint32_t size = (uint32_t)(end - client->in);
    memcpy(line, client->in, size);
    line[size] = 0;
    client->in_size -= size + 1;
    memmove(client->in, end + 1, client->in_size);
    ask(self, client, line);
}

static void on_readable(struct weft_self *self, weft_descriptor descriptor, void *user)
{
    struct client *client = user;
    int64_t size = weft_descriptor_read(self, descriptor, client->in + client->in_size,
                                        LINE - client->in_size);
    if (size > 0) {
        client->in_size += (uint32_t)size;
        next_line(self, client);
    } else if (size != -EAGAIN) {
        drop(self, client); /* it has sent all, or the connection is broken */
    }
}

static void on_accepted(struct weft_self *self, weft_descriptor listener, void *user,
                        weft_descriptor descriptor)
{
    struct lines *lines = weft_memory(self);
    struct client *client = lines->clients;
    while (client->descriptor) /* there are as many entries as connections */
        client++;
    client->descriptor = descriptor;
    weft_descriptor_set_user(self, descriptor, client);
}

static const struct weft_descriptor_ops descriptor_ops = {
    .accepted = on_accepted, .readable = on_readable, .writable = on_writable};

static void deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct lines *lines = weft_memory(self);
    struct message *message = weft_payload(packet);
    if (weft_size(packet) != sizeof *message) {
        weft_refuse(self, packet);
    } else if (message->kind == '=') {
        /* NULL if this client has gone meanwhile, even if another one has its entry now. */
        struct client *client = weft_descriptor_user(self, message->client);
        if (client && client->since && client->question == message->question)
            answer(self, client, message->text[0] ? message->text : "none");
        weft_done(packet);
    } else { /* this server is the root of the name; the last name that was set has the place */
        unsigned place = message->key.bytes[18] << 8 | message->key.bytes[19];
        struct message *kept = &lines->names[place % NAMES];
        if (message->kind == 's')
            *kept = *message;
        else if (!memcmp(&kept->key, &message->key, WEFT_KEY_SIZE))
            memcpy(message->text, kept->text, LINE);
        message->kind = '=';
        weft_reply(self, packet);
    }
}

/* A server may fail while it has a question. After a while the client is told to ask again. */
static void timer(struct weft_self *self, uint64_t cookie)
{
    struct lines *lines = weft_memory(self);
    for (struct client *client = lines->clients; client < lines->clients + CLIENTS; client++)
        if (client->since && client->since < lines->ticks)
            answer(self, client, "busy");
    lines->ticks++;
    weft_timer(self, weft_now(self) + PATIENCE, 0);
}

static int start(struct weft_self *self)
{
    struct lines *lines = weft_memory(self);
    timer(self, 0);
    return weft_descriptor_listen(self, NULL, 0, &descriptor_ops, NULL, &lines->listener);
}

/* weft nodes --json shows the port, which is any free one. */
static void stats(struct weft_self *self, struct weft_report *report)
{
    const struct lines *lines = weft_memory(self);
    weft_stat(report, "port", (uint64_t)weft_descriptor_port(self, lines->listener));
}

static const struct weft_service_ops ops = {
    .start = start, .deliver = deliver, .timer = timer, .stats = stats};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "lines",
    .id = 258,
    .size = sizeof(struct lines),
    .ops = &ops,
    .descriptors = CLIENTS + 1, /* open at once: its clients and a listener */
};
