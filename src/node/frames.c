/* frames: in what packets leave over a port. */

#include "node/node_impl.h"

enum {
    FRAMES_PER_PORT = 16, /* in one step */
};

/* Hands a frame to the world, and counts it. */
static void frame_send(struct node *node, unsigned port, struct packet **frame, unsigned count)
{
    struct node_port *at = &node->ports[port];
    for (unsigned i = 0; i < count; i++) {
        at->bytes_out += frame[i]->size;
        if (node->config.watcher && node->config.watcher->transmitted)
            node->config.watcher->transmitted(node->config.watcher, node->self, port, frame[i]);
    }
    at->packets_out += count;
    at->frames_out++;
    node->counts.packets_out += count;
    node->env->ops->transmit(node->env, port, frame, count, false);
}

/* Bytes that the next frame may have: of one whole packet, or none, and then the port is blocked
 * until node_room. */
static uint32_t frame_room(struct node *node, unsigned port)
{
    if (node->env->ops->room(node->env, port) >= PACKET_SIZE_MAX)
        return PACKET_SIZE_MAX;
    node->blocked |= (port_set)1 << port;
    node->ports[port].busy++;
    return 0;
}

bool frames_straight(struct node *node, struct packet *packet)
{
    if (!node->lone || egress_ports(node->egress))
        return false;
    for (port_set left = packet->ports & node->carriers & ~node->blocked; left; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctz(left);
        if (!frame_room(node, port))
            continue;
        frame_send(node, port, &packet, 1);
        return true;
    }
    return false;
}

bool frames_send(struct node *node, unsigned port)
{
    struct packet *frame[EGRESS_FRAME_MAX];
    for (unsigned frames = 0; frames < FRAMES_PER_PORT; frames++) {
        uint32_t room = frame_room(node, port);
        unsigned count = room ? egress_frame(node->egress, port, room, frame) : 0;
        if (!count)
            return false;
        frame_send(node, port, frame, count);
        if (!(egress_ports(node->egress) >> port & 1))
            return false;
    }
    return true;
}
