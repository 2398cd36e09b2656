#pragma once
/* simulation: a checker for `weft sim run` and `weft sim chaos`: it plays the programs of a
 * simulated cluster, and says whether the services keep their promises.
 *
 * A checker is a shared object that exports one `const struct weft_checker weft_checker`:
 *
 *     weft sim chaos torus:3x3 --service ./register.so --checker ./register_checker.so --seeds 200
 *
 * Each seed is one run: a cluster in simulated time, with the faults that the seed draws. A run has
 * one instance of the checker, with zeroed memory of the size that the checker asks for. The
 * checker sees the cluster from outside. It opens clients at servers, sends requests to services
 * and gets their answers, sets timers, is told of every fault, and asks which servers run. With
 * weft_sim_fail it reports that something is wrong. This ends the run, and weft prints the message
 * and the command that replays the run. A checker that only makes load is a load generator.
 *
 * The run is a function of the seed if the checker is one: it uses no clock, thread or randomness
 * of its own, and keeps all its state in weft_sim_memory. It may use the C library, also malloc
 * (finish() then frees the memory). Seeds run in several processes at once. No function of a
 * checker is called from inside a function of a service or of the checker; all calls happen between
 * two simulated events, and take no simulated time. A checker that crashes, or does not return,
 * fails its seed; the other seeds still run.
 *
 * docs/guide/checker.md explains examples/register.c and examples/register_checker.c. */

#include <weft/service.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header; a checker built for another version is refused. */
#define WEFT_SIMULATION_VERSION 1

struct weft_simulation; /* one run */

/* The faults of `weft sim chaos`; its manual explains each. */
enum weft_fault_kind {
    WEFT_FAULT_LOSS, /* of links */
    WEFT_FAULT_CORRUPTION,
    WEFT_FAULT_DUPLICATION,
    WEFT_FAULT_JITTER,
    WEFT_FAULT_ONE_WAY,
    WEFT_FAULT_FLAP,
    WEFT_FAULT_PLANE,
    WEFT_FAULT_CUT,
    WEFT_FAULT_CRASH, /* of servers */
    WEFT_FAULT_RESTART,
    WEFT_FAULT_QUICK,
    WEFT_FAULT_PAUSE,
    WEFT_FAULT_CLOCK,
    WEFT_FAULT_HANG,
    WEFT_FAULT_LATE,    /* of links */
    WEFT_FAULT_CARRIER, /* of links */
    WEFT_FAULT_SLOW,
    WEFT_FAULT_JUMP,
    WEFT_FAULT_REWIND,
    WEFT_FAULT_EMPTY, /* these and the following only if a service uses the disk */
    WEFT_FAULT_DISK_LOST,
    WEFT_FAULT_DISK_TORN,
    WEFT_FAULT_DISK_ROT,
    WEFT_FAULT_DISK_FAIL,
    WEFT_FAULT_DISK_FULL,
    WEFT_FAULT_DISK_SLOW,
};

struct weft_fault {
    enum weft_fault_kind kind;
    bool begins; /* false: it ends */
    weft_server server;
    unsigned port; /* faults of links: the direction that leaves the server by this port */
    /* Of each million: frames or operations of a disk that are hit, or the rate of a clock, where a
     * million is right. Nanoseconds: jitter, lateness, a jump, the delay of a slow disk. Bytes that
     * are left on a full disk. */
    uint64_t amount;
};

enum weft_sim_phase {
    WEFT_SIM_STORM,  /* faults happen; `weft sim run` has no storm */
    WEFT_SIM_CALM,   /* every fault has ended; servers find each other again */
    WEFT_SIM_STEADY, /* all servers reach each other, and nothing fails any more */
};

/* Any function may be NULL. */
struct weft_checker_ops {
    /* The run begins; all servers have started. A negative errno refuses the whole command. */
    int (*start)(struct weft_simulation *simulation);
    /* A service answers a client, by weft_answer. */
    void (*answer)(struct weft_simulation *simulation, uint32_t client, uint64_t ticket,
                   const void *bytes, uint32_t size);
    void (*timer)(struct weft_simulation *simulation, uint64_t cookie);
    /* A server has crashed: requests of its clients that were under way get no answer any more. */
    void (*down)(struct weft_simulation *simulation, weft_server server);
    /* The server runs again, and its clients are connected again. `empty`: its disk was
     * replaced. */
    void (*up)(struct weft_simulation *simulation, weft_server server, bool empty);
    /* A fault has begun or ended. Before that, down() reports a crash, and up() a start. */
    void (*fault)(struct weft_simulation *simulation, const struct weft_fault *fault);
    /* Not called for the phase in which the run begins. */
    void (*phase)(struct weft_simulation *simulation, enum weft_sim_phase phase);
    /* The run ends, and no other function is called any more. Called also after a failure. */
    void (*finish)(struct weft_simulation *simulation);
};

struct weft_checker {
    uint32_t version; /* WEFT_SIMULATION_VERSION */
    const char *name; /* in reports of failures; 1 to 32 letters, digits, - or _ */
    uint64_t size;    /* bytes of memory for a run */
    /* `weft sim chaos`: how long a run goes on in the steady phase, so that the last requests get
     * their answers; 0 means 300 ms. At most a minute. */
    int64_t steady_nsec;
    const struct weft_checker_ops *ops;
};

/* ---- the run ---- */

/* Memory of the instance, zeroed at the start of the run. */
WEFT_API void *weft_sim_memory(struct weft_simulation *simulation);
WEFT_API uint64_t weft_sim_seed(const struct weft_simulation *simulation);
/* A number that depends on the seed and on the calls before. */
WEFT_API uint64_t weft_sim_random(struct weft_simulation *simulation);
/* Simulated time in nanoseconds since the start, by a clock that is always right. */
WEFT_API int64_t weft_sim_now(const struct weft_simulation *simulation);
/* Calls timer() once with the cookie at that moment, or at once if it is over. -ENOMEM. */
WEFT_API int weft_sim_timer(struct weft_simulation *simulation, int64_t at, uint64_t cookie);

/* Something is wrong: the run ends after the current function has returned. Only the first message
 * counts; at most 239 bytes of it are kept. */
WEFT_API void weft_sim_fail(struct weft_simulation *simulation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a line to the history of the run, with the time, which `--history` prints. The history also
 * has a line for every fault. It has room for a megabyte; further lines are counted. */
WEFT_API void weft_sim_record(struct weft_simulation *simulation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- servers ---- */

WEFT_API uint32_t weft_sim_server_count(const struct weft_simulation *simulation);
/* Does the server run? A paused server does. */
WEFT_API bool weft_sim_is_up(const struct weft_simulation *simulation, weft_server server);
WEFT_API bool weft_sim_is_paused(const struct weft_simulation *simulation, weft_server server);
/* Does it consider itself the root of the key now (weft_is_root)? */
WEFT_API bool weft_sim_is_root(const struct weft_simulation *simulation, weft_server server,
                               const struct weft_key *key);
/* Does it know a path to the other one (weft_reaches)? */
WEFT_API bool weft_sim_reaches(const struct weft_simulation *simulation, weft_server server,
                               weft_server other);
/* Reads a counter of a service on that server, as in `weft nodes --json`. -ENOENT: no such service
 * or counter; -ECONNREFUSED: the server is down. */
WEFT_API int weft_sim_stat(const struct weft_simulation *simulation, weft_server server,
                           const char *service, const char *counter, uint64_t *value);

/* ---- clients: programs of a server ---- */

/* A program attaches to a server. Returns the client's number, at least 0, or -EINVAL: no such
 * server; -ENOMEM. The program attaches again by itself whenever the server starts again. */
WEFT_API int64_t weft_sim_client(struct weft_simulation *simulation, weft_server server);
/* The program sends a request to a service, by its name. answer() gets the answers; with ticket 0
 * there is none. A paused server gets the request when it goes on. 0; -ECONNREFUSED: the server is
 * down; -ENOENT: no such service, or it takes no requests; -EMSGSIZE: more than WEFT_MESSAGE_MAX
 * bytes; -EBADF: no such client; -ENOMEM. */
WEFT_API int weft_sim_send(struct weft_simulation *simulation, uint32_t client, const char *service,
                           uint64_t ticket, const void *bytes, uint32_t size);
/* The program ends; services to which it sent a request are told by gone(). -EBADF: no such
 * client. */
WEFT_API int weft_sim_close(struct weft_simulation *simulation, uint32_t client);

#ifdef __cplusplus
}
#endif
