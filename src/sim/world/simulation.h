#pragma once
/* simulation: what a checker (weft/simulation.h) sees of a world. The driver of the world, `run` or
 * `chaos`, tells it what happens; the simulation keeps the checker's clients, its timers, and the
 * answers that were not passed on yet.
 *
 * The checker is called only between two events of the world. An answer arises inside an event: it
 * is queued, and interrupts the world, so that the checker gets it at the moment when it arises.
 *
 * Owns its clients, timers and answers; borrows the world, the checker and the record. */

#include <stdatomic.h>
#include <weft/simulation.h>

#include "sim/world/world.h"

#define SIMULATION_TEXT_SIZE    240
#define SIMULATION_HISTORY_SIZE (1u << 20)
/* Numbers of clients in the world begin here: smaller ones are free for the driver. */
#define SIMULATION_CLIENT_FIRST 1024

enum simulation_place {
    SIMULATION_OUTSIDE,
    SIMULATION_START,
    SIMULATION_ANSWER,
    SIMULATION_TIMER,
    SIMULATION_DOWN,
    SIMULATION_UP,
    SIMULATION_FAULT,
    SIMULATION_PHASE,
    SIMULATION_FINISH,
};

extern const char *const simulation_places[]; /* names of the functions of a checker */

/* Data that outlives the run; if it is in shared memory, also the process that runs it. */
struct simulation_record {
    /* Which function of the checker runs. Only the process that runs the simulation writes it; the
     * process that watches it reads it, relaxed, to name what crashed or does not return. */
    _Atomic uint32_t place;
    _Atomic psec reached; /* how far the world came (world.h); also without a checker */
    /* Written by the same process, and read after it has ended. */
    uint32_t size;      /* bytes of the history */
    uint32_t lines_out; /* lines that did not fit */
    char history[SIMULATION_HISTORY_SIZE];
};

struct simulation_settings {
    const struct weft_checker *checker;
    struct world *world;
    const struct weft_service *const *services; /* of the world; ends with NULL */
    uint64_t seed;
    enum weft_sim_phase phase;        /* in which the run begins */
    struct simulation_record *record; /* or NULL */
};

MUST_CHECK enum err simulation_open(struct weft_simulation **simulation,
                                    const struct simulation_settings *settings, struct why *why);
/* NULL is allowed. */
void simulation_close(struct weft_simulation *simulation);

/* Calls start(). */
MUST_CHECK enum err simulation_start(struct weft_simulation *simulation, struct why *why);
/* Calls finish(), and disconnects all clients. After that the checker is not called any more. */
void simulation_finish(struct weft_simulation *simulation);

/* Runs the world until then, with the checker; it returns earlier if the checker has failed. */
void simulation_run(struct weft_simulation *simulation, psec until);

/* The driver passes on an answer of the world to a client from SIMULATION_CLIENT_FIRST on; returns
 * what weft_answer returns. */
int simulation_answer(struct weft_simulation *simulation, const struct env_answer *to,
                      const void *bytes, uint32_t size);
void simulation_down(struct weft_simulation *simulation, node_id server);
void simulation_up(struct weft_simulation *simulation, node_id server, bool empty);
/* `name` is for the history. */
void simulation_fault(struct weft_simulation *simulation, const struct weft_fault *fault,
                      const char *name);
void simulation_phase(struct weft_simulation *simulation, enum weft_sim_phase phase);

struct simulation_failure {
    char text[SIMULATION_TEXT_SIZE];
    psec at;
};

/* NULL: nothing is wrong so far. */
const struct simulation_failure *simulation_failed(const struct weft_simulation *simulation);
/* -ENOMEM: memory ran out, and the run cannot go on; otherwise 0. */
int simulation_error(const struct weft_simulation *simulation);
