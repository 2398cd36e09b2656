/* frames: collects packets that leave over a port into frames.
 *
 * A packet that passes through joins the open frame of its port if no other packet waits for that
 * port: then fairness needs no queue and no round. Open frames leave when all arrived packets are
 * received, or when they are full; a packet that arrived alone leaves at once. A packet that finds
 * no room, or others waiting, waits for the round.
 *
 * Invariant: a port has an open frame only within a step, while its node receives. */

#include "node/core/node_impl.h"

enum {
    FRAMES_PER_PORT = 16, /* in one step */
};

/* Hands a frame to the environment, and counts it. */
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

/* Returns how many bytes the next frame may have: PACKET_SIZE_MAX or 0. With 0 the port is blocked
 * until node_room. */
static uint32_t frame_room(struct node *node, unsigned port)
{
    if (node->env->ops->room(node->env, port) >= PACKET_SIZE_MAX)
        return PACKET_SIZE_MAX;
    node->blocked |= (port_set)1 << port;
    node->ports[port].busy++;
    return 0;
}

/* ---- open frames ---- */

static void open_frame_send(struct node *node, unsigned port)
{
    struct packet *frame[EGRESS_FRAME_MAX];
    unsigned count = 0;
    for (struct packet *packet = node->open_frames[port].first; packet; packet = packet->next)
        frame[count++] = packet;
    node->open &= ~((port_set)1 << port);
    frame_send(node, port, frame, count);
}

/* False: the port has no room. */
static bool open_frame_fits(struct node *node, unsigned port, uint32_t size)
{
    struct open_frame *open = &node->open_frames[port];
    if (node->open >> port & 1) {
        if (size <= open->room && open->packets_left)
            return true;
        open_frame_send(node, port);
    }
    *open = (struct open_frame){
        .end = &open->first,
        .room = frame_room(node, port),
        .packets_left = node->config.separate ? 1 : EGRESS_FRAME_MAX,
    };
    return open->room > 0;
}

static void open_frame_add(struct node *node, unsigned port, struct packet *packet)
{
    struct open_frame *open = &node->open_frames[port];
    assert(packet->size <= open->room && open->packets_left);
    node->open |= (port_set)1 << port;
    open->room -= packet->size;
    open->packets_left--;
    packet->next = NULL;
    *open->end = packet;
    open->end = &packet->next;
}

bool frames_join(struct node *node, struct packet *packet)
{
    /* Within a step packet->ports may still name a port that went down. */
    port_set ports = packet->ports & node->state.own_near & node->carriers & ~node->blocked &
                     ~egress_ports(node->egress);
    for (; ports; ports &= ports - 1) {
        unsigned port = (unsigned)__builtin_ctz(ports);
        if (node->alone ? !frame_room(node, port) : !open_frame_fits(node, port, packet->size))
            continue;
        if (node->alone)
            frame_send(node, port, &packet, 1);
        else
            open_frame_add(node, port, packet);
        return true;
    }
    return false;
}

void frames_leave(struct node *node)
{
    while (node->open)
        open_frame_send(node, (unsigned)__builtin_ctz(node->open));
}

void frames_recall(struct node *node, unsigned port)
{
    if (!(node->open >> port & 1))
        return;
    node->open &= ~((port_set)1 << port);
    if (HAS_BUG(&node->config, RECALL_LOST))
        return;
    struct packet *next;
    for (struct packet *packet = node->open_frames[port].first; packet; packet = next) {
        next = packet->next;
        (void)buffer_queue(node, packet); /* counts its drops itself */
    }
}

/* ---- packets that waited ---- */

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
