/* weft ripc list */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/core/call.h"
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

static void listing_json(struct text *out, const struct listing *listing)
{
    struct json json = json_make(out, true);
    json_object(&json);
    json_key(&json, "names");
    json_array(&json);
    for (size_t i = 0; i < listing->count; i++) {
        const struct ripc_name *name = &listing->names[i];
        char context[RIPC_CONTEXT_TEXT];
        json_object(&json);
        json_put_uint(&json, "id", name->id);
        json_put_bool(&json, "group", name->group);
        json_put_uint(&json, "member", name->member);
        json_put_bool(&json, "local", name->local);
        if (name->pid)
            json_put_uint(&json, "pid", (uint64_t)name->pid);
        else
            json_put_null(&json, "pid");
        json_put_string(&json, "context", ripc_context_text(name->context, context));
        json_put_uint(&json, "incarnation", name->incarnation);
        json_put_string(&json, "address", name->address);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
}

static void listing_text(struct text *out, const struct listing *listing)
{
    if (listing->count == 0)
        return;
    text_printf(out, "%-18s  %-18s  %7s  %-16s  %s\n", "id", "member", "pid", "context", "address");
    for (size_t i = 0; i < listing->count; i++) {
        const struct ripc_name *name = &listing->names[i];
        char id[RIPC_ID_TEXT], member[RIPC_ID_TEXT], context[RIPC_CONTEXT_TEXT], pid[16] = "-";
        if (name->pid)
            snprintf(pid, sizeof pid, "%d", name->pid);
        text_printf(out, "%-18s  %-18s  %7s  %s  %s\n", ripc_id_text(name->id, id),
                    name->group ? ripc_id_text(name->member, member) : "-", pid,
                    ripc_context_text(name->context, context), name->address);
    }
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
    if (wait_ms) { /* the first look asks, the second sees the answers */
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
    ripc_call_catch();
    enum err err = listing_fill(&listing, call, why);
    if (!err && listing.count)
        qsort(listing.names, listing.count, sizeof *listing.names, name_compare);
    if (!err && call->json)
        listing_json(&call->out, &listing);
    else if (!err)
        listing_text(&call->out, &listing);
    free(listing.names);
    return err;
}

static const struct option list_options[] = {
    {"wait", "MS", "look twice with this between, for answers of other hosts"},
    RIPC_CALL_OPTIONS,
    {0},
};

const struct command command_ripc_list = {
    .name = "ripc list",
    .arguments = "",
    .summary = "who has which id, and where",
    .description =
        "Prints every id that is known in the domain: services, and groups once per member, with "
        "the id that the member has as a service. The context is the process's door; the address "
        "is "
        "where it listens, or 'host' if it has none for other hosts. Nothing is printed when "
        "nobody is there.\n\n"
        "With names by multicast, others are known once they have been heard of; --wait gives "
        "them the time.",
    .options = list_options,
    .examples = "  weft ripc list\n"
                "  weft ripc list --names multicast:239.255.87.70:17700 --wait 300",
    .run = list_run,
};
