/* weft store scrub, weft store verify */
#include <string.h>

#include "cli/commands.h"
#include "cli/core/progress.h"
#include "cli/core/stop.h"
#include "cli/store/store_care.h"
#include "transport/clock.h"

#define AGAIN_NSEC 200000000LL

static const char scrub_page[] =
    "{?ended}{records|record|records} of {checked|server|servers} read, {bytes} bytes: {damaged} "
    "damaged{?repairs}, {mended} repaired{?lost}, {lost} that no other server has{/}{/}; copies "
    "differ in {differing|key|keys}{?repairs}{?evened}, {evened} of them repaired{/}{/}"
    "{?skipped}; {skipped|copy|copies} of groups changed all the time and {skipped|was|were} not "
    "compared{/}\n"
    "{:}{checked|server|servers} at work; weft store status shows the progress\n{/}"
    "{?not_checked}not checked: server {#not_checked|, }{.}{/}\n{/}";

/* Does the server take part in the order with that number? */
static bool is_checked(const struct cluster_store *store, uint32_t server, uint64_t number)
{
    return cluster_store_reported(store, server) &&
           store->reports[server].counts[CARE_SCRUB_NUMBER] == number;
}

static bool is_over(const struct cluster_store *store, uint64_t number, uint64_t *done)
{
    bool over = true;
    *done = 0;
    for (uint32_t i = 0; i < store->end.server_count; i++) {
        if (!is_checked(store, i, number))
            continue;
        *done += store->reports[i].counts[CARE_SCRUB_GROUPS];
        over &= !store->reports[i].counts[CARE_SCRUB_RUNS];
    }
    return over;
}

static void report(const struct store_care *care, struct call *call,
                   const struct care_request *request, bool ended)
{
    const struct cluster_store *store = &care->store;
    struct result *result = call_result(call, scrub_page);
    uint64_t sums[CARE_COUNTS] = {0}, checked = 0;
    bool repairs = request->kind == CARE_SCRUB;
    for (uint32_t i = 0; i < store->end.server_count; i++) {
        if (!is_checked(store, i, request->number))
            continue;
        checked++;
        for (unsigned j = 0; j < CARE_COUNTS; j++)
            sums[j] += store->reports[i].counts[j];
    }
    result_bool(result, "ended", ended);
    result_bool(result_hide(result), "repairs", repairs);
    result_uint(result, "checked", checked);
    for (unsigned i = CARE_SCRUB_RECORDS; i <= CARE_SCRUB_SKIPPED; i++)
        result_uint(result, care_count_names[i] + strlen("scrub_"), sums[i]);
    result_array(result_flat(result), "not_checked");
    for (uint32_t i = 0; i < store->end.server_count; i++)
        if (!is_checked(store, i, request->number))
            result_uint(result, NULL, i);
    result_end(result);
    call->no = checked < store->end.server_count;
    if (repairs)
        call->no |= ended &&
                    (sums[CARE_SCRUB_OPEN] || sums[CARE_SCRUB_DIFFERING] > sums[CARE_SCRUB_EVENED]);
    else
        call->no |= sums[CARE_SCRUB_DAMAGED] || sums[CARE_SCRUB_DIFFERING];
}

static enum err order(struct call *call, enum care_kind kind, bool waits, struct why *why)
{
    struct store_care care;
    struct care_request request = {.kind = kind, .number = entropy_u64() | 1};
    for (;;) {
        uint64_t done;
        enum err err = store_care_ask(&care, call, &request, why);
        if (err)
            return err;
        bool over = is_over(&care.store, request.number, &done);
        if (over || !waits || stop_asked()) {
            report(&care, call, &request, over);
            store_care_close(&care);
            return OK;
        }
        progress_show("groups", done, (uint64_t)care.store.end.group_count * care.store.members);
        store_care_close(&care);
        clock_nap(AGAIN_NSEC); /* a server that began again meanwhile gets the same order again */
    }
}

static enum err scrub_run(struct call *call, struct why *why)
{
    return order(call, CARE_SCRUB, call_has(call, "wait"), why);
}

static enum err verify_run(struct call *call, struct why *why)
{
    return order(call, CARE_VERIFY, true, why);
}

static const struct option scrub_options[] = {
    STORE_CARE_OPTIONS,
    {"wait", NULL, "wait until all servers are done, and print what they have found"},
    {0},
};

const struct command command_store_scrub = {
    .name = "store scrub",
    .arguments = "",
    .summary = "find and repair damaged records, and copies that differ",
    .description =
        "Tells all servers of the store to read all their records, and the leader of each group to "
        "compare it with the other copies. A record that its disk has damaged is fetched from "
        "another server; a copy that lacks a record gets it. Servers do this by themselves every "
        "day (the parameter store.scrub_every), at most store.scrub_rate bytes a second, and an "
        "eighth of that while they answer requests.\n\n"
        "Without --wait the command returns when the servers have begun; weft store status shows "
        "what they find. The exit code is 1 if a server does not take part, and with --wait also "
        "if something could not be repaired.\n\n"
        "With --json: ended, checked (servers), records and bytes read, damaged, open (still "
        "damaged), mended, lost (that no other server has), differing (keys), evened (of these, "
        "repaired), skipped (copies that changed all the time), not_checked (servers).",
    .options = scrub_options,
    .examples = "  weft store scrub --wait",
    .run = scrub_run,
};

static const struct option verify_options[] = {STORE_CARE_OPTIONS, {0}};

const struct command command_store_verify = {
    .name = "store verify",
    .arguments = "",
    .summary = "report damaged records, and copies that differ, without repairs",
    .description =
        "As weft store scrub --wait, but nothing is repaired. A damaged record that a program "
        "reads "
        "meanwhile is still fetched from another server.\n\n"
        "The exit code is 1 if something is damaged, copies differ, or a server does not take "
        "part.\n\n"
        "With --json: as weft store scrub.",
    .options = verify_options,
    .examples = "  weft store verify && echo all copies are whole",
    .run = verify_run,
};
