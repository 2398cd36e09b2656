#include "bench.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"

#define SIDE_MAX  4
#define ROUND_MAX 64

void bench_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static _Noreturn void usage(const char *program, const struct bench_word *more)
{
    fprintf(stderr, "usage: %s [--quick] [--json]", program);
    for (; more && more->name; more++)
        fprintf(stderr, " [--%s%s]", more->name, more->value ? " TEXT" : "");
    fputc('\n', stderr);
    exit(2);
}

/* Reads an option at words[0], and its value at words[1] if it has one. Returns how many arguments
 * it took. */
static int word_take(int count, char **words, const struct bench_word *more)
{
    for (; more && more->name; more++) {
        if (strncmp(words[0], "--", 2) != 0 || strcmp(words[0] + 2, more->name) != 0)
            continue;
        if (!more->value) {
            *more->given = true;
            return 1;
        }
        if (count < 2)
            return 0;
        *more->value = words[1];
        return 2;
    }
    return 0;
}

void bench_start_with(struct bench *bench, int count, char **words, const struct bench_word *more)
{
    *bench = (struct bench){0};
    for (int i = 1; i < count;) {
        int taken = 1;
        if (strcmp(words[i], "--quick") == 0)
            bench->quick = true;
        else if (strcmp(words[i], "--json") == 0)
            bench->json = true;
        else
            taken = word_take(count - i, words + i, more);
        if (taken == 0)
            usage(words[0], more);
        i += taken;
    }
    bench->shows = isatty(STDERR_FILENO);
    if (!bench->json)
        return;
    bench->objects = json_make(&bench->out, true);
    json_object(&bench->objects);
    json_key(&bench->objects, "rows");
    json_array(&bench->objects);
}

void bench_start(struct bench *bench, int count, char **words)
{
    bench_start_with(bench, count, words, NULL);
}

double bench_seconds(const struct bench *bench)
{
    struct timespec time;
    clock_gettime(bench->cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void bench_pin(int processor)
{
    cpu_set_t set;
    if (processor < 0)
        return;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        bench_fail("this benchmark needs two processors");
}

double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void bench_run(struct bench *bench, const char *what, const struct bench_side *sides, size_t count,
               int rounds)
{
    double times[SIDE_MAX][ROUND_MAX];
    struct bench_value values[SIDE_MAX + 1];
    assert(count > 0 && count <= SIDE_MAX && rounds > 0 && rounds <= ROUND_MAX);
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++) {
            bench_show(bench, "%s: round %d of %d, %s", what, round + 1, rounds, sides[i].name);
            double started = bench_seconds(bench);
            sides[i].run(sides[i].context);
            times[i][round] = bench_seconds(bench) - started;
        }
    for (size_t i = 0; i < count; i++)
        values[i] = (struct bench_value){sides[i].name, bench_median(times[i], rounds)};
    if (count == 2)
        values[2] = (struct bench_value){"ratio", values[1].value / values[0].value};
    bench_add(bench, what, "s", values, count == 2 ? 3 : count);
}

/* ---- output ---- */

/* Removes the line of progress. */
static void show_end(struct bench *bench)
{
    if (bench->shown)
        fputs("\r\033[K", stderr);
    bench->shown = false;
}

void bench_show(struct bench *bench, const char *format, ...)
{
    va_list args;
    if (!bench->shows)
        return;
    va_start(args, format);
    show_end(bench);
    vfprintf(stderr, format, args);
    fflush(stderr);
    bench->shown = true;
    va_end(args);
}

void bench_note(struct bench *bench, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    show_end(bench);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

/* Prints what was added to the output since the last call. It leaves nothing in the buffer of the
 * stream: benchmarks fork. */
static void output_flush(struct bench *bench)
{
    if (!text_ok(&bench->out))
        bench_fail("not enough memory");
    show_end(bench);
    fwrite(bench->out.data + bench->printed, 1, bench->out.size - bench->printed, stdout);
    bench->printed = bench->out.size;
    if (fflush(stdout))
        bench_fail("standard output: cannot be written");
}

static void row_json(struct bench *bench, const char *what, const char *unit,
                     const struct bench_value *values, size_t count)
{
    struct json *json = &bench->objects;
    json_object(json);
    json_put_string(json, "what", what);
    json_put_string(json, "unit", unit);
    for (size_t i = 0; i < count; i++)
        json_put_number(json, values[i].name, values[i].value);
    json_end(json, '}');
}

static void row_text(struct text *out, const char *what, const char *unit,
                     const struct bench_value *values, size_t count)
{
    text_printf(out, "%-*s", BENCH_WHAT_WIDTH, what);
    for (size_t i = 0; i < count; i++)
        text_printf(out, "   %s %9.4g", values[i].name, values[i].value);
    text_printf(out, "   (%s)\n", unit);
}

void bench_add(struct bench *bench, const char *what, const char *unit,
               const struct bench_value *values, size_t count)
{
    assert(count <= BENCH_VALUE_MAX);
    if (bench->json)
        row_json(bench, what, unit, values, count);
    else
        row_text(&bench->out, what, unit, values, count);
    output_flush(bench);
}

int bench_finish(struct bench *bench)
{
    if (bench->json) {
        json_end(&bench->objects, ']');
        json_end(&bench->objects, '}');
        output_flush(bench);
    }
    show_end(bench);
    text_fini(&bench->out);
    return 0;
}
