#pragma once
/* sim_seeds: the same run with several seeds, on several threads: a row of figures for each seed,
 * and how much the rows differ. A row depends on its seed only, not on the threads.
 *
 * Seeds with plug-ins run in processes of their own (sim_crew.h) instead of threads. A seed whose
 * process crashes, ends or takes too long is lost: it has a reason in place of a row. */

#include "cli/core/result.h"
#include "sim/world/run.h"

#define SIM_SEEDS_MAX     1000000
#define SIM_SEEDS_FIGURES 13
#define SIM_LOSS_SIZE     160

struct sim_row {
    double figures[SIM_SEEDS_FIGURES]; /* in the order of the table in sim_seeds.c */
    uint64_t hash;
};

struct sim_spread {
    double least, median, most; /* with an even count, the median is the mean of the middle two */
};

struct sim_seed_loss {
    char text[SIM_LOSS_SIZE]; /* empty: the seed is not lost */
    psec at;
};

struct sim_seeds {
    struct run_settings settings; /* of all runs; its seed is the first */
    uint64_t count;
    uint64_t limit_seconds; /* that a seed may take; 0: no plug-ins, and no limit */
    uint64_t lost;          /* seeds */
    /* Owned; one for each seed, written by the thread or process that ran it. */
    struct sim_row *rows;
    struct sim_seed_loss *losses; /* owned; one for each seed; NULL without plug-ins */
    struct sim_spread spreads[SIM_SEEDS_FIGURES];
};

/* Runs all seeds. Fails if a run fails, or if memory runs out; a lost seed is no failure. */
MUST_CHECK enum err sim_seeds_run(struct sim_seeds *seeds, uint32_t threads, struct why *why);
void sim_seeds_fini(struct sim_seeds *seeds);

/* Returns the hash of all rows, in their order. */
uint64_t sim_seeds_hash(const struct sim_seeds *seeds);
/* Adds the keys `runs` and `spread` to a result, and `failures` if seeds are lost. SIM_SEEDS_PAGE
 * shows them: a line for each row, then the least, the median and the most of each column, then
 * the seeds that are lost. */
void sim_seeds_put(const struct sim_seeds *seeds, struct result *result);

#define SIM_SEEDS_PAGE                                                                             \
    "{?titles}  {titles}  event hash\n{/}"                                                         \
    "{#runs}  {cells}  {hash}\n{/}"                                                                \
    "{?spread_rows}{#spread_rows}  {.}\n{/}{/}"                                                    \
    "{?failures}{#failures}{?shown}  seed {seed}: FAILED at {at_ms%.3f} ms: {text}\n{/}{/}{/}"     \
    "{?failures_more}  and {failures_more} more\n{/}"
