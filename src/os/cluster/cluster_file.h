#pragma once
/* cluster_file: the run directory of a cluster on this machine, which `weft up` makes and weftd
 * reads.
 *
 *   cluster.json     settings of the processes besides the wiring; written before any starts
 *   topology.json    the wiring, node-link JSON
 *   node-ID.lock     a record lock (fcntl) that the server's process holds until it ends: the
 *                    kernel reports the true pid of its holder, whatever the text says. The text
 *                    is the pid and the incarnation of the last start
 *   node-ID.socket   where local programs send requests to its services
 *   node-ID.log      output of its process; of several servers in one process only the first
 *                    has a log
 *   node-ID.stuck    which function of a service has not returned; see watchdog.h
 *   node-ID.child-N/ the folder of a child process of a service; see child.h
 *   links/           the sockets through which links are set up
 *   serial-S.*, wiring.json: see serial_file.h
 *
 * Any other file of a process is also named node-ID.*, so that `weft down` finds it. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/env.h"
#include "base/err.h"
#include "base/text.h"
#include "node/configuration/configuration.h"

#define CLUSTER_SERVERS_MAX   4096 /* on one machine */
#define CLUSTER_SERVICES_MAX  16   /* plug-ins */
#define CLUSTER_SETTINGS_MAX  1024 /* values of parameters */
#define CLUSTER_FOLDER_MAX    84   /* a Unix socket's path has at most 108 bytes with its end */
#define CLUSTER_PATH_SIZE     128
#define CLUSTER_WORDS_SIZE    256
#define CLUSTER_LINKS_FOLDER  "links"
#define CLUSTER_FILE_NAME     "cluster.json"
#define CLUSTER_TOPOLOGY_NAME "topology.json"

enum cluster_transport { CLUSTER_SHM, CLUSTER_UDP };

extern const char *const cluster_transport_words[]; /* in the order of the enum, ended by NULL */

struct cluster_file {
    uint64_t id;                       /* random: distinguishes clusters */
    char topology[CLUSTER_WORDS_SIZE]; /* for people to read */
    uint32_t server_count;
    enum cluster_transport transport;
    uint64_t rate;       /* bits per second in each direction of a link; 0: no limit */
    uint32_t hello_ms;   /* 0: the node's default */
    uint32_t silence_ms; /* 0: the node's default */
    uint32_t programs;   /* that may be attached to one server; 0: the default */
    uint64_t seed;
    bool made_folder;  /* `up` made the folder, so `down` removes it */
    bool pinned;       /* each process is bound to a processor, in turn */
    bool realtime;     /* processes have priority over ordinary ones: see realtime.h */
    bool commissioned; /* servers find their places by their cables: see serial_file.h */
    uint32_t service_count;
    char *services[CLUSTER_SERVICES_MAX]; /* absolute paths, or names (services_optional); owned */
    char *data;       /* the data directory, an absolute path; owned; NULL: none */
    uint64_t data_id; /* of the cluster in its data directory: survives `down` (data_owner.h) */
    struct configuration settings; /* values of parameters that the operator set; owned */
    uint32_t process_count;
    uint32_t *process_of; /* of each server; owned */
};

/* Distributes the servers to the processes in blocks of consecutive ids. */
MUST_CHECK enum err cluster_file_deal(struct cluster_file *file, uint32_t server_count,
                                      uint32_t process_count, struct why *why);
void cluster_file_fini(struct cluster_file *file);

/* Write and parse the file; error messages begin with `name`. On failure nothing is kept. */
void cluster_file_write(const struct cluster_file *file, struct text *out);
MUST_CHECK enum err cluster_file_parse(struct cluster_file *file, const char *name,
                                       const char *data, size_t size, struct why *why);

/* Reads FOLDER/cluster.json. */
MUST_CHECK enum err cluster_file_read(struct cluster_file *file, const char *folder,
                                      struct why *why);

/* The first server of the process that runs this one; the log is named after it. */
node_id cluster_file_first(const struct cluster_file *file, node_id server);

/* Refuses a folder whose path is too long for the sockets in it. */
MUST_CHECK enum err cluster_folder_check(const char *folder, struct why *why);

/* FOLDER/node-ID.ENDING; the folder has been checked. */
void cluster_path(char path[CLUSTER_PATH_SIZE], const char *folder, node_id server,
                  const char *ending);

/* ---- locks ---- */

/* Takes a server's lock until this process ends, and writes pid and an incarnation later than all
 * before into it. Returns the descriptor, which must stay open; the file must never be opened a
 * second time (closing any descriptor of it releases the lock). -EBUSY: a running process holds
 * it. */
MUST_CHECK int cluster_lock_take(const char *folder, node_id server, uint64_t *incarnation);

/* Is the lock that this process took still in the folder? False: the file was removed or replaced,
 * so that another process can be this server. A folder that was moved as a whole keeps it. */
bool cluster_lock_stands(int lock, const char *folder, node_id server);

/* The pid of the holder as the kernel reports it; 0: not held; negative errno. Not for locks of
 * this process itself, which the kernel does not report to it. */
pid_t cluster_lock_holder(const char *folder, node_id server);
