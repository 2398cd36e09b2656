/* weft store bench */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cluster/cluster.h"
#include "cli/commands.h"
#include "cli/core/stop.h"
#include "cli/store/ycsb_run.h"

#define KEYS_MAX      UINT64_C(1000000000)
#define SECONDS_MAX   86400.0
#define PATIENCE_NSEC 10000000000LL
#define AT_ONCE       16

static const char bench_page[] =
    "workload  {workload}: {keys|key|keys}, chosen {choice}, values of {value_size|byte|bytes}\n"
    "programs  {programs}, each with {at_once|request|requests} at once"
    "{?rate_wanted}; {rate_wanted%.0f} requests a second in all{/}\n"
    "{?load}load      {load.requests|put|puts} in {load.seconds%.1f} s: {load.rate%.0f} a second, "
    "median {load.p50_ns%t}, 99 of 100 {load.p99_ns%t}\n{/}"
    "run       {requests|request|requests} in {seconds%.1f} s: {rate%.0f} a second\n"
    "{?absent}absent    {absent|read|reads} of keys that did not exist\n{/}"
    "{?conflicts}conflicts {conflicts}: a key was changed between its read and its write; both "
    "were "
    "repeated\n{/}"
    "{?unknown}unknown   {unknown|request|requests} without an answer in 10 s\n{/}"
    "{?not_begun}late      {not_begun|request|requests} were due and did not begin: the store does "
    "not "
    "keep up with the rate\n{/}"
    "{?failed}failed    {failed|request|requests}; the first: {error}\n{/}"
    "\n{=<>>>>>>>}operation\tcount\tmean\tmedian\t90%\t99%\t99.9%\tmost\n"
    "{#operations}{operation}\t{count}\t{mean_ns%t}\t{p50_ns%t}\t{p90_ns%t}\t{p99_ns%t}\t"
    "{p999_ns%t}\t{most_ns%t}\n{/}{/}"
    "\n{?closed_loop}Closed loop: a request begins when an earlier one has ended, so a slow store "
    "is "
    "asked less.\nWith --rate, times count from the moment at which each request was due.\n{:}"
    "Times count from the moment at which each request was due.\n{/}";

static void times_put(struct result *result, const struct times *times)
{
    result_number(result, "mean_ns", times_mean(times));
    result_uint(result, "p50_ns", times_quantile(times, 0.5));
    result_uint(result, "p90_ns", times_quantile(times, 0.9));
    result_uint(result, "p99_ns", times_quantile(times, 0.99));
    result_uint(result, "p999_ns", times_quantile(times, 0.999));
    result_uint(result, "most_ns", times->most);
}

static uint64_t requests_of(const struct ycsb_sums *sums)
{
    uint64_t count = 0;
    for (unsigned op = 0; op < YCSB_OPS; op++)
        count += sums->times[op].count;
    return count;
}

static double rate_of(const struct ycsb_sums *sums)
{
    return sums->seconds > 0 ? (double)requests_of(sums) / sums->seconds : 0;
}

static void load_put(struct result *result, const struct ycsb_sums *load)
{
    if (!load->times[YCSB_INSERT].count) {
        result_null(result, "load");
        return;
    }
    result_object(result, "load");
    result_uint(result, "requests", requests_of(load));
    result_number(result, "seconds", load->seconds);
    result_number(result, "rate", rate_of(load));
    times_put(result, &load->times[YCSB_INSERT]);
    result_end(result);
}

static void report(struct call *call, const struct ycsb_settings *settings,
                   const struct ycsb_sums *load, const struct ycsb_sums *sums)
{
    struct result *result = call_result(call, bench_page);
    int error = load->error ? load->error : sums->error;
    uint64_t failed = load->failed + sums->failed;
    result_string(result, "workload", settings->workload->name);
    result_string(result, "choice", ycsb_choice_names[settings->choice]);
    result_uint(result, "keys", settings->keys);
    result_uint(result, "value_size", settings->value_size);
    result_uint(result, "programs", settings->programs);
    result_uint(result, "at_once", settings->at_once);
    result_bool(result, "closed_loop", settings->rate == 0);
    if (settings->rate == 0)
        result_null(result, "rate_wanted");
    else
        result_number(result, "rate_wanted", settings->rate);
    load_put(result, load);
    result_uint(result, "requests", requests_of(sums));
    result_number(result, "seconds", sums->seconds);
    result_number(result, "rate", rate_of(sums));
    result_uint(result, "absent", sums->absent);
    result_uint(result, "conflicts", sums->conflicts);
    result_uint(result, "unknown", load->unknown + sums->unknown);
    result_uint(result, "not_begun", sums->not_begun);
    result_uint(result, "failed", failed);
    result_string(result, "error", error ? weft_store_strerror(error) : NULL);
    result_array(result, "operations");
    for (unsigned op = 0; op < YCSB_OPS; op++) {
        if (!settings->workload->percent[op])
            continue;
        result_object(result, NULL);
        result_string(result, "operation", ycsb_op_names[op]);
        result_uint(result, "count", sums->times[op].count);
        times_put(result, &sums->times[op]);
        result_end(result);
    }
    result_end(result);
    call->no = failed || load->unknown || sums->unknown;
}

/* ---- the options ---- */

static enum err counts_parse(const struct call *call, struct ycsb_settings *settings,
                             struct why *why)
{
    bool scans = settings->workload->percent[YCSB_SCAN];
    settings->keys = 10000;
    settings->value_size = 1024;
    settings->programs = 1;
    settings->at_once = scans ? 1 : AT_ONCE;
    settings->seed = 1;
    enum err err = call_uint(call, "keys", 1, KEYS_MAX, &settings->keys, why);
    if (!err)
        err = call_uint(call, "size", 0, WEFT_STORE_VALUE_MAX, &settings->value_size, why);
    if (!err)
        err = call_uint(call, "programs", 1, YCSB_PROGRAMS_MAX, &settings->programs, why);
    if (!err)
        err = call_uint(call, "at-once", 1, WEFT_STORE_UNDER_WAY, &settings->at_once, why);
    if (!err)
        err = call_uint(call, "seed", 0, UINT64_MAX, &settings->seed, why);
    if (!err && scans && settings->at_once > 1)
        err = why_fail(why, ERR_USAGE,
                       "--at-once %llu: workload E scans, one scan after the other; for more at "
                       "once use --programs",
                       (unsigned long long)settings->at_once);
    return err;
}

static enum err settings_parse(const struct call *call, struct ycsb_settings *settings,
                               struct why *why)
{
    int choice;
    settings->workload = ycsb_find(call->arguments[0]);
    settings->seconds = 10;
    settings->patience = PATIENCE_NSEC;
    if (!settings->workload)
        return why_fail(why, ERR_USAGE,
                        "%.40s: there is no such workload; expected A, B, C, D, E or F",
                        call->arguments[0]);
    choice = (int)settings->workload->choice;
    enum err err = counts_parse(call, settings, why);
    if (!err)
        err = call_real(call, "rate", 0.001, 1e9, &settings->rate, why);
    if (!err)
        err = call_real(call, "seconds", 0.001, SECONDS_MAX, &settings->seconds, why);
    if (!err)
        err = call_choice(call, "choice", ycsb_choice_names, &choice, why);
    settings->choice = (enum ycsb_choice)choice;
    return err;
}

/* ---- the command ---- */

static enum err phases_run(struct call *call, const struct ycsb_settings *settings, struct why *why)
{
    struct ycsb_run *run = NULL;
    struct ycsb_sums *sums = calloc(2, sizeof *sums);
    enum err err = sums ? ycsb_run_open(&run, settings, why) : why_memory(why);
    if (!err)
        stop_catch();
    if (!err && !call_has(call, "no-load"))
        err = ycsb_run_phase(run, true, &sums[0], why);
    if (!err && !stop_asked())
        err = ycsb_run_phase(run, false, &sums[1], why);
    if (!err && !requests_of(&sums[0]) && !requests_of(&sums[1]) && !stop_asked())
        err = why_fail(why, ERR_SYSTEM, "no request succeeded: %s",
                       weft_store_strerror(sums[0].error ? sums[0].error : sums[1].error));
    if (!err)
        report(call, settings, &sums[0], &sums[1]);
    ycsb_run_close(run);
    free(sums);
    return err;
}

static enum err bench_run(struct call *call, struct why *why)
{
    struct ycsb_settings settings = {.server = WEFT_ANY};
    struct cluster cluster;
    enum err err = settings_parse(call, &settings, why);
    if (!err)
        err = cluster_open(&cluster, call, why);
    if (err)
        return err;
    if (call_has(call, "from"))
        err = cluster_from(&cluster, call, &settings.server, why);
    settings.folder = cluster.folder;
    if (!err)
        err = phases_run(call, &settings, why);
    cluster_close(&cluster);
    return err;
}

static const struct option bench_options[] = {
    CLUSTER_OPTIONS,
    {"from", "ID", "the server to ask (default: the first that answers)"},
    {"keys", "N", "keys that are written first (default 10000)"},
    {"size", "BYTES", "of each value (default 1024)"},
    {"seconds", "S", "how long the run takes (default 10)"},
    {"programs", "N", "programs that ask, each with an attachment of its own (default 1)"},
    {"at-once", "N", "requests of a program at once, 1 to 64 (default 16; workload E: 1)"},
    {"rate", "N", "requests a second of all programs (default: as many as are answered)"},
    {"choice", "NAME", "how keys are chosen: zipfian, latest or uniform (default: the workload's)"},
    {"no-load", NULL, "the keys are there already"},
    {"seed", "N", "of what is drawn at random (default 1)"},
    {0},
};

const struct command command_store_bench = {
    .name = "store bench",
    .arguments = "WORKLOAD",
    .summary = "measure the store with the workloads of YCSB",
    .description =
        "Writes keys into the store of the cluster, then asks it for a while, and prints how many "
        "requests it answered and how long they took. The workloads are those of the Yahoo! Cloud "
        "Serving Benchmark:\n\n"
        "  A  50% reads, 50% updates       D  95% reads of new keys, 5% inserts\n"
        "  B  95% reads, 5% updates        E  95% scans of 1 to 100 keys, 5% inserts\n"
        "  C  reads                        F  50% reads, 50% reads that are followed by an "
        "update\n\n"
        "Keys are chosen by a zipfian distribution with the exponent 0.99, in D the newest ones "
        "most "
        "often. The update in F succeeds only if the key still has the version that was read; "
        "otherwise both are repeated.\n\n"
        "With --rate each request is due at a given moment, and its time counts from there: if the "
        "store stops for a second, all requests that were due then show it. Without --rate a "
        "request "
        "begins when an earlier one has ended, and a slow store is asked less.\n\n"
        "The keys begin with ycsb/ and stay in the store. The exit code is 1 if a request failed "
        "or "
        "had no answer within 10 seconds.\n\n"
        "With --json: workload, choice, keys, value_size, programs, at_once, closed_loop, "
        "rate_wanted, load (requests, seconds, rate and times, or null), requests, seconds, rate, "
        "absent, conflicts, unknown, not_begun, failed, error, operations (operation, count, "
        "mean_ns, p50_ns, "
        "p90_ns, p99_ns, p999_ns, most_ns).",
    .options = bench_options,
    .examples = "  weft store bench A --seconds 5\n"
                "  weft store bench B --rate 2000 --at-once 64\n"
                "  weft store bench E --programs 4 --no-load",
    .run = bench_run,
};
