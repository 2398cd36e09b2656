/* observer: the observer's side of observation.
 *
 * The view is the one with the highest epoch of all answers. Within an epoch members can only die,
 * so a row is live until one member reports that it is not. An older epoch counts only when no
 * member of the newer one is left: then the table has been founded again.
 *
 * The observer asks members one by one, so that a stopped member does not prevent others from
 * answering; it asks the group only while it knows no member. Answers may get lost: the question is
 * repeated. */
#include "sst/observe/observer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/compare.h"
#include "sst/members/members.h"
#include "sst/observe/observer_wire.h"
#include "sst/table/row.h"

#define MSEC        (1000 * 1000LL)
#define ASK_NSEC    (250 * MSEC)  /* between two questions to a member that has answered */
#define RETRY_NSEC  (20 * MSEC)   /* ... and to one that has not */
#define GRACE_NSEC  (1000 * MSEC) /* for the other members, after the first answer */
#define GROUP_NSEC  (100 * MSEC)  /* to connect to all members of the group */
#define READ_TRIES  64            /* of a row whose owner puts all the time */
#define ANSWERS_MAX 1024          /* that one refresh handles */
#define EVENTS_MAX  16

#define SEQUENCE_NONE UINT64_MAX /* odd: no row that was read has it */

struct observed_row {
    ripc_id id;
    bool live;
    bool down;     /* its id is no longer bound */
    bool answered; /* in this or an earlier epoch */
    bool granted;
    struct ripc_grant grant;
    int64_t asked_at;
    bool known, torn;
    bool changed; /* since the last refresh */
    uint64_t changes;
    uint64_t sequence;
    uint8_t *cells; /* row_size bytes, or NULL before the first read */
};

struct table_observer {
    struct ripc *ripc;
    struct ripc_service *service;
    uint64_t table;
    ripc_id group; /* of the table's members */
    bool has_schema;
    bool stale; /* the table has other columns now */
    struct schema schema;
    uint64_t epoch; /* 0: none yet */
    uint32_t row_count;
    struct observed_row rows[SST_ROWS_MAX];
    uint8_t *arriving; /* buffer for a row that is being read, in memory that a fabric can write */
    uint8_t *zeroes;
    int64_t group_asked_at;
    uint64_t busy; /* counter: answers of members that have enough observers */
    uint64_t strange;
};

/* ---- rows ---- */

static struct observed_row *seen_find(struct table_observer *observer, ripc_id id)
{
    for (uint32_t row = 0; row < observer->row_count; row++)
        if (observer->rows[row].id == id)
            return &observer->rows[row];
    return NULL;
}

static void seen_forget(struct table_observer *observer, struct observed_row *seen)
{
    if (seen->id)
        ripc_unwatch(observer->service, seen->id);
    free(seen->cells);
    *seen = (struct observed_row){.changed = true};
}

static void seen_is_down(struct observed_row *seen)
{
    seen->changed |= seen->live;
    seen->down = true;
    seen->live = false;
    seen->granted = false;
}

/* Is any member of the view that we know still reachable? */
static bool view_stands(const struct table_observer *observer)
{
    for (uint32_t row = 0; row < observer->row_count; row++)
        if (observer->rows[row].id && observer->rows[row].answered && !observer->rows[row].down)
            return true;
    return false;
}

/* The row has another member now, or none. */
static void seen_replace(struct table_observer *observer, struct observed_row *seen, ripc_id id)
{
    seen_forget(observer, seen);
    seen->id = id;
    if (id) {
        int watched = ripc_watch(observer->service, id);
        (void)watched; /* without it, the other members report its death */
    }
}

/* Takes over the view of the answer. A member that keeps its row keeps what we have read. */
static void view_adopt(struct table_observer *observer, const struct observer_answer *answer)
{
    bool same = answer->epoch == observer->epoch;
    uint32_t count = most_u32(answer->row_count, observer->row_count);
    for (uint32_t row = 0; row < count; row++) {
        struct observed_row *seen = &observer->rows[row];
        bool live = answer->live[row];
        if (seen->id != answer->members[row]) {
            seen_replace(observer, seen, answer->members[row]);
        } else if (same) {
            live = live && seen->live;
        } else if (live && seen->down) { /* it joined again; if not, the next question reveals it */
            seen->down = false;
            seen->sequence = SEQUENCE_NONE;
        }
        seen->changed |= seen->live != live;
        seen->live = live;
    }
    observer->epoch = answer->epoch;
    observer->row_count = answer->row_count;
}

/* ---- answers ---- */

static int schema_adopt(struct table_observer *observer, const struct observer_answer *answer)
{
    if (!answer->has_schema)
        return -EPROTO; /* our question said that we have no schema */
    observer->arriving = ripc_alloc(observer->ripc, answer->schema.row_size);
    observer->zeroes = calloc(1, answer->schema.row_size);
    if (!observer->arriving || !observer->zeroes)
        return -ENOMEM;
    observer->schema = answer->schema;
    observer->has_schema = true;
    return 0;
}

static int answer_take(struct table_observer *observer, ripc_id from, const uint8_t *bytes,
                       size_t size)
{
    struct observer_answer answer;
    if (observer_answer_read(&answer, from, bytes, size) < 0) {
        observer->strange++;
        return 0;
    }
    bool stands = view_stands(observer);
    if (stands && !seen_find(observer, from)) { /* we have not asked this process */
        observer->strange++;
        return 0;
    }
    if (observer->has_schema && answer.hash != observer->schema.hash) {
        observer->strange += stands;
        observer->stale |= !stands;
        return 0;
    }
    if (!observer->has_schema) {
        int error = schema_adopt(observer, &answer);
        observer->strange += error == -EPROTO;
        if (error < 0)
            return error == -EPROTO ? 0 : error;
    }
    if (answer.epoch >= observer->epoch || !stands)
        view_adopt(observer, &answer);
    struct observed_row *seen = seen_find(observer, from);
    if (!seen) /* the sender is not in the new view */
        return 0;
    seen->answered = true;
    observer->busy += answer.status != 0;
    seen->granted = answer.status == 0 && answer.grant.size == observer->schema.row_size;
    seen->grant = answer.grant;
    return 0;
}

/* Handles all answers that have arrived; waits for the first until the deadline. Copies each
 * message first, because its sender can change the memory while we read it. */
static int answers_take(struct table_observer *observer, int64_t deadline)
{
    uint8_t bytes[OBSERVER_ANSWER_MAX];
    struct ripc_message message;
    int error = 0;
    for (unsigned taken = 0; taken < ANSWERS_MAX && error == 0; taken++) {
        int count = ripc_receive(observer->service, &message, 1, taken ? RIPC_NOW : deadline);
        if (count <= 0)
            return count == -EAGAIN || count == -ETIMEDOUT ? 0 : count;
        size_t size = message.size <= sizeof bytes ? message.size : 0;
        if (size)
            memcpy(bytes, message.data, size);
        ripc_id from = message.from;
        ripc_release(&message);
        error = answer_take(observer, from, bytes, size);
    }
    return error;
}

static void news_take(struct table_observer *observer)
{
    struct ripc_event events[EVENTS_MAX];
    int count;
    while ((count = ripc_poll(observer->service, events, EVENTS_MAX, RIPC_NOW)) > 0)
        for (int i = 0; i < count; i++) {
            struct observed_row *seen = events[i].id ? seen_find(observer, events[i].id) : NULL;
            if (seen && (events[i].kind == RIPC_DOWN || events[i].kind == RIPC_MOVED))
                seen_is_down(seen);
        }
}

/* ---- questions ---- */

static int question_send(struct table_observer *observer, ripc_id to, int64_t deadline)
{
    struct observer_question question = {
        .hash = observer->has_schema ? observer->schema.hash : 0,
    };
    uint8_t bytes[OBSERVER_QUESTION_SIZE];
    observer_question_write(&question, bytes);
    return ripc_send(observer->service, to, bytes, sizeof bytes, deadline);
}

struct group_list {
    ripc_id group;
    uint32_t count;
    ripc_id members[SST_ROWS_MAX];
};

static void group_list_add(void *argument, const struct ripc_name *name)
{
    struct group_list *list = argument;
    if (name->group && name->id == list->group && list->count < SST_ROWS_MAX)
        list->members[list->count++] = name->member;
}

/* Asks all members of the table's group. If one of them cannot be reached, asks the others one by
 * one. -ENOENT: the group is empty. */
static int group_ask(struct table_observer *observer, int64_t now)
{
    struct group_list list = {.group = observer->group};
    observer->group_asked_at = now;
    int error = question_send(observer, observer->group, now + GROUP_NSEC);
    if (error != -EAGAIN && error != -ETIMEDOUT)
        return error;
    error = ripc_list(observer->ripc, group_list_add, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        int one = question_send(observer, list.members[i], RIPC_NOW);
        (void)one; /* the group is asked again later */
    }
    return error < 0 ? error : 0;
}

/* Asks the members whose turn it is. */
static int members_ask(struct table_observer *observer, int64_t now)
{
    int error = 0;
    for (uint32_t row = 0; row < observer->row_count; row++) {
        struct observed_row *seen = &observer->rows[row];
        int64_t pause = seen->answered ? ASK_NSEC : RETRY_NSEC;
        if (!seen->id || seen->down || (seen->asked_at && now - seen->asked_at < pause))
            continue;
        seen->asked_at = now;
        if (question_send(observer, seen->id, RIPC_NOW) == -ENOENT)
            seen_is_down(seen);
    }
    if (!view_stands(observer) &&
        (!observer->group_asked_at || now - observer->group_asked_at >= RETRY_NSEC))
        error = group_ask(observer, now);
    return error;
}

/* ---- reading ---- */

/* The owner makes the sequence odd, changes several columns, and stores the next even number; or it
 * changes one number and stores the next even number. Each ripc_read takes and releases the
 * context's lock (or is a transfer that completes), so these three reads are in order: if the
 * sequence is the same in the first and the last, the row was read as one put left it. */
static int row_fetch_once(struct table_observer *observer, const struct observed_row *seen,
                          uint64_t *sequence, int64_t deadline)
{
    uint64_t *word = (uint64_t *)(void *)(observer->arriving + ROW_SEQUENCE);
    int error =
        ripc_read(observer->service, &seen->grant, ROW_SEQUENCE, word, sizeof *word, deadline);
    if (error < 0)
        return error;
    uint64_t before = *word;
    if (before & 1)
        return 0;
    *sequence = before;
    if (seen->known && before == seen->sequence)
        return 1;
    error = ripc_read(observer->service, &seen->grant, 0, observer->arriving,
                      observer->schema.row_size, deadline);
    if (error < 0)
        return error;
    error = ripc_read(observer->service, &seen->grant, ROW_SEQUENCE, word, sizeof *word, deadline);
    return error < 0 ? error : *word == before;
}

static int row_keep(struct table_observer *observer, struct observed_row *seen, uint64_t sequence)
{
    const size_t head = sizeof(struct row_head), size = observer->schema.row_size;
    if (seen->known && sequence == seen->sequence)
        return 0;
    if (!seen->cells)
        seen->cells = calloc(1, size);
    if (!seen->cells)
        return -ENOMEM;
    /* The head also changes without a put, when the detector falls asleep. */
    if (!seen->known || memcmp(seen->cells + head, observer->arriving + head, size - head) != 0) {
        seen->changes++;
        seen->changed = true;
    }
    memcpy(seen->cells, observer->arriving, size);
    seen->sequence = sequence;
    seen->known = true;
    return 0;
}

static int row_fetch(struct table_observer *observer, struct observed_row *seen, int64_t deadline)
{
    for (unsigned try = 0; try < READ_TRIES; try++) {
        uint64_t sequence;
        int result = row_fetch_once(observer, seen, &sequence, deadline);
        if (result == 1) {
            seen->torn = false;
            return row_keep(observer, seen, sequence);
        }
        if (result == -ETIMEDOUT || result == -EAGAIN)
            return 0;     /* the next refresh may have more time */
        if (result < 0) { /* gone, or the grant was revoked: ask again */
            seen->granted = false;
            seen->answered = false;
            return 0;
        }
    }
    seen->changed |= !seen->torn;
    seen->torn = true;
    return 0;
}

/* ---- the calls ---- */

static bool all_answered(const struct table_observer *observer)
{
    for (uint32_t row = 0; row < observer->row_count; row++)
        if (observer->rows[row].live && !observer->rows[row].answered)
            return false;
    return true;
}

static bool any_left(const struct table_observer *observer)
{
    for (uint32_t row = 0; row < observer->row_count; row++)
        if (observer->rows[row].id && !observer->rows[row].down)
            return true;
    return false;
}

static bool any_granted(const struct table_observer *observer)
{
    for (uint32_t row = 0; row < observer->row_count; row++)
        if (observer->rows[row].granted)
            return true;
    return false;
}

/* Asks until all members have answered, or until the grace period after the first answer is
 * over. */
static int meet(struct table_observer *observer, int64_t deadline, struct why *why)
{
    unsigned long long name = observer->table;
    for (int64_t now = ripc_now(), until = deadline; now < until; now = ripc_now()) {
        int error = members_ask(observer, now);
        if (error == -ENOENT)
            return why_fail(why, error, "there is no table %llu", name);
        if (error < 0 && error != -ECONNREFUSED)
            return why_fail(why, error, "%s", ripc_strerror(error));
        int64_t pause = now + RETRY_NSEC;
        error = answers_take(observer, least_i64(pause, until));
        if (error < 0)
            return why_fail(why, error, "%s", ripc_strerror(error));
        news_take(observer);
        if (observer->epoch && until == deadline && ripc_now() + GRACE_NSEC < until)
            until = ripc_now() + GRACE_NSEC;
        if (observer->epoch && all_answered(observer))
            break;
    }
    if (!observer->epoch)
        return why_fail(why, -ETIMEDOUT, "the members of table %llu do not answer", name);
    if (observer->busy && !any_granted(observer))
        return why_fail(why, -EBUSY, "all %d observer slots of table %llu are in use",
                        OBSERVERS_MAX, name);
    return 0;
}

int observer_open(struct ripc *ripc, uint64_t table, int64_t deadline,
                  struct table_observer **result, struct why *why)
{
    struct table_observer *observer = calloc(1, sizeof *observer);
    if (!observer)
        return why_fail(why, -ENOMEM, "%s", ripc_strerror(-ENOMEM));
    observer->ripc = ripc;
    observer->table = table;
    observer->group = members_group(table);
    int error = ripc_bind(ripc, 0, 0, &observer->service);
    if (error == -ENOSPC)
        why_set(why, "cannot write a file in %s: %s", ripc_folder(ripc), ripc_strerror(error));
    else if (error < 0)
        why_set(why, "%s", ripc_strerror(error));
    else
        error = meet(observer, deadline, why);
    if (error < 0) {
        observer_close(observer);
        return error;
    }
    *result = observer;
    return 0;
}

void observer_close(struct table_observer *observer)
{
    if (!observer)
        return;
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        free(observer->rows[row].cells);
    if (observer->service)
        ripc_unbind(observer->service); /* the members notice that and revoke their grants */
    if (observer->arriving) {
        int freed = ripc_free(observer->ripc, observer->arriving);
        assert(freed == 0);
    }
    free(observer->zeroes);
    free(observer);
}

int observer_refresh(struct table_observer *observer, int64_t deadline)
{
    int changed = 0;
    int error = answers_take(observer, RIPC_NOW);
    if (error < 0)
        return error;
    news_take(observer);
    if (observer->stale)
        return -ESTALE;
    error = members_ask(observer, ripc_now());
    if (error == -ENOMEM)
        return error;
    for (uint32_t row = 0; row < observer->row_count; row++) {
        struct observed_row *seen = &observer->rows[row];
        if (seen->live && seen->granted && row_fetch(observer, seen, deadline) < 0)
            return -ENOMEM;
    }
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        changed += observer->rows[row].changed;
        observer->rows[row].changed = false;
    }
    return any_left(observer) ? changed : -ENOENT;
}

const struct schema *observer_schema(const struct table_observer *observer)
{
    return &observer->schema;
}

uint64_t observer_epoch(const struct table_observer *observer)
{
    return observer->epoch;
}

uint32_t observer_row_count(const struct table_observer *observer)
{
    return observer->row_count;
}

uint32_t observer_live_count(const struct table_observer *observer)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < observer->row_count; row++)
        count += observer->rows[row].live;
    return count;
}

void observer_row(const struct table_observer *observer, uint32_t row, struct observer_row *out)
{
    assert(row < SST_ROWS_MAX);
    const struct observed_row *seen = &observer->rows[row];
    *out = (struct observer_row){
        .member = seen->id,
        .live = seen->live,
        .known = seen->known,
        .torn = seen->torn,
        .changes = seen->changes,
        .sequence = seen->sequence,
        .cells = seen->cells ? seen->cells : observer->zeroes,
    };
}

const void *observer_elements(const struct table_observer *observer, uint32_t row, uint32_t column)
{
    struct observer_row seen;
    assert(column < observer->schema.column_count);
    observer_row(observer, row, &seen);
    return seen.cells + observer->schema.columns[column].cell;
}

uint64_t observer_cell(const struct table_observer *observer, uint32_t row, uint32_t index,
                       uint32_t element)
{
    const uint8_t *elements = observer_elements(observer, row, index);
    const struct schema_column *column = &observer->schema.columns[index];
    uint64_t cell;
    assert(element < column->count);
    if (!schema_is_number(column))
        return schema_widen(column, elements + (size_t)element * SST_SIZE(column->type));
    memcpy(&cell, elements, sizeof cell);
    return cell;
}

uint64_t observer_strange(const struct table_observer *observer)
{
    return observer->strange;
}

ripc_id observer_id(const struct table_observer *observer)
{
    return ripc_service_id(observer->service);
}
