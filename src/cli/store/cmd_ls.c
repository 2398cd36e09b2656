/* weft ls */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/show/bytes_text.h"
#include "cli/store/store_run.h"

struct ls {
    struct call *call;
    struct store_run run;
    struct weft_store_scan scan;
    bool is_long;
    uint64_t limit, listed;
    char room[WEFT_STORE_PAGE_SIZE];
};

static void line_put(const struct ls *ls, const struct weft_store_item *item)
{
    struct text *out = &ls->call->out;
    if (ls->is_long)
        text_printf(out, "%20" PRIu64 " %10" PRIu64 "  ", item->version, item->value_size);
    bytes_text(out, item->key, item->key_size, item->key_size);
    text_puts(out, "\n");
}

/* A key that is text as it is, otherwise in hexadecimal digits. */
static void object_put(const struct ls *ls, const struct weft_store_item *item)
{
    struct result *result = &ls->call->result;
    const char *key = item->key;
    bool is_text = utf8_valid(key, item->key_size) == item->key_size &&
                   !(item->key_size && memchr(key, 0, item->key_size));
    result_object(result, NULL);
    struct text *out = result_words(result, is_text ? "key" : "key_hex");
    if (is_text)
        text_add(out, key, item->key_size);
    for (uint32_t i = 0; i < item->key_size && !is_text; i++)
        text_printf(out, "%02x", (unsigned char)key[i]);
    result_uint(result, "version", item->version);
    result_uint(result, "size", item->value_size);
    if (item->ttl)
        result_number(result, "ttl_s", (double)item->ttl / 1e9);
    else
        result_null(result, "ttl_s");
    result_end(result);
}

static enum err page_put(struct ls *ls, struct why *why)
{
    struct weft_store_item item;
    while (weft_store_page_next(&ls->scan.page, &item)) {
        ls->listed++;
        if (ls->call->json)
            object_put(ls, &item);
        else
            line_put(ls, &item);
    }
    return call_flush(ls->call, why);
}

/* Page by page, so that the first keys are printed while others are still fetched. */
static enum err list(struct ls *ls, struct why *why)
{
    enum err err = OK;
    while (!err && ls->listed < ls->limit) {
        uint64_t left = ls->limit - ls->listed;
        ls->scan.most = left < WEFT_STORE_PAGE_KEYS ? (uint32_t)left : WEFT_STORE_PAGE_KEYS;
        int count =
            weft_store_scan(ls->run.store, &ls->scan, ls->room, weft_deadline(ls->run.patience));
        if (count == 0)
            break;
        if (count < 0)
            return why_fail(why, count == -EFBIG ? ERR_INPUT : ERR_SYSTEM, "ls: %s",
                            weft_store_strerror(count));
        err = page_put(ls, why);
    }
    return err;
}

static enum err options_parse(struct ls *ls, struct why *why)
{
    struct call *call = ls->call;
    const char *prefix = call->argument_count ? call->arguments[0] : "";
    const char *after = call_option(call, "after");
    ls->limit = UINT64_MAX;
    ls->is_long = call_has(call, "long");
    ls->scan.prefix = prefix;
    ls->scan.prefix_size = strlen(prefix);
    if (strlen(prefix) > WEFT_STORE_KEY_MAX || (after && strlen(after) > WEFT_STORE_KEY_MAX))
        return why_fail(why, ERR_INPUT, "ls: a key has at most %d bytes", WEFT_STORE_KEY_MAX);
    if (call_has(call, "server") && call_has(call, "from"))
        return why_fail(why, ERR_USAGE, "ls: --server and --from exclude each other");
    if (call_has(call, "server"))
        ls->scan.flags |= WEFT_STORE_HERE;
    if (after) {
        ls->scan.flags |= WEFT_STORE_AFTER;
        ls->scan.after_size = (uint32_t)strlen(after);
        memcpy(ls->scan.after, after, ls->scan.after_size);
    }
    return call_uint(call, "limit", 1, UINT64_MAX, &ls->limit, why);
}

static enum err ls_run(struct call *call, struct why *why)
{
    static struct ls ls;
    ls.call = call;
    enum err err = options_parse(&ls, why);
    if (!err)
        err = store_run_open_by(&ls.run, call, call_has(call, "server") ? "server" : "from", why);
    if (err)
        return err;
    if (call->json) {
        (void)call_result(call, "");
        result_array(&call->result, "keys");
    }
    err = list(&ls, why);
    store_run_close(&ls.run);
    if (!err && call->json) {
        result_end(&call->result);
        result_bool(&call->result, "more", !ls.scan.over);
    }
    return err;
}

static const struct option ls_options[] = {
    STORE_RUN_OPTIONS,
    {"long", NULL, "print version, bytes of the value, and key"},
    {"limit", "N", "list at most so many keys"},
    {"after", "KEY", "list only keys that come after this one"},
    {"server", "ID", "list what this server holds itself, even if that is old"},
    {0},
};

const struct command command_ls = {
    .name = "ls",
    .group = "store",
    .arguments = "[PREFIX]",
    .summary = "list the keys of the store",
    .description =
        "Prints the keys that begin with PREFIX, or all, one on each line, in the order of their "
        "bytes. A backslash is printed twice, and bytes that are not printable text are printed as "
        "\\xHH.\n\n"
        "Keys come in pages of up to 1,000, and each page is printed when it has come. A key that "
        "existed while its page was fetched is listed, whichever servers keep it; if some servers "
        "cannot be reached, the command fails. --timeout is for each page. With --server, the list "
        "has the copies that one server holds, whether they are up to date or not, for operators "
        "who look for a fault.\n\n"
        "With --json: keys, each with key, or key_hex if the key is not text, version, size and "
        "ttl_s, "
        "the seconds until it expires, or null: never; and more, which is true if --limit ended "
        "the "
        "list.",
    .options = ls_options,
    .examples = "  weft ls\n"
                "  weft ls user/ --long\n"
                "  weft ls --limit 100 --after user/99",
    .streams = true,
    .run = ls_run,
};
