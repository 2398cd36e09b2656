#pragma once
/* observer: whom a long piece of work tells how far it has come. */

#include <stddef.h>
#include <stdint.h>

/* `told` hears now and then at which stage the work is, "edge connectivity", and
 * how much of that is done; a total of 0 where nobody counts. The names of
 * stages are constants. A zeroed observer does not listen. */
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
