/* fabric_library: see the header.
 *
 * libfabric extends its structs only at their ends, and versions the functions that create them. We
 * request the versions that introduced the fields we use (1.9 has them all). Later libraries keep
 * these versions for old programs, and the structs that they create are no shorter. This holds for
 * any headers we were compiled with, because we never create or copy a struct fi_info ourselves. */
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
static_assert(FUNCTION_COUNT * sizeof(void *) == sizeof(struct fabric_library), "all are listed");

/* The signals that libinfinipath, which libfabric loads on some machines, catches when it is
 * loaded: it would turn Ctrl-C, and a failed assertion, into an exit with 1. */
static const int caught[] = {SIGABRT, SIGBUS, SIGILL, SIGINT, SIGSEGV, SIGTERM};
enum { CAUGHT_COUNT = sizeof caught / sizeof *caught };

/* Written once, by library_load, under pthread_once. */
static struct fabric_library library;
static bool library_loaded;
static char library_reason[200]; /* why loading failed */

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

/* Restores the program's signal handlers after loading. Signals from outside wait meanwhile, if
 * this is the program's only thread. (A handler that another thread sets at this moment is
 * lost.) */
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
    why_set(why, "fabric: %s; install libfabric (Debian package libfabric1)", library_reason);
    return NULL;
}
