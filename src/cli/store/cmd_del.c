/* weft del */
#include <errno.h>

#include "cli/commands.h"
#include "cli/store/store_run.h"

struct deletion {
    struct weft_store_request request;
    uint64_t deleted;
    const char *missing; /* the first key that did not exist */
};

static enum err delete_all(struct store_run *run, struct deletion *deletion, struct why *why)
{
    for (int i = 0; i < run->call->argument_count; i++) {
        struct weft_store_answer answer = {0};
        const char *key = run->call->arguments[i];
        int result = store_run_try(run, key, &deletion->request, &answer, NULL, 0);
        if (result == -ENOENT && !deletion->missing)
            deletion->missing = key;
        else if (result < 0 && result != -ENOENT)
            return store_run_fail(key, result, &answer, why);
        deletion->deleted += result == 0;
    }
    return OK;
}

static enum err del_run(struct call *call, struct why *why)
{
    struct store_run run;
    struct deletion deletion = {.request.op = WEFT_STORE_DELETE};
    enum err err = call_uint(call, "if-version", 1, UINT64_MAX, &deletion.request.version, why);
    if (!err && deletion.request.version && call->argument_count > 1)
        err = why_fail(why, ERR_USAGE, "del: --if-version is about one key");
    if (err)
        return err;
    if (deletion.request.version)
        deletion.request.condition = WEFT_STORE_IF_VERSION;
    err = store_run_open(&run, call, why);
    if (err)
        return err;
    err = delete_all(&run, &deletion, why);
    store_run_close(&run);
    if (!err && deletion.missing && call->argument_count == 1)
        return why_fail(why, ERR_NO, "%.80s: %s", deletion.missing, weft_store_strerror(-ENOENT));
    if (err)
        return err;
    struct result *result = call_result(call, "{deleted|key|keys} deleted\n");
    result_uint(result, "deleted", deletion.deleted);
    call->no = deletion.missing != NULL;
    return OK;
}

static const struct option del_options[] = {
    STORE_RUN_OPTIONS,
    {"if-version", "VERSION", "only if the key has this version"},
    {0},
};

const struct command command_del = {
    .name = "del",
    .group = "store",
    .arguments = "KEY...",
    .summary = "delete keys of the store",
    .description = "Deletes the keys, one after the other. Keys that do not exist are left out; "
                   "then the exit code is 1.\n\n"
                   "With --json: deleted, the number of keys.",
    .options = del_options,
    .examples = "  weft del colour\n"
                "  weft del lock --if-version 68719476737",
    .run = del_run,
};
