#pragma once
/* chaos: one run of a cluster through a storm of faults and the calm after it, with all checks. A
 * run is a function of the plan and the settings; its hash is the same in every build, on every
 * machine and beside any other threads.
 *
 *   storm    the faults of the seed (fault.h), under load (chaos_load.h)
 *   calm     all faults are healed; all servers must be back within CHAOS_CALM
 *   steady   the load goes on and nothing is dropped; one port is saturated and must be shared
 *   quiet    the load has stopped and everything arrives
 *   over     all servers stop, and no packet is left
 *
 * A run ends when a checker finds an error. */

#include "sim/chaos/fault.h"
#include "sim/checkers/checker.h"
#include "sim/world/simulation.h"

#define CHAOS_CALM (3 * PSEC_PER_SECOND)

struct chaos_settings {
    const struct plan *plan; /* borrowed */
    uint64_t seed;
    uint32_t kinds;  /* of faults: FAULT_ALL */
    uint64_t plants; /* of PLANTED_BIT: bugs that the checkers must find; 0 except in tests */
};

/* A caller's additions: services to run beside the load, and checkers of what they promise. The
 * lists end with NULL; a NULL list is empty. Unless they are apart, each service gets the same
 * request as the load, a struct chaos_load_order (chaos_load.h): at the start, after each restart,
 * and with interval 0 before the quiet phase. A service that still sends in the quiet phase leaks
 * packets. */
struct chaos_guests {
    const struct weft_service *const *services; /* at most CHAOS_GUESTS_MAX; not weft's own */
    const struct checker_ops *const *checkers;  /* CHECKER_MAX in all, with the built-in ones */
    /* The services are those of plug-ins: they get no orders, may send and drop packets at any
     * time, and `checker` plays their programs. */
    bool apart;
    const struct configuration *configuration; /* of the services; NULL: the defaults */
    const struct weft_checker *checker;        /* from outside (weft/simulation.h); or NULL */
    struct simulation_record *record;          /* of the run; or NULL */
};

#define CHAOS_GUESTS_MAX 8

struct chaos_result {
    const char *checker; /* the checker that found an error; NULL: none */
    char text[CHECKER_TEXT_SIZE];
    psec failed_at;
    uint64_t hash;
    uint32_t kinds; /* that the seed used */
    size_t faults;  /* how many faults began */
    psec back;      /* how long after the storm all servers were back */
    psec simulated;
    uint64_t sent, delivered, taken, lost, copied;
    uint64_t dropped[DROP_COUNT];
    uint64_t events, hops;
};

/* Fails only if it could not run at all: errors that checkers found are in the result. Refuses a
 * plan that is not connected; a lone server has only the faults of servers. */
MUST_CHECK enum err chaos_run(const struct chaos_settings *settings, struct chaos_result *result,
                              struct why *why);

/* The same with guests. A guest's checker is called like the others and does not change the run; an
 * error that it finds ends the run, too. */
MUST_CHECK enum err chaos_run_with(const struct chaos_settings *settings,
                                   const struct chaos_guests *guests, struct chaos_result *result,
                                   struct why *why);

/* Writes the command that runs the seed again with only the kinds of faults that it used; `word` is
 * the plan's SPEC or FILE. The storm of a run with guests is the same; the caller has to add the
 * guests again. */
void chaos_replay_write(const char *word, const struct chaos_settings *settings,
                        const struct chaos_result *result, struct text *out);

#ifdef WEFT_PLANTED_BUGS
/* The planted bugs (node/planted.h) by name. */
struct chaos_plant {
    const char *name;
    uint64_t fault;      /* PLANTED_BIT */
    const char *checker; /* see planted.h */
    const char *text;
};

#define CHAOS_PLANT_COUNT PLANTED_COUNT
extern const struct chaos_plant chaos_plants[CHAOS_PLANT_COUNT];
#endif
