/* fabric_library: see the header.
 *
 * libfabric changes its structs by adding to their ends, and versions the functions that make
 * them. We ask for the versions that came with the fields we use (1.9 has them all): later ones
 * keep them, for programs that were linked long ago, and the structs that they make are no
 * shorter. That holds whatever headers we were compiled with, since we never make or copy a
 * struct fi_info ourselves. */
#include "transport/fabric/fabric_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

#define LIBRARY_NAME "libfabric.so.1"

static const struct {
    const char *name;
    const char *version;
    size_t offset; /* in struct fabric_library */
} functions[] = {
    {"fi_getinfo", "FABRIC_1.3", offsetof(struct fabric_library, getinfo)},
    {"fi_freeinfo", "FABRIC_1.3", offsetof(struct fabric_library, freeinfo)},
    {"fi_dupinfo", "FABRIC_1.3", offsetof(struct fabric_library, dupinfo)},
    {"fi_fabric", "FABRIC_1.1", offsetof(struct fabric_library, fabric)},
    {"fi_strerror", "FABRIC_1.0", offsetof(struct fabric_library, strerror)},
};
enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };
static_assert(FUNCTION_COUNT * sizeof(void *) == sizeof(struct fabric_library), "all are found");

/* What libinfinipath, which libfabric brings along on some machines, catches as it is loaded: it
 * would make of Ctrl-C, and of an assertion that fails, an exit with 1. */
static const int caught[] = {SIGABRT, SIGBUS, SIGILL, SIGINT, SIGSEGV, SIGTERM};
enum { CAUGHT_COUNT = sizeof caught / sizeof *caught };

/* All written once, by library_load; pthread_once carries them to every thread. */
static struct fabric_library library;
static bool library_loaded;
static char library_reason[200]; /* why it was not */

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

/* The program's signals are after this what they were before. Those from outside wait meanwhile,
 * if this is its only thread. (A handler that another thread sets at this very moment is lost.) */
static void *library_open(void)
{
    struct sigaction before[CAUGHT_COUNT];
    sigset_t outside, mask;
    sigemptyset(&outside);
    sigaddset(&outside, SIGINT);
    sigaddset(&outside, SIGTERM);
    int masked = pthread_sigmask(SIG_BLOCK, &outside, &mask);
    for (unsigned i = 0; i < CAUGHT_COUNT; i++)
        (void)sigaction(caught[i], NULL, &before[i]);
    void *handle = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
    for (unsigned i = 0; i < CAUGHT_COUNT; i++)
        (void)sigaction(caught[i], &before[i], NULL);
    if (masked == 0)
        (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return handle;
}

static void library_load(void)
{
    void *handle = library_open();
    library_loaded = handle;
    for (unsigned i = 0; i < FUNCTION_COUNT && library_loaded; i++) {
        void *found = dlvsym(handle, functions[i].name, functions[i].version);
        memcpy((char *)&library + functions[i].offset, &found, sizeof found);
        library_loaded = found;
    }
    if (!library_loaded)
        snprintf(library_reason, sizeof library_reason, "%s", dlerror());
}

const struct fabric_library *fabric_library_get(struct why *why)
{
    int result = pthread_once(&library_once, library_load);
    assert(result == 0);
    if (library_loaded)
        return &library;
    why_set(why, "fabric: %s; it is in Debian's package libfabric1", library_reason);
    return NULL;
}
