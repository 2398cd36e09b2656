#include "os/realtime.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

enum err realtime_begin(struct why *why)
{
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    if (!sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest))
        return OK;
    return why_fail(why, ERR_SYSTEM,
                    "--realtime: %s; it takes CAP_SYS_NICE, or 'ulimit -r' of at least %d",
                    strerror(errno), lowest.sched_priority);
}

enum err realtime_check(struct why *why)
{
    struct sched_param before;
    int policy = sched_getscheduler(0);
    if (policy < 0 || sched_getparam(0, &before))
        return why_fail(why, ERR_SYSTEM, "--realtime: %s", strerror(errno));
    enum err err = realtime_begin(why);
    if (!err && sched_setscheduler(0, policy, &before))
        return why_fail(why, ERR_SYSTEM, "--realtime: %s", strerror(errno));
    return err;
}
