#pragma once
/* contact: the connection of a program to a server: connecting, the hello, and messages in both
 * directions, through shared memory or the socket. It never blocks, and keeps no requests:
 * src/program/program.c does.
 *
 *   GONE --contact_open--> GREETING --contact_greet--> UP
 *
 * Every error leads back to GONE by contact_close. One thread at a time uses a contact. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/ring/channel.h"

enum contact_stage { CONTACT_GONE, CONTACT_GREETING, CONTACT_UP };

struct contact {
    enum contact_stage stage;
    int fd;                  /* -1: GONE */
    struct channel *channel; /* NULL: the socket carries everything */
    struct channel *offered; /* one that the server has not accepted yet */
    uint32_t server;
    uint8_t *bytes; /* one message with its head; owned */
};

MUST_CHECK int contact_init(struct contact *contact); /* -ENOMEM */
void contact_fini(struct contact *contact);

/* Connects to that socket and sends the hello, with memory or without. After an error the caller
 * calls contact_close, except after -EAGAIN: too many programs connect at the moment. */
MUST_CHECK int contact_open(struct contact *contact, const char *path, bool memory);
void contact_close(struct contact *contact);

/* Looks for the welcome. Returns 1: the contact is UP; 0: no welcome yet; or an error. -EUSERS,
 * -EMFILE, -EPROTONOSUPPORT: the server refused us. */
MUST_CHECK int contact_greet(struct contact *contact);

/* Sends a message. Returns 0; -EAGAIN: no room; -EPIPE: the server is gone. */
MUST_CHECK int contact_say(struct contact *contact, const struct attach_head *head,
                           const void *bytes, size_t size);

/* A message in the contact's own memory, valid until the next call. */
struct contact_message {
    struct attach_head head;
    const uint8_t *bytes;
    uint32_t size;
};

/* Receives the next message. Returns 1, 0 (none) or an error: the server is gone. With a channel
 * the socket is looked at only if `thorough`, which costs a system call: it has large messages, and
 * shows the end of the server. */
MUST_CHECK int contact_hear(struct contact *contact, struct contact_message *message,
                            bool thorough);

/* From now on the descriptor becomes readable when a message comes, and with `room` when there is
 * room again. Returns false if there is a message already, or room: then nothing is armed. */
bool contact_arm(struct contact *contact, bool room);
void contact_disarm(struct contact *contact);

/* The same before a request is sent: the server rings with the answer to that request, because it
 * sees the bell if it sees the request. This needs no barrier in all processes, which takes as long
 * as an answer. A message that the server sends at the same moment, and not because of the request,
 * may not ring. */
void contact_arm_for_answer(struct contact *contact);
bool contact_has_message(const struct contact *contact); /* in the channel */
