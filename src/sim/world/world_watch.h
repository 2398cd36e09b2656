#pragma once
/* world_watch: passes the events of nodes and links to each watcher that has a function for them.
 * Events without such a function are not passed at all: a world without watchers pays nothing. */

#include "sim/world/world.h"

struct world_watch {
    struct node_watcher node;              /* events of all nodes */
    struct slab_watcher slab;              /* events of all links */
    struct world_watcher *const *watchers; /* ends with NULL, or is NULL; borrowed */
    bool receives;                         /* a watcher has received() */
};

void world_watch_init(struct world_watch *watch, struct world *world,
                      struct world_watcher *const *watchers);
struct node_watcher *world_watch_node(struct world_watch *watch); /* NULL: there are no watchers */
const struct slab_watcher *world_watch_slab(struct world_watch *watch);
/* Only if `receives`. */
void world_watch_received(const struct world_watch *watch, node_id at, unsigned port,
                          const struct packet *packet);
void world_watch_opened(const struct world_watch *watch, node_id at, uint64_t incarnation);
void world_watch_closed(const struct world_watch *watch, node_id at);
