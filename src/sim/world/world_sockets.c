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

static int env_result(struct env *env, struct env_descriptor *descriptor)
{
    return sim_socket_result(descriptor);
}

/* There is no operating system here. */
static int env_adopt(struct env *env, struct env_descriptor *descriptor, int fd)
{
    return -EOPNOTSUPP;
}

static int env_accept(struct env *env, struct env_descriptor *listener,
                      struct env_descriptor *descriptor)
{
    return sim_socket_accept(listener, descriptor);
}

static int64_t env_read(struct env *env, struct env_descriptor *descriptor, void *bytes,
                        uint32_t size)
{
    return sim_socket_read(descriptor, bytes, size);
}

static int64_t env_write(struct env *env, struct env_descriptor *descriptor, const void *bytes,
                         uint32_t size)
{
    return sim_socket_write(descriptor, bytes, size);
}

static int env_finish(struct env *env, struct env_descriptor *descriptor)
{
    return sim_socket_finish(descriptor);
}

static int env_port(struct env *env, struct env_descriptor *descriptor)
{
    return sim_socket_port(descriptor);
}

static void env_changed(struct env *env, struct env_descriptor *descriptor)
{
    sim_socket_changed(descriptor);
}

static bool env_close(struct env *env, struct env_descriptor *descriptor)
{
    sim_socket_close(descriptor);
    return true;
}

const struct env_descriptor_ops world_descriptor_ops = {
    .listen = env_listen,
    .connect = env_connect,
    .result = env_result,
    .adopt = env_adopt,
    .accept = env_accept,
    .read = env_read,
    .write = env_write,
    .finish = env_finish,
    .port = env_port,
    .changed = env_changed,
    .close = env_close,
};
