/* weft get, weft stat */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/core/file.h"
#include "cli/store/store_run.h"

struct found {
    struct weft_store_answer answer;
    char *value; /* owned; room for the largest, of which only what is there is touched */
};

static enum err find(struct call *call, struct found *found, struct why *why)
{
    struct store_run run;
    struct weft_store_request request = {.op = WEFT_STORE_GET};
    const char *key = call->arguments[0];
    *found = (struct found){.value = array_new(WEFT_STORE_VALUE_MAX, 1)};
    enum err err = found->value ? store_run_open(&run, call, why) : why_memory(why);
    if (err)
        return err;
    int result =
        store_run_try(&run, key, &request, &found->answer, found->value, WEFT_STORE_VALUE_MAX);
    store_run_close(&run);
    return result < 0 ? store_run_fail(key, result, &found->answer, why) : OK;
}

static struct result *facts(struct call *call, const struct found *found, const char *page)
{
    struct result *result = call_result(call, page);
    result_string(result, "key", call->arguments[0]);
    result_uint(result, "version", found->answer.version);
    result_uint(result, "flags", found->answer.flags);
    result_uint(result, "size", found->answer.value_size);
    if (found->answer.ttl)
        result_number(result, "ttl_s", (double)found->answer.ttl / 1e9);
    else
        result_null(result, "ttl_s");
    result_uint(result_hide(result), "ttl_ns", (uint64_t)found->answer.ttl);
    return result;
}

/* A value that is text as it is, otherwise in hexadecimal digits. */
static void value_put(struct result *result, const char *value, size_t size)
{
    bool is_text = utf8_valid(value, size) == size;
    for (size_t i = 0; i < size && is_text; i++)
        is_text = value[i] != 0;
    struct text *out = result_words(result, is_text ? "value" : "value_hex");
    if (is_text)
        text_add(out, value, size);
    for (size_t i = 0; i < size && !is_text; i++)
        text_printf(out, "%02x", (unsigned char)value[i]);
}

static enum err value_write(struct call *call, const struct found *found, struct why *why)
{
    const char *path = call_option(call, "file");
    size_t size = found->answer.value_size;
    const struct text value = {.data = found->value, .size = size};
    enum err err = path ? file_write(path, &value, why) : OK;
    if (err)
        return err;
    if (call->json) {
        struct result *result = facts(call, found, "");
        if (!path)
            value_put(result, found->value, size);
    } else if (!path) {
        text_add(&call->out, found->value, size);
        if (isatty(STDOUT_FILENO) && size && found->value[size - 1] != '\n')
            text_puts(&call->out, "\n");
    }
    return OK;
}

static enum err get_run(struct call *call, struct why *why)
{
    struct found found;
    enum err err = find(call, &found, why);
    if (!err)
        err = value_write(call, &found, why);
    free(found.value);
    return err;
}

static const struct option get_options[] = {
    STORE_RUN_OPTIONS,
    {"file", "FILE", "write the value to this file instead of standard output"},
    {0},
};

const struct command command_get = {
    .name = "get",
    .group = "store",
    .arguments = "KEY",
    .summary = "read a value from the store",
    .description =
        "Prints the value of a key, exactly its bytes; on a terminal a newline follows that ends "
        "the line. The value is the one that was written last by any program: a change that some "
        "command has reported is always seen.\n\n"
        "The exit code is 1 if there is no such key. It is never 1 because servers are missing.\n\n"
        "With --json: key, version, flags, size, ttl_s (seconds until the key expires, or null: "
        "never), and value, or value_hex if the value is not text.",
    .options = get_options,
    .examples = "  weft get colour\n"
                "  weft get config --file config.json",
    .run = get_run,
};

/* ---- stat ---- */

static enum err stat_run(struct call *call, struct why *why)
{
    struct found found;
    enum err err = find(call, &found, why);
    free(found.value);
    if (!err)
        (void)facts(call, &found,
                    "{key}: version {version}, {size|byte|bytes}, flags {flags}"
                    "{?ttl_ns}, expires in {ttl_ns%t}{/}\n");
    return err;
}

static const struct option stat_options[] = {STORE_RUN_OPTIONS, {0}};

const struct command command_stat = {
    .name = "stat",
    .group = "store",
    .arguments = "KEY",
    .summary = "show the version and the size of a value in the store",
    .description = "Prints what is known of a key besides its value. The exit code is 1 if there "
                   "is no such key.\n\n"
                   "With --json: key, version, flags, size, and ttl_s, the seconds until the key "
                   "expires, or null: it never does.",
    .options = stat_options,
    .examples = "  weft stat colour\n"
                "  weft cas colour $(weft stat colour --json | jq .version) red",
    .run = stat_run,
};
