#include "cli/sim/sim_seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/hash.h"
#include "cli/core/parallel.h"
#include "cli/sim/sim_crew.h"
#include "measured/sample.h"

#define LOSSES_SHOWN_MAX 20 /* further ones are counted */

enum figure {
    BOOT,
    SENT,
    DELIVERED,
    TAKEN,
    DROPPED,
    ASKED,
    ANSWERED,
    DELIVERY_MEDIAN,
    DELIVERY_99,
    ANSWER_MEDIAN,
    ANSWER_99,
    BUSY_MEAN,
    BUSY_MOST,
};
static_assert(BUSY_MOST + 1 == SIM_SEEDS_FIGURES, "every figure has its place in a row");

static const struct {
    const char *key;   /* in JSON */
    const char *title; /* of the column */
    double unit;       /* the column shows the figure divided by this */
    int decimals;
    bool always; /* otherwise only if a run has this figure */
} figures[SIM_SEEDS_FIGURES] = {
    [BOOT] = {"boot_seconds", "boot ms", 1e-3, 1, false},
    [SENT] = {"sent", "sent", 1, 0, true},
    [DELIVERED] = {"delivered", "delivered", 1, 0, true},
    [TAKEN] = {"intercepted", "taken up", 1, 0, false},
    [DROPPED] = {"dropped", "dropped", 1, 0, true},
    [ASKED] = {"asked", "asked", 1, 0, false},
    [ANSWERED] = {"answered", "answered", 1, 0, false},
    [DELIVERY_MEDIAN] = {"delivery_nsec_median", "delivery us", 1e3, 2, false},
    [DELIVERY_99] = {"delivery_nsec_percentile_99", "of 99 % us", 1e3, 2, false},
    [ANSWER_MEDIAN] = {"answer_nsec_median", "answer us", 1e3, 2, false},
    [ANSWER_99] = {"answer_nsec_percentile_99", "of 99 % us", 1e3, 2, false},
    [BUSY_MEAN] = {"link_busy_mean", "busy %", 0.01, 2, false},
    [BUSY_MOST] = {"link_busy_most", "busiest %", 0.01, 2, false},
};

/* ---- running ---- */

static double nsec_of(psec time)
{
    return (double)time / PSEC_PER_NSEC;
}

static struct sim_row row_make(const struct run_result *result)
{
    struct sim_row row = {.hash = result->hash};
    double *out = row.figures;
    out[BOOT] = (double)result->booted / (double)PSEC_PER_SECOND;
    out[SENT] = (double)result->sent;
    out[DELIVERED] = (double)result->delivered;
    out[TAKEN] = (double)result->intercepted;
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        out[DROPPED] += (double)result->drops[reason];
    out[ASKED] = (double)result->asked;
    out[ANSWERED] = (double)result->answered;
    out[DELIVERY_MEDIAN] = nsec_of(latency_share(&result->one_way, 0.5));
    out[DELIVERY_99] = nsec_of(latency_share(&result->one_way, 0.99));
    out[ANSWER_MEDIAN] = nsec_of(latency_share(&result->round, 0.5));
    out[ANSWER_99] = nsec_of(latency_share(&result->round, 0.99));
    out[BUSY_MEAN] = result->busy_mean;
    out[BUSY_MOST] = result->busy_most;
    return row;
}

static enum err seed_work(void *context, uint32_t index, struct simulation_record *record,
                          struct why *why)
{
    struct sim_seeds *seeds = context;
    struct run_settings settings = seeds->settings;
    struct run_result *result = calloc(1, sizeof *result);
    enum err err = result ? OK : why_memory(why);
    settings.seed += index;
    settings.record = record;
    if (!err)
        err = run_scenario(&settings, result, why);
    if (!err)
        seeds->rows[index] = row_make(result);
    free(result);
    return err;
}

static enum err seeds_work(void *context, uint32_t thread, uint32_t first, uint32_t count,
                           struct why *why)
{
    enum err err = OK;
    for (uint32_t i = first; !err && i < first + count; i++)
        err = seed_work(context, i, NULL, why);
    return err;
}

static void seed_lost(void *context, const struct sim_crew_loss *loss)
{
    struct sim_seeds *seeds = context;
    struct sim_seed_loss *out = &seeds->losses[loss->index];
    seeds->rows[loss->index] = (struct sim_row){.hash = 0};
    seeds->lost++;
    out->at = loss->reached;
    sim_crew_loss_write(loss, NULL, seeds->limit_seconds, out->text, sizeof out->text);
}

static bool is_lost(const struct sim_seeds *seeds, uint64_t index)
{
    return seeds->losses && seeds->losses[index].text[0];
}

static enum err spreads_make(struct sim_seeds *seeds, struct why *why)
{
    uint64_t count = seeds->count - seeds->lost;
    double *values = array_new(seeds->count, sizeof *values);
    if (!values)
        return why_memory(why);
    for (unsigned figure = 0; count && figure < SIM_SEEDS_FIGURES; figure++) {
        count = 0;
        for (uint64_t i = 0; i < seeds->count; i++)
            if (!is_lost(seeds, i))
                values[count++] = seeds->rows[i].figures[figure];
        double median = sample_median(values, count); /* sorts the values */
        seeds->spreads[figure] = (struct sim_spread){values[0], median, values[count - 1]};
    }
    free(values);
    return OK;
}

enum err sim_seeds_run(struct sim_seeds *seeds, uint32_t threads, struct why *why)
{
    const struct parallel_job job = {
        .title = "seeds",
        .total = (uint32_t)seeds->count,
        .step = 1,
        .work = seeds_work,
        .context = seeds,
    };
    const struct sim_crew_job crew = {
        .title = "seeds",
        .total = (uint32_t)seeds->count,
        .workers = threads,
        .limit_seconds = seeds->limit_seconds,
        .work = seed_work,
        .lost = seed_lost,
        .context = seeds,
    };
    assert(seeds->count > 0 && seeds->count <= SIM_SEEDS_MAX);
    seeds->settings.observer = NULL; /* progress counts seeds instead */
    seeds->rows = sim_crew_memory(seeds->count * sizeof *seeds->rows);
    if (seeds->limit_seconds)
        seeds->losses = sim_crew_memory(seeds->count * sizeof *seeds->losses);
    if (!seeds->rows || (seeds->limit_seconds && !seeds->losses))
        return why_memory(why);
    enum err err =
        seeds->limit_seconds ? sim_crew_run(&crew, why) : parallel_run(&job, threads, why);
    return err ? err : spreads_make(seeds, why);
}

void sim_seeds_fini(struct sim_seeds *seeds)
{
    sim_crew_memory_end(seeds->rows, seeds->count * sizeof *seeds->rows);
    sim_crew_memory_end(seeds->losses, seeds->count * sizeof *seeds->losses);
    seeds->rows = NULL;
    seeds->losses = NULL;
}

/* ---- reporting ---- */

uint64_t sim_seeds_hash(const struct sim_seeds *seeds)
{
    uint64_t hash = 0;
    for (uint64_t i = 0; i < seeds->count; i++)
        hash = hash_mix(hash ^ seeds->rows[i].hash);
    return hash;
}

static int column_width(unsigned figure)
{
    int title = (int)strlen(figures[figure].title);
    return 2 + (title < 9 ? 9 : title);
}

/* Returns the width of the first column, at least that of "median". */
static int seed_width(const struct sim_seeds *seeds)
{
    int digits = snprintf(NULL, 0, "%" PRIu64, seeds->settings.seed + seeds->count - 1);
    return digits < 6 ? 6 : digits;
}

static bool is_shown(const struct sim_seeds *seeds, unsigned figure)
{
    return figures[figure].always || seeds->spreads[figure].most > 0;
}

static void cells_write(const struct sim_seeds *seeds, struct text *out, const double *values)
{
    for (unsigned i = 0; i < SIM_SEEDS_FIGURES; i++)
        if (is_shown(seeds, i))
            text_printf(out, "%*.*f", column_width(i), figures[i].decimals,
                        values[i] / figures[i].unit);
}

static void titles_put(const struct sim_seeds *seeds, struct result *result)
{
    struct text *out = result_words(result_hide(result), "titles");
    text_printf(out, "%-*s", seed_width(seeds), "seed");
    for (unsigned i = 0; i < SIM_SEEDS_FIGURES; i++)
        if (is_shown(seeds, i))
            text_printf(out, "%*s", column_width(i), figures[i].title);
}

static void runs_put(const struct sim_seeds *seeds, struct result *result)
{
    result_array(result, "runs");
    for (uint64_t row = 0; row < seeds->count; row++) {
        const double *values = seeds->rows[row].figures;
        uint64_t seed = seeds->settings.seed + row;
        if (is_lost(seeds, row))
            continue;
        result_object(result, NULL);
        result_uint(result, "seed", seed);
        for (unsigned i = 0; i < SIM_SEEDS_FIGURES; i++)
            result_number(result, figures[i].key, values[i]);
        text_printf(result_words(result, "hash"), "%016" PRIx64, seeds->rows[row].hash);
        struct text *cells = result_words(result_hide(result), "cells");
        text_printf(cells, "%-*" PRIu64, seed_width(seeds), seed);
        cells_write(seeds, cells, values);
        result_end(result);
    }
    result_end(result);
}

static void spread_row_put(const struct sim_seeds *seeds, struct result *result, const char *title,
                           const double *values)
{
    struct text *cells = result_words(result, NULL);
    text_printf(cells, "%-*s", seed_width(seeds), title);
    cells_write(seeds, cells, values);
}

static void losses_put(const struct sim_seeds *seeds, struct result *result)
{
    uint64_t shown = 0;
    result_array(result, "failures");
    for (uint64_t i = 0; i < seeds->count; i++) {
        if (!is_lost(seeds, i))
            continue;
        result_object(result, NULL);
        result_uint(result, "seed", seeds->settings.seed + i);
        result_string(result, "text", seeds->losses[i].text);
        result_number(result, "at_ms", (double)seeds->losses[i].at / 1e9);
        result_bool(result_hide(result), "shown", shown++ < LOSSES_SHOWN_MAX);
        result_end(result);
    }
    result_end(result);
    result_uint(result_hide(result), "failures_more",
                shown > LOSSES_SHOWN_MAX ? shown - LOSSES_SHOWN_MAX : 0);
}

static void spread_put(const struct sim_seeds *seeds, struct result *result)
{
    double least[SIM_SEEDS_FIGURES], median[SIM_SEEDS_FIGURES], most[SIM_SEEDS_FIGURES];
    result_object(result, "spread");
    for (unsigned i = 0; i < SIM_SEEDS_FIGURES; i++) {
        least[i] = seeds->spreads[i].least;
        median[i] = seeds->spreads[i].median;
        most[i] = seeds->spreads[i].most;
        result_object(result, figures[i].key);
        result_number(result, "least", least[i]);
        result_number(result, "median", median[i]);
        result_number(result, "most", most[i]);
        result_end(result);
    }
    result_end(result);
    result_array(result_hide(result), "spread_rows");
    spread_row_put(seeds, result, "least", least);
    spread_row_put(seeds, result, "median", median);
    spread_row_put(seeds, result, "most", most);
    result_end(result);
}

void sim_seeds_put(const struct sim_seeds *seeds, struct result *result)
{
    bool any = seeds->lost < seeds->count;
    if (any)
        titles_put(seeds, result);
    runs_put(seeds, result);
    if (any)
        spread_put(seeds, result);
    if (seeds->lost)
        losses_put(seeds, result);
}
