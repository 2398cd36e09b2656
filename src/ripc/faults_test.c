/* Faults that real transports and peers rarely have: the tests replace operations of a link by
 * their own, and call handlers with control messages that our peers never send. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ripc/core/dying_scene.h"
#include "ripc/core/remote.h"
#include "ripc/core/waiting.h"
#include "ripc/memory/reach.h"
#include "ripc/message/incoming.h"
#include "ripc/message/operation.h"
#include "ripc/scene/scene.h"
#include "transport/wake/sleeper_scene.h"

#define SIZE 5000

/* Two contexts. The client (41) has sent to the server (42), and the server to the client. */
struct stage {
    struct ripc *here, *there;
    struct ripc_service *client, *server;
    struct peer *peer;   /* the server's context, as the client's context sees it */
    struct peer *caller; /* the client's context, as the server's context sees it */
    uint8_t *data;       /* SIZE bytes of the server */
    struct ripc_grant grant;
    struct sleeper sleeper;
    int64_t result; /* of the sleeper's call */
};

static struct peer *only_peer(struct ripc *ripc)
{
    struct peer *peer = NULL;
    lock_take(&ripc->lock);
    list_each(&ripc->peers, node)
    {
        assert_null(peer);
        peer = container_of(node, struct peer, node);
    }
    lock_drop(&ripc->lock);
    assert_non_null(peer);
    return peer;
}

static void exchange(struct ripc_service *from, struct ripc_service *to)
{
    assert_int_equal(ripc_send(from, ripc_service_id(to), "x", 1, scene_deadline()), 0);
    struct ripc_message message = scene_receive(to);
    ripc_release(&message);
}

static struct stage *stage_open(void)
{
    struct stage *stage = calloc(1, sizeof *stage); /* on the heap: a sleeper that is never woken
                                                     * continues to use it */
    assert_non_null(stage);
    stage->here = scene_open(NULL);
    stage->there = scene_open(NULL);
    stage->client = scene_bind(stage->here, 41);
    stage->server = scene_bind(stage->there, 42);
    exchange(stage->client, stage->server);
    exchange(stage->server, stage->client);
    stage->peer = only_peer(stage->here);
    stage->caller = only_peer(stage->there);
    stage->data = ripc_alloc(stage->there, SIZE);
    assert_non_null(stage->data);
    memset(stage->data, 7, SIZE);
    return stage;
}

static void stage_close(struct stage *stage)
{
    scene_close(stage->here);
    scene_close(stage->there);
    free(stage);
}

/* Replaced operations of a link and of one of its pipes, until faults_undo. */
struct faults {
    struct ripc *ripc;
    struct transport_link *link;
    struct outlet *outlet;
    const struct transport_ops *usual;
    struct transport_ops ops;
    struct memory_ops memory;
    struct pipe_ops pipes;
};

static void faults_begin(struct faults *faults, struct ripc_service *from, struct ripc_service *to)
{
    lock_take(&from->ripc->lock);
    const struct remote *remote = id_map_get(&from->remotes, ripc_service_id(to));
    assert_int_equal(remote->state, REMOTE_OPEN);
    *faults = (struct faults){.ripc = from->ripc,
                              .link = remote->link,
                              .outlet = remote->outlet,
                              .usual = remote->link->ops};
    faults->ops = *faults->usual;
    faults->memory = *faults->usual->memory;
    faults->pipes = *faults->usual->pipes;
    faults->ops.memory = &faults->memory;
    faults->ops.pipes = &faults->pipes;
    faults->link->ops = &faults->ops;
    faults->outlet->ops = &faults->pipes;
    lock_drop(&from->ripc->lock);
}

/* With the lock held. */
static void faults_undo(struct faults *faults)
{
    faults->link->ops = faults->usual;
    faults->outlet->ops = faults->usual->pipes;
}

static void faults_end(struct faults *faults)
{
    lock_take(&faults->ripc->lock);
    faults_undo(faults);
    lock_drop(&faults->ripc->lock);
}

/* ---- transfers that another thread completes later ---- */

static struct transfer *_Atomic transfer_under_way; /* release carries the transfer */

static int write_later(struct transport_link *link, const struct remote_memory *to, uint64_t offset,
                       const void *from, size_t size, struct region *region,
                       struct transfer *transfer)
{
    atomic_store_explicit(&transfer_under_way, transfer, memory_order_release);
    return 0;
}

static void transfer_end(struct ripc *ripc, int status)
{
    struct transfer *transfer;
    while (!(transfer = atomic_load_explicit(&transfer_under_way, memory_order_acquire)))
        clock_nap(100 * 1000);
    lock_take(&ripc->lock);
    transfer->done(transfer, status);
    atomic_store_explicit(&transfer_under_way, NULL, memory_order_relaxed);
    lock_drop(&ripc->lock);
}

/* The client offers a return buffer. */
static void stage_offer(struct stage *stage)
{
    struct iovec returns = {NULL, SIZE};
    struct ripc_send send = {
        .to = 42, .returns = &returns, .return_count = 1, .deadline = scene_deadline()};
    assert_int_equal(ripc_send_message(stage->client, &send), 0);
    struct ripc_message message = scene_receive(stage->server);
    assert_int_equal(message.return_count, 1);
    ripc_release(&message);
}

static int64_t reply(struct stage *stage, int64_t deadline)
{
    struct iovec item = {stage->data, SIZE};
    struct ripc_send send = {.to = 41, .longs = &item, .long_count = 1, .deadline = deadline};
    return ripc_send_message(stage->server, &send);
}

static void reply_patiently(void *argument)
{
    struct stage *stage = argument;
    stage->result = reply(stage, RIPC_FOREVER);
}

static void a_reply_waits_until_its_item_is_written(void **state)
{
    struct stage *stage = stage_open();
    struct faults faults;
    atomic_store(&doorbell_nap, NSEC_NEVER);
    stage_offer(stage);
    faults_begin(&faults, stage->server, stage->client);
    faults.memory.write = write_later;
    sleeper_start(&stage->sleeper, reply_patiently, stage);
    transfer_end(stage->there, 0);
    sleeper_assert_woken(&stage->sleeper);
    assert_int_equal(stage->result, 0);
    atomic_store(&doorbell_nap, DOORBELL_NAP_NSEC);
    faults_end(&faults);
    struct ripc_message message = scene_receive(stage->client);
    assert_true(message.longs[0].returned);
    assert_int_equal(ripc_free(stage->here, message.longs[0].data), 0);
    ripc_release(&message);
    stage_close(stage);
}

static void write_patiently(void *argument)
{
    struct stage *stage = argument;
    stage->result = ripc_write(stage->client, &stage->grant, 0, "x", 1, RIPC_FOREVER);
}

static void a_write_waits_until_it_is_done(void **state)
{
    for (int status = 0; status >= -EIO; status -= EIO) {
        struct stage *stage = stage_open();
        struct faults faults;
        assert_int_equal(
            ripc_grant(stage->server, 41, stage->data, SIZE, RIPC_WRITE, &stage->grant), 0);
        faults_begin(&faults, stage->client, stage->server);
        faults.memory.write = write_later;
        atomic_store(&doorbell_nap, NSEC_NEVER);
        sleeper_start(&stage->sleeper, write_patiently, stage);
        transfer_end(stage->here, status);
        sleeper_assert_woken(&stage->sleeper);
        assert_int_equal(stage->result, status);
        atomic_store(&doorbell_nap, DOORBELL_NAP_NSEC);
        faults_end(&faults);
        stage_close(stage);
    }
}

struct reaching {
    struct stage *stage;
    struct reach *reach;
    struct transfer transfer;
    int status;
};

static void reaching_done(struct transfer *transfer, int status)
{
    container_of(transfer, struct reaching, transfer)->status = status;
}

static struct reaching *reaching_start(struct faults *faults)
{
    struct reaching *reaching = calloc(1, sizeof *reaching);
    assert_non_null(reaching);
    reaching->stage = stage_open();
    reaching->transfer.done = reaching_done;
    reaching->status = 1;
    struct ripc_grant *grant = &reaching->stage->grant;
    assert_int_equal(
        ripc_grant(reaching->stage->server, 41, reaching->stage->data, SIZE, RIPC_WRITE, grant), 0);
    assert_int_equal(reach_open(reaching->stage->client, grant, scene_deadline(), &reaching->reach),
                     0);
    faults_begin(faults, reaching->stage->client, reaching->stage->server);
    faults->memory.write = write_later;
    faults->ops.abilities &= ~(uint32_t)TRANSPORT_LOCAL;
    uint8_t *data = ripc_alloc(reaching->stage->here, 1);
    assert_int_equal(reach_write(reaching->reach, 0, data, 1, &reaching->transfer), 0);
    return reaching;
}

static void reaching_close(void *argument)
{
    struct reaching *reaching = argument;
    reach_close(reaching->reach);
}

static void closing_a_reach_waits_for_its_transfers(void **state)
{
    struct faults faults;
    struct reaching *reaching = reaching_start(&faults);
    struct stage *stage = reaching->stage;
    sleeper_begin(&stage->sleeper, reaching_close, reaching);
    clock_nap(20 * 1000 * 1000); /* by now it usually waits */
    transfer_end(stage->here, 0);
    sleeper_assert_woken(&stage->sleeper);
    assert_int_equal(reaching->status, 0);
    assert_int_equal(only_peer(stage->here)->state, PEER_UP);
    faults_end(&faults);
    stage_close(stage);
    free(reaching);
}

static struct faults *losing_faults;

static void link_lost_with_a_transfer(struct transport_link *link)
{
    faults_undo(losing_faults);
    struct transfer *transfer = atomic_exchange(&transfer_under_way, NULL);
    transfer->done(transfer, -EPIPE);
    link->ops->link_lost(link);
}

/* The peer accepts nothing but does not die: after a while its lifeline is cut. */
static void a_reach_to_a_hung_peer_can_be_closed(void **state)
{
    struct faults faults;
    struct reaching *reaching = reaching_start(&faults);
    faults.ops.link_lost = link_lost_with_a_transfer;
    losing_faults = &faults;
    reach_close(reaching->reach);
    assert_int_equal(reaching->status, -EPIPE);
    stage_close(reaching->stage);
    free(reaching);
}

/* ---- frames that cannot be pushed ---- */

static int push_in_vain(struct outlet *outlet, const struct frame_head *head,
                        const struct iovec *pieces, unsigned piece_count)
{
    return -EAGAIN;
}

static void a_return_buffer_is_filled_again_if_the_reply_was_not_sent(void **state)
{
    struct stage *stage = stage_open();
    struct faults faults;
    stage_offer(stage);
    faults_begin(&faults, stage->server, stage->client);
    faults.pipes.push = push_in_vain;
    assert_int_equal(reply(stage, RIPC_NOW), -EAGAIN);
    assert_int_equal(reply(stage, RIPC_NOW), -EAGAIN);
    faults_end(&faults);
    assert_int_equal(reply(stage, scene_deadline()), 0);
    struct ripc_message message = scene_receive(stage->client);
    assert_true(message.longs[0].returned);
    assert_int_equal(((uint8_t *)message.longs[0].data)[SIZE - 1], 7);
    assert_int_equal(ripc_free(stage->here, message.longs[0].data), 0);
    ripc_release(&message);
    assert_int_equal(ripc_free(stage->there, stage->data), 0);
    stage_close(stage);
}

static struct peer *dying;
static struct faults *dying_faults;

static int push_to_the_dying(struct outlet *outlet, const struct frame_head *head,
                             const struct iovec *pieces, unsigned piece_count)
{
    faults_undo(dying_faults);
    return peer_die(dying);
}

static void a_return_buffer_of_a_dead_peer_is_forgotten(void **state)
{
    struct stage *stage = stage_open();
    struct faults faults;
    stage_offer(stage);
    faults_begin(&faults, stage->server, stage->client);
    faults.pipes.push = push_to_the_dying;
    dying = stage->caller;
    dying_faults = &faults;
    assert_int_equal(reply(stage, scene_deadline()), -EPIPE);
    assert_int_equal(peers_dead(stage->there), 0);
    assert_int_equal(ripc_free(stage->there, stage->data), 0);
    stage_close(stage);
}

static void an_operation_whose_frame_was_not_sent_is_undone(void **state)
{
    struct stage *stage = stage_open();
    struct faults faults;
    struct ripc_stats stats;
    faults_begin(&faults, stage->server, stage->client);
    faults.pipes.push = push_in_vain;
    assert_int_equal(reply(stage, RIPC_NOW), -EAGAIN);
    faults_end(&faults);
    assert_int_equal(stage->server->operations.count, 0);
    assert_int_equal(ripc_stats(stage->there, &stats), 0);
    assert_int_equal(stats.operations, 0);
    assert_int_equal(ripc_free(stage->there, stage->data), 0);
    stage_close(stage);
}

static int push_broken(struct outlet *outlet, const struct frame_head *head,
                       const struct iovec *pieces, unsigned piece_count)
{
    return -EPIPE;
}

static int64_t send_to_group(struct stage *stage, int64_t deadline)
{
    struct iovec item = {stage->data, SIZE};
    struct ripc_send send = {.to = 50, .longs = &item, .long_count = 1, .deadline = deadline};
    return ripc_send_message(stage->server, &send);
}

/* The second member of the group is in a third context, so that it has a link of its own. */
static void cancelling_skips_members_that_did_not_get_the_message(void **state)
{
    struct stage *stage = stage_open();
    struct ripc *third = scene_open(NULL);
    struct ripc_service *member = scene_bind(third, 43);
    struct ripc_message message;
    struct faults faults;
    exchange(stage->server, member);
    assert_int_equal(ripc_join(stage->client, 50), 0);
    assert_int_equal(ripc_join(member, 50), 0);
    int64_t number;
    do { /* until both members are known */
        number = send_to_group(stage, scene_deadline());
        assert_true(number > 0);
        message = scene_receive(stage->client);
        ripc_release(&message);
        assert_int_equal(ripc_wait(stage->server, number, RIPC_NOW), -EAGAIN);
    } while (ripc_receive(member, &message, 1, ripc_after(SCENE_SECOND / 50)) != 1);
    ripc_release(&message);

    faults_begin(&faults, stage->server, member);
    faults.pipes.push = push_broken;
    number = send_to_group(stage, scene_deadline());
    assert_true(number > 0);
    faults_end(&faults);
    message = scene_receive(stage->client);
    assert_int_equal(ripc_cancel(stage->server, number, scene_deadline()), 0);
    ripc_release(&message);
    scene_close(third);
    stage_close(stage);
}

/* A moment earlier there was room for the message. */
static void a_group_send_that_finds_no_credit_can_be_retried(void **state)
{
    struct stage *stage = stage_open();
    struct faults faults;
    struct ripc_message message;
    assert_int_equal(ripc_join(stage->client, 50), 0);
    int64_t number = send_to_group(stage, scene_deadline());
    assert_true(number > 0);
    message = scene_receive(stage->client);
    ripc_release(&message);
    faults_begin(&faults, stage->server, stage->client);
    faults.pipes.push = push_in_vain;
    assert_int_equal(send_to_group(stage, RIPC_NOW), -EAGAIN);
    faults_end(&faults);
    number = send_to_group(stage, scene_deadline());
    assert_true(number > 0);
    message = scene_receive(stage->client);
    ripc_release(&message);

    struct iovec returns = {NULL, SIZE};
    struct ripc_send send = {
        .to = 50, .returns = &returns, .return_count = 1, .deadline = scene_deadline()};
    assert_int_equal(ripc_send_message(stage->server, &send), -EINVAL); /* return buffers cannot be
                                                                         * offered to a group */
    stage_close(stage);
}

/* ---- a peer that does not read ---- */

/* Control messages to the peer are queued up to a limit; after that, calls fail. */
static void a_full_control_queue_is_an_error(void **state)
{
    struct ripc_config manual = {.flags = RIPC_MANUAL};
    struct ripc *here = scene_open(NULL), *there = scene_open(&manual);
    struct ripc_service *client = scene_bind(here, 41), *server = scene_bind(there, 42);
    uint8_t *data = ripc_alloc(here, SIZE), *mine = ripc_alloc(here, SIZE);
    struct iovec item = {data, SIZE}, returns = {mine, SIZE};
    struct ripc_send send = {.to = 42,
                             .longs = &item,
                             .long_count = 1,
                             .returns = &returns,
                             .return_count = 1,
                             .deadline = RIPC_NOW};
    int64_t number;
    while ((number = ripc_send_message(client, &send)) == -EAGAIN)
        ripc_progress(there);
    assert_true(number > 0);
    int result;
    while ((result = ripc_cancel(client, number, RIPC_NOW)) == -EAGAIN)
        ;
    assert_int_equal(result, -ENOBUFS);
    assert_int_equal(ripc_withdraw(client, mine, RIPC_NOW), 0); /* needs no message */
    const struct ripc_grant grant = {.owner = 42, .key = 5};
    for (unsigned i = 0; i < 2; i++) /* twice: the first call must leave nothing behind */
        assert_int_equal(ripc_read(client, &grant, 0, data, 1, RIPC_NOW), -ENOBUFS);
    assert_int_equal(only_peer(here)->users, 0);
    (void)server;
    assert_int_equal(ripc_close(here, RIPC_NOW), -ETIMEDOUT);
    assert_true(ripc_close(there, RIPC_NOW) <= 0);
}

/* ---- control messages that our peers never send ---- */

static void unrequested_copies_are_ignored(void **state)
{
    struct stage *stage = stage_open();
    int64_t number = reply(stage, scene_deadline());
    assert_true(number > 0);
    struct ripc_message message = scene_receive(stage->client);
    assert_int_equal(message.longs[0].status, -EINPROGRESS);

    lock_take(&stage->here->lock);
    struct control_words words = {.kind = CONTROL_COPIED, .number = (uint64_t)number};
    list_each(&stage->peer->arrivals, node) words.pipe =
        container_of(node, struct arrival, peer_node)->pipe;
    words.status = -EIO;
    incoming_copied(stage->peer, &words); /* was not requested */
    words.item = UINT32_MAX;
    incoming_copied(stage->peer, &words);
    words.item = 0;
    words.number++;
    incoming_copied(stage->peer, &words);
    lock_drop(&stage->here->lock);

    lock_take(&stage->there->lock);
    const struct remote *remote = id_map_get(&stage->server->remotes, 41);
    words = (struct control_words){
        .kind = CONTROL_COPY, .pipe = remote->pipe, .number = (uint64_t)number, .item = UINT32_MAX};
    operation_copy(stage->caller, &words); /* the answer is an error, which the other side
                                            * ignores */
    words.item = 0;
    words.number++;
    operation_copy(stage->caller, &words);
    lock_drop(&stage->there->lock);

    uint8_t to[SIZE];
    assert_int_equal(ripc_fetch(&message, 0, to, SIZE, scene_deadline()), 0);
    assert_int_equal(to[SIZE - 1], 7);
    ripc_release(&message);
    assert_int_equal(ripc_wait(stage->server, number, scene_deadline()), 0);
    stage_close(stage);
}

static void a_peer_with_too_many_pipes_is_refused(void **state)
{
    struct stage *stage = stage_open();
    struct ripc_service *second = scene_bind(stage->here, 0);
    lock_take(&stage->there->lock);
    unsigned count = stage->caller->arrival_count;
    stage->caller->arrival_count = UINT32_MAX;
    lock_drop(&stage->there->lock);
    int result;
    while ((result = ripc_send(second, 42, "x", 1, scene_deadline())) == 0)
        clock_nap(100 * 1000); /* until the answer has arrived */
    assert_int_equal(result, -ECONNREFUSED);
    lock_take(&stage->there->lock);
    stage->caller->arrival_count = count;
    lock_drop(&stage->there->lock);
    exchange(second, stage->server);
    stage_close(stage);
}

/* Sends a truncated frame to the hidden service of the notices. */
static void a_malformed_notification_condemns_its_sender(void **state)
{
    const struct frame_head head = message_head_write(&(struct message_head){.kind = FRAME_NOTIFY});
    struct stage *stage = stage_open();
    struct ripc_notice *notice;
    struct ripc_handle handle;
    struct ripc_stats stats = {0};
    struct iovec piece = {"x", 1};
    assert_int_equal(ripc_notice_open(stage->there, NULL, NULL, &notice, &handle), 0);
    assert_int_equal(ripc_notify(stage->client, &handle, 1, scene_deadline()), 0);
    lock_take(&stage->here->lock);
    const struct remote *remote = id_map_get(&stage->client->remotes, handle.service);
    assert_int_equal(remote->outlet->ops->push(remote->outlet, &head, &piece, 1), 0);
    lock_drop(&stage->here->lock);
    for (int64_t end = scene_deadline(); stats.protocol_errors == 0;) {
        assert_true(ripc_now() < end);
        assert_int_equal(ripc_stats(stage->there, &stats), 0);
    }
    stage_close(stage);
}

struct waiter {
    struct ripc_service *service;
    int64_t operation;
    int result;
};

static void wait_for_operation(void *argument)
{
    struct waiter *waiter = argument;
    waiter->result = ripc_wait(waiter->service, waiter->operation, RIPC_FOREVER);
}

/* Another thread takes the acknowledgement. */
static void an_acknowledgement_wakes_the_thread_that_waits_for_it(void **state)
{
    static struct waiter waiter;
    struct stage *stage = stage_open();
    waiter = (struct waiter){stage->server, reply(stage, scene_deadline()), 1};
    assert_true(waiter.operation > 0);
    atomic_store(&doorbell_nap, NSEC_NEVER);
    sleeper_start(&stage->sleeper, wait_for_operation, &waiter);
    lock_take(&stage->there->lock);
    flight_acknowledged(id_map_get(&stage->server->remotes, 41), (uint64_t)waiter.operation, -EIO);
    lock_drop(&stage->there->lock);
    sleeper_assert_woken(&stage->sleeper);
    atomic_store(&doorbell_nap, DOORBELL_NAP_NSEC);
    assert_int_equal(waiter.result, -EIO);
    stage_close(stage);
}

static void condemned_once(struct ripc *ripc)
{
    struct ripc_stats stats;
    assert_int_equal(ripc_stats(ripc, &stats), 0);
    assert_int_equal(stats.protocol_errors, 1);
}

static void a_peer_is_condemned_once(void **state)
{
    struct stage *stage = stage_open();
    lock_take(&stage->here->lock);
    peer_condemn(stage->peer);
    peer_condemn(stage->peer);
    lock_drop(&stage->here->lock);
    condemned_once(stage->here);
    stage_close(stage);
}

/* Two invalid answers: a second one, and a first one that is malformed. */
static void an_invalid_answer_condemns_the_peer(void **state)
{
    for (unsigned answered = 0; answered < 2; answered++) {
        struct stage *stage = stage_open();
        lock_take(&stage->here->lock);
        struct remote *remote = id_map_get(&stage->client->remotes, 42);
        struct control_words words = {.kind = CONTROL_ANSWER, .pipe = remote->pipe};
        remote->answered = answered;
        remote_answer(stage->peer, &words);
        lock_drop(&stage->here->lock);
        condemned_once(stage->here);
        stage_close(stage);
    }
}

static int collect_nonsense(struct outlet *outlet, struct acknowledgement *out, unsigned max)
{
    return -EPROTO;
}

static void malformed_acknowledgements_condemn_the_peer(void **state)
{
    struct stage *stage = stage_open();
    struct faults faults;
    int64_t operation = reply(stage, scene_deadline());
    assert_true(operation > 0);
    faults_begin(&faults, stage->server, stage->client);
    faults.pipes.collect = collect_nonsense;
    lock_take(&stage->there->lock);
    remotes_collect(stage->server);
    faults_undo(&faults);
    lock_drop(&stage->there->lock);
    condemned_once(stage->there);
    assert_int_equal(ripc_wait(stage->server, operation, scene_deadline()), -EPIPE);
    stage_close(stage);
}

static int pull_nonsense(struct inlet *inlet, struct frame *out, unsigned max)
{
    return -EPROTO;
}

static void malformed_frames_condemn_the_peer(void **state)
{
    struct stage *stage = stage_open();
    struct arrival *arrival = NULL;
    struct ripc_message message;
    lock_take(&stage->there->lock);
    list_each(&stage->server->arrivals, node) arrival =
        container_of(node, struct arrival, service_node);
    assert(arrival); /* the peer has opened a pipe */
    const struct pipe_ops *usual = arrival->inlet->ops;
    struct pipe_ops ops = *usual;
    ops.pull = pull_nonsense;
    ops.waiting = NULL;
    arrival->inlet->ops = &ops;
    stage->caller->users++; /* keeps the peer while the test looks at it */
    lock_drop(&stage->there->lock);
    assert_int_equal(ripc_receive(stage->server, &message, 1, RIPC_NOW), -EAGAIN);
    condemned_once(stage->there);
    lock_take(&stage->there->lock);
    list_each(&stage->server->arrivals, node) container_of(node, struct arrival, service_node)
        ->inlet->ops = usual;
    stage->caller->users--;
    peer_settle(stage->caller);
    lock_drop(&stage->there->lock);
    stage_close(stage);
}

TEST_MAIN(SCENE(a_peer_is_condemned_once), SCENE(an_invalid_answer_condemns_the_peer),
          SCENE(malformed_acknowledgements_condemn_the_peer),
          SCENE(malformed_frames_condemn_the_peer),
          SCENE(an_acknowledgement_wakes_the_thread_that_waits_for_it),
          SCENE(closing_a_reach_waits_for_its_transfers),
          SCENE(a_reach_to_a_hung_peer_can_be_closed),
          SCENE(a_reply_waits_until_its_item_is_written), SCENE(a_write_waits_until_it_is_done),
          SCENE(a_return_buffer_is_filled_again_if_the_reply_was_not_sent),
          SCENE(a_return_buffer_of_a_dead_peer_is_forgotten),
          SCENE(an_operation_whose_frame_was_not_sent_is_undone),
          SCENE(cancelling_skips_members_that_did_not_get_the_message),
          SCENE(a_group_send_that_finds_no_credit_can_be_retried),
          SCENE(a_full_control_queue_is_an_error), SCENE(unrequested_copies_are_ignored),
          SCENE(a_peer_with_too_many_pipes_is_refused),
          SCENE(a_malformed_notification_condemns_its_sender))
