#include "sim/world/local_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct local_item {
    struct local_item *next;
    struct env_answer from;
    bool gone;
    uint32_t size;
    uint8_t bytes[];
};

int local_queue_add(struct local_queue *queue, const struct env_answer *from, bool gone,
                    const void *bytes, uint32_t size)
{
    struct local_item *item = malloc(sizeof *item + size);
    if (!item)
        return -ENOMEM;
    *item = (struct local_item){.from = *from, .gone = gone, .size = size};
    if (size)
        memcpy(item->bytes, bytes, size);
    if (!queue->first)
        queue->end = &queue->first;
    *queue->end = item;
    queue->end = &item->next;
    return 0;
}

void local_queue_pass(struct local_queue *queue, struct node *node)
{
    struct local_item *item = queue->first;
    queue->first = NULL;
    for (struct local_item *next; item; item = next) {
        next = item->next;
        if (node && item->gone)
            node_local_gone(node, item->from.client);
        else if (node)
            (void)node_local(node, &item->from, item->bytes, item->size);
        free(item);
    }
}
