#pragma once
/* cluster_health: the health of a cluster, as a pure function of the answers of all servers and of
 * which processes run.
 *
 * A server is *dead* if no process holds its lock, *silent* if a process holds it but does not
 * answer, and *live* otherwise. A link is up only if both of its ends report so. Live servers that
 * reach each other form a *part*. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "node/plan.h"
#include "services/control/control_wire.h"

enum cluster_server { SERVER_DEAD, SERVER_SILENT, SERVER_LIVE };

/* The state of one server. */
struct cluster_seen {
    enum cluster_server state;
    int pid;                          /* of its process; 0: dead */
    struct control_snapshot snapshot; /* SERVER_LIVE */
    /* SERVER_SILENT: the service and its function that has not returned for so many seconds; empty:
     * none is known. */
    char stuck_service[CONTROL_NAME_MAX + 1], stuck_function[CONTROL_NAME_MAX + 1];
    double stuck_seconds;
};

enum cluster_link {
    LINK_UP,
    LINK_COMING, /* both ends receive hellos; not every server has learned of it yet */
    LINK_DOWN,   /* between live servers, without hellos */
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

/* The reasons, worst first; the last is only a note. */
#define HEALTH_LIST(X)                                                                             \
    X(ALL_SERVERS_DOWN, HEALTH_ERR)                                                                \
    X(CLUSTER_SPLIT, HEALTH_ERR)                                                                   \
    X(SERVERS_DOWN, HEALTH_WARN)                                                                   \
    X(LINKS_MISWIRED, HEALTH_WARN)                                                                 \
    X(SERVERS_SILENT, HEALTH_WARN)                                                                 \
    X(SERVICES_STUCK, HEALTH_WARN)                                                                 \
    X(SERVERS_JOINING, HEALTH_WARN)                                                                \
    X(DEATHS_UNNOTICED, HEALTH_WARN)                                                               \
    X(LINKS_CUT, HEALTH_WARN)                                                                      \
    X(LINKS_DOWN, HEALTH_WARN)                                                                     \
    X(ROUTES_DIFFER, HEALTH_WARN)                                                                  \
    X(SERVICES_FULL, HEALTH_WARN)                                                                  \
    X(SERVICES_MISTAKEN, HEALTH_WARN)                                                              \
    X(SERVICES_SLOW, HEALTH_OK)

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
    uint32_t unnoticing; /* live servers that have not noticed a dead one yet */
    uint32_t part_count; /* of the live servers */
    uint32_t *part_of;   /* part of each server, 0 is the largest; UINT32_MAX: not live. Owned */
    uint32_t *part_size; /* of each part; owned */
    uint32_t unagreed; /* live servers whose link state or reach differs from most of their part */
    uint32_t full, mistaken; /* services that hold their share of packets; that made mistakes */
    uint32_t stuck, slow;    /* services that do not return; with functions that took long */
    uint32_t cable_count;
    struct cluster_cable *cables; /* owned */
    uint32_t links[LINK_STATES];
    /* Sums over live servers. */
    uint64_t sent, delivered, intercepted, packets_out, bytes_out, frames_out;
    uint64_t waiting; /* packets that wait for a root */
    uint64_t drops[DROP_COUNT];
};

MUST_CHECK enum err cluster_health(struct cluster_health *health, const struct plan *plan,
                                   const struct cluster_seen *seen, struct why *why);
void cluster_health_fini(struct cluster_health *health);

/* Writes the line of a reason, without its code: "1 of 27 servers is dead: 13". */
void cluster_health_reason(const struct cluster_health *health, enum health_code code,
                           const struct plan *plan, const struct cluster_seen *seen,
                           struct text *out);

/* Writes the servers that `pick` selects: "3, 4, 5 and 20 more". */
typedef bool cluster_pick(const void *context, node_id server);
void cluster_list_servers(struct text *out, const struct plan *plan, cluster_pick *pick,
                          const void *context);
