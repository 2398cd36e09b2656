#pragma once
/* log_keeper: a service for tests of the store's log: each server keeps the newest version of each
 * of a few keys, in the manner of the store, and says what it finds. A log that breaks is closed
 * and opened again. Values are made from key, version and size, so that the reader can tell whether
 * they are right. */

#include "services/store/log/log.h"

#define KEEPER_SERVICE 301
#define KEEPER_KEYS    48
#define KEEPER_SEGMENT (768u << 10)
#define KEEPER_VALUE   (400u << 10) /* so that some are written from where they are */

enum keeper_what {
    KEEPER_PUT = 1,
    KEEPER_REMOVE,
    KEEPER_GET,
    KEEPER_ASTRAY, /* a read of a segment that does not exist */
    KEEPER_CLOSE,  /* the log is closed, and opened again; there is no answer */
};

struct keeper_order {
    enum keeper_what what;
    uint32_t key, size;
    uint64_t version;
};

struct keeper_answer {
    struct keeper_order order; /* KEEPER_GET: version and size are what the server has */
    int result;                /* -ENOENT: never had it; -ENODATA: removed; -EBADMSG: damaged;
                                * -EILSEQ: not what was written;
                                * -EAGAIN: not ready */
    bool damaged;              /* the log has reported damage since the start */
};

extern const struct weft_service keeper_service;

/* Counts of the log of a server; false: it does not run or is not ready. Not for services. */
bool keeper_counts(weft_server server, struct log_counts *counts);
int keeper_opened(weft_server server);   /* the result of opened(); 1: not yet */
bool keeper_forgave(weft_server server); /* damage, since keeper_begin */
void keeper_begin(void);
uint64_t keeper_closed(void); /* how often a log was closed, on all servers so far */
