#pragma once
/* world_watch: hands what nodes and links tell to each watcher that wants to hear it. What nobody
 * listens to is not told at all: a world without watchers pays nothing. */

#include "sim/world/world.h"

struct world_watch {
    struct node_watcher node;              /* what all nodes tell */
    struct slab_watcher slab;              /* what all links tell */
    struct world_watcher *const *watchers; /* ends with NULL, or is NULL; borrowed */
};

void world_watch_init(struct world_watch *watch, struct world *world,
                      struct world_watcher *const *watchers);
struct node_watcher *world_watch_node(struct world_watch *watch); /* NULL: nobody listens */
const struct slab_watcher *world_watch_slab(struct world_watch *watch);
void world_watch_opened(const struct world_watch *watch, node_id at, uint64_t incarnation);
void world_watch_closed(const struct world_watch *watch, node_id at);
