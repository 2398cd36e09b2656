#pragma once
/* state: what the model of replicas remembers: servers, views, messages that were sent, and how far
 * the client is. Rosters and messages are numbers in it, so that it is small. */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "services/store/replica/replica.h"

#define SERVERS_MAX  3
#define KEYS         2
#define MESSAGES_MAX 120
#define VIEWS_MAX    12 /* up to 7, and 5 that end the faults */
#define NONE         UINT8_MAX

struct bounds {
    unsigned views;   /* after the first one, which has all servers */
    unsigned copies;  /* the group's first servers, of those in the view */
    unsigned keys;    /* that are put */
    unsigned removes; /* 1: and removed */
    unsigned writes;  /* in all, also those that are tried again */
    unsigned restarts, losses;
    unsigned forgets; /* 1: what a server has is in memory, and ends with its process */
    unsigned reads;
    unsigned purges;     /* 1: servers forget tombstones */
    unsigned repeats;    /* 1: messages that had their effect come again */
    unsigned any;        /* 1: any server leads, learns and retires; 0: as the keyspace says */
    unsigned loses;      /* 1: messages are lost if there are too many */
    const char *changes; /* those of views, in order; NULL: any */
    unsigned calm;       /* the view in which faults end; 0: they do not */
};
extern struct bounds bounds;

/* The newest record of a key on a server. */
struct entry {
    store_version version; /* 0: none */
    uint64_t present;      /* 0: a tombstone */
};

/* A message that was sent. */
struct wire {
    uint32_t to;
    uint32_t key; /* WRITE */
    struct replica_message message;
    struct entry entries[KEYS]; /* SHOW, COPY; WRITE: the first */
};

struct server {
    struct replica replica; /* its epoch is 0 in a process that has not installed a view yet */
    struct entry entries[KEYS];
    uint8_t installed; /* the last view, durable */
    uint8_t disk, run;
    uint8_t judged;   /* the view in which it has decided as coordinator */
    uint8_t believes; /* it has leases of these servers */
    uint8_t zero[3];
};

enum stage { ABSENT, PUT_BEGUN, PRESENT, REMOVE_BEGUN, REMOVED };

struct read {
    uint8_t server; /* NONE: no read is under way */
    uint8_t key;
    uint8_t epoch;
    uint8_t first; /* the stage of the key when it began */
    uint8_t value;
    uint8_t zero[3];
};

struct state {
    struct server servers[SERVERS_MAX];
    uint16_t messages[MESSAGES_MAX]; /* sorted */
    struct read read;
    uint16_t views[VIEWS_MAX + 1]; /* the roster of each epoch, from 1 on */
    uint8_t epoch;                 /* the newest */
    uint8_t active;                /* the newest in which the group was active */
    uint8_t stages[KEYS];
    uint8_t writes, restarts, losses, reads; /* that are still to come */
    uint8_t message_count;
    uint8_t led;       /* the newest view in which the group had a leader */
    uint8_t forgotten; /* what it was when memory was lost last; 0: none was */
    uint8_t zero[3];
};

static_assert(sizeof(struct state) == SERVERS_MAX * sizeof(struct server) + 2 * MESSAGES_MAX +
                                          sizeof(struct read) + 2 * (VIEWS_MAX + 1) + KEYS + 12,
              "no gaps");

/* Forgets all states, rosters and messages, and takes other bounds. */
void state_begin(struct bounds given);
void state_end(void);
/* View 1: all servers are members, and the first are the group's founders. */
struct state state_start(void);

const struct roster *state_view(const struct state *state, unsigned epoch);
/* Adds a view: this server leaves, or joins. */
void state_follow(struct state *state, unsigned server);
/* Is that process of the server a member of that view? */
bool state_has_member(const struct state *state, unsigned server, unsigned epoch);
/* Is the server to have a copy? */
bool state_targets(const struct roster *roster, unsigned server);

void state_send(struct state *state, const struct wire *wire);
const struct wire *state_wire(uint16_t number);
unsigned state_wire_count(void);
/* Removes messages that their receivers will not accept any more, so that states that differ only
 * in them are the same. */
void state_forget(struct state *state);
