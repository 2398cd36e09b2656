#include "os/crash.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"

#define LINE_SIZE 320

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
#define SIGNAL_COUNT (sizeof crash_signals / sizeof *crash_signals)

/* The thread that watches writes all fields. A handler in another thread reads `process` only,
 * which is constant once threads exist, and `count`. */
static struct {
    pid_t process; /* 0: before crash_begin. A child process that was forked says nothing. */
    pthread_t thread;
    const struct watchdog_server *servers;
    /* 0: nothing is watched. Relaxed: only the writing thread reads what it counts. */
    _Atomic uint32_t count;
    char stack[65536]; /* for handlers in the first thread */
} watch;

/* What this thread runs beside the host's thread. */
static _Thread_local struct {
    const char *service; /* NULL: nothing */
    node_id server;
} work;

/* ---- the line ----
 *
 * snprintf, gmtime_r and strftime may take locks or memory, so they are not for handlers. */

struct line {
    char text[LINE_SIZE];
    size_t size;
};

static void text_put(struct line *line, const char *text)
{
    while (*text && line->size < sizeof line->text - 1) /* room for the end of the line */
        line->text[line->size++] = *text++;
}

static void number_put(struct line *line, uint64_t number, unsigned digits)
{
    char text[24];
    size_t at = sizeof text;
    text[--at] = '\0';
    for (unsigned i = 0; i < digits || number; i++, number /= 10)
        text[--at] = (char)('0' + number % 10);
    text_put(line, text + at);
}

/* The date of a number of days since 1970, in a calendar whose years begin with March, so that the
 * extra day of a leap year is the last one; an era is 400 years. */
static void date_put(struct line *line, uint64_t days)
{
    days += 719468; /* from 1 March 0000 to 1 January 1970 */
    uint64_t era = days / 146097, of_era = days % 146097;
    uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * of_year + 2) / 153; /* 0: March */
    number_put(line, era * 400 + year + (month >= 10), 4);
    text_put(line, "-");
    number_put(line, month < 10 ? month + 3 : month - 9, 2);
    text_put(line, "-");
    number_put(line, of_year - (153 * month + 2) / 5 + 1, 2);
}

/* As all lines of the log of weftd begin. */
static void moment_put(struct line *line)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seconds = (uint64_t)now.tv_sec % 86400;
    date_put(line, (uint64_t)now.tv_sec / 86400);
    text_put(line, "T");
    number_put(line, seconds / 3600, 2);
    text_put(line, ":");
    number_put(line, seconds / 60 % 60, 2);
    text_put(line, ":");
    number_put(line, seconds % 60, 2);
    text_put(line, ".");
    number_put(line, (uint64_t)now.tv_nsec / 1000000, 3);
    text_put(line, "Z ");
}

static void service_put(struct line *line, node_id server, const char *service)
{
    text_put(line, "node ");
    number_put(line, server, 1);
    text_put(line, ": service ");
    text_put(line, service);
    text_put(line, ": ");
}

static uint32_t watched_count(void)
{
    return atomic_load_explicit(&watch.count, memory_order_relaxed);
}

/* "node 3: service counter: request()", the function that this thread runs. False: it runs none. */
static bool function_put(struct line *line)
{
    if (work.service) {
        service_put(line, work.server, work.service);
        text_put(line, "a function of weft_work_run");
        return true;
    }
    uint32_t count = watched_count();
    if (!count || !pthread_equal(pthread_self(), watch.thread))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct watchdog_server *server = &watch.servers[i];
        unsigned which = atomic_load_explicit(&server->pulse.call, memory_order_relaxed) & 0xff;
        if (which == CALLBACK_NONE || which >= CALLBACK_COUNT)
            continue;
        service_put(line, atomic_load_explicit(&server->server, memory_order_relaxed),
                    atomic_load_explicit(&server->pulse.service, memory_order_relaxed)->name);
        text_put(line, node_callback_names[which]);
        text_put(line, "()");
        return true;
    }
    return false;
}

static void line_write(struct line *line)
{
    line->text[line->size++] = '\n';
    (void)!write(STDERR_FILENO, line->text, line->size);
}

/* ---- the ends of the process ---- */

/* Another process may send any signal, whatever runs here meanwhile. */
static bool is_sent(const siginfo_t *info)
{
    return info->si_code <= 0 && info->si_pid != watch.process;
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    struct line line = {.size = 0};
    const char *name = sigdescr_np(number);
    moment_put(&line);
    bool sent = is_sent(info), named = !sent && function_put(&line);
    text_put(&line, named ? " crashed (" : sent ? "ended by a signal (" : "weftd crashed (");
    text_put(&line, name ? name : "unknown signal");
    text_put(&line, ")");
    /* The assertion that failed, or the C library, has printed a line before it aborted. */
    if (getpid() == watch.process && (named || number != SIGABRT))
        line_write(&line);
    raise(number); /* SA_RESETHAND: the default action, when this handler returns */
}

/* An orderly end of weftd calls crash_unwatch before. */
static void on_end(int code, void *argument)
{
    struct line line = {.size = 0};
    if (!watched_count() || getpid() != watch.process)
        return;
    moment_put(&line);
    text_put(&line, function_put(&line) ? " called exit()" : "a thread of a service called exit()");
    line_write(&line);
    if (code)
        return;
    fflush(NULL); /* what services printed */
    _exit(1);
}

/* ---- the state ---- */

static void stack_set(void *memory, size_t size)
{
    stack_t stack = {.ss_sp = memory, .ss_size = size}, before;
    if (!sigaltstack(NULL, &before) && before.ss_flags & SS_DISABLE)
        (void)sigaltstack(&stack, NULL); /* on failure only overflows of the stack are not named */
}

void crash_begin(void)
{
    struct sigaction action = {.sa_sigaction = on_crash,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND},
                     before;
    assert(!watch.process);
    watch.process = getpid();
    stack_set(watch.stack, sizeof watch.stack);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        if (!sigaction(crash_signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
            (void)sigaction(crash_signals[i], &action, NULL);
    (void)on_exit(on_end, NULL);
}

void crash_watch(const struct watchdog_server *servers, uint32_t count)
{
    assert(!watched_count() && count > 0);
    watch.thread = pthread_self();
    watch.servers = servers;
    atomic_store_explicit(&watch.count, count, memory_order_relaxed);
}

void crash_unwatch(void)
{
    atomic_store_explicit(&watch.count, 0, memory_order_relaxed);
}

/* The thread was started with all signals blocked. A crash whose signal is blocked would end the
 * process without its handler. */
void crash_worker_begin(struct crash_worker *worker)
{
    sigset_t set;
    stack_set(worker->stack, sizeof worker->stack);
    sigemptyset(&set);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigaddset(&set, crash_signals[i]);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void crash_work(const char *service, node_id server)
{
    work.server = server;
    work.service = service;
}
