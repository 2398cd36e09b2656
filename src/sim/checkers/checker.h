#pragma once
/* checker: what must hold in any run, whatever goes wrong in it. Each checker is a table of hooks
 * with memory of its own; it is told of everything that happens and says so once something is not
 * as it must be. These are always there (checkers.c lists them); whoever opens them may bring more,
 * for what his services promise.
 *
 *   roots   nobody delivers a key while somebody before him in the key's list is there for it, nor
 *           would do so
 *   ledger  every packet that was sent was delivered, taken, dropped and counted, or lost on a
 *           link, once
 *   routes  rows only get newer; nothing leaves by a port that is not there; in the calm everybody
 *           knows everything again
 *   leaks   no packet is left over
 *   fair    on a saturated link each service has its share
 *
 * All of them look at the world through a struct checker_view, so that each can be tried on
 * histories that are known to be bad. */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "node/node.h"
#include "sim/engine/engine.h"

struct checker_view {
    const struct plan *plan; /* borrowed */
    psec (*now)(void *context);
    struct node *(*node)(void *context, node_id server); /* NULL: it is down */
    enum port_state (*port)(void *context, node_id server, unsigned port);
    bool (*settled)(void *context, node_id server); /* and alive */
    /* The one leaves its keys to the other. */
    bool (*counts_on)(void *context, node_id server, node_id other);
    uint64_t (*live)(void *context); /* packets that somebody holds */
    void *context;
};

enum checker_phase {
    PHASE_STORM,  /* faults */
    PHASE_CALM,   /* all is healed, and must come back */
    PHASE_STEADY, /* it has: nothing is dropped any more */
    PHASE_QUIET,  /* nobody sends, and what was under way has arrived */
    PHASE_STOP,   /* servers are being stopped, with what they hold */
    PHASE_OVER,   /* all have */
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
    void (*up)(struct checker *checker, node_id at, unsigned port); /* that port came up */
    /* One went down, or the server itself came or went. */
    void (*down)(struct checker *checker, node_id at);
    void (*started)(struct checker *checker, node_id at);
    void (*phase)(struct checker *checker, enum checker_phase phase);
    void (*pressed)(struct checker *checker, const struct checker_press *press);
    void (*released)(struct checker *checker, const struct checker_press *press); /* that is over */
};

#define CHECKER_COUNT     5  /* that are always there */
#define CHECKER_MAX       16 /* with those that are brought */
#define CHECKER_TEXT_SIZE 240

struct checkers {
    struct checker_view view;
    enum checker_phase phase;
    struct checker list[CHECKER_MAX];
    unsigned count;     /* that are open */
    const char *failed; /* the first to find something; NULL: all is well */
    psec failed_at;
    char text[CHECKER_TEXT_SIZE];
    uint64_t failures;
};

extern const struct checker_ops checker_roots, checker_ledger, checker_routes, checker_leaks,
    checker_fair;

/* Those of the table, then `more`, which ends with NULL and must outlive them; NULL: no more. */
MUST_CHECK enum err checkers_open(struct checkers *checkers, const struct checker_view *view,
                                  const struct checker_ops *const *more, struct why *why);
void checkers_close(struct checkers *checkers);
void checkers_phase(struct checkers *checkers, enum checker_phase phase);

/* Only the first is kept. */
void checker_fail(struct checker *checker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Tells all of them. */
#define CHECKERS_TELL(checkers, hook, ...)                                                         \
    do {                                                                                           \
        for (unsigned tell_ = 0; tell_ < (checkers)->count; tell_++) {                             \
            struct checker *told_ = &(checkers)->list[tell_];                                      \
            if (told_->ops->hook)                                                                  \
                told_->ops->hook(told_, __VA_ARGS__);                                              \
        }                                                                                          \
    } while (0)

/* Has everybody come back: all alive, settled, ports up, of the same mind, and as far from each
 * other as planned? Else `why` names one who has not. */
bool checker_routes_are_back(const struct checker_view *view, struct why *why);
