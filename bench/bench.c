#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/json.h"

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

void bench_add(struct bench *bench, const char *what, const char *unit,
               const struct bench_value *values, size_t count)
{
    assert(bench->row_count < BENCH_ROW_MAX && count <= BENCH_VALUE_MAX);
    struct bench_row *row = &bench->rows[bench->row_count++];
    snprintf(row->what, sizeof row->what, "%s", what);
    row->unit = unit;
    row->value_count = count;
    memcpy(row->values, values, count * sizeof *values);
}

static void rows_json(const struct bench *bench, struct text *out)
{
    struct json json = json_make(out, true);
    json_object(&json);
    json_key(&json, "rows");
    json_array(&json);
    for (size_t i = 0; i < bench->row_count; i++) {
        const struct bench_row *row = &bench->rows[i];
        json_object(&json);
        json_put_string(&json, "what", row->what);
        json_put_string(&json, "unit", row->unit);
        for (size_t k = 0; k < row->value_count; k++)
            json_put_number(&json, row->values[k].name, row->values[k].value);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
}

static void rows_text(const struct bench *bench, struct text *out)
{
    int width = 0;
    for (size_t i = 0; i < bench->row_count; i++) {
        int size = (int)strlen(bench->rows[i].what);
        width = size > width ? size : width;
    }
    for (size_t i = 0; i < bench->row_count; i++) {
        const struct bench_row *row = &bench->rows[i];
        text_printf(out, "%-*s", width, row->what);
        for (size_t k = 0; k < row->value_count; k++)
            text_printf(out, "   %s %9.4g", row->values[k].name, row->values[k].value);
        text_printf(out, "   (%s)\n", row->unit);
    }
}

int bench_finish(struct bench *bench)
{
    struct text out = {0};
    if (bench->json)
        rows_json(bench, &out);
    else
        rows_text(bench, &out);
    if (!text_ok(&out))
        bench_fail("not enough memory");
    fputs(out.data ? out.data : "", stdout);
    text_fini(&out);
    if (fflush(stdout))
        bench_fail("standard output: cannot be written");
    return 0;
}
