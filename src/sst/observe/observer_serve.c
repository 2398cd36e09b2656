/* observer_serve: the member's side of observation.
 *
 * Each observer has its own grant, so that the member can revoke it without affecting the others. A
 * grant ends when the observer's id is unbound. If the member missed that, the grant ends when
 * another observer needs the slot and its holder has not asked for a long time: observers ask a few
 * times a second. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/check.h"
#include "ripc/memory/reach.h"
#include "sst/observe/observer.h"
#include "sst/observe/observer_wire.h"

#define LEASE_NSEC (5 * 1000 * 1000 * 1000LL)
#define VIEW_TRIES 4 /* while the table's view changes */

/* An observer; id 0: a free slot. */
struct observer_client {
    ripc_id id;
    struct ripc_grant grant;
    int64_t asked_at;
    bool watched; /* by us; false if the member already watches the id for another reason */
};

struct observer_server {
    struct ripc_service *service;
    const struct table *table;
    uint8_t *row;
    struct observer_client clients[OBSERVERS_MAX];
    /* Counters for other threads; written by observer_asked and observer_gone, relaxed. */
    _Atomic uint32_t count;
    _Atomic uint64_t strange;
};

int observer_serve(struct ripc_service *service, const struct table *table, void *row,
                   struct observer_server **server)
{
    *server = calloc(1, sizeof **server);
    if (!*server)
        return -ENOMEM;
    (*server)->service = service;
    (*server)->table = table;
    (*server)->row = row;
    return 0;
}

/* ---- observers ---- */

static void client_drop(struct observer_server *server, struct observer_client *client)
{
    reach_void(server->service, &client->grant);
    if (client->watched)
        ripc_unwatch(server->service, client->id);
    *client = (struct observer_client){0};
    atomic_fetch_sub_explicit(&server->count, 1, memory_order_relaxed);
}

static struct observer_client *client_find(struct observer_server *server, ripc_id id)
{
    for (unsigned i = 0; i < OBSERVERS_MAX; i++)
        if (server->clients[i].id == id)
            return &server->clients[i];
    return NULL;
}

/* Returns a free slot, if necessary by dropping a stale observer, or NULL. */
static struct observer_client *client_slot(struct observer_server *server, int64_t now)
{
    struct observer_client *eldest = &server->clients[0];
    for (unsigned i = 0; i < OBSERVERS_MAX; i++) {
        if (!server->clients[i].id)
            return &server->clients[i];
        if (server->clients[i].asked_at < eldest->asked_at)
            eldest = &server->clients[i];
    }
    if (now - eldest->asked_at < LEASE_NSEC)
        return NULL;
    client_drop(server, eldest);
    return eldest;
}

static struct observer_client *client_add(struct observer_server *server, ripc_id id, int64_t now)
{
    struct observer_client *client = client_slot(server, now);
    struct ripc_grant grant;
    if (!client || ripc_grant(server->service, id, server->row, server->table->schema.row_size,
                              RIPC_READ, &grant) < 0)
        return NULL;
    *client = (struct observer_client){.id = id, .grant = grant};
    client->watched = ripc_watch(server->service, id) == 0;
    atomic_fetch_add_explicit(&server->count, 1, memory_order_relaxed);
    return client;
}

/* ---- answering ---- */

/* Copies the view of the table. Returns false if it is changing right now, or if there is none. */
static bool view_copy(const struct table *table, struct observer_answer *answer)
{
    for (unsigned try = 0; try < VIEW_TRIES; try++) {
        uint64_t views = table_view_begin(table);
        answer->epoch = atomic_load_explicit(&table->epoch, memory_order_relaxed);
        answer->row_count = atomic_load_explicit(&table->row_count, memory_order_relaxed);
        answer->own = table->own;
        for (uint32_t row = 0; row < answer->row_count; row++) {
            answer->members[row] = atomic_load_explicit(&table->members[row], memory_order_relaxed);
            answer->live[row] = table_is_live(table, row);
        }
        if (table_view_stands(table, views))
            return answer->epoch && answer->own < answer->row_count;
    }
    return false;
}

/* If the message is lost, the observer asks again. */
static void answer_send(struct observer_server *server, ripc_id to,
                        const struct observer_client *client, bool with_schema)
{
    struct observer_answer answer = {
        .status = client ? 0 : -EBUSY,
        .hash = server->table->schema.hash,
        .has_schema = with_schema,
    };
    uint8_t bytes[OBSERVER_ANSWER_MAX];
    if (!view_copy(server->table, &answer))
        return;
    if (client)
        answer.grant = client->grant;
    if (with_schema)
        answer.schema = server->table->schema;
    size_t size = observer_answer_write(&answer, bytes);
    int unheard = ripc_send(server->service, to, bytes, size, RIPC_NOW);
    (void)unheard;
}

void observer_asked(void *argument, ripc_id from, const uint8_t *bytes, size_t size)
{
    struct observer_server *server = argument;
    struct observer_question question;
    if (!from || observer_question_read(&question, bytes, size) < 0) {
        atomic_fetch_add_explicit(&server->strange, 1, memory_order_relaxed);
        return;
    }
    /* Acquire: our row number was written once, before the first epoch. */
    if (atomic_load_explicit(&server->table->epoch, memory_order_acquire) == 0)
        return;
    int64_t now = ripc_now();
    struct observer_client *client = client_find(server, from);
    if (!client)
        client = client_add(server, from, now);
    if (client)
        client->asked_at = now;
    answer_send(server, from, client, question.hash != server->table->schema.hash);
}

void observer_gone(void *argument, ripc_id id)
{
    struct observer_server *server = argument;
    struct observer_client *client = id ? client_find(server, id) : NULL;
    if (client)
        client_drop(server, client);
}

void observer_unserve(struct observer_server *server)
{
    if (!server)
        return;
    for (unsigned i = 0; i < OBSERVERS_MAX; i++)
        if (server->clients[i].id)
            client_drop(server, &server->clients[i]);
    assert(observer_server_count(server) == 0);
    free(server);
}

uint32_t observer_server_count(const struct observer_server *server)
{
    return atomic_load_explicit(&server->count, memory_order_relaxed);
}

uint64_t observer_server_strange(const struct observer_server *server)
{
    return atomic_load_explicit(&server->strange, memory_order_relaxed);
}
