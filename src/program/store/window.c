/* window: see the header. */
#include "program/store/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

#define AGAIN_NSEC  50000000 /* after a refusal that may not be the whole truth */
#define NUMBER_LAST 0x7fffffffu
#define WORD_NSEC   2000000000 /* between two words of a server that works */

void window_init(struct window *window, uint64_t client)
{
    *window = (struct window){.client = client};
    list_init(&window->open);
    list_init(&window->ended);
}

static struct pending *pending_at(struct list *link)
{
    return container_of(link, struct pending, link);
}

static void pending_free(struct pending *pending)
{
    free(pending->value);
    free(pending);
}

void window_fini(struct window *window)
{
    struct list *link;
    while ((link = list_take(&window->open)) || (link = list_take(&window->ended)))
        pending_free(pending_at(link));
}

/* ---- beginning ---- */

static bool has_value(uint32_t op)
{
    return op == WEFT_STORE_PUT || op == WEFT_STORE_APPEND || op == WEFT_STORE_PREPEND;
}

static int check_scan(const struct weft_store_request *request)
{
    const uint32_t flags = WEFT_STORE_AFTER | WEFT_STORE_HERE;
    bool is_after = request->flags & WEFT_STORE_AFTER;
    if (request->condition || request->version || request->ttl || (request->flags & ~flags) ||
        request->zero || request->delta > WEFT_STORE_PAGE_KEYS ||
        (request->key_size && !request->key) ||
        (request->value_size && (!request->value || !is_after)))
        return -EINVAL;
    bool fits =
        request->key_size <= WEFT_STORE_KEY_MAX && request->value_size <= WEFT_STORE_KEY_MAX;
    return fits ? 0 : -EFBIG;
}

int window_check(const struct weft_store_request *request)
{
    if (request && request->op == WEFT_STORE_SCAN)
        return check_scan(request);
    if (!request || request->op < WEFT_STORE_GET || request->op > WEFT_STORE_TOUCH ||
        request->condition > WEFT_STORE_IF_VERSION || request->zero)
        return -EINVAL;
    bool may_expire = request->op == WEFT_STORE_PUT || request->op == WEFT_STORE_TOUCH;
    if (request->ttl < 0 || request->ttl > (may_expire ? WEFT_STORE_TTL_MAX : 0))
        return -EINVAL;
    bool versioned = request->condition == WEFT_STORE_IF_VERSION;
    if ((request->key_size && !request->key) || (request->value_size && !request->value) ||
        (request->op == WEFT_STORE_GET && request->condition) ||
        (request->value_size && !has_value(request->op)) || versioned != (request->version != 0))
        return -EINVAL;
    bool fits =
        request->key_size <= WEFT_STORE_KEY_MAX && request->value_size <= WEFT_STORE_VALUE_MAX;
    return fits ? 0 : -EFBIG;
}

static void scan_fill(struct pending *pending, const struct weft_store_request *wanted)
{
    pending->scan = (struct scan_request){
        .here = wanted->flags & WEFT_STORE_HERE,
        .is_after = wanted->flags & WEFT_STORE_AFTER,
        .most = wanted->delta ? (uint32_t)wanted->delta : WEFT_STORE_PAGE_KEYS,
        .prefix = {pending->request.key, pending->request.key_size},
        .after = {pending->request.value, pending->request.value_size},
    };
}

int window_add(struct window *window, const struct weft_store_request *wanted, int64_t deadline,
               int64_t now, struct pending **out)
{
    struct pending **slot = &window->slots[(window->number + 1) % STORE_WINDOW];
    if (*slot)
        return -EAGAIN;
    struct pending *pending = array_new(1, sizeof *pending + wanted->key_size + wanted->value_size);
    if (!pending)
        return -ENOMEM;
    uint8_t *value = pending->bytes + wanted->key_size;
    if (wanted->key_size)
        memcpy(pending->bytes, wanted->key, wanted->key_size);
    if (wanted->value_size)
        memcpy(value, wanted->value, wanted->value_size);
    pending->request = (struct store_request){
        .op = wanted->op,
        .condition = wanted->condition,
        .flags = wanted->flags,
        .client = window->client,
        .number = ++window->number,
        .version = wanted->version,
        .delta = wanted->delta,
        .ttl = (uint64_t)wanted->ttl,
        .key_size = (uint32_t)wanted->key_size,
        .value_size = (uint32_t)wanted->value_size,
        .key = pending->bytes,
        .value = value,
    };
    pending->scans = wanted->op == WEFT_STORE_SCAN;
    if (pending->scans)
        scan_fill(pending, wanted);
    pending->deadline = deadline;
    pending->send_at = now;
    pending->answer.ticket = ++window->tickets;
    list_append(&window->open, &pending->link);
    window->open_count++;
    *slot = *out = pending;
    return 0;
}

bool window_has_numbers(const struct window *window)
{
    return window->number < NUMBER_LAST;
}

void window_renew(struct window *window, uint64_t client)
{
    assert(window->open_count == 0);
    window->client = client;
    window->number = 0;
}

size_t window_write(const struct pending *pending, int64_t patience, void *out, size_t room)
{
    struct store_request request = pending->request;
    uint8_t *call = out;
    assert(room >= STORE_MESSAGE_MAX);
    if (pending->scans) {
        struct scan_request scan = pending->scan;
        scan.patience = patience;
        *call = STORE_CALL_SCAN;
        return 1 + scan_request_write(&scan, call + 1, room - 1);
    }
    request.again = pending->sent > 0;
    request.patience = patience;
    bool large = window_is_large(pending);
    *call = large ? STORE_CALL_OPEN : STORE_CALL_REQUEST;
    size_t size = large ? store_request_write_head(&request, call + 1, room - 1)
                        : store_request_write(&request, call + 1, room - 1);
    assert(size);
    return 1 + size;
}

size_t window_write_part(const struct pending *pending, int64_t patience, void *out, size_t room)
{
    const struct store_request *request = &pending->request;
    uint8_t *call = out;
    uint32_t size = store_part_size(request->value_size, pending->part);
    const struct store_part part = {
        .name = pending->upload,
        .offset = pending->part,
        .last = window_is_last_part(pending),
        .again = pending->sent > 0,
        .patience = patience,
        .size = size,
        .bytes = (const uint8_t *)request->value + pending->part,
    };
    *call = STORE_CALL_PART;
    size_t written = store_part_write(&part, call + 1, room - 1);
    assert(written);
    return 1 + written;
}

bool window_is_last_part(const struct pending *pending)
{
    uint32_t value_size = pending->request.value_size;
    return pending->part + store_part_size(value_size, pending->part) == value_size;
}

void window_part_sent(struct pending *pending)
{
    pending->part += store_part_size(pending->request.value_size, pending->part);
}

/* ---- ending ---- */

struct pending *window_find(const struct window *window, uint64_t post)
{
    for (unsigned i = 0; i < STORE_WINDOW; i++) {
        if (window->slots[i] && window->slots[i]->post == post)
            return window->slots[i];
    }
    return NULL;
}

void window_end(struct window *window, struct pending *pending, int result)
{
    if (result < 0 && pending->value) { /* it is not whole */
        free(pending->value);
        pending->value = NULL;
        pending->answer.value_size = 0;
    }
    pending->answer.result = result;
    pending->ended = true;
    pending->post = 0;
    list_remove(&pending->link);
    list_append(&window->ended, &pending->link);
    window->slots[pending->request.number % STORE_WINDOW] = NULL;
    window->open_count--;
}

/* What the program is told about a condition that does not hold. */
static int conflict_result(const struct store_request *request)
{
    if (request->condition == STORE_IF_ABSENT)
        return -EEXIST;
    return request->condition == STORE_IF_VERSION ? -ESTALE : -ENOENT;
}

static int result_of(const struct store_request *request, enum store_status status)
{
    switch (status) {
    case STORE_DONE:
        return 0;
    case STORE_ABSENT:
        return -ENOENT;
    case STORE_CONFLICT:
        return conflict_result(request);
    case STORE_UNKNOWN:
        return -ETIMEDOUT;
    case STORE_UNAVAILABLE:
        return -EHOSTUNREACH;
    case STORE_BUSY:
        return -EBUSY;
    case STORE_FULL:
        return -ENOSPC;
    case STORE_TOO_LARGE:
        return -EFBIG;
    case STORE_NOT_NUMBER:
        return -ERANGE;
    case STORE_MALFORMED:
        return -EINVAL;
    }
    assert_unreachable();
}

/* The answer says that this message did nothing. A former one may have. */
static bool is_refusal(enum store_status status)
{
    return status == STORE_UNAVAILABLE || status == STORE_BUSY || status == STORE_FULL;
}

static int take_number(struct pending *pending, const struct store_answer *said)
{
    char digits[24] = {0}, *end;
    if (said->value_size == 0 || said->value_size >= sizeof digits)
        return -EPROTO;
    memcpy(digits, said->value, said->value_size);
    pending->answer.number = strtoull(digits, &end, 10);
    return *end ? -EPROTO : 0;
}

static int take_page(struct pending *pending, const struct store_answer *said)
{
    struct scan_page page;
    if (!scan_page_read(&page, said->value, said->value_size))
        return -EPROTO;
    pending->value = array_copy(said->value, said->value_size, 1);
    return pending->value ? 0 : -ENOMEM;
}

static int take_value(struct pending *pending, const struct store_answer *said)
{
    if (pending->scans)
        return take_page(pending, said);
    enum store_op op = pending->request.op;
    if (op == STORE_INCR || op == STORE_DECR)
        return take_number(pending, said);
    if (op != STORE_GET || said->value_size == 0)
        return 0;
    free(pending->value); /* of a former try */
    pending->value = array_copy(said->value, said->value_size, 1);
    return pending->value ? 0 : -ENOMEM;
}

/* ---- large values ---- */

/* It is to be sent from the beginning. */
static void begin_again(struct pending *pending, int64_t now)
{
    pending->post = 0;
    pending->stage = PENDING_WHOLE;
    pending->part = 0;
    pending->send_at = now;
}

/* A part of the value has come. Parts come in order, but those of a former try may come late. */
static void take_part(struct window *window, struct pending *pending,
                      const struct store_saying *saying, int64_t now)
{
    const struct store_answer *answer = &saying->answer;
    bool first = saying->offset == 0;
    if (pending->request.op != STORE_GET || (!first && !pending->value))
        return;
    if (first) {
        free(pending->value);
        pending->value = array_new(answer->value_size, 1);
        pending->part = 0;
        pending->answer.version = answer->version;
        pending->answer.flags = answer->flags;
        pending->answer.value_size = answer->value_size;
    }
    if (!pending->value) {
        window_end(window, pending, -ENOMEM);
        return;
    }
    if (saying->offset != pending->part || answer->version != pending->answer.version ||
        answer->value_size != pending->answer.value_size) {
        begin_again(pending, now); /* one is missing */
        return;
    }
    memcpy(pending->value + pending->part, saying->bytes, saying->size);
    pending->part += saying->size;
    pending->answer_by = now + WORD_NSEC;
    if (pending->part == answer->value_size)
        window_end(window, pending, (int)answer->value_size);
}

/* Something that is no answer. */
static void window_said(struct window *window, struct pending *pending,
                        const struct store_saying *saying, int64_t now)
{
    switch (saying->word) {
    case STORE_SAYS_SEND:
        if (pending->stage != PENDING_OPENED)
            return;
        begin_again(pending, now);
        pending->stage = PENDING_SENDING;
        pending->upload = saying->name;
        break;
    case STORE_SAYS_WAIT:
        pending->answer_by = now + WORD_NSEC;
        break;
    case STORE_SAYS_AGAIN:
        pending->sent -= pending->stage == PENDING_SENT; /* that message did nothing */
        begin_again(pending, now);
        break;
    case STORE_SAYS_PART:
        take_part(window, pending, saying, now);
        break;
    }
}

void window_answered(struct window *window, struct pending *pending, const void *bytes, size_t size,
                     int64_t now)
{
    struct store_answer said;
    struct store_saying saying;
    if (store_is_saying(bytes, size)) {
        if (store_saying_read(&saying, bytes, size))
            window_said(window, pending, &saying, now);
        else
            window_end(window, pending, -EPROTO);
        return;
    }
    pending->stage = PENDING_WHOLE;
    pending->part = 0;
    pending->post = 0;
    if (!store_answer_read(&said, bytes, size)) {
        window_end(window, pending, -EPROTO);
        return;
    }
    if (pending->scans && is_refusal(said.status)) { /* it changes nothing, so it can be repeated */
        pending->refusal = result_of(&pending->request, said.status);
        pending->send_at = now + AGAIN_NSEC;
        return;
    }
    bool in_doubt = pending->request.op != STORE_GET && pending->sent > 1;
    if (said.status == STORE_UNKNOWN || (in_doubt && is_refusal(said.status))) {
        pending->send_at = said.status == STORE_UNKNOWN ? now : now + AGAIN_NSEC;
        return;
    }
    pending->answer.version = said.version;
    pending->answer.flags = said.flags;
    pending->answer.ttl = (int64_t)said.ttl;
    pending->answer.value_size = said.value_size;
    int result = result_of(&pending->request, said.status);
    if (!result)
        result = take_value(pending, &said);
    if (!result && (pending->scans || pending->request.op == STORE_GET))
        result = (int)said.value_size;
    window_end(window, pending, result);
}

void window_lost(struct pending *pending, int64_t now)
{
    begin_again(pending, now);
}

void window_expire(struct window *window, int64_t now)
{
    list_each(&window->open, link)
    {
        struct pending *pending = pending_at(link);
        int result = pending->refusal  ? pending->refusal
                     : pending->sent   ? -ETIMEDOUT
                     : pending->opened ? -EBUSY
                                       : -ENOTCONN;
        if (now >= pending->deadline)
            window_end(window, pending, result);
    }
}

int64_t window_next(const struct window *window)
{
    int64_t next = INT64_MAX;
    list_each((struct list *)&window->open, link)
    {
        const struct pending *pending = pending_at(link);
        int64_t due = pending->post ? pending->answer_by : pending->send_at;
        due = pending->deadline < due ? pending->deadline : due;
        next = due < next ? due : next;
    }
    return next;
}

void window_take(struct pending *pending)
{
    list_remove(&pending->link);
    pending_free(pending);
}
