#pragma once
/* The parts of the log: the table of its segments (segments.c), appends and syncs (append.c),
 * reads (read.c), the way through the records of a segment (walk.c), copying live records out of
 * one (copy.c), hints (hint_make.c, hint_load.c), the start (recover.c), and the end (close.c).
 *
 * Places are in units from the beginning of a segment. Only the active segment grows. Records
 * before `synced` in it, and all of older segments, are durable. */

#include "base/check.h"
#include "base/list.h"
#include "services/store/log/log.h"
#include "services/store/log/medium.h"

#define BATCH_SIZE (1u << 20)   /* small records are written in batches */
#define BATCHES    2            /* one is filled while the other is written */
#define COPY_MAX   (256u << 10) /* larger values are written from where they are */
#define VALUES_MAX 32           /* such values under way at once */
/* Syncs wait for more appends if at least so many are under way, and at most for this time. Fewer
 * clients mostly wait one after the other, and a wait would delay them for nothing. */
#define GATHER_LEAST 4
#define GATHER_NSEC  1000000
#define CHUNK        (256u << 10) /* bytes that a walk reads at once */
#define COPIES       1024         /* records that are being copied at once */
#define HEAD_UNITS   (RECORD_HEAD / RECORD_UNIT)
#define HINT_CHUNK   (64u << 10) /* bytes of a hint that are read at once: at least one block */
#define NAME_ROOM    16
#define SPARES_MAX   4 /* recycled segments that wait, with the next one */

enum segment_state {
    SEGMENT_OPENING, /* its file is being opened, or made */
    SEGMENT_SPARE,   /* has a file of full size, and waits for its turn */
    SEGMENT_ACTIVE,
    SEGMENT_SEALED,
    SEGMENT_REMOVING,
};

enum segment_hint {
    HINT_NONE,
    HINT_WRITTEN,
    HINT_FAILED, /* it is not tried again */
};

struct segment {
    struct log *log;
    uint32_t id; /* 0: this slot is free */
    enum segment_state state;
    enum segment_hint hint;
    struct medium_file *file; /* NULL: not open */
    struct weft_call call;    /* on the file or its name */
    uint32_t room;            /* units of the file */
    uint32_t units;           /* records end here */
    uint32_t live;            /* units of live records */
    uint32_t calls;           /* reads under way */
    bool damaged;             /* a part of it cannot be read: it is kept */
    bool forgiven;            /* that part is not needed any more: it is removed soon */
    bool alone;               /* the file is being shortened: reads wait */
    struct segment_head head;
};

struct batch {
    struct weft_call call;
    struct log *log;
    uint8_t *bytes;
    uint32_t used; /* bytes */
    uint32_t unit; /* where they go */
    bool writing;
};

struct append_queue {
    struct log_append *first, *last;
};

/* From record to record through a segment. The caller sets the first group of members. */
struct walk {
    struct segment *segment;
    uint32_t at;  /* the next record */
    uint32_t end; /* unit */
    bool all;     /* everything before `end` was durable, so what cannot be read is damaged */
    bool (*record)(struct walk *walk, const struct record *record, struct log_place place);
    void (*ended)(struct walk *walk, int result); /* 0, or an errno of the disk */

    struct log *log;
    struct weft_call call;
    uint32_t from;    /* unit of the first byte in log->chunk */
    uint32_t filled;  /* bytes in it */
    uint32_t wanted;  /* bytes that were to be read */
    bool held;        /* the caller uses the chunk: it may not be filled again */
    bool stopped;     /* ended() was called */
    uint32_t durable; /* the highest unit of this segment that a record declares durable */
    bool reading;
    bool looking;  /* at `at` is no record: are there records behind it? */
    uint32_t look; /* the next unit to try */
    uint32_t next; /* the first record behind it; 0: none yet */
    bool known;    /* only the value is wrong: */
    struct record bad;
    uint8_t bad_key[RECORD_KEY_MAX];
};

struct copy {
    struct log_append append;
    struct copy *next; /* free */
};

/* Copies what is live in a segment to the end of the log. */
struct copying {
    struct walk walk;
    bool active;
    bool walked; /* all copies have begun */
    int result;
    uint32_t copies; /* under way */
    struct copy *free;
};

/* Writes the hint of a segment. */
struct hinting {
    struct weft_call call;
    struct walk walk;
    bool active;
    bool walks;     /* it uses the chunk of the log */
    bool overflows; /* the entries do not fit */
    uint32_t id;    /* of the segment, which may be removed meanwhile */
    uint32_t units;
    uint64_t salt;
    uint8_t *entries; /* room */
    uint32_t *places; /* where each entry begins */
    uint32_t room, used, count;
    uint8_t *block;
    uint32_t next;   /* entry */
    uint32_t blocks; /* that were written */
    uint64_t offset; /* of the next one */
    struct medium_file *file;
};

/* Reads the hint of a segment. */
struct loading {
    struct weft_call call;
    struct segment *segment;
    uint32_t units; /* where its records end */
    struct medium_file *file;
    uint32_t blocks; /* that are left */
    uint64_t offset; /* of the next one */
    bool whole;
    void (*ended)(struct log *log, struct segment *segment, bool whole);
};

struct recovery {
    struct weft_call call;
    struct weft_file_entry entries[64];
    char after[WEFT_DISK_NAME_MAX + 1];
    uint32_t hint;  /* the last segment of whose hint the name was listed */
    uint32_t index; /* of the segment that is looked at */
    uint32_t tail;  /* unit of the last segment that is written again next */
    struct walk walk;
};

/* Ends everything, then closes the files, one after the other. */
struct closing {
    struct weft_call call;
    struct weft_file_entry entry;
    enum { CLOSING_NOT, CLOSING_WAITS, CLOSING_GOES_ON } step;
};

struct log {
    struct weft_self *self;
    const struct log_events *events;
    void *owner;
    struct log_settings settings;
    struct medium medium;
    void (*spare_ended)(struct log *log); /* the next segment is ready, or cannot be made */
    void (*readable)(struct log *log);    /* a segment can be read again */
    uint8_t *chunk; /* of the walk under way; room for the largest record and a chunk */
    struct copy *copies;
    bool doubts; /* hints are not read */
    /* log_close sets all that follows to zero, except for the memory in it. */
    struct closing closing;
    bool open;
    int broken; /* 0, or the error that broke it */

    struct segment slots[LOG_SEGMENTS_MAX];
    struct segment *segments[LOG_SEGMENTS_MAX]; /* by number */
    uint32_t segment_count;
    uint32_t id_last;

    struct segment *active;  /* NULL: nothing was written since the start */
    bool making;             /* a spare segment is being made */
    uint32_t spares_most;    /* that recycling makes: SPARES_MAX, or 1 while space is short */
    int spare_error;         /* why the last one could not be made; until one was made */
    struct log_place sealed; /* the end of the segment before the active one */
    uint32_t synced;         /* of the active segment */
    uint32_t covers;         /* what the sync under way makes durable */
    bool syncing;
    struct weft_call sync;
    bool rolling; /* the active segment is full: what is in it must be durable first */
    bool woken;   /* the owner will call log_flush */
    struct append_queue waiting, placed;
    uint32_t pending; /* appends that were taken and have not ended, without copies */
    uint32_t gather;  /* so many are expected: the last sync served them, or they came then */
    int64_t sync_began;
    int64_t gather_until; /* the next sync waits no longer for more of them */
    int64_t paused_until; /* the owner calls log_flush then; in the past: it does not */
    struct batch batches[BATCHES];
    unsigned filling; /* the batch that takes records */
    uint32_t values;  /* large ones that are being written */
    bool marked;      /* the last record says that all before it is durable */

    struct log_read *reads, **reads_end; /* that wait */
    uint32_t reads_under_way;

    struct copying copying;
    struct hinting hinting;
    struct loading loading;
    struct recovery recovery;
    struct log_counts counts;
};

/* ---- segments.c ---- */

struct segment *segment_find(const struct log *log, uint32_t id); /* NULL: none */
/* A slot for a segment with that number, which is higher than all others. NULL: none is free. */
struct segment *segment_add(struct log *log, uint32_t id);
void segment_forget(struct segment *segment);
void segment_name(uint32_t id, char name[NAME_ROOM]);
void hint_name(uint32_t id, char name[NAME_ROOM]);
/* The number of the segment whose file, or whose hint, has that name; 0: it is no segment's. */
uint32_t segment_of_name(const char *name, bool hint);
uint32_t segment_room(const struct log *log);       /* units of a new one */
struct segment *spare_first(const struct log *log); /* the next one; NULL: there is none */
/* Begins to make the next segment, if there is none, so that its space is there when it is
 * needed. */
void spare_make(struct log *log);
/* Space is short: removes all spare segments except the next one. */
void spares_give_back(struct log *log);
/* Gives back the space behind the records, once nothing reads them. */
void segment_shorten(struct segment *segment);
/* Recycles or removes the file once no calls are under way on it. */
void segment_remove(struct segment *segment);

/* ---- append.c ---- */

void log_wake(struct log *log); /* the owner calls log_flush soon */
void roll_continue(struct log *log);
void log_break(struct log *log, int error);
void mark_append(struct log *log);

/* ---- read.c ---- */

void reads_begin(struct log *log);

/* ---- walk.c ---- */

void walk_begin(struct walk *walk);
/* record() has returned false: goes on with the record after it. */
void walk_resume(struct walk *walk);

/* ---- hint_make.c, hint_load.c ---- */

bool hinting_init(struct log *log); /* false: too little memory */
/* Begins to write the hint of a segment that has none, if there is one. */
void hint_make(struct log *log);
/* Reads the hint of a segment whose records end at that unit: found() is called for each entry.
 * `whole`: the segment itself need not be read. */
void hint_load(struct log *log, struct segment *segment, uint32_t units,
               void (*ended)(struct log *log, struct segment *segment, bool whole));

/* ---- log.c, close.c ---- */

/* What is not zero before log_open. */
static inline void log_prepare(struct log *log)
{
    log->reads_end = &log->reads;
    log->spares_most = SPARES_MAX;
    for (unsigned i = 0; i < BATCHES; i++)
        log->batches[i].log = log;
}

void close_look(struct log *log);

/* ---- copy.c ---- */

/* Is the record at that place still needed? Then it is made what a copy has. */
static inline bool copy_is_needed(struct log *log, struct record *record, struct log_place place)
{
    if (!log->events->live(log->owner, record, place))
        return false;
    if (!record_is_of_key(record))
        record->value_size = record_outcome_value(record->value_size);
    return true;
}

/* Removes a segment with few live records, if too much space is lost to dead ones. */
void compact(struct log *log);
