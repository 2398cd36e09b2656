/* egress: one round for each port over the services that have packets for it.
 *
 * A round is a few words: the slots with packets (a bit each), the slot whose turn it is, and the
 * allowance that each slot has left. The slot in turn sends while it has both packets and
 * allowance; then the next slot with packets, in a circle, gets its quantum.
 *
 * Invariants: bit p of sources[s].ports is set iff bit s of round p's ready is; ports has p iff
 * round p's ready is not 0; a slot that is not ready has no allowance left, or a debt. */

#include "node/core/egress.h"

#include <string.h>

#include "node/core/queue_impl.h"

#define QUANTUM ((int32_t)PACKET_SIZE_MAX) /* bytes for weight 1: more than any debt */

struct round {
    uint32_t ready; /* slots with packets for this port */
    uint32_t turn;  /* the slot whose turn it is, or was last */
    uint32_t polls; /* slots that are polled first in their turn, if they alternate */
    int32_t left[]; /* bytes that each slot may send; below 0: a debt smaller than a packet */
};

struct egress {
    port_set ports;
    uint32_t port_count;
    uint32_t source_max;
    uint32_t source_count;
    uint32_t round_size; /* bytes from one round to the next */
#ifdef WEFT_PLANTED_BUGS
    uint32_t skip_period;
    uint32_t skip_count;
#endif
    bool aggregate;
    char *rounds;
    struct egress_source sources[];
};

static_assert((int64_t)PACKET_SIZE_MAX * UINT16_MAX < INT32_MAX - PACKET_SIZE_MAX,
              "the allowance of the heaviest service fits");

static size_t round_size(unsigned source_max)
{
    return sizeof(struct round) + source_max * sizeof(int32_t);
}

size_t egress_size(unsigned port_count, unsigned source_max)
{
    size_t size = sizeof(struct egress) + source_max * sizeof(struct egress_source) +
                  port_count * round_size(source_max);
    return (size + 7) & ~(size_t)7;
}

static struct round *round_of(const struct egress *egress, unsigned port)
{
    assert(port < egress->port_count);
    return (struct round *)(void *)(egress->rounds + (size_t)port * egress->round_size);
}

struct egress *egress_init(void *memory, unsigned port_count, unsigned source_max, bool aggregate)
{
    assert((uintptr_t)memory % 8 == 0);
    assert(port_count >= 1 && port_count <= PORT_MAX);
    assert(source_max >= 1 && source_max <= EGRESS_SERVICES_MAX);
    memset(memory, 0, egress_size(port_count, source_max));
    struct egress *egress = memory;
    egress->port_count = port_count;
    egress->source_max = source_max;
    egress->round_size = (uint32_t)round_size(source_max);
    egress->aggregate = aggregate;
    egress->rounds = (char *)&egress->sources[source_max];
    for (unsigned port = 0; port < port_count; port++)
        round_of(egress, port)->turn = EGRESS_SERVICES_MAX - 1; /* so that slot 0 comes next */
    return egress;
}

unsigned egress_add(struct egress *egress, const struct egress_source *source)
{
    assert(egress->source_count < egress->source_max);
    assert(source->weight >= 1 && source->weight <= UINT16_MAX);
    assert(source->queue && !queue_packets(source->queue));
    unsigned slot = egress->source_count++;
    egress->sources[slot] = *source;
    egress->sources[slot].ports = egress->sources[slot].woken = 0;
    return slot;
}

/* ---- which slots have packets ---- */

static void now_ready(struct egress *egress, unsigned slot, port_set ports)
{
    egress->sources[slot].ports |= ports;
    egress->ports |= ports;
    for (; ports; ports &= ports - 1)
        round_of(egress, (unsigned)__builtin_ctz(ports))->ready |= 1u << slot;
}

static void not_ready(struct egress *egress, unsigned slot, port_set ports)
{
    egress->sources[slot].ports &= ~ports;
    for (; ports; ports &= ports - 1) {
        struct round *round = round_of(egress, (unsigned)__builtin_ctz(ports));
        round->ready &= ~(1u << slot);
        if (!round->ready)
            egress->ports &= ~(ports & -ports);
        if (round->left[slot] > 0)
            round->left[slot] = 0;
    }
}

__attribute__((noinline)) static void ports_changed(struct egress *egress, unsigned slot)
{
    struct egress_source *source = &egress->sources[slot];
    port_set now = source->queue->ports | source->woken;
    port_set changed = now ^ source->ports;
    if (changed & now)
        now_ready(egress, slot, changed & now);
    if (changed & ~now)
        not_ready(egress, slot, changed & ~now);
}

/* The slot's queue or its woken ports changed. */
static inline void follow_source(struct egress *egress, unsigned slot)
{
    const struct egress_source *source = &egress->sources[slot];
    if ((source->queue->ports | source->woken) != source->ports)
        ports_changed(egress, slot);
}

struct packet *egress_push(struct egress *egress, unsigned slot, struct packet *packet)
{
    assert(slot < egress->source_count);
    struct packet *gone = queue_push(egress->sources[slot].queue, packet);
    follow_source(egress, slot);
    return gone;
}

void egress_expect(const struct egress *egress, unsigned slot)
{
    __builtin_prefetch(egress);
    __builtin_prefetch(egress->rounds);
    if (slot < egress->source_count) {
        const struct queue *queue = egress->sources[slot].queue;
        __builtin_prefetch(queue);
        __builtin_prefetch(queue + 1); /* its lanes and hints follow it */
    }
}

struct packet *egress_empty(struct egress *egress, unsigned slot)
{
    assert(slot < egress->source_count);
    struct packet *all = queue_empty(egress->sources[slot].queue);
    follow_source(egress, slot);
    return all;
}

void egress_wake(struct egress *egress, unsigned slot, port_set ports)
{
    assert(slot < egress->source_count && egress->sources[slot].poll);
    assert(!((uint64_t)ports >> egress->port_count));
    egress->sources[slot].woken |= ports;
    follow_source(egress, slot);
}

bool egress_is_long(const struct egress *egress, unsigned slot)
{
    const struct queue *queue = egress->sources[slot].queue;
    return queue->packets >= queue->packets_max / 4;
}

port_set egress_ports(const struct egress *egress)
{
    return egress->ports;
}

/* ---- the round ---- */

/* The first slot of the set after `slot`, in a circle. */
static unsigned next_in_circle(uint32_t set, unsigned slot)
{
    uint32_t ahead = set & (uint32_t)(UINT64_MAX << (slot + 1));
    return (unsigned)__builtin_ctz(ahead ? ahead : set);
}

#ifdef WEFT_PLANTED_BUGS
static unsigned skipped(struct egress *egress, const struct round *round, unsigned slot)
{
    unsigned last = 31 - (unsigned)__builtin_clz(round->ready);
    if (slot != last || ++egress->skip_count < egress->skip_period)
        return slot;
    egress->skip_count = 0;
    return next_in_circle(round->ready, slot);
}
#endif

/* The slot whose turn it is, with packets and allowance; at least one slot is ready. */
static unsigned round_turn(struct egress *egress, struct round *round)
{
    unsigned slot = round->turn;
    if (round->ready >> slot & 1 && round->left[slot] > 0)
        return slot;
    slot = next_in_circle(round->ready, slot);
#ifdef WEFT_PLANTED_BUGS
    if (egress->skip_period)
        slot = skipped(egress, round, slot);
#endif
    round->turn = slot;
    round->polls ^= 1u << slot;
    round->left[slot] += QUANTUM * (int32_t)egress->sources[slot].weight;
    assert(round->left[slot] > 0);
    return slot;
}

/* A frame while it is filled. */
struct filling {
    unsigned port;
    uint32_t room;
    unsigned count;
    unsigned most;
    struct packet **out;
};

/* One turn, or the part of it for which the frame has room. False: the frame ends here. */
static bool turn_of_queue(struct egress *egress, struct round *round, unsigned slot,
                          struct filling *frame)
{
    struct queue *queue = egress->sources[slot].queue;
    int32_t left = round->left[slot];
    uint32_t room = frame->room;
    unsigned index = NO_LANE;
    while (left > 0 && frame->count < frame->most) {
        index = queue_next_lane(queue, frame->port);
        if (index == NO_LANE)
            break;
        struct packet *packet = queue->lanes[index].first;
        if (packet->size > room)
            break;
        queue_take_first(queue, index);
        frame->out[frame->count++] = packet;
        room -= packet->size;
        left -= (int32_t)packet->size;
    }
    frame->room = room;
    round->left[slot] = left;
    follow_source(egress, slot);
    return index == NO_LANE || left <= 0;
}

static bool turn_of_poll(struct egress *egress, struct round *round, unsigned slot,
                         struct filling *frame)
{
    struct egress_source *source = &egress->sources[slot];
    while (round->left[slot] > 0 && frame->count < frame->most) {
        struct packet *packet = source->poll(source->service, frame->port, frame->room);
        if (!packet) {
            if (frame->room < PACKET_SIZE_MAX)
                return false;
            source->woken &= ~(1u << frame->port);
            follow_source(egress, slot);
            return true;
        }
        assert(packet->size <= frame->room);
        frame->out[frame->count++] = packet;
        frame->room -= packet->size;
        round->left[slot] -= (int32_t)packet->size;
    }
    return round->left[slot] <= 0;
}

static bool queue_goes_first(const struct egress_source *source, const struct round *round,
                             unsigned slot, unsigned port)
{
    if (!(source->queue->ports >> port & 1))
        return false;
    return !source->alternates || !(source->woken >> port & 1) || round->polls >> slot & 1;
}

unsigned egress_frame(struct egress *egress, unsigned port, uint32_t room,
                      struct packet *out[EGRESS_FRAME_MAX])
{
    struct round *round = round_of(egress, port);
    struct filling frame = {
        .port = port,
        .room = room,
        .most = egress->aggregate ? EGRESS_FRAME_MAX : 1,
        .out = out,
    };
    bool goes_on = true;
    while (goes_on && round->ready && frame.count < frame.most &&
           frame.room >= PACKET_HEADER_SIZE) {
        unsigned slot = round_turn(egress, round);
        if (queue_goes_first(&egress->sources[slot], round, slot, port))
            goes_on = turn_of_queue(egress, round, slot, &frame);
        else
            goes_on = turn_of_poll(egress, round, slot, &frame);
    }
    return frame.count;
}

#ifdef WEFT_PLANTED_BUGS
void egress_fault_skips(struct egress *egress, uint32_t period)
{
    egress->skip_period = period;
    egress->skip_count = 0;
}
#endif

void egress_check(const struct egress *egress)
{
    port_set ports = 0;
    for (unsigned port = 0; port < egress->port_count; port++) {
        const struct round *round = round_of(egress, port);
        ports |= round->ready ? 1u << port : 0;
        assert(!((uint64_t)round->ready >> egress->source_count));
        for (unsigned slot = 0; slot < egress->source_count; slot++) {
            const struct egress_source *source = &egress->sources[slot];
            bool ready = round->ready >> slot & 1;
            assert(ready == (source->ports >> port & 1));
            assert(ready || round->left[slot] <= 0);
            assert(round->left[slot] > -(int32_t)PACKET_SIZE_MAX);
            assert(round->left[slot] <= QUANTUM * (int32_t)source->weight);
        }
    }
    assert(ports == egress->ports);
    for (unsigned slot = 0; slot < egress->source_count; slot++) {
        const struct egress_source *source = &egress->sources[slot];
        assert(source->ports == (queue_ports(source->queue) | source->woken));
        assert(source->poll || !source->woken);
        queue_check(source->queue);
    }
}
