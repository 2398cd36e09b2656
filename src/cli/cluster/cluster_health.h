#pragma once
/* cluster_health: is the cluster well? A pure function of what every server said, and of which
 * processes live by the kernel's word.
 *
 * A server is *dead* if no process holds its lock, *silent* if one does and does not answer, *live*
 * otherwise. A link is judged by both of its ends: up only if both say so. Live servers form
 * *parts*: those that reach each other. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "node/plan.h"
#include "services/control/control_wire.h"

enum cluster_server { SERVER_DEAD, SERVER_SILENT, SERVER_LIVE };

/* One server as it was found. */
struct cluster_seen {
    enum cluster_server state;
    int pid;                          /* of its process; 0: dead */
    struct control_snapshot snapshot; /* SERVER_LIVE */
};

enum cluster_link {
    LINK_UP,
    LINK_COMING, /* both ends hear each other; not every server has seen it yet */
    LINK_DOWN,   /* between live servers, and silent */
    LINK_LOST,   /* one end is dead or silent */
    LINK_CUT,    /* by the operator, at one end or both */
    LINK_MISWIRED,
    LINK_STATES,
};

extern const char *const cluster_link_names[LINK_STATES];

struct cluster_cable {
    node_id a, b; /* a is the lower */
    uint32_t a_port, b_port;
    enum cluster_link state;
};

enum health { HEALTH_OK, HEALTH_WARN, HEALTH_ERR };

extern const char *const health_names[];

/* What can be wrong, the worst first. */
#define HEALTH_LIST(X)                                                                             \
    X(ALL_SERVERS_DOWN, HEALTH_ERR)                                                                \
    X(CLUSTER_SPLIT, HEALTH_ERR)                                                                   \
    X(SERVERS_DOWN, HEALTH_WARN)                                                                   \
    X(LINKS_MISWIRED, HEALTH_WARN)                                                                 \
    X(SERVERS_SILENT, HEALTH_WARN)                                                                 \
    X(SERVERS_JOINING, HEALTH_WARN)                                                                \
    X(DEATHS_UNNOTICED, HEALTH_WARN)                                                               \
    X(LINKS_CUT, HEALTH_WARN)                                                                      \
    X(LINKS_DOWN, HEALTH_WARN)                                                                     \
    X(ROUTES_DIFFER, HEALTH_WARN)

enum health_code {
#define HEALTH_ENUM(name, severity) HEALTH_##name,
    HEALTH_LIST(HEALTH_ENUM)
#undef HEALTH_ENUM
        HEALTH_CODES,
};

extern const char *const health_code_names[HEALTH_CODES];
enum health health_severity(enum health_code code);

struct cluster_health {
    enum health health;
    bool reasons[HEALTH_CODES];
    uint32_t server_count, live, silent, dead, joining;
    uint32_t unnoticing; /* live servers that still count on a dead one */
    uint32_t part_count; /* of the live servers */
    uint32_t *part_of;   /* each server's part, numbered by size; UINT32_MAX: not live. Owned */
    uint32_t *part_size; /* of each part; owned */
    uint32_t
        unagreed; /* live servers whose link state or reach is not that of most of their part */
    uint32_t cable_count;
    struct cluster_cable *cables; /* owned */
    uint32_t links[LINK_STATES];
    /* Summed over live servers. */
    uint64_t sent, delivered, intercepted, packets_out, bytes_out, frames_out;
    uint64_t waiting; /* packets between two roots */
    uint64_t drops[DROP_COUNT];
};

MUST_CHECK enum err cluster_health(struct cluster_health *health, const struct plan *plan,
                                   const struct cluster_seen *seen, struct why *why);
void cluster_health_fini(struct cluster_health *health);

/* One line for a reason that holds, without its code: "1 of 27 servers is dead: 13". */
void cluster_health_reason(const struct cluster_health *health, enum health_code code,
                           const struct plan *plan, const struct cluster_seen *seen,
                           struct text *out);

/* "3, 4, 5 and 20 more": servers that a question picks. */
typedef bool cluster_pick(const void *context, node_id server);
void cluster_list_servers(struct text *out, const struct plan *plan, cluster_pick *pick,
                          const void *context);
