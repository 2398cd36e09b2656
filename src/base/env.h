#pragma once
/* env: the world as a node sees it. There are two: os/ (real links, real clock) and sim/.
 *
 * A node never blocks, never reads a clock and never calls the system: its driver sets `now`, marks
 * what happened (node.h) and calls node_step. All calls here are made from inside a step, and none
 * of them waits.
 *
 * Packets change owners: the node owns those that receive() returns until it passes them to
 * transmit() or to packet_done(); the world owns those that transmit() took. One indirect call
 * moves a burst. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef uint32_t node_id; /* a server: its vertex in the plan; never reused for another server */
typedef int64_t env_nsec; /* times and durations in nanoseconds; only differences matter */

#define ENV_NEVER INT64_MAX

struct packet;
struct env;

#define DISK_NAME_MAX 64

enum disk_kind {
    DISK_OPEN, /* the result is the size of the file */
    DISK_CLOSE,
    DISK_READ,
    DISK_WRITE,
    DISK_APPEND, /* the result is the offset */
    DISK_SYNC,
    DISK_SIZE,
    DISK_TRUNCATE,
    DISK_RENAME,
    DISK_REMOVE,
    DISK_LIST,
};

/* An open file. The node owns the memory; the world sets `world` when DISK_OPEN succeeds. */
struct disk_file {
    void *world;
};

/* One request to the disk, with the meaning and the order that weft/disk.h promises. The node does
 * not touch it until the world has set the result and called done(), from the node's thread,
 * outside of a step and never from inside disk(). Names are valid. */
struct disk_operation {
    enum disk_kind kind;
    bool create;                  /* DISK_OPEN: make the file if it is missing */
    uint32_t size;                /* bytes to move; DISK_LIST: how many entries fit */
    uint64_t offset;              /* DISK_TRUNCATE: the new size */
    void *bytes;                  /* DISK_LIST: struct weft_file_entry (weft/disk.h) */
    const char *folder;           /* the name of the service */
    struct disk_file *file;       /* NULL: the operation concerns names only */
    char name[DISK_NAME_MAX + 1]; /* DISK_LIST: entries after this name; empty: all */
    char to[DISK_NAME_MAX + 1];   /* DISK_RENAME */
    int64_t result;               /* or a negative errno */
    void (*done)(struct disk_operation *operation);
    void *world[18]; /* of the world, while the operation is under way */
};

/* One function or child process that runs beside the node, with the meaning that weft/work.h
 * promises. The node does not touch it until the world has set the result and called done(), from
 * the node's thread, outside of a step and never from inside work(); but it may read `cancelled`
 * and set it. */
struct work_operation {
    int64_t (*run)(struct work_operation *operation); /* on another thread; returns the result */
    void *child;    /* struct weft_child (weft/work.h), whose program run() simulates; NULL: none */
    env_nsec takes; /* how long it takes in a simulated world; 0: the world decides */
    env_nsec limit; /* of a child: if it takes longer, it ends then, with -ETIME */
    const char *service; /* the name of the service */
    int64_t result;
    void (*done)(struct work_operation *operation);
    /* Written by the node's thread and by the world, never reset while the operation is under way;
     * read by the thread that runs the function. Relaxed: it carries nothing but itself. */
    _Atomic bool cancelled;
    void *world[5]; /* of the world, while the operation is under way */
};

/* What a descriptor of a service may be ready for, and what the node wants to be told. */
#define ENV_READ  1u /* bytes, the end, an error; or a client of a listener */
#define ENV_WRITE 2u /* room, an error; or the end of a connect */

/* A descriptor of a service (weft/descriptor.h). The node owns the memory, from the call that opens
 * it until close(). Whenever the descriptor is ready for something that the node wants, the world
 * calls node_descriptor, in turns, outside of a step. */
struct env_descriptor {
    void *world; /* of the world, while it is open */
    uint8_t
        wants; /* of ENV_READ and ENV_WRITE; only the node writes it, and then calls changed() */
};

struct env_address {
    const char *text; /* a number such as 127.0.0.1 */
    uint16_t port;
};

/* Results are negative errnos, or as said. None of the calls waits or calls the node. An open
 * descriptor knows its world, so only calls that open one by itself get the environment. */
struct env_descriptor_ops {
    /* -EINVAL: the address is not a number. -EMFILE: the process has too many descriptors. */
    int (*listen)(struct env *env, struct env_descriptor *descriptor,
                  const struct env_address *address);
    /* Begins to connect. The end of this is ENV_WRITE; result() then says how it ended. */
    int (*connect)(struct env *env, struct env_descriptor *descriptor,
                   const struct env_address *address);
    int (*result)(const struct env_descriptor *descriptor);
    int (*adopt)(struct env *env, struct env_descriptor *descriptor, int fd);
    /* Opens the descriptor for the next client of the listener; NULL: disconnects that client.
     * -EAGAIN: there is none now. -EMFILE: it was disconnected because the process has too many
     * descriptors. */
    int (*accept)(struct env_descriptor *listener, struct env_descriptor *descriptor);
    /* At least 1 byte; 0: the end. -EAGAIN: not now. After an end or an error the descriptor is
     * ready for reading for ever. */
    int64_t (*read)(struct env_descriptor *descriptor, void *bytes, uint32_t size);
    int64_t (*write)(struct env_descriptor *descriptor, const void *bytes, uint32_t size);
    int (*finish)(const struct env_descriptor *descriptor);
    int (*port)(const struct env_descriptor *descriptor);
    void (*changed)(struct env_descriptor *descriptor); /* `wants` did */
    /* False: the service has closed it already, behind the world's back. */
    bool (*close)(struct env_descriptor *descriptor);
};

/* To which request of which program an answer belongs. */
struct env_answer {
    uint64_t client;
    uint64_t ticket; /* 0: an event */
    uint16_t service;
};

struct env_ops {
    /* Returns the packets of frames that arrived at that port, in order; at most `most`. */
    unsigned (*receive)(struct env *env, unsigned port, struct packet **out, unsigned most);
    /* How many bytes the next frame on that port may have now, packets with their headers; 0: the
     * link is busy, and node_room() is called when it no longer is. */
    uint32_t (*room)(struct env *env, unsigned port);
    /* Sends the packets as one frame, which is not larger than room() returned. `lazy`: the frame
     * need not wake a sleeping peer, which polls within a hello period anyway. */
    void (*transmit)(struct env *env, unsigned port, struct packet **packets, unsigned count,
                     bool lazy);
    /* Answers a local program (node_local), like weft_answer by that service. After -EAGAIN the
     * driver calls node_local_writable once there is room. */
    int (*local)(struct env *env, const struct env_answer *answer, const void *bytes,
                 uint32_t size);
    /* Begins an operation of the server's disk. NULL: there is no disk. */
    void (*disk)(struct env *env, struct disk_operation *operation);
    /* Ends all operations of this node: when it returns none uses the node's memory, and done() of
     * none will be called. Not NULL if disk() is not. */
    void (*disk_end)(struct env *env);
    /* Reads a clock that also goes on while the machine sleeps; its zero is not that of `now`. What
     * it shows is later than all that the node has seen in this step, although the process may have
     * been stopped in the middle of it. NULL: `now` is that clock. */
    env_nsec (*clock)(struct env *env);
    bool gathers; /* transmit() takes packets whose bytes are elsewhere (packet.piece) */
    /* Begins an operation beside the node. NULL: there are no threads. */
    void (*work)(struct env *env, struct work_operation *operation);
    /* `cancelled` was set: an operation that has not begun ends now, with -ECANCELED. NULL: all
     * operations begin at once. */
    void (*work_cancel)(struct env *env, struct work_operation *operation);
    /* A call of a service took more than slow_ticks (node.h). Returns for how many nanoseconds the
     * service computed or waited; 0: it did so for less than NODE_SLOW_NSEC, and the rest of the
     * time the system let other processes run. May be NULL. */
    env_nsec (*ran)(struct env *env, uint64_t ticks);
    /* Child processes are simulated: their operations run run(), too. */
    bool simulates;
    /* Cancels and ends all operations of this node, like disk_end. Not NULL if work() is not. */
    void (*work_end)(struct env *env);
    const struct env_descriptor_ops *descriptors; /* NULL: there are none */
    /* What the wall clock of this server shows: nanoseconds since 1970. It may jump, also back.
     * NULL: it shows `now`. */
    env_nsec (*wall)(struct env *env);
};

struct env {
    const struct env_ops *ops;
    env_nsec now;             /* time of this step; the driver sets it before the step */
    struct packet_pool *pool; /* supplies new packets; borrowed */
};
