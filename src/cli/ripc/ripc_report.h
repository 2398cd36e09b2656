#pragma once
/* ripc_report: reports received messages, as lines of text or as JSON objects. */

#include "cli/core/call.h"
#include "cli/ripc/ripc_inbox.h"

#define RIPC_REPORT_MAX 10000 /* messages listed in the JSON object; further ones are counted */

/* What one run received. With --json each message is added to the result; otherwise a line is
 * printed for it. Totals are added at the end. */
struct ripc_report {
    struct call *call; /* borrowed */
    uint64_t messages, bytes;
    uint64_t long_items, long_bytes;
    uint64_t refused; /* long items that were not received */
    uint64_t unread;  /* messages that had arrived when the service was unbound */
    int64_t begun;
};

/* The part of a page that shows the totals. */
#define RIPC_REPORT_PAGE                                                                           \
    "{received|message|messages} of {received_bytes} bytes"                                        \
    "{?long_items}, {long_items|long item|long items} of {long_bytes} bytes{/}"                    \
    "{?long_items_refused}, {long_items_refused|long item|long items} not received{/}"             \
    "{?unread}, {unread|more message|more messages} dropped unread{/}, in {seconds%.3f} s\n"

/* Begins the result of the call. */
void ripc_report_begin(struct ripc_report *report, struct call *call, const char *page, ripc_id id);

/* Counts the current message, and prints or lists it unless `quiet`. */
MUST_CHECK enum err ripc_report_message(struct ripc_report *report, const struct ripc_inbox *inbox,
                                        bool quiet, struct why *why);

/* Unbinds the service, and counts what was sent to it and not received. */
void ripc_report_unbind(struct ripc_report *report, struct ripc *ripc,
                        struct ripc_service *service);

/* Closes the list and adds the totals; the caller may add to the result afterwards. */
void ripc_report_totals(struct ripc_report *report);
