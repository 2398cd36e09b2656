#pragma once
/* work: functions and programs that take longer than a function of a service may.
 *
 * The node's only thread calls all functions of a service, and forwards packets between these
 * calls. A function that computes or waits for a millisecond delays every packet that passes
 * through this server by a millisecond. So longer work runs elsewhere, on a worker thread or in a
 * child process, and its result arrives as an event: done() of a struct weft_call (weft/call.h).
 *
 *     struct answer { struct weft_call call; uint64_t number; ... };
 *
 *     static int64_t compute(const struct weft_work *work, void *argument)
 *     {
 *         struct answer *answer = argument;         // on another thread
 *         return is_prime(answer->number);
 *     }
 *     ...
 *     answer->call.done = computed;                 // called with call->result when it is ready
 *     int result = weft_work_run(self, &answer->call, compute, answer, 0);
 *
 * A service that uses these calls declares that in its struct weft_service: `work` is the number of
 * calls that it may have under way at once on each server. The operator can lower that number by
 * the parameter `work`, which each of these services has: `weft up --set primes.work=2`. A further
 * call is refused with -EAGAIN. Each call has a thread of its own, so none of them waits for
 * another, whichever service it belongs to; but all of them share the processors of the machine,
 * with the lowest priority: they run mostly while the servers and other programs leave a processor
 * idle.
 *
 * THE FUNCTION runs on another thread at the same time as the service. It may use the memory that
 * `argument` names, which the service does not touch until done() is called, and memory that
 * neither of them changes. It calls no function of weft except weft_work_is_cancelled. It may
 * block. A fault in it, such as a wild pointer, ends the server.
 *
 * A CHILD PROCESS runs a program that may crash, leak or never end without harm to the server. A
 * service that uses child processes declares `children` in its struct weft_service: how many of its
 * calls may be child processes at once. The program gets the bytes of `input` as its standard
 * input, and what it writes to its standard output is stored in `output`. Its memory, processor
 * time, time and the size of its files are limited. If it exceeds its time, or the room for its
 * output, it is killed. It has a folder of its own, empty at the start, which is its working
 * directory, $HOME and $TMPDIR, and is removed at the end; its other variables are PATH and
 * WEFT_SERVER, the number of the server. It runs as the user of the server, and may do everything
 * that this user may do: its resources are limited, but it is not isolated. The program may start
 * other processes. When it ends, when it is killed, and when the server ends in whatever way, all
 * of them are killed, also those that have left its process group.
 *
 * CANCELLING. weft_work_cancel asks a function to end, and kills a child process; done() is still
 * called. A function that takes long calls weft_work_is_cancelled now and then, and returns early
 * if that is true.
 *
 * WHEN THE SERVER STOPS, all calls under way are cancelled, and the server waits for their
 * functions: they use its memory. done() is not called any more. The server's log names a service
 * whose function does not return; `weft down` kills such a server after its grace period. When the
 * server's process is killed, all functions and child processes end at once.
 *
 * IN THE SIMULATOR the function runs on the simulator's only thread, and takes no time there; the
 * call takes the simulated time `takes`, or a time that the seed decides if `takes` is 0. The seed
 * also decides when the function runs: at the earliest moment, inside weft_work_run, or at the
 * latest, before done(). A service that touches the memory of a call under way gives other results
 * for other seeds, and a test that compares them finds the bug. A server that crashes does not run
 * functions that wait for their moment.
 * The simulator runs no programs: they would take real time, and nothing could replay them. The
 * service provides a function, `simulated`, that stands for the program in the simulator: it reads
 * the input, fills the output and returns the exit code. Without one the call is refused there
 * (-ENOSYS), and the mistake is reported.
 *
 * ERRORS, all at once, without done(): -EAGAIN (see above), -EINVAL (a mistake of the service,
 * which is counted, and of which the first is in the log), -ENODEV (the service does not declare
 * `work`, or this server runs in a world without threads), -ESHUTDOWN (the server stops).
 *
 * docs/guide/work.md explains examples/primes.c, a service that computes. */

#include <weft/call.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_WORK_MAX 1024 /* largest `work` of a service */

struct weft_work; /* a call under way, as its function sees it */

/* Runs run(work, argument) on a worker thread. The result of the call is what the function returns;
 * -EAGAIN: the system refused a thread, and the function did not run. `takes` is for the simulator:
 * nanoseconds, or 0. */
WEFT_API int weft_work_run(struct weft_self *self, struct weft_call *call,
                           int64_t (*run)(const struct weft_work *work, void *argument),
                           void *argument, int64_t takes);
/* Called by the function, on its thread: was the call cancelled, or does the server stop? */
WEFT_API bool weft_work_is_cancelled(const struct weft_work *work);

/* Asks a call to end early. Its result is what the function returns, or -ECANCELED if the function
 * did not begin. -ENOENT: the call is not under way. */
WEFT_API int weft_work_cancel(struct weft_self *self, struct weft_call *call);

/* ---- child processes ---- */

#define WEFT_CHILD_WORDS 64        /* the program and its arguments */
#define WEFT_CHILD_TEXT  32768     /* bytes of all words, with their ends */
#define WEFT_CHILD_INPUT (1 << 30) /* bytes of its input */

/* The service owns this struct and the memory that it names, and touches neither until done() is
 * called. */
struct weft_child {
    const char *const *words; /* the program, as an absolute path, and its arguments; then NULL */
    const void *input;        /* NULL: none */
    uint32_t input_size;
    uint32_t output_room; /* bytes of: */
    void *output;
    bool errors;        /* its standard error goes to the output, too; otherwise it is discarded */
    uint64_t memory;    /* address space of each of its processes, bytes; 0: 256 MiB */
    uint64_t file_size; /* of each file that it writes, bytes; 0: 64 MiB */
    int64_t processor;  /* processor time of each of its processes, nanoseconds; rounded up to
                         * seconds; 0: 10 s */
    int64_t time;       /* from the call to the end, nanoseconds; 0: 60 s */
    /* Set when done() is called: */
    uint32_t output_size; /* bytes that were stored, also if the call failed */
    int signal;           /* that ended the program; 0: none */
    /* For the simulator: what the program does. Returns its exit code, or a negative errno. Sets
     * output_size. */
    int64_t (*simulated)(struct weft_child *child);
    int64_t takes; /* how long that takes, nanoseconds; 0: the seed decides */
};

/* Runs a program. The result of the call is its exit code, or a negative errno: -ETIME: it took
 * longer than `time`, or more processor time than it may; -EMSGSIZE: it wrote more than fits into
 * the output; -ECANCELED; -ECHILD: it was ended by `signal`; another errno: it could not be started
 * (-ENOENT: there is no such program). -ENODEV: the service declares no `children`. */
WEFT_API int weft_work_child(struct weft_self *self, struct weft_call *call,
                             struct weft_child *child);

#ifdef __cplusplus
}
#endif
