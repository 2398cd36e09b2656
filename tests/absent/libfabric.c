/* A libfabric that has none of its functions, and that behaves as it is loaded like what the real
 * one brings along on some machines: it catches signals. And one comes at that very moment. */
#include <signal.h>

__attribute__((visibility("default"))) int libfabric_caught; /* signals that came to us */

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
