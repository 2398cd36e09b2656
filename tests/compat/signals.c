/* Thousands of signals, one for each call of ripc_receive: none is missed that comes after the call
 * has begun. Other threads allocate and free buffers meanwhile, so that the call also has to wait
 * for them before it can look for a message. */
#include "common.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#define MY_ID     21
#define ROUNDS    1000
#define BUSY      2  /* threads that use the library all the time */
#define PATIENCE  20 /* seconds; a call that a signal has not ended until then will never end */
#define SPINS_MAX 20000

/* Written by one thread, read by another; sequentially consistent. */
static _Atomic int begun;      /* main thread: the round of the call that it makes next */
static _Atomic int ended;      /* main thread: the round whose call has returned */
static _Atomic int handled;    /* handler: how often it ran */
static _Atomic int in_sleep;   /* handler: the round in which it ran during the call's sleep */
static _Atomic bool done;      /* main thread: all rounds are over */
static _Atomic int main_state; /* sending thread: descriptor of the file with the thread's state */

/* Nothing in this program blocks SIGUSR2. If it is blocked where the handler returns to, that is
 * the sleep of ripc_receive. */
static void handler(int number, siginfo_t *info, void *interrupted)
{
    (void)number, (void)info;
    if (sigismember(&((ucontext_t *)interrupted)->uc_sigmask, SIGUSR2))
        in_sleep = begun;
    handled++;
}

static void *be_busy(void *argument)
{
    while (!done)
        ripc_buf_free(ripc_buf_alloc(100));
    return argument;
}

/* Does the main thread sleep? */
static bool main_sleeps(void)
{
    char text[512];
    ssize_t size = pread(main_state, text, sizeof text - 1, 0);
    check(size > 0);
    text[size] = 0;
    const char *after_name = strrchr(text, ')');
    check(after_name);
    return after_name[2] == 'S';
}

static bool is_late(const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - since->tv_sec > PATIENCE;
}

/* The main thread is about to make its call, and after that nothing but the call makes it sleep: a
 * signal that finds it asleep has to end the call. */
static void end_sleep(pthread_t to, int round)
{
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (!main_sleeps())
        ;
    pthread_kill(to, SIGUSR1);
    while (ended < round) {
        if (is_late(&start))
            panic("round %d: a signal was %s and did not end the call", round,
                  handled == round ? "handled" : "not handled");
        sched_yield();
    }
}

/* The signal comes at any time after the announcement. It may come before the call has begun, and
 * is then repeated. */
static void end_anywhere(pthread_t to, int round)
{
    unsigned spins = (unsigned)random() % SPINS_MAX;
    for (volatile unsigned i = 0; i < spins; i++)
        ;
    for (int before = handled; ended < round; before = handled) {
        pthread_kill(to, SIGUSR1);
        while (ended < round && (handled == before || !main_sleeps()))
            sched_yield();
        if (in_sleep == round) {
            struct timespec start;
            clock_gettime(CLOCK_MONOTONIC, &start);
            while (ended < round) {
                if (is_late(&start))
                    panic("round %d: a signal was handled and did not end the call", round);
                sched_yield();
            }
        }
    }
}

static void *send_signals(void *argument)
{
    pthread_t to = *(pthread_t *)argument;
    for (int round = 1; round <= 2 * ROUNDS; round++) {
        while (begun < round)
            sched_yield();
        if (round <= ROUNDS)
            end_sleep(to, round);
        else
            end_anywhere(to, round);
    }
    return argument;
}

int main(void)
{
    pthread_t myself = pthread_self(), sender, busy[BUSY];
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    uint16_t from, num_short, num_long;
    void **shorts, **longs;
    uint32_t *sizes;
    char path[64];
    int i;

    check(ripc_register_service_id(MY_ID));
    sigaction(SIGUSR1, &action, NULL);
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)syscall(SYS_gettid));
    FILE *state = fopen(path, "r");
    check(state);
    main_state = fileno(state);
    for (i = 0; i < BUSY; ++i)
        check(pthread_create(&busy[i], NULL, be_busy, NULL) == 0);
    check(pthread_create(&sender, NULL, send_signals, &myself) == 0);
    for (i = 1; i <= 2 * ROUNDS; ++i) {
        begun = i;
        check(ripc_receive(MY_ID, &from, &shorts, &sizes, &num_short, &longs, &sizes, &num_long) ==
              1);
        ended = i;
    }
    done = true;
    pthread_join(sender, NULL);
    for (i = 0; i < BUSY; ++i)
        pthread_join(busy[i], NULL);
    fclose(state);
    check(handled >= 2 * ROUNDS);
    printf("all checks passed\n");
    return EXIT_SUCCESS;
}
