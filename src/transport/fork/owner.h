#pragma once
/* owner: which process opened an object, known without a system call.
 *
 * An object of a parent is useless in its child: the child has none of the threads, shares the
 * memory and the sockets with the parent, and would act in its name. Every process that opens
 * objects has a number, in a page that the kernel clears in a child. So one comparison tells
 * whether an object belongs to this process.
 *
 * In a child of fork, the descriptors of transport/fork/descriptor.h are closed before fork
 * returns. (A child of the bare clone system call closes them when it opens an object of its own. A
 * child of vfork shares all memory with its parent, and counts as its parent.) */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct owner {
    /* The number of this process; 0 in a child that has opened nothing. Written only by owner_make
     * and by the kernel or the fork handler in the child, relaxed: before the object exists, or
     * while the process has one thread. */
    const _Atomic uint64_t *current;
    uint64_t number; /* of the process that opened the object; constant */
};

/* Makes this process the owner of an object. -ENOMEM. */
MUST_CHECK int owner_make(struct owner *owner);

/* False in a child of the process that opened the object. */
static inline bool owner_is_here(const struct owner *owner)
{
    return atomic_load_explicit(owner->current, memory_order_relaxed) == owner->number;
}
