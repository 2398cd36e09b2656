/* peer_ucx: UCX's own interface (ucp), one worker for one thread, with the transports that UCX
 * chooses for two processes on one machine. */
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

#include "measured/payload.h"
#include "peers.h"

#define ADDRESS_SIZE 4096
#define AM_ID        1
#define TAG          7
#define TAG_MASK     ((ucp_tag_t)-1)
#define DEPTH        256 /* receives posted and sends under way in a stream */

struct worker {
    struct pair *pair;
    ucp_context_h context;
    ucp_worker_h handle;
    ucp_ep_h peer;
    /* active messages: how many have arrived, and the buffer for a large one */
    uint64_t arrived;
    unsigned char *in;
};

static void check(struct worker *worker, ucs_status_t status, const char *what)
{
    if (status != UCS_OK)
        pair_fail(worker->pair, "%s: %s", what, ucs_status_string(status));
}

/* Drives the worker until the request has completed; NULL means that it already has. */
static void request_wait(struct worker *worker, ucs_status_ptr_t request)
{
    if (request == NULL)
        return;
    if (UCS_PTR_IS_ERR(request))
        check(worker, UCS_PTR_STATUS(request), "ucp request");
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        ucp_worker_progress(worker->handle);
    check(worker, ucp_request_check_status(request), "ucp request");
    ucp_request_free(request);
}

static void worker_connect(struct worker *worker)
{
    struct blob {
        size_t size;
        unsigned char data[ADDRESS_SIZE];
    } mine = {0}, theirs;
    ucp_address_t *address;
    check(worker, ucp_worker_get_address(worker->handle, &address, &mine.size),
          "ucp_worker_get_address");
    if (mine.size > ADDRESS_SIZE)
        pair_fail(worker->pair, "the worker's address has %zu bytes, which is too long", mine.size);
    memcpy(mine.data, address, mine.size);
    ucp_worker_release_address(worker->handle, address);
    pair_exchange(worker->pair, &mine, &theirs, sizeof mine);
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                              .address = (const ucp_address_t *)theirs.data};
    check(worker, ucp_ep_create(worker->handle, &params, &worker->peer), "ucp_ep_create");
}

static void worker_open(struct worker *worker, struct pair *pair)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features = UCP_FEATURE_TAG | UCP_FEATURE_AM};
    ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                         .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_config_t *config;
    *worker = (struct worker){.pair = pair, .in = pair->own + pair->job->size};
    check(worker, ucp_config_read(NULL, NULL, &config), "ucp_config_read");
    check(worker, ucp_init(&params, config, &worker->context), "ucp_init");
    ucp_config_release(config);
    check(worker, ucp_worker_create(worker->context, &worker_params, &worker->handle),
          "ucp_worker_create");
    worker_connect(worker);
}

/* Both processes drive their workers until the other has no pending requests. */
static void worker_close(struct worker *worker)
{
    ucp_request_param_t param = {0};
    request_wait(worker, ucp_ep_flush_nbx(worker->peer, &param));
    pair_meet(worker->pair);
    request_wait(worker, ucp_ep_close_nbx(worker->peer, &param));
    pair_meet(worker->pair);
    ucp_worker_destroy(worker->handle);
    ucp_cleanup(worker->context);
}

/* --- tagged messages --- */

static ucs_status_ptr_t tag_send(struct worker *worker, const void *data, size_t size)
{
    ucp_request_param_t param = {0};
    return ucp_tag_send_nbx(worker->peer, data, size, TAG, &param);
}

static ucs_status_ptr_t tag_receive(struct worker *worker, void *data, size_t size)
{
    ucp_request_param_t param = {0};
    return ucp_tag_recv_nbx(worker->handle, data, size, TAG, TAG_MASK, &param);
}

static void tag_ping(struct worker *worker)
{
    struct pair *pair = worker->pair;
    size_t size = pair->job->size;
    uint64_t total = pair_total(pair);
    pair_start(pair);
    for (uint64_t i = 0; i < total; i++) {
        payload_number(pair->own, i);
        if (pair->role == 0)
            request_wait(worker, tag_send(worker, pair->own, size));
        request_wait(worker, tag_receive(worker, worker->in, size));
        pair_check(pair, worker->in, size, i);
        if (pair->role == 1)
            request_wait(worker, tag_send(worker, pair->own, size));
        else if ((i + 1) % pair->job->count == 0)
            pair_lap(pair);
    }
    if (pair->role == 1)
        pair_stop(pair);
}

/* Keeps many requests under way; the buffer of a slot belongs to its request until that has
 * completed. */
static void tag_stream(struct worker *worker)
{
    struct pair *pair = worker->pair;
    size_t size = pair->job->size;
    uint64_t total = pair_total(pair), number;
    ucs_status_ptr_t requests[DEPTH] = {0};
    unsigned char *slots = malloc(DEPTH * size);
    if (!slots)
        pair_fail(pair, "not enough memory");
    pair_start(pair);
    for (uint64_t i = 0; i < total + DEPTH; i++) {
        unsigned char *slot = slots + i % DEPTH * size;
        if (i >= DEPTH) {
            request_wait(worker, requests[i % DEPTH]);
            requests[i % DEPTH] = NULL;
            if (pair->role == 1) {
                memcpy(&number, slot, sizeof number);
                pair_arrival(pair, number);
            }
        }
        if (i >= total)
            continue;
        if (pair->role == 0)
            payload_number(slot, i);
        requests[i % DEPTH] =
            pair->role == 0 ? tag_send(worker, slot, size) : tag_receive(worker, slot, size);
    }
    if (pair->role == 0)
        pair_stop(pair);
    else
        pair_arrivals_end(pair);
    free(slots);
}

static void tag_long(struct worker *worker)
{
    struct pair *pair = worker->pair;
    size_t size = pair->job->size;
    uint64_t total = pair_total(pair);
    ucs_status_ptr_t requests[PAIR_DEPTH] = {0};
    pair_start(pair);
    for (uint64_t i = 0; i < total + PAIR_DEPTH; i++) {
        unsigned char *slot = pair->own + i % PAIR_DEPTH * size;
        if (i >= PAIR_DEPTH) {
            uint64_t number = i - PAIR_DEPTH;
            request_wait(worker, requests[i % PAIR_DEPTH]);
            if (pair->role == 1 && memcmp(slot, &number, sizeof number) != 0)
                pair_fail(pair, "item %llu arrived out of order", (unsigned long long)number);
            if (pair->role == 0 && (number + 1) % pair->job->count == 0)
                pair_lap(pair);
        }
        if (i >= total)
            continue;
        if (pair->role == 0)
            payload_number(slot, i);
        requests[i % PAIR_DEPTH] =
            pair->role == 0 ? tag_send(worker, slot, size) : tag_receive(worker, slot, size);
    }
    if (pair->role == 1)
        pair_stop(pair);
}

static void ucx_tag_run(struct pair *pair)
{
    struct worker worker;
    worker_open(&worker, pair);
    if (pair->job->kind == JOB_PING)
        tag_ping(&worker);
    else if (pair->job->kind == JOB_STREAM)
        tag_stream(&worker);
    else if (pair->job->kind == JOB_LONG)
        tag_long(&worker);
    else
        pair_missing(pair, "UCX is not measured for this");
    worker_close(&worker);
}

/* --- active messages --- */

static void am_fetched(void *request, ucs_status_t status, size_t length, void *argument)
{
    struct worker *worker = argument;
    check(worker, status, "ucp_am_recv_data_nbx");
    pair_check(worker->pair, worker->in, length, worker->arrived++);
    ucp_request_free(request);
}

/* A small message is in `data`, a large one must be fetched. */
static ucs_status_t am_arrived(void *argument, const void *header, size_t header_length, void *data,
                               size_t length, const ucp_am_recv_param_t *param)
{
    struct worker *worker = argument;
    if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
        pair_check(worker->pair, data, length, worker->arrived++);
        return UCS_OK;
    }
    ucp_request_param_t fetch = {.op_attr_mask =
                                     UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                 .cb.recv_am = am_fetched,
                                 .user_data = worker};
    ucs_status_ptr_t request =
        ucp_am_recv_data_nbx(worker->handle, data, worker->in, length, &fetch);
    if (request == NULL)
        pair_check(worker->pair, worker->in, length, worker->arrived++);
    else if (UCS_PTR_IS_ERR(request))
        return UCS_PTR_STATUS(request);
    return UCS_INPROGRESS;
}

static void am_take(struct worker *worker, uint64_t number)
{
    while (worker->arrived <= number)
        ucp_worker_progress(worker->handle);
}

static void am_send(struct worker *worker)
{
    ucp_request_param_t param = {0};
    struct pair *pair = worker->pair;
    request_wait(worker,
                 ucp_am_send_nbx(worker->peer, AM_ID, NULL, 0, pair->own, pair->job->size, &param));
}

static void ucx_am_run(struct pair *pair)
{
    struct worker worker;
    uint64_t total = pair_total(pair);
    if (pair->job->kind != JOB_PING)
        pair_missing(pair, "UCX's active messages are not measured for this");
    worker_open(&worker, pair);
    ucp_am_handler_param_t handler = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                                                    UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                    UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                      .id = AM_ID,
                                      .cb = am_arrived,
                                      .arg = &worker};
    check(&worker, ucp_worker_set_am_recv_handler(worker.handle, &handler),
          "ucp_worker_set_am_recv_handler");
    pair_meet(pair);
    pair_start(pair);
    for (uint64_t i = 0; i < total; i++) {
        payload_number(pair->own, i);
        if (pair->role == 0)
            am_send(&worker);
        am_take(&worker, i);
        if (pair->role == 1)
            am_send(&worker);
        else if ((i + 1) % pair->job->count == 0)
            pair_lap(pair);
    }
    if (pair->role == 1)
        pair_stop(pair);
    worker_close(&worker);
}

const struct side side_ucx_tag = {"ucx_tag", ucx_tag_run};
const struct side side_ucx_am = {"ucx_am", ucx_am_run};
