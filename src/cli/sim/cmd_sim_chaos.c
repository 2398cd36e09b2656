/* weft sim chaos */
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/load.h"
#include "cli/core/parallel.h"
#include "cli/show/drop_result.h"
#include "cli/sim/sim_plan.h"
#include "sim/chaos/chaos.h"

#define SEEDS_MAX   10000000
#define SHOWN_MAX   20 /* failures that are printed; further ones are counted */
#define SERVERS_MAX 4096

struct chaos_call {
    const char *word; /* SPEC or FILE */
    struct sim_plan plan;
    uint64_t seed, seeds;
    uint32_t kinds;
    uint64_t plants;              /* planted bugs; 0 except in test builds */
    struct chaos_result *results; /* one for each seed */
};

/* ---- running ---- */

static struct chaos_settings settings_of(const struct chaos_call *chaos, uint64_t index)
{
    return (struct chaos_settings){
        .plan = &chaos->plan.plan,
        .seed = chaos->seed + index,
        .kinds = chaos->kinds,
        .plants = chaos->plants,
    };
}

static enum err seeds_work(void *context, uint32_t thread, uint32_t first, uint32_t count,
                           struct why *why)
{
    struct chaos_call *chaos = context;
    enum err err = OK;
    for (uint32_t i = first; !err && i < first + count; i++) {
        struct chaos_settings settings = settings_of(chaos, i);
        err = chaos_run(&settings, &chaos->results[i], why);
    }
    return err;
}

/* ---- reporting ---- */

struct sum {
    uint64_t failed, sent, delivered, taken, lost, copied, faults, events;
    uint64_t dropped[DROP_COUNT], dropped_all;
    uint64_t hash; /* of all seeds, in their order */
    psec back, simulated;
};

static struct sum sum_make(const struct chaos_call *chaos)
{
    struct sum sum = {0};
    for (uint64_t i = 0; i < chaos->seeds; i++) {
        const struct chaos_result *result = &chaos->results[i];
        sum.failed += result->checker != NULL;
        sum.sent += result->sent;
        sum.delivered += result->delivered;
        sum.taken += result->taken;
        sum.lost += result->lost;
        sum.copied += result->copied;
        sum.faults += result->faults;
        sum.events += result->events;
        sum.simulated += result->simulated;
        sum.back = result->back > sum.back ? result->back : sum.back;
        sum.hash = chaos->seeds == 1 ? result->hash : hash_mix(sum.hash ^ result->hash);
        for (unsigned reason = 0; reason < DROP_COUNT; reason++) {
            sum.dropped[reason] += result->dropped[reason];
            sum.dropped_all += result->dropped[reason];
        }
    }
    return sum;
}

static const char chaos_page[] =
    "{topology}: {seeds|seed|seeds} from {seed}, {faults|fault|faults}, {simulated_s%.1f} s "
    "simulated\n"
    "  {?clean}clean{:}NOT CLEAN{/}\n"
    "{?failed}  failed seeds                           {failed}\n{/}"
    "  recovered after the storm              within {back_ms_max%.0f} ms\n"
    "  packets sent                           {sent}\n"
    "  duplicated by wires                    {duplicated}\n"
    "  delivered                              {delivered}\n"
    "  intercepted                            {taken}\n"
    "  lost on wires                          {lost} (hellos and rows too)\n"
    "  dropped and counted                    {dropped_all}\n"
    "{#drops_shown}    {reason%-36s} {count}\n{/}"
    "  event hash                             {hash}\n"
    "{#failures}{?shown}seed {seed} at {at_ms%.3f} ms: {checker}: {text}\n  {replay}\n{/}{/}"
    "{?failures_more}and {failures_more} more\n{/}";

static void hash_put(struct result *result, uint64_t hash)
{
    text_printf(result_words(result, "hash"), "%016" PRIx64, hash);
}

static void failures_put(const struct chaos_call *chaos, struct result *result)
{
    uint64_t failed = 0;
    result_array(result, "failures");
    for (uint64_t i = 0; i < chaos->seeds; i++) {
        const struct chaos_result *found = &chaos->results[i];
        const struct chaos_settings settings = settings_of(chaos, i);
        if (!found->checker)
            continue;
        result_object(result, NULL);
        result_uint(result, "seed", chaos->seed + i);
        result_string(result, "checker", found->checker);
        result_string(result, "text", found->text);
        result_number(result, "at_ms", (double)found->failed_at / 1e9);
        hash_put(result, found->hash);
        chaos_replay_write(chaos->word, &settings, found, result_words(result, "replay"));
        result_bool(result_hide(result), "shown", failed++ < SHOWN_MAX);
        result_end(result);
    }
    result_end(result);
    result_uint(result_hide(result), "failures_more", failed > SHOWN_MAX ? failed - SHOWN_MAX : 0);
}

static void report(const struct chaos_call *chaos, const struct sum *sum, struct result *result)
{
    result_string(result, "topology", chaos->word);
    result_uint(result, "seed", chaos->seed);
    result_uint(result, "seeds", chaos->seeds);
    fault_kinds_write(chaos->kinds, result_words(result, "allowed"));
    result_bool(result, "clean", sum->failed == 0);
    result_uint(result, "failed", sum->failed);
    result_uint(result, "faults", sum->faults);
    result_number(result, "simulated_s", (double)sum->simulated / (double)PSEC_PER_SECOND);
    result_number(result, "back_ms_max", (double)sum->back / 1e9);
    result_uint(result, "sent", sum->sent);
    result_uint(result, "duplicated", sum->copied);
    result_uint(result, "delivered", sum->delivered);
    result_uint(result, "taken", sum->taken);
    result_uint(result, "lost", sum->lost);
    drop_result(result, "dropped", sum->dropped);
    result_uint(result_hide(result), "dropped_all", sum->dropped_all);
    result_uint(result, "events", sum->events);
    hash_put(result, sum->hash);
    failures_put(chaos, result);
}

/* ---- the call ---- */

/* Only the program for tests has --plant, because no other program contains the bugs. */
static enum err plant_read(struct chaos_call *chaos, const struct call *call, struct why *why)
{
    enum err err = OK;
#ifdef WEFT_PLANTED_BUGS
    const char *names[CHAOS_PLANT_COUNT + 1] = {NULL};
    int which = -1;
    for (unsigned i = 0; i < CHAOS_PLANT_COUNT; i++)
        names[i] = chaos_plants[i].name;
    err = call_choice(call, "plant", names, &which, why);
    chaos->plants = which < 0 ? 0 : chaos_plants[which].fault;
#endif
    return err;
}

static enum err call_read(struct chaos_call *chaos, const struct call *call, uint32_t *threads,
                          struct why *why)
{
    const char *faults = call_option(call, "faults");
    struct why reason = {""};
    enum err err = call_uint(call, "seed", 0, UINT64_MAX - SEEDS_MAX, &chaos->seed, why);
    if (!err)
        err = call_uint(call, "seeds", 1, SEEDS_MAX, &chaos->seeds, why);
    if (!err)
        err = parallel_threads(call, threads, why);
    if (!err)
        err = plant_read(chaos, call, why);
    if (!err && faults && fault_kinds_read(faults, &chaos->kinds, &reason))
        err = why_fail(why, ERR_USAGE, "--faults: %s", reason.text);
    return err;
}

static enum err seeds_run(struct chaos_call *chaos, uint32_t threads, struct why *why)
{
    const struct parallel_job job = {
        .title = "seeds",
        .total = (uint32_t)chaos->seeds,
        .step = 1,
        .work = seeds_work,
        .context = chaos,
    };
    struct why reason = {""};
    enum err err = parallel_run(&job, threads, &reason);
    return err ? load_refuse(chaos->word, err, &reason, why) : OK;
}

static enum err chaos_call_run(struct call *call, struct why *why)
{
    struct chaos_call chaos = {
        .word = call->argument_count ? call->arguments[0] : "torus:3x3x3",
        .seed = 1,
        .seeds = 1,
        .kinds = FAULT_ALL,
    };
    uint32_t threads;
    enum err err = call_read(&chaos, call, &threads, why);
    if (!err)
        err = sim_plan_open(&chaos.plan, chaos.word, why);
    if (err)
        return err;
    chaos.results = calloc(chaos.seeds, sizeof *chaos.results);
    err = !chaos.results ? why_memory(why)
          : chaos.plan.plan.server_count > SERVERS_MAX
              ? why_fail(why, ERR_USAGE, "%s: more than %d servers", chaos.word, SERVERS_MAX)
              : seeds_run(&chaos, threads, why);
    if (!err) {
        struct sum sum = sum_make(&chaos);
        report(&chaos, &sum, call_result(call, chaos_page));
        call->no = sum.failed > 0;
    }
    free(chaos.results);
    sim_plan_close(&chaos.plan);
    return err;
}

static const struct option chaos_options[] = {
    {"seed", "N", "the first seed (default 1)"},
    {"seeds", "K", "number of seeds to run, from N on (default 1)"},
    {"faults", "LIST",
     "only these kinds of faults, separated by commas; or all, none (default all)"},
#ifdef WEFT_PLANTED_BUGS
    {"plant", "NAME", "plant a bug for the checkers to find; src/node/planted.h lists them"},
#endif
    {"threads", "N", "number of seeds to run at once (default: all cores)"},
    {0},
};

const struct command command_sim_chaos = {
    .name = "sim chaos",
    .arguments = "[SPEC|FILE]",
    .summary = "run a simulated cluster under random faults, and check everything",
    .description =
        "Runs complete nodes on simulated links (default torus:3x3x3). A seed determines what goes "
        "wrong during a storm of 0.6 s: the lengths of cables, the interval of hellos, some kinds "
        "of faults, and where, when and how badly these happen. Then all faults are repaired, and "
        "within 3 s everything must work again as if nothing had happened. Services send numbered "
        "packets to random keys and servers all the time.\n\n"
        "Faults:\n"
        "  loss         frames are lost\n"
        "  corruption   bits of frames are flipped\n"
        "  duplication  frames arrive twice\n"
        "  jitter       frames arrive late, and may overtake each other\n"
        "  one_way      one direction of a link is dead\n"
        "  flap         a link goes down and up repeatedly\n"
        "  plane        a plane of a torus, or part of a graph, is cut off\n"
        "  cut          the operator cuts a cable at one end\n"
        "  crash        a server is down until the end of the storm\n"
        "  restart      a server goes down, its neighbours notice, and it comes back\n"
        "  quick        a server goes down and comes back before any other notices\n"
        "  pause        a server does nothing for a while\n"
        "  clock        the clock of a server is slow or fast\n"
        "  hang         a server does nothing, and the links to it are full\n"
        "  late         some frames of a link arrive very late, also after it was down in between\n"
        "  carrier      one end of a link is told that the other is gone, and later that it is "
        "back\n"
        "  slow         a server is stopped shortly, again and again\n"
        "  jump         the clock of a server jumps ahead\n"
        "  rewind       a server restarts with a lower incarnation, as if its wall clock had gone "
        "back\n"
        "On a single server, torus:1, only the faults of servers happen. A network in several "
        "pieces is refused, because its servers could never all reach each other.\n\n"
        "Checkers:\n"
        "  roots        no server delivers a packet for a key while an earlier server of the "
        "key's\n"
        "               list is settled (it answers for keys) and connected to the first one by\n"
        "               links that are up at both ends, nor before it is settled itself\n"
        "  silence      no server handles packets, or answers local programs, while it considers "
        "a\n"
        "               link usable that was silent for too long: it may have been stopped and\n"
        "               replaced\n"
        "  links        a link goes down only for a reason, and is not up while it is cut\n"
        "  ledger       every packet was delivered, intercepted, dropped and counted, or lost on "
        "a\n"
        "               wire, exactly once; nothing is dropped after all have recovered\n"
        "  routes       rows of the link state only get newer, no packet leaves by a dead port, "
        "and\n"
        "               afterwards all servers know all links, have the planned distances, and "
        "send\n"
        "               packets by shortest paths\n"
        "  calls        services are told of each server that comes or goes, once; see each "
        "packet\n"
        "               that passes, once; get packets with the right source and destination; and\n"
        "               get their timers in time\n"
        "  leaks        no packet is left over at the end\n"
        "  fair         services that fill a link share it by their weights\n\n"
        "For each failure it prints one line and the command that replays it. The event hash of "
        "a seed is the same on every machine. The exit code is 1 if a checker found a failure.\n\n"
        "With --json: topology, seed, seeds, allowed (kinds of faults), clean, failed (seeds), "
        "faults, simulated_s, back_ms_max, sent, duplicated, delivered, taken, lost, dropped (by "
        "reason), events, hash (of all seeds, in their order), failures (seed, checker, text, "
        "at_ms, hash and replay of each).",
    .options = chaos_options,
    .examples = "  weft sim chaos torus:3x3x3 --seeds 200\n"
                "  weft sim chaos jellyfish:n=27,degree=6 --seed 59 --faults loss,plane",
    .run = chaos_call_run,
};
