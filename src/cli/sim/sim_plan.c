#include "cli/sim/sim_plan.h"

#include <string.h>

#include "cli/core/load.h"

/* Tells whether the reason already begins with the SPEC, which need not be repeated then. */
static bool is_named(const struct topology *topology, const char *word, const struct why *reason)
{
    size_t size = strlen(topology->spec);
    return size && topology_is_spec(word) && strncmp(reason->text, topology->spec, size) == 0;
}

enum err sim_plan_open(struct sim_plan *plan, const char *word, struct why *why)
{
    enum err err = load_topology(&plan->topology, word, why);
    if (err)
        return err;
    struct why reason = {""};
    err = plan_init(&plan->plan, &plan->topology, &reason);
    if (!err)
        return OK;
    bool named = is_named(&plan->topology, word, &reason);
    topology_fini(&plan->topology);
    return named ? why_fail(why, err, "%s", reason.text) : load_refuse(word, err, &reason, why);
}

void sim_plan_close(struct sim_plan *plan)
{
    plan_fini(&plan->plan);
    topology_fini(&plan->topology);
}
