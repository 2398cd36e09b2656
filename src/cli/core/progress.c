#include "cli/core/progress.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/core/estimate.h"
#include "cli/core/terminal.h"

#define NSEC_PER_SEC  1000000000ll
#define PATIENCE_NSEC (NSEC_PER_SEC / 2) /* after this time counted steps are shown ... */
#define LONG_NSEC     NSEC_PER_SEC       /* ... and after this time other work */
#define PERIOD_NSEC   (NSEC_PER_SEC / 10)
#define BAR_WIDTH     30
#define LINE_BYTES    256

static struct {
    pthread_mutex_t lock; /* guards all fields below: several threads report here */
    pthread_cond_t stop;  /* signalled when `running` ends */
    pthread_t thread;
    bool running;
    bool visible;
    bool paused;
    const char *name; /* of the command */
    long long begun_nsec;
    const char *title; /* of the steps that are counted; NULL: none are */
    long long title_nsec;
    struct estimate estimate; /* of the work of that title */
    uint64_t done, total;
} line = {.lock = PTHREAD_MUTEX_INITIALIZER};

static long long now_nsec(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

/* Writes the bar of the counted steps. */
static void bar_write(FILE *out, long long now)
{
    double share = (double)line.done / (double)line.total;
    double left = estimate_left(&line.estimate, (double)line.title_nsec / NSEC_PER_SEC,
                                (double)now / NSEC_PER_SEC, share);
    int full = (int)(share * BAR_WIDTH);
    fprintf(out, "%s [", line.title);
    for (int i = 0; i < BAR_WIDTH; i++)
        fputc(i < full ? '#' : '.', out);
    fprintf(out, "] %3.0f %%", share * 100);
    if (left >= 0)
        fprintf(out, ", %.0f s left", ceil(left));
    else if (left == ESTIMATE_LATE)
        fputs(", longer than estimated", out);
}

/* A bar that is full is not shown: the command is doing something else by now. The line is put
 * together before it is written, since standard error has no buffer and would show parts of it. */
static void line_draw(void)
{
    char text[LINE_BYTES] = "";
    long long now = now_nsec();
    bool counted = line.title && line.done < line.total;
    if (line.paused || now - line.begun_nsec < (counted ? PATIENCE_NSEC : LONG_NSEC) ||
        !terminal_is_ours(STDERR_FILENO))
        return;
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    if (!out)
        return;
    fputs("\r\033[K", out);
    if (counted)
        bar_write(out, now);
    else
        fprintf(out, "%s: %lld s", line.title && !line.total ? line.title : line.name,
                (now - line.begun_nsec) / NSEC_PER_SEC);
    fclose(out);
    fputs(text, stderr);
    line.visible = true;
}

static void *line_main(void *context)
{
    pthread_mutex_lock(&line.lock);
    while (line.running) {
        long long wake = now_nsec() + PERIOD_NSEC;
        struct timespec time = {wake / NSEC_PER_SEC, wake % NSEC_PER_SEC};
        pthread_cond_timedwait(&line.stop, &line.lock, &time);
        if (line.running)
            line_draw();
    }
    pthread_mutex_unlock(&line.lock);
    return context;
}

void progress_start(const char *name)
{
    pthread_condattr_t attributes;
    if (!isatty(STDERR_FILENO))
        return;
    line.name = name;
    line.begun_nsec = now_nsec();
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&line.stop, &attributes);
    pthread_condattr_destroy(&attributes);
    /* If the thread cannot be started, there is no progress line; that is no failure. */
    pthread_mutex_lock(&line.lock);
    line.running = pthread_create(&line.thread, NULL, line_main, NULL) == 0;
    pthread_mutex_unlock(&line.lock);
}

void progress_show(const char *title, uint64_t done, uint64_t total)
{
    pthread_mutex_lock(&line.lock);
    if (line.title != title) {
        line.title_nsec = now_nsec();
        line.estimate = (struct estimate){0};
    }
    line.title = title;
    line.done = done;
    line.total = total;
    pthread_mutex_unlock(&line.lock);
}

static void stage_told(void *context, const char *stage, uint64_t done, uint64_t total)
{
    progress_show(stage, done, total);
}

const struct observer progress_observer = {.told = stage_told};

static void pause_set(bool paused)
{
    pthread_mutex_lock(&line.lock);
    line.paused = paused;
    line.begun_nsec = now_nsec(); /* the time of typing does not count */
    pthread_mutex_unlock(&line.lock);
}

void progress_pause(void)
{
    pause_set(true);
}

void progress_resume(void)
{
    pause_set(false);
}

void progress_stop(void)
{
    pthread_mutex_lock(&line.lock);
    bool running = line.running;
    line.running = false;
    pthread_mutex_unlock(&line.lock);
    if (!running)
        return;
    pthread_cond_signal(&line.stop);
    pthread_join(line.thread, NULL);
    if (line.visible && terminal_is_ours(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    fflush(stderr);
}
