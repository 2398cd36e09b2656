#pragma once
/* care: what an operator asks of the store, and what is answered. Pure.
 *
 * One server is asked. It asks all servers, and passes on the report of each; the last answer says
 * which servers have reported. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CARE_SERVERS_MAX  4096
#define CARE_TROUBLES_MAX 8
#define CARE_NONE         UINT32_MAX /* no server */
#define CARE_NEVER        UINT64_MAX /* of a time */

enum care_kind {
    CARE_STATUS = 1, /* how is the store? */
    CARE_SCRUB,      /* read all records, compare all copies, and repair */
    CARE_VERIFY,     /* the same without repairs */
    CARE_ORDER,      /* a server is to keep its groups, or not */
};

/* As enum roster_duty. */
enum care_duty { CARE_KEEPS, CARE_DRAINS, CARE_REPLACED, CARE_LOST, CARE_DUTIES };

struct care_request {
    enum care_kind kind;
    uint32_t server; /* CARE_ORDER: about this one; else CARE_NONE */
    enum care_duty duty;
    int64_t patience; /* nanoseconds that the program waits for the reports, above 0 */
    uint64_t number;  /* of an order, so that one that comes again is done once; else 0 */
};

enum care_state {
    CARE_OPENS, /* it reads what its disk has */
    CARE_JOINS, /* it wants to be a member */
    CARE_MEMBER,
    CARE_FAILED,  /* its disk has failed: it tries again */
    CARE_REFUSED, /* its disk belongs to another server, or to a later version */
    CARE_STATES,
};

/* The counts of a report, in the order of the format: name, what it counts. Groups are counted by
 * the server that leads them, or if none does, by their coordinator. */
#define CARE_COUNT_LIST(X)                                                                         \
    X(GROUPS_HELD, "groups_held")         /* in sync here */                                       \
    X(GROUPS_LED, "groups_led")           /* that serve */                                         \
    X(GROUPS_SHORT, "groups_short")       /* ... with fewer copies than there should be */         \
    X(GROUPS_SINGLE, "groups_single")     /* ... with one copy, though there should be more */     \
    X(GROUPS_REFUSING, "groups_refusing") /* ... with fewer than are needed for a change */        \
    X(GROUPS_STARTING, "groups_starting") /* not yet; the others are not ready */                  \
    X(GROUPS_WAITING, "groups_waiting")   /* for the report of a member */                         \
    X(GROUPS_UNAVAILABLE, "groups_unavailable") /* what may have the data is not there */          \
    X(COPIES_MISSING, "copies_missing")                                                            \
    X(COPIES_LEARNING, "copies_learning") /* ... that are being made */                            \
    X(COPIES_DELAYED, "copies_delayed")   /* ... that will be made by servers that are there */    \
    X(RECORDS, "records")                 /* of the groups led */                                  \
    X(RECORDS_MISSING, "records_missing") /* still to be compared or copied */                     \
    X(BYTES_MISSING, "bytes_missing")     /* about as many bytes */                                \
    X(RECORDS_RATE, "records_rate")       /* a second, in the last seconds */                      \
    X(BYTES_RATE, "bytes_rate")                                                                    \
    X(LEARNS_IN, "learns_in")       /* nanoseconds until the next copy begins; or CARE_NEVER */    \
    X(LIVE_BYTES, "live_bytes")     /* of records that are needed, on this disk */                 \
    X(DISK_BYTES, "disk_bytes")     /* of the log */                                               \
    X(DISK_FULL, "disk_full")       /* 1: no value is taken */                                     \
    X(MEMORY_BYTES, "memory_bytes") /* of records that are kept in memory */                       \
    X(MEMORY_FULL, "memory_full")   /* 1: no value of these key spaces is taken */                 \
    X(KEYS_FULL, "keys_full")       /* 1: the memory for keys is; no new key is taken */           \
    X(DUTY, "duty") /* of this server, or of the one that the order is about: enum care_duty */    \
    X(FAILURES, "failures") /* of the disk, since the process began */                             \
    /* The present scrub, or the last one. */                                                      \
    X(SCRUB_RUNS, "scrub_runs")       /* 1: it has not ended */                                    \
    X(SCRUB_NUMBER, "scrub_number")   /* of the order; 0: the server began by itself */            \
    X(SCRUB_AGE, "scrub_age")         /* nanoseconds since one ended; or CARE_NEVER */             \
    X(SCRUB_GROUPS, "scrub_groups")   /* done */                                                   \
    X(SCRUB_RECORDS, "scrub_records") /* read, and whole */                                        \
    X(SCRUB_BYTES, "scrub_bytes")                                                                  \
    X(SCRUB_DAMAGED, "scrub_damaged")     /* records */                                            \
    X(SCRUB_OPEN, "scrub_open")           /* ... that are still damaged */                         \
    X(SCRUB_MENDED, "scrub_mended")       /* records that were fetched from other servers */       \
    X(SCRUB_LOST, "scrub_lost")           /* ... that no other server had */                       \
    X(SCRUB_DIFFERING, "scrub_differing") /* keys of which another server had another version */   \
    X(SCRUB_EVENED, "scrub_evened")       /* ... to which the right record was sent */             \
    X(SCRUB_SKIPPED, "scrub_skipped")     /* copies of groups that could not be compared */

enum care_count {
#define CARE_COUNT(id, name) CARE_##id,
    CARE_COUNT_LIST(CARE_COUNT)
#undef CARE_COUNT
        CARE_COUNTS,
};
extern const char *const care_count_names[CARE_COUNTS];

/* Why a group is not available. */
enum care_reason {
    CARE_WAITS, /* for the report of that member */
    CARE_AWAY,  /* that server is away, or has lost its disk, and may have what no other server has
                 */
    CARE_GONE,  /* no server that is there has the data */
};

struct care_trouble {
    uint32_t group;
    enum care_reason reason;
    uint32_t server; /* CARE_NONE: none is known */
};

/* Of one server. */
struct care_report {
    uint32_t server, epoch;
    enum care_state state;
    int32_t error; /* CARE_FAILED, CARE_REFUSED: a negative errno */
    uint64_t counts[CARE_COUNTS];
    uint32_t trouble_count; /* the first ones */
    struct care_trouble troubles[CARE_TROUBLES_MAX];
};

/* The last answer. */
struct care_end {
    int32_t error; /* negative errno: what was asked was refused; 0: it was not */
    uint32_t epoch, server_count, group_count, copies, least;
    bool decides; /* the servers that can be reached are enough for another view */
    /* Sets of servers. */
    uint8_t members[CARE_SERVERS_MAX / 8], reported[CARE_SERVERS_MAX / 8];
    uint8_t released[CARE_SERVERS_MAX / 8]; /* others are to keep their groups */
};

enum care_answer { CARE_NONSENSE, CARE_REPORT, CARE_END };

#define CARE_ANSWER_MAX 1792 /* bytes of any of these */

/* Return how many bytes they wrote; there is room for CARE_ANSWER_MAX. */
size_t care_request_write(const struct care_request *request, void *out);
size_t care_report_write(const struct care_report *report, void *out);
size_t care_end_write(const struct care_end *end, void *out);
/* False: nonsense. */
bool care_request_read(struct care_request *request, const void *bytes, size_t size);
/* Reads an answer of either kind, and says which it was. */
enum care_answer care_answer_read(struct care_report *report, struct care_end *end,
                                  const void *bytes, size_t size);

static inline bool care_has(const uint8_t *set, uint32_t server)
{
    return set[server / 8] >> server % 8 & 1;
}

static inline void care_add(uint8_t *set, uint32_t server)
{
    set[server / 8] |= (uint8_t)(1u << server % 8);
}
