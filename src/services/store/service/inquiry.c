/* inquiry: what an operator asks by way of this server. It asks all servers that it reaches, passes
 * on the report of each as it comes, and ends with the list of those that have reported. */
#include <errno.h>

#include "services/store/service/store_impl.h"

#define AGAIN_NSEC    (200 * MSEC) /* letters can be lost */
#define PATIENCE_NSEC (10000 * MSEC)

static struct inquiry *find(struct store *store, uint64_t name)
{
    for (uint32_t i = 0; i < INQUIRIES_MAX; i++) {
        if (store->inquiries[i].name == name)
            return &store->inquiries[i];
    }
    return NULL;
}

static void end_fill(const struct store *store, struct care_end *end)
{
    const struct roster *roster = views_roster(store->views);
    end->server_count = weft_server_count(store->self);
    end->group_count = (uint32_t)store->group_count;
    end->copies = (uint32_t)store->copies;
    end->least = (uint32_t)store->least;
    end->decides = views_has_quorum(store->views);
    end->epoch = roster ? roster->epoch : 0;
    for (uint32_t i = 0; roster && i < roster->count; i++) {
        if (roster_has(roster, i))
            care_add(end->members, i);
        if (!roster_keeps(roster, i))
            care_add(end->released, i);
    }
}

static void answer_end(struct store *store, uint64_t client, uint64_t ticket,
                       const struct inquiry *inquiry, int error)
{
    uint8_t bytes[CARE_ANSWER_MAX];
    struct care_end end = {.error = error};
    end_fill(store, &end);
    if (inquiry)
        memcpy(end.reported, inquiry->reported, sizeof end.reported);
    size_t size = care_end_write(&end, bytes);
    delivery_say(store, client, ticket, bytes, (uint32_t)size);
}

/* ---- every server ---- */

static void obey(struct store *store, const struct care_request *request)
{
    if (request->kind == CARE_SCRUB || request->kind == CARE_VERIFY)
        scrub_begin(store, request->number, request->kind == CARE_SCRUB);
    if (request->kind == CARE_ORDER && !drain_check(store, request))
        views_order(store->views, request->server, (enum roster_duty)request->duty);
}

static size_t report_write(const struct store *store, const struct care_request *request,
                           uint8_t *bytes)
{
    struct care_report report = {.server = store->here};
    const struct roster *roster = views_roster(store->views);
    weft_server about =
        request->server < weft_server_count(store->self) ? request->server : store->here;
    status_fill(store, &report);
    report.counts[CARE_DUTY] = roster ? roster->entries[about].duty : 0;
    return care_report_write(&report, bytes);
}

void inquiry_asked(struct store *store, weft_server from, const struct letter *letter)
{
    uint8_t bytes[CARE_ANSWER_MAX];
    struct care_request request;
    uint64_t ticket = letter->ticket;
    if (!care_request_read(&request, letter->bytes, letter->size))
        return;
    obey(store, &request);
    struct letter *answer = store->out;
    answer->kind = LETTER_REPORT;
    answer->epoch = 0;
    answer->group = 0;
    answer->ticket = ticket;
    answer->size = (uint32_t)report_write(store, &request, bytes);
    answer->bytes = bytes;
    mail_send(store, from, answer);
}

/* ---- the server that was asked ---- */

static void note_report(struct store *store, struct inquiry *inquiry, weft_server server,
                        const void *bytes, uint32_t size)
{
    if (care_has(inquiry->reported, server))
        return;
    /* One that the program has no room for is asked for again. */
    if (weft_answer(store->self, inquiry->client, inquiry->ticket, bytes, size) == 0)
        care_add(inquiry->reported, server);
}

/* Asks those that have not reported. False: there are none. */
static bool ask_all(struct store *store, struct inquiry *inquiry)
{
    uint8_t bytes[CARE_ANSWER_MAX];
    bool waits = false;
    inquiry->again_at = weft_now(store->self) + AGAIN_NSEC;
    for (uint32_t i = 0; i < weft_server_count(store->self); i++) {
        if (care_has(inquiry->reported, i))
            continue;
        if (i == store->here) {
            obey(store, &inquiry->request);
            note_report(store, inquiry, i, bytes,
                        (uint32_t)report_write(store, &inquiry->request, bytes));
            continue;
        }
        if (!weft_reaches(store->self, i))
            continue;
        waits = true;
        struct letter *letter = store->out;
        letter->kind = LETTER_INQUIRY;
        letter->epoch = 0;
        letter->group = 0;
        letter->ticket = inquiry->name;
        letter->size = (uint32_t)care_request_write(&inquiry->request, bytes);
        letter->bytes = bytes;
        mail_send(store, i, letter);
    }
    return waits;
}

static void inquiry_end(struct store *store, struct inquiry *inquiry)
{
    answer_end(store, inquiry->client, inquiry->ticket, inquiry, 0);
    inquiry->name = 0;
}

static bool is_complete(const struct store *store, const struct inquiry *inquiry)
{
    for (uint32_t i = 0; i < weft_server_count(store->self); i++) {
        if (!care_has(inquiry->reported, i) && (i == store->here || weft_reaches(store->self, i)))
            return false;
    }
    return true;
}

void inquiry_begin(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                   uint32_t size)
{
    struct care_request request;
    struct inquiry *inquiry = find(store, 0);
    bool sense = care_request_read(&request, bytes, size);
    int error = !sense ? -EINVAL : !inquiry ? -EBUSY : 0;
    if (!error && request.kind == CARE_ORDER)
        error = drain_check(store, &request);
    if (error) {
        answer_end(store, client, ticket, NULL, error);
        return;
    }
    int64_t patience = request.patience < PATIENCE_NSEC ? request.patience : PATIENCE_NSEC;
    *inquiry = (struct inquiry){
        .name = store->ask_name++ | UINT64_C(1) << 63, /* never 0 */
        .client = client,
        .ticket = ticket,
        .request = request,
        .deadline = weft_now(store->self) + patience,
    };
    if (!ask_all(store, inquiry))
        inquiry_end(store, inquiry);
}

void inquiry_heard(struct store *store, weft_server from, const struct letter *letter)
{
    struct inquiry *inquiry = letter->ticket ? find(store, letter->ticket) : NULL;
    struct care_report report;
    struct care_end end;
    if (!inquiry || care_answer_read(&report, &end, letter->bytes, letter->size) != CARE_REPORT ||
        report.server != from)
        return;
    note_report(store, inquiry, from, letter->bytes, letter->size);
    if (is_complete(store, inquiry))
        inquiry_end(store, inquiry);
}

void inquiry_gone(struct store *store, uint64_t client)
{
    for (uint32_t i = 0; i < INQUIRIES_MAX; i++) {
        if (store->inquiries[i].client == client)
            store->inquiries[i].name = 0;
    }
}

void inquiry_tick(struct store *store)
{
    int64_t now = weft_now(store->self);
    for (uint32_t i = 0; i < INQUIRIES_MAX; i++) {
        struct inquiry *inquiry = &store->inquiries[i];
        if (!inquiry->name)
            continue;
        if (now >= inquiry->deadline || is_complete(store, inquiry))
            inquiry_end(store, inquiry);
        else if (now >= inquiry->again_at)
            (void)ask_all(store, inquiry);
    }
}
