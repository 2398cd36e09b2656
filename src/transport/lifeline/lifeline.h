#pragma once
/* lifeline: the connection between two contexts, which exists as long as both do.
 *
 * It carries rare messages: the identity of each side, the opening of pipes, descriptors of shared
 * memory. And it breaks when the peer's process ends, however it ends: this is how a context
 * notices that a peer has died. It is a Unix socket (sequenced packets, carries descriptors,
 * identifies the peer) on one host, TCP between hosts, and a stream through the fabric where
 * neither can connect.
 *
 * Both sides begin with a hello: version, context, host, the descriptions of their transports and,
 * if the cluster has a secret, a proof that they know it (each side sends a fresh challenge, and
 * the other answers with a keyed hash). A message before a valid hello, or one that does not parse,
 * cuts the connection and is counted.
 *
 * All calls and callbacks run under the poller's lock. */

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "transport/wake/poller.h"

#define CONTROL_BODY_MAX 1024
#define CONTROL_FD_MAX   6

/* One message. Kinds below CONTROL_TRANSPORT belong to the layer above. */
struct control {
    uint16_t kind;
    uint16_t size;
    uint8_t fd_count;
    int fds[CONTROL_FD_MAX]; /* if received: the callback keeps one by setting it to -1 here */
    uint8_t body[CONTROL_BODY_MAX];
};

#define CONTROL_TRANSPORT 0x8000 /* kinds from here on belong to struct transport_link */

/* Our own address family: the address of a program that is attached to its server's node. */
#define ADDRESS_FABRIC 254

/* The address at which a context listens and to which its peers connect. */
struct context_address {
    uint64_t context;    /* random number of the context; 0 only in an address to connect to: any
                          * context that listens there */
    uint8_t host[16];    /* identifies one boot of one machine */
    uint8_t family;      /* 0: this host only; else AF_INET, AF_INET6 or ADDRESS_FABRIC */
    uint8_t address[16]; /* network order; for ADDRESS_FABRIC a relay_address */
    uint16_t port;       /* host order */
};

#define LIFELINE_CARD_MAX  512
#define LIFELINE_QUEUE_MAX (1024 * 1024) /* bytes queued because the socket has no room */

/* Incoming lines with an unfinished hello; one more replaces the oldest that has said nothing. */
#define LIFELINE_GREETING_MAX 64

struct lifeline;
struct lifelines; /* all lifelines of a context, and its listening sockets */

struct lifeline_events {
    /* The hello succeeded: gives the peer and the descriptions of its transports. */
    void (*up)(void *owner, struct lifeline *line, const struct context_address *peer,
               const uint8_t *card, size_t card_size);
    void (*control)(void *owner, struct lifeline *line, struct control *control);
    /* The line is down for good; also called for a line of lifeline_connect that never came up. (A
     * peer's line that never came up was not announced by up(), and is only counted.) The line is
     * freed after the callback. Reasons: -EPIPE the peer died, or refused without a reason,
     * -ETIMEDOUT a silence, or a reset after one, -ECONNREFUSED no process listens there, or
     * another context, -EHOSTUNREACH, -EPROTO invalid data, -EKEYREJECTED wrong secret or only one
     * side has a secret, -EPROTONOSUPPORT another version, -EPERM the peer belongs to another user;
     * or an error of lifeline_lacks. */
    void (*down)(void *owner, struct lifeline *line, int reason);
};

/* Does the error mean that this process lacks descriptors or memory? It says nothing about the
 * peer. */
static inline bool lifeline_lacks(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

struct attachment;

struct lifelines_config {
    struct poller *poller;
    struct attachment *attachment; /* to our server's node, borrowed, or NULL */
    bool fabric_only;              /* use only the fabric, even if the peer is on this host */
    const char *folder;            /* the domain's folder, for Unix sockets: FOLDER/socket.HEX */
    const char *address;           /* IP address to listen on as well, or NULL */
    uint16_t port;                 /* at that address; 0: the system chooses */
    uint64_t context;
    const uint8_t *card; /* the descriptions of our transports; borrowed until closed */
    size_t card_size;
    const uint8_t *key; /* 32 bytes derived from the secret, or NULL; copied */
    const struct lifeline_events *events;
    void *owner;
    nsec hello_nsec; /* timeout of the hello; 0: 5 s */
};

/* Starts to listen, and writes the address to `address`. */
MUST_CHECK int lifelines_open(struct lifelines **lines, const struct lifelines_config *config,
                              struct context_address *address, struct why *why);
/* Call this when the attachment is up again at another address and the card has changed. Writes the
 * new listening address to `address`. Cuts the lines that are not up yet. */
void lifelines_renew(struct lifelines *lines, struct context_address *address);
/* Closes all lines without callbacks, and removes the socket. Not allowed inside a callback. */
void lifelines_close(struct lifelines *lines);

struct lifelines_counts {
    uint64_t garbage; /* connections cut because of invalid data, version or secret */
    uint64_t silent;  /* connections whose hello took too long */
    uint64_t surplus; /* connections cut because too many hellos were unfinished */
};

void lifelines_count(const struct lifelines *lines, struct lifelines_counts *counts);
uint64_t lifelines_garbage(const struct lifelines *lines);

/* Does that context live on this host, in our folder? 1: it has locked its file; 0: no context of
 * that number has; negative: that cannot be found out. A process that dies ends its lines a moment
 * before it releases the lock. A context in another container may live although this is 0. */
MUST_CHECK int lifelines_alive(const struct lifelines *lines, uint64_t context);

/* Starts to connect; up or down follows, never from inside this call. Prefers the Unix socket if
 * the peer is on this host. If no process listens there (the peer is in another container) and the
 * peer has an IP address, uses TCP. If the peer closes the connection before the hello is complete,
 * connects again, until the timeout of the hello. */
MUST_CHECK int lifeline_connect(struct lifelines *lines, const struct context_address *to,
                                struct lifeline **line);

/* False: the address cannot be reached before the attachment is up again. */
bool lifelines_reach(const struct lifelines *lines, const struct context_address *address);

/* Sends the message, or queues what the socket does not take. Duplicates the descriptors; the
 * caller keeps its own. -ENOBUFS: too much is queued already; -ENOTCONN: not up yet; -EPIPE: down,
 * or about to be. Over TCP descriptors are refused with -EOPNOTSUPP. */
MUST_CHECK int lifeline_send(struct lifeline *line, const struct control *control);

/* Bytes that are queued because the socket has no room. */
size_t lifeline_queued(const struct lifeline *line);

/* Handles what has arrived by now, without waiting. On one host, when we see something that the
 * peer published in a ring, everything that the peer sent before it (and did not have to queue) has
 * arrived. Returns how many messages it handled, or -EPIPE if the line is down: then down() follows
 * from the poller, and the line is valid until then. Or an error of lifeline_lacks: the next
 * message has descriptors for which this process has no room, and waits in the socket. Inside a
 * callback of the same line it does nothing. */
int lifeline_drain(struct lifeline *line);

/* After this only down() is called, later and from the poller. Between hosts the peer's kernel sees
 * a reset, and not an orderly end, for our context goes on (lifeline_ended). */
void lifeline_cut(struct lifeline *line, int reason);

/* Of a line that was up: has the peer's context ended? On one host the lock of the context's file
 * tells (lifelines_alive). Over TCP only an orderly end means it: silence and a reset may also mean
 * that the network was interrupted, or that the peer cut the line. Through the servers the context
 * counts as ended if its server says that it is gone: it has ended, or its server was restarted. */
bool lifeline_ended(const struct lifeline *line);

/* Is the peer's end open, as far as the kernel knows now? */
bool lifeline_alive(const struct lifeline *line);
/* Does the next message wait in the socket, because this process lacks descriptors for it? */
bool lifeline_rests(const struct lifeline *line);
/* Was the peer's address ever connected? Then a process listens there, even if the hello failed. */
bool lifeline_reached(const struct lifeline *line);
bool lifeline_local(const struct lifeline *line);    /* on this host: can carry descriptors */
int lifeline_pid(const struct lifeline *line);       /* the peer's, from the kernel; 0 over TCP */
bool lifeline_outgoing(const struct lifeline *line); /* did this end connect? */
/* A number that is the same at both ends of a line that is up, and differs between lines. */
uint64_t lifeline_number(const struct lifeline *line);
void lifeline_set_data(struct lifeline *line, void *data);
void *lifeline_data(const struct lifeline *line);

/* Identifies this boot of this machine. */
void context_address_host(uint8_t host[16]);
bool context_address_is_here(const struct context_address *address);

/* Is it the same address and port? The contexts there may differ. */
static inline bool context_address_equal(const struct context_address *one,
                                         const struct context_address *other)
{
    return one->family == other->family && one->port == other->port &&
           memcmp(one->address, other->address, sizeof one->address) == 0;
}

/* Writes "10.0.0.1:4711", "[fe80::1]:4711", "server 7/3", or "host" if it has no address. */
void context_address_text(const struct context_address *address, char *out, size_t size);
