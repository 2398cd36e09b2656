#include "cli/ripc/ripc_report.h"

#include <inttypes.h>

#include "cli/ripc/ripc_call.h"
#include "cli/show/bytes_text.h"

#define LINE_BYTES_MAX 256 /* of a message on one line */

void ripc_report_begin(struct ripc_report *report, struct call *call, const char *page, ripc_id id)
{
    *report = (struct ripc_report){.call = call, .begun = ripc_now()};
    struct result *result = call_result(call, page);
    result_uint(result, "id", id);
    result_array(result, "messages");
}

static void message_put(struct result *result, const struct ripc_inbox *inbox)
{
    const struct ripc_message *message = &inbox->message;
    result_object(result, NULL);
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
    result_end(result);
}

static void message_text(struct text *out, const struct ripc_inbox *inbox)
{
    char id[RIPC_ID_TEXT];
    const struct ripc_message *message = &inbox->message;
    text_printf(out, "from %s", ripc_id_text(message->from, id));
    if (message->to != ripc_service_id(inbox->service))
        text_printf(out, " to group %s", ripc_id_text(message->to, id));
    text_puts(out, ", ");
    text_count(out, message->size, "byte", "bytes");
    for (unsigned i = 0; i < message->long_count; i++) {
        const struct ripc_inbox_item *item = &inbox->items[i];
        text_printf(out, ", long item of %" PRIu64 " bytes (%s)", item->size, item->way);
    }
    if (message->size) {
        text_puts(out, ": ");
        bytes_text(out, message->data, message->size, LINE_BYTES_MAX);
    }
    text_puts(out, "\n");
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
    if (call->json) {
        if (report->messages <= RIPC_REPORT_MAX)
            message_put(&call->result, inbox);
        return OK;
    }
    message_text(&call->out, inbox);
    return call_flush(call, why);
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
    result_number(result, "seconds", (double)(ripc_now() - report->begun) / 1e9);
}
