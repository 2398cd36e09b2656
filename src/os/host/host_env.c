/* host_env: the environment of a node while it is stepped. */
#include "base/list.h"
#include "os/host/commission.h"
#include "os/host/host_impl.h"

static struct host_node *host_node_of(struct env *env)
{
    return container_of(env, struct host_node, env);
}

static unsigned env_receive(struct env *env, unsigned number, struct packet **out, unsigned most)
{
    struct host_node *node = host_node_of(env);
    struct commission *commission = node->host->commission;
    struct port *port = node->ports[number];
    unsigned count = port ? port->ops->receive(port, out, most) : 0;
    return commission ? commission_filter(commission, number, out, count, env->now) : count;
}

static uint32_t env_room(struct env *env, unsigned number)
{
    struct host_node *node = host_node_of(env);
    struct port *port = node->ports[number];
    if (!port)
        return PACKET_SIZE_MAX; /* planned, but not plugged in */
    if (!shaper_busy_until(&port->shaper, env->now) && port_room(port))
        return PACKET_SIZE_MAX;
    node->host->starved_count += !node->starved;
    node->starved |= (port_set)1 << number;
    return 0;
}

static void env_transmit(struct env *env, unsigned number, struct packet **packets, unsigned count,
                         bool lazy)
{
    struct host_node *node = host_node_of(env);
    struct port *port = node->ports[number];
    bool sent = false;
    if (port) {
        if (port->shaper.bits_per_sec)
            shaper_take(&port->shaper, env->now, packets_bytes(packets, count));
        node->host->eager |= !lazy;
        sent = port_transmit(port, packets, count, lazy);
    }
    for (unsigned i = 0; !sent && i < count; i++)
        node_lost(node->node, packets[i]);
}

static int env_local(struct env *env, const struct env_answer *to, const void *bytes, uint32_t size)
{
    return client_socket_answer(host_node_of(env)->client_socket, to, bytes, size);
}

static void env_disk(struct env *env, struct disk_operation *operation)
{
    files_begin(host_node_of(env)->files, operation);
}

static void env_disk_end(struct env *env)
{
    files_server_end(host_node_of(env)->files);
}

static env_nsec env_ran(struct env *env, uint64_t ticks)
{
    return host_ran(host_node_of(env)->host, ticks);
}

static void env_work(struct env *env, struct work_operation *operation)
{
    crew_begin(host_node_of(env)->crew, operation);
}

static void env_work_end(struct env *env)
{
    if (host_node_of(env)->crew)
        crew_server_end(host_node_of(env)->crew);
}

static env_nsec env_wall(struct env *env)
{
    return clock_wall();
}

static env_nsec env_clock(struct env *env)
{
    (void)env;
    return clock_boot();
}

#define COMMON_OPS                                                                                 \
    .receive = env_receive, .room = env_room, .transmit = env_transmit, .local = env_local,        \
    .gathers = true, .work = env_work, .work_end = env_work_end, .ran = env_ran, .wall = env_wall, \
    .clock = env_clock, .descriptors = &host_descriptor_ops

const struct env_ops host_ops = {COMMON_OPS};

const struct env_ops host_disk_ops = {
    COMMON_OPS,
    .disk = env_disk,
    .disk_end = env_disk_end,
};
