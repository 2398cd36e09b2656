#pragma once
/* bench: what every benchmark shares: its arguments, its clock, its table.
 *
 * A comparison runs its sides in turn and keeps the medians, because a ratio is reliable on a noisy
 * machine and a time is not. */

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/text.h"

#define BENCH_VALUE_MAX  10
#define BENCH_WHAT_SIZE  96
#define BENCH_WHAT_WIDTH 56 /* columns for what a row measures; a longer text moves its values */

struct bench_value {
    const char *name; /* "weft", a peer, "floor" or "ratio"; borrowed */
    double value;
};

struct bench {
    bool quick; /* small sizes for a quick look, not for published numbers */
    bool json;
    bool cpu; /* measure processor time instead of wall-clock time: for one thread that computes */
    bool shows;          /* standard error is a terminal: progress is shown there */
    bool shown;          /* a line of progress is there now */
    struct text out;     /* everything printed so far */
    size_t printed;      /* how much of it is on standard output */
    struct json objects; /* writes into it, for --json */
};

/* A piece of work to be timed. It ends the program if it fails. */
struct bench_side {
    const char *name;
    void (*run)(void *context);
    void *context;
};

/* An option of one program: --NAME, or, with a value, --NAME VALUE. */
struct bench_word {
    const char *name;   /* NULL ends a list */
    bool *given;        /* either this ... */
    const char **value; /* ... or this is set; the other is NULL */
};

/* Reads [--quick] [--json]; any other argument ends the program with its usage. */
void bench_start(struct bench *bench, int count, char **words);

/* Like bench_start, with more options; NULL: none. */
void bench_start_with(struct bench *bench, int count, char **words, const struct bench_word *more);

double bench_seconds(const struct bench *bench);

/* This process, and those that it starts, run on that processor from now on; negative: no
 * change. */
void bench_pin(int processor);

/* Sorts the values, of which there is at least one, and returns the median. */
double bench_median(double *values, int count);

/* Runs each side once per round, in turn, and adds a row with their medians in seconds; for two
 * sides also the ratio, second to first. */
void bench_run(struct bench *bench, const char *what, const struct bench_side *sides, size_t count,
               int rounds);

/* Prints a row of the table, or an object of {"rows": [...]}, at once. */
void bench_add(struct bench *bench, const char *what, const char *unit,
               const struct bench_value *values, size_t count);

/* Says what is being measured: a line on the terminal that the next call or row replaces. Prints
 * nothing if standard error is not a terminal. */
void bench_show(struct bench *bench, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a line on standard error that stays, preceded by "bench: ". */
void bench_note(struct bench *bench, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the end of the output. Returns the exit code. */
int bench_finish(struct bench *bench);

/* Ends the program: a benchmark that cannot run has no result. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
