#pragma once
/* once: which requests have changed something lately, so that one that is sent again takes effect
 * once. Pure.
 *
 * An outcome is remembered until its client says that the request is over (its `floor`), or until
 * there is no room and it is the oldest one. The record of such a request stays in the log, also
 * when its key was changed again (`superseded`), so that a server knows it after a restart. */

#include <stdbool.h>
#include <stdint.h>

#include "services/store/log/record.h"

struct outcome {
    uint64_t client;
    uint32_t number;
    uint32_t group;
    uint64_t version;
    int64_t at; /* when it was noted */
    struct log_place place;
    uint32_t value_size;
    uint8_t key_size;
    bool superseded; /* the record is kept only because of the outcome */
    /* Private. */
    uint32_t by_request, by_version; /* next of the same hash, as a number from 1 */
    uint32_t older, newer;           /* in the order in which they were noted */
};

struct once {
    struct outcome *outcomes; /* all these are borrowed */
    uint32_t *by_request, *by_version;
    uint32_t room, count;
    uint32_t free, oldest, newest;
    /* The outcome is forgotten. */
    void (*forgets)(void *owner, const struct outcome *outcome);
    void *owner;
};

/* Bytes of memory for so many outcomes. */
uint64_t once_size(uint32_t room);
/* The memory is filled with zeros. */
void once_init(struct once *once, void *memory, uint32_t room);
/* NULL: unknown. */
struct outcome *once_find(const struct once *once, uint64_t client, uint32_t number);
struct outcome *once_find_version(const struct once *once, uint32_t group, uint64_t version);
/* Notes an outcome, unless it is known; forgets the oldest one if there is no room. */
void once_note(struct once *once, const struct outcome *outcome);
/* Requests of the client with lower numbers are over: forgets the last few of them. What is left
 * when a client's floor leaps is forgotten later, when it is old. */
void once_raise(struct once *once, uint64_t client, uint32_t floor);
/* Forgets what was noted before that time. */
void once_expire(struct once *once, int64_t before);
