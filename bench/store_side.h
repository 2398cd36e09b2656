#pragma once
/* store_side: a store that bench/store measures. Its servers run until the end of the program, idle
 * while others are measured. */

#include <stdbool.h>
#include <stddef.h>

#include "bench.h"

enum {
    STORE_VALUE = 1024, /* bytes of a value */
    STORE_KEYS = 10000,
    STORE_KEY_ROOM = 32,
    STORE_AT_ONCE_MAX = 64,
};

enum store_job { STORE_PUTS, STORE_GETS };

/* What a run has measured: how long each request took. */
struct store_times {
    double seconds;    /* of the whole run */
    double *latencies; /* seconds */
    size_t count, room;
};

/* Requests of one run: that many at once, until so many seconds have passed. With `all`, each key
 * is written once instead. */
struct store_turn {
    enum store_job job;
    unsigned at_once;
    double seconds;
    bool all;
    struct store_times times;
    unsigned long state; /* of the random keys */
    unsigned next;       /* key, with `all` */
    double end;
};

struct store_side {
    const char *name;
    /* Starts its servers in that folder, with their data there, or only in memory. False: it is not
     * installed, or keeps nothing in memory. */
    bool (*begin)(const char *folder, bool in_memory);
    void (*run)(struct store_turn *run);
};

extern const struct store_side store_weft, store_etcd, store_redis;

/* ---- for the sides ---- */

void store_turn_begin(struct store_turn *run);
/* Writes the next key; false: the run sends no more. */
bool store_turn_next(struct store_turn *run, char key[STORE_KEY_ROOM]);
void store_turn_note(struct store_turn *run, double latency);
void store_turn_end(struct store_turn *run);
/* The value that every key has. */
const char *store_value(void);
double store_now(void);

/* Starts a program in that folder, with its output in a file there. It ends with this one. */
void store_spawn(const char *folder, const char *const *words);
bool store_is_installed(const char *program);
unsigned store_free_port(void);

/* A get of a key that is kept by the server of the program: the median in seconds. */
double store_weft_local(int count);

/* ---- peers: one request at a time on each connection ---- */

struct store_connection {
    int fd;
    unsigned char in[16384];
    size_t filled;
    double sent_at;
    unsigned stream;         /* etcd */
    bool has_data, accepted; /* etcd */
};

struct store_protocol {
    /* Sends a request. */
    void (*ask)(struct store_connection *connection, enum store_job job, const char *key);
    /* Looks at the bytes that have arrived, and takes them: 1: the answer is complete; 0: there is
     * more to come; -1: the request was refused. */
    int (*hear)(struct store_connection *connection, enum store_job job);
};

void store_send(struct store_connection *connection, const void *bytes, size_t size);
/* Removes bytes at the beginning of what has arrived. */
void store_drop(struct store_connection *connection, size_t size);
/* Reads what has arrived, at least one byte. False: the connection has ended. */
bool store_read(struct store_connection *connection);
void store_peer_run(const struct store_protocol *protocol, struct store_connection *connections,
                    struct store_turn *run);
