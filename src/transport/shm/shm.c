/* shm: the transport between processes of one host. Everything that a peer must know travels over
 * the lifeline; a peer to which descriptors cannot be sent is unreachable. shm_impl.h lists the
 * other files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "transport/shm/shm_impl.h"

/* Change this when the layout of the segment or of the messages about it changes. */
static const uint8_t shm_description[] = {'s', 'h', 'm', 1};

static int shm_open_transport(struct transport **transport, const struct transport_config *config,
                              struct why *why)
{
    struct shm *shm = calloc(1, sizeof *shm);
    if (!shm) {
        why_set(why, "shm: not enough memory");
        return -ENOMEM;
    }
    shm->transport.ops = &transport_shm;
    shm->shape = ring_shape_make(config->ring_slots, config->ring_bytes);
    list_init(&shm->links);
    *transport = &shm->transport;
    return 0;
}

static void shm_close(struct transport *transport)
{
    struct shm *shm = (struct shm *)transport;
    assert(list_is_empty(&shm->links));
    free(shm);
}

static int shm_describe(struct transport *transport, uint8_t *out, size_t size)
{
    if (size < sizeof shm_description)
        return -ENOSPC;
    memcpy(out, shm_description, sizeof shm_description);
    return sizeof shm_description;
}

static int shm_link_open(struct transport *transport, struct lifeline *line,
                         const struct context_address *peer, const uint8_t *description,
                         size_t size, struct transport_link **out)
{
    struct shm *shm = (struct shm *)transport;
    if (!lifeline_local(line) || size != sizeof shm_description ||
        memcmp(description, shm_description, size) != 0)
        return -EHOSTUNREACH;
    struct shm_link *link = calloc(1, sizeof *link);
    if (!link)
        return -ENOMEM;
    link->link.ops = &transport_shm;
    link->shm = shm;
    link->line = line;
    link->pid = lifeline_pid(line);
    list_append(&shm->links, &link->node);
    *out = &link->link;
    return 0;
}

/* Mapped memory stays mapped, and frames in rings can still be taken. */
static void shm_link_lost(struct transport_link *link)
{
    ((struct shm_link *)link)->line = NULL;
}

static void shm_link_close(struct transport_link *base)
{
    struct shm_link *link = (struct shm_link *)base;
    list_remove(&link->node);
    shm_link_unmap(link);
    assert(link->bells.count == 0);
    id_map_fini(&link->bells);
    id_map_fini(&link->shared);
    free(link);
}

const struct transport_ops transport_shm = {
    .name = "shm",
    .abilities = TRANSPORT_LOCAL,
    .cost_nsec = 200,
    .pipes = &shm_pipe_ops,
    .memory = &shm_memory_ops,
    .open = shm_open_transport,
    .close = shm_close,
    .describe = shm_describe,
    .link_open = shm_link_open,
    .link_lost = shm_link_lost,
    .link_close = shm_link_close,
    .link_control = shm_link_control,
};
