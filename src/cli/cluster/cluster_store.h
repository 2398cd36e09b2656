#pragma once
/* cluster_store: the store of a cluster, as its servers report it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/cluster/cluster_health.h"
#include "wire/care.h"

struct cluster_store {
    struct care_end end;
    struct care_report *reports; /* by server; those in end.reported are there. Owned */
    /* What follows from them. */
    uint64_t sums[CARE_COUNTS]; /* of the servers in the newest view */
    uint32_t epoch, members, silent;
    uint64_t unknown; /* groups that no server reports */
    uint64_t damaged; /* records that a scrub has found damaged, or differing, and that stay so */
    uint32_t full, failed;
    uint32_t absent; /* servers that should be members, and are not */
};

/* Asks by way of a server that runs; with `from` by way of that one, else by way of any. The
 * reports may take `patience` nanoseconds. -EADDRNOTAVAIL: the cluster runs no store; -ENOTCONN: no
 * server answers. */
MUST_CHECK int cluster_store_ask(struct cluster_store *store, const char *folder,
                                 uint32_t server_count, uint32_t from,
                                 const struct care_request *request);
void cluster_store_fini(struct cluster_store *store);

/* Adds up the reports. */
void cluster_store_sum(struct cluster_store *store);
bool cluster_store_reported(const struct cluster_store *store, uint32_t server);
/* A server that is not a member, although it should be one: the operator has not drained or
 * replaced it. */
bool cluster_store_is_missing(const struct cluster_store *store, uint32_t server);

/* Why the store is not healthy; worst first. */
#define CLUSTER_STORE_LIST(X)                                                                      \
    X(STORE_UNAVAILABLE, HEALTH_ERR)                                                               \
    X(STORE_STARTING, HEALTH_WARN)                                                                 \
    X(STORE_FAILED, HEALTH_WARN)                                                                   \
    X(STORE_DAMAGED, HEALTH_WARN)                                                                  \
    X(STORE_FULL, HEALTH_WARN)                                                                     \
    X(STORE_SHORT, HEALTH_WARN)                                                                    \
    X(STORE_MEMBERS, HEALTH_WARN)

enum cluster_store_code {
#define CLUSTER_STORE_CODE(name, severity) CLUSTER_##name,
    CLUSTER_STORE_LIST(CLUSTER_STORE_CODE)
#undef CLUSTER_STORE_CODE
        CLUSTER_STORE_CODES,
};

extern const char *const cluster_store_names[CLUSTER_STORE_CODES];
enum health cluster_store_severity(enum cluster_store_code code);
/* The worst reason; HEALTH_OK: there is none. */
enum health cluster_store_health(const struct cluster_store *store);

bool cluster_store_has(const struct cluster_store *store, enum cluster_store_code code);
/* "4 copies are missing; ..." */
void cluster_store_reason(const struct cluster_store *store, enum cluster_store_code code,
                          const struct plan *plan, struct text *out);
/* Nanoseconds until all copies are made; CARE_NEVER: unknown. */
uint64_t cluster_store_left(const struct cluster_store *store);
