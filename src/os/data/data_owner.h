#pragma once
/* data_owner: whose folder in a data directory it is; the content of server.json. */

#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "base/err.h"
#include "base/text.h"

#define DATA_TOPOLOGY_SIZE 256

struct data_owner {
    uint64_t cluster; /* stays the same when the cluster is started again with its data */
    char topology[DATA_TOPOLOGY_SIZE]; /* as `weft up` shows it */
    uint32_t server_count;
    node_id server;
};

void data_owner_write(const struct data_owner *owner, struct text *out);
/* Error messages begin with `name`. */
MUST_CHECK enum err data_owner_parse(struct data_owner *owner, const char *name, const char *data,
                                     size_t size, struct why *why);
