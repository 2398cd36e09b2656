#pragma once
/* once: what requests that change something were answered lately, so that one that is sent again
 * takes effect once, and has the same answer. Pure.
 *
 * A client has at most STORE_WINDOW requests under way: when it sends one, all with numbers lower
 * by that much are over. Of each client and group the outcomes of the last so many numbers are
 * remembered, as long as there is room. The records of such requests stay in the log, also when
 * their keys were changed again (`superseded`). So every server that has the group knows the same,
 * also one that has started again or has just learned it, and a copy of a request that comes late
 * is told from a new one.
 *
 * A server can have records that were never committed, and that the others do not have: what they
 * say of a request has not happened. Such a server learns the group. Then it doubts what it
 * remembers until the leader has confirmed it, and disowns the rest. */

#include <stdbool.h>
#include <stdint.h>

#include "services/store/log/record.h"
#include "wire/store.h"

struct outcome {
    uint64_t client;
    uint32_t number;
    uint32_t group;
    uint64_t version; /* of the record; 0: a refusal that only this server remembers */
    uint32_t status;  /* then: what the request was answered, ... */
    uint64_t seen;    /* ... and the version that the key had */
    int64_t at;       /* when it was noted */
    struct log_place place;
    uint32_t value_size;
    uint8_t key_size;
    bool superseded; /* the record is kept only because of the outcome, such as a refusal */
    bool disowned;   /* it has not happened, although there is a record of that version */
    bool doubtful;   /* it is not known yet whether it has happened */
    /* Private. */
    uint32_t by_request, by_version, by_client; /* next of the same hash, as a number from 1 */
    uint32_t older, newer;                      /* in the order in which they were noted */
};

struct once {
    struct outcome *outcomes; /* all these are borrowed */
    uint32_t *by_request, *by_version, *by_client;
    uint32_t room, count;
    uint32_t fresh; /* how many places were ever used */
    uint32_t free, oldest, newest;
    /* The outcome is forgotten. */
    void (*forgets)(void *owner, const struct outcome *outcome);
    void *owner;
};

/* Bytes of memory for so many outcomes. */
uint64_t once_size(uint32_t room);
/* The memory is filled with zeros. */
void once_init(struct once *once, void *memory, uint32_t room);
/* Forgets all, without a word to the owner. */
void once_clear(struct once *once);
/* NULL: unknown, or disowned. */
struct outcome *once_find(const struct once *once, uint64_t client, uint32_t number);
/* Also if it is disowned. */
struct outcome *once_find_version(const struct once *once, uint32_t group, uint64_t version);
/* Notes an outcome, unless it is over; forgets those that it makes be over, and the oldest one if
 * there is no room. Of two outcomes of one request, that with the higher version stays: it was done
 * because the other one had not happened, or that was a refusal. */
void once_note(struct once *once, const struct outcome *outcome);
/* Is the request over, because its client has sent one to the same group that is beyond its window?
 */
bool once_is_over(const struct once *once, uint64_t client, uint32_t group, uint32_t number);
/* The next record of the group that was committed, or may be, after `*cursor`, which begins at 0;
 * NULL at the end. */
struct outcome *once_next(const struct once *once, uint32_t group, uint32_t *cursor);
/* Doubts all records of the group with lower versions. Forgets what only this server remembers. */
void once_doubt(struct once *once, uint32_t group, uint64_t version);
/* Forgets what was noted before that time. */
void once_expire(struct once *once, int64_t before);
