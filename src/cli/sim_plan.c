#include "cli/sim_plan.h"

#include "cli/load.h"

enum err sim_plan_open(struct sim_plan *plan, const char *word, struct why *why)
{
    enum err err = load_topology(&plan->topology, word, why);
    if (err)
        return err;
    struct why reason = {""};
    err = plan_init(&plan->plan, &plan->topology, &reason);
    if (!err)
        return OK;
    topology_fini(&plan->topology);
    return load_refuse(word, err, &reason, why);
}

void sim_plan_close(struct sim_plan *plan)
{
    plan_fini(&plan->plan);
    topology_fini(&plan->topology);
}
