#pragma once
/* ripc_report: received messages, as lines for people and as objects. */

#include "base/json.h"
#include "base/text.h"
#include "cli/core/call.h"
#include "cli/ripc/ripc_inbox.h"

#define RIPC_REPORT_MAX 10000 /* messages listed in one object; the rest is only counted */

/* What one run received. With --json the object stays open while it goes on:
 * messages are added as they come, and totals at the end. */
struct ripc_report {
    struct call *call; /* borrowed */
    struct json json;
    uint64_t messages, bytes;
    uint64_t long_items, long_bytes;
    uint64_t refused; /* long items that did not come */
    int64_t begun;
};

void ripc_report_begin(struct ripc_report *report, struct call *call, ripc_id id);

/* Counts the message at hand; prints it now, or lists it. `quiet` only counts. */
MUST_CHECK enum err ripc_report_message(struct ripc_report *report, const struct ripc_inbox *inbox,
                                        bool quiet, struct why *why);

/* Closes the list, so that the caller may add to the object; then ripc_report_end. */
void ripc_report_totals(struct ripc_report *report);
void ripc_report_end(struct ripc_report *report);
