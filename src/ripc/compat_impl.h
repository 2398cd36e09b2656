#pragma once
/* compat_impl: what the files of the interface of 2013 share. compat_state.c has the state of the
 * process, compat_memory.c the calls for memory, compat.c those for services and messages. */

#include <weft/ripc_compat.h>

#include <pthread.h>

#include "transport/clock.h"

#undef ripc_receive /* from here on, the call of ripc.h */

#define COMPAT_IDS  65536
#define COMPAT_ZERO 65536 /* id 0 of 2013, in ripc.h, where 0 is not an id */

/* A bound id. Entries stay until the process ends. */
struct compat_service {
    struct ripc_service *service;
    struct ripc_compat_service shown; /* in `context` */
    bool receiving; /* a thread waits for a message in a way that only one thread may use */
};

/* Memory that the program unregistered. */
struct compat_unregistered {
    void *base;
    bool pending; /* a peer still used it: to be tried again. Else it is a buffer of the pool, which
                   * cannot be unregistered: only remembered, for the results of later calls */
};

extern struct compat {
    pthread_mutex_t mutex;            /* protects all that follows; never held while a call waits.
                                       * It checks its owner: compat_leave asserts that this thread
                                       * holds it */
    struct ripc *ripc;                /* NULL until opened; then never closed before exit */
    struct compat_service **services; /* by id */
    uint16_t *ids;                    /* of the bound services */
    size_t id_count, id_capacity;
    void **unfreed; /* buffers that were in use when they were freed */
    size_t unfreed_count, unfreed_capacity;
    struct compat_unregistered *unregistered;
    size_t unregistered_count, unregistered_capacity;
    unsigned waiters; /* threads that wait in a call */
    bool handlers;    /* those for fork and exit are registered */
    bool child;       /* of a process that has used the library: has memory that is not ours */
    bool ended;       /* the process is about to exit: further calls are refused */
} compat;

/* In a child of fork: what the parent's state was. Not used; but leak checkers find there that the
 * memory is still referred to. */
extern struct compat compat_inherited;

/* The status of 2013 for a result of ripc.h; never 1, which has meanings of its own. */
uint8_t compat_status(int64_t result);

/* Opens the context if necessary, and takes the mutex. On failure the mutex is not held. */
int compat_enter(void);
void compat_leave(void);

/* Takes the mutex again, in a thread that is counted in `waiters`: the context stays open for
 * it. */
void compat_enter_again(void);

/* Shows the service in `context`. With the mutex held. */
void compat_show(struct ripc_compat_service *service);

/* Does a part of the memory belong to buffers of a parent, or of its peers? With the mutex held. */
bool compat_is_inherited(const void *base, size_t size);

/* Shows in `context` that a message went to that id or came from it. With the mutex held. */
void compat_know(uint16_t id);

/* Did compat_know ever see the id? With the mutex held. */
bool compat_knows(uint16_t id);

/* ---- memory, all with the mutex held ---- */

/* Frees the buffer now, or later if a peer still reads it. `data` is the begin of a buffer. */
void compat_free(void *data);

/* Frees what is no longer in use, if a completion tells that something is not, or in any case. */
void compat_reap(void);
void compat_retry(void);
