#pragma once
/* store_parts: values that do not fit into one message between a program and its server. Pure.
 *
 * To the server: STORE_CALL_OPEN has the head of the request. When the server has memory for the
 * value it says SEND, with a name for the *upload*; meanwhile it says WAIT from time to time. Then
 * the program sends the parts of the value, in order, without waiting. The last one is the request:
 * its answer is that of the request. If the server does not know the upload any more it says AGAIN:
 * nothing happened, and the program begins again.
 *
 * To the program: the answer to STORE_GET comes as parts, in order, each with the head of the
 * answer. If the program reads them too slowly, the server says AGAIN, and forgets the rest.
 *
 * Messages of different sizes may overtake each other on their way. So all parts of a value have
 * nearly the same size. */

#include "wire/store.h"

#define STORE_PART_MAX 61440u /* bytes of the value in a part */

/* Parts of a value of that size, which is not 0; and the place of the part that begins there. */
uint32_t store_part_count(uint32_t value_size);
uint32_t store_part_size(uint32_t value_size, uint32_t offset);

/* ---- to the server, behind STORE_CALL_PART ---- */

struct store_part {
    uint64_t name; /* of the upload */
    uint32_t offset;
    bool last;        /* the value is whole, so this is the request: */
    bool again;       /* as in struct store_request */
    int64_t patience; /* the same */
    uint32_t size;    /* above 0 */
    const void *bytes;
};

#define STORE_PART_HEAD 26
size_t store_part_write(const struct store_part *part, void *out, size_t room);
bool store_part_read(struct store_part *part, const void *bytes, size_t size);

/* ---- to the program ---- */

/* What is said in place of an answer. An answer begins with a lower number. */
enum store_word {
    STORE_SAYS_SEND = 0x80, /* the parts of the upload `name` */
    STORE_SAYS_WAIT,        /* there is no memory yet */
    STORE_SAYS_AGAIN,       /* begin again: nothing happened */
    STORE_SAYS_PART,        /* a part of the value */
};

struct store_saying {
    enum store_word word;
    uint64_t name; /* STORE_SAYS_SEND */
    /* STORE_SAYS_PART: */
    struct store_answer answer; /* without its value */
    uint32_t offset;
    uint32_t size; /* above 0 */
    const void *bytes;
};

#define STORE_SAYING_HEAD 64 /* bytes besides those of the part, at most */
/* Is it something of this kind, and not an answer? */
bool store_is_saying(const void *bytes, size_t size);
size_t store_saying_write(const struct store_saying *saying, void *out, size_t room);
bool store_saying_read(struct store_saying *saying, const void *bytes, size_t size);
