#pragma once
/* names: which context holds which id, and where.
 *
 * A *claim* states that a context has an id. Claims are kept in a small cache, which is filled by
 * name services behind one table of operations:
 *
 *   host        files in the domain's folder in shared memory, one per
 *               claim, locked for as long as the claimant lives: the kernel
 *               releases the lock of a dead process, so a stale claim cannot last
 *   multicast   queries and claims as datagrams to a group; every member
 *               answers for its own ids and caches the claims of others
 *   file        lines of a file that the operator wrote: where processes listen
 *   directory   names kept by the nodes of a cluster
 *
 * With a key, claims that are sent are sealed (libsodium), and those with a wrong seal are ignored
 * and counted. Without a key, the first claimant keeps the id while it lives. Of two claims of one
 * id the one with the higher incarnation is newer. A claim is identified by its id and its member:
 * a context may have several members of one group.
 *
 * Contexts also *exchange* claims over the lifeline between them, if the list of one of them has a
 * file: the file says where processes listen, and each process says which ids it has.
 *
 * All calls and callbacks run under the poller's lock. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/lifeline/lifeline.h"
#include "transport/wake/poller.h"

struct claim {
    uint64_t id;
    uint64_t incarnation; /* of this binding: wall clock in nanoseconds at its start */
    bool group;           /* a member of a group: an id may have many such claims */
    uint64_t member;      /* the service that has the id: in a group the member, else the id
                           * itself */
    struct context_address address;
    int pid; /* 0 if not known */
};

/* What two contexts say to each other about names over their lifeline. */
enum names_word {
    NAMES_LISTEN = 1, /* tell me your claims, now and whenever they change */
    NAMES_CLAIM,      /* I hold this id */
    NAMES_WITHDRAW,   /* I no longer hold it */
    NAMES_TOLD,       /* you have heard all my claims */
    NAMES_PROBE,      /* I am about to claim this id */
    NAMES_VERDICT,    /* the answer to a probe: 0, or -EADDRINUSE */
    NAMES_WORD_END,
};

struct names_saying {
    enum names_word word;
    uint64_t id; /* 0 for NAMES_LISTEN and NAMES_TOLD */
    uint64_t member;
    uint64_t incarnation;
    bool group;
    int status; /* of NAMES_VERDICT */
};

enum names_contact { NAMES_CONNECTING, NAMES_CONNECTED, NAMES_SELF };

struct names_events {
    /* The outcome of names_announce: 0 or -EADDRINUSE. Also later, if the id is lost to another
     * context (-ESTALE). */
    void (*announced)(void *owner, uint64_t id, uint64_t member, int status);
    /* A claim that names_ask asked for, or that a context made unasked; also our own, once
     * announced. If its context or incarnation differs from before, the service moved or
     * restarted. */
    void (*found)(void *owner, const struct claim *claim);
    /* The claim was withdrawn, or its context died. */
    void (*gone)(void *owner, const struct claim *claim);
    /* NULL, or: a name service has reported everything it knows about an id, which may be
     * nothing. */
    void (*answered)(void *owner);
    /* Both NULL, or both not. Says something to the peer of a line (names_line_up), reliably and in
     * order. */
    void (*say)(void *owner, void *peer, const struct names_saying *saying);
    /* Connects to the context that listens at that address, whose number need not be known. Returns
     * an enum names_contact, or an error. Later, but never inside the call, names_line_up or
     * names_line_failed follows if it is connecting. */
    int (*contact)(void *owner, const struct context_address *address);
};

struct names_config {
    struct poller *poller;
    const char *services; /* "host,multicast:239.255.87.70:17700,file:PATH,directory" */
    const char *folder;   /* of the domain */
    const char *domain;   /* claims of other domains are ignored */
    const char *node;     /* socket of our server's node, for the directory; NULL: none */
    const char *address;  /* of the interface for multicast; NULL: loopback */
    const uint8_t *key;   /* 32 bytes, or NULL; copied */
    const struct names_events *events;
    void *owner;
};

struct names;

MUST_CHECK int names_open(struct names **names, const struct names_config *config, struct why *why);
void names_close(struct names *names); /* withdraws our claims */

/* Starts to claim. `announced` follows, perhaps from inside the call (host, file), perhaps after
 * the others had time to object (multicast). -EINVAL: the claim is invalid (id, member, context and
 * incarnation must not be 0; the member differs from the id in a group, and only there); -EALREADY:
 * the claim is already ours. */
MUST_CHECK int names_announce(struct names *names, const struct claim *claim);
void names_withdraw(struct names *names, uint64_t id, uint64_t member);

/* Our address has changed: claims all our ids again, with newer incarnations. NULL: we have no
 * address in the fabric now; names_each_mine skips claims that contain one until the next call. */
void names_move(struct names *names, const struct context_address *address);

/* Asks for an id. `found` is called, perhaps from inside the call, for every claim that is known or
 * arrives. Calling it again asks again. Returns how many claims are known now. */
int names_ask(struct names *names, uint64_t id);

/* A program asks anew for an id that it was told no process has: name services that hold back
 * questions which are repeated ask soon. */
void names_hurry(struct names *names, uint64_t id);

/* For the callback `gone`: has the holder given this claim up (withdrawn it, or released the lock
 * of its file)? False if only our knowledge of the claim has ended, so the holder may still have
 * it. */
bool names_is_over(const struct names *names, const struct claim *claim);

/* May a name service answer asynchronously? */
bool names_answer_later(const struct names *names);

/* Returns when a name service last reported everything that it knows about an id, which may be that
 * the id is unclaimed; 0: not yet. NSEC_NEVER: no name service reports that an id is unclaimed. */
nsec names_answered(const struct names *names, uint64_t id);

/* Returns the error if since then this process lacked descriptors or memory to find out who has an
 * id (lifeline_lacks), or 0. If so, an id without known claims may be claimed all the same. */
int names_lack(const struct names *names, nsec since);

/* The program no longer wants this id: later claims may go unnoticed. */
void names_ignore(struct names *names, uint64_t id);

/* Returns the number of claims known now, checked for liveness where that is cheap; writes at most
 * `max` of them. */
unsigned names_known(struct names *names, uint64_t id, struct claim *out, unsigned max);

/* A context is unreachable: drops its claims from the cache. */
void names_forget(struct names *names, uint64_t context);

/* Calls `each` for every claim that is known or listed anywhere, and returns the number of calls.
 * `each` must not call names. Over multicast it also sends a query, whose answers arrive a little
 * later. */
typedef void names_each(void *argument, const struct claim *claim);
int names_list(struct names *names, names_each *each, void *argument);

/* ---- the exchange of claims ---- */

struct names_line; /* a lifeline, as the exchange sees it */

/* A lifeline is up. `dialled`: the address to which we connected, or NULL if the peer connected.
 * `peer` is passed to say(). NULL: no memory. */
MUST_CHECK struct names_line *names_line_up(struct names *names,
                                            const struct context_address *address,
                                            const struct context_address *dialled, void *peer);
/* The peer said something. -EPROTO: it is invalid. */
MUST_CHECK int names_line_heard(struct names *names, struct names_line *line,
                                const struct names_saying *saying);
/* The lifeline is down: frees the line. The caller calls names_forget as well. */
void names_line_down(struct names *names, struct names_line *line);
/* The context at this address could not be connected, for that reason. */
void names_line_failed(struct names *names, const struct context_address *dialled, int reason);

struct names_counts {
    uint64_t forged;    /* claims with a wrong seal */
    uint64_t conflicts; /* claims of others to ids of ours */
    uint64_t garbage;   /* malformed datagrams, and malformed changes of a file */
    uint64_t datagrams; /* received in all */
};
void names_count(const struct names *names, struct names_counts *counts);

/* A name service, which names_open makes from an entry of its list. */
struct name_service;
struct name_service_ops {
    const char *word; /* before the colon */
    bool once;        /* it can be listed only once */
    bool later;       /* it may answer asynchronously ... */
    bool answers;     /* ... and then also reports that an id is unclaimed: names_told_all */
    int (*open)(struct name_service **service, struct names *names, const char *argument,
                const struct names_config *config, struct why *why);
    void (*close)(struct name_service *service);
    /* 0, 1 (names_settled follows), or an error; then the service holds nothing. */
    int (*announce)(struct name_service *service, const struct claim *claim);
    void (*withdraw)(struct name_service *service, const struct claim *claim);
    /* The address of a claim that the service holds has changed. NULL: the service keeps no
     * addresses. */
    void (*renew)(struct name_service *service, const struct claim *claim);
    /* NULL, or: a claim that the service holds is ours now. */
    void (*settled)(struct name_service *service, const struct claim *claim);
    void (*ask)(struct name_service *service, uint64_t id);
    /* Optional: the next question for the id is not held back for long. */
    void (*hurry)(struct name_service *service, uint64_t id);
    /* Calls names_learn for every claim that it can list. */
    void (*list)(struct name_service *service);
    /* -1: dead, 0: unknown, 1: alive. */
    int (*alive)(struct name_service *service, const struct claim *claim);
    /* NULL, or: does the service say that the id is at another address than the claim says? */
    bool (*denies)(struct name_service *service, const struct claim *claim);
    /* NULL, or: a lifeline came up, told all its claims, or went down. `failed`: NULL, or the
     * address of one that could not be made. */
    void (*line_changed)(struct name_service *service, const struct context_address *failed);
};
