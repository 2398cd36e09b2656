#include "cli/route/route_call.h"

#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/core/load.h"

/* "dor, valiant, pora" */
static void list_algorithms(struct text *out)
{
    for (const struct route_algorithm *const *each = route_algorithms; *each; each++)
        text_printf(out, "%s%s", out->size ? ", " : "", (*each)->name);
}

static enum err refuse_algorithm(const char *name, struct why *why)
{
    struct text list = {0};
    list_algorithms(&list);
    const char *names = text_ok(&list) && list.data ? list.data : "";
    enum err err;
    struct nearest nearest = nearest_make(name ? name : "", name ? strlen(name) : 0);
    for (const struct route_algorithm *const *each = route_algorithms; *each; each++)
        nearest_try(&nearest, (*each)->name);
    if (name)
        err = why_fail(why, ERR_USAGE, "--algorithm %s%s: expected one of %s", name,
                       nearest_hint(&nearest), names);
    else
        err = why_fail(why, ERR_USAGE, "--algorithm NAME is missing: expected one of %s", names);
    text_fini(&list);
    return err;
}

enum err route_call_open(struct route_call *route, const struct call *call, struct why *why)
{
    const char *name = call_option(call, "algorithm");
    if (!name || !route_find(name))
        return refuse_algorithm(name, why);
    uint64_t ways = 0;
    route->seed = 1;
    enum err err = call_uint(call, "ways", 1, UINT32_MAX, &ways, why);
    if (!err)
        err = call_uint(call, "seed", 0, UINT64_MAX, &route->seed, why);
    if (!err)
        err = load_topology(&route->topology, call->arguments[0], why);
    if (err)
        return err;
    struct route_options options = {.ways = (uint32_t)ways, .seed = route->seed};
    struct why reason = {""};
    err = router_open(&route->router, name, &route->topology, &options, &reason);
    if (!err)
        return OK;
    topology_fini(&route->topology);
    return load_refuse(call->arguments[0], err, &reason, why);
}

void route_call_close(struct route_call *route)
{
    router_close(&route->router);
    topology_fini(&route->topology);
}
