/* fabric_check: does the fabric carry messages to a peer?
 *
 * A port that is filtered, or flooded by strangers, loses connections in silence, and so does a
 * path that breaks: nothing fails, nothing arrives. The lifeline to the peer, which uses another
 * port, still works. So a link is *probed*: we announce a random token over the lifeline, and send
 * the same token over the fabric; a peer that has received both says so over the lifeline. The peer
 * also says at once that it has seen the announcement, by which we know that it is not just hung.
 *
 *  - The first pipe of a link waits for a probe. If the answer does not come in time, the layer
 *    above takes another transport. The answer may still come: pipes opened later use the fabric.
 *    The peer's pipes wait for the same token. If it does not come, the peer probes, too: one port
 *    of the two is enough.
 *  - A link over which frames were sent, and nothing has come since, is probed again. If the peer
 *    is alive, and still nothing comes, the link is broken: its peers connect again, and find out
 *    by a probe that they need another transport.
 *
 * The timer counts ticks, so a process that was stopped does not think that its peers are slow. It
 * runs only while a link is not sure. */
#include <errno.h>

#include "base/bytes.h"
#include "base/check.h"
#include "transport/fabric/fabric_impl.h"

/* In ticks of FABRIC_TICK_NSEC. */
enum {
    PROVE_TICKS = 8,  /* until the layer above takes another transport */
    BACK_TICKS = 2,   /* after an announcement, until we probe in the other direction, too */
    RETRY_TICKS = 8,  /* after a failure, until the link is probed again */
    ASK_TICKS = 8,    /* without a word from the peer, until it is probed */
    STALL_TICKS = 32, /* after a sign of life over the lifeline, until the link is broken */
};

/* Control messages over the lifeline. The body is the token. */
enum {
    CONTROL_PROBE = CONTROL_TRANSPORT + 0x100, /* I send this token over the fabric */
    CONTROL_CHECKED,                           /* I have got your announcement */
    CONTROL_PROBED,                            /* the token came over the fabric */
};

static void link_say(struct fabric_link *link, uint16_t kind, uint64_t token)
{
    struct control control = {.kind = kind, .size = sizeof token};
    struct writer out = writer_make(control.body, sizeof token);
    write_u64(&out, token);
    if (link->line)
        (void)!lifeline_send(link->line, &control); /* if it fails, the lifeline is lost soon */
}

/* Tells the layer above that calls which wait for a link should try again. */
static void check_settled(struct fabric *fabric)
{
    fabric->settled(fabric->owner);
}

void fabric_link_sure(struct fabric_link *link)
{
    bool proven = link->proof == FABRIC_PROVEN;
    link->unsure = link->checked = false;
    link->ticks = 0;
    link->probe = 0;
    link->proof = FABRIC_PROVEN;
    if (!proven && link->fabric->settled)
        check_settled(link->fabric);
}

void fabric_link_unsure(struct fabric_link *link)
{
    if (!link->fabric->settled)
        return;
    link->unsure = true;
    link->ticks = 0;
    fabric_check_start(link->fabric);
}

/* ---- probing ---- */

static void link_probe(struct fabric_link *link)
{
    struct fabric *fabric = link->fabric;
    struct fabric_buffer *buffer = fabric_buffer_take(fabric);
    link->checked = false;
    link->probe = entropy_u64();
    link_say(link, CONTROL_PROBE, link->probe);
    if (!buffer)
        return; /* memory is short: the probe fails */
    const struct fabric_message message = {.pipe = link->probe, .kind = FABRIC_PROBE};
    fabric_message_write(&message, buffer->bytes);
    buffer->size = FABRIC_HEADER_SIZE;
    fabric_link_send(link, buffer);
}

int fabric_link_prove(struct fabric_link *link)
{
    if (!link->fabric->settled)
        return 0; /* the layer above does not wait for links */
    switch (link->proof) {
    case FABRIC_PROVEN:
        return 0;
    case FABRIC_UNPROVEN:
        link->proof = FABRIC_PROVING;
        link->ticks = 0;
        link_probe(link);
        fabric_check_start(link->fabric);
        break;
    case FABRIC_PROVING:
        break;
    case FABRIC_FAILED:
        if (link->ticks < RETRY_TICKS)
            return -ENETDOWN;
        link->proof = FABRIC_PROVING; /* it is late already */
        link->ticks = PROVE_TICKS;
        link_probe(link);
        break;
    }
    return link->proof == FABRIC_PROVING && link->ticks < PROVE_TICKS ? -ENOBUFS : -ENETDOWN;
}

/* Both parts of a probe have come, in either order. */
static void probe_answer(struct fabric_link *link)
{
    link_say(link, CONTROL_PROBED, link->announced);
    link->announced = 0;
    fabric_link_sure(link); /* what comes from the peer can go to it, too */
}

void fabric_probe_received(struct fabric *fabric, uint64_t token)
{
    list_each(&fabric->links, node)
    {
        struct fabric_link *link = container_of(node, struct fabric_link, node);
        if (link->announced == token && !link->closed && !link->broken && fabric->settled) {
            probe_answer(link);
            return;
        }
    }
    fabric->probes[fabric->probe_next] = token; /* its announcement is still to come */
    fabric->probe_next = (fabric->probe_next + 1) % FABRIC_PROBES_KEPT;
}

static void probe_announced(struct fabric_link *link, uint64_t token)
{
    struct fabric *fabric = link->fabric;
    link_say(link, CONTROL_CHECKED, token);
    link->announced = token;
    if (link->proof == FABRIC_UNPROVEN) { /* our own pipes wait for the same token */
        link->proof = FABRIC_PROVING;
        link->ticks = 0;
        fabric_check_start(fabric);
    }
    for (unsigned i = 0; i < FABRIC_PROBES_KEPT; i++)
        if (fabric->probes[i] == token) {
            fabric->probes[i] = 0;
            probe_answer(link);
            return;
        }
}

int fabric_link_control(struct transport_link *base, struct control *control)
{
    struct fabric_link *link = container_of(base, struct fabric_link, link);
    if (control->kind < CONTROL_PROBE || control->kind > CONTROL_PROBED)
        return -ENOMSG;
    struct reader in = reader_make(control->body, control->size);
    uint64_t token = read_u64(&in);
    if (in.failed || in.left || !token || !link->fabric->settled)
        return -EPROTO;
    if (link->closed || link->broken)
        return 0;
    if (control->kind == CONTROL_PROBE)
        probe_announced(link, token);
    else if (token != link->probe)
        return 0; /* an answer to an earlier probe */
    else if (control->kind == CONTROL_PROBED)
        fabric_link_sure(link);
    else if (!link->checked) {
        link->checked = true;
        link->checked_ticks = 0;
    }
    return 0;
}

/* ---- the timer ---- */

/* Nothing came since frames were sent. Returns false if the link is broken now. */
static bool link_wait(struct fabric_link *link)
{
    if (++link->ticks == ASK_TICKS) {
        link_probe(link);
    } else if (link->checked && ++link->checked_ticks >= STALL_TICKS) {
        fabric_link_break(link, -EPIPE);
        return false;
    }
    return true;
}

/* Returns whether the link needs another tick; sets `settled` if calls should try again. */
static bool link_tick(struct fabric_link *link, bool *settled)
{
    if (link->closed || link->broken)
        return false;
    unsigned limit = link->proof == FABRIC_PROVING  ? PROVE_TICKS
                     : link->proof == FABRIC_FAILED ? RETRY_TICKS
                                                    : 0;
    if (link->ticks < limit) {
        *settled |= ++link->ticks == limit;
        if (link->proof == FABRIC_PROVING && link->ticks == BACK_TICKS && !link->probe)
            link_probe(link);
        return link->ticks < limit;
    }
    return link->proof == FABRIC_PROVEN && link->unsure && link_wait(link);
}

static void check_fired(void *owner)
{
    struct fabric *fabric = owner;
    bool again = false, settled = false;
    fabric->checking = false;
    fabric->depth++; /* keeps all links in the list */
    list_each(&fabric->links, node) again |=
        link_tick(container_of(node, struct fabric_link, node), &settled);
    fabric->depth--;
    if (again)
        fabric_check_start(fabric);
    if (settled)
        check_settled(fabric);
}

void fabric_check_open(struct fabric *fabric, const struct transport_config *config)
{
    fabric->settled = config->settled;
    fabric->owner = config->owner;
    fabric->checker =
        (struct poller_timer){.at = NSEC_NEVER, .fired = check_fired, .owner = fabric};
}

void fabric_check_close(struct fabric *fabric)
{
    if (fabric->checker.fired)
        poller_unset(fabric->poller, &fabric->checker);
}
