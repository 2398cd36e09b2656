/* host_disk: the files of the servers' services. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "os/host/host_impl.h"

static void on_ready(void *owner)
{
    struct host_node *node = owner;
    node->env.now = clock_now();
    node_ready(node);
}

/* The next pass completes the operations; here only the descriptor is made silent. */
static void on_readable(void *owner, uint32_t events)
{
    struct host *host = owner;
    files_clear(host->files);
}

/* The descriptor of the ring is silent when the operations are completed. */
static void on_ring(void *owner, uint32_t events)
{
}

/* The first server that uses the disk opens it for all servers of the process. */
static enum err files_start(struct host *host, struct why *why)
{
    int fds[2];
    enum err err =
        files_open(&host->files, host->config.data.threads ? FILES_THREADS : FILES_ANY, why);
    if (err)
        return err;
    files_descriptors(host->files, fds);
    for (unsigned i = 0; i < 2; i++) {
        int result = fds[i] < 0
                         ? 0
                         : poller_add(host->poller, fds[i], EPOLLIN, i ? on_ring : on_readable,
                                      host, &host->files_watches[i]);
        if (result)
            return why_fail(why, result == -ENOMEM ? ERR_MEMORY : ERR_SYSTEM,
                            "cannot set up the disk: %s", strerror(-result));
    }
    return OK;
}

enum err host_disk_open(struct host_node *node, struct why *why)
{
    struct host *host = node->host;
    const struct host_config *config = &host->config;
    const char *names[DATA_SERVICES_MAX + 1] = {0};
    unsigned count = 0;
    for (unsigned i = 0; config->services && config->services[i]; i++)
        if (config->services[i]->files && count < DATA_SERVICES_MAX)
            names[count++] = config->services[i]->name;
    if (!count || !config->data.folder)
        return OK;
    if (!host->files) {
        enum err err = files_start(host, why);
        if (err)
            return err;
    }
    struct data_owner owner = {
        .cluster = config->data.cluster,
        .server_count = config->plan->server_count,
        .server = node->server,
    };
    snprintf(owner.topology, sizeof owner.topology, "%s", config->data.topology);
    enum err err = files_server_open(&node->files, host->files, config->data.folder, &owner, names,
                                     on_ready, node, why);
    if (err)
        return err;
    if (config->said) {
        char text[400];
        snprintf(text, sizeof text, "data in %s/" DATA_FOLDER_PREFIX "%u, by %s",
                 config->data.folder, node->server, files_how(host->files));
        config->said(config->owner, node->server, text);
    }
    return OK;
}

void host_disk_close(struct host_node *node)
{
    if (node->host->failed)
        files_server_withdraw(node->files);
    else
        files_server_close(node->files);
    node->files = NULL;
}

void host_disk_end(struct host *host)
{
    for (unsigned i = 0; host->poller && i < 2; i++)
        poller_remove(host->poller, host->files_watches[i]);
    files_close(host->files);
    host->files = NULL;
}
