#include "cli/store/ycsb.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/hash.h"

const char *const ycsb_op_names[YCSB_OPS] = {"read", "update", "insert", "scan", "modify"};
const char *const ycsb_choice_names[] = {"zipfian", "latest", "uniform", NULL};

const struct ycsb_workload *ycsb_find(const char *name)
{
    static const struct ycsb_workload workloads[] = {
        {"A", {[YCSB_READ] = 50, [YCSB_UPDATE] = 50}, YCSB_ZIPF},
        {"B", {[YCSB_READ] = 95, [YCSB_UPDATE] = 5}, YCSB_ZIPF},
        {"C", {[YCSB_READ] = 100}, YCSB_ZIPF},
        {"D", {[YCSB_READ] = 95, [YCSB_INSERT] = 5}, YCSB_LATEST},
        {"E", {[YCSB_SCAN] = 95, [YCSB_INSERT] = 5}, YCSB_ZIPF},
        {"F", {[YCSB_READ] = 50, [YCSB_MODIFY] = 50}, YCSB_ZIPF},
    };
    for (unsigned i = 0; i < sizeof workloads / sizeof *workloads; i++)
        if (!strcasecmp(name, workloads[i].name))
            return &workloads[i];
    return NULL;
}

void ycsb_init(struct ycsb *ycsb, const struct ycsb_workload *workload, enum ycsb_choice choice,
               struct ycsb_keys *keys, uint64_t seed, uint64_t stream)
{
    *ycsb = (struct ycsb){.workload = workload,
                          .choice = choice,
                          .keys = keys,
                          .zipf = zipf_make(keys->loaded, YCSB_SKEW),
                          .rng = rng_make(seed, stream)};
}

static uint64_t key_next(struct ycsb *ycsb)
{
    uint64_t loaded = ycsb->keys->loaded;
    uint64_t next = atomic_load_explicit(&ycsb->keys->next, memory_order_relaxed);
    if (ycsb->choice == YCSB_UNIFORM)
        return rng_below(&ycsb->rng, loaded);
    uint64_t rank = zipf_next(&ycsb->zipf, &ycsb->rng) - 1;
    if (ycsb->choice == YCSB_ZIPF)
        return rank;
    uint64_t known = next - loaded > ycsb->keys->margin ? next - ycsb->keys->margin : loaded;
    return known - 1 - rank; /* the newest one most often */
}

struct ycsb_request ycsb_next(struct ycsb *ycsb)
{
    struct ycsb_request request = {0};
    unsigned left = (unsigned)rng_below(&ycsb->rng, 100), op = 0;
    while (left >= ycsb->workload->percent[op])
        left -= ycsb->workload->percent[op++];
    request.op = (enum ycsb_op)op;
    if (request.op == YCSB_INSERT)
        request.key = atomic_fetch_add_explicit(&ycsb->keys->next, 1, memory_order_relaxed);
    else
        request.key = key_next(ycsb);
    if (request.op == YCSB_SCAN)
        request.scanned = 1 + (uint32_t)rng_below(&ycsb->rng, YCSB_SCAN_MOST);
    return request;
}

void ycsb_key_write(uint64_t key, char name[YCSB_KEY_SIZE])
{
    snprintf(name, YCSB_KEY_SIZE, YCSB_PREFIX "%016" PRIx64, hash_mix(key));
}
