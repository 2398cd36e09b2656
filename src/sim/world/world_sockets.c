/* world_sockets: the calls of services for descriptors (base/env.h), on simulated sockets. */
#include <errno.h>

#include "base/list.h"
#include "sim/world/world_impl.h"

static struct world_node *node_of_env(struct env *env)
{
    return container_of(env, struct world_node, env);
}

static int env_listen(struct env *env, struct env_descriptor *descriptor,
                      const struct env_address *address)
{
    const struct world_node *at = node_of_env(env);
    return sim_socket_listen(at->world->sockets, at->self, descriptor, address);
}

static int env_connect(struct env *env, struct env_descriptor *descriptor,
                       const struct env_address *address)
{
    const struct world_node *at = node_of_env(env);
    return sim_socket_connect(at->world->sockets, at->self, descriptor, address);
}

/* There is no operating system here. */
static int env_adopt(struct env *env, struct env_descriptor *descriptor, int fd)
{
    return -EOPNOTSUPP;
}

const struct env_descriptor_ops world_descriptor_ops = {
    .listen = env_listen,
    .connect = env_connect,
    .result = sim_socket_result,
    .adopt = env_adopt,
    .accept = sim_socket_accept,
    .read = sim_socket_read,
    .write = sim_socket_write,
    .finish = sim_socket_finish,
    .port = sim_socket_port,
    .changed = sim_socket_changed,
    .close = sim_socket_close,
};
