/* peer_fabric: libfabric's own interface over one of its providers, polling the completion queue:
 * tagged messages; and words that one process writes into the other's memory or reads from it. */
#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdatomic.h>
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

static void port_open(struct port *port, struct pair *pair, const char *provider, const char *node,
                      uint64_t abilities, enum fi_wait_obj wait)
{
    struct fi_info *hints = fi_allocinfo();
    *port = (struct port){.pair = pair, .in = pair->own + pair->job->size};
    if (!hints)
        pair_fail(pair, "not enough memory");
    hints->caps = abilities;
    hints->mode = FI_CONTEXT;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = strdup(provider);
    if (fi_getinfo(FI_VERSION(1, 11), node, NULL, node ? FI_SOURCE : 0, hints, &port->info))
        pair_missing(pair, "libfabric has no provider '%s' here", provider);
    fi_freeinfo(hints);
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = wait};
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

/* Identify sends and receives in the completion queue. */
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
    port->sent += inject; /* an injected send needs no completion */
}

static void port_take(struct port *port, uint64_t number)
{
    while (port->received <= number)
        port_poll(port);
    pair_check(port->pair, port->in, port->pair->job->size, number);
    port_post(port); /* before the other can send again */
}

/* The buffer of the last send is free once that send has completed. */
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
    port_open(&port, pair, provider, node, FI_TAGGED, FI_WAIT_NONE);
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

/* --- words in the other's memory --- */

/* Registered by each role. `own` is for the other to read; the other writes to `others`, or what
 * was read from it is stored there. Each word has one writer at a time: this process, or the
 * provider for a completed operation. */
struct words {
    _Alignas(64) _Atomic uint64_t own;
    _Alignas(64) _Atomic uint64_t others;
};

struct remote {
    struct port port;
    struct words *words;
    struct fid_mr *region;
    void *local;      /* descriptor of our memory */
    uint64_t address; /* of the other's words */
    uint64_t key;
};

static void remote_open(struct remote *remote, struct pair *pair, enum fi_wait_obj wait)
{
    struct port *port = &remote->port;
    struct introduction {
        uint64_t address, key;
    } mine, theirs;
    *remote = (struct remote){.words = (struct words *)pair->own};
    port_open(port, pair, "tcp;ofi_rxm", "127.0.0.1", FI_RMA, wait);
    *remote->words = (struct words){0};
    check(port,
          fi_mr_reg(port->domain, remote->words, sizeof *remote->words,
                    FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                    (uint64_t)pair->role + 1, 0, &remote->region, NULL),
          "fi_mr_reg");
    remote->local = fi_mr_desc(remote->region);
    bool virtual = port->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    mine = (struct introduction){virtual ? (uint64_t)(uintptr_t)remote->words : 0,
                                 fi_mr_key(remote->region)};
    pair_exchange(pair, &mine, &theirs, sizeof mine);
    remote->address = theirs.address;
    remote->key = theirs.key;
}

static void remote_close(struct remote *remote)
{
    pair_meet(remote->port.pair);
    fi_close(&remote->region->fid);
    port_close(&remote->port);
}

/* Writes the other's word, and waits until the bytes have left and the memory can be used again. */
static void word_write(struct remote *remote, uint64_t value)
{
    struct port *port = &remote->port;
    uint64_t before = port->sent;
    ssize_t result;
    atomic_store_explicit(&remote->words->own, value, memory_order_release);
    while ((result = fi_write(port->endpoint, &remote->words->own, sizeof value, remote->local,
                              port->peer, remote->address + offsetof(struct words, others),
                              remote->key, &send_context)) == -FI_EAGAIN)
        port_poll(port);
    check(port, result, "fi_write");
    while (port->sent == before)
        port_poll(port);
}

/* Writes the other's word; needs no completion. */
static void word_inject(struct remote *remote, uint64_t value)
{
    struct port *port = &remote->port;
    ssize_t result;
    while ((result = fi_inject_write(port->endpoint, &value, sizeof value, port->peer,
                                     remote->address + offsetof(struct words, others),
                                     remote->key)) == -FI_EAGAIN)
        port_poll(port);
    check(port, result, "fi_inject_write");
}

/* Reads the other's own word, and waits for it. */
static void word_read(struct remote *remote)
{
    struct port *port = &remote->port;
    uint64_t before = port->sent;
    ssize_t result;
    while (
        (result = fi_read(port->endpoint, &remote->words->others, sizeof(uint64_t), remote->local,
                          port->peer, remote->address + offsetof(struct words, own), remote->key,
                          &send_context)) == -FI_EAGAIN)
        port_poll(port);
    check(port, result, "fi_read");
    while (port->sent == before)
        port_poll(port);
}

static uint64_t word_load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

/* Keeps making progress, which the other may still need, until both have announced in shared memory
 * that they are done. */
static void words_rest(struct remote *remote)
{
    struct pair *pair = remote->port.pair;
    _Atomic uint64_t *done =
        (_Atomic uint64_t *)pair->memory; /* one word per role, written by that role */
    atomic_store_explicit(&done[pair->role], 1, memory_order_release);
    while (!word_load(&done[!pair->role]))
        port_poll(&remote->port);
}

/* Round trips of a word, as many as the job requires. */
static void words_ping(struct pair *pair, enum fi_wait_obj wait,
                       void (*tell)(struct remote *, uint64_t value), void (*call)(struct remote *))
{
    struct remote remote;
    uint64_t total = pair_total(pair);
    remote_open(&remote, pair, wait);
    pair_meet(pair);
    pair_start(pair);
    for (uint64_t i = 1; i <= total; i++) {
        if (pair->role == 0)
            tell(&remote, i);
        while (word_load(&remote.words->others) != i)
            call(&remote);
        if (pair->role == 1)
            tell(&remote, i);
        else if (i % pair->job->count == 0)
            pair_lap(pair);
    }
    if (pair->role == 1)
        pair_stop(pair);
    words_rest(&remote);
    remote_close(&remote);
}

static void word_show(struct remote *remote, uint64_t value)
{
    atomic_store_explicit(&remote->words->own, value, memory_order_release);
}

static void progress(struct remote *remote)
{
    port_poll(&remote->port);
}

/* With a descriptor, as weft needs it: a thread can sleep until something is in the queue. */
static void fi_write_run(struct pair *pair)
{
    words_ping(pair, FI_WAIT_FD, word_write, progress);
}

static void fi_inject_write_run(struct pair *pair)
{
    words_ping(pair, FI_WAIT_NONE, word_inject, progress);
}

static void fi_read_run(struct pair *pair)
{
    words_ping(pair, FI_WAIT_NONE, word_show, word_read);
}

const struct side side_fi_write_tcp = {"fi_write", fi_write_run};
const struct side side_fi_inject_write_tcp = {"fi_inject_write", fi_inject_write_run};
const struct side side_fi_read_tcp = {"fi_read", fi_read_run};
