#include "cli/ripc/ripc_report.h"

#include <inttypes.h>

#include "cli/ripc/ripc_call.h"
#include "cli/show/bytes_text.h"

#define LINE_BYTES_MAX 256 /* of a message on one line */

void ripc_report_begin(struct ripc_report *report, struct call *call, ripc_id id)
{
    *report = (struct ripc_report){.call = call, .begun = ripc_now()};
    if (!call->json)
        return;
    report->json = json_make(&call->out, true);
    json_object(&report->json);
    json_put_uint(&report->json, "id", id);
    json_key(&report->json, "messages");
    json_array(&report->json);
}

static void message_json(struct json *json, const struct ripc_inbox *inbox)
{
    const struct ripc_message *message = &inbox->message;
    struct text bytes = {0};
    bytes_text(&bytes, message->data, message->size, message->size);
    json_object(json);
    json_put_uint(json, "from", message->from);
    json_put_uint(json, "to", message->to);
    json_put_uint(json, "size", message->size);
    json_put_string(json, "text", bytes.data ? bytes.data : "");
    json_put_uint(json, "return_buffers", message->return_count);
    json_key(json, "long_items");
    json_array(json);
    for (unsigned i = 0; i < message->long_count; i++) {
        json_object(json);
        json_put_uint(json, "size", inbox->items[i].size);
        json_put_string(json, "way", inbox->items[i].way);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
    json->out->failed |= bytes.failed;
    text_fini(&bytes);
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
            message_json(&report->json, inbox);
        return OK;
    }
    message_text(&call->out, inbox);
    return call_flush(call, why);
}

void ripc_report_totals(struct ripc_report *report)
{
    double seconds = (double)(ripc_now() - report->begun) / 1e9;
    struct text *out = &report->call->out;
    if (!report->call->json) {
        text_count(out, report->messages, "message", "messages");
        text_printf(out, " of %" PRIu64 " bytes", report->bytes);
        if (report->long_items) {
            text_puts(out, ", ");
            text_count(out, report->long_items, "long item", "long items");
            text_printf(out, " of %" PRIu64 " bytes", report->long_bytes);
        }
        if (report->refused) {
            text_puts(out, ", ");
            text_count(out, report->refused, "long item", "long items");
            text_puts(out, " not taken");
        }
        text_printf(out, ", in %.3f s\n", seconds);
        return;
    }
    json_end(&report->json, ']');
    json_put_uint(&report->json, "received", report->messages);
    json_put_uint(&report->json, "received_bytes", report->bytes);
    json_put_uint(&report->json, "long_items", report->long_items);
    json_put_uint(&report->json, "long_bytes", report->long_bytes);
    json_put_uint(&report->json, "long_items_refused", report->refused);
    json_put_number(&report->json, "seconds", seconds);
}

void ripc_report_end(struct ripc_report *report)
{
    if (report->call->json)
        json_end(&report->json, '}');
}
