/* fabric: messages and remote memory over libfabric.
 *
 * A context has one reliable-datagram endpoint for all peers. A link is an address in the
 * endpoint's address vector. Each end of a pipe has a random id. A message carries the id of the
 * receiving end, by which the receiver finds the service; all pipes share the endpoint's receive
 * buffers.
 *
 * Credit: a sender has at most as many frames in flight in a pipe as the receiver has reserved
 * buffers for it. Released frames return credit, a quarter of the window at a time. Frames pushed
 * before the peer has answered wait here, because the peer's id of the pipe comes with the answer.
 *
 * The fabric is either reliable or dead: a message that fails, or a gap in a pipe's sequence,
 * breaks the link and cuts the lifeline. What the provider does not take now (-FI_EAGAIN) waits in
 * order in its link, so the layers above never see that.
 *
 * Invariants: a buffer is in exactly one state, and in the list of that state; everything handed to
 * the provider stays allocated until it is returned or the endpoint is closed; the callbacks of
 * transfers run only inside progress() and while a link is being lost.
 *
 * Each file calls only those named before it: fabric_library.c loads libfabric, fabric_provider.c
 * opens and closes the endpoint, fabric_timer.c schedules the next poll, fabric_buffer.c has the
 * buffers, fabric_link.c sends, fabric_check.c finds out whether a peer is reached, fabric_pipe.c
 * has frames and acknowledgements, fabric_memory.c
 * one-sided access, fabric_progress.c polls for completions, fabric_link_open.c opens and loses
 * links. fabric_wire.h is the format. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/fabric/fabric_impl.h"

static void fabric_close(struct transport *transport)
{
    struct fabric *fabric = container_of(transport, struct fabric, transport);
    fabric_watch_close(fabric);
    fabric_check_close(fabric);
    fabric_provider_close(fabric); /* after this the provider holds nothing any more */
    fabric_jobs_fini(fabric);
    fabric_links_fini(fabric);
    fabric_buffers_fini(fabric);
    id_map_fini(&fabric->pipes);
    free(fabric);
}

static int fabric_open(struct transport **out, const struct transport_config *config,
                       struct why *why)
{
    struct fabric *fabric = array_new(1, sizeof *fabric);
    if (!fabric)
        return why_fail(why, -ENOMEM, "fabric: not enough memory");
    fabric->transport.ops = &transport_fabric;
    fabric->poller = config->poller;
    fabric->transport.bells = config->bells;
    fabric->window = FABRIC_WINDOW_MAX;
    if (config->ring_slots && config->ring_slots < FABRIC_WINDOW_MAX)
        fabric->window =
            config->ring_slots > FABRIC_WINDOW_MIN ? config->ring_slots : FABRIC_WINDOW_MIN;
    list_init(&fabric->free_buffers);
    list_init(&fabric->idle_buffers);
    list_init(&fabric->links);
    list_init(&fabric->free_jobs);
    list_init(&fabric->untold_jobs);
    list_init(&fabric->ringing);
    fabric_check_open(fabric, config);
    int result = fabric_provider_open(fabric, config, why);
    if (!result) {
        result = fabric_receives_grow(fabric, FABRIC_RECEIVES_EXTRA);
        if (!result)
            result = fabric_watch_open(fabric);
        if (result)
            why_set(why, "fabric: %s", strerror(-result));
    }
    if (result) {
        fabric_close(&fabric->transport);
        return result;
    }
    *out = &fabric->transport;
    return 0;
}

/* The provider's name, a zero, and the endpoint's name. Peers with another provider are
 * unreachable. */
static int fabric_describe(struct transport *transport, uint8_t *out, size_t size)
{
    struct fabric *fabric = container_of(transport, struct fabric, transport);
    size_t name_size = strlen(fabric->info->fabric_attr->prov_name) + 1;
    if (size < name_size || size - name_size < fabric->address_size)
        return -ENOSPC;
    memcpy(out, fabric->info->fabric_attr->prov_name, name_size);
    memcpy(out + name_size, fabric->address, fabric->address_size);
    return (int)(name_size + fabric->address_size);
}

const struct transport_ops transport_fabric = {
    .name = "fabric",
    .abilities = TRANSPORT_POLLED,
    .cost_nsec = 6000,
    .pipes = &fabric_pipe_ops,
    .memory = &fabric_memory_ops,
    .open = fabric_open,
    .close = fabric_close,
    .clean = fabric_clean,
    .describe = fabric_describe,
    .link_open = fabric_link_open,
    .link_lost = fabric_link_lost,
    .link_close = fabric_link_close,
    .link_control = fabric_link_control,
    .progress = fabric_progress,
    .arm = fabric_arm,
};
