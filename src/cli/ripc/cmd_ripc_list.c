/* weft ripc list */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"

struct listing {
    struct ripc_name *names; /* owned */
    size_t count, capacity;
    bool failed;
};

static void listing_add(void *argument, const struct ripc_name *name)
{
    struct listing *listing = argument;
    if (!array_reserve(&listing->names, &listing->capacity, listing->count + 1,
                       sizeof *listing->names)) {
        listing->failed = true;
        return;
    }
    listing->names[listing->count++] = *name;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int name_compare(const void *a, const void *b)
{
    const struct ripc_name *one = a, *other = b;
    int order = compare(one->id, other->id);
    return order ? order : compare(one->member, other->member);
}

static const char list_page[] =
    "{?names}id                  member                  pid  context           address\n{/}"
    "{#names}{id_text%-18s}  {member_text%-18s}  {pid%7u}  {context}  {address}\n{/}";

static void listing_put(struct result *result, const struct listing *listing)
{
    result_array(result, "names");
    for (size_t i = 0; i < listing->count; i++) {
        const struct ripc_name *name = &listing->names[i];
        char text[RIPC_ID_TEXT], context[RIPC_CONTEXT_TEXT];
        result_object(result, NULL);
        result_uint(result, "id", name->id);
        result_string(result_hide(result), "id_text", ripc_id_text(name->id, text));
        result_bool(result, "group", name->group);
        result_uint(result, "member", name->member);
        result_string(result_hide(result), "member_text",
                      name->group ? ripc_id_text(name->member, text) : NULL);
        result_bool(result, "local", name->local);
        result_uint_if(result, "pid", name->pid, (uint64_t)name->pid);
        result_string(result, "context", ripc_context_text(name->context, context));
        result_uint(result, "incarnation", name->incarnation);
        result_string(result, "address", name->address);
        result_end(result);
    }
    result_end(result);
}

static enum err listing_fill(struct listing *listing, const struct call *call, struct why *why)
{
    struct ripc *ripc;
    uint64_t wait_ms = 0;
    enum err err = call_uint(call, "wait", 0, 60000, &wait_ms, why);
    if (!err)
        err = ripc_call_open(call, NULL, &ripc, why);
    if (err)
        return err;
    int count = 0;
    if (wait_ms) { /* the first list asks other hosts, the second has their answers */
        struct listing first = {0};
        count = ripc_list(ripc, listing_add, &first);
        free(first.names);
        ripc_call_sleep(ripc_after((int64_t)wait_ms * 1000000));
    }
    if (count >= 0)
        count = ripc_list(ripc, listing_add, listing);
    if (count < 0)
        err = ripc_call_fail(why, count, "names");
    else if (listing->failed)
        err = why_memory(why);
    ripc_close(ripc, RIPC_NOW);
    return err;
}

static enum err list_run(struct call *call, struct why *why)
{
    struct listing listing = {0};
    stop_catch();
    enum err err = listing_fill(&listing, call, why);
    if (!err && listing.count)
        qsort(listing.names, listing.count, sizeof *listing.names, name_compare);
    if (!err)
        listing_put(call_result(call, list_page), &listing);
    free(listing.names);
    return err;
}

static const struct option list_options[] = {
    {"wait", "MS", "wait this time for the answers of other hosts"},
    RIPC_CALL_OPTIONS,
    {0},
};

const struct command command_ripc_list = {
    .name = "ripc list",
    .arguments = "",
    .summary = "list all ids with their processes and addresses",
    .description =
        "Prints every id that is known in the domain: services, and groups. A group has a line for "
        "each member, with the id that the member has as a service. The column context is the "
        "number of the process's context. The column address is where the context listens, or "
        "'host' if it accepts no connections from other hosts. Nothing is printed if there are no "
        "ids.\n\n"
        "With names by multicast, ids of other hosts become known as they are announced; --wait "
        "allows time for that.",
    .options = list_options,
    .examples = "  weft ripc list\n"
                "  weft ripc list --names multicast:239.255.87.70:17700 --wait 300",
    .run = list_run,
};
