/* weft put, weft cas */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/core/file.h"
#include "cli/store/store_run.h"

#define BYTE_NSEC 200 /* more patience for each byte of the value: 13 s for the largest */

/* What is written: the argument at that place, or the file of --file, or standard input. */
static enum err value_read(const struct call *call, int place, char **data, size_t *size,
                           struct why *why)
{
    const char *path = call_option(call, "file");
    bool is_given = call->argument_count > place;
    if (path && is_given)
        return why_fail(why, ERR_USAGE, "%s: VALUE and --file cannot be combined",
                        call->command->name);
    if (!is_given)
        return file_read(path ? path : "-", data, size, why);
    *data = strdup(call->arguments[place]);
    if (!*data)
        return why_memory(why);
    *size = strlen(*data);
    return OK;
}

/* --if-absent and so on; at most one of them. */
static enum err condition_parse(const struct call *call, struct weft_store_request *request,
                                struct why *why)
{
    static const struct {
        const char *name;
        enum weft_store_condition condition;
    } conditions[] = {{"if-absent", WEFT_STORE_IF_ABSENT},
                      {"if-present", WEFT_STORE_IF_PRESENT},
                      {"if-version", WEFT_STORE_IF_VERSION}};
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        if (!call_has(call, conditions[i].name))
            continue;
        if (request->condition)
            return why_fail(why, ERR_USAGE,
                            "put: --if-absent, --if-present and --if-version exclude each other");
        request->condition = conditions[i].condition;
    }
    return call_uint(call, "if-version", 1, UINT64_MAX, &request->version, why);
}

static enum err op_parse(const struct call *call, struct weft_store_request *request,
                         struct why *why)
{
    bool appends = call_has(call, "append"), prepends = call_has(call, "prepend");
    uint64_t flags = 0;
    if (appends && prepends)
        return why_fail(why, ERR_USAGE, "put: --append and --prepend exclude each other");
    if ((appends || prepends) && call_has(call, "flags"))
        return why_fail(why, ERR_USAGE,
                        "put: --flags cannot be combined with --append or "
                        "--prepend, which keep the flags");
    if ((appends || prepends) && call_has(call, "ttl"))
        return why_fail(why, ERR_USAGE,
                        "put: --ttl cannot be combined with --append or --prepend, which keep the "
                        "time; see weft touch");
    request->op = appends ? WEFT_STORE_APPEND : prepends ? WEFT_STORE_PREPEND : WEFT_STORE_PUT;
    enum err err = call_uint(call, "flags", 0, UINT32_MAX, &flags, why);
    request->flags = (uint32_t)flags;
    return err ? err : store_run_ttl(call, &request->ttl, why);
}

static const char page[] = "{key}: version {version}\n";

/* The value begins with the argument at `place`. */
static enum err put(struct call *call, struct weft_store_request *request, int place,
                    struct why *why)
{
    struct store_run run;
    struct weft_store_answer answer = {0};
    char *data = NULL;
    enum err err = value_read(call, place, &data, &request->value_size, why);
    if (err)
        return err;
    request->value = data;
    err = store_run_open(&run, call, why);
    if (!call_has(call, "timeout")) /* a large value takes longer */
        run.patience += (int64_t)request->value_size * BYTE_NSEC;
    if (!err) {
        err = store_run_ask(&run, call->arguments[0], request, &answer, why);
        store_run_close(&run);
    }
    free(data);
    if (err)
        return err;
    struct result *result = call_result(call, page);
    result_string(result, "key", call->arguments[0]);
    result_uint(result, "version", answer.version);
    return OK;
}

static enum err put_run(struct call *call, struct why *why)
{
    struct weft_store_request request = {0};
    enum err err = op_parse(call, &request, why);
    if (!err)
        err = condition_parse(call, &request, why);
    return err ? err : put(call, &request, 1, why);
}

static const struct option put_options[] = {
    STORE_RUN_OPTIONS,
    {"file", "FILE", "read the value from this file (- is standard input)"},
    {"if-absent", NULL, "only if the key does not exist"},
    {"if-present", NULL, "only if the key exists"},
    {"if-version", "VERSION", "only if the key has this version"},
    {"append", NULL, "add the value after the one that the key has"},
    {"prepend", NULL, "add the value before the one that the key has"},
    STORE_RUN_TTL,
    {"flags", "N", "a number of 32 bits that is kept with the value (default 0)"},
    {0},
};

const struct command command_put = {
    .name = "put",
    .group = "store",
    .arguments = "KEY [VALUE]",
    .summary = "write a value into the store",
    .description =
        "Writes the value of a key into the store of the cluster, and prints the version of the "
        "change. The value is the argument, or the content of --file, or standard input. A key has "
        "at most 250 bytes, a value at most 64 MiB. When the command succeeds, the value is on the "
        "disks of all servers that keep the key and can be reached.\n\n"
        "With --ttl, the servers remove the key after that time (weft touch changes it). Without, "
        "the key never expires, also if its former value did; --append and --prepend keep the "
        "time.\n\n"
        "The exit code is 1 if the condition does not hold, or if --append or --prepend finds no "
        "key; then nothing was changed.\n\n"
        "With --json: key, version.",
    .options = put_options,
    .examples = "  weft put colour blue\n"
                "  weft put config --file config.json\n"
                "  weft put lock mine --if-absent --ttl 30s\n"
                "  date | weft put log --append",
    .run = put_run,
};

/* ---- cas ---- */

static enum err cas_run(struct call *call, struct why *why)
{
    struct weft_store_request request = {.op = WEFT_STORE_PUT};
    char *end;
    const char *word = call->arguments[1];
    bool is_number = *word >= '0' && *word <= '9';
    request.version = is_number ? strtoull(word, &end, 10) : 0;
    if (!is_number || *end)
        return why_fail(why, ERR_USAGE, "%.40s: expected a version, as weft stat prints it, or 0",
                        word);
    request.condition = request.version ? WEFT_STORE_IF_VERSION : WEFT_STORE_IF_ABSENT;
    return put(call, &request, 2, why);
}

static const struct option cas_options[] = {
    STORE_RUN_OPTIONS,
    {"file", "FILE", "read the value from this file (- is standard input)"},
    {0},
};

const struct command command_cas = {
    .name = "cas",
    .group = "store",
    .arguments = "KEY VERSION [VALUE]",
    .summary = "replace a value in the store if it still has a version",
    .description =
        "Compare and set: writes the value if the key still has that version (weft stat), or if "
        "the version is 0, if the key does not exist; prints the new version. The value is the "
        "argument, or the content of --file, or standard input.\n\n"
        "The exit code is 1 if the key has another version.\n\n"
        "With --json: key, version.",
    .options = cas_options,
    .examples = "  weft cas colour 68719476737 red\n"
                "  weft cas lock 0 mine",
    .run = cas_run,
};
