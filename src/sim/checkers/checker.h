#pragma once
/* checker: checks properties that must hold in any run, whatever fails in it. Each checker is a
 * table of hooks with its own memory; it is called for every event and reports the first violation.
 * The checkers below always run (checkers.c lists them); the caller may add more, for what its
 * services promise.
 *
 *   roots   no server delivers a packet to a key, or is ready to, while a server before it in the
 *           key's list is reachable and settled; nor before it has settled itself
 *   silence no server handles a packet or a request while it considers a link up whose last hello
 *           is older than the silence: it may have been away, and replaced
 *   links   a link goes down only for a reason, and does not come up while it is cut
 *   ledger  every packet that was sent is delivered, intercepted, dropped and counted, or lost on
 *           a link, exactly once
 *   routes  rows only get newer; nothing leaves by a port that is down; after recovery all
 *           servers have all rows again
 *   calls   services are told of every change (peer_up, peer_down), see each packet that passes
 *           once, get packets with the source and destination that they were sent with, and get
 *           timers when they are due
 *   leaks   no packet is left at the end
 *   fair    on a saturated link each service gets its share
 *
 * Checkers see the world through a struct checker_view, so that tests can run each on histories
 * that are known to be bad. */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/hash.h"
#include "node/node.h"
#include "sim/engine/engine.h"

/* What the service that loads a server has been told (chaos_load.h). */
struct checker_observed {
    uint64_t peers;          /* digest of the servers that are up: see checker_peers_add */
    uint64_t peers_repeated; /* peer_up of a server that was up, peer_down of one that was not */
    uint64_t passes_wrong;   /* packets that intercept() saw more or less often than they passed */
    uint64_t misdelivered;   /* packets that were sent elsewhere, or by another server */
    uint64_t timers_early;
    bool timer_overdue; /* now */
};

/* The numbers of the services that load the servers. Others are guests. */
#define CHECKER_LOAD_FIRST 240
#define CHECKER_LOAD_LAST  243

struct checker_view {
    const struct plan *plan; /* borrowed */
    psec (*now)(void *context);
    struct node *(*node)(void *context, node_id server); /* NULL: it is down */
    enum port_state (*port)(void *context, node_id server, unsigned port);
    bool (*settled)(void *context, node_id server); /* and running */
    /* Does `server` leave the keys of `other` to `other`? See node_counts_on. */
    bool (*counts_on)(void *context, node_id server, node_id other);
    uint64_t (*live)(void *context);                  /* packets not yet released */
    env_nsec (*clock)(void *context, node_id server); /* what its clock shows */
    env_nsec silence;                                 /* of the nodes' configuration */
    /* False: it is down, or has no such service. */
    bool (*observed)(void *context, node_id server, struct checker_observed *observed);
    bool damages; /* links damage frames, also the counts of hops, which have no checksum */
    bool rewinds; /* servers start with lower incarnations, and take higher ones later */
    /* Guests send and drop packets whenever they like. */
    bool guests_apart;
    void *context;
};

enum checker_phase {
    PHASE_STORM,  /* faults happen */
    PHASE_CALM,   /* all faults are healed; all servers must come back */
    PHASE_STEADY, /* all servers are back (recovery): nothing may be dropped any more */
    PHASE_QUIET,  /* nothing is sent any more, and all packets in flight have arrived */
    PHASE_STOP,   /* servers are being stopped, with the packets that they hold */
    PHASE_OVER,   /* all servers have stopped */
};

/* Services that have more to send on one port than it carries. */
#define CHECKER_PRESS_MAX 4
struct checker_press {
    node_id server;
    unsigned port;
    unsigned count;
    uint16_t services[CHECKER_PRESS_MAX];
    uint16_t weights[CHECKER_PRESS_MAX];
};

struct checkers;

struct checker {
    const struct checker_ops *ops;
    struct checkers *all;
    void *memory; /* ops->size bytes, zeroed */
};

/* Any hook may be NULL. */
struct checker_ops {
    const char *name;
    size_t size;
    enum err (*open)(struct checker *checker, struct why *why);
    void (*close)(struct checker *checker);
    void (*sent)(struct checker *checker, node_id at, const struct packet *packet);
    void (*delivered)(struct checker *checker, node_id at, const struct packet *packet);
    void (*taken)(struct checker *checker, node_id at, uint64_t trail);
    void (*dropped)(struct checker *checker, node_id at, const struct packet *packet,
                    enum drop_reason reason);
    void (*copied)(struct checker *checker, const struct packet *packet); /* by a link */
    void (*lost)(struct checker *checker, const struct packet *packet);   /* on a link */
    void (*transmitted)(struct checker *checker, node_id at, unsigned port,
                        const struct packet *packet);
    void (*row)(struct checker *checker, node_id at, node_id server, uint64_t incarnation,
                uint64_t version);
    /* A server takes a packet from a link, and has not looked at it yet. */
    void (*received)(struct checker *checker, node_id at, unsigned port,
                     const struct packet *packet);
    void (*heard)(struct checker *checker, node_id at, unsigned port); /* a valid hello or rows */
    /* A service answers a local program for a key, because it is told that its server is root. */
    void (*answered)(struct checker *checker, node_id at, uint64_t route);
    void (*fell)(struct checker *checker, node_id at, unsigned port); /* that port went down */
    /* The operator cuts that end of a link or mends it; its driver reports the other end gone or
     * back. Called before the server knows. */
    void (*cut)(struct checker *checker, node_id at, unsigned port, bool cut);
    void (*carrier)(struct checker *checker, node_id at, unsigned port, bool on);
    /* The server goes on after it did nothing from `left` to `back` by its clock. Called before it
     * does anything. */
    void (*returned)(struct checker *checker, node_id at, env_nsec left, env_nsec back);
    void (*sampled)(struct checker *checker, psec at); /* every millisecond, between two steps */
    void (*up)(struct checker *checker, node_id at, unsigned port); /* that port came up */
    /* A port went down, or the server itself started or ended. */
    void (*down)(struct checker *checker, node_id at);
    void (*started)(struct checker *checker, node_id at);
    void (*phase)(struct checker *checker, enum checker_phase phase);
    void (*pressed)(struct checker *checker, const struct checker_press *press);
    void (*released)(struct checker *checker,
                     const struct checker_press *press); /* the pressure is over */
};

#define CHECKER_COUNT     8  /* that always run */
#define CHECKER_MAX       16 /* with the caller's */
#define CHECKER_TEXT_SIZE 240

struct checkers {
    struct checker_view view;
    enum checker_phase phase;
    struct checker list[CHECKER_MAX];
    unsigned count;     /* that are open */
    const char *failed; /* the first checker that found an error; NULL: none */
    psec failed_at;
    char text[CHECKER_TEXT_SIZE];
    uint64_t failures;
};

extern const struct checker_ops checker_roots, checker_silence, checker_links, checker_ledger,
    checker_routes, checker_calls, checker_leaks, checker_fair;

/* Opens the built-in checkers, then `more`, which ends with NULL and must outlive them; NULL: no
 * more. */
MUST_CHECK enum err checkers_open(struct checkers *checkers, const struct checker_view *view,
                                  const struct checker_ops *const *more, struct why *why);
void checkers_close(struct checkers *checkers);
void checkers_phase(struct checkers *checkers, enum checker_phase phase);

/* Reports an error; only the first is kept. */
void checker_fail(struct checker *checker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Calls that hook of all checkers. */
#define CHECKERS_TELL(checkers, hook, ...)                                                         \
    do {                                                                                           \
        for (unsigned tell_ = 0; tell_ < (checkers)->count; tell_++) {                             \
            struct checker *told_ = &(checkers)->list[tell_];                                      \
            if (told_->ops->hook)                                                                  \
                told_->ops->hook(told_, __VA_ARGS__);                                              \
        }                                                                                          \
    } while (0)

/* Adds a server to, or removes it from, a digest of a set of servers. */
static inline void checker_peers_add(uint64_t *digest, node_id server)
{
    *digest += hash_mix(server + 1);
}

static inline void checker_peers_remove(uint64_t *digest, node_id server)
{
    *digest -= hash_mix(server + 1);
}

/* Are all servers running and settled, with all ports up, the same rows and the planned distances?
 * If not, `why` names a server that is not. */
bool checker_routes_are_back(const struct checker_view *view, struct why *why);
