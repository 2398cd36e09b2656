#pragma once
/* sim_seeds: the same run with several seeds, on several threads: a row of figures for each seed,
 * and how much the rows differ. A row depends on its seed only, not on the threads. */

#include "cli/core/result.h"
#include "sim/world/run.h"

#define SIM_SEEDS_MAX     1000000
#define SIM_SEEDS_FIGURES 13

struct sim_row {
    double figures[SIM_SEEDS_FIGURES]; /* in the order of the table in sim_seeds.c */
    uint64_t hash;
};

struct sim_spread {
    double least, median, most; /* with an even count, the median is the mean of the middle two */
};

struct sim_seeds {
    struct run_settings settings; /* of all runs; its seed is the first */
    uint64_t count;
    struct sim_row *rows; /* owned; one for each seed, written by the thread that ran it */
    struct sim_spread spreads[SIM_SEEDS_FIGURES];
};

/* Runs all seeds. Fails if a run fails, or if memory runs out. */
MUST_CHECK enum err sim_seeds_run(struct sim_seeds *seeds, uint32_t threads, struct why *why);
void sim_seeds_fini(struct sim_seeds *seeds);

/* Returns the hash of all rows, in their order. */
uint64_t sim_seeds_hash(const struct sim_seeds *seeds);
/* Adds the keys `runs` and `spread` to a result. SIM_SEEDS_PAGE shows them: a line for each row,
 * then the least, the median and the most of each column. */
void sim_seeds_put(const struct sim_seeds *seeds, struct result *result);

#define SIM_SEEDS_PAGE                                                                             \
    "  {titles}  event hash\n"                                                                     \
    "{#runs}  {cells}  {hash}\n{/}"                                                                \
    "{#spread_rows}  {.}\n{/}"
