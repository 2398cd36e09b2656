#pragma once
/* What the parts of the store's service share. store.c has the service itself; mail.c the streams
 * between servers; disk.c records and custodies; group.c a group from view to view; change.c its
 * writes; learn.c what a new copy gets; confirm.c and lease.c the permission to read; serve.c,
 * alter.c and reply.c requests at the leader; expiry.c keys that have expired; ask.c requests of
 * programs; upload.c values that they send in parts; delivery.c what they get; scan.c and page.c
 * pages of keys; large.c memory for large values; failure.c how a server goes on when its disk
 * fails; inquiry.c what operators ask; status.c what a server reports to them;
 * scrub.c finds damage, mend.c repairs it. */

#include <string.h>

#include <weft/stream.h>

#include "base/digest.h"
#include "base/list.h"
#include "services/store/index/index.h"
#include "services/store/log/log.h"
#include "services/store/memory/buffers.h"
#include "services/store/memory/once.h"
#include "services/store/memory/pool.h"
#include "services/store/memory/room.h"
#include "services/store/replica/replica.h"
#include "services/store/service/space.h"
#include "services/store/service/store.h"
#include "services/store/view/views.h"
#include "services/store/wire/letter.h"
#include "wire/care.h"
#include "wire/store.h"
#include "wire/store_parts.h"

#define MSEC 1000000LL

struct store;
struct group;

enum store_medium { STORE_ON_DISK, STORE_IN_MEMORY };

enum store_stage {
    STORE_LOOKS, /* does the disk belong here? Until then nothing is changed */
    STORE_OPENS_LOG,
    STORE_READS_CUSTODY,
    STORE_OPENS_VIEWS,
    STORE_RUNS,
    STORE_FAILED, /* its disk has failed: it leaves, ends what is under way, ... */
    STORE_CLOSES_LOG,
    STORE_RESTS,  /* ... and begins again later */
    STORE_BROKEN, /* its disk does not belong here: it never begins */
};

/* Timers, by their cookies. */
enum { STORE_TICK = 1, STORE_FLUSH, STORE_FLUSH_MEMORY, STORE_VIEWS, STORE_WORK };

/* ---- large values ----
 *
 * Letters and records of more than LARGE bytes have memory of their own, in which one waits for
 * room. A server holds such memory while it waits for another one, so there are several rooms:
 * what is in one of them waits only for those behind it, here or on any server. So servers never
 * wait for each other in a circle. */

#define LARGE             (128u << 10)
#define LARGE_BYTE_NSEC   32  /* how long a byte takes at most, as a rule: 30 MB/s */
#define PATIENT_BYTE_NSEC 100 /* the same for programs */

enum store_room {
    ROOM_UPLOADS,  /* values that programs send */
    ROOM_REQUESTS, /* requests of other servers, at the leader */
    ROOM_READS,    /* records that were read, and what is made of them */
    ROOM_ANSWERS,  /* of leaders, for programs of this server */
    ROOM_RECORDS,  /* what leaders send; they go as soon as they are on this server's disk */
    STORE_ROOMS,
};

/* Streams to a server: each waits for one room at most. */
enum lane {
    LANE_LETTERS, /* ROOM_RECORDS */
    LANE_REQUESTS,
    LANE_ANSWERS,
    LANES,
};

/* A letter on its way out. */
struct dispatch {
    struct buffer *head;   /* its frame and the letter; a large value is not in it: */
    struct buffer *holder; /* of that; NULL: there is none */
    const void *value;
    uint32_t value_size;
    enum lane lane;
};

/* Bytes that are copied and digested a piece at a time (large.c). */
struct join {
    struct list link;
    struct buffer *buffer; /* of a room */
    uint32_t at, size;     /* what is digested, when the rest is done */
    uint32_t to, left;     /* where how many bytes are still to be copied ... */
    const uint8_t *from;   /* ... from here */
    uint32_t digested;
    struct digest digest;
    void (*done)(struct join *join); /* buffer->value_at and ->digest are set */
};

/* A record that is read from the log. */
struct disk_read {
    struct log_read read;
    struct log *log;
    struct buffer *buffer; /* what was read; the reader releases it. NULL: nothing is read */
    void (*done)(struct disk_read *read);
    void *owner;
    struct store *store;
    struct room_wait wait; /* for the buffer */
    uint32_t before;       /* bytes of the buffer before the record */
};

/* ---- requests at the leader ---- */

enum op_stage {
    OP_WAITS,    /* for another one of its key, or for a commit; begins again then */
    OP_CONFIRMS, /* its answer waits until it is sure that this server still leads */
    OP_READS,    /* a record, from the log */
    OP_JOINS,    /* a large value is being made */
    OP_WRITES,   /* until its write is committed */
};

/* Why it reads a record. */
enum op_purpose {
    FOR_ANSWER,  /* of STORE_GET */
    FOR_CHECK,   /* has this request made it? And which version do clients know? */
    FOR_OUTCOME, /* this request has made it */
    FOR_VALUE,   /* to change it */
    FOR_REWRITE,
};

struct op {
    struct list link; /* of its group, in the order in which they came */
    struct group *group;
    struct buffer *holder; /* of the bytes of the request; NULL: the group itself wants it */
    weft_server origin;    /* where the answer goes; WEFT_NOBODY: nowhere */
    uint64_t ticket;
    struct store_request request;
    enum op_stage stage;
    uint64_t turn; /* when it was tried last */
    bool gone;     /* it ends when it was read */
    bool rewrites; /* REPAIR_REWRITE: writes what is there again */
    bool sweeps;   /* it only removes the key if that has expired */
    bool checked;  /* the present record is not of this request, though it came again */
    /* What it has found. */
    store_version found;   /* of the record; 0: absent */
    store_version visible; /* the version that clients know; 0: the record must be read first */
    bool found_value;      /* it is a value, not a tombstone */
    bool expired;          /* the value, by this server's clock */
    struct log_place place;
    uint32_t value_size;
    enum op_purpose purpose;
    struct disk_read read;
    struct join join;
    /* OP_CONFIRMS: what follows. OP_WRITES: a refusal, or STORE_DONE: the change itself. */
    uint64_t round;
    struct store_answer answer;
    store_version version; /* OP_WRITES */
    int64_t expiry;        /* of the value that it writes */
    bool removes;          /* OP_WRITES: the key, which has expired; after that it begins again */
    uint64_t sum;          /* of STORE_INCR and STORE_DECR */
    bool has_sum;
};

/* ---- changes ---- */

/* A change of a key, from when it is placed until it is durable, at the leader until it is
 * committed. */
struct change {
    struct log_append append; /* first */
    struct list link;         /* of its group, in the order of versions; of a copy: alone */
    struct group *group;
    struct dispatch mail; /* the letter; the record's key and value are in it */
    store_version version;
    bool copies; /* it is not part of the chain */
    bool durable;
};

/* What another in-sync server lacks in a new view. One record after the other is read and sent.
 * Only what was not committed can be missing, so there are few. */
struct replay {
    struct disk_read read; /* first */
    struct group *group;
    uint32_t server, epoch;
    store_version from, until;
    bool superseded; /* what is read: its key was changed again */
};

/* What a learner still lacks, at the leader. */
struct lesson {
    bool runs;
    bool over; /* all was sent; the learner has not answered yet */
    uint32_t server;
    store_version from; /* what is in the chain until here must be durable before it begins */
    int64_t active_at;  /* when something happened last */
    /* All keys until `after` are compared; if `first`, none is. */
    bool first;
    struct letter_key after;
    bool asked, has_page; /* a page is under way; is being compared */
    bool last;            /* it is the last page */
    uint32_t page_count, page_at;
    struct buffer *page; /* of letter_key */
    uint32_t outcome;    /* after the keys: what requests have done was sent until here */
    struct disk_read read;
    bool is_superseded; /* what is read: its key was changed again */
    uint32_t rewrites;  /* under way */
    uint32_t compared;  /* keys of the leader */
};

struct group {
    struct store *store;
    const struct key_space *space;
    struct log *log; /* of its records */
    uint32_t number;
    struct replica replica;
    uint32_t order[KEEPERS_MAX]; /* the servers that are to keep it */
    uint32_t order_count;
    struct list changes, ops;
    uint32_t changes_count;
    /* The coordinator. */
    struct judge *judge;
    bool judged, asked; /* asked: the coordinator waits for this server's report */
    struct replica_message lead;
    uint32_t lead_to;
    /* What the leader asked for too early; `held.kind` 0: nothing. */
    struct replica_message held;
    /* The targets of a write that is being made. */
    uint32_t targets[KEEPERS_MAX];
    uint32_t target_count;
    struct replica_message target_message;
    store_version seen; /* committed, when that was looked at last */
    uint64_t turn;      /* requests that wait are tried again when this has changed */
    /* Custody. */
    struct log_append keep;
    uint8_t keep_key[4], keep_bytes[64];
    uint64_t custody_disk; /* the name of the disk for which it was noted */
    /* The leader. */
    int64_t short_since; /* when a copy was missed; 0: none is */
    int64_t short_seen;  /* when that was seen last */
    int64_t repeat_at;
    struct lesson lesson;
    /* Servers, by their last six bits (server_bit): to which writes are to be sent again; to which
     * what they lack is being sent. */
    uint64_t resends, replaying;
    int64_t replay_after; /* not before, because a large record is on its way */
    uint64_t round, confirmed, wanted;
    int64_t asked_at;             /* when the round began, by weft_clock */
    uint64_t rounds[KEEPERS_MAX]; /* the last one of each keeper of the custody */
    /* The learner. */
    uint32_t copies;    /* that are not durable yet */
    bool copies_end;    /* the leader has sent all */
    bool copies_failed; /* something of it could not be kept */
    /* No value of the group expires before that, by the wall clock. */
    int64_t expires_first;
    uint32_t hint; /* ask.c: who leads, as far as is known; WEFT_NOBODY: unknown */
};

/* ---- scans of programs ---- */

struct scans {
    struct pool scans, pages;
    struct list scans_open, pages_open;
    /* Scratch memory: two sets of groups, a server for each, and places for each (index_walk.h). */
    uint8_t *bits, *leaders;
    struct index_place *places;
};

/* ---- requests of programs ---- */

struct ask {
    struct list link;
    uint32_t index;
    uint64_t name;
    uint64_t client, ticket; /* of the program */
    struct buffer *holder;
    struct store_request request;
    struct group *group;
    uint32_t to;   /* the server that was asked; WEFT_NOBODY: none yet */
    bool was_sent; /* a server may have done it */
    bool was_repeated;
    uint32_t turns;
    int64_t deadline, again_at;
};

struct parcel {
    struct weft_call call; /* first */
    struct store *store;
    struct buffer *buffer;
};

/* The walk through the keys of the groups that this server leads, for those that have expired. */
struct sweep {
    uint32_t group;          /* where it is */
    bool runs;               /* it is inside the group, ... */
    struct letter_key after; /* ... behind this key */
    uint32_t removals;       /* under way */
};

/* Between this server and another one; of each kind the last one. */
struct lease {
    uint32_t epoch;       /* the view that it is about; 0: none was ever taken */
    int64_t until;        /* by weft_clock, as all are */
    uint32_t given_since; /* the first view of the holder's membership */
    int64_t given_until;
};

struct incoming {
    struct store *store;
    enum lane lane;
    uint8_t head[4];
    uint32_t head_size;
    struct buffer *buffer;
    uint32_t filled;
    bool waits;    /* for memory, or for a change */
    bool discards; /* the letter is too large for any server */
    struct room_wait wait;
    /* Of a letter with a large value: where that begins, 0: it is not known; and how far it is
     * digested. */
    uint32_t value_at, digested;
    struct digest digest;
    struct weft_stream *stream;
    struct list link;
};

/* ---- what operators ask ---- */

#define INQUIRIES_MAX 8 /* at once */

struct inquiry {
    uint64_t name;           /* 0: the place is free */
    uint64_t client, ticket; /* of the program */
    struct care_request request;
    int64_t deadline, again_at;
    uint8_t reported[CARE_SERVERS_MAX / 8];
};

/* What this server has taught to others since `at`, and the mean of the last seconds. */
struct taught {
    int64_t at;
    uint64_t records, bytes;
    uint64_t records_rate, bytes_rate; /* a second */
    int64_t looked_at, tokens;         /* bytes that may be taught now */
};

/* ---- scrubbing ---- */

#define MENDS_MAX 64

/* A record that is damaged here, or that another server lacks. */
struct mend {
    struct store *store; /* NULL: the place is free */
    uint32_t group;
    struct letter_key key; /* with the version */
    struct log_place place;
    weft_server to; /* it is given to this server; WEFT_NOBODY: it is fetched */
    uint32_t turn;  /* of the servers that are asked */
    int64_t again_at;
    struct disk_read read;
    bool gone; /* it ends when it was read */
};

struct scrub_counts {
    uint64_t records, bytes; /* that were read, and are whole */
    uint64_t damaged, mended;
    uint64_t open;      /* damaged records that are not replaced yet */
    uint64_t lost;      /* damaged records that no other server had */
    uint64_t differing; /* keys of which an in-sync server had another version */
    uint64_t evened;    /* ... to which the right record was sent */
    uint64_t skipped;   /* servers with which a group could not be compared */
};

struct scrub {
    bool runs;
    bool repairs;       /* it mends what it finds */
    bool alarmed;       /* the log has found damage: begins soon */
    uint64_t number;    /* of the operator's order; 0: none */
    int64_t ended_at;   /* 0: never */
    int64_t at, tokens; /* bytes that it may read now */
    /* Where it is: this group, */
    uint32_t group;
    bool compares; /* ... its records were read */
    bool first;    /* all records until `after` were begun; if `first`, none was */
    struct letter_key after;
    struct disk_read read;
    /* `compares`: with this peer. */
    uint32_t peer, tries, epoch, asked; /* asked: the letter that awaits an answer */
    weft_server server;                 /* WEFT_NOBODY: not begun */
    int64_t asked_at;
    store_version limit; /* was committed then */
    uint64_t turn;       /* the number of the last question */
    bool page_first;
    struct letter_key page_after;
    struct scrub_counts counts;
};

struct store {
    /* Parameters. */
    int64_t copies, first_groups, least;
    uint32_t medium; /* an enum store_medium, of the first key space */
    const char *key_spaces;
    uint64_t memory_size;
    int64_t suspect, recover, lease, scrub_every;
    uint64_t scrub_rate, recover_rate;
    uint64_t index_size, buffers_size, segment, memory;

    struct weft_self *self;
    weft_server here;
    struct spaces spaces;
    int64_t group_count; /* of all key spaces */
    /* Bytes of a value: a record with it fits into a segment; the same in memory. */
    uint32_t value_max, memory_value_max;
    enum store_stage stage;
    struct views *views;
    struct log *log;
    struct log *memory_log; /* NULL: no key space is in memory */
    uint32_t logs_open;     /* while they close */
    struct index index;
    struct buffers buffers;
    struct once once;
    struct value_room rooms[STORE_ROOMS];
    bool woken;        /* STORE_WORK is set */
    struct list joins; /* under way */
    struct pool parcels, ops, changes, asks, incomings, replays, uploads, deliveries;
    struct list asks_open, incomings_open, uploads_open, deliveries_open;
    uint64_t upload_name; /* of the next one; begins at random */
    struct scans scans;
    uint64_t ask_name;            /* of the next one; begins at random */
    struct group *groups;         /* `group_count` */
    struct weft_stream **streams; /* to each server, LANES of them; NULL: none is open */
    uint32_t *ranks;              /* of servers, for one group */
    struct lease *leases;         /* of servers */
    int64_t leases_end;           /* of those that former members may still have */
    int64_t read_at;              /* when a request was confirmed last, by weft_now */
#ifdef WEFT_PLANTED_BUGS
    int64_t clock_before; /* CLOCK_FIRST: what weft_clock was at the last tick */
#endif
    struct letter *in, *out;
    struct buffer *found; /* the record that a request has read, while that is looked at */
    uint64_t custody_version;
    uint32_t custody_next; /* STORE_READS_CUSTODY */
    struct disk_read custody_read;
    int error;     /* from STORE_FAILED on: why */
    bool opening;  /* the log is being opened */
    bool lost;     /* records were lost that this server must have */
    bool forgives; /* the log is to forget them when that is durable */
    int64_t pause; /* STORE_RESTS: how long */
    int64_t again_at;
    uint64_t failures;
    struct sweep sweep;
    uint64_t answered, garbage, expired, reads_own;
    int64_t entered_at; /* the view */
    struct taught taught;
    struct inquiry inquiries[INQUIRIES_MAX];
    int64_t began_at;
    uint32_t stepped_down; /* in this view, it has left to give up what it leads */
    struct scrub scrub;
    /* Since the process began: records that were fetched; keys of which a server had another
     * version; copies of groups that were compared. */
    uint64_t mended, differing, compared;
    struct mend mends[MENDS_MAX];
    uint32_t mending;
};

/* ---- mail.c ---- */

extern const struct weft_streams store_streams;
#define FRAME 4 /* bytes before a letter: its size */
/* Room for a letter with its frame; false: there is no memory. If there is a holder of its value, a
 * large one stays where it is. Then the letter, which can be sent to any number of servers. */
bool mail_room(struct store *store, const struct letter *letter, struct buffer *holder,
               struct dispatch *mail);
void mail_fill(struct dispatch *mail, const struct letter *letter);
void mail_drop(struct store *store, struct dispatch *mail);
/* False: it is not on its way. */
bool mail_post(struct store *store, weft_server server, const struct dispatch *mail);
/* It may get lost. Not to this server. */
void mail_send(struct store *store, weft_server server, const struct letter *letter);
void mail_send_held(struct store *store, weft_server server, const struct letter *letter,
                    struct buffer *holder);
void mail_tick(struct store *store);

/* ---- disk.c ---- */

extern const struct log_events disk_events, memory_events;
void disk_begin(struct store *store);
struct index_entry *disk_find(const struct store *store, uint32_t group, const void *key,
                              uint32_t size);
bool disk_has_value(const struct index_entry *entry);
/* A record is durable at that place. */
void disk_put(struct store *store, const struct record *record, struct log_place place);
/* A value that was written again by a leader, for the servers, has another version than clients
 * know. That one goes before the value, and this bit is set in the number of the request. */
#define REWRITTEN      (UINT32_C(1) << 31)
#define REWRITTEN_HEAD 8
bool disk_is_rewritten(const struct index_entry *entry);
/* The place of an entry's record. */
struct log_place disk_place(const struct index_entry *entry);
/* Begins to read a record into a new buffer; read->done and read->owner are set. False: there is no
 * memory; a large record waits for it. disk_read_wide: with so many bytes free before and after the
 * record. */
bool disk_read(struct store *store, uint32_t group, struct log_place place, uint32_t key_size,
               uint32_t value_size, struct disk_read *read);
bool disk_read_wide(struct store *store, uint32_t group, struct log_place place, uint32_t key_size,
                    uint32_t value_size, uint32_t before, uint32_t after, struct disk_read *read);
static inline bool disk_is_reading(const struct disk_read *read)
{
    return read->buffer || read->wait.waits;
}
/* Ends reads that wait for memory. */
void disk_cancel(struct store *store);
/* Makes group->replica.next durable. */
void disk_keep(struct group *group);
/* A record cannot be read, though the server must have it. */
void disk_lose(struct store *store);
void disk_forgets(void *owner, const struct outcome *outcome);
/* What was damaged is given up. */
void disk_forgive(struct store *store);

/* Forgets the custodies that were noted for another disk. */
void disk_check_custodies(struct store *store);

/* ---- failure.c ---- */

/* The disk has failed, or there is no memory for keys. The server begins again soon. */
void store_fail(struct store *store, int error);
/* The disk is another server's, or of a later version: the store never begins. */
void store_refuse(struct store *store, int error);
void failure_tick(struct store *store);
void failure_closed(void *owner); /* a log */

/* ---- group.c ---- */

/* The group of a key. */
static inline struct group *group_of(const struct store *store, const void *key, uint32_t size)
{
    return &store->groups[spaces_group(&store->spaces, key, size)];
}
/* Bytes of a value in it. */
static inline uint32_t group_value_max(const struct group *group)
{
    return group->space->in_memory ? group->store->memory_value_max : group->store->value_max;
}

/* A server in a set of some servers. Of two with the same bit, one may be taken for the other. */
static inline uint64_t server_bit(uint32_t server)
{
    return UINT64_C(1) << server % 64;
}

extern const struct replica_calls group_calls;
static inline struct replica_world group_world(struct group *group)
{
    return (struct replica_world){&group_calls, group};
}
void group_init(struct store *store, uint32_t number);
void group_enter(struct group *group, const struct roster *roster);
/* Ends all that is under way except appends, and forgets what it knows. */
void group_end(struct group *group);
/* A letter of kind LETTER_REPLICA, or what would be one. */
void group_message(struct group *group, const struct replica_message *message);
/* Looks what has become possible after any change. */
void group_look(struct group *group);
void group_tick(struct group *group);
/* The stream to a server has ended: what was sent may be lost. */
void group_lost(struct group *group, weft_server server);
uint32_t group_in_sync(const struct group *group);
/* Copies without which nothing is changed. */
uint32_t group_least(const struct group *group);
void group_say(struct group *group, weft_server server, const struct replica_message *message);
/* The server that leads, as far as this one knows. */
weft_server group_leader(const struct group *group);

/* ---- copies ---- */

struct copies {
    uint64_t missing; /* servers that should keep a group that this one leads, and do not yet */
    /* When nothing is under way, the sum of `digest` over all servers is the sum of `digest_due`,
     * unless a copy differs from that of its leader. The sums wrap around. */
    uint64_t digest;     /* of all groups for which this server is in sync */
    uint64_t digest_due; /* of all groups that it leads, once for each in-sync server */
};

void copies_count(const struct store *store, struct copies *copies);

/* ---- change.c ---- */

/* A new change of a leader; the holder, which may be NULL, has its value. False: there is no
 * memory. `version` is set. */
bool change_make(struct group *group, const struct record *record, struct buffer *holder,
                 store_version *version);
/* A record that a learner lacks; the holder, which may be NULL, has what it points to. False: there
 * is no memory. */
bool change_copy(struct group *group, const struct record *record, struct buffer *holder);
/* LETTER_WRITE, LETTER_COPY. */
void change_arrives(struct group *group, const struct letter *letter, struct buffer *holder);
/* Forgets what is committed. */
void change_look(struct group *group);
/* Forgets all that is durable. */
void change_forget(struct group *group);
/* Sends again what a peer has not stored. False: a part could not be sent. */
bool change_resend(struct group *group, uint32_t server);
void change_replay(struct group *group, uint32_t server, store_version from);

/* ---- learn.c ---- */

void lesson_begin(struct group *group, uint32_t server);
void lesson_end(struct group *group);
void lesson_look(struct group *group);
void lesson_page(struct group *group, const struct letter *letter);
void lesson_asked(struct group *group, const struct letter *letter, uint32_t from);
void lesson_ends(struct group *group, const struct replica_message *message);

/* ---- confirm.c ---- */

/* Does this server hold leases, so that what it has found may be told? It reads the clock now. */
bool confirm_holds(struct group *group);
/* The round that must be confirmed so that what it has found may be told. */
uint64_t confirm_ask(struct group *group);
void confirm_asked(struct group *group, uint32_t from, const struct letter *letter);
void confirm_heard(struct group *group, uint32_t from, const struct letter *letter);
void confirm_tick(struct group *group);
void confirm_keepers_changed(struct group *group);
void confirm_forget(struct group *group);

/* ---- lease.c ---- */

bool lease_init(struct store *store); /* false: there is no memory */
/* Returns how long the lease is that the other server gets now. */
int64_t lease_give(struct store *store, uint32_t server);
/* The other server has confirmed the present round of the group. */
void lease_take(const struct group *group, uint32_t server, int64_t length);
/* Another view: before the groups enter it. */
void lease_enter(struct store *store, const struct roster *roster);
/* Have all leases ended that were given to servers which are not in the view any more? */
bool lease_has_ended(const struct store *store);
/* For how long the server has leases of all other keepers of the group; it reads the clock. */
int64_t lease_left(const struct group *group);

/* ---- serve.c ---- */

/* A request, from a program at `origin`. The holder's bytes have it. */
void serve_request(struct store *store, weft_server origin, uint64_t ticket,
                   const struct store_request *request, uint32_t epoch, struct buffer *holder);
/* Answers a read from this server's copy of the group, if it does not lead it, and its copy is in
 * sync, and it has leases. False: the leader is to be asked. */
bool serve_own(struct store *store, uint64_t ticket, const struct store_request *request,
               struct buffer *holder);
/* Writes again what the group has of a key, or that it has nothing. False: no memory. */
bool serve_rewrite(struct group *group, const struct letter_key *key);
/* Removes a key if it has expired. False: there is no memory. */
bool serve_sweep(struct group *group, const struct letter_key *key);
void serve_look(struct group *group);
void serve_forget(struct group *group); /* this server no longer leads */

/* ---- expiry.c ---- */

void expiry_init(struct group *group);
/* The group has a value that expires at that moment; 0: never. */
void expiry_note(struct group *group, int64_t expiry);
/* Has that value expired, by this server's clock? */
bool expiry_has_passed(const struct store *store, const struct index_entry *entry);
/* How long a value has to live that expires at that moment; 0: for ever. One that is told has not
 * expired, or had not when it was found. */
uint64_t expiry_left(const struct store *store, int64_t expiry);
void expiry_tick(struct store *store);

/* ---- value.c ---- */

/* The decimal number in a value; false: it is none. */
bool value_number(const void *value, uint32_t size, uint64_t *number);
/* The value of RECORD_REFUSED: what the request was answered. False: nonsense. */
#define REFUSAL_SIZE 12
void value_refusal_write(const struct store_answer *answer, uint8_t bytes[REFUSAL_SIZE]);
bool value_refusal_read(const struct record *record, struct store_answer *answer);
/* What clients see of a record. */
struct record value_visible(const struct record *record);

/* ---- ask.c ---- */

void ask_request(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                 uint32_t size);
/* A request in the holder's bytes. */
void ask_take(struct store *store, uint64_t client, uint64_t ticket,
              const struct store_request *request, struct buffer *holder);
/* The holder has the value. */
void ask_answered(struct store *store, uint64_t ticket, const struct store_answer *said,
                  struct buffer *holder);
void ask_coming(struct store *store, uint64_t ticket); /* an answer is on its way */
/* A stream from or to a server has ended: what was asked may be lost. */
void ask_lost(struct store *store, weft_server server);
void ask_retry(struct store *store, uint64_t ticket, uint32_t server);
void ask_gone(struct store *store, uint64_t client);
void ask_tick(struct store *store);
void ask_view(struct store *store); /* another view */

/* ---- inquiry.c ---- */

void inquiry_begin(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                   uint32_t size);
void inquiry_asked(struct store *store, weft_server from, const struct letter *letter);
void inquiry_heard(struct store *store, weft_server from, const struct letter *letter);
void inquiry_gone(struct store *store, uint64_t client);
void inquiry_tick(struct store *store);

/* ---- status.c ---- */

/* All but the server. */
void status_fill(const struct store *store, struct care_report *report);
void status_tick(struct store *store);
/* So many bytes of a record were sent to a learner. */
void status_taught(struct store *store, uint64_t bytes);
/* The server to ask about that group; WEFT_NOBODY: unknown. */
weft_server ask_leader(const struct group *group);

/* ---- large.c ---- */

bool large_init(struct store *store); /* false: there is no memory */
/* There is something for large_work. It is called soon. */
void large_wake(struct store *store);
void large_work(struct store *store);
/* The digest of a value in those bytes. */
uint64_t large_digest(const struct buffer *holder, const void *value, uint32_t size);
void join_begin(struct store *store, struct join *join);
void join_cancel(struct join *join); /* if it is under way */

/* ---- delivery.c ---- */

bool delivery_init(struct store *store);
/* Bytes to a program, now or when it reads again. */
void delivery_say(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                  uint32_t size);
void delivery_status(struct store *store, uint64_t client, uint64_t ticket,
                     enum store_status status);
void delivery_word(struct store *store, uint64_t client, uint64_t ticket, enum store_word word,
                   uint64_t name);
/* An answer in parts; the holder has its value. */
void delivery_answer(struct store *store, uint64_t client, uint64_t ticket,
                     const struct store_answer *answer, struct buffer *holder);
bool delivery_work(struct store *store); /* true: there is more to do */
void delivery_writable(struct store *store, uint64_t client);
void delivery_gone(struct store *store, uint64_t client);
void delivery_tick(struct store *store);

/* ---- upload.c ---- */

bool upload_init(struct store *store);
void upload_open(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                 uint32_t size);
void upload_take(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                 uint32_t size);
void upload_gone(struct store *store, uint64_t client);
void upload_tick(struct store *store);

/* ---- mend.c ---- */

/* The record of that entry is damaged: fetches it. False: it cannot, now or ever. */
bool mend_record(struct store *store, uint32_t group, const struct index_entry *entry);
/* The record at that place cannot be read. If it is that of the key, it is fetched; of other
 * records it is not known which one it was: the disk is given up. */
void mend_key(struct store *store, uint32_t group, const struct store_request *request,
              store_version version, struct log_place place);
/* Sends the record to a server that lacks it. */
bool mend_give(struct store *store, weft_server to, uint32_t group,
               const struct index_entry *entry);
void mend_asked(struct store *store, weft_server from, const struct letter *letter);
void mend_arrived(struct store *store, const struct letter *letter, struct buffer *holder);
void mend_tick(struct store *store);
void mend_forget(struct store *store);

/* ---- scrub.c ---- */

/* Unless the order with that number, which is not 0, has begun already. */
void scrub_begin(struct store *store, uint64_t number, bool repairs);
void scrub_stop(struct store *store);
/* Something is damaged, and it is not known what. */
void scrub_alarm(struct store *store);
/* LETTER_FETCH to LETTER_VALUES; the holder has the bytes. */
void scrub_letter(struct store *store, weft_server from, const struct letter *letter,
                  struct buffer *holder);
void scrub_tick(struct store *store);

/* ---- drain.c ---- */

/* 0, or why the order cannot be given: -ENODEV: too few other servers; -EISCONN: the server is a
 * member; -ENOENT: it is not planned; -EAGAIN: the store is not ready. */
int drain_check(const struct store *store, const struct care_request *request);
void drain_tick(struct store *store);
