#pragma once
/* store_run: what the commands that use the store share. */

#include <weft/store.h>

#include "cli/cluster/cluster.h"
#include "cli/core/call.h"

/* clang-format off */
#define STORE_RUN_OPTIONS                                                                          \
    CLUSTER_OPTIONS,                                                                               \
    {"from", "ID", "the server to ask (default: the first that answers)"},                         \
    {"timeout", "SECONDS", "give up after this time (default 5)"}
/* clang-format on */

struct store_run {
    struct call *call;
    struct cluster cluster;
    struct weft_store *store;
    int64_t patience; /* nanoseconds */
};

/* Finds the cluster and opens its store. */
MUST_CHECK enum err store_run_open(struct store_run *run, struct call *call, struct why *why);
/* The same by way of the server that an option of that name gives, if it is given. */
MUST_CHECK enum err store_run_open_by(struct store_run *run, struct call *call, const char *option,
                                      struct why *why);
void store_run_close(struct store_run *run);

/* The time to live that --ttl gives, in nanoseconds; `*ttl` stays if it is not given. */
#define STORE_RUN_TTL                                                                              \
    {                                                                                              \
        "ttl", "DURATION", "the key expires after this time: 500ms, 10s, 5min, 2h"                 \
    }
MUST_CHECK enum err store_run_ttl(const struct call *call, int64_t *ttl, struct why *why);

/* Asks about a key, which becomes that of the request. Fails if the result is an error. */
MUST_CHECK enum err store_run_ask(struct store_run *run, const char *key,
                                  struct weft_store_request *request,
                                  struct weft_store_answer *answer, struct why *why);
/* The same without a failure: the result of weft_store_ask. */
int store_run_try(struct store_run *run, const char *key, struct weft_store_request *request,
                  struct weft_store_answer *answer, void *value, size_t room);
/* Explains a negative result. */
MUST_CHECK enum err store_run_fail(const char *key, int result,
                                   const struct weft_store_answer *answer, struct why *why);
