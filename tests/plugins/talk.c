/* talk: a service for tests of programs. The first word of a request says what the service does:
 *
 *   echo TEXT   answers TEXT
 *   size N      answers with N bytes
 *   event N     sends N events, "event 0" and so on, as the program reads them, and then answers
 *   twice       answers twice
 *   never       does not answer
 *   hold        answers when the next request `release` comes
 *   release     answers the request that is held, and then this one */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/service.h>

struct talk {
    uint64_t client, ticket; /* of the request for events */
    unsigned next, end;
    uint64_t held_client, held_ticket;
    char bytes[WEFT_MESSAGE_MAX];
};

static void say(struct weft_self *self, uint64_t client, uint64_t ticket, const char *text)
{
    weft_answer(self, client, ticket, text, (uint32_t)strlen(text));
}

/* Sends events until there is no room; writable() goes on. */
static void events_send(struct weft_self *self)
{
    struct talk *talk = weft_memory(self);
    char text[32];
    for (; talk->next < talk->end; talk->next++) {
        snprintf(text, sizeof text, "event %u", talk->next);
        if (weft_answer(self, talk->client, 0, text, (uint32_t)strlen(text)))
            return;
    }
    if (talk->end && !weft_answer(self, talk->client, talk->ticket, "sent", 4))
        talk->end = 0;
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct talk *talk = weft_memory(self);
    char text[256] = "";
    memcpy(text, bytes, size < sizeof text ? size : sizeof text - 1);
    const char *rest = strchr(text, ' ');
    rest = rest ? rest + 1 : "";
    if (!strncmp(text, "echo", 4)) {
        say(self, client, ticket, rest);
    } else if (!strncmp(text, "size", 4)) {
        memset(talk->bytes, 'x', sizeof talk->bytes);
        weft_answer(self, client, ticket, talk->bytes, (uint32_t)atoi(rest));
    } else if (!strncmp(text, "event", 5)) {
        talk->client = client;
        talk->ticket = ticket;
        talk->next = 0;
        talk->end = (unsigned)atoi(rest);
        events_send(self);
    } else if (!strncmp(text, "twice", 5)) {
        say(self, client, ticket, "one");
        say(self, client, ticket, "two");
    } else if (!strncmp(text, "hold", 4)) {
        talk->held_client = client;
        talk->held_ticket = ticket;
    } else if (!strncmp(text, "release", 7)) {
        say(self, talk->held_client, talk->held_ticket, "held");
        say(self, client, ticket, "released");
    }
}

static void writable(struct weft_self *self, uint64_t client)
{
    const struct talk *talk = weft_memory(self);
    if (talk->client == client)
        events_send(self);
}

static void gone(struct weft_self *self, uint64_t client)
{
    struct talk *talk = weft_memory(self);
    if (talk->client == client)
        talk->end = talk->next = 0;
}

static const struct weft_service_ops ops = {.request = request, .writable = writable, .gone = gone};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "talk",
    .id = 400,
    .size = sizeof(struct talk),
    .ops = &ops,
};
