#include "routing/deadlock/drain.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

void drain_fini(struct drain *drain)
{
    free(drain->number);
    *drain = (struct drain){0};
}

/* For each virtual channel the waits that name it, and how many of its own waits do not yet lead to
 * a channel that drains. */
struct plan {
    size_t *first;        /* channels + 1 */
    uint32_t *waits;      /* by the channel waited for */
    uint32_t *waits_left; /* per channel held */
    bool *hopeful;        /* per wait: it leads to a channel that drains */
    uint32_t *order;      /* channels in the order of draining */
};

static void plan_fini(struct plan *plan)
{
    free(plan->first);
    free(plan->waits);
    free(plan->waits_left);
    free(plan->hopeful);
    free(plan->order);
}

static enum err plan_init(struct plan *plan, const struct dependency *dependency, struct why *why)
{
    size_t channels = dependency->channels.count, waits = dependency->waits.count;
    uint32_t width = dependency->width;
    *plan = (struct plan){
        .first = array_new(channels + 2, sizeof *plan->first),
        .waits_left = array_new(channels, sizeof *plan->waits_left),
        .hopeful = array_new(waits, sizeof *plan->hopeful),
        .order = array_new(channels, sizeof *plan->order),
    };
    if (!plan->first || !plan->waits_left || !plan->hopeful || !plan->order)
        return why_memory(why);
    size_t *next = plan->first + 1; /* becomes the usual array of firsts, shifted by one */
    for (uint32_t h = 0; h < waits; h++) {
        const uint32_t *wait = dependency_wait(dependency, h);
        plan->waits_left[wait[0]]++;
        for (uint32_t i = 1; i < width && wait[i] != INTERN_NONE; i++)
            next[wait[i] + 1]++;
    }
    for (size_t v = 0; v < channels; v++)
        next[v + 1] += next[v];
    plan->waits = array_new(next[channels], sizeof *plan->waits);
    if (!plan->waits)
        return why_memory(why);
    for (uint32_t h = 0; h < waits; h++) {
        const uint32_t *wait = dependency_wait(dependency, h);
        for (uint32_t i = 1; i < width && wait[i] != INTERN_NONE; i++)
            plan->waits[next[wait[i]]++] = h;
    }
    return OK;
}

enum err drain_find(struct drain *drain, const struct dependency *dependency, struct why *why)
{
    uint32_t channels = dependency->channels.count, drained = 0;
    struct plan plan;
    *drain = (struct drain){.number = array_new(channels, sizeof *drain->number)};
    enum err err = plan_init(&plan, dependency, why);
    if (!err && !drain->number)
        err = why_memory(why);
    if (err)
        goto out;
    memset(drain->number, 0xff, channels * sizeof *drain->number); /* all DRAIN_STUCK */
    for (uint32_t v = 0; v < channels; v++)
        if (!plan.waits_left[v])
            plan.order[drained++] = v;
    for (uint32_t done = 0; done < drained; done++) {
        uint32_t v = plan.order[done];
        drain->number[v] = done;
        for (size_t i = plan.first[v]; i < plan.first[v + 1]; i++) {
            uint32_t wait = plan.waits[i], holder = dependency_wait(dependency, wait)[0];
            if (plan.hopeful[wait])
                continue;
            plan.hopeful[wait] = true;
            if (!--plan.waits_left[holder])
                plan.order[drained++] = holder;
        }
    }
    drain->drained = drained;
out:
    plan_fini(&plan);
    if (err)
        drain_fini(drain);
    return err;
}

bool drain_holds(const struct drain *drain, const struct dependency *dependency, uint32_t wait)
{
    const uint32_t *numbers = dependency_wait(dependency, wait);
    uint32_t own = drain->number[numbers[0]];
    for (uint32_t i = 1; i < dependency->width && numbers[i] != INTERN_NONE; i++)
        if (drain->number[numbers[i]] != DRAIN_STUCK && drain->number[numbers[i]] < own)
            return true;
    return false;
}
