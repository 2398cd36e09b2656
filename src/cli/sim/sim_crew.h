#pragma once
/* sim_crew: runs seeds in processes of their own, because code of plug-ins may crash or never
 * return. A process runs one seed after the other. If it ends in the middle of a seed, or takes
 * longer than the limit, this seed is lost, its loss is reported, and another process goes on with
 * the next seed. What a seed finds is a function of the seed, so it does not depend on the number
 * of processes.
 *
 * The processes write their results to memory of sim_crew_memory. */

#include "sim/world/simulation.h"

#define SIM_CREW_MAX 64 /* processes */

/* How a seed was lost. */
struct sim_crew_loss {
    uint32_t index;
    bool late;                   /* it took longer than the limit */
    int signal;                  /* that ended the process; 0: none */
    int exit_code;               /* with which it ended, if there was no signal */
    enum simulation_place place; /* in which function of the checker */
    psec reached;                /* simulated time of the last event that began */
};

struct sim_crew_job {
    const char *title; /* of the progress bar; NULL for none */
    uint32_t total;    /* number of seeds */
    uint32_t workers;  /* processes at once */
    uint64_t limit_seconds;
    /* In a process of its own: runs that seed. A failure ends the whole run. */
    enum err (*work)(void *context, uint32_t index, struct simulation_record *record,
                     struct why *why);
    /* In this process. */
    void (*lost)(void *context, const struct sim_crew_loss *loss);
    /* In this process, about ten times a second: shows the progress in place of `title`; or NULL.
     */
    void (*looked)(void *context);
    void *context;
    /* Memory of sim_crew_memory for the history if there is one worker; or NULL. */
    struct simulation_record *record;
};

MUST_CHECK enum err sim_crew_run(const struct sim_crew_job *job, struct why *why);

/* Memory that is shared with the processes that sim_crew_run starts later; zeroed. NULL: none. */
void *sim_crew_memory(size_t size);
void sim_crew_memory_end(void *memory, size_t size); /* NULL is allowed */

/* Writes why a seed was lost; `checker` may be NULL. */
void sim_crew_loss_write(const struct sim_crew_loss *loss, const struct weft_checker *checker,
                         uint64_t limit_seconds, char *out, size_t size);
