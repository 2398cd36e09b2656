#pragma once
/* self: what the services of weft itself may use beyond weft/service.h. */

#include "node/node.h"

struct node *node_of(struct weft_self *self);

/* Hands an operation to the server's disk. The service keeps its memory valid until done() is
 * called. -ENODEV: there is no disk. */
MUST_CHECK int node_disk(struct weft_self *self, struct disk_operation *operation);
