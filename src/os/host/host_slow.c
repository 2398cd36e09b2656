/* host_slow: for how long a function of a service ran.
 *
 * The processor's counter shows how much time passed, also while the system let other processes run
 * on this processor. To tell the two apart, the host knows what its thread had used when it last
 * went to sleep: processor time, and how often it had waited. So a system call is made only before
 * a sleep, and when a call seems to have taken long.
 *
 * Between that moment and the long call the thread was awake for a while, and may have used the
 * processor for all of that time or for none of it. So there is a lower and an upper bound of what
 * the call used. */
#include <sys/resource.h>

#include "os/host/host_impl.h"

#define REST_NSEC (200 * 1000LL) /* awake since the last look at the usage: look again */

static nsec nsec_of(struct timeval time)
{
    return time.tv_sec * NSEC_PER_SEC + time.tv_usec * 1000LL;
}

static struct host_usage usage_now(void)
{
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_THREAD, &usage);
    return (struct host_usage){
        .processor = nsec_of(usage.ru_utime) + nsec_of(usage.ru_stime),
        .waits = usage.ru_nvcsw,
        .interruptions = usage.ru_nivcsw,
    };
}

void host_usage_begin(struct host *host)
{
    host->usage = usage_now();
    host->woke_at = clock_now();
}

void host_usage_rest(struct host *host)
{
    host->awake += host->now - host->woke_at;
    host->woke_at = host->now;
    host->asleep = true;
    host->usage.waits++; /* the sleep that follows */
    if (host->awake < REST_NSEC)
        return;
    host->usage = usage_now();
    host->usage.waits++;
    host->awake = 0;
}

nsec host_ran(struct host *host, uint64_t ticks)
{
    nsec passed = (nsec)((double)ticks / (double)clock_ticks(NSEC_PER_SEC) * 1e9);
    nsec now = clock_now();
    struct host_usage before = host->usage, after = usage_now();
    nsec most = after.processor - before.processor;
    nsec awake = host->awake + (now - host->woke_at) - passed;
    nsec least = most - (awake > 0 ? awake : 0);
    host->usage = after; /* the next call is judged from here */
    host->awake = 0;
    host->woke_at = now;
    if (after.waits > before.waits) /* the service waited for something */
        return passed;
    if (most < NODE_SLOW_NSEC)
        return 0;
    bool sure = least >= NODE_SLOW_NSEC || after.interruptions == before.interruptions;
    return !sure ? 0 : most < passed ? most : passed;
}
