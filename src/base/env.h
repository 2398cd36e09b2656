#pragma once
/* env: the world as a node sees it. There are two: os/ (real links, real clock) and sim/.
 *
 * A node never blocks, never reads a clock and never asks the system for anything: whoever drives
 * it sets `now`, marks what happened (node.h) and calls node_step. All calls here come from inside
 * a step, and none of them waits.
 *
 * Packets change hands: those that receive() returns are the node's until it hands them to
 * transmit() or to packet_done(); those that transmit() took are the world's. One indirect call
 * moves a burst. */

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t node_id; /* a server: its vertex in the plan; never given to another */
typedef int64_t env_nsec; /* moments and lengths, in nanoseconds; only differences mean anything */

#define ENV_NEVER INT64_MAX

struct packet;
struct env;

/* One request to the disk. It is the caller's memory until done() was called, from a later step's
 * driver. Results are bytes moved or a negative errno. */
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
    /* Packets of frames that came over that port, in order; at most `most`. */
    unsigned (*receive)(struct env *env, unsigned port, struct packet **out, unsigned most);
    /* Bytes that the next frame on that port may have now, packets with their headers; 0: the link
     * is busy, and node_room() is called when it no longer is. */
    uint32_t (*room)(struct env *env, unsigned port);
    /* Sends the packets as one frame, not larger than room() said. `lazy`: it need not wake a peer
     * that sleeps; it will look within a hello's time anyway. */
    void (*transmit)(struct env *env, unsigned port, struct packet **packets, unsigned count,
                     bool lazy);
    /* An answer to a local program (node_local); as weft_answer. */
    int (*local)(struct env *env, uint64_t client, const void *bytes, uint32_t size);
    void (*disk)(struct env *env, struct disk_operation *operation);
};

struct env {
    const struct env_ops *ops;
    env_nsec now;             /* of this step; set by the driver before it */
    struct packet_pool *pool; /* where new packets come from; borrowed */
};
