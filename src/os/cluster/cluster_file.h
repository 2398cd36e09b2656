#pragma once
/* cluster_file: the run directory of a cluster on this machine, as `weft up` makes it and weftd
 * finds it.
 *
 *   cluster.json     what the processes have to know beside the wiring; written before any starts
 *   topology.json    the wiring, node-link JSON
 *   node-ID.lock     a record lock (fcntl) that its process holds for life: the kernel names the
 *                    true pid of who holds it, whatever the text says. The text is the pid and the
 *                    incarnation of the last life
 *   node-ID.socket   where local programs ask its services
 *   node-ID.log      what its process printed; of several servers in one process the first's
 *   links/           what links need to meet
 *   serial-S.*, wiring.json: see serial_file.h
 *
 * Whatever else a process makes there is named node-ID.* too, so that `weft down` finds it. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/env.h"
#include "base/err.h"
#include "base/text.h"

#define CLUSTER_SERVERS_MAX   4096 /* on one machine */
#define CLUSTER_SERVICES_MAX  16   /* plug-ins */
#define CLUSTER_FOLDER_MAX    84   /* a Unix socket's path has 108 with its end */
#define CLUSTER_PATH_SIZE     128
#define CLUSTER_WORDS_SIZE    256
#define CLUSTER_LINKS_FOLDER  "links"
#define CLUSTER_FILE_NAME     "cluster.json"
#define CLUSTER_TOPOLOGY_NAME "topology.json"

enum cluster_transport { CLUSTER_SHM, CLUSTER_UDP };

extern const char *const cluster_transport_words[]; /* in the order of the enum, ended by NULL */

struct cluster_file {
    uint64_t id;                       /* random: tells clusters apart */
    char topology[CLUSTER_WORDS_SIZE]; /* for people */
    uint32_t server_count;
    enum cluster_transport transport;
    uint64_t rate;       /* bits a second of each direction of a link; 0: as fast as it goes */
    uint32_t hello_ms;   /* 0: the node's own default */
    uint32_t silence_ms; /* 0: the node's own default */
    uint64_t seed;
    bool made_folder;  /* `up` made the folder, so `down` removes it */
    bool pinned;       /* every process to a processor, in turn */
    bool realtime;     /* and before all ordinary ones: see realtime.h */
    bool commissioned; /* servers find their places by their cables: see serial_file.h */
    uint32_t service_count;
    char *services[CLUSTER_SERVICES_MAX]; /* absolute paths; owned */
    uint32_t process_count;
    uint32_t *process_of; /* of each server; owned */
};

/* Servers are dealt to the processes in blocks of consecutive ids. */
MUST_CHECK enum err cluster_file_deal(struct cluster_file *file, uint32_t server_count,
                                      uint32_t process_count, struct why *why);
void cluster_file_fini(struct cluster_file *file);

/* As text and back; `name` begins the refusals. On failure nothing is kept. */
void cluster_file_write(const struct cluster_file *file, struct text *out);
MUST_CHECK enum err cluster_file_parse(struct cluster_file *file, const char *name,
                                       const char *data, size_t size, struct why *why);

/* FOLDER/cluster.json. */
MUST_CHECK enum err cluster_file_read(struct cluster_file *file, const char *folder,
                                      struct why *why);

/* The first server of the process that hosts this one; the log is named after it. */
node_id cluster_file_first(const struct cluster_file *file, node_id server);

/* Refuses a folder whose name is too long for the sockets in it. */
MUST_CHECK enum err cluster_folder_check(const char *folder, struct why *why);

/* FOLDER/node-ID.ENDING; the folder was checked. */
void cluster_path(char path[CLUSTER_PATH_SIZE], const char *folder, node_id server,
                  const char *ending);

/* ---- locks ---- */

/* Takes a server's lock for the rest of this process' life and writes pid and incarnation into it:
 * later than all before. Returns the descriptor, to be kept open and never opened a second time
 * (closing any descriptor of the file drops the lock). -EBUSY: a living process holds it. */
MUST_CHECK int cluster_lock_take(const char *folder, node_id server, uint64_t *incarnation);

/* Does the folder still know the lock that this process took? False: the file was removed, or
 * another is in its place, so that somebody else can be this server. A folder that was moved as a
 * whole keeps it. */
bool cluster_lock_stands(int lock, const char *folder, node_id server);

/* Who holds it: a pid by the kernel's word; 0: nobody; negative errno. Not for locks of this very
 * process, which the kernel does not show to it. */
pid_t cluster_lock_holder(const char *folder, node_id server);
