#pragma once
/* figure: one figure, equation or claim of a paper, computed again by weft.
 *
 * A figure is a pure function that fills a result with tables of numbers and
 * with claims. A claim holds the paper's number and ours; whether they agree is
 * computed from the numbers (verdict.c), never written by hand. The caller is
 * responsible for files, plots, threads and the terminal.
 *
 * A result owns everything in it. If memory runs out while it is filled, `failed`
 * is set, and figure_run reports it once. */

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
    VERDICT_MISSING, /* cannot be reproduced, not even by a larger run */
    VERDICT_COUNT,
};

struct figure_claim {
    const char *where; /* place in the paper: "eq 3", "fig 1c", "section 6.2" */
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

/* Holds `word` unless that is empty, else `number`; NaN is an empty cell. */
struct figure_cell {
    char word[FIGURE_WORD_SIZE];
    double number;
};

struct figure_table {
    struct figure_result *result; /* the result that has this table; used while filling it */
    const char *name;
    struct figure_column columns[FIGURE_COLUMN_MAX]; /* the result owns their texts */
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

/* How a figure is to be run. */
struct figure_call {
    bool quick;    /* use the small sizes */
    uint64_t seed; /* of everything random */
    /* How many threads a figure with threads of its own may use; 0 counts as 1. The results are
     * the same for any number. */
    uint32_t threads;
    void *context;
    void (*progress)(void *context, uint64_t done, uint64_t total);
    /* Measures the distances of all pairs of a topology; may use several threads. */
    enum err (*distances)(void *context, struct distance_tally *tally,
                          const struct topology *topology, struct why *why);
};

enum figure_style {
    STYLE_BOTH, /* a line with a mark at each number */
    STYLE_LINE,
    STYLE_POINTS,
    STYLE_PAPER, /* numbers printed in the paper: black, hollow marks */
};

/* A curve: one column of a table, for all rows or for those in which column
 * `key` holds the word or number `value`. */
struct figure_series {
    const char *title; /* NULL ends a list */
    const char *y;
    const char *key, *value; /* NULL: all rows */
    enum figure_style style;
};

struct figure_axis {
    const char *column; /* x only: the column of the x values of all curves */
    const char *label;
    double step; /* x only: distance of the tic labels; 0: gnuplot chooses it */
    bool log;
};

struct figure_plot {
    const char *table; /* name of the table with the curves */
    struct figure_axis x, y;
    struct figure_series series[FIGURE_SERIES_MAX + 1]; /* ends with one without a title */
};

/* What a run computes, and about how long that takes on one core. */
struct figure_size {
    const char *what;
    double seconds;
};

struct figure {
    const char *name;  /* "nova-eq3" */
    const char *paper; /* "NovaCube" */
    const char *what;  /* one line, no full stop */
    struct figure_size full, quick;
    bool measured;      /* by a clock, on this machine, so that no two runs are equal */
    const char *choice; /* notes: terms, and choices where the paper leaves one; or NULL */
    const char *shown;  /* columns of the plot's table that are printed under the claims, because
                           the texts refer to them, as in "k, n, printed"; or NULL */
    struct figure_plot plot;
    enum err (*run)(struct figure_result *result, const struct figure_call *call, struct why *why);
};

extern const struct figure *const figures[]; /* in order of paper; ends with NULL */

/* Runs the figure and fills the result. On failure the result is empty. */
MUST_CHECK enum err figure_run(const struct figure *figure, struct figure_result *result,
                               const struct figure_call *call, struct why *why);
void figure_result_fini(struct figure_result *result);

/* A table of the result, and the number of a column, by name. A name that does not exist is a bug
 * and asserts. */
const struct figure_table *figure_table_find(const struct figure_result *result, const char *name);
size_t figure_column_find(const struct figure_table *table, const char *name);

/* --- for the figures --- */

/* Adds a table. `heading` names its columns, each with its unit in parentheses if it has one, as in
 * "servers, mean_path (hops)". */
struct figure_table *figure_table_add(struct figure_result *result, const char *name,
                                      const char *heading);

/* Appends a row; `cells` has one cell for each column. */
void figure_row(struct figure_table *table, const struct figure_cell *cells);
/* Append a row of numbers only, or of one or two words followed by numbers. */
void figure_row_numbers(struct figure_table *table, const double *numbers);
void figure_row_named(struct figure_table *table, const char *word, const double *numbers);
void figure_row_words(struct figure_table *table, const char *word, const char *second,
                      const double *numbers);
struct figure_cell figure_number(double number);
struct figure_cell figure_word(const char *word);

/* Makes a text that is valid as long as the result; "" when memory has run out. */
__attribute__((format(printf, 2, 3))) const char *figure_text(struct figure_result *result,
                                                              const char *format, ...);

/* Appends a claim and computes its verdict. The arguments are the fields of struct figure_claim.
 * The texts must outlive the result: they are constants or made by figure_text. */
void figure_claim(struct figure_result *result, const char *where, const char *what,
                  struct says says, double found, const char *reason);

/* The same, and marks the printed number in the plot. */
void figure_claim_at(struct figure_result *result, const char *where, const char *what,
                     struct says says, double found, double at, const char *reason);

/* The same for a claim that a small run cannot check. `needs` is NULL if this run can check it.
 * Otherwise it says what a larger run needs; the verdict is then VERDICT_NOT_RUN, and `found` and
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

/* Measures the distances of all pairs of nodes. */
MUST_CHECK enum err figure_measure(const struct figure_call *call, const struct topology *topology,
                                   struct figure_distances *distances, struct why *why);

/* The same of the topology that a specification builds. */
MUST_CHECK enum err figure_measure_spec(const struct figure_call *call, const char *spec,
                                        struct figure_distances *distances, struct why *why);

/* Writes the specification of a cube of n axes of size k: "novacube:4x4x4". */
void figure_cube_spec(char spec[SPEC_SIZE], const char *kind, uint32_t k, uint32_t n);

/* Write the specification of a random graph of switches, without and with the seed. */
void figure_jellyfish_words(char words[SPEC_SIZE], uint64_t servers, uint64_t switches,
                            uint32_t ports);
void figure_jellyfish_spec(char spec[SPEC_SIZE], uint64_t servers, uint64_t switches,
                           uint32_t ports, uint64_t seed);
