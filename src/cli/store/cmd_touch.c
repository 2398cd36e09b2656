/* weft touch */
#include "cli/commands.h"
#include "cli/store/store_run.h"

static enum err touch_run(struct call *call, struct why *why)
{
    struct store_run run;
    struct weft_store_request request = {.op = WEFT_STORE_TOUCH};
    struct weft_store_answer answer = {0};
    enum err err = store_run_ttl(call, &request.ttl, why);
    if (!err)
        err = store_run_open(&run, call, why);
    if (err)
        return err;
    err = store_run_ask(&run, call->arguments[0], &request, &answer, why);
    store_run_close(&run);
    if (err)
        return err;
    struct result *result = call_result(call, "{key}: version {version}\n");
    result_string(result, "key", call->arguments[0]);
    result_uint(result, "version", answer.version);
    return OK;
}

static const struct option touch_options[] = {STORE_RUN_OPTIONS, STORE_RUN_TTL, {0}};

const struct command command_touch = {
    .name = "touch",
    .group = "store",
    .arguments = "KEY",
    .summary = "set when a key of the store expires",
    .description =
        "Sets the time after which the servers remove the key, from now on; without --ttl the key "
        "never expires. The value stays; the key gets a new version, which is printed.\n\n"
        "The time ends by the clocks of the servers: it is longer or shorter by as much as these "
        "differ.\n\n"
        "The exit code is 1 if there is no such key, also if it has expired.\n\n"
        "With --json: key, version.",
    .options = touch_options,
    .examples = "  weft touch session --ttl 30min\n"
                "  weft touch session",
    .run = touch_run,
};
