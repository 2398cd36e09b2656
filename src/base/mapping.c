#include "base/mapping.h"

#include <sys/mman.h>

#include "base/check.h"

/* MAP_NORESERVE would only switch off the check that a single request is not larger than the memory
 * of the machine. Memory that is never touched does not need the flag: by default Linux does not
 * add up the requests of processes. */
void *mapping_take(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    return memory;
}

void mapping_give(void *memory, size_t size)
{
    int result = munmap(memory, size);
    assert(result == 0); /* it fails only for a range that is not ours */
}
