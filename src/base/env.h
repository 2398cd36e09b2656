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

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t node_id; /* a server: its vertex in the plan; never reused for another server */
typedef int64_t env_nsec; /* times and durations in nanoseconds; only differences matter */

#define ENV_NEVER INT64_MAX

struct packet;
struct env;

/* One request to the disk. The caller must not touch it until done() was called, by the driver
 * before a later step. The result is the number of bytes moved or a negative errno. */
struct disk_operation {
    enum { DISK_READ, DISK_WRITE, DISK_SYNC } kind;
    uint64_t offset;
    void *bytes;
    uint32_t size;
    int64_t result;
    void (*done)(struct disk_operation *operation);
    void *owner;
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
    /* Answers a local program (node_local), like weft_answer. */
    int (*local)(struct env *env, uint64_t client, const void *bytes, uint32_t size);
    void (*disk)(struct env *env, struct disk_operation *operation);
};

struct env {
    const struct env_ops *ops;
    env_nsec now;             /* time of this step; the driver sets it before the step */
    struct packet_pool *pool; /* supplies new packets; borrowed */
};
