#include "os/shared_memory.h"

#include <errno.h>
#include <string.h>

#include "transport/memfile.h"

#define LIMITS "end other programs, or raise the limits (ulimit -v, or the container's memory)"

/* Returns a positive errno. Allocates as servers do: a link's pages must be present, a doorbell's
 * page comes when it is touched. */
static int shared_memory_try(size_t size)
{
    struct memfile file;
    int error = memfile_open(&file, "weft-try", size);
    if (error)
        return -error;
    if (size > SHARED_MEMORY_PAGE)
        error = memfile_reserve(&file);
    memfile_close(&file);
    return -error;
}

enum err shared_memory_check(size_t size, struct why *why)
{
    int error = shared_memory_try(size);
    if (!error)
        return OK;
    const char *text = strerror(error);
    if (size > SHARED_MEMORY_PAGE && !shared_memory_try(SHARED_MEMORY_PAGE))
        return why_fail(why, ERR_SYSTEM,
                        "not enough shared memory for links: %s; " LIMITS ", or take --wire udp",
                        text);
    if (error == ENOMEM)
        return why_fail(why, ERR_MEMORY, "not enough shared memory: %s; " LIMITS, text);
    if (error == EMFILE || error == ENFILE)
        return why_fail(why, ERR_SYSTEM, "no shared memory: %s; raise the limit (ulimit -n)", text);
    /* ENOSYS, EPERM: a system call filter, or another kernel; no option helps. */
    return why_fail(why, ERR_SYSTEM,
                    "no shared memory here: memfd_create: %s; every server needs it, so run where "
                    "it is allowed (a container's seccomp profile may forbid it)",
                    text);
}
