#pragma once
/* local_queue: what local programs do while their server is paused. The server gets it, in order,
 * when it goes on. Owns copies of the requests. */

#include "node/node.h"

struct local_item;

struct local_queue {
    struct local_item *first, **end; /* end: NULL as long as it was never used */
};

/* A request of a program; with `gone`, the program has disconnected. 0 or -ENOMEM. */
int local_queue_add(struct local_queue *queue, const struct env_answer *from, bool gone,
                    const void *bytes, uint32_t size);
/* Empties the queue: passes all to the node, or forgets it if `node` is NULL. */
void local_queue_pass(struct local_queue *queue, struct node *node);
