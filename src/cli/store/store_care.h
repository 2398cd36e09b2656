#pragma once
/* store_care: what the commands share that ask how the store is, and care for it. */

#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_store.h"
#include "cli/core/call.h"

/* clang-format off */
#define STORE_CARE_OPTIONS                                                                         \
    CLUSTER_OPTIONS,                                                                               \
    {"from", "ID", "the server to ask (default: the first that answers)"},                         \
    {"timeout", "SECONDS", "wait so long for the reports of servers (default 2)"}
/* clang-format on */

struct store_care {
    struct cluster cluster;
    struct cluster_store store;
};

/* Finds the cluster and asks its store; sets request->patience. */
MUST_CHECK enum err store_care_ask(struct store_care *care, const struct call *call,
                                   struct care_request *request, struct why *why);
void store_care_close(struct store_care *care);
