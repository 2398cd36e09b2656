/* weft sim chaos */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/load.h"
#include "cli/core/parallel.h"
#include "cli/sim/sim_plan.h"
#include "sim/chaos.h"

#define SEEDS_MAX   10000000
#define SHOWN_MAX   20 /* failures printed one by one */
#define SERVERS_MAX 4096

struct chaos_call {
    const char *word; /* SPEC or FILE */
    struct sim_plan plan;
    uint64_t seed, seeds;
    uint32_t kinds;
    const struct chaos_plant *plant; /* NULL: none */
    struct chaos_result *results;    /* one a seed */
};

/* ---- running ---- */

static struct chaos_settings settings_of(const struct chaos_call *chaos, uint64_t index)
{
    return (struct chaos_settings){
        .plan = &chaos->plan.plan,
        .seed = chaos->seed + index,
        .kinds = chaos->kinds,
        .plants = chaos->plant ? chaos->plant->fault : 0,
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
    uint64_t hash; /* of all, in order of seeds */
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

static void replay_write(const struct chaos_call *chaos, uint64_t index, struct text *out)
{
    struct chaos_settings settings = settings_of(chaos, index);
    chaos_replay_write(chaos->word, &settings, &chaos->results[index], out);
}

static void failures_print(const struct chaos_call *chaos, struct text *out)
{
    unsigned shown = 0;
    for (uint64_t i = 0; i < chaos->seeds; i++) {
        const struct chaos_result *result = &chaos->results[i];
        if (!result->checker || shown++ >= SHOWN_MAX)
            continue;
        text_printf(out, "seed %" PRIu64 " at %.3f ms: %s: %s\n  ", chaos->seed + i,
                    (double)result->failed_at / 1e9, result->checker, result->text);
        replay_write(chaos, i, out);
        text_puts(out, "\n");
    }
    if (shown > SHOWN_MAX)
        text_printf(out, "and %u more\n", shown - SHOWN_MAX);
}

static void report_print(const struct chaos_call *chaos, const struct sum *sum, struct text *out)
{
    text_printf(out, "%s: ", chaos->word);
    text_count(out, chaos->seeds, "seed", "seeds");
    text_printf(out, " from %" PRIu64 ", ", chaos->seed);
    text_count(out, sum->faults, "fault", "faults");
    text_printf(out, ", %.1f s simulated\n", (double)sum->simulated / (double)PSEC_PER_SECOND);
    text_printf(out, "  %s\n", sum->failed ? "NOT CLEAN" : "clean");
    if (sum->failed)
        text_printf(out, "  failed seeds                           %" PRIu64 "\n", sum->failed);
    text_printf(out, "  back after the storm                   at most %.0f ms\n",
                (double)sum->back / 1e9);
    text_printf(out, "  packets sent                           %" PRIu64 "\n", sum->sent);
    text_printf(out, "  duplicated by wires                    %" PRIu64 "\n", sum->copied);
    text_printf(out, "  delivered                              %" PRIu64 "\n", sum->delivered);
    text_printf(out, "  taken up on their way                  %" PRIu64 "\n", sum->taken);
    text_printf(out, "  lost on wires                          %" PRIu64 " (hellos and rows too)\n",
                sum->lost);
    text_printf(out, "  dropped and counted                    %" PRIu64 "\n", sum->dropped_all);
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        if (sum->dropped[reason])
            text_printf(out, "    %-36s %" PRIu64 "\n", drop_texts[reason], sum->dropped[reason]);
    text_printf(out, "  event hash                             %016" PRIx64 "\n", sum->hash);
    failures_print(chaos, out);
}

static void hash_put(struct json *json, const char *key, uint64_t hash)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    json_put_string(json, key, text);
}

/* A text that was made for this. */
static void text_json(struct json *json, const char *key, struct text *text)
{
    json->out->failed |= !text_ok(text);
    json_put_string(json, key, text_ok(text) ? text->data : "");
    text_fini(text);
}

static void failures_json(const struct chaos_call *chaos, struct json *json)
{
    json_key(json, "failures");
    json_array(json);
    for (uint64_t i = 0; i < chaos->seeds; i++) {
        const struct chaos_result *result = &chaos->results[i];
        if (!result->checker)
            continue;
        struct text replay = {0};
        replay_write(chaos, i, &replay);
        json_object(json);
        json_put_uint(json, "seed", chaos->seed + i);
        json_put_string(json, "checker", result->checker);
        json_put_string(json, "text", result->text);
        json_put_number(json, "at_ms", (double)result->failed_at / 1e9);
        hash_put(json, "hash", result->hash);
        text_json(json, "replay", &replay);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void report_json(const struct chaos_call *chaos, const struct sum *sum, struct text *out)
{
    struct json json = json_make(out, true);
    struct text kinds = {0};
    fault_kinds_write(chaos->kinds, &kinds);
    json_object(&json);
    json_put_string(&json, "topology", chaos->word);
    json_put_uint(&json, "seed", chaos->seed);
    json_put_uint(&json, "seeds", chaos->seeds);
    text_json(&json, "allowed", &kinds);
    json_put_bool(&json, "clean", sum->failed == 0);
    json_put_uint(&json, "failed", sum->failed);
    json_put_uint(&json, "faults", sum->faults);
    json_put_number(&json, "simulated_s", (double)sum->simulated / (double)PSEC_PER_SECOND);
    json_put_number(&json, "back_ms_max", (double)sum->back / 1e9);
    json_put_uint(&json, "sent", sum->sent);
    json_put_uint(&json, "duplicated", sum->copied);
    json_put_uint(&json, "delivered", sum->delivered);
    json_put_uint(&json, "taken", sum->taken);
    json_put_uint(&json, "lost", sum->lost);
    json_key(&json, "dropped");
    json_object(&json);
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        json_put_uint(&json, drop_names[reason], sum->dropped[reason]);
    json_end(&json, '}');
    json_put_uint(&json, "events", sum->events);
    hash_put(&json, "hash", sum->hash);
    failures_json(chaos, &json);
    json_end(&json, '}');
}

/* ---- the call ---- */

static enum err plant_read(struct chaos_call *chaos, const struct call *call, struct why *why)
{
    const char *names[CHAOS_PLANT_COUNT + 1] = {NULL};
    int which = -1;
    for (unsigned i = 0; i < CHAOS_PLANT_COUNT; i++)
        names[i] = chaos_plants[i].name;
    enum err err = call_choice(call, "plant", names, &which, why);
    chaos->plant = which < 0 ? NULL : &chaos_plants[which];
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
        (call->json ? report_json : report_print)(&chaos, &sum, &call->out);
        call->health = sum.failed ? ERR_INPUT : OK;
    }
    free(chaos.results);
    sim_plan_close(&chaos.plan);
    return err;
}

static const struct option chaos_options[] = {
    {"seed", "N", "the first seed (default 1)"},
    {"seeds", "K", "run so many, from N on (default 1)"},
    {"faults", "LIST", "only faults of these kinds: names with commas, all, none (default all)"},
    {"plant", "NAME", "plant a bug for the checkers to find: roots, stale, port, leak, unfair"},
    {"threads", "N", "run so many seeds at once (default all cores)"},
    {0},
};

const struct command command_sim_chaos = {
    .name = "sim chaos",
    .arguments = "[SPEC|FILE]",
    .summary = "random faults in a simulated cluster, with everything checked",
    .description =
        "Runs whole nodes on simulated links (default torus:3x3x3). A seed decides what goes "
        "wrong during a storm of 0.6 s, and how: lengths of cables, how often hellos are said, "
        "some kinds of faults, where, when and how badly. Then everything is healed, and all must "
        "come back within 3 s and work as if nothing had been. Services send numbered packets to "
        "random keys and servers all the while.\n\n"
        "Faults:\n"
        "  loss         frames are lost\n"
        "  corruption   bits of frames are turned over\n"
        "  duplication  frames arrive twice\n"
        "  jitter       frames arrive late, and may overtake each other\n"
        "  one_way      one direction of a link is dead\n"
        "  flap         a link goes down and up again and again\n"
        "  plane        a plane of a torus, or part of a graph, is cut off\n"
        "  cut          the operator cuts a cable at one end\n"
        "  crash        a server is gone until the calm\n"
        "  restart      a server is gone, noticed, and comes back\n"
        "  quick        a server is back before anybody noticed\n"
        "  pause        a server does nothing for a while\n"
        "  clock        a server's clock is slow or fast\n"
        "  hang         a server does nothing, and the links to it are full\n"
        "A server alone, torus:1, has those of servers only. A network in several pieces is "
        "refused: not all of it could come back.\n\n"
        "Checkers:\n"
        "  roots        nobody delivers a key while a server before it in the key's list is "
        "settled and\n"
        "               connected to it by links that are up at both ends\n"
        "  ledger       every packet was delivered, taken up, dropped and counted or lost on a "
        "wire, once;\n"
        "               nothing is dropped after all are back\n"
        "  routes       rows of the link state only get newer, nothing leaves by a dead port, all "
        "know\n"
        "               everything again in the calm and are as far from each other as planned\n"
        "  leaks        no packet is left over in the end\n"
        "  fair         services that fill a link share it by their weights\n\n"
        "Each failure prints one line and the command that replays it. The event hash is the same "
        "whenever and wherever a seed runs. The exit code is 1 if a checker found something.\n\n"
        "With --json: topology, seed, seeds, allowed (kinds of faults), clean, failed (seeds), "
        "faults, simulated_s, back_ms_max, sent, duplicated, delivered, taken, lost, dropped (by "
        "reason), events, hash (of all seeds, in their order), failures (seed, checker, text, "
        "at_ms, hash and replay of each).",
    .options = chaos_options,
    .examples = "  weft sim chaos torus:3x3x3 --seeds 200\n"
                "  weft sim chaos jellyfish:n=27,degree=6 --seed 59 --faults loss,plane\n"
                "  weft sim chaos --seeds 40 --plant roots",
    .run = chaos_call_run,
};
