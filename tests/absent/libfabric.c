/* A libfabric without its functions that, when it is loaded, catches signals, as libraries that the
 * real one loads do on some machines. A signal arrives at that very moment. */
#include <signal.h>

__attribute__((visibility("default"))) int libfabric_caught; /* signals that we caught */

static void take(int number)
{
    libfabric_caught++;
}

__attribute__((constructor)) static void load(void)
{
    static const int wanted[] = {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGINT, SIGTERM};
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++)
        signal(wanted[i], take);
    raise(SIGTERM);
}
