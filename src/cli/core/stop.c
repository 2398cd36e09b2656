#include "cli/core/stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught;

static void stop_note(int signal)
{
    caught = signal;
}

void stop_catch(void)
{
    /* SA_RESETHAND: the second signal has its default effect. */
    struct sigaction action = {.sa_handler = stop_note, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool stop_asked(void)
{
    return caught != 0;
}

int stop_signal(void)
{
    return caught;
}
