/* weft sim churn */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/progress.h"
#include "cli/sim/sim_plan.h"
#include "services/bench/bench_wire.h"
#include "sim/churn.h"

#define SERVERS_MAX  4096
#define FAILURES_MAX 1000
#define SECONDS_MAX  3500 /* one run of bench lasts an hour at the most */
#define PACKETS_MAX  1e6
#define HELLO_MAX    10000 /* ms */

static const char *const detect_words[] = {"hello", "carrier", NULL};

struct churn_call {
    const char *word; /* SPEC or FILE */
    double seconds;
    struct churn_settings settings;
};

static void on_progress(void *context, double seconds)
{
    const struct churn_call *churn = context;
    progress_show("simulated seconds", (uint64_t)seconds, (uint64_t)churn->seconds);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

static void report_print(const struct churn_call *churn, const struct churn_result *result,
                         struct text *out)
{
    uint64_t dropped = churn_dropped(result);
    text_printf(out,
                "%s: %g s simulated, %" PRIu64 " failures, %" PRIu64 " returns, %.2f %% down\n",
                churn->word, churn->seconds, result->failures, result->returns, 100 * result->down);
    text_printf(out, "  packets sent            %" PRIu64 "\n", result->sent);
    text_printf(out, "  delivered               %" PRIu64 "\n", result->delivered);
    text_printf(out, "  misdelivered            %" PRIu64 "\n", result->misdelivered);
    if (result->misdelivered)
        text_printf(out, "    first: %s\n", result->first);
    text_printf(out, "  dropped                 %" PRIu64 " (%.4f %%)\n", dropped,
                percent(dropped, result->sent));
    text_printf(out, "    on the way to a dead server %" PRIu64 "\n", result->lost);
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        if (result->dropped[reason])
            text_printf(out, "    %-27s %" PRIu64 "\n", drop_texts[reason],
                        result->dropped[reason]);
    if (result->left)
        text_printf(out, "    %-27s %" PRIu64 "\n", "still waiting at the end", result->left);
    text_printf(out, "  hops                    %" PRIu64 "\n", result->hops);
    text_printf(out, "  memory                  %.1f MiB\n", (double)result->memory / (1 << 20));
    text_printf(out, "  event hash              %016" PRIx64 "\n", result->hash);
}

static void report_json(const struct churn_call *churn, const struct churn_result *result,
                        struct text *out)
{
    struct json json = json_make(out, true);
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, result->hash);
    json_object(&json);
    json_put_string(&json, "topology", churn->word);
    json_put_uint(&json, "seed", churn->settings.seed);
    json_put_number(&json, "simulated_s", churn->seconds);
    json_put_uint(&json, "failures", result->failures);
    json_put_uint(&json, "returns", result->returns);
    json_put_number(&json, "down_share", result->down);
    json_put_uint(&json, "sent", result->sent);
    json_put_uint(&json, "delivered", result->delivered);
    json_put_uint(&json, "misdelivered", result->misdelivered);
    json_put_uint(&json, "not_delivered", churn_dropped(result));
    json_put_uint(&json, "lost", result->lost);
    json_put_uint(&json, "waiting", result->left);
    json_key(&json, "dropped");
    json_object(&json);
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        json_put_uint(&json, drop_names[reason], result->dropped[reason]);
    json_end(&json, '}');
    json_put_uint(&json, "hops", result->hops);
    json_put_uint(&json, "events", result->events);
    json_put_uint(&json, "memory_bytes", result->memory);
    json_put_string(&json, "hash", hash);
    json_end(&json, '}');
}

static enum err call_read(struct churn_call *churn, const struct call *call, struct why *why)
{
    struct churn_settings *settings = &churn->settings;
    double failures = 2, down = 0.1, packets = 1000;
    uint64_t hello = 50, silence = 0, size = 100;
    int detect = 0;
    churn->seconds = 10;
    enum err err = call_uint(call, "seed", 0, UINT64_MAX, &settings->seed, why);
    if (!err)
        err = call_real(call, "failures", 0, FAILURES_MAX, &failures, why);
    if (!err)
        err = call_real(call, "down", 0, 0.9, &down, why);
    if (!err)
        err = call_real(call, "packets", 0.001, PACKETS_MAX, &packets, why);
    if (!err)
        err = call_uint(call, "size", BENCH_SIZE_MIN, BENCH_SIZE_MAX, &size, why);
    if (!err)
        err = call_real(call, "seconds", 0.001, SECONDS_MAX, &churn->seconds, why);
    if (!err)
        err = call_choice(call, "detect", detect_words, &detect, why);
    if (!err)
        err = call_uint(call, "hello", 1, HELLO_MAX, &hello, why);
    if (!err)
        err = call_uint(call, "silence", 1, 10 * HELLO_MAX, &silence, why);
    settings->failures = (uint64_t)llround(failures * CHURN_MILLIONTHS);
    settings->down = (uint32_t)lround(down * CHURN_MILLIONTHS);
    settings->packets = (uint64_t)llround(packets * 1000);
    settings->length = (psec)llround(churn->seconds * 1e9) * PSEC_PER_NSEC;
    settings->payload = (uint16_t)size;
    settings->carrier = detect == 1;
    settings->hello_nsec = (env_nsec)hello * 1000000;
    settings->silence_nsec = (env_nsec)silence * 1000000;
    return err;
}

static enum err churn_call_run(struct call *call, struct why *why)
{
    struct churn_call churn = {.word = call->argument_count ? call->arguments[0] : "torus:3x3x3",
                               .settings = {.seed = 1, .progress = on_progress}};
    struct sim_plan plan;
    struct churn_result result;
    enum err err = call_read(&churn, call, why);
    if (!err)
        err = sim_plan_open(&plan, churn.word, why);
    if (err)
        return err;
    churn.settings.plan = &plan.plan;
    churn.settings.context = &churn;
    err = plan.plan.server_count > SERVERS_MAX
              ? why_fail(why, ERR_USAGE, "%s: more than %d servers", churn.word, SERVERS_MAX)
              : churn_run(&churn.settings, &result, why);
    if (!err) {
        (call->json ? report_json : report_print)(&churn, &result, &call->out);
        call->health = result.misdelivered ? ERR_INPUT : OK;
    }
    sim_plan_close(&plan);
    return err;
}

static const struct option churn_options[] = {
    {"failures", "RATE", "a second, in the whole cluster (default 2)"},
    {"down", "SHARE", "of the servers that are down on average (default 0.1)"},
    {"packets", "RATE", "a second, from each server (default 1000)"},
    {"size", "B", "of a packet's payload (default 100)"},
    {"seconds", "S", "of simulated time (default 10)"},
    {"detect", "HOW", "hello: by silence; carrier: neighbours notice at once (default hello)"},
    {"hello", "MS", "between two hellos on a link (default 50)"},
    {"silence", "MS", "after which a link is down (default five hellos)"},
    {"seed", "N", "of everything random (default 1)"},
    {0},
};

const struct command command_sim_churn = {
    .name = "sim churn",
    .arguments = "[SPEC|FILE]",
    .summary = "servers that fail and return under load: what is dropped, what is misdelivered",
    .description =
        "Runs whole nodes on simulated links of 1 Gb/s (default torus:3x3x3). Servers fail after "
        "exponentially distributed times, and return after the time that keeps the wanted share "
        "of them down; it begins with that share down. All that are there send packets to random "
        "keys. A packet is misdelivered "
        "if the server that takes it is not the key's root, by what is known of the whole "
        "cluster at that moment; it is dropped if nobody takes it, for whatever reason.\n\n"
        "It is the experiment of figure 5c of CamCubeOS (see weft paper run cam-fig5c). A seed "
        "gives the same run everywhere. The exit code is 1 if a packet was misdelivered.\n\n"
        "With --json: topology, seed, simulated_s, failures, returns, down_share (of the servers, "
        "on average), sent, delivered, misdelivered, not_delivered (lost, waiting and dropped "
        "together), lost (on the way to a server that failed), waiting (at the end), dropped (by "
        "reason), hops, events, memory_bytes, hash.",
    .options = churn_options,
    .examples = "  weft sim churn torus:8x8x8 --failures 2 --seconds 600\n"
                "  weft sim churn jellyfish:n=64,degree=6 --failures 15 --json",
    .run = churn_call_run,
};
