/* peer_fabric: libfabric by its own interface, tagged messages over one of its
 * providers, polling the completion queue. */
#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <string.h>

#include "measured/payload.h"
#include "peers.h"

#define ADDRESS_SIZE 256
#define TAG          7

struct port {
    struct pair *pair;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_ep *endpoint;
    struct fid_av *addresses;
    struct fid_cq *completions;
    fi_addr_t peer;
    unsigned char *in;
    uint64_t sent, received; /* completions so far */
};

static void check(struct port *port, ssize_t result, const char *what)
{
    if (result < 0)
        pair_fail(port->pair, "%s: %s", what, fi_strerror((int)-result));
}

static void port_connect(struct port *port)
{
    struct blob {
        size_t size;
        unsigned char data[ADDRESS_SIZE];
    } mine = {.size = ADDRESS_SIZE}, theirs;
    check(port, fi_getname(&port->endpoint->fid, mine.data, &mine.size), "fi_getname");
    pair_exchange(port->pair, &mine, &theirs, sizeof mine);
    if (fi_av_insert(port->addresses, theirs.data, 1, &port->peer, 0, NULL) != 1)
        pair_fail(port->pair, "fi_av_insert: the address was refused");
}

static void port_open(struct port *port, struct pair *pair, const char *provider, const char *node)
{
    struct fi_info *hints = fi_allocinfo();
    *port = (struct port){.pair = pair, .in = pair->own + pair->job->size};
    if (!hints)
        pair_fail(pair, "not enough memory");
    hints->caps = FI_TAGGED;
    hints->mode = FI_CONTEXT;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = strdup(provider);
    if (fi_getinfo(FI_VERSION(1, 11), node, NULL, node ? FI_SOURCE : 0, hints, &port->info))
        pair_missing(pair, "libfabric has no provider '%s' here", provider);
    fi_freeinfo(hints);
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT};
    struct fi_info *info = port->info;
    check(port, fi_fabric(info->fabric_attr, &port->fabric, NULL), "fi_fabric");
    check(port, fi_domain(port->fabric, info, &port->domain, NULL), "fi_domain");
    check(port, fi_endpoint(port->domain, info, &port->endpoint, NULL), "fi_endpoint");
    check(port, fi_av_open(port->domain, &av, &port->addresses, NULL), "fi_av_open");
    check(port, fi_cq_open(port->domain, &cq, &port->completions, NULL), "fi_cq_open");
    check(port, fi_ep_bind(port->endpoint, &port->addresses->fid, 0), "fi_ep_bind");
    check(port, fi_ep_bind(port->endpoint, &port->completions->fid, FI_TRANSMIT | FI_RECV),
          "fi_ep_bind");
    check(port, fi_enable(port->endpoint), "fi_enable");
    port_connect(port);
}

static void port_close(struct port *port)
{
    fi_close(&port->endpoint->fid);
    fi_close(&port->completions->fid);
    fi_close(&port->addresses->fid);
    fi_close(&port->domain->fid);
    fi_close(&port->fabric->fid);
    fi_freeinfo(port->info);
}

/* Takes what has completed; a context tells sends from receives. */
static struct fi_context send_context, receive_context;

static void port_poll(struct port *port)
{
    struct fi_cq_entry entries[4];
    ssize_t count = fi_cq_read(port->completions, entries, 4);
    if (count == -FI_EAGAIN)
        return;
    check(port, count, "fi_cq_read");
    for (ssize_t i = 0; i < count; i++) {
        if (entries[i].op_context == &receive_context)
            port->received++;
        else
            port->sent++;
    }
}

static void port_post(struct port *port)
{
    ssize_t result;
    while ((result = fi_trecv(port->endpoint, port->in, port->pair->job->size, NULL, FI_ADDR_UNSPEC,
                              TAG, 0, &receive_context)) == -FI_EAGAIN)
        port_poll(port);
    check(port, result, "fi_trecv");
}

static void port_send(struct port *port)
{
    struct pair *pair = port->pair;
    size_t size = pair->job->size;
    bool inject = size <= port->info->tx_attr->inject_size;
    ssize_t result;
    do {
        result = inject ? fi_tinject(port->endpoint, pair->own, size, port->peer, TAG)
                        : fi_tsend(port->endpoint, pair->own, size, NULL, port->peer, TAG,
                                   &send_context);
        if (result == -FI_EAGAIN)
            port_poll(port);
    } while (result == -FI_EAGAIN);
    check(port, result, "fi_tsend");
    port->sent += inject; /* it completes by itself */
}

static void port_take(struct port *port, uint64_t number)
{
    while (port->received <= number)
        port_poll(port);
    pair_check(port->pair, port->in, port->pair->job->size, number);
    port_post(port); /* before the other can send again */
}

/* The buffer of the last send is free once that has completed. */
static void port_ping(struct port *port)
{
    struct pair *pair = port->pair;
    uint64_t total = pair_total(pair);
    port_post(port);
    pair_meet(pair);
    pair_start(pair);
    for (uint64_t i = 0; i < total; i++) {
        while (port->sent < i)
            port_poll(port);
        payload_number(pair->own, i);
        if (pair->role == 0)
            port_send(port);
        port_take(port, i);
        if (pair->role == 1)
            port_send(port);
        else if ((i + 1) % pair->job->count == 0)
            pair_lap(pair);
    }
    while (port->sent < total)
        port_poll(port);
    if (pair->role == 1)
        pair_stop(pair);
}

static void fabric_run(struct pair *pair, const char *provider, const char *node)
{
    struct port port;
    if (pair->job->kind != JOB_PING && pair->job->kind != JOB_LONG_PING)
        pair_missing(pair, "libfabric is not measured for this");
    port_open(&port, pair, provider, node);
    port_ping(&port);
    pair_meet(pair);
    port_close(&port);
}

static void libfabric_shm_run(struct pair *pair)
{
    fabric_run(pair, "shm", NULL);
}

static void libfabric_tcp_run(struct pair *pair)
{
    fabric_run(pair, "tcp;ofi_rxm", "127.0.0.1");
}

const struct side side_libfabric_shm = {"libfabric_shm", libfabric_shm_run};
const struct side side_libfabric_tcp = {"libfabric_tcp", libfabric_tcp_run};
