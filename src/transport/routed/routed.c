/* routed: frames through the node of our server, over as many servers as needed.
 *
 * The pipes are those of transport/datagram: a relay loses, duplicates and reorders just as an IP
 * network does, and order, uniqueness and completeness must be ensured end to end anyway. The relay
 * replaces the socket, and a program's address replaces IP address and port.
 *
 * A full frame is a little larger than a packet of the fabric, so it travels in two parts. The
 * first part to arrive waits for the other in one of a few slots. If it waits too long it is
 * overwritten, and its frame is sent again as if lost. */
#include "transport/routed/routed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/check.h"
#include "transport/datagram/datagram.h"

enum {
    PART_HEAD_SIZE = 8,
    PART_SIZE_MAX = RELAY_BODY_MAX - PART_HEAD_SIZE,
    PARTS_MAX = 2,
    SLOTS = 32,
    WINDOW = 32, /* frames of a pipe in flight: as many as the sockets to and from nodes hold */
    DESCRIPTION_SIZE = 16,
};

static_assert(PART_SIZE_MAX * PARTS_MAX >= PIPE_DATAGRAM_MAX, "two parts are enough");

/* A datagram of which one part has arrived. */
struct part_slot {
    bool used;
    struct relay_address from;
    uint32_t number;
    uint8_t part; /* the part that has arrived */
    size_t size;
    uint8_t bytes[PART_SIZE_MAX];
};

struct routed {
    struct datagram_core core;
    struct attachment *attachment;
    uint32_t number; /* number of the next datagram */
    unsigned next;   /* the slot that is overwritten next */
    struct part_slot *slots;
    uint8_t *whole; /* a reassembled datagram */
};

struct routed_link {
    struct datagram_link datagrams;
    struct relay_address program; /* the peer's address */
};

static struct routed *routed_of(struct datagram_core *core)
{
    return container_of(core, struct routed, core);
}

/* ---- sending ---- */

/* Cuts two pieces to the bytes from `from` on, at most `most`. */
static unsigned pieces_cut(const struct iovec whole[2], size_t from, size_t most,
                           struct iovec out[2])
{
    unsigned count = 0;
    for (unsigned i = 0; i < 2; i++) {
        size_t skip = from < whole[i].iov_len ? from : whole[i].iov_len;
        size_t size = whole[i].iov_len - skip;
        size = size < most ? size : most;
        from -= skip;
        most -= size;
        if (size)
            out[count++] = (struct iovec){(uint8_t *)whole[i].iov_base + skip, size};
    }
    return count;
}

static void parts_send(struct routed *routed, const struct relay_address *to,
                       const struct iovec pieces[2])
{
    size_t size = pieces[0].iov_len + pieces[1].iov_len;
    unsigned parts = size > PART_SIZE_MAX ? 2 : 1;
    uint32_t number = routed->number++;
    for (unsigned part = 0; part < parts; part++) {
        uint8_t bytes[PART_HEAD_SIZE];
        struct iovec all[3] = {{bytes, sizeof bytes}};
        struct writer head = writer_make(bytes, sizeof bytes);
        write_u32(&head, number);
        write_u8(&head, (uint8_t)part);
        write_u8(&head, (uint8_t)parts);
        write_u16(&head, 0);
        assert(!head.failed && !head.left);
        unsigned count = pieces_cut(pieces, (size_t)part * PART_SIZE_MAX, PART_SIZE_MAX, all + 1);
        attachment_send(routed->attachment, to, all, 1 + count);
    }
}

static void routed_send(struct datagram_batch *batch)
{
    struct routed *routed = routed_of(batch->pipe->link->core);
    const struct routed_link *link = container_of(batch->pipe->link, struct routed_link, datagrams);
    for (unsigned i = 0; i < batch->count; i++)
        parts_send(routed, &link->program, batch->pieces[i]);
}

/* ---- receiving ---- */

static void whole_handle(struct routed *routed, const struct relay_address *from,
                         const uint8_t *bytes, size_t size)
{
    struct pipe_datagram datagram;
    struct datagram_pipe *pipe = datagram_pipe_of(&routed->core, bytes, size, &datagram);
    if (!pipe)
        return;
    struct routed_link *link = container_of(pipe->link, struct routed_link, datagrams);
    if (!relay_address_equal(from, &link->program)) {
        routed->core.counts.stray++;
        return;
    }
    pipe->heard(pipe, &datagram);
    datagram_memory_work(&link->datagrams);
}

/* Returns the slot where the other part waits, or a slot for this part. */
static struct part_slot *slot_for(struct routed *routed, const struct relay_address *from,
                                  uint32_t number)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        struct part_slot *slot = &routed->slots[i];
        if (slot->used && slot->number == number && relay_address_equal(&slot->from, from))
            return slot;
    }
    struct part_slot *slot = &routed->slots[routed->next++ % SLOTS];
    slot->used = false;
    return slot;
}

static void part_handle(struct routed *routed, const struct relay_address *from, uint32_t number,
                        uint8_t part, const uint8_t *bytes, size_t size)
{
    struct part_slot *slot = slot_for(routed, from, number);
    if (!slot->used) {
        slot->used = true;
        slot->from = *from;
        slot->number = number;
        slot->part = part;
        slot->size = size;
        memcpy(slot->bytes, bytes, size);
        return;
    }
    if (slot->part == part)
        return; /* a duplicate */
    const uint8_t *first = part ? slot->bytes : bytes;
    size_t first_size = part ? slot->size : size;
    const uint8_t *second = part ? bytes : slot->bytes;
    size_t second_size = part ? size : slot->size;
    slot->used = false;
    memcpy(routed->whole, first, first_size);
    memcpy(routed->whole + first_size, second, second_size);
    whole_handle(routed, from, routed->whole, first_size + second_size);
}

static void frame_came(void *owner, const struct relay_address *from, const uint8_t *bytes,
                       size_t size)
{
    struct routed *routed = owner;
    struct reader in = reader_make(bytes, size);
    uint32_t number = read_u32(&in);
    uint8_t part = read_u8(&in), parts = read_u8(&in);
    uint16_t reserved = read_u16(&in);
    if (in.failed || reserved || !parts || parts > PARTS_MAX || part >= parts ||
        in.left > PART_SIZE_MAX)
        routed->core.counts.garbage++;
    else if (parts == 1)
        whole_handle(routed, from, in.next, in.left);
    else
        part_handle(routed, from, number, part, in.next, in.left);
}

static int routed_receive(struct datagram_core *core)
{
    return attachment_receive(routed_of(core)->attachment);
}

static void routed_watch(struct datagram_core *core, bool on)
{
    attachment_watch(routed_of(core)->attachment, on);
}

static const struct datagram_carrier routed_carrier = {
    .send = routed_send,
    .receive = routed_receive,
    .watch = routed_watch,
};

/* ---- the transport ---- */

static void routed_close(struct transport *transport)
{
    struct routed *routed = container_of(transport, struct routed, core.transport);
    datagram_memory_close(&routed->core.memory);
    datagram_core_close(&routed->core);
    attachment_close(routed->attachment);
    free(routed->slots);
    free(routed->whole);
    free(routed);
}

static int routed_open(struct transport **out, const struct transport_config *config,
                       struct why *why)
{
    if (!config->node)
        return why_fail(why, -EADDRNOTAVAIL, "routed needs a node; set WEFT_NODE to its socket");
    struct routed *routed = array_new(1, sizeof *routed);
    if (!routed)
        return why_fail(why, -ENOMEM, "not enough memory");
    routed->slots = array_new(SLOTS, sizeof *routed->slots);
    routed->whole = array_new(PARTS_MAX, PART_SIZE_MAX);
    int result = datagram_memory_open(&routed->core.memory);
    int opened = datagram_core_open(&routed->core, &transport_routed, &routed_carrier, config);
    result = result ? result : opened;
    if (!result && (!routed->slots || !routed->whole))
        result = -ENOMEM;
    if (result)
        why_set(why, "not enough memory");
    else
        result = attachment_open(&routed->attachment, config->poller, config->node, why);
    if (result) {
        routed_close(&routed->core.transport);
        return result;
    }
    attachment_on_frame(routed->attachment, frame_came, routed);
    attachment_on_turn(routed->attachment, config->turned, config->owner);
    routed->core.window = WINDOW;
    *out = &routed->core.transport;
    return 0;
}

struct attachment *routed_attachment(const struct transport *transport)
{
    assert(transport->ops == &transport_routed);
    return container_of(transport, struct routed, core.transport)->attachment;
}

static int routed_describe(struct transport *transport, uint8_t *out, size_t size)
{
    struct relay_address address = attachment_address(routed_attachment(transport));
    if (size < DESCRIPTION_SIZE)
        return -ENOBUFS;
    relay_address_write(&address, out);
    return DESCRIPTION_SIZE;
}

/* The number of one end of a lifeline, for the pipes of memory. */
static uint64_t program_number(const struct relay_address *program)
{
    return program->life * 0x9e3779b97f4a7c15ULL ^ (uint64_t)program->program << 32 ^
           program->server;
}

static int routed_link_open(struct transport *transport, struct lifeline *line,
                            const struct context_address *peer, const uint8_t *description,
                            size_t size, struct transport_link **out)
{
    struct routed *routed = container_of(transport, struct routed, core.transport);
    if (size != DESCRIPTION_SIZE)
        return -EPROTO;
    if (!attachment_is_up(routed->attachment))
        return -EHOSTUNREACH;
    struct routed_link *link = array_new(1, sizeof *link);
    if (!link)
        return -ENOMEM;
    link->datagrams.link.ops = &transport_routed;
    link->datagrams.core = &routed->core;
    relay_address_read(&link->program, description);
    struct relay_address own = attachment_address(routed->attachment);
    datagram_memory_link_open(&link->datagrams, lifeline_number(line), program_number(&own),
                              program_number(&link->program));
    int result = datagram_memory_ready(&link->datagrams);
    if (result) {
        datagram_memory_link_close(&link->datagrams);
        free(link);
        return result;
    }
    *out = &link->datagrams.link;
    return 0;
}

static void routed_link_close(struct transport_link *base)
{
    struct routed_link *link = container_of(base, struct routed_link, datagrams.link);
    datagram_memory_link_close(&link->datagrams);
    free(link);
}

const struct transport_ops transport_routed = {
    .name = "routed",
    .abilities = TRANSPORT_POLLED,
    .cost_nsec = 40000,
    .pipes = &datagram_pipe_ops,
    .memory = &datagram_memory_ops,
    .open = routed_open,
    .close = routed_close,
    .describe = routed_describe,
    .link_open = routed_link_open,
    .link_lost = datagram_memory_link_lost,
    .link_close = routed_link_close,
    .link_control = datagram_link_control,
    .progress = datagram_progress,
    .arm = datagram_arm,
};
