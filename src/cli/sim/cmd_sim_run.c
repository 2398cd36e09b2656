/* weft sim run */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/parallel.h"
#include "cli/core/progress.h"
#include "cli/service/service_values.h"
#include "cli/show/bytes_text.h"
#include "cli/show/drop_result.h"
#include "cli/show/rate_text.h"
#include "cli/sim/sim_crew.h"
#include "cli/sim/sim_guests.h"
#include "cli/sim/sim_plan.h"
#include "cli/sim/sim_seeds.h"
#include "sim/world/run.h"

#define SECONDS_MAX 86400
#define DELAY_MAX   10000000000.0 /* nanoseconds */
#define RATE_MAX    1e8

struct sim_run {
    const char *word; /* SPEC or FILE */
    struct sim_plan plan;
    struct sim_guests guests;
    struct run_settings settings;
    uint64_t seeds;
    uint32_t threads;
    struct run_result *result; /* of one seed */
    struct run_stage *stage;   /* of that seed, if it runs in a process of its own */
    bool lost;                 /* that process crashed, ended or took too long */
};

/* What that process does now. It writes this, and the process that shows the progress reads it;
 * relaxed: a mixture of two moments is visible for a tenth of a second at most. The title is a
 * constant of weft, so both have it at the same address. */
struct run_stage {
    const char *_Atomic title;
    _Atomic uint64_t done, total;
};

/* ---- options ---- */

static enum err service_parse(struct sim_run *run, const struct call *call, struct why *why)
{
    if (!call_option(call, "service"))
        return why_fail(why, ERR_USAGE,
                        "sim run: --service is missing: expected bench, ping, or the path of a "
                        "service to load");
    enum err err = sim_guests_read(&run->guests, call, why);
    if (err)
        return err;
    run->settings.services = run->guests.services;
    run->settings.service = run->guests.services[0]->id;
    run->settings.configuration = &run->guests.values;
    run->settings.checker = run->guests.checker;
    if (run->guests.history && !run->guests.checker)
        return why_fail(why, ERR_USAGE, "--history: needs --checker");
    return OK;
}

static enum err load_parse(struct sim_run *run, const struct call *call, struct why *why)
{
    static const char *const words[] = {"nothing", "keys",     "servers", "links",
                                        "pings",   "requests", NULL};
    struct run_settings *settings = &run->settings;
    const char *name = run->guests.services[0]->name;
    settings->request = call_option(call, "request");
    if (settings->checker && (settings->request || call_has(call, "load")))
        return why_fail(why, ERR_USAGE,
                        "--checker: makes the load, so --load and --request are not "
                        "possible with it");
    int load = settings->checker            ? RUN_CHECKER
               : settings->request          ? RUN_REQUESTS
               : strcmp(name, "bench") == 0 ? RUN_KEYS
               : strcmp(name, "ping") == 0  ? RUN_PINGS
                                            : RUN_NOTHING;
    enum err err = call_choice(call, "load", words, &load, why);
    if (err)
        return err;
    if (load == RUN_REQUESTS && !settings->request)
        return why_fail(why, ERR_USAGE, "--load requests: needs --request TEXT");
    if (settings->request && load != RUN_REQUESTS)
        return why_fail(why, ERR_USAGE, "--request: needs --load requests");
    bool benches = load == RUN_KEYS || load == RUN_SERVERS || load == RUN_LINKS;
    if ((benches && strcmp(name, "bench") != 0) || (load == RUN_PINGS && strcmp(name, "ping") != 0))
        return why_fail(why, ERR_USAGE, "--load %s: needs --service %s", words[load],
                        benches ? "bench" : "ping");
    settings->load = (enum run_load)load;
    return OK;
}

static enum err link_parse(struct sim_link_settings *link, const struct call *call, struct why *why)
{
    const char *rate = call_option(call, "rate");
    double delay = (double)link->delay / PSEC_PER_NSEC;
    enum err err = rate ? rate_text_parse(rate, &link->rate, why) : OK;
    if (!err)
        err = call_real(call, "delay", 0, DELAY_MAX, &delay, why);
    link->delay = (psec)(delay * PSEC_PER_NSEC);
    return err;
}

static enum err seeds_parse(struct sim_run *run, const struct call *call, struct why *why)
{
    run->settings.seed = run->seeds = 1;
    enum err err = call_uint(call, "seed", 0, UINT64_MAX, &run->settings.seed, why);
    if (err)
        return err;
    uint64_t after = UINT64_MAX - run->settings.seed; /* larger seeds that exist */
    err = call_uint(call, "seeds", 1, after < SIM_SEEDS_MAX ? after + 1 : SIM_SEEDS_MAX,
                    &run->seeds, why);
    if (!err && run->seeds > 1 && run->settings.checker)
        err = why_fail(why, ERR_USAGE,
                       "--checker: runs one seed; for more, use weft sim chaos "
                       "--faults none");
    return err ? err : parallel_threads(call, &run->threads, why);
}

static enum err settings_parse(struct sim_run *run, const struct call *call, struct why *why)
{
    struct run_settings *settings = &run->settings;
    double seconds = 1;
    uint64_t size = 1400;
    settings->link = (struct sim_link_settings)SIM_LINK_DEFAULTS;
    settings->rate = 1000;
    settings->boot = call_has(call, "boot");
    settings->observer = &progress_observer;
    enum err err = service_parse(run, call, why);
    if (!err)
        err = load_parse(run, call, why);
    if (!err)
        err = link_parse(&settings->link, call, why);
    if (!err)
        err = call_real(call, "seconds", 1e-6, SECONDS_MAX, &seconds, why);
    if (!err)
        err = call_real(call, "packets", 0.001, RATE_MAX, &settings->rate, why);
    if (!err)
        err = call_uint(call, "size", 16, PACKET_PAYLOAD_MAX, &size, why);
    if (!err)
        err = seeds_parse(run, call, why);
    settings->length = (psec)(seconds * (double)PSEC_PER_SECOND);
    settings->size = (uint32_t)size;
    return err;
}

/* ---- results ---- */

static double seconds_of(psec time)
{
    return (double)time / (double)PSEC_PER_SECOND;
}

static uint64_t dropped(const struct run_result *result)
{
    uint64_t sum = 0;
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        sum += result->drops[reason];
    return sum;
}

#define LATENCY_PAGE(title, key)                                                                   \
    "{?" key ".count}  " title " median {" key ".median/1000%.2f} us, 99 % {" key                  \
    ".percentile_99/1000%.2f} us, least {" key ".least/1000%.2f} us, most {" key                   \
    ".most/1000%.2f} us\n{/}"

static const char run_page[] =
    "{topology}: {servers} servers, {service}, {seconds%g} s simulated, seed {seed}\n"
    "{?boot_seconds}  all reached each other after {boot_seconds*1000%.1f} ms\n{/}"
    "  packets sent           {sent}\n"
    "  delivered              {delivered}\n"
    "{?intercepted}  intercepted            {intercepted}\n{/}"
    "{#drops_shown}  dropped                {count}: {reason}\n{/}"
    "{?asked}  asked, answered        {asked}, {answered}\n{/}" LATENCY_PAGE(
        "send to delivery      ", "delivery_nsec")
        LATENCY_PAGE("request to answer     ",
                     "answer_nsec") "{?first_answer}  first answer           {first_answer}\n{/}"
                                    "  packet-hops            {hops} in {frames} frames\n"
                                    "{?rate}  links are busy         {link_busy_mean*100%.2f} % of "
                                    "the time, the busiest "
                                    "{link_busy_most*100%.2f} %\n{/}"
                                    "  events                 {events}\n"
                                    "  memory                 {memory/1048576%.1f} MiB\n"
                                    "  event hash             {hash}\n"
                                    "{#numbers_shown}  {service}: {name} {value}\n{/}"
                                    "{?checker}  {checker}: {?failed}FAILED at {failed_ms%.3f} ms: "
                                    "{failure}{:}holds{/}\n{/}" SIM_HISTORY_PAGE;

static const char lost_page[] =
    "{topology}: {servers} servers, {service}, seed {seed}\n"
    "  {?checker}{checker}: {/}FAILED at {failed_ms%.3f} ms: {failure}\n" SIM_HISTORY_PAGE;

static const char seeds_page[] =
    "{topology}: {servers} servers, {service}, {seconds%g} s simulated, {seeds} seeds from "
    "{seed}\n" SIM_SEEDS_PAGE "  event hash of all  {hash}\n";

static void latency_put(struct result *result, const char *key, const struct latency *latency)
{
    result_object(result, key);
    result_uint(result, "count", latency->count);
    result_number(result, "median", (double)latency_share(latency, 0.5) / PSEC_PER_NSEC);
    result_number(result, "percentile_99", (double)latency_share(latency, 0.99) / PSEC_PER_NSEC);
    result_number(result, "least", (double)latency->least / PSEC_PER_NSEC);
    result_number(result, "most", (double)latency->most / PSEC_PER_NSEC);
    result_end(result);
}

static void numbers_put(struct result *result, const struct run_result *found)
{
    result_object(result, "numbers");
    for (unsigned i = 0; i < found->number_count; i++) {
        const struct run_number *number = &found->numbers[i];
        struct text key = {0};
        text_printf(&key, "%s_%s", number->service, number->name);
        if (text_ok(&key))
            result_uint(result, result_copy(result, key.data), number->value);
        text_fini(&key);
    }
    result_end(result);
    result_array(result_hide(result), "numbers_shown");
    for (unsigned i = 0; i < found->number_count; i++) {
        if (!found->numbers[i].value)
            continue;
        result_object(result, NULL);
        result_string(result, "service", found->numbers[i].service);
        result_string(result, "name", found->numbers[i].name);
        result_uint(result, "value", found->numbers[i].value);
        result_end(result);
    }
    result_end(result);
}

/* Begins a result, with the keys that one run and several runs share. */
static struct result *result_start(const struct sim_run *run, struct call *call, const char *page)
{
    struct result *result = call_result(call, page);
    result_string(result, "topology", run->word);
    result_string(result, "service", run->guests.services[0]->name);
    result_uint(result, "servers", run->plan.plan.server_count);
    result_uint(result, "seed", run->settings.seed);
    return result;
}

static void failure_put(const struct sim_run *run, struct result *result)
{
    const struct run_result *found = run->result;
    const struct simulation_record *record = run->settings.record;
    if (run->guests.checker)
        result_string(result, "checker", run->guests.checker->name);
    result_bool(result, "failed", found->failed);
    result_string(result, "failure", found->failed ? found->failure.text : NULL);
    result_number(result, "failed_ms", (double)found->failure.at / 1e9);
    if (record)
        sim_guests_history_put(record, result);
}

static void run_report(const struct sim_run *run, struct call *call)
{
    const struct run_result *found = run->result;
    struct result *result = result_start(run, call, run->lost ? lost_page : run_page);
    result_number(result, "seconds", seconds_of(found->length));
    result_number(result, "boot_seconds", seconds_of(found->booted));
    result_uint(result, "sent", found->sent);
    result_uint(result, "delivered", found->delivered);
    result_uint(result, "intercepted", found->intercepted);
    result_uint(result, "dropped", dropped(found));
    drop_result(result, "drops", found->drops);
    result_uint(result, "asked", found->asked);
    result_uint(result, "answered", found->answered);
    latency_put(result, "delivery_nsec", &found->one_way);
    latency_put(result, "answer_nsec", &found->round);
    bytes_text(result_words(result_hide(result), "first_answer"), found->answer, found->answer_size,
               RUN_ANSWER_MAX);
    result_uint(result, "hops", found->counts.hops);
    result_uint(result, "frames", found->links.frames);
    result_uint(result, "events", found->counts.events);
    result_uint(result_hide(result), "rate", run->settings.link.rate);
    result_number(result, "link_busy_mean", found->busy_mean);
    result_number(result, "link_busy_most", found->busy_most);
    result_uint(result, "memory", found->memory);
    text_printf(result_words(result, "hash"), "%016" PRIx64, found->hash);
    numbers_put(result, found);
    if (run->guests.checker || run->lost)
        failure_put(run, result);
}

static void seeds_report(const struct sim_run *run, const struct sim_seeds *seeds,
                         struct call *call)
{
    struct result *result = result_start(run, call, seeds_page);
    result_uint(result, "seeds", seeds->count);
    result_number(result, "seconds", seconds_of(run->settings.length));
    sim_seeds_put(seeds, result);
    text_printf(result_words(result, "hash"), "%016" PRIx64, sim_seeds_hash(seeds));
}

/* ---- the command ---- */

static enum err seeds_run(struct sim_run *run, struct call *call, struct why *why)
{
    struct sim_seeds seeds = {.settings = run->settings, .count = run->seeds};
    if (sim_guests_are_foreign(&run->guests))
        seeds.limit_seconds = run->guests.limit_seconds;
    enum err err = sim_seeds_run(&seeds, run->threads, why);
    if (!err)
        seeds_report(run, &seeds, call);
    call->no = seeds.lost > 0;
    sim_seeds_fini(&seeds);
    return err;
}

static void stage_write(void *context, const char *title, uint64_t done, uint64_t total)
{
    struct run_stage *stage = context;
    atomic_store_explicit(&stage->title, title, memory_order_relaxed);
    atomic_store_explicit(&stage->done, done, memory_order_relaxed);
    atomic_store_explicit(&stage->total, total, memory_order_relaxed);
}

static void stage_show(void *context)
{
    const struct run_stage *stage = ((const struct sim_run *)context)->stage;
    const char *title = atomic_load_explicit(&stage->title, memory_order_relaxed);
    if (title)
        progress_show(title, atomic_load_explicit(&stage->done, memory_order_relaxed),
                      atomic_load_explicit(&stage->total, memory_order_relaxed));
}

/* In a process of its own, because a plug-in may crash or never return. */
static enum err guest_work(void *context, uint32_t index, struct simulation_record *record,
                           struct why *why)
{
    struct sim_run *run = context;
    struct run_settings settings = run->settings;
    const struct observer observer = {.told = stage_write, .context = run->stage};
    settings.observer = &observer;
    settings.record = record;
    return run_scenario(&settings, run->result, why);
}

static void guest_lost(void *context, const struct sim_crew_loss *loss)
{
    struct sim_run *run = context;
    *run->result = (struct run_result){.failed = true, .failure.at = loss->reached};
    run->lost = true;
    sim_crew_loss_write(loss, run->guests.checker, run->guests.limit_seconds,
                        run->result->failure.text, sizeof run->result->failure.text);
}

static enum err guest_run(struct sim_run *run, struct call *call, struct why *why)
{
    const struct sim_crew_job job = {
        .total = 1,
        .workers = 1,
        .limit_seconds = run->guests.limit_seconds,
        .work = guest_work,
        .lost = guest_lost,
        .looked = stage_show,
        .context = run,
        .record = run->settings.record,
    };
    run->stage = sim_crew_memory(sizeof *run->stage);
    enum err err = run->stage ? sim_crew_run(&job, why) : why_memory(why);
    sim_crew_memory_end(run->stage, sizeof *run->stage);
    run->stage = NULL;
    if (err)
        return err;
    call->no = run->result->failed;
    return OK;
}

static enum err seed_run(struct sim_run *run, struct call *call, struct why *why)
{
    run->result = sim_crew_memory(sizeof *run->result);
    struct simulation_record *record = run->guests.history ? sim_crew_memory(sizeof *record) : NULL;
    run->settings.record = record;
    enum err err = !run->result || (run->guests.history && !record) ? why_memory(why)
                   : sim_guests_are_foreign(&run->guests)
                       ? guest_run(run, call, why)
                       : run_scenario(&run->settings, run->result, why);
    if (!err)
        run_report(run, call);
    sim_crew_memory_end(run->result, sizeof *run->result);
    sim_crew_memory_end(record, sizeof *record);
    return err;
}

static enum err sim_run_run(struct call *call, struct why *why)
{
    struct sim_run run = {.word = call->arguments[0]};
    struct why reason = {""};
    enum err err = settings_parse(&run, call, why);
    if (err)
        goto unload;
    err = sim_plan_open(&run.plan, run.word, why);
    if (err)
        goto unload;
    run.settings.plan = &run.plan.plan;
    err = (run.seeds > 1 ? seeds_run : seed_run)(&run, call, &reason);
    if (err)
        err = why_fail(why, err, "%s: %s", run.word, reason.text);
    sim_plan_close(&run.plan);
unload:
    sim_guests_fini(&run.guests);
    return err;
}

static const struct option sim_run_options[] = {
    {"service", "NAME|FILE",
     "the service: bench, ping, control, directory, ripc, store, or a shared object; may be "
     "repeated"},
    SERVICE_VALUE_OPTIONS,
    SIM_CHECKER_OPTIONS,
    {"load", "WHAT", "the load: keys, servers or links (bench), pings (ping), requests, nothing"},
    {"packets", "N", "packets, pings or requests a second from each server (default 1000)"},
    {"size", "BYTES", "payload of a packet (default 1400)"},
    {"request", "TEXT", "the request of local programs; # becomes a random number below 1000"},
    {"rate", "RATE", "rate of each direction of a link, such as 10Gbps (default 1Gbps)"},
    {"delay", "NSEC", "delay of a link, in addition to the time of a frame (default 1000)"},
    {"seconds", "S", "simulated seconds (default 1)"},
    {"boot", NULL, "start all servers first (default: they have been running for a long time)"},
    {"seed", "N", "seed of all random choices; with --seeds the first (default 1)"},
    {"seeds", "K",
     "number of seeds to run, from N on: a line for each, and their spread (default 1)"},
    {"threads", "N", "number of seeds to run at once (default: all cores)"},
    {0},
};

const struct command command_sim_run = {
    .name = "sim run",
    .group = "sim",
    .arguments = "SPEC|FILE",
    .summary = "run a service on a simulated cluster under a load",
    .description =
        "Every server of the network runs the code that weftd runs, in simulated time over "
        "simulated links: only the cables, the clock and the disks are models. A seed gives the "
        "same run every time, on every machine; the event hash shows this.\n\n"
        "bench sends packets to random keys, to random servers, or to neighbours at full rate; "
        "ping lets each server ping another one repeatedly. Any other service (weft's own control, "
        "directory and ripc, or a shared object; docs/guide/service.md explains how to write one) "
        "gets the requests of --request from a local program at each server in turn. Without "
        "--request the service runs without a load. With --checker a shared object plays the "
        "programs of the cluster, and says whether the answers are right (weft/simulation.h; "
        "docs/guide/checker.md writes one); the exit code is 1 if they are not. --service may be "
        "repeated: the load is for the first.\n\n"
        "A seed with a shared object runs in a process of its own. If it crashes, ends this "
        "process, or takes longer than --limit, a line says so, with the simulated time of the "
        "last event, and the exit code is 1.\n\n"
        "A frame takes the time to send its bytes and 38 more, as on Ethernet, at the rate of the "
        "link, and then the delay of the link. Computing takes no time, so the results show the "
        "network alone.\n\n"
        "With --json: topology, service, servers, seed, seconds, boot_seconds, sent, delivered, "
        "intercepted, dropped, drops (by reason), asked, answered, delivery_nsec and answer_nsec "
        "(count, median, percentile_99, least, most), hops, frames, events, link_busy_mean and "
        "link_busy_most (1 is all the time), memory, hash, numbers (the counters of the "
        "services, summed over all servers); with --checker also checker, failed, failure, "
        "failed_ms and, with --history, history (lines) and history_left_out (lines that did not "
        "fit). A run that is lost has failed, failure and failed_ms without --checker, too.\n\n"
        "With --seeds it runs once for each of the seeds N to N + K - 1 and prints a line for "
        "each, then the least, the median and the most of each column; run a single seed with "
        "--seed for the details. The output does not depend on the number of threads. With "
        "--json: topology, service, servers, seed, seeds, seconds, runs (seed, boot_seconds, "
        "sent, delivered, intercepted, dropped, asked, answered, delivery_nsec_median, "
        "delivery_nsec_percentile_99, answer_nsec_median, answer_nsec_percentile_99, "
        "link_busy_mean, link_busy_most, hash of each), spread (least, median and most of each "
        "of these), hash (of all); if seeds are lost, these are not in runs, but in failures "
        "(seed, text, at_ms).",
    .options = sim_run_options,
    .examples = "  weft sim run torus:8x8x8 --service bench --packets 20000 --seconds 0.1\n"
                "  weft sim run novacube:6x6 --service ping --boot\n"
                "  weft sim run torus:4x4x4 --service bench --seeds 20 --seconds 0.1\n"
                "  weft sim run torus:3x3x3 --service ./counter.so --request '+apples-#'\n"
                "  weft sim run torus:3x3 --service ./register.so --checker ./register_checker.so",
    .run = sim_run_run,
};
