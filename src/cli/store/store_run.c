#include "cli/store/store_run.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "node/configuration/parameter.h"

#define PATIENCE_SECONDS 5.0
#define SECONDS_MAX      86400.0

static enum err fail_open(const struct store_run *run, int result, struct why *why)
{
    if (result == -ENOSYS)
        return why_fail(why, ERR_SYSTEM,
                        "the cluster runs no store; start it with: weft up SPEC --service store");
    return why_fail(why, ERR_SYSTEM, "%s: %s", run->cluster.folder, weft_store_strerror(result));
}

static enum err server_find(const struct cluster *cluster, const char *word, uint32_t *server,
                            struct why *why)
{
    enum err err = cluster_server(cluster, word, server, why);
    if (!err && cluster_lock_holder(cluster->folder, *server) <= 0)
        err = cluster_dead(cluster, *server, why);
    return err;
}

enum err store_run_open_by(struct store_run *run, struct call *call, const char *option,
                           struct why *why)
{
    double seconds = PATIENCE_SECONDS;
    uint32_t server = WEFT_ANY;
    *run = (struct store_run){.call = call};
    enum err err = call_real(call, "timeout", 0.001, SECONDS_MAX, &seconds, why);
    if (!err)
        err = cluster_open(&run->cluster, call, why);
    if (err)
        return err;
    run->patience = (int64_t)(seconds * 1e9);
    if (call_has(call, option))
        err = server_find(&run->cluster, call_option(call, option), &server, why);
    int result = err ? 0 : weft_store_open(run->cluster.folder, server, &run->store);
    if (result)
        err = fail_open(run, result, why);
    if (err)
        store_run_close(run);
    return err;
}

enum err store_run_open(struct store_run *run, struct call *call, struct why *why)
{
    return store_run_open_by(run, call, "from", why);
}

enum err store_run_ttl(const struct call *call, int64_t *ttl, struct why *why)
{
    static const struct weft_parameter parameter = {
        .name = "ttl", .type = WEFT_PARAMETER_DURATION, .minimum = "1ns", .maximum = "876000h"};
    union parameter_value value;
    struct why reason;
    const char *text = call_option(call, "ttl");
    static_assert(INT64_C(876000) * 3600 * 1000000000 == WEFT_STORE_TTL_MAX, "100 years");
    if (!text)
        return OK;
    if (parameter_read(&parameter, text, &value, &reason))
        return why_fail(why, ERR_USAGE, "%s: --ttl: %.150s", call->command->name, reason.text);
    *ttl = value.number;
    return OK;
}

void store_run_close(struct store_run *run)
{
    if (run->store)
        (void)weft_store_close(run->store);
    cluster_close(&run->cluster);
}

int store_run_try(struct store_run *run, const char *key, struct weft_store_request *request,
                  struct weft_store_answer *answer, void *value, size_t room)
{
    request->key = key;
    request->key_size = strlen(key);
    return weft_store_ask(run->store, request, answer, value, room, weft_deadline(run->patience));
}

enum err store_run_ask(struct store_run *run, const char *key, struct weft_store_request *request,
                       struct weft_store_answer *answer, struct why *why)
{
    int result = store_run_try(run, key, request, answer, NULL, 0);
    return result < 0 ? store_run_fail(key, result, answer, why) : OK;
}

enum err store_run_fail(const char *key, int result, const struct weft_store_answer *answer,
                        struct why *why)
{
    const char *text = weft_store_strerror(result);
    if (result == -ESTALE && answer->version)
        return why_fail(why, ERR_NO, "%.80s: %s: %" PRIu64, key, text, answer->version);
    if (result == -ESTALE)
        return why_fail(why, ERR_NO, "%.80s: there is no such key", key);
    if (result == -ENOENT || result == -EEXIST)
        return why_fail(why, ERR_NO, "%.80s: %s", key, text);
    if (result == -EFBIG)
        return why_fail(
            why, ERR_INPUT,
            "%.80s: %s; a key has at most %d bytes, a value %d MiB, or less if the parameter "
            "segment of the store is small",
            key, text, WEFT_STORE_KEY_MAX, WEFT_STORE_VALUE_MAX >> 20);
    bool input = result == -ERANGE || result == -EINVAL;
    return why_fail(why, input ? ERR_INPUT : ERR_SYSTEM, "%.80s: %s", key, text);
}
