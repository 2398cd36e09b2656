/* weft incr */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/store/store_run.h"

#define TRIES 10 /* to create a key that others create and delete */

static enum err delta_parse(const struct call *call, struct weft_store_request *request,
                            struct why *why)
{
    const char *word = call->argument_count > 1 ? call->arguments[1] : "1";
    const char *digits = word + (*word == '-');
    char *end;
    errno = 0;
    request->op = *word == '-' ? WEFT_STORE_DECR : WEFT_STORE_INCR;
    request->delta = strtoull(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end || errno)
        return why_fail(why, ERR_USAGE, "%.40s: expected a whole number below 2^64", word);
    return OK;
}

/* Makes the key with the number that --initial gives. -EEXIST: another program was faster. */
static int create(struct store_run *run, uint64_t number, struct weft_store_answer *answer)
{
    char text[24];
    const char *key = run->call->arguments[0];
    int size = snprintf(text, sizeof text, "%" PRIu64, number);
    struct weft_store_request request = {.op = WEFT_STORE_PUT,
                                         .condition = WEFT_STORE_IF_ABSENT,
                                         .value = text,
                                         .value_size = (size_t)size};
    int result = store_run_try(run, key, &request, answer, NULL, 0);
    answer->number = number;
    return result;
}

static enum err add(struct store_run *run, struct weft_store_request *request,
                    struct weft_store_answer *answer, struct why *why)
{
    const struct call *call = run->call;
    uint64_t initial = 0;
    enum err err = call_uint(call, "initial", 0, UINT64_MAX, &initial, why);
    if (err)
        return err;
    int result = -ENOENT;
    for (int i = 0; i < TRIES; i++) {
        result = store_run_try(run, call->arguments[0], request, answer, NULL, 0);
        if (result != -ENOENT || !call_has(call, "initial"))
            break;
        result = create(run, initial, answer);
        if (result != -EEXIST)
            break;
    }
    return result < 0 ? store_run_fail(call->arguments[0], result, answer, why) : OK;
}

static enum err incr_run(struct call *call, struct why *why)
{
    struct store_run run;
    struct weft_store_request request = {0};
    struct weft_store_answer answer = {0};
    enum err err = delta_parse(call, &request, why);
    if (!err)
        err = store_run_open(&run, call, why);
    if (err)
        return err;
    err = add(&run, &request, &answer, why);
    store_run_close(&run);
    if (err)
        return err;
    struct result *result = call_result(call, "{number}\n");
    result_string(result, "key", call->arguments[0]);
    result_uint(result, "number", answer.number);
    result_uint(result, "version", answer.version);
    return OK;
}

static const struct option incr_options[] = {
    STORE_RUN_OPTIONS,
    {"initial", "N", "if the key does not exist, make it with this number"},
    {0},
};

const struct command command_incr = {
    .name = "incr",
    .group = "store",
    .arguments = "KEY [N]",
    .summary = "add to a number in the store",
    .description =
        "Adds N, by default 1, to the value of a key, which must be a decimal number below 2^64, "
        "and prints the new number. N may be negative (write -- before it); the number does not "
        "become less than 0. However many programs do this at once, each addition counts once.\n\n"
        "The exit code is 1 if there is no such key.\n\n"
        "With --json: key, number, version.",
    .options = incr_options,
    .examples = "  weft incr visits --initial 1\n"
                "  weft incr visits 10\n"
                "  weft incr visits -- -1",
    .run = incr_run,
};
