#pragma once
/* data_folder: the folder of one server in the data directory of its cluster.
 *
 *   DATA/server-N/server.json    says to which cluster and server the folder belongs; locked
 * (flock) while the server runs DATA/server-N/SERVICE/NAME   a file of a service
 *
 * Folders are made when a server with a service that uses the disk starts for the first time. A
 * folder of another cluster or of another server is refused, and so is a second server on the same
 * folder. server.json is whole or missing, also when the disk is full. If it is torn or missing,
 * and there is nothing else in the folder, the next server becomes the owner. */

#include <stdint.h>

#include "base/env.h"
#include "base/err.h"
#include "os/data/data_owner.h"

#define DATA_FOLDER_PREFIX "server-"
#define DATA_FILE_NAME     "server.json"
#define DATA_SERVICES_MAX  32
struct data_folder {
    int folder; /* of the server; -1: not open */
    int lock;   /* server.json */
    node_id server;
    bool made, made_owner; /* this start made the folder, or its server.json */
    unsigned count;
    struct {
        const char *name; /* of the service; borrowed */
        int folder;
        bool made;
    } services[DATA_SERVICES_MAX];
};

/* Opens the folder, and makes all that is missing. `services` ends with NULL. The reason of a
 * failure begins with the name of the folder. */
MUST_CHECK enum err data_folder_open(struct data_folder *folder, const char *data,
                                     const struct data_owner *owner, const char *const *services,
                                     struct why *why);
void data_folder_close(struct data_folder *folder); /* releases the lock */
/* The same after a start that failed: removes what data_folder_open has made and is still empty. */
void data_folder_withdraw(struct data_folder *folder);
int data_folder_of(const struct data_folder *folder, const char *service); /* a descriptor */

/* Would data_folder_open accept what is there? Nothing is made or locked. The reasons are the same.
 */
MUST_CHECK enum err data_folder_check(const char *data, const struct data_owner *owner,
                                      struct why *why);
/* Reads the owner of DATA/server-N; ERR_INPUT also if there is none. */
MUST_CHECK enum err data_owner_read(struct data_owner *owner, const char *data, node_id server,
                                    struct why *why);
/* Opens a folder by its path, and makes it and the folders above it if they are missing. *made: the
 * last one was. Returns a descriptor, or a negative errno. */
MUST_CHECK int data_path_open(const char *path, bool *made);
/* Calls back for each server of which the data directory has a folder, in any order. */
void data_servers(const char *data, void (*each)(void *context, node_id server), void *context);
