#pragma once
/* peer: the other process of the tests in ripc.c. It is the same program run again; it binds an id
 * and obeys the commands in messages. A message's first short item begins with a command; the
 * answer goes back to its sender. */

#include <stdint.h>
#include <sys/types.h>

#include "weft/ripc.h"

#define PEER_WINDOW_MAX 8

enum command_kind {
    COMMAND_ECHO = 1, /* sends the short items back unchanged, without another answer */
    COMMAND_WINDOWS,  /* offers `count` windows of `size` bytes from now on */
    COMMAND_CHECK,    /* compares the long items with the pattern */
    COMMAND_FETCH,    /* the same with items that found no window */
    COMMAND_REJECT,   /* rejects them */
    COMMAND_HOLD,     /* keeps the message and its items for ever */
    COMMAND_REPLY,    /* sends `count` long items of `size` bytes, then the answer */
    COMMAND_SEND,     /* the same without waiting for them, and without an answer */
    COMMAND_COUNT,    /* `seed` is one more than the last; answered if `count` is set */
    COMMAND_NOTIFY,   /* answers, then notifies `handle` `count` times with seed, seed + 1, ... */
    COMMAND_REACH,    /* writes the pattern through `grant`, reads it back; answers, notifies */
    COMMAND_SLEEP,    /* receives nothing any more */
};

struct peer_command {
    uint32_t kind;
    uint32_t count;
    uint64_t size;
    uint64_t seed;
    struct ripc_handle handle;
    struct ripc_grant grant;
};

struct answer {
    int32_t status; /* 0, or the first error */
    uint32_t count; /* number of correct items */
};

/* The byte at `index` of item `item` of a message with that seed. */
uint8_t pattern_byte(uint64_t seed, unsigned item, size_t index);
void pattern_fill(void *to, size_t size, uint64_t seed, unsigned item);
int pattern_right(const void *data, size_t size, uint64_t seed, unsigned item);

int64_t peer_deadline(void); /* late enough for an emulated machine under load */

/* Runs the peer until it is killed; writes a byte to `ready` when it is bound. */
int peer_run(ripc_id id, int ready);
