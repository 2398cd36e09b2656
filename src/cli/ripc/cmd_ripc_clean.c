/* weft ripc clean */
#include "base/json.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/ripc/ripc_call.h"

static enum err clean_run(struct call *call, struct why *why)
{
    char folder[DOMAIN_PATH_MAX];
    const char *domain;
    enum err err = ripc_call_domain(call, folder, &domain, why); /* for its reasons */
    if (err)
        return err;
    int count = ripc_clean(domain);
    if (count < 0)
        return ripc_call_fail(why, count, "domain %s", domain);
    if (call->json) {
        struct json json = json_make(&call->out, true);
        json_object(&json);
        json_put_string(&json, "domain", domain);
        json_put_uint(&json, "removed", (uint64_t)count);
        json_end(&json, '}');
    } else {
        text_printf(&call->out, "domain %s: ", domain);
        text_count(&call->out, (uint64_t)count, "file", "files");
        text_puts(&call->out, " of dead processes removed\n");
    }
    return OK;
}

static const struct option clean_options[] = {
    {"domain", "WORD", "which domain (WEFT_DOMAIN; default)"},
    {0},
};

const struct command command_ripc_clean = {
    .name = "ripc clean",
    .arguments = "",
    .summary = "remove what killed processes left behind",
    .description =
        "Removes the sockets, claims and traces of processes of the domain that are no more. What "
        "belongs to somebody alive is not touched: the kernel knows by the locks that a process "
        "loses when it dies. Every context that opens does the same, so this is needed only to "
        "see the folder empty. What libfabric's shm provider keeps in /dev/shm of such processes "
        "goes too, uncounted.",
    .options = clean_options,
    .examples = "  weft ripc clean\n"
                "  weft ripc clean --domain test --json",
    .run = clean_run,
};
