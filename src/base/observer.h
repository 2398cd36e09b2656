#pragma once
/* observer: receives the progress of a long piece of work. */

#include <stddef.h>
#include <stdint.h>

/* `told` is called now and then with the current stage, for example "edge connectivity", and how
 * much of it is done; the total is 0 if it is unknown. The names of stages are constants. A zeroed
 * observer receives nothing. */
struct observer {
    void (*told)(void *context, const char *stage, uint64_t done, uint64_t total);
    void *context;
};

static inline void observer_tell(const struct observer *observer, const char *stage, uint64_t done,
                                 uint64_t total)
{
    if (observer->told)
        observer->told(observer->context, stage, done, total);
}
