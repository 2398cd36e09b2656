#pragma once
/* self: what services that are part of weft may see beyond weft/service.h. */

#include "node/node.h"

struct node *node_of(struct weft_self *self);
