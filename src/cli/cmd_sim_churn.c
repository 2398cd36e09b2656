/* weft sim churn */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "base/json.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/sim_plan.h"
#include "sim/churn.h"

struct churn_call {
    const char *word; /* SPEC or FILE */
    struct sim_plan plan;
    struct churn_settings settings;
    struct churn_result result;
    double rate, seconds, share;
    double real_s;
    uint64_t resident; /* bytes of the process at its largest */
};

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static uint64_t dropped_all(const struct churn_result *result)
{
    uint64_t sum = result->lost;
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        sum += result->dropped[reason];
    return sum;
}

static void line_print(struct text *out, const char *what, uint64_t count, uint64_t sent)
{
    text_printf(out, "  %-39s %" PRIu64 ", %.4f %%\n", what, count, 100 * share_of(count, sent));
}

static void report_print(const struct churn_call *churn, struct text *out)
{
    const struct churn_result *result = &churn->result;
    const struct churn_settings *settings = &churn->settings;
    text_printf(out, "%s: %g failures and returns a second for %g s, %g %% down\n", churn->word,
                churn->rate, churn->seconds, 100 * churn->share);
    text_printf(out, "  %-39s ", "detection");
    if (settings->carrier)
        text_printf(out, "at once (carrier)\n");
    else
        text_printf(out, "after %g ms of silence, hellos every %g ms\n",
                    (double)settings->silence_nsec / 1e6, (double)settings->hello_nsec / 1e6);
    text_printf(out, "  %-39s %" PRIu64 ", %" PRIu64 ", each down for %.1f s\n",
                "failures, returns", result->failures, result->returns,
                (double)result->down_for / (double)PSEC_PER_SECOND);
    text_printf(out, "  %-39s %" PRIu64 "\n", "packets sent", result->sent);
    line_print(out, "delivered", result->delivered, result->sent);
    line_print(out, "misdelivered", result->misdelivered, result->sent);
    line_print(out, "dropped", dropped_all(result), result->sent);
    line_print(out, "  on the way to a server that was gone", result->lost, result->sent);
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        if (result->dropped[reason]) {
            char what[64];
            snprintf(what, sizeof what, "  %s", drop_texts[reason]);
            line_print(out, what, result->dropped[reason], result->sent);
        }
    if (result->unaccounted)
        line_print(out, "NOT ACCOUNTED FOR", result->unaccounted, result->sent);
    if (result->unknown)
        text_printf(out, "  %-39s %" PRIu64 "\n", "LINKS UP TOO EARLY", result->unknown);
    text_printf(out, "  %-39s %.2f, at most %u\n", "hops of those delivered",
                share_of(result->hops, result->delivered), result->hops_max);
    text_printf(out, "  %-39s %.1f s, %.2f M packet-hops/s\n", "real time", churn->real_s,
                (double)result->all_hops / churn->real_s / 1e6);
    text_printf(out, "  %-39s %.1f MiB, of the whole process %.1f MiB\n", "memory of the world",
                (double)result->memory_peak / (1 << 20), (double)churn->resident / (1 << 20));
    text_printf(out, "  %-39s %016" PRIx64 "\n", "event hash", result->hash);
    if (result->misdelivered)
        text_printf(out, "  first misdelivery: %s\n", result->first);
}

static void report_json(const struct churn_call *churn, struct text *out)
{
    const struct churn_result *result = &churn->result;
    struct json json = json_make(out, true);
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, result->hash);
    json_object(&json);
    json_put_string(&json, "topology", churn->word);
    json_put_uint(&json, "servers", churn->plan.plan.server_count);
    json_put_uint(&json, "seed", churn->settings.seed);
    json_put_number(&json, "rate", churn->rate);
    json_put_number(&json, "simulated_s", churn->seconds);
    json_put_number(&json, "down_share", churn->share);
    json_put_string(&json, "detect", churn->settings.carrier ? "carrier" : "hello");
    json_put_number(&json, "hello_ms", (double)churn->settings.hello_nsec / 1e6);
    json_put_number(&json, "silence_ms", (double)churn->settings.silence_nsec / 1e6);
    json_put_uint(&json, "failures", result->failures);
    json_put_uint(&json, "returns", result->returns);
    json_put_number(&json, "failure_s", (double)result->down_for / (double)PSEC_PER_SECOND);
    json_put_uint(&json, "sent", result->sent);
    json_put_uint(&json, "delivered", result->delivered);
    json_put_uint(&json, "misdelivered", result->misdelivered);
    json_put_uint(&json, "dropped", dropped_all(result));
    json_put_number(&json, "delivered_fraction", share_of(result->delivered, result->sent));
    json_put_number(&json, "misdelivered_fraction", share_of(result->misdelivered, result->sent));
    json_put_number(&json, "dropped_fraction", share_of(dropped_all(result), result->sent));
    json_key(&json, "dropped_by_reason");
    json_object(&json);
    json_put_uint(&json, "server_gone", result->lost);
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        json_put_uint(&json, drop_names[reason], result->dropped[reason]);
    json_end(&json, '}');
    json_put_uint(&json, "unaccounted", result->unaccounted);
    json_put_uint(&json, "early_links", result->unknown);
    json_put_number(&json, "hops_mean", share_of(result->hops, result->delivered));
    json_put_uint(&json, "hops_max", result->hops_max);
    json_put_uint(&json, "events", result->events);
    json_put_uint(&json, "packet_hops", result->all_hops);
    json_put_number(&json, "real_s", churn->real_s);
    json_put_uint(&json, "world_bytes", result->memory_peak);
    json_put_uint(&json, "process_bytes", churn->resident);
    json_put_string(&json, "hash", hash);
    json_end(&json, '}');
}

/* ---- the call ---- */

static enum err call_read(struct churn_call *churn, const struct call *call, struct why *why)
{
    static const char *const detections[] = {"hello", "carrier", NULL};
    struct churn_settings *settings = &churn->settings;
    uint64_t hello_ms = 50, silence_ms = 150;
    int detection = 0;
    enum err err = call_real(call, "rate", 0.001, 10000, &churn->rate, why);
    if (!err)
        err = call_real(call, "seconds", 0.1, 1e6, &churn->seconds, why);
    if (!err)
        err = call_real(call, "down", 0, 0.9, &churn->share, why);
    if (!err)
        err = call_uint(call, "packets", 1, 1000000, &settings->packets_per_second, why);
    if (!err)
        err = call_uint(call, "seed", 0, UINT64_MAX, &settings->seed, why);
    if (!err)
        err = call_uint(call, "hello", 1, 60000, &hello_ms, why);
    if (!err)
        err = call_uint(call, "silence", 1, 600000, &silence_ms, why);
    if (!err)
        err = call_choice(call, "detect", detections, &detection, why);
    if (!err && silence_ms <= hello_ms)
        err = why_fail(why, ERR_USAGE, "--silence: must be longer than --hello");
    settings->rate = (uint64_t)(churn->rate * CHURN_MILLIONTHS + 0.5);
    settings->down = (uint32_t)(churn->share * CHURN_MILLIONTHS + 0.5);
    settings->length = (psec)(churn->seconds * 1e6 + 0.5) * (PSEC_PER_SECOND / 1000000);
    settings->hello_nsec = (env_nsec)hello_ms * 1000000;
    settings->silence_nsec = (env_nsec)silence_ms * 1000000;
    settings->carrier = detection == 1;
    settings->observer = progress_observer;
    return err;
}

static enum err churn_call_run(struct call *call, struct why *why)
{
    struct churn_call churn = {
        .word = call->argument_count ? call->arguments[0] : "torus:8x8x8",
        .settings = {.seed = 1, .packets_per_second = 1000},
        .rate = 4,
        .seconds = 600,
        .share = 0.1,
    };
    enum err err = call_read(&churn, call, why);
    if (!err)
        err = sim_plan_open(&churn.plan, churn.word, why);
    if (err)
        return err;
    churn.settings.plan = &churn.plan.plan;
    churn.real_s = now_s();
    err = churn_run(&churn.settings, &churn.result, why);
    churn.real_s = now_s() - churn.real_s;
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        churn.resident = (uint64_t)usage.ru_maxrss * 1024;
    if (!err) {
        (call->json ? report_json : report_print)(&churn, &call->out);
        const struct churn_result *result = &churn.result;
        bool bad = result->misdelivered || result->unaccounted || result->unknown;
        call->health = bad ? ERR_INPUT : OK;
    }
    sim_plan_close(&churn.plan);
    return err;
}

static const struct option churn_options[] = {
    {"rate", "R", "failures and returns a second, half of each (default 4)"},
    {"seconds", "S", "simulated (default 600)"},
    {"down", "F", "share of the servers that is down on average (default 0.1)"},
    {"packets", "N", "that each server sends a second (default 1000)"},
    {"detect", "hello|carrier",
     "how neighbours notice a failure: by silence (default), or at once"},
    {"hello", "MS", "milliseconds between two hellos on a link (default 50)"},
    {"silence", "MS", "milliseconds after which a silent link is down (default 150)"},
    {"seed", "N", "of everything random (default 1)"},
    {0},
};

const struct command command_sim_churn = {
    .name = "sim churn",
    .arguments = "[SPEC|FILE]",
    .summary = "servers fail and return while all send to random keys; who gets what",
    .description =
        "The experiment of figure 5(c) of the CamCubeOS paper, on whole nodes in the simulator "
        "(default torus:8x8x8). Servers fail with exponentially distributed times between "
        "failures, and return after a time such that a share of them, 10 %, is down on average; "
        "the run begins with that share down. Every server that is up sends 1,000 packets a second "
        "to random keys for 10 simulated minutes: 276 million packets.\n\n"
        "An oracle that knows everything counts them. A packet is misdelivered if, when a server "
        "delivers it, some server before it in the key's list is up, has settled and is connected "
        "to it by links that are up at both ends. It is dropped if it was on its way to a server "
        "that was gone, or waited in one that failed, or for one of the reasons that nodes "
        "count.\n\n"
        "Failures are noticed by silence: hellos every 50 ms, and a link that was silent for 150 "
        "ms is down. --detect carrier lets neighbours notice at once, as a switchless cable that "
        "loses its light would. The exit code is 1 if a packet was misdelivered.",
    .options = churn_options,
    .examples = "  weft sim churn --rate 4 --seconds 30\n"
                "  weft sim churn novacube:8x8 --rate 2 --detect carrier --json",
    .run = churn_call_run,
};
