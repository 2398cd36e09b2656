#include "cli/store/store_care.h"

#include <errno.h>
#include <string.h>

#define PATIENCE_SECONDS 2.0
#define SECONDS_MAX      3600.0

static enum err fail_ask(const struct store_care *care, int result, struct why *why)
{
    const char *folder = care->cluster.folder;
    switch (result) {
    case -EADDRNOTAVAIL:
        return why_fail(why, ERR_SYSTEM,
                        "the cluster runs no store; start it with: weft up SPEC --service store");
    case -ENOTCONN:
        return why_fail(why, ERR_SYSTEM, "%s: none of its servers is alive", folder);
    case -ETIMEDOUT:
        return why_fail(why, ERR_SYSTEM, "%s: no server has answered in time", folder);
    case -EBUSY:
        return why_fail(why, ERR_SYSTEM, "%s: too many such commands run at once", folder);
    case -ENODEV:
        return why_fail(why, ERR_NO, "too few other servers are there to make all copies");
    case -EISCONN:
        return why_fail(why, ERR_NO,
                        "the server takes part in the store; weft store drain hands "
                        "over what it keeps");
    case -EAGAIN:
        return why_fail(why, ERR_SYSTEM, "%s: the store has not begun yet", folder);
    case -ENOMEM:
        return why_memory(why);
    default:
        return why_fail(why, ERR_SYSTEM, "%s: %s", folder, strerror(-result));
    }
}

enum err store_care_ask(struct store_care *care, const struct call *call,
                        struct care_request *request, struct why *why)
{
    double seconds = PATIENCE_SECONDS;
    node_id from = NODE_NONE;
    *care = (struct store_care){0};
    enum err err = call_real(call, "timeout", 0.001, SECONDS_MAX, &seconds, why);
    if (!err)
        err = cluster_open(&care->cluster, call, why);
    if (err)
        return err;
    request->patience = (int64_t)(seconds * 1e9);
    if (call_has(call, "from"))
        err = cluster_from(&care->cluster, call, &from, why);
    int result = err ? 0
                     : cluster_store_ask(&care->store, care->cluster.folder,
                                         care->cluster.plan.server_count, from, request);
    if (result)
        err = fail_ask(care, result, why);
    if (err)
        store_care_close(care);
    return err;
}

void store_care_close(struct store_care *care)
{
    cluster_store_fini(&care->store);
    cluster_close(&care->cluster);
}
