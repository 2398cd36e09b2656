/* weft sim chaos */
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/load.h"
#include "cli/core/parallel.h"
#include "cli/service/service_values.h"
#include "cli/show/drop_result.h"
#include "cli/sim/sim_crew.h"
#include "cli/sim/sim_guests.h"
#include "cli/sim/sim_plan.h"
#include "cli/sim/sim_store.h"
#include "services/store/planted.h"
#include "sim/chaos/chaos.h"
#include "sim/store/store_siege.h"

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
    const struct call *call;
    struct sim_guests guests;
    struct sim_store store;
    struct simulation_record *record; /* of one seed, with --history */
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

static enum err seed_run(struct chaos_call *chaos, uint32_t index, struct simulation_record *record,
                         struct why *why)
{
    const struct chaos_settings settings = settings_of(chaos, index);
    const struct chaos_guests guests = {
        .services = chaos->guests.services,
        .apart = chaos->guests.count > 0,
        .configuration = &chaos->guests.values,
        .checker = chaos->guests.checker,
        .record = record,
    };
    return sim_store_run(&chaos->store, &settings, &guests, &chaos->results[index], why);
}

/* In a process of its own. */
static enum err crew_work(void *context, uint32_t index, struct simulation_record *record,
                          struct why *why)
{
    return seed_run(context, index, record, why);
}

static void crew_lost(void *context, const struct sim_crew_loss *loss)
{
    struct chaos_call *chaos = context;
    struct chaos_result *result = &chaos->results[loss->index];
    const struct weft_checker *checker = chaos->guests.checker;
    *result = (struct chaos_result){.kinds = chaos->kinds, .failed_at = loss->reached};
    result->checker = checker && loss->place != SIMULATION_OUTSIDE ? checker->name
                      : loss->late                                 ? "time"
                                                                   : "crash";
    sim_crew_loss_write(loss, checker, chaos->guests.limit_seconds, result->text,
                        sizeof result->text);
}

static enum err seeds_work(void *context, uint32_t thread, uint32_t first, uint32_t count,
                           struct why *why)
{
    struct chaos_call *chaos = context;
    enum err err = OK;
    for (uint32_t i = first; !err && i < first + count; i++)
        err = seed_run(chaos, i, NULL, why);
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
    "{?failures_more}and {failures_more} more\n{/}" SIM_HISTORY_PAGE;

static void hash_put(struct result *result, uint64_t hash)
{
    text_printf(result_words(result, "hash"), "%016" PRIx64, hash);
}

/* The command works as it is pasted into a shell in the same folder. */
static void replay_write(const struct chaos_call *chaos, const struct chaos_settings *settings,
                         const struct chaos_result *found, struct text *out)
{
    struct text word = {0};
    sim_guests_quote(&word, chaos->word);
    if (text_ok(&word))
        chaos_replay_write(word.data, settings, found, out);
    text_fini(&word);
    sim_guests_options_write(chaos->call, out);
    if (chaos->store.siege)
        text_puts(out, " --siege");
#ifdef WEFT_PLANTED_BUGS
    if (store_bugs)
        text_printf(out, " --plant-store %s", call_option(chaos->call, "plant-store"));
#endif
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
        replay_write(chaos, &settings, found, result_words(result, "replay"));
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
    if (chaos->record)
        sim_guests_history_put(chaos->record, result);
}

/* ---- the call ---- */

#ifdef WEFT_PLANTED_BUGS
#define STORE_NAME_OF(bug, name, text) name,
static const char *const store_names[STORE_BUGS + 1] = {
    STORE_LOG_PLANTED(STORE_NAME_OF) STORE_VIEW_PLANTED(STORE_NAME_OF)
        STORE_SPREAD_PLANTED(STORE_NAME_OF) STORE_REPLICA_PLANTED(STORE_NAME_OF)
            STORE_SERVICE_PLANTED(STORE_NAME_OF)};
#undef STORE_NAME_OF
#endif

/* Only the program for tests has --plant, because no other program contains the bugs. */
static enum err plant_read(struct chaos_call *chaos, const struct call *call, struct why *why)
{
    enum err err = OK;
#ifdef WEFT_PLANTED_BUGS
    const char *names[CHAOS_PLANT_COUNT + 1] = {NULL};
    int which = -1, bug = -1;
    for (unsigned i = 0; i < CHAOS_PLANT_COUNT; i++)
        names[i] = chaos_plants[i].name;
    err = call_choice(call, "plant", names, &which, why);
    if (!err)
        err = call_choice(call, "plant-store", store_names, &bug, why);
    chaos->plants = which < 0 ? 0 : chaos_plants[which].fault;
    store_bugs = bug < 0 ? 0 : UINT64_C(1) << bug;
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
    if (!err)
        err = sim_guests_read(&chaos->guests, call, why);
    if (!err)
        err = sim_store_read(&chaos->store, &chaos->guests, call, why);
    if (!err && chaos->store.siege && faults && chaos->kinds)
        err = why_fail(why, ERR_USAGE, "--faults: a siege draws its own; leave out one of the two");
    if (!err && chaos->guests.history && (chaos->seeds > 1 || !chaos->guests.checker))
        err = why_fail(why, ERR_USAGE, "--history: needs --checker or the store, and one seed");
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
    const struct sim_crew_job crew = {
        .title = "seeds",
        .total = (uint32_t)chaos->seeds,
        .workers = threads,
        .limit_seconds = chaos->guests.limit_seconds,
        .work = crew_work,
        .lost = crew_lost,
        .context = chaos,
        .record = chaos->record,
    };
    struct why reason = {""};
    enum err err = sim_guests_are_foreign(&chaos->guests) ? sim_crew_run(&crew, &reason)
                                                          : parallel_run(&job, threads, &reason);
    return err ? load_refuse(chaos->word, err, &reason, why) : OK;
}

static enum err memory_take(struct chaos_call *chaos, struct why *why)
{
    chaos->results = sim_crew_memory(chaos->seeds * sizeof *chaos->results);
    if (chaos->guests.history)
        chaos->record = sim_crew_memory(sizeof *chaos->record);
    return !chaos->results || (chaos->guests.history && !chaos->record) ? why_memory(why) : OK;
}

static enum err plan_run(struct chaos_call *chaos, struct call *call, uint32_t threads,
                         struct why *why)
{
    uint32_t most = chaos->store.siege ? STORE_SIEGE_SERVERS : SERVERS_MAX;
    if (chaos->plan.plan.server_count > most)
        return why_fail(why, ERR_USAGE, "%s: more than %u servers", chaos->word, most);
    enum err err = memory_take(chaos, why);
    if (!err)
        err = seeds_run(chaos, threads, why);
    if (!err) {
        struct sum sum = sum_make(chaos);
        report(chaos, &sum, call_result(call, chaos_page));
        call->no = sum.failed > 0;
    }
    sim_crew_memory_end(chaos->results, chaos->seeds * sizeof *chaos->results);
    sim_crew_memory_end(chaos->record, sizeof *chaos->record);
    return err;
}

static enum err chaos_call_run(struct call *call, struct why *why)
{
    struct chaos_call chaos = {
        .word = call->argument_count ? call->arguments[0] : "torus:3x3x3",
        .seed = 1,
        .seeds = 1,
        .kinds = FAULT_ALL,
        .call = call,
    };
    uint32_t threads;
    enum err err = call_read(&chaos, call, &threads, why);
    if (!err)
        err = sim_plan_open(&chaos.plan, chaos.word, why);
    if (!err) {
        err = plan_run(&chaos, call, threads, why);
        sim_plan_close(&chaos.plan);
    }
    sim_guests_fini(&chaos.guests);
    return err;
}

static const struct option chaos_options[] = {
    {"seed", "N", "the first seed (default 1)"},
    {"seeds", "K", "number of seeds to run, from N on (default 1)"},
    {"faults", "LIST",
     "only these kinds of faults, separated by commas; or all, none; -KIND takes one out (default "
     "all)"},
    {"service", "NAME|FILE", "also run this service, often a shared object; may be repeated"},
    {"siege", NULL,
     "with --service store: a storm of 20 s, in which one server after the other fails for longer"},
    SERVICE_VALUE_OPTIONS,
    SIM_CHECKER_OPTIONS,
#ifdef WEFT_PLANTED_BUGS
    {"plant", "NAME", "plant a bug for the checkers to find; src/node/planted.h lists them"},
    {"plant-store", "NAME", "the same for the store; src/services/store/planted.h lists them"},
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
        "packets all the time.\n\n"
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
        "  late         some frames of a link arrive very late\n"
        "  carrier      one end of a link is told for a while that the other is gone\n"
        "  slow         a server is stopped shortly, again and again\n"
        "  jump         the clock of a server jumps ahead\n"
        "  rewind       a server restarts with a lower incarnation, as if its wall clock had gone "
        "back\n"
        "  empty        one server restarts with an empty disk\n"
        "  disk_lost    a crash loses writes that were not synced\n"
        "  disk_torn    a crash cuts writes short that were not synced\n"
        "  disk_rot     a read finds a bit flipped\n"
        "  disk_fail    syncs fail\n"
        "  disk_full    a disk is full\n"
        "  disk_slow    a disk is slow\n"
        "Servers have disks only if a service uses them. A single server, torus:1, has only the "
        "faults of servers. A network in several pieces is refused.\n\n"
        "Checkers:\n"
        "  roots        no server delivers a packet for a key while an earlier server of the "
        "key's\n"
        "               list is settled (it answers for keys) and connected to the first one by\n"
        "               links that are up at both ends, nor before it is settled itself\n"
        "  silence      no server handles packets, or answers local programs, while it considers "
        "a\n"
        "               link usable that was silent for too long\n"
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
        "With --service it also runs your services, and with --checker a shared object that plays "
        "the programs of the cluster and checks the answers (docs/guide/checker.md). Such a seed "
        "also fails if it crashes, or takes longer than --limit.\n\n"
        "With --service store clients change keys: an order of all requests must explain all "
        "answers, and in the end all copies are equal (docs/testing.md).\n\n"
        "For each failure it prints one line and the command that replays it. The event hash of "
        "a seed is the same on every machine. The exit code is 1 if a checker found a failure.\n\n"
        "With --json: topology, seed, seeds, allowed (kinds of faults), clean, failed (seeds), "
        "faults, simulated_s, back_ms_max, sent, duplicated, delivered, taken, lost, dropped (by "
        "reason), events, hash (of all seeds, in their order), failures (seed, checker, text, "
        "at_ms, hash and replay of each); with --history also history (lines) and "
        "history_left_out (more lines).",
    .options = chaos_options,
    .examples =
        "  weft sim chaos torus:3x3x3 --seeds 200\n"
        "  weft sim chaos jellyfish:n=27,degree=6 --seed 59 --faults loss,plane\n"
        "  weft sim chaos torus:3x3x3 --service store --seeds 20\n"
        "  weft sim chaos torus:3x3 --service ./register.so --checker ./register_checker.so "
        "--seeds 200",
    .run = chaos_call_run,
};
