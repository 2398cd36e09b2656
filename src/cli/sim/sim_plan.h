#pragma once
/* sim_plan: reads the argument SPEC|FILE of a simulation as a plan of servers. */

#include "base/err.h"
#include "node/plan.h"

struct sim_plan {
    struct topology topology;
    struct plan plan;
};

/* The caller calls sim_plan_close. */
MUST_CHECK enum err sim_plan_open(struct sim_plan *plan, const char *word, struct why *why);
void sim_plan_close(struct sim_plan *plan);
