#include "cli/ripc/ripc_report.h"

#include "cli/ripc/ripc_call.h"
#include "cli/show/bytes_text.h"

#define LINE_BYTES_MAX 256 /* of a message that are printed on its line */

static const char message_page[] =
    "from {sender}{?group} to group {group}{/}, {size|byte|bytes}"
    "{#long_items}, long item of {size} bytes ({way}){/}{?size}: {line}{/}\n";

void ripc_report_begin(struct ripc_report *report, struct call *call, const char *page, ripc_id id)
{
    *report = (struct ripc_report){.call = call, .begun = ripc_now()};
    struct result *result = call_result(call, page);
    result_uint(result, "id", id);
    result_array(result, "messages");
}

static void message_put(struct call *call, const struct ripc_inbox *inbox)
{
    const struct ripc_message *message = &inbox->message;
    char from[RIPC_ID_TEXT], to[RIPC_ID_TEXT];
    bool grouped = message->to != ripc_service_id(inbox->service);
    struct result *result = call_item(call, message_page);
    result_uint(result, "from", message->from);
    result_uint(result, "to", message->to);
    result_uint(result, "size", message->size);
    bytes_text(result_words(result, "text"), message->data, message->size, message->size);
    result_uint(result, "return_buffers", message->return_count);
    result_array(result, "long_items");
    for (unsigned i = 0; i < message->long_count; i++) {
        result_object(result, NULL);
        result_uint(result, "size", inbox->items[i].size);
        result_string(result, "way", inbox->items[i].way);
        result_end(result);
    }
    result_end(result);
    result_string(result_hide(result), "sender", ripc_id_text(message->from, from));
    result_string(result_hide(result), "group", grouped ? ripc_id_text(message->to, to) : NULL);
    bytes_text(result_words(result_hide(result), "line"), message->data, message->size,
               LINE_BYTES_MAX);
    call_item_end(call);
}

enum err ripc_report_message(struct ripc_report *report, const struct ripc_inbox *inbox, bool quiet,
                             struct why *why)
{
    struct call *call = report->call;
    report->messages++;
    report->bytes += inbox->message.size;
    for (unsigned i = 0; i < inbox->message.long_count; i++) {
        report->long_items += inbox->items[i].data != NULL;
        report->long_bytes += inbox->items[i].data ? inbox->items[i].size : 0;
        report->refused += inbox->items[i].data == NULL;
    }
    if (quiet)
        return OK;
    if (!call->json || report->messages <= RIPC_REPORT_MAX)
        message_put(call, inbox);
    return call->json ? OK : call_flush(call, why);
}

void ripc_report_unbind(struct ripc_report *report, struct ripc *ripc, struct ripc_service *service)
{
    struct ripc_stats stats = {0};
    (void)ripc_unbind(service); /* the answers that did not arrive were counted one by one */
    if (ripc_stats(ripc, &stats) == 0)
        report->unread = stats.dropped_unread;
}

void ripc_report_totals(struct ripc_report *report)
{
    struct result *result = &report->call->result;
    result_end(result);
    result_uint(result, "received", report->messages);
    result_uint(result, "received_bytes", report->bytes);
    result_uint(result, "long_items", report->long_items);
    result_uint(result, "long_bytes", report->long_bytes);
    result_uint(result, "long_items_refused", report->refused);
    result_uint(result, "unread", report->unread);
    result_number(result, "seconds", (double)(ripc_now() - report->begun) / 1e9);
}
