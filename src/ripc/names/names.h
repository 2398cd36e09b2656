#pragma once
/* names: who has which id, and where.
 *
 * A *claim* says that a context has an id. Claims are held in a small cache,
 * fed by name services behind one table of operations:
 *
 *   host        files under the domain's folder in shared memory, one per
 *               claim, locked for as long as the claimant lives: the kernel
 *               lets go of a dead process's lock, so a stale claim cannot last
 *   multicast   queries and claims as datagrams to a group; every member
 *               answers for its own ids and caches what it hears
 *   file        lines of a file that the operator wrote
 *
 * With a key, claims that travel are sealed (libsodium) and those with a wrong
 * seal ignored and counted. Without, whoever claims first and lives keeps it.
 * Of two claims of one id the higher incarnation is the newer. A claim is named by
 * its id and its member: a context may have several members of one group.
 *
 * All calls and callbacks run under the poller's lock. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/lifeline/lifeline.h"
#include "transport/wake/poller.h"

struct claim {
    uint64_t id;
    uint64_t incarnation; /* of this binding: the wall's nanoseconds at its start */
    bool group;           /* one member of a group: many claims of the id live together */
    uint64_t member;      /* the service that has it: of a group the member, else the id itself */
    struct context_address address;
    int pid; /* 0 if not known */
};

struct names_events {
    /* The outcome of names_announce: 0 or -EADDRINUSE; also later, if the id is
     * lost to another (-ESTALE). */
    void (*announced)(void *owner, uint64_t id, uint64_t member, int status);
    /* A claim that names_ask asked for, or that somebody made by itself; ours too, once
     * announced. Another context or a newer incarnation than before: it moved or restarted. */
    void (*found)(void *owner, const struct claim *claim);
    /* That claim was withdrawn or its context died. */
    void (*gone)(void *owner, const struct claim *claim);
    /* NULL, or: a name service told all that it knows of an id; that may be nothing. */
    void (*answered)(void *owner);
};

struct names_config {
    struct poller *poller;
    const char *services; /* "host,multicast:239.255.87.70:17700,file:PATH,directory" */
    const char *folder;   /* the domain's */
    const char *domain;   /* claims of other domains are not ours */
    const char *node;     /* the socket of our server's node, for the directory; NULL: none */
    const char *address;  /* of the interface for multicast; NULL: loopback */
    const uint8_t *key;   /* 32 bytes, or NULL; copied */
    const struct names_events *events;
    void *owner;
};

struct names;

MUST_CHECK int names_open(struct names **names, const struct names_config *config, struct why *why);
void names_close(struct names *names); /* withdraws what is ours */

/* Begins to claim; `announced` follows, perhaps from inside the call (host, file), perhaps
 * after the others had time to object (multicast). -EINVAL: no claim (id, member, context and
 * incarnation are not 0; the member differs from the id in a group, and only there); -EALREADY: it
 * is ours. */
MUST_CHECK int names_announce(struct names *names, const struct claim *claim);
void names_withdraw(struct names *names, uint64_t id, uint64_t member);

/* We can be reached at another address from now on: all that is ours is claimed anew, as a newer
 * incarnation. NULL: at none for now, if the fabric is where our claims say we are. */
void names_move(struct names *names, const struct context_address *address);

/* Asks for an id: `found` is called, perhaps from inside the call, for every
 * claim known or heard of. Asking again asks again. Returns how many are known now. */
int names_ask(struct names *names, uint64_t id);

/* May who is asked come to know what it does not know at once? */
bool names_answer_later(const struct names *names);

/* When those who were asked last told all that they know of an id, also that nobody has it; 0: they
 * have not yet. NSEC_NEVER: nobody does; who does not know keeps silent. */
nsec names_answered(const struct names *names, uint64_t id);

/* Asked for it, and does not care any more: claims made later may go unnoticed. */
void names_ignore(struct names *names, uint64_t id);

/* The claims known now, checked for life where that is cheap. Returns how many
 * there are, and writes at most `max`. */
unsigned names_known(struct names *names, uint64_t id, struct claim *out, unsigned max);

/* A context turned out to be unreachable: its claims are dropped from the cache. */
void names_forget(struct names *names, uint64_t context);

/* Every claim known or listed anywhere. Returns how many calls. `each` may not call names.
 * Over multicast it asks everybody, and the answers are there a little later. */
typedef void names_each(void *argument, const struct claim *claim);
int names_list(struct names *names, names_each *each, void *argument);

struct names_counts {
    uint64_t forged;    /* claims with a wrong seal */
    uint64_t conflicts; /* others that claimed what is ours */
    uint64_t garbage;   /* datagrams, and changes of a file, that did not parse */
    uint64_t datagrams; /* heard in all */
};
void names_count(const struct names *names, struct names_counts *counts);

/* One service, what names_open makes of the words of its list. */
struct name_service;
struct name_service_ops {
    const char *word; /* before the colon */
    bool once;        /* it cannot be listed twice */
    bool later;       /* it may come to know what it does not know at once ... */
    bool answers;     /* ... and then says so, also of nobody: names_told_all */
    int (*open)(struct name_service **service, struct names *names, const char *argument,
                const struct names_config *config, struct why *why);
    void (*close)(struct name_service *service);
    /* 0, 1 (names_settled follows), or why not; then it holds nothing. */
    int (*announce)(struct name_service *service, const struct claim *claim);
    void (*withdraw)(struct name_service *service, const struct claim *claim);
    /* What we hold there has another address now. NULL: the service keeps no addresses. */
    void (*renew)(struct name_service *service, const struct claim *claim);
    void (*ask)(struct name_service *service, uint64_t id);
    /* Calls names_learn for everything it can list. */
    void (*list)(struct name_service *service);
    /* -1 dead, 0 cannot tell, 1 lives. */
    int (*alive)(struct name_service *service, const struct claim *claim);
};
