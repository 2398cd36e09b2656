#pragma once
/* self: what services that are part of weft may see beyond weft/service.h. */

#include "node/node.h"

struct node *node_of(struct weft_self *self);

/* Hands an operation to the server's disk; it is the service's memory until done() was called.
 * -ENODEV: the world has no disk. */
MUST_CHECK int node_disk(struct weft_self *self, struct disk_operation *operation);
