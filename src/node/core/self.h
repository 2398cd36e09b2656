#pragma once
/* self: what the services of weft itself may use beyond weft/service.h. */

#include "node/node.h"

struct node *node_of(struct weft_self *self);
