/* weft ripc clean */
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/ripc/ripc_call.h"

static enum err clean_run(struct call *call, struct why *why)
{
    char folder[DOMAIN_PATH_MAX];
    const char *domain;
    enum err err = ripc_call_domain(call, folder, &domain, why); /* for its error texts */
    if (err)
        return err;
    int count = ripc_clean(domain);
    if (count < 0)
        return ripc_call_fail(why, count, "domain %s", domain);
    struct result *result =
        call_result(call, "domain {domain}: {removed|file|files} of dead processes removed\n");
    result_string(result, "domain", domain);
    result_uint(result, "removed", (uint64_t)count);
    return OK;
}

static const struct option clean_options[] = {
    {"domain", "WORD", "the domain (WEFT_DOMAIN, or \"default\")"},
    {0},
};

const struct command command_ripc_clean = {
    .name = "ripc clean",
    .arguments = "",
    .summary = "remove the files of killed processes",
    .description =
        "Removes the sockets, claims and traces of processes of the domain that have ended. "
        "Files of running processes are not touched: the kernel releases the locks of a process "
        "when it ends. Every context that opens does the same, so this command is needed only to "
        "see the folder empty. Files that libfabric's shm provider keeps in /dev/shm for such "
        "processes are removed, too; they are not counted.",
    .options = clean_options,
    .examples = "  weft ripc clean\n"
                "  weft ripc clean --domain test --json",
    .run = clean_run,
};
