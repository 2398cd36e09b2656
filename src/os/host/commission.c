#include "os/host/commission.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define BURST        32
#define HELLO_NSEC   (100 * 1000000LL)
#define SILENCE_NSEC (5 * NSEC_PER_SEC) /* on a busy machine processes wait for seconds */
/* Cables without a hello for this long count as missing. If all planned cables were found, there is
 * no wait. If this is too short, servers that start late find their places taken. */
#define QUIET_NSEC (10 * NSEC_PER_SEC)
/* How long we wait before we announce that our place is permanent. The announcement changes our
 * row, on which all servers have to agree again: so let the other servers finish first. */
#define KEEP_NSEC (2 * NSEC_PER_SEC)

struct commission {
    struct commission_config config;
    struct bootstrap *bootstrap;
    node_id place; /* permanent; NODE_NONE: not yet */
    nsec keep_at;
    bool told;
    uint64_t digest; /* of the last result reported */
};

enum err commission_open(struct commission **out, const struct commission_config *config,
                         struct why *why)
{
    struct commission *commission = array_new(1, sizeof *commission);
    if (!commission)
        return why_memory(why);
    commission->config = *config;
    commission->place = config->known;
    commission->keep_at = NSEC_NEVER;
    const struct bootstrap_config options = {
        .plan = config->plan,
        .serial = config->serial,
        .port_count = PORT_MAX,
        .known = config->known,
        .hello_nsec = HELLO_NSEC,
        .silence_nsec = SILENCE_NSEC,
        .quiet_nsec = QUIET_NSEC,
    };
    enum err err = bootstrap_open(&commission->bootstrap, &options, why);
    if (err) {
        free(commission);
        return err;
    }
    *out = commission;
    return OK;
}

void commission_close(struct commission *commission)
{
    if (!commission)
        return;
    bootstrap_close(commission->bootstrap);
    free(commission);
}

/* ---- receiving ---- */

unsigned commission_filter(struct commission *commission, unsigned port, struct packet **packets,
                           unsigned count, nsec now)
{
    unsigned left = 0;
    for (unsigned i = 0; i < count; i++) {
        struct packet *packet = packets[i];
        bool good = packet->read || packet_read(packet, packet->size);
        if (!good || packet->kind != PACKET_TO_NEIGHBOUR || packet->service != COMMISSION_SERVICE) {
            packets[left++] = packet;
            continue;
        }
        bootstrap_receive(commission->bootstrap, port, packet_payload(packet),
                          packet->stored - PACKET_HEADER_SIZE, now);
        packet_done(packet);
    }
    return left;
}

void commission_drain(struct commission *commission, unsigned port, nsec now)
{
    struct packet *packets[BURST];
    struct port *at = commission->config.ports[port];
    unsigned count;
    while ((count = at->ops->receive(at, packets, BURST)) > 0) {
        unsigned left = commission_filter(commission, port, packets, count, now);
        for (unsigned i = 0; i < left; i++) /* from a node that runs already: it repeats them */
            packet_done(packets[i]);
    }
}

/* ---- sending ---- */

static bool port_send(void *context, unsigned number, const void *bytes, size_t size)
{
    struct commission *commission = context;
    struct port *port = commission->config.ports[number];
    if (!port)
        return true; /* nothing is plugged in */
    struct packet *packet = NULL;
    if (port_room(port))
        packet = packet_take(commission->config.pool, PACKET_HEADER_SIZE + (uint32_t)size);
    if (!packet)
        return false;
    packet->kind = PACKET_TO_NEIGHBOUR;
    packet->service = COMMISSION_SERVICE;
    packet->source = NODE_NONE;
    packet->size = packet->stored = PACKET_HEADER_SIZE + (uint32_t)size;
    memcpy(packet_payload(packet), bytes, size);
    packet_seal(packet);
    /* A server that has its place does not wake others: a server that looks for one polls at every
     * hello of its own. */
    if (!port_transmit(port, &packet, 1, commission->place != NODE_NONE))
        packet_done(packet); /* it is sent again */
    return true;
}

nsec commission_step(struct commission *commission, nsec now)
{
    if (now >= commission->keep_at) {
        bootstrap_keep(commission->bootstrap, commission->place);
        commission->keep_at = NSEC_NEVER;
    }
    return bootstrap_step(commission->bootstrap, now, port_send, commission);
}

/* ---- the result ---- */

static uint64_t findings_digest(const struct placement *placement, node_id vertex)
{
    uint64_t hash = hash_mix(vertex);
    for (uint32_t i = 0; i < placement->finding_count; i++)
        for (const char *at = placement->findings[i].line; *at; at++)
            hash = hash_mix(hash + (uint8_t)*at);
    return hash;
}

bool commission_news(struct commission *commission, node_id *vertex,
                     const struct placement **placement)
{
    if (!bootstrap_done(commission->bootstrap, vertex, placement))
        return false;
    uint64_t digest = findings_digest(*placement, *vertex);
    bool news = !commission->told || digest != commission->digest;
    commission->told = true;
    commission->digest = digest;
    return news;
}

void commission_keep(struct commission *commission, node_id vertex, nsec now)
{
    commission->place = vertex;
    commission->keep_at = now + KEEP_NSEC;
}
