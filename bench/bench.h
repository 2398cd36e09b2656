#pragma once
/* bench: what every benchmark shares: its words, its clock, its table.
 *
 * A comparison runs the two sides in turn and keeps the medians, because a
 * ratio survives a noisy machine and a time does not. */

#include <stdbool.h>
#include <stddef.h>

#define BENCH_ROW_MAX   64
#define BENCH_VALUE_MAX 10
#define BENCH_WHAT_SIZE 96

struct bench_value {
    const char *name; /* "weft", a peer, "floor" or "ratio"; borrowed */
    double value;
};

struct bench_row {
    char what[BENCH_WHAT_SIZE];
    const char *unit; /* borrowed */
    struct bench_value values[BENCH_VALUE_MAX];
    size_t value_count;
};

struct bench {
    bool quick; /* sizes for a glance, not for a claim */
    bool json;
    bool cpu; /* count processor time, not the clock on the wall: for one thread that computes */
    struct bench_row rows[BENCH_ROW_MAX];
    size_t row_count;
};

/* Something to time; it ends the program if it cannot be done. */
struct bench_side {
    const char *name;
    void (*run)(void *context);
    void *context;
};

/* A word of one program's own: --NAME, or, with a value, --NAME VALUE. */
struct bench_word {
    const char *name;   /* NULL ends a list */
    bool *given;        /* or ... */
    const char **value; /* ... of which one is NULL */
};

/* Reads [--quick] [--json]; anything else ends the program with its usage. */
void bench_start(struct bench *bench, int count, char **words);

/* The same with more words; NULL: there are none. */
void bench_start_with(struct bench *bench, int count, char **words, const struct bench_word *more);

double bench_seconds(const struct bench *bench);

/* Sorts the values; there is one at least. */
double bench_median(double *values, int count);

/* Runs each side once per round, in turn, and adds a row of their medians in
 * seconds; of two sides also the ratio, second to first. */
void bench_run(struct bench *bench, const char *what, const struct bench_side *sides, size_t count,
               int rounds);

void bench_add(struct bench *bench, const char *what, const char *unit,
               const struct bench_value *values, size_t count);

/* Prints the table, or the object {"rows": [...]}. Returns the exit code. */
int bench_finish(struct bench *bench);

/* Ends the program: a benchmark that cannot run has no result. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
