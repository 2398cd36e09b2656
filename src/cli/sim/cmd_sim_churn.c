/* weft sim churn */
#include <inttypes.h>
#include <math.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/progress.h"
#include "cli/show/drop_result.h"
#include "cli/sim/sim_plan.h"
#include "services/bench/bench_wire.h"
#include "sim/chaos/churn.h"

#define SERVERS_MAX  4096
#define FAILURES_MAX 1000
#define SECONDS_MAX  3500 /* the bench service runs for at most an hour */
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

static const char churn_page[] =
    "{topology}: {simulated_s%g} s simulated, {failures} failures, {returns} returns, "
    "{down_share*100%.2f} % down\n"
    "  packets sent            {sent}\n"
    "  delivered               {delivered}\n"
    "  misdelivered            {misdelivered}\n"
    "{?misdelivered}    first: {misdelivered_first}\n{/}"
    "  dropped                 {not_delivered} ({dropped_percent%.4f} %)\n"
    "    on the way to a dead server {lost}\n"
    "{#drops_shown}    {reason%-27s} {count}\n{/}"
    "{?waiting}    still waiting at the end    {waiting}\n{/}"
    "  hops                    {hops}\n"
    "  memory                  {memory_bytes/1048576%.1f} MiB\n"
    "  event hash              {hash}\n";

static void report(const struct churn_call *churn, const struct churn_result *found,
                   struct result *result)
{
    uint64_t dropped = churn_dropped(found);
    result_string(result, "topology", churn->word);
    result_uint(result, "seed", churn->settings.seed);
    result_number(result, "simulated_s", churn->seconds);
    result_uint(result, "failures", found->failures);
    result_uint(result, "returns", found->returns);
    result_number(result, "down_share", found->down);
    result_uint(result, "sent", found->sent);
    result_uint(result, "delivered", found->delivered);
    result_uint(result, "misdelivered", found->misdelivered);
    result_string(result_hide(result), "misdelivered_first", found->first);
    result_uint(result, "not_delivered", dropped);
    result_number(result_hide(result), "dropped_percent", percent(dropped, found->sent));
    result_uint(result, "lost", found->lost);
    result_uint(result, "waiting", found->left);
    drop_result(result, "dropped", found->dropped);
    result_uint(result, "hops", found->hops);
    result_uint(result, "events", found->events);
    result_uint(result, "memory_bytes", found->memory);
    text_printf(result_words(result, "hash"), "%016" PRIx64, found->hash);
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
        report(&churn, &result, call_result(call, churn_page));
        call->no = result.misdelivered > 0;
    }
    sim_plan_close(&plan);
    return err;
}

static const struct option churn_options[] = {
    {"failures", "RATE", "failures a second in the whole cluster (default 2)"},
    {"down", "SHARE", "share of the servers that is down on average (default 0.1)"},
    {"packets", "RATE", "packets a second from each server (default 1000)"},
    {"size", "B", "payload of a packet (default 100)"},
    {"seconds", "S", "simulated seconds (default 10)"},
    {"detect", "HOW",
     "hello: by missing hellos; carrier: neighbours notice at once (default hello)"},
    {"hello", "MS", "time between two hellos on a link (default 50)"},
    {"silence", "MS", "a link without hellos for this time is down (default five hellos)"},
    {"seed", "N", "seed of all random choices (default 1)"},
    {0},
};

const struct command command_sim_churn = {
    .name = "sim churn",
    .arguments = "[SPEC|FILE]",
    .summary = "simulate servers that fail and return under load",
    .description =
        "Runs complete nodes on simulated links of 1 Gb/s (default torus:3x3x3). Servers fail "
        "after exponentially distributed times, and return after a time such that on average the "
        "given share of them is down. The run begins with that share down. All servers that are up "
        "send packets to random keys. A packet is misdelivered if the server that takes it is not "
        "the root of the key, as seen from outside at that moment; it is dropped if no server "
        "takes it, for any reason.\n\n"
        "This is the experiment of figure 5c of CamCubeOS (see weft paper run cam-fig5c). A seed "
        "gives the same run on every machine. The exit code is 1 if a packet was misdelivered.\n\n"
        "With --json: topology, seed, simulated_s, failures, returns, down_share (of the "
        "servers, on average), sent, delivered, misdelivered, not_delivered (lost, waiting and "
        "dropped together), lost (on the way to a server that failed), waiting (at the end), "
        "dropped (by reason), hops, events, memory_bytes, hash.",
    .options = churn_options,
    .examples = "  weft sim churn torus:8x8x8 --failures 2 --seconds 600\n"
                "  weft sim churn jellyfish:n=64,degree=6 --failures 15 --json",
    .run = churn_call_run,
};
