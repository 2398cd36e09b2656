/* host_work: the functions and child processes that the servers' services run beside them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "os/host/host_impl.h"

static void on_ready(void *owner)
{
    struct host_node *node = owner;
    node->env.now = clock_now();
    node->host->eager = true;
    node_ready(node);
}

static void on_late(void *owner, const char *service)
{
    const struct host_node *node = owner;
    const struct host_config *config = &node->host->config;
    char text[160];
    snprintf(text, sizeof text,
             "service %s: the server stops, but waits for a function of weft_work_run that does "
             "not return",
             service);
    if (config->said)
        config->said(config->owner, node->server, text);
}

/* The next pass completes the operations; here only the descriptor is made silent. */
static void on_readable(void *owner, uint32_t events)
{
    struct host *host = owner;
    crew_clear(host->crew);
}

/* The first server that uses threads opens the crew for all servers of the process. */
static enum err crew_start(struct host *host, bool children, struct why *why)
{
    enum err err = crew_open(&host->crew, children ? host->config.folder : NULL, why);
    if (err)
        return err;
    int result = poller_add(host->poller, crew_descriptor(host->crew), EPOLLIN, on_readable, host,
                            &host->crew_watch);
    if (result)
        return why_fail(why, result == -ENOMEM ? ERR_MEMORY : ERR_SYSTEM,
                        "cannot set up worker threads: %s", strerror(-result));
    return OK;
}

enum err host_work_open(struct host_node *node, struct why *why)
{
    struct host *host = node->host;
    const struct weft_service *const *services = host->config.services;
    bool used = false, children = false;
    for (unsigned i = 0; services && services[i]; i++) {
        used |= services[i]->work > 0;
        children |= services[i]->children > 0;
    }
    enum err err = used && !host->crew ? crew_start(host, children, why) : OK;
    if (err || !used)
        return err;
    const struct crew_events events = {.ready = on_ready, .late = on_late, .owner = node};
    return crew_server_open(&node->crew, host->crew, node->server, &events, why);
}

void host_work_close(struct host_node *node)
{
    crew_server_close(node->crew);
    node->crew = NULL;
}

void host_work_end(struct host *host)
{
    if (host->poller)
        poller_remove(host->poller, host->crew_watch);
    crew_close(host->crew);
    host->crew = NULL;
}
