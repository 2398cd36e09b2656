/* once: see the header. Outcomes have numbers from 1; 0 means none. Each of the three tables has as
 * many chains as there is room for outcomes. */
#include "services/store/memory/once.h"

#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"

uint64_t once_size(uint32_t room)
{
    return (uint64_t)room * (sizeof(struct outcome) + 3 * sizeof(uint32_t));
}

void once_init(struct once *once, void *memory, uint32_t room)
{
    assert(room);
    once->outcomes = memory;
    once->by_request = (uint32_t *)(once->outcomes + room);
    once->by_version = once->by_request + room;
    once->by_client = once->by_version + room;
    once->room = room;
    once->count = once->fresh = once->oldest = once->newest = once->free = 0;
}

void once_clear(struct once *once)
{
    memset(once->by_request, 0, 3 * (size_t)once->room * sizeof *once->by_request);
    once->count = once->fresh = once->oldest = once->newest = once->free = 0;
}

static struct outcome *at(const struct once *once, uint32_t number)
{
    return &once->outcomes[number - 1];
}

static uint32_t *request_chain(const struct once *once, uint64_t client, uint32_t number)
{
    return &once->by_request[hash_mix(client ^ hash_mix(number)) % once->room];
}

static uint32_t *version_chain(const struct once *once, uint32_t group, uint64_t version)
{
    return &once->by_version[hash_mix(version ^ hash_mix(group)) % once->room];
}

static uint32_t *client_chain(const struct once *once, uint64_t client, uint32_t group)
{
    return &once->by_client[hash_mix(client ^ hash_mix(~(uint64_t)group)) % once->room];
}

static uint32_t number_of(const struct once *once, uint64_t client, uint32_t number)
{
    uint32_t i = *request_chain(once, client, number);
    while (i && (at(once, i)->client != client || at(once, i)->number != number))
        i = at(once, i)->by_request;
    return i;
}

struct outcome *once_find(const struct once *once, uint64_t client, uint32_t number)
{
    uint32_t i = number_of(once, client, number);
    return i && !at(once, i)->disowned ? at(once, i) : NULL;
}

struct outcome *once_find_version(const struct once *once, uint32_t group, uint64_t version)
{
    uint32_t i = *version_chain(once, group, version);
    while (i && (at(once, i)->group != group || at(once, i)->version != version))
        i = at(once, i)->by_version;
    return i ? at(once, i) : NULL;
}

static void unlink_age(struct once *once, const struct outcome *outcome)
{
    if (outcome->older)
        at(once, outcome->older)->newer = outcome->newer;
    else
        once->oldest = outcome->newer;
    if (outcome->newer)
        at(once, outcome->newer)->older = outcome->older;
    else
        once->newest = outcome->older;
}

static void forget(struct once *once, uint32_t number)
{
    struct outcome *outcome = at(once, number);
    uint32_t *link = request_chain(once, outcome->client, outcome->number);
    while (*link != number)
        link = &at(once, *link)->by_request;
    *link = outcome->by_request;
    link = client_chain(once, outcome->client, outcome->group);
    while (*link != number)
        link = &at(once, *link)->by_client;
    *link = outcome->by_client;
    if (outcome->version) {
        link = version_chain(once, outcome->group, outcome->version);
        while (*link != number)
            link = &at(once, *link)->by_version;
        *link = outcome->by_version;
    }
    unlink_age(once, outcome);
    once->count--;
    struct outcome gone = *outcome;
    *outcome = (struct outcome){.by_request = once->free};
    once->free = number;
    once->forgets(once->owner, &gone);
}

static uint32_t new_number(struct once *once)
{
    if (once->count == once->room)
        forget(once, once->oldest);
    uint32_t number = once->free;
    if (number)
        once->free = at(once, number)->by_request;
    else
        number = ++once->fresh;
    once->count++;
    return number;
}

static bool is_beyond(uint32_t number, uint32_t later)
{
    return later > number && later - number > STORE_WINDOW;
}

static bool is_of(const struct outcome *outcome, uint64_t client, uint32_t group)
{
    return outcome->client == client && outcome->group == group;
}

bool once_is_over(const struct once *once, uint64_t client, uint32_t group, uint32_t number)
{
    for (uint32_t i = *client_chain(once, client, group); i; i = at(once, i)->by_client) {
        if (is_of(at(once, i), client, group) && is_beyond(number, at(once, i)->number))
            return true;
    }
    return false;
}

/* The client has sent this request: forgets those that are over. */
static void pass(struct once *once, uint64_t client, uint32_t group, uint32_t number)
{
    uint32_t next;
    for (uint32_t i = *client_chain(once, client, group); i; i = next) {
        next = at(once, i)->by_client;
        if (is_of(at(once, i), client, group) && is_beyond(at(once, i)->number, number))
            forget(once, i);
    }
}

static bool is_better(const struct outcome *known, const struct outcome *outcome)
{
    return outcome->version > known->version ||
           (outcome->version == known->version && outcome->disowned && !known->disowned);
}

void once_note(struct once *once, const struct outcome *outcome)
{
    uint32_t known = number_of(once, outcome->client, outcome->number);
    if ((known && !is_better(at(once, known), outcome)) ||
        once_is_over(once, outcome->client, outcome->group, outcome->number))
        return;
    if (known)
        forget(once, known);
    pass(once, outcome->client, outcome->group, outcome->number);
    uint32_t number = new_number(once);
    struct outcome *new = at(once, number);
    *new = *outcome;
    uint32_t *request = request_chain(once, new->client, new->number);
    new->by_request = *request;
    *request = number;
    uint32_t *client = client_chain(once, new->client, new->group);
    new->by_client = *client;
    *client = number;
    if (new->version) {
        uint32_t *version = version_chain(once, new->group, new->version);
        new->by_version = *version;
        *version = number;
    }
    new->older = once->newest;
    new->newer = 0;
    if (once->newest)
        at(once, once->newest)->newer = number;
    else
        once->oldest = number;
    once->newest = number;
}

struct outcome *once_next(const struct once *once, uint32_t group, uint32_t *cursor)
{
    while (*cursor < once->fresh) {
        struct outcome *outcome = at(once, ++*cursor);
        if (outcome->client && outcome->group == group && outcome->version && !outcome->disowned)
            return outcome;
    }
    return NULL;
}

void once_doubt(struct once *once, uint32_t group, uint64_t version)
{
    for (uint32_t i = 1; i <= once->fresh; i++) {
        struct outcome *outcome = at(once, i);
        if (!outcome->client || outcome->group != group)
            continue;
        outcome->doubtful = outcome->version < version;
        if (!outcome->version)
            forget(once, i);
    }
}

void once_expire(struct once *once, int64_t before)
{
    while (once->oldest && at(once, once->oldest)->at < before)
        forget(once, once->oldest);
}
