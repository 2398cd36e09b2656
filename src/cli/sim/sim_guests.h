#pragma once
/* sim_guests: what the user of a simulation brings: services by name or from shared objects, values
 * of their parameters, and a checker from a shared object (weft/simulation.h). */

#include <weft/simulation.h>

#include "cli/core/call.h"
#include "node/configuration/configuration.h"
#include "os/plugin.h"
#include "sim/world/simulation.h"

#define SIM_GUESTS_MAX 8

/* The options, beside SERVICE_VALUE_OPTIONS. */
/* clang-format off */
#define SIM_CHECKER_OPTIONS                                                                        \
    {"checker", "FILE", "a shared object that plays the programs of the cluster, and checks"},     \
    {"history", NULL, "print what the checker recorded, and all faults (one seed only)"},          \
    {"limit", "S", "real seconds that a seed may take, if there is a plug-in (default 60)"}
/* clang-format on */

struct sim_guests {
    struct plugins plugins;
    const struct weft_service *services[SIM_GUESTS_MAX + 1]; /* ends with NULL */
    unsigned count;
    struct configuration values;
    void *handle; /* of the checker's object */
    const struct weft_checker *checker;
    bool history;
    uint64_t limit_seconds;
};

/* Reads --service, which may be repeated, --set, --config, --checker, --history and --limit. The
 * caller calls sim_guests_fini, also after a failure. */
MUST_CHECK enum err sim_guests_read(struct sim_guests *guests, const struct call *call,
                                    struct why *why);
void sim_guests_fini(struct sim_guests *guests);

/* Does code of a plug-in run? Then it may crash, or never return. */
bool sim_guests_are_foreign(const struct sim_guests *guests);

/* Adds the keys `history` and `history_left_out` to a result; SIM_HISTORY_PAGE shows them. */
void sim_guests_history_put(const struct simulation_record *record, struct result *result);

#define SIM_HISTORY_PAGE                                                                           \
    "{?history}{#history}{.}\n{/}{/}{?history_left_out}{history_left_out} more lines\n{/}"

/* Writes a word so that a shell reads it as one word. */
void sim_guests_quote(struct text *out, const char *word);
/* Writes the options that name the guests, each after a blank, as they were given. */
void sim_guests_options_write(const struct call *call, struct text *out);
