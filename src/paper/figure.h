#pragma once
/* figure: one entry of a paper, computed anew.
 *
 * A figure is a pure function that fills a result: tables of numbers, and
 * claims, each of which puts the paper's number beside ours. Whether the two
 * agree is computed from the numbers (verdict.c), never written by hand.
 * Files, plots, threads and the terminal are the caller's.
 *
 * A result owns everything in it. Running out of memory while filling it is
 * remembered in `failed` and reported once, by figure_run. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "paper/says.h"
#include "topology/measure/distance.h"

#define FIGURE_TABLE_MAX  4
#define FIGURE_COLUMN_MAX 16
#define FIGURE_SERIES_MAX 11
#define FIGURE_WORD_SIZE  48

/* The last two have no number of ours; the claim's reason says why. */
enum verdict {
    VERDICT_AGREES,
    VERDICT_DIFFERS,
    VERDICT_NOT_RUN, /* this run is too small for the claim: a larger one would decide it */
    VERDICT_MISSING, /* cannot be reproduced, by a larger run neither */
    VERDICT_COUNT,
};

struct figure_claim {
    const char *where; /* in the paper: "eq 3", "fig 1c", "section 6.2" */
    const char *what;
    struct says says;
    double found;         /* ours; NaN if there is none */
    double at;            /* x of the printed number in the plot; 0: it is not marked there */
    const char *reason;   /* shown unless it agrees: what a larger run needs, what is missing, or
                             what the figure found out about a difference. NULL: the numbers say
                             all. A cause that was not measured is no reason. */
    bool not_run;         /* this run is too small for it */
    enum verdict verdict; /* computed */
};

struct figure_column {
    const char *name; /* snake_case */
    const char *unit; /* "" for a plain number or a word */
};

/* A word if there is one, else a number; NaN is an empty cell. */
struct figure_cell {
    char word[FIGURE_WORD_SIZE];
    double number;
};

struct figure_table {
    struct figure_result *result; /* that it is part of; used while it is filled */
    const char *name;
    struct figure_column columns[FIGURE_COLUMN_MAX]; /* their texts are the result's */
    size_t column_count;
    struct figure_cell *cells; /* row_count times column_count */
    size_t row_count;
    size_t capacity; /* of cells */
};

struct figure_result {
    struct figure_table tables[FIGURE_TABLE_MAX];
    size_t table_count;
    struct figure_claim *claims;
    size_t claim_count;
    size_t claim_capacity;
    char **texts; /* made by figure_text */
    size_t text_count;
    size_t text_capacity;
    bool failed; /* memory ran out */
};

/* What the caller gives a figure. */
struct figure_call {
    bool quick;    /* the small sizes */
    uint64_t seed; /* of everything random */
    /* How many may work at once, where a figure has threads of its own; 0 is 1. The results are the
     * same for any number. */
    uint32_t threads;
    void *context;
    void (*progress)(void *context, uint64_t done, uint64_t total);
    /* All pairs of a topology; the caller may spread them over threads. */
    enum err (*distances)(void *context, struct distance_tally *tally,
                          const struct topology *topology, struct why *why);
};

enum figure_style {
    STYLE_BOTH, /* a line with a mark at each number */
    STYLE_LINE,
    STYLE_POINTS,
    STYLE_PAPER, /* what the paper prints: black, hollow marks */
};

/* A curve: a column of a table, of all rows or of those where column `key`
 * holds the word or number `value`. */
struct figure_series {
    const char *title; /* NULL ends a list */
    const char *y;
    const char *key, *value; /* NULL: all rows */
    enum figure_style style;
};

struct figure_axis {
    const char *column; /* that all curves run along; of x only */
    const char *label;
    double step; /* between the numbers at the axis; 0: gnuplot's choice; of x only */
    bool log;
};

struct figure_plot {
    const char *table; /* which one */
    struct figure_axis x, y;
    struct figure_series series[FIGURE_SERIES_MAX + 1]; /* the last has no title */
};

/* What is computed, and about how long that takes on one core. */
struct figure_size {
    const char *what;
    double seconds;
};

struct figure {
    const char *name;  /* "nova-eq3" */
    const char *paper; /* "NovaCube" */
    const char *what;  /* one line, no full stop */
    struct figure_size full, quick;
    bool measured;      /* by a clock, on this machine: no two runs are equal */
    const char *choice; /* what the paper leaves open, and how it is filled in; or NULL */
    const char *shown;  /* columns of the plot's table that are printed under the claims, because
                           the texts refer to them, as in "k, n, printed"; or NULL */
    struct figure_plot plot;
    enum err (*run)(struct figure_result *result, const struct figure_call *call, struct why *why);
};

extern const struct figure *const figures[]; /* in order of paper; ends with NULL */

/* Fills an empty result; on failure nothing is kept. */
MUST_CHECK enum err figure_run(const struct figure *figure, struct figure_result *result,
                               const struct figure_call *call, struct why *why);
void figure_result_fini(struct figure_result *result);

/* A table of the result, and the number of a column, by name. A name that does not exist is a bug
 * and asserts. */
const struct figure_table *figure_table_find(const struct figure_result *result, const char *name);
size_t figure_column_find(const struct figure_table *table, const char *name);

/* --- for the figures --- */

/* A new table. `heading` has its columns, as the first line of the CSV does: each with its unit in
 * parentheses if it has one, as in "servers, mean_path (hops)". */
struct figure_table *figure_table_add(struct figure_result *result, const char *name,
                                      const char *heading);

/* Appends a row of as many cells as the table has columns. */
void figure_row(struct figure_table *table, const struct figure_cell *cells);
/* The same of numbers only, and of a word or two followed by numbers. */
void figure_row_numbers(struct figure_table *table, const double *numbers);
void figure_row_named(struct figure_table *table, const char *word, const double *numbers);
void figure_row_words(struct figure_table *table, const char *word, const char *second,
                      const double *numbers);
struct figure_cell figure_number(double number);
struct figure_cell figure_word(const char *word);

/* A text that lives as long as the result; "" when memory has run out. */
__attribute__((format(printf, 2, 3))) const char *figure_text(struct figure_result *result,
                                                              const char *format, ...);

/* Appends a claim: a row of where in the paper, what, what the paper says, what we found, and the
 * reason or NULL (struct figure_claim). Computes the verdict. Texts must outlive the result:
 * constants, or made by figure_text. */
void figure_claim(struct figure_result *result, const char *where, const char *what,
                  struct says says, double found, const char *reason);

/* The same of a claim whose printed number is marked in the plot. */
void figure_claim_at(struct figure_result *result, const char *where, const char *what,
                     struct says says, double found, double at, const char *reason);

/* The same of a claim that not every run is large enough for. `needs` is NULL if this run is, or
 * says what a run that checks the claim takes; the verdict is then VERDICT_NOT_RUN, and `found` and
 * `reason` are not used. */
void figure_claim_needs(struct figure_result *result, const char *where, const char *what,
                        struct says says, const char *needs, double found, const char *reason);

/* Turns all claims so far into claims that this run is too small for. */
void figure_not_run(struct figure_result *result, const char *needs);

void figure_progress(const struct figure_call *call, uint64_t done, uint64_t total);

#define FIGURE_HOP_MAX 15

struct figure_distances {
    uint32_t nodes;
    uint32_t servers;
    uint32_t diameter;
    double mean; /* between distinct nodes */
    /* [h]: share of the pairs of distinct servers that are at most h hops
     * apart, cables between servers and switches included */
    double server_share[FIGURE_HOP_MAX + 1];
};

/* Measures all pairs of a topology. */
MUST_CHECK enum err figure_measure(const struct figure_call *call, const struct topology *topology,
                                   struct figure_distances *distances, struct why *why);

/* The same of one that is built from its words. */
MUST_CHECK enum err figure_measure_spec(const struct figure_call *call, const char *spec,
                                        struct figure_distances *distances, struct why *why);

/* The words of a cube of n axes of size k: "novacube:4x4x4". */
void figure_cube_spec(char spec[SPEC_SIZE], const char *kind, uint32_t k, uint32_t n);

/* Those of a random graph of switches; without the seed, and with it. */
void figure_jellyfish_words(char words[SPEC_SIZE], uint64_t servers, uint64_t switches,
                            uint32_t ports);
void figure_jellyfish_spec(char spec[SPEC_SIZE], uint64_t servers, uint64_t switches,
                           uint32_t ports, uint64_t seed);
