#include "cli/progress.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NSEC 1000000000ll
#define PERIOD_NSEC   100000000ll
#define BAR_WIDTH     30

static struct {
    pthread_mutex_t lock; /* guards all below: workers on several threads report here */
    const char *title;
    long long started_nsec;
    long long drawn_nsec;
    bool visible;
} bar = {.lock = PTHREAD_MUTEX_INITIALIZER};

static long long now_nsec(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void bar_draw(uint64_t done, uint64_t total, long long now)
{
    double share = total ? (double)done / (double)total : 1;
    double spent = (double)(now - bar.started_nsec) * 1e-9;
    int full = (int)(share * BAR_WIDTH);
    fprintf(stderr, "\r\033[K%s [", bar.title);
    for (int i = 0; i < BAR_WIDTH; i++)
        fputc(i < full ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f %%", share * 100);
    if (share > 0.01)
        fprintf(stderr, ", %.0f s left", spent / share - spent);
    fflush(stderr);
    bar.drawn_nsec = now;
    bar.visible = true;
}

void progress_show(const char *title, uint64_t done, uint64_t total)
{
    if (!isatty(STDERR_FILENO))
        return;
    pthread_mutex_lock(&bar.lock);
    long long now = now_nsec();
    if (bar.title != title) {
        bar.title = title;
        bar.started_nsec = now;
    }
    if (now - bar.started_nsec > PATIENCE_NSEC && now - bar.drawn_nsec > PERIOD_NSEC)
        bar_draw(done, total, now);
    pthread_mutex_unlock(&bar.lock);
}

void progress_clear(void)
{
    pthread_mutex_lock(&bar.lock);
    if (bar.visible) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    bar.visible = false;
    bar.title = NULL;
    pthread_mutex_unlock(&bar.lock);
}
