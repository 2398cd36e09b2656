/* buffer: what every part of a node needs to handle packets: make one, queue it, drop it. */

#include <errno.h>

#include "node/core/node_impl.h"

struct packet *buffer_take(struct node *node, unsigned slot, uint32_t size, uint32_t stored)
{
    struct packet *packet = packet_take(node->env->pool, stored);
    if (!packet) {
        node->counts.drops[DROP_NO_BUFFER]++;
        return NULL;
    }
    packet->size = PACKET_HEADER_SIZE + size;
    packet->stored = stored;
    packet->service = node->services[slot]->service->id;
    packet->slot = (uint8_t)slot;
    packet->hops_left = node->plan->hop_limit;
    packet->source = node->self;
    packet->port_in = PORT_NONE;
    return packet;
}

void buffer_drop(struct node *node, struct packet *packet, enum drop_reason reason)
{
    /* Link messages are repeated, so a dropped one is not a loss and is not counted. */
    if (packet->slot != SLOT_LINKS)
        node->counts.drops[reason]++;
    if (packet->slot < node->service_count) {
        node->services[packet->slot]->dropped++;
        node->services[packet->slot]->over_share += reason == DROP_SHARE;
    }
    if (node->config.watcher && node->config.watcher->dropped)
        node->config.watcher->dropped(node->config.watcher, node->self, packet, reason);
    if (packet->kept)
        buffer_part(packet);
    packet_done(packet);
}

void buffer_mark(struct packet *packet)
{
    packet->marked = true;
    packet_seal(packet); /* the check of the header covers the mark */
}

int buffer_overflow(struct node *node, const struct packet *packet, struct packet *gone)
{
    int result = 0;
    struct packet *next;
    for (; gone; gone = next) {
        next = gone->next;
        result = gone == packet ? -ENOBUFS : result;
        buffer_drop(node, gone, DROP_QUEUE_FULL);
    }
    return result;
}
