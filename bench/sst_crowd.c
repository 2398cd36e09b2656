/* sst_crowd: the times of one process of a crowd, kept in memory that its parent can read. */
#include <string.h>

#include "base/check.h"
#include "bench.h"
#include "sst_sides.h"
#include "transport/clock.h"

struct play {
    const struct crowd_side *side;
    struct crowd_task task;
};

static void play_run(struct crowd *crowd, const void *argument)
{
    const struct play *play = argument;
    if (!play->side->loose)
        crowd_pin(crowd->index);
    play->side->run(crowd, &play->task);
}

enum err crowd_side_run(const struct crowd_side *side, const struct job *job, uint32_t size,
                        struct pair_result *result, struct why *why)
{
    struct laps *laps = crowd_memory(sizeof *laps);
    unsigned char *memory = crowd_memory(CROWD_MEMORY_SIZE);
    struct play play = {side,
                        {job, laps, memory, size > (uint32_t)crowd_cores(),
                         ((uint64_t)job->batches + 1) * job->count}};
    struct crowd_end end;
    *result = (struct pair_result){0};
    assert(job->batches <= LAP_MAX && job->count > 0);
    if (!laps || !memory) {
        crowd_memory_free(memory, CROWD_MEMORY_SIZE);
        crowd_memory_free(laps, sizeof *laps);
        return why_memory(why);
    }
    laps->size = job->count;
    enum err err = crowd_run(&(struct crowd_play){side->name, size, play_run, &play}, &end, why);
    result->missing = end.missing;
    memcpy(result->reason, end.reason, sizeof result->reason - 1);
    if (laps->count > 1)
        result->value = bench_median(laps->values + 1, (int)laps->count - 1);
    crowd_memory_free(memory, CROWD_MEMORY_SIZE);
    crowd_memory_free(laps, sizeof *laps);
    return err;
}

void laps_start(struct laps *laps)
{
    laps->left = laps->size;
    laps->since = clock_now();
}

void laps_lap(struct laps *laps)
{
    nsec now = clock_now();
    assert(laps->count <= LAP_MAX);
    laps->values[laps->count++] = 1e-9 * (double)(now - laps->since) / laps->size;
    laps->left = laps->size;
    laps->since = now;
}
