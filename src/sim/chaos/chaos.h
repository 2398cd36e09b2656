#pragma once
/* chaos: one run of a cluster through a storm of faults and the calm behind it, with everything
 * checked. A run is a function of the plan and the settings; its hash is equal in every build, on
 * every machine and beside any other threads.
 *
 *   storm    the faults of the seed (fault.h), under load (chaos_load.h)
 *   calm     all is healed; everybody must be back within CHAOS_CALM
 *   steady   the load goes on and nothing is dropped; one port is pressed and must be shared
 *   quiet    nobody sends any more and everything arrives
 *   over     all servers stop, and nothing is left
 *
 * A run whose checkers found something ends there. */

#include "sim/chaos/fault.h"
#include "sim/checkers/checker.h"

#define CHAOS_CALM (3 * PSEC_PER_SECOND)

struct chaos_settings {
    const struct plan *plan; /* borrowed */
    uint64_t seed;
    uint32_t kinds;  /* of faults: FAULT_ALL */
    uint32_t plants; /* enum node_fault: bugs that the checkers are to find; 0 but in tests */
};

/* What a caller brings: services to run beside the load, and checkers of what they promise. The
 * lists end with NULL; a NULL list is empty. A service is loaded by the request that the load gets,
 * a struct chaos_load_order (chaos_load.h), at the start, after each return, and with 0 before all
 * is quiet: who sends then leaks. */
struct chaos_guests {
    const struct weft_service *const *services; /* at most CHAOS_GUESTS_MAX; none of weft's own */
    const struct checker_ops *const *checkers;  /* in all at most CHECKER_MAX */
};

#define CHAOS_GUESTS_MAX 8

struct chaos_result {
    const char *checker; /* who found something; NULL: all is well */
    char text[CHECKER_TEXT_SIZE];
    psec failed_at;
    uint64_t hash;
    uint32_t kinds; /* that the seed used */
    size_t faults;  /* beginnings of them */
    psec back;      /* how long after the storm all were back */
    psec simulated;
    uint64_t sent, delivered, taken, lost, copied;
    uint64_t dropped[DROP_COUNT];
    uint64_t events, hops;
};

/* Fails only if it could not run at all: what checkers found is in the result. Refuses a plan that
 * is in several pieces; a server alone has the faults of servers only. */
MUST_CHECK enum err chaos_run(const struct chaos_settings *settings, struct chaos_result *result,
                              struct why *why);

/* The same with guests. A guest's checker is told what the others are, and changes nothing of the
 * run; its finding ends it as theirs do. */
MUST_CHECK enum err chaos_run_with(const struct chaos_settings *settings,
                                   const struct chaos_guests *guests, struct chaos_result *result,
                                   struct why *why);

/* The command that runs the seed again with just the kinds of faults that it used; `word` is the
 * plan's SPEC or FILE. The storm of a run with guests is the same; they are for the caller to
 * bring again. */
void chaos_replay_write(const char *word, const struct chaos_settings *settings,
                        const struct chaos_result *result, struct text *out);

#ifdef WEFT_PLANTED_BUGS
/* The planted bugs by name. */
struct chaos_plant {
    const char *name;
    uint32_t fault;      /* enum node_fault */
    const char *checker; /* who must find it */
    const char *text;
};

#define CHAOS_PLANT_COUNT 5
extern const struct chaos_plant chaos_plants[CHAOS_PLANT_COUNT];
#endif
