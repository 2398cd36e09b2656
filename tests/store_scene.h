#pragma once
/* store_scene: servers with the store in a simulated world, and a program at each of them. A test
 * says what the programs ask, and what happens to the servers. There is one scene at a time. */

#include "node/configuration/configuration.h"
#include "sim/world/simulation.h"
#include "wire/store.h"

#define SCENE_SERVERS     9 /* "torus:3x3" */
#define SCENE_MILLI       (PSEC_PER_SECOND / 1000)
#define SCENE_NSEC        INT64_C(1000000) /* of a millisecond */
#define SCENE_ANSWERS_MAX 256

struct scene_state {
    struct world *world;
    struct weft_simulation *simulation;
    uint32_t programs[SCENE_SERVERS];
    uint64_t tickets; /* of requests, from 1 */
    struct {
        unsigned count;
        bool is_answer; /* the last one is that to a request: */
        struct store_answer said;
    } answers[SCENE_ANSWERS_MAX]; /* by ticket */
    /* Programs do not read: who had no room for an answer. */
    bool blocked;
    weft_server full_server;
    struct env_answer full;
};

extern struct scene_state scene;

/* All servers have started, and each group has `copies`. Words of the store's configuration end
 * with NULL. */
void scene_open(uint64_t seed, const char *const *words, uint64_t groups, uint64_t copies);
void scene_close(void);
void scene_run(int64_t milliseconds);
/* A counter of the store. 0 of a server that is down. */
uint64_t scene_stat(weft_server server, const char *counter);
/* Until the counters of all servers that run, and are not paused, have that sum. */
void scene_wait(const char *counter, uint64_t sum);
void scene_crash(weft_server server);
void scene_start(weft_server server);
/* The programs read again. */
void scene_unblock(void);
/* Bytes of the program at that server to the store. Returns the ticket. */
uint64_t scene_send(weft_server to, const void *bytes, size_t size);
/* A request, with a key that ends with a zero; it is patient. Returns the ticket. */
uint64_t scene_ask(weft_server to, const struct store_request *request);
/* Waits until it is there. */
struct store_answer scene_answer(uint64_t ticket);
