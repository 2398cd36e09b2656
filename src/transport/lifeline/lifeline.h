#pragma once
/* lifeline: the connection that two contexts keep as long as both live.
 *
 * It carries what is rare: who we are, the opening of pipes, descriptors of
 * shared memory. And it breaks when the peer's process ends, however it ends:
 * that is how death is noticed. A Unix socket (sequenced packets, carries
 * descriptors, says who the peer is) on one host, TCP between hosts, a line
 * through the fabric where neither reaches.
 *
 * Both begin with a hello: version, context, host, the transports' own
 * descriptions and, when the cluster has a secret, a proof of knowing it (a
 * fresh challenge from each side, answered by a keyed hash). What comes before
 * a valid hello, or does not parse, cuts the connection and is counted.
 *
 * All calls and callbacks run under the poller's lock. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/wake/poller.h"

#define CONTROL_BODY_MAX 1024
#define CONTROL_FD_MAX   6

/* One message. Kinds below CONTROL_TRANSPORT are of the layer above. */
struct control {
    uint16_t kind;
    uint16_t size;
    uint8_t fd_count;
    int fds[CONTROL_FD_MAX]; /* of received ones the callback keeps those that it sets to -1 */
    uint8_t body[CONTROL_BODY_MAX];
};

#define CONTROL_TRANSPORT 0x8000 /* kinds from here on belong to struct transport_link */

/* A family of addresses, no system's: a program that is attached to the node of its server. */
#define ADDRESS_FABRIC 254

/* Where a context listens: the address that its peers connect to. */
struct context_address {
    uint64_t context;    /* random, of one process's context; never 0 */
    uint8_t host[16];    /* of one boot of one machine */
    uint8_t family;      /* 0: this host only; else AF_INET, AF_INET6 or ADDRESS_FABRIC */
    uint8_t address[16]; /* network order; of ADDRESS_FABRIC a relay_address */
    uint16_t port;       /* host order */
};

#define LIFELINE_CARD_MAX     512
#define LIFELINE_QUEUE_MAX    (1024 * 1024) /* bytes that wait for room in the socket */
#define LIFELINE_GREETING_MAX 64            /* incoming ones that have not finished their hello */

struct lifeline;
struct lifelines; /* all of a context, and its listening sockets */

struct lifeline_events {
    /* The hello was good: the peer and what its transports say of themselves. */
    void (*up)(void *owner, struct lifeline *line, const struct context_address *peer,
               const uint8_t *card, size_t card_size);
    void (*control)(void *owner, struct lifeline *line, struct control *control);
    /* Gone, for good; also for one of lifeline_connect that never came up (a
     * peer's that never came up was never announced, and is only counted). The
     * line is freed after the callback. -EPIPE died, -ETIMEDOUT, -ECONNREFUSED,
     * -EHOSTUNREACH, -EPROTO nonsense, -EKEYREJECTED wrong secret or one side
     * without, -EPROTONOSUPPORT another version, -EPERM another user's. */
    void (*down)(void *owner, struct lifeline *line, int reason);
};

struct attachment;

struct lifelines_config {
    struct poller *poller;
    struct attachment *attachment; /* to our server's node, borrowed, or NULL */
    bool fabric_only;              /* never straight, though the peer be on this host */
    const char *folder;            /* the domain's, for Unix sockets: FOLDER/socket.HEX */
    const char *address;           /* IP address to listen on too, or NULL */
    uint64_t context;
    const uint8_t *card; /* what our transports say of themselves; borrowed until closed */
    size_t card_size;
    const uint8_t *key; /* 32 bytes from the secret, or NULL; copied */
    const struct lifeline_events *events;
    void *owner;
    nsec hello_nsec; /* how long a hello may take; 0: 5 s */
};

/* Listens. `address` gets where. */
MUST_CHECK int lifelines_open(struct lifelines **lines, const struct lifelines_config *config,
                              struct context_address *address, struct why *why);
/* The attachment is up again, at another address, and the card says so: `address` gets where we
 * listen now. Lines that were being made are cut. */
void lifelines_renew(struct lifelines *lines, struct context_address *address);
/* Closes all, no callbacks; removes its socket. Not from inside a callback. */
void lifelines_close(struct lifelines *lines);

struct lifelines_counts {
    uint64_t garbage; /* connections cut because of what they said: nonsense, version, secret */
    uint64_t silent;  /* whose hello took too long */
    uint64_t surplus; /* refused because too many had not finished their hello */
};

void lifelines_count(const struct lifelines *lines, struct lifelines_counts *counts);
uint64_t lifelines_garbage(const struct lifelines *lines);

/* Begins; up or down follows, never from inside this call. Prefers the Unix
 * socket when the host is ours; if nobody listens there (another container)
 * and it has an IP address, TCP. */
MUST_CHECK int lifeline_connect(struct lifelines *lines, const struct context_address *to,
                                struct lifeline **line);

/* False: not before the attachment is up again. */
bool lifelines_reach(const struct lifelines *lines, const struct context_address *address);

/* Sends, or queues what the socket does not take. Descriptors are duplicated;
 * they stay the caller's. -ENOBUFS: too much is queued already; -ENOTCONN: not
 * up yet; -EPIPE: down, or about to be. Over TCP descriptors are refused with
 * -EOPNOTSUPP. */
MUST_CHECK int lifeline_send(struct lifeline *line, const struct control *control);

/* Bytes that wait for room in the socket. */
size_t lifeline_queued(const struct lifeline *line);

/* Handles what has arrived by now, without waiting. On one host everything the
 * peer sent (and did not have to queue) before it published something in a
 * ring has arrived when we see that something. Returns how many messages, or
 * -EPIPE when the line is down: the callback follows from the poller, and the
 * line is valid until then. Inside a callback of the same line it does nothing. */
int lifeline_drain(struct lifeline *line);

/* No callback but down() after this, which follows later, from the poller. */
void lifeline_cut(struct lifeline *line, int reason);

/* Is the peer's end open, as far as the kernel knows at this moment? */
bool lifeline_alive(const struct lifeline *line);
bool lifeline_local(const struct lifeline *line); /* on this host: can carry descriptors */
int lifeline_pid(const struct lifeline *line);    /* of the peer, told by the kernel; 0 over TCP */
/* The same at both ends of a line that is up, and of no other line. */
uint64_t lifeline_number(const struct lifeline *line);
void lifeline_set_data(struct lifeline *line, void *data);
void *lifeline_data(const struct lifeline *line);

/* This boot of this machine. */
void context_address_host(uint8_t host[16]);
bool context_address_is_here(const struct context_address *address);

/* "10.0.0.1:4711", "[fe80::1]:4711", "server 7/3", or "host" where it has no address. */
void context_address_text(const struct context_address *address, char *out, size_t size);
