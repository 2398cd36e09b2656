/* A signal ends ripc_receive with 1, however its handler was installed; what was not received then
 * is received by the next call. Programs of 2013 use alarm() as a timeout in this way. */
#include "common.h"
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#define MY_ID    21
#define OTHER_ID 22
#define THREADS  3

static _Atomic int handled; /* by handlers in any thread */
static uint16_t from, num_short, num_long;

static void handler(int number)
{
    handled = number;
}

/* Like alarm(), with a shorter time. It repeats, in case the first signal comes before the call. */
static void set_timeout(long usec)
{
    struct itimerval timer = {{.tv_usec = usec}, {.tv_usec = usec}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static uint8_t receive(uint16_t id, void ***shorts)
{
    void **longs;
    uint32_t *sizes;
    return ripc_receive(id, &from, shorts, &sizes, &num_short, &longs, &sizes, &num_long);
}

static void wait_with_handler(void)
{
    void **untouched = (void **)&handled, **shorts = untouched;
    char *text = "text";
    uint32_t size = 5;

    num_short = 77;
    handled = 0;
    set_timeout(200 * 1000);
    check(receive(MY_ID, &shorts) == 1);
    set_timeout(0);
    check(handled == SIGALRM && shorts == untouched && num_short == 77);
    check(ripc_send_short(OTHER_ID, MY_ID, (void **)&text, &size, 1, NULL, NULL, 0) == 0);
    check(receive(MY_ID, &shorts) == 0 && num_short == 1 && strcmp(shorts[0], "text") == 0);
    ripc_buf_free(shorts[0]);
    free(shorts);
}

static void install(int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
}

static void *wait_in_thread(void *argument)
{
    void **shorts;
    check(receive(MY_ID, &shorts) == 1);
    __atomic_add_fetch((int *)argument, 1, __ATOMIC_SEQ_CST);
    return argument;
}

/* Several threads receive with one id. A signal that comes in the moment before one of them sleeps
 * may be missed, so each gets signals until its call ends. */
static void threads(void)
{
    pthread_t waiting[THREADS];
    int i, ended = 0;
    for (i = 0; i < THREADS; ++i)
        check(pthread_create(&waiting[i], NULL, wait_in_thread, &ended) == 0);
    while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < THREADS) {
        for (i = 0; i < THREADS; ++i)
            pthread_kill(waiting[i], SIGUSR1);
        usleep(20 * 1000);
    }
    for (i = 0; i < THREADS; ++i)
        pthread_join(waiting[i], NULL);
}

/* A signal that the program has blocked ends no call. */
static void blocked(void)
{
    void **shorts;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    handled = 0;
    set_timeout(200 * 1000);
    check(receive(MY_ID, &shorts) == 1);
    set_timeout(0);
    check(handled == SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    check(handled == SIGUSR1);
}

int main(void)
{
    check(ripc_register_service_id(MY_ID) && ripc_register_service_id(OTHER_ID));
    install(0);
    wait_with_handler();
    install(SA_RESTART);
    wait_with_handler();
    signal(SIGALRM, handler);
    wait_with_handler();
    blocked();
    threads();
    printf("all checks passed\n");
    return EXIT_SUCCESS;
}
