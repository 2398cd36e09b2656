#pragma once
/* log: the records of a server's store on its disk, or in its memory, in segments, in the order in
 * which they were written. Pure: the world is behind weft/disk.h.
 *
 * The log knows nothing of keys. Its owner has the index: the log tells it which records it finds
 * when it opens, and the owner tells the log which records are no longer needed (log_dead). The
 * log uses the space of such records again: it copies what is live out of the segment with the
 * least of it, tells the owner where each record is now, and recycles the segment or removes it.
 *
 * An append is done when a sync has made it durable. One sync serves all appends that were placed
 * before it began. All memory is taken in log_init and log_open; the owner's structs for appends
 * and reads belong to the log until their done(). Only log_flush and log_tick call the owner from
 * inside.
 *
 * When a write or a sync fails the log is broken: every append fails from then on, also those under
 * way, whose records may or may not be there when the log is opened next. It never tries a sync
 * again. The owner can close the log and open it again, in the same memory. */

#include <weft/disk.h>
#include <weft/work.h>

#include "base/digest.h"
#include "services/store/log/record.h"

#define LOG_SEGMENTS_MAX 1000
#define LOG_READS        128 /* under way at once; others wait */
/* What a service with a log needs at once: open files, calls of weft/disk.h, of weft/work.h. */
#define LOG_FILES (LOG_SEGMENTS_MAX + 4)
#define LOG_CALLS (LOG_READS + 64)
#define LOG_WORK  1

struct log;

/* Bytes of a segment that cannot be read although they were durable: the disk has damaged them. */
struct log_damage {
    struct log_place from, to;
    const struct record *record; /* NULL: it is not known which records were there */
};

struct log_events {
    /* While the log opens: a record is there. Of records of one key that with the highest version
     * counts, wherever it is; of two with the same version, that with the later place. The owner
     * calls log_dead for the other one. The same record may be found twice at the same place: then
     * the owner calls log_dead once. */
    void (*found)(void *owner, const struct record *record, struct log_place place);
    /* 0; -EPROTO: a later version of weft has written it, and nothing was changed; -EMFILE: too
     * many segments; -EMSGSIZE: a value is larger than value_max; or another errno of the disk. */
    void (*opened)(void *owner, int result);
    /* While the log opens, or reads for other reasons. What was there must come from another
     * server. The segment is kept until log_forgive, also when nothing in it is needed any more.
     * From then on only records that are needed are reported. */
    void (*damaged)(void *owner, const struct log_damage *damage);
    /* Is this record still needed? The owner may change its kind: then a copy has that one. Of a
     * record that is not of its key, it has only the beginning of the value. */
    bool (*live)(void *owner, struct record *record, struct log_place place);
    /* The record was copied. Returns whether the owner uses the new place from now on. False: the
     * record was needed when the copy began, but no longer is. */
    bool (*moved)(void *owner, const struct record *record, struct log_place from,
                  struct log_place to);
    /* The log is broken. */
    void (*failed)(void *owner, int error);
    /* After log_close, from log_tick or log_flush: no call is under way, and no file is open. */
    void (*closed)(void *owner);
    /* Appends wait: the owner calls log_flush soon, once for all appends of this moment. May be
     * called from inside any function. */
    void (*wake)(void *owner);
    /* The owner calls log_flush at that time, too: until then the log gathers appends for one sync.
     * NULL: every sync begins as early as it can. */
    void (*pause)(void *owner, int64_t until);
};

struct log_settings {
    uint64_t segment;   /* bytes of a segment, LOG_SEGMENT_LEAST or more */
    uint32_t value_max; /* bytes of a value; a segment has room for it */
    /* 0: the log is on the disk. Otherwise in so many bytes of memory: it begins empty at each
     * log_open. Then there are LOG_MEMORY_SEGMENTS at least. */
    uint64_t memory;
};
#define LOG_SEGMENT_LEAST   (256u << 10)
#define LOG_MEMORY_SEGMENTS 8

struct log_append {
    /* Its key and value stay valid until done(). The digest is that of the value. */
    struct record record;
    /* Kept also when the disk is full: it makes room, such as a tombstone. */
    bool urgent;
    void (*done)(void *owner, struct log_append *append);
    int result;              /* 0; why there is no room, such as -ENOSPC; or what broke the log */
    struct log_place place;  /* of the record; valid in done() */
    struct log_append *next; /* these are private to the log */
    struct log_place from;   /* a copy: the record that it is a copy of */
    struct log *log;
    struct weft_call call;
};

struct log_read {
    struct log_place place;
    uint8_t key_size;
    uint32_t value_size;
    void *bytes; /* room for record_units(key_size, value_size) * RECORD_UNIT; valid until done() */
    void (*done)(void *owner, struct log_read *read);
    int result; /* 0; -EBADMSG: damaged; -ENOENT: no such segment; or an errno of the disk */
    struct record record;  /* if the result is 0: key and value point into `bytes` */
    struct log_read *next; /* these are private to the log */
    struct segment *segment;
    struct log *log;
    uint32_t filled; /* bytes that were read */
    struct digest digest;
    struct weft_call call;
};

/* Takes memory; only in start(). NULL: there is too little, or the settings make no sense. */
struct log *log_init(struct weft_self *self, const struct log_settings *settings,
                     const struct log_events *events, void *owner);
/* Reads what the disk has; ends with opened(). */
int log_open(struct log *log);
/* A record could not be read that was thought to be there: the next log_open reads all records, not
 * only the hints. */
void log_doubt(struct log *log);
/* What was damaged is given up: its segments are kept no longer than others. */
void log_forgive(struct log *log);
/* What waits or is under way ends, appends with an error; then closed() is called. After that the
 * log can be opened again. Also for a log that could not be opened. */
void log_close(struct log *log);

/* Takes the append; done() follows. Returns 0, or refuses it: -ENOSPC, or another errno: the disk
 * has no room for a segment; -EMSGSIZE: the value is too large; or the error that broke the log.
 * Appends are placed in the order of the calls. */
int log_append(struct log *log, struct log_append *append);
/* Writes what was appended, and begins a sync. */
void log_flush(struct log *log);
/* Reads a record that is durable. done() follows. */
void log_read(struct log *log, struct log_read *read);
/* The record of that place is no longer needed. */
void log_dead(struct log *log, struct log_place place, uint8_t key_size, uint32_t value_size);
/* From now on the record of that place is not that of its key, and only needed for what it says of
 * a request: a copy of it has no more of the value than record_outcome_value says, and the rest
 * counts as dead. */
void log_outcome(struct log *log, struct log_place place, uint8_t key_size, uint32_t value_size);
/* moved() has found that log_outcome was called for `from`, while the copy was made with the whole
 * value: it counts for `to` instead. */
void log_outcome_moved(struct log *log, struct log_place from, struct log_place to,
                       uint8_t key_size, uint32_t value_size);
/* The owner calls this a few times a second: the log then does what can wait. */
void log_tick(struct log *log);

/* The lowest segment except that one. A tombstone is needed as long as this is not beyond the
 * segment in which it was first written: until then a start could find an older record. */
uint32_t log_oldest(const struct log *log, uint32_t except);

struct log_counts {
    uint64_t segments, bytes; /* now, on the disk */
    uint64_t live;            /* bytes of records that are needed */
    uint64_t appends, syncs, reads;
    uint64_t copied;   /* bytes of records that were copied out of segments that were given back */
    uint64_t recycled; /* segments whose files became spare ones */
    uint64_t damaged;
    uint64_t hints_written, hints_read; /* hints that were read as a whole at the start */
    bool full; /* no further segment can be made: only urgent appends are taken */
};
void log_count(const struct log *log, struct log_counts *counts);
bool log_is_full(const struct log *log); /* as counts.full */
