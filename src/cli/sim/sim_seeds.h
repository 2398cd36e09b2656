#pragma once
/* sim_seeds: the same run under several seeds, on several threads: a row of figures for each, and
 * how far the rows differ. Rows depend on their seeds alone, not on who ran them, or beside
 * whom. */

#include "cli/core/result.h"
#include "sim/world/run.h"

#define SIM_SEEDS_MAX     1000000
#define SIM_SEEDS_FIGURES 13

struct sim_row {
    double figures[SIM_SEEDS_FIGURES]; /* as sim_seeds.c lists them */
    uint64_t hash;
};

struct sim_spread {
    double least, median, most; /* between two in the middle the median is half-way */
};

struct sim_seeds {
    struct run_settings settings; /* of all; its seed is the first */
    uint64_t count;
    struct sim_row *rows; /* owned: one a seed, in their order; written by whoever ran it */
    struct sim_spread spreads[SIM_SEEDS_FIGURES];
};

/* Runs them all; refused if one of them is, or if there is no memory. */
MUST_CHECK enum err sim_seeds_run(struct sim_seeds *seeds, uint32_t threads, struct why *why);
void sim_seeds_fini(struct sim_seeds *seeds);

/* Of all rows, in their order. */
uint64_t sim_seeds_hash(const struct sim_seeds *seeds);
/* The keys `runs` and `spread` of a result, which SIM_SEEDS_PAGE shows: a line a row, then least,
 * median and most of each column. */
void sim_seeds_put(const struct sim_seeds *seeds, struct result *result);

#define SIM_SEEDS_PAGE                                                                             \
    "  {titles}  event hash\n"                                                                     \
    "{#runs}  {cells}  {hash}\n{/}"                                                                \
    "{#spread_rows}  {.}\n{/}"
