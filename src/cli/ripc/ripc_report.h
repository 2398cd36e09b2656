#pragma once
/* ripc_report: received messages, as lines for people and as objects. */

#include "cli/core/call.h"
#include "cli/ripc/ripc_inbox.h"

#define RIPC_REPORT_MAX 10000 /* messages listed in one object; the rest is only counted */

/* What one run received. With --json messages are added to the result as they come; else a line
 * is printed for each. Totals are added at the end. */
struct ripc_report {
    struct call *call; /* borrowed */
    uint64_t messages, bytes;
    uint64_t long_items, long_bytes;
    uint64_t refused; /* long items that did not come */
    int64_t begun;
};

/* The part of a page that shows the totals. */
#define RIPC_REPORT_PAGE                                                                           \
    "{received|message|messages} of {received_bytes} bytes"                                        \
    "{?long_items}, {long_items|long item|long items} of {long_bytes} bytes{/}"                    \
    "{?long_items_refused}, {long_items_refused|long item|long items} not taken{/}, in "           \
    "{seconds%.3f} s\n"

/* Begins the result of the call. */
void ripc_report_begin(struct ripc_report *report, struct call *call, const char *page, ripc_id id);

/* Counts the message at hand; prints it now, or lists it. `quiet` only counts. */
MUST_CHECK enum err ripc_report_message(struct ripc_report *report, const struct ripc_inbox *inbox,
                                        bool quiet, struct why *why);

/* Closes the list; the caller may add to the result. */
void ripc_report_totals(struct ripc_report *report);
