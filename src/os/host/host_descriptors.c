/* host_descriptors: the descriptors of the servers' services. */
#include <stdlib.h>

#include "base/array.h"
#include "base/list.h"
#include "os/host/host_impl.h"

static struct host_node *host_node_of(struct env *env)
{
    return container_of(env, struct host_node, env);
}

/* An answer of the service, or packets that it sends, may lead to more soon. */
static void on_turn(void *owner, struct env_descriptor *descriptor, unsigned ready)
{
    struct host_node *node = owner;
    node->env.now = clock_now();
    node->host->eager = true;
    node_ready(node);
    node_descriptor(descriptor, ready);
}

enum err host_descriptors_open(struct host *host, struct why *why)
{
    const struct weft_service *const *services = host->config.services;
    bool wanted = false;
    for (unsigned i = 0; services && services[i]; i++)
        wanted |= services[i]->descriptors != 0;
    if (!wanted)
        return OK;
    host->descriptors = array_new(1, sizeof *host->descriptors);
    if (!host->descriptors)
        return why_memory(why);
    descriptors_open(host->descriptors, host->poller, on_turn, 0);
    return OK;
}

void host_descriptors_close(struct host *host)
{
    if (host->descriptors)
        descriptors_close(host->descriptors);
    free(host->descriptors);
    host->descriptors = NULL;
}

static int env_listen(struct env *env, struct env_descriptor *descriptor,
                      const struct env_address *address)
{
    struct host_node *node = host_node_of(env);
    return descriptors_listen(node->host->descriptors, node, descriptor, address);
}

static int env_connect(struct env *env, struct env_descriptor *descriptor,
                       const struct env_address *address)
{
    struct host_node *node = host_node_of(env);
    return descriptors_connect(node->host->descriptors, node, descriptor, address);
}

static int env_adopt(struct env *env, struct env_descriptor *descriptor, int fd)
{
    struct host_node *node = host_node_of(env);
    return descriptors_adopt(node->host->descriptors, node, descriptor, fd);
}

const struct env_descriptor_ops host_descriptor_ops = {
    .listen = env_listen,
    .connect = env_connect,
    .result = watched_result,
    .adopt = env_adopt,
    .accept = descriptors_accept,
    .read = watched_read,
    .write = watched_write,
    .finish = watched_finish,
    .port = watched_port,
    .changed = watched_changed,
    .close = watched_close,
};
