#pragma once
/* crash: the last line in the log of a process that crashes or calls exit(): which function of
 * which service did that. Code of services runs in this process, and its mistakes would end it
 * without a trace.
 *
 * The line is written by the handler of the signal, with async-signal-safe calls only. Then the
 * default action of the signal ends the process, so its exit status names the signal. A process in
 * which a service calls exit(0) ends with exit code 1, because it is no orderly end. _exit() leaves
 * no trace.
 *
 * There is one such state in a process: handlers belong to the process. */

#include "os/host/watchdog.h"

/* Installs the handlers, except for signals that have one already, such as a sanitizer's. The
 * handlers use another stack, since an overflow of the stack is a crash, too. */
void crash_begin(void);

/* From now on the calling thread calls the services of these servers, whose pulses tell which
 * function it calls. Borrowed until crash_unwatch. From then on exit() is orderly again. */
void crash_watch(const struct watchdog_server *servers, uint32_t count);
void crash_unwatch(void);

/* The calling thread runs functions of weft_work_run, until it ends. It keeps this, the stack of
 * its handlers, in the frame of its first function. */
struct crash_worker {
    char stack[32768];
};
void crash_worker_begin(struct crash_worker *worker);
/* The calling thread runs such a function of that service; NULL: it has returned. */
void crash_work(const char *service, node_id server);
