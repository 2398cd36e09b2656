/* bare_fabric: fi_read and fi_write over libfabric's tcp provider, called directly. Every node has
 * its own endpoint; the endpoints of one process share a completion queue. Operations make progress
 * only while both processes poll their queues. */
#include "measured/sst/sst_bare_fabric.h"

#ifdef WEFT_HAVE_LIBFABRIC

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "measured/crowd.h"
#include "transport/fabric/fabric_library.h"

#define PROVIDER     "tcp;ofi_rxm"
#define ADDRESS_SIZE 200
#define PAUSE_NSEC   20000 /* the longest pause before a round trip */

/* The address of a node's memory. Plain data, written to the board. */
struct address {
    uint64_t base, key;
    size_t size;
    unsigned char name[ADDRESS_SIZE];
};
static_assert(sizeof(struct address) <= sizeof((struct bare_board *)0)->addresses[0][0],
              "an address fits the board");

struct sst_node {
    struct fid_ep *endpoint;
    struct fid_av *peers;
    struct fid_mr *region;
    unsigned char *row; /* its memory */
    fi_addr_t peer;     /* for node 0 the owner of the row; for an owner node 0 */
    struct address at;  /* of the peer's memory */
    struct fi_context2 context;
};

struct port {
    struct crowd *crowd;
    const struct bare_job *job;
    const struct fabric_library *library;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *queue;
    uint32_t node_count;
    struct sst_node nodes[BARE_ROWS_MAX];
    unsigned char *memory; /* that holds all rows */
    uint64_t posted, completed;
};

static void check(struct port *port, ssize_t result, const char *what)
{
    if (result < 0)
        crowd_fail(port->crowd, "%s: %s", what, port->library->strerror((int)-result));
}

static void info_find(struct port *port)
{
    struct fi_info *hints = port->library->dupinfo(NULL);
    if (!hints)
        crowd_fail(port->crowd, "not enough memory");
    hints->caps = FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_WAW;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE; /* complete means: the data arrived */
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = strdup(PROVIDER);
    if (port->library->getinfo(FI_VERSION(1, 11), "127.0.0.1", NULL, FI_SOURCE, hints, &port->info))
        crowd_missing(port->crowd, "libfabric on this machine has no provider \"%s\"", PROVIDER);
    port->library->freeinfo(hints);
}

static void sst_node_open(struct port *port, struct sst_node *node, uint32_t index)
{
    struct fi_av_attr attributes = {.type = FI_AV_TABLE};
    node->row = port->memory + (size_t)index * BARE_SIZE_MAX;
    check(port, fi_endpoint(port->domain, port->info, &node->endpoint, NULL), "fi_endpoint");
    check(port, fi_av_open(port->domain, &attributes, &node->peers, NULL), "fi_av_open");
    check(port, fi_ep_bind(node->endpoint, &node->peers->fid, 0), "fi_ep_bind");
    check(port, fi_ep_bind(node->endpoint, &port->queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(port, fi_enable(node->endpoint), "fi_enable");
    check(port,
          fi_mr_reg(port->domain, node->row, BARE_SIZE_MAX,
                    FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, index, 0,
                    &node->region, NULL),
          "fi_mr_reg");
    struct address *mine = &node->at;
    bool virtual = port->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    *mine = (struct address){
        virtual ? (uintptr_t)node->row : 0, fi_mr_key(node->region), ADDRESS_SIZE, {0}};
    check(port, fi_getname(&node->endpoint->fid, mine->name, &mine->size), "fi_getname");
}

static void node_introduce(struct port *port, struct sst_node *node, const void *address)
{
    memcpy(&node->at, address, sizeof node->at);
    if (fi_av_insert(node->peers, node->at.name, 1, &node->peer, 0, NULL) != 1)
        crowd_fail(port->crowd, "fi_av_insert: libfabric rejects the address of the other process");
}

/* Both processes have as many nodes as there are rows: node 0 has one endpoint for each
 * connection, as with reliable connections. */
static void port_open(struct port *port, struct crowd *crowd, const struct bare_job *job,
                      struct bare_board *board)
{
    struct fi_cq_attr attributes = {.format = FI_CQ_FORMAT_CONTEXT, .size = 256};
    struct why why;
    *port = (struct port){.crowd = crowd, .job = job, .node_count = job->rows ? job->rows : 1};
    port->library = fabric_library_get(&why);
    if (!port->library)
        crowd_missing(crowd, "%s", why.text);
    port->memory = aligned_alloc(4096, sizeof board->rows);
    if (!port->memory)
        crowd_fail(crowd, "not enough memory");
    memset(port->memory, 0, sizeof board->rows);
    info_find(port);
    check(port, port->library->fabric(port->info->fabric_attr, &port->fabric, NULL), "fi_fabric");
    check(port, fi_domain(port->fabric, port->info, &port->domain, NULL), "fi_domain");
    check(port, fi_cq_open(port->domain, &attributes, &port->queue, NULL), "fi_cq_open");
    for (uint32_t i = 0; i < port->node_count; i++) {
        sst_node_open(port, &port->nodes[i], i);
        memcpy(board->addresses[crowd->index][i], &port->nodes[i].at, sizeof(struct address));
    }
    crowd_meet(crowd);
    for (uint32_t i = 0; i < port->node_count; i++)
        node_introduce(port, &port->nodes[i], board->addresses[!crowd->index][i]);
}

static void port_close(struct port *port)
{
    for (uint32_t i = 0; i < port->node_count; i++) {
        fi_close(&port->nodes[i].endpoint->fid);
        fi_close(&port->nodes[i].region->fid);
        fi_close(&port->nodes[i].peers->fid);
    }
    fi_close(&port->queue->fid);
    fi_close(&port->domain->fid);
    fi_close(&port->fabric->fid);
    port->library->freeinfo(port->info);
    free(port->memory);
}

static void port_poll(struct port *port)
{
    struct fi_cq_entry entries[BARE_ROWS_MAX];
    ssize_t count = fi_cq_read(port->queue, entries, BARE_ROWS_MAX);
    if (count == -FI_EAGAIN)
        return;
    check(port, count, "fi_cq_read");
    port->completed += (uint64_t)count;
}

/* Posts one operation between the peer's row and our row. */
static void node_post(struct port *port, struct sst_node *node, uint32_t size)
{
    void *descriptor = fi_mr_desc(node->region);
    ssize_t result;
    do {
        if (port->job->way == BARE_READS)
            result = fi_read(node->endpoint, node->row, size, descriptor, node->peer, node->at.base,
                             node->at.key, &node->context);
        else
            result = fi_write(node->endpoint, node->row, size, descriptor, node->peer,
                              node->at.base, node->at.key, &node->context);
        if (result == -FI_EAGAIN) /* at first: not connected yet */
            port_poll(port);
    } while (result == -FI_EAGAIN);
    check(port, result, "fi_read or fi_write");
    port->posted++;
}

static void port_complete(struct port *port)
{
    while (port->completed < port->posted)
        port_poll(port);
}

/* Waits for a value; meanwhile polling serves the operations of the other process. */
static void port_await(struct port *port, const struct bare_word *word, uint64_t value)
{
    while (atomic_load_explicit(&word->value, memory_order_acquire) < value)
        port_poll(port);
}

static void rows_own(const struct bare_kind *kind, void *context)
{
    struct port *port = context;
    struct bare_board *board = kind->board;
    for (uint64_t i = 1; i <= kind->rounds; i++) {
        uint64_t round = kind->before + i;
        for (uint32_t row = 0; row < kind->rows; row++)
            if (!bare_row_touch(kind, port->nodes[row].row, round))
                crowd_fail(port->crowd, "a written row has wrong contents");
        atomic_store_explicit(&board->turns[1].value, round, memory_order_release);
        port_await(port, &board->turns[0], round);
    }
}

static void rows_operate(const struct bare_kind *kind, void *context)
{
    struct port *port = context;
    struct bare_board *board = kind->board;
    struct trip trip, post;
    trip_open(&trip, &board->totals, kind->job->seed, 1);
    trip_open(&post, &board->posts, kind->job->seed, 1);
    for (uint64_t i = 1; i <= kind->rounds; i++) {
        uint64_t round = kind->before + i;
        for (uint32_t row = 0; row < kind->rows; row++)
            bare_row_prepare(kind, port->nodes[row].row, round);
        port_await(port, &board->turns[1], round);
        trip_start(&trip);
        post.since = trip.since;
        for (uint32_t row = 0; row < kind->rows; row++)
            node_post(port, &port->nodes[row], kind->size);
        (void)trip_end(&post);
        port_complete(port);
        (void)trip_end(&trip);
        for (uint32_t row = 0; row < kind->rows; row++)
            if (!bare_row_check(kind, port->nodes[row].row, round))
                crowd_fail(port->crowd, "a row was read with wrong contents");
        atomic_store_explicit(&board->turns[0].value, round, memory_order_release);
    }
    bare_kind_note(kind);
}

void bare_fabric_operate(struct crowd *crowd, const struct bare_job *job, struct bare_board *board)
{
    struct port port;
    port_open(&port, crowd, job, board);
    bare_kinds(job, board, crowd->index == 0 ? rows_operate : rows_own, &port);
    crowd_meet(crowd);
    port_close(&port);
}

/* ---- round trips, with two words in the memory of each node ---- */

struct words {
    _Atomic uint64_t own;   /* our value: the other node reads it, or we write it to the other */
    _Atomic uint64_t other; /* the other's value: we read it, or the other node writes it */
};

static uint64_t words_poll(struct port *port)
{
    struct sst_node *node = &port->nodes[0];
    struct words *words = (struct words *)node->row;
    if (port->job->way == BARE_WRITES) {
        port_poll(port);
        return atomic_load_explicit(&words->other, memory_order_acquire);
    }
    void *to = (void *)&words->other;
    ssize_t result;
    while ((result = fi_read(node->endpoint, to, sizeof words->other, fi_mr_desc(node->region),
                             node->peer, node->at.base, node->at.key, &node->context)) ==
           -FI_EAGAIN)
        port_poll(port);
    check(port, result, "fi_read");
    port->posted++;
    port_complete(port);
    return atomic_load_explicit(&words->other, memory_order_acquire);
}

static void words_set(struct port *port, uint64_t value)
{
    struct sst_node *node = &port->nodes[0];
    struct words *words = (struct words *)node->row;
    atomic_store_explicit(&words->own, value, memory_order_release);
    if (port->job->way == BARE_READS)
        return;
    ssize_t result;
    while ((result = fi_inject_write(node->endpoint, (void *)&words->own, sizeof words->own,
                                     node->peer, node->at.base + offsetof(struct words, other),
                                     node->at.key)) == -FI_EAGAIN)
        port_poll(port);
    check(port, result, "fi_inject_write");
}

void bare_fabric_trips(struct crowd *crowd, const struct bare_job *job, struct bare_board *board,
                       struct trip_log *log)
{
    uint32_t total = trip_total(log);
    struct port port;
    struct trip trip;
    port_open(&port, crowd, job, board);
    if (crowd->index == 0)
        trip_open(&trip, log, job->seed, PAUSE_NSEC);
    for (uint64_t round = 1; round <= total; round++) {
        if (crowd->index == 0) {
            trip_start(&trip);
            words_set(&port, round);
        }
        while (words_poll(&port) < round)
            ;
        if (crowd->index == 0)
            (void)trip_end(&trip);
        else
            words_set(&port, round);
    }
    /* The operations of the other process may not be complete: serve them until it is done. */
    atomic_store_explicit(&board->turns[crowd->index].value, 1, memory_order_release);
    port_await(&port, &board->turns[!crowd->index], 1);
    port_close(&port);
}

#else

#include "measured/crowd.h"

void bare_fabric_operate(struct crowd *crowd, const struct bare_job *job, struct bare_board *board)
{
    crowd_missing(crowd, "this weft was built without libfabric");
}

void bare_fabric_trips(struct crowd *crowd, const struct bare_job *job, struct bare_board *board,
                       struct trip_log *log)
{
    crowd_missing(crowd, "this weft was built without libfabric");
}

#endif
