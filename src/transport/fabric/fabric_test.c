#include "transport/fabric/fabric_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "transport/fabric/fabric_scene.h"
#include "transport/wake/thread.h"

static void only_exact_messages_are_read(void **state)
{
    uint8_t bytes[FABRIC_BUFFER_SIZE] = {0};
    struct fabric_message message = {.pipe = 1, .sequence = 2, .kind = FABRIC_FRAME, .size = 100},
                          got;
    fabric_message_write(&message, bytes);
    for (size_t size = 0; size < FABRIC_BUFFER_SIZE; size++)
        assert_int_equal(fabric_message_read(&got, bytes, size), size == FABRIC_FRAME_SIZE + 100);
    message.size = FRAME_BODY_MAX + 1;
    fabric_message_write(&message, bytes);
    assert_false(fabric_message_read(&got, bytes, FABRIC_FRAME_SIZE + FRAME_BODY_MAX + 1));
    message = (struct fabric_message){
        .pipe = 1, .kind = FABRIC_RETURN, .credit = 3, .count = FABRIC_ACKS_MAX};
    fabric_message_write(&message, bytes);
    for (size_t size = 0; size < FABRIC_BUFFER_SIZE; size++)
        assert_int_equal(fabric_message_read(&got, bytes, size),
                         size == FABRIC_HEADER_SIZE + FABRIC_ACKS_MAX * FABRIC_ACK_SIZE);
    assert_int_equal(got.credit, 3);
    message.count++;
    fabric_message_write(&message, bytes);
    assert_false(fabric_message_read(&got, bytes,
                                     FABRIC_HEADER_SIZE + (FABRIC_ACKS_MAX + 1) * FABRIC_ACK_SIZE));
    message.kind++;
    fabric_message_write(&message, bytes);
    assert_false(fabric_message_read(&got, bytes, FABRIC_HEADER_SIZE));
}

static void invalid_messages_are_counted_and_change_nothing(void **state)
{
    struct fabric_bench bench;
    bench_open(&bench);
    uint64_t seed = entropy_u64();
    printf("# seed %llu\n", (unsigned long long)seed);
    struct rng rng = rng_make(seed, 0);
    uint8_t bytes[256];
    for (unsigned i = 0; i < 20000; i++) {
        for (unsigned k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)rng_next(&rng);
        receive(&bench, bytes, rng_below(&rng, sizeof bytes));
    }
    assert_int_equal(bench.fabric->garbage_count, 20000);
    struct fabric_message message = frame_message(&bench, 0);
    message.pipe ^= 1;
    receive_message(&bench, &message);
    assert_int_equal(bench.fabric->stray_count, 1);
    message.pipe = bench.out->pipe.id; /* a frame for an outlet */
    receive_message(&bench, &message);
    assert_int_equal(bench.fabric->garbage_count, 20001);
    assert_false(is_broken(&bench));
    message = frame_message(&bench, 0);
    receive_message(&bench, &message);
    struct frame frame;
    assert_int_equal(transport_fabric.pipes->pull(bench.inlet, &frame, 1), 1);
    assert_int_equal(frame.size, 5);
    bench_close(&bench); /* closing takes the frame back */
}

static void a_gap_in_the_sequence_breaks_the_link(void **state)
{
    struct fabric_bench bench;
    bench_open(&bench);
    struct fabric_message message = frame_message(&bench, 0);
    receive_message(&bench, &message);
    assert_false(is_broken(&bench));
    message.sequence = 2;
    receive_message(&bench, &message);
    assert_true(is_broken(&bench));
    struct frame frame;
    assert_int_equal(transport_fabric.pipes->pull(bench.inlet, &frame, 1),
                     1); /* what arrived before */
    transport_fabric.pipes->release(bench.inlet, &frame);
    assert_int_equal(transport_fabric.pipes->pull(bench.inlet, &frame, 1), 0);
    assert_int_equal(transport_fabric.pipes->acknowledge(bench.inlet, 1, 0), -EPIPE);
    struct frame_head head = {0};
    assert_int_equal(transport_fabric.pipes->push(bench.outlet, &head, NULL, 0), -EPIPE);
    bench_close(&bench);
}

/* Frames that were pulled, and frames that were not; but not those of another inlet. */
static void a_closed_inlet_gives_its_buffers_back(void **state)
{
    struct fabric_bench bench;
    struct inlet *other;
    struct parcel answer;
    struct frame frames[2], kept;
    bench_open(&bench);
    unsigned goal = bench.fabric->receive_goal;
    assert_int_equal(
        transport_fabric.pipes->inlet_open(bench.link, &bench.bell, &bench.offer, &answer, &other),
        0);
    unsigned count = bench.fabric->receive_count;
    struct fabric_message message = frame_message(&bench, 0);
    message.pipe = container_of(other, struct fabric_inlet, inlet)->pipe.id;
    receive_message(&bench, &message);
    assert_int_equal(transport_fabric.pipes->pull(other, &kept, 1), 1);
    for (uint32_t i = 0; i < 5; i++) {
        message = frame_message(&bench, i);
        receive_message(&bench, &message);
    }
    assert_int_equal(transport_fabric.pipes->pull(bench.inlet, frames, 2), 2);
    assert_int_equal(bench.fabric->receive_count, count + 6);
    transport_fabric.pipes->inlet_close(bench.inlet);
    assert_int_equal(bench.fabric->receive_goal, goal);
    assert_int_equal(bench.fabric->receive_count, count + 1);
    transport_fabric.pipes->release(other, &kept);
    assert_int_equal(bench.fabric->receive_count, count);
    bench.inlet = other;
    bench_close(&bench);
}

static void more_frames_than_the_window_break_the_link(void **state)
{
    struct fabric_bench bench;
    bench_open(&bench);
    for (uint32_t i = 0; i < FABRIC_WINDOW_MAX; i++) {
        struct fabric_message message = frame_message(&bench, i);
        receive_message(&bench, &message);
        assert_false(is_broken(&bench));
    }
    struct fabric_message message = frame_message(&bench, FABRIC_WINDOW_MAX);
    receive_message(&bench, &message);
    assert_true(is_broken(&bench));
    bench_close(&bench);
}

static void a_return_of_more_than_was_sent_breaks_the_link(void **state)
{
    struct frame_head head = {0};
    for (unsigned i = 0; i < 4; i++) {
        struct fabric_bench bench;
        bench_open(&bench);
        assert_int_equal(transport_fabric.pipes->push(bench.outlet, &head, NULL, 0), 0);
        if (i > 0) /* else: before the answer */
            assert_int_equal(transport_fabric.pipes->outlet_answer(bench.outlet, &bench.answer), 0);
        struct fabric_message message = return_wire(&bench, i == 2 ? 2 : 1, i == 3 ? 2 : 1);
        receive_message(&bench, &message);
        assert_int_equal(is_broken(&bench), i != 1);
        struct acknowledgement acks[4];
        assert_int_equal(transport_fabric.pipes->collect(bench.outlet, acks, 4), i == 1 ? 1 : 0);
        bench_close(&bench);
    }
}

/* The bell rings only for a sender that was refused: any other would look and find nothing new. */
static void credit_rings_only_for_a_refused_sender(void **state)
{
    struct fabric_bench bench;
    struct frame_head head = {0};
    bench_open(&bench);
    const struct list *ringing = &bench.fabric->ringing;
    assert_int_equal(bench.fabric->receive_count, bench.fabric->receive_goal); /* no more */
    doorbell_arm(&bench.bell);
    assert_int_equal(transport_fabric.pipes->push(bench.outlet, &head, NULL, 0), 0);
    assert_int_equal(transport_fabric.pipes->outlet_answer(bench.outlet, &bench.answer), 0);
    assert_true(doorbell_is_slept_on(&bench.bell)); /* no push was refused */
    struct fabric_message message = return_wire(&bench, 1, 0);
    receive_message(&bench, &message);
    assert_true(list_is_empty(ringing));
    bench.out->starved = true;
    uint32_t credit = bench.out->credit;
    bench.out->credit = 0;
    message = return_wire(&bench, 0, 0);
    message.sequence = 1;
    receive_message(&bench, &message);
    assert_true(list_is_empty(ringing));
    assert_true(bench.out->starved);
    message = return_wire(&bench, 1, 0);
    message.sequence = 2;
    receive_message(&bench, &message);
    assert_false(is_broken(&bench));
    assert_false(list_is_empty(ringing));
    assert_false(bench.out->starved);
    bench.out->credit = credit;
    bench_close(&bench);
}

static void await_owing(struct fabric_bench *bench, size_t owed)
{
    nsec deadline = clock_after(20 * NSEC_PER_SEC);
    while (transport_fabric.pipes->outlet_owes(bench->outlet) != owed) {
        assert_true(clock_now() < deadline);
        transport_fabric.progress(bench->transport);
    }
}

/* The provider reports when a message has left; until then the provider holds the buffer. */
static void a_frame_counts_as_owed_until_it_has_left(void **state)
{
    struct fabric_bench bench;
    struct frame_head head = {.token = 5};
    struct frame frame;
    bench_open(&bench);
    assert_int_equal(transport_fabric.pipes->outlet_answer(bench.outlet, &bench.answer), 0);
    assert_int_equal(transport_fabric.pipes->outlet_owes(bench.outlet), 0);
    assert_int_equal(transport_fabric.pipes->push(bench.outlet, &head, NULL, 0), 0);
    assert_true(transport_fabric.pipes->outlet_owes(bench.outlet) > 0);
    await_owing(&bench, 0);
    nsec deadline = clock_after(20 * NSEC_PER_SEC);
    while (transport_fabric.pipes->pull(bench.inlet, &frame, 1) == 0) {
        assert_true(clock_now() < deadline);
        transport_fabric.progress(bench.transport);
    }
    assert_int_equal(frame.head.token, 5);
    transport_fabric.pipes->release(bench.inlet, &frame);
    bench_close(&bench);
}

/* The other context ends while messages are in flight: the provider reports an error. */
static void a_lost_peer_breaks_the_link(void **state)
{
    struct fabric_bench bench, other;
    struct transport_link *link;
    struct outlet *outlet;
    struct parcel offer = {0};
    struct frame_head head = {0};
    uint8_t card[160];
    bench_open(&bench);
    bench_open(&other);
    int size = transport_fabric.describe(other.transport, card, sizeof card);
    assert_int_equal(transport_fabric.link_open(bench.transport, NULL, &bench.address, card,
                                                (size_t)size, &link),
                     0);
    assert_int_equal(transport_fabric.pipes->outlet_open(link, &bench.bell, &offer, &outlet), 0);
    assert_int_equal(transport_fabric.pipes->outlet_answer(outlet, &bench.answer), 0);
    nsec deadline = clock_after(20 * NSEC_PER_SEC);
    assert_int_equal(transport_fabric.pipes->push(outlet, &head, NULL, 0), 0);
    while (transport_fabric.pipes->outlet_owes(outlet)) {
        assert_true(clock_now() < deadline);
        transport_fabric.progress(bench.transport);
        transport_fabric.progress(other.transport);
    }
    bench_close(&other);
    while (!container_of(link, struct fabric_link, link)->broken) {
        assert_true(clock_now() < deadline);
        (void)!transport_fabric.pipes->push(outlet, &head, NULL, 0);
        transport_fabric.progress(bench.transport);
    }
    assert_false(is_broken(&bench)); /* the other link is unchanged */
    transport_fabric.pipes->outlet_close(outlet);
    transport_fabric.link_close(link);
    bench_close(&bench);
}

static bool is_listed(const struct list *list, const struct list *wanted)
{
    list_each(list, node) if (node == wanted) return true;
    return false;
}

/* A callback that runs inside a poll may close a link that the poll still uses. */
static void a_link_closed_during_a_poll_is_freed_after_it(void **state)
{
    struct fabric_bench bench, other;
    struct transport_link *base;
    uint8_t card[160];
    bench_open(&bench);
    bench_open(&other);
    int size = transport_fabric.describe(other.transport, card, sizeof card);
    assert_int_equal(transport_fabric.link_open(bench.transport, NULL, &bench.address, card,
                                                (size_t)size, &base),
                     0);
    struct fabric_link *link = container_of(base, struct fabric_link, link);
    bench.fabric->depth++;
    transport_fabric.link_close(base);
    fabric_links_reap(bench.fabric);
    assert_true(is_listed(&bench.fabric->links, &link->node));
    bench.fabric->depth--;
    fabric_links_reap(bench.fabric);
    assert_false(is_listed(&bench.fabric->links, &link->node));
    bench_close(&other);
    bench_close(&bench);
}

/* A poll retries what the provider refused, but not while a link is being drained. */
static void a_poll_that_drains_retries_nothing(void **state)
{
    struct fabric_bench bench;
    bench_open(&bench);
    bench.fabric->stalled = bench.fabric->draining = true;
    fabric_poll(bench.fabric);
    assert_true(bench.fabric->stalled);
    bench.fabric->draining = false;
    fabric_poll(bench.fabric);
    assert_false(bench.fabric->stalled);
    bench_close(&bench);
}

struct outcome {
    struct transfer transfer;
    unsigned told;
    int status;
};

static void note_outcome(struct transfer *transfer, int status)
{
    struct outcome *outcome = container_of(transfer, struct outcome, transfer);
    outcome->told++;
    outcome->status = status;
}

/* A transfer in progress, with this many pieces in flight. The context frees it. */
static struct fabric_job *job_forge(struct fabric_bench *bench, struct outcome *outcome,
                                    unsigned pieces)
{
    struct fabric_link *link = container_of(bench->link, struct fabric_link, link);
    struct fabric_job *job = calloc(1, sizeof *job);
    assert_non_null(job);
    *outcome = (struct outcome){.transfer.done = note_outcome};
    job->link = link;
    job->transfer = &outcome->transfer;
    job->under_way = pieces;
    for (unsigned i = 0; i < pieces; i++)
        job->pieces[i].job = job;
    list_init(&job->node);
    list_append(&link->jobs, &job->node);
    return job;
}

/* Two pieces come back; when both are back, the caller gets the first failure. */
static int outcome_of(int first, int second, bool *broken)
{
    struct fabric_bench bench;
    struct outcome outcome;
    bench_open(&bench);
    struct fabric_job *job = job_forge(&bench, &outcome, 2);
    fabric_transferred(&job->pieces[0], first);
    assert_int_equal(outcome.told, 0);
    fabric_transferred(&job->pieces[1], second);
    assert_int_equal(outcome.told, 1);
    *broken = is_broken(&bench);
    bench_close(&bench);
    return outcome.status;
}

static void a_transfer_reports_the_failure_of_its_first_failed_piece(void **state)
{
    bool broken;
    assert_int_equal(outcome_of(0, 0, &broken), 0);
    assert_false(broken);
    assert_int_equal(outcome_of(-EACCES, 0, &broken), -EACCES);
    assert_false(broken); /* access was denied, but the connection works */
    assert_int_equal(outcome_of(0, -EACCES, &broken), -EACCES);
    assert_int_equal(outcome_of(-EACCES, -EIO, &broken), -EACCES);
    assert_true(broken);
    assert_int_equal(outcome_of(-EIO, -EACCES, &broken), -EIO);
    assert_true(broken);
}

/* A lost link waits only a moment for pieces that never come back; then done() is called. */
static void a_lost_link_does_not_wait_for_ever(void **state)
{
    struct fabric_bench bench;
    struct outcome outcome;
    bench_open(&bench);
    struct fabric_job *job = job_forge(&bench, &outcome, 1);
    transport_fabric.link_lost(bench.link);
    assert_int_equal(outcome.told, 1);
    assert_int_equal(outcome.status, -EPIPE);
    assert_false(bench.fabric->draining);
    fabric_transferred(&job->pieces[0], 0); /* now it comes back */
    assert_int_equal(outcome.told, 1);
    bench_close(&bench);
}

/* A thread that waits for a frame is woken at the end of the poll that received it. */
static void a_frame_rings_the_bell_of_its_service(void **state)
{
    struct fabric_bench bench;
    bench_open(&bench);
    doorbell_arm(&bench.bell);
    struct fabric_message message = frame_message(&bench, 0);
    receive_message(&bench, &message);
    assert_true(doorbell_is_slept_on(&bench.bell));
    fabric_poll(bench.fabric);
    assert_false(doorbell_is_slept_on(&bench.bell));
    bench_close(&bench);
}

static void invalid_parcels_are_refused(void **state)
{
    struct fabric_bench bench;
    bench_open(&bench);
    struct parcel parcel = bench.answer;
    for (parcel.size = 0; parcel.size < 64; parcel.size++)
        if (parcel.size != bench.answer.size)
            assert_int_equal(transport_fabric.pipes->outlet_answer(bench.outlet, &parcel), -EPROTO);
    parcel = bench.answer;
    parcel.bytes[8] = 1; /* a huge window */
    assert_int_equal(transport_fabric.pipes->outlet_answer(bench.outlet, &parcel), -EPROTO);
    memset(parcel.bytes + 8, 0, 4); /* an empty window */
    assert_int_equal(transport_fabric.pipes->outlet_answer(bench.outlet, &parcel), -EPROTO);
    parcel = bench.answer;
    assert_int_equal(transport_fabric.pipes->outlet_answer(bench.outlet, &parcel), 0);
    assert_int_equal(transport_fabric.pipes->outlet_answer(bench.outlet, &parcel), -EPROTO);
    struct inlet *inlet;
    parcel = bench.offer;
    parcel.size--;
    assert_int_equal(
        transport_fabric.pipes->inlet_open(bench.link, &bench.bell, &parcel, &bench.answer, &inlet),
        -EPROTO);
    struct control control = {.kind = CONTROL_TRANSPORT};
    assert_int_equal(transport_fabric.link_control(bench.link, &control), -ENOMSG);
    bench_close(&bench);
}

static void only_peers_with_the_same_provider_are_linked(void **state)
{
    struct fabric_bench bench, other; /* the provider refuses to link an already linked context */
    bench_open(&bench);
    bench_open(&other);
    uint8_t card[200] = {0};
    int size = transport_fabric.describe(other.transport, card, 160);
    assert_int_equal(transport_fabric.describe(bench.transport, card + 190, 10), -ENOSPC);
    struct transport_link *link;
    for (int i = 0; i < 200; i++)
        if (i != size)
            assert_true(transport_fabric.link_open(bench.transport, NULL, &bench.address, card,
                                                   (size_t)i, &link) < 0);
    card[0] = 'T'; /* another provider */
    assert_int_equal(transport_fabric.link_open(bench.transport, NULL, &bench.address, card,
                                                (size_t)size, &link),
                     -EHOSTUNREACH);
    card[0] = 't';
    bench.address.host[0] ^= 1; /* this loopback address, on another host */
    assert_int_equal(transport_fabric.link_open(bench.transport, NULL, &bench.address, card,
                                                (size_t)size, &link),
                     -EHOSTUNREACH);
    bench.address.host[0] ^= 1;
    assert_int_equal(transport_fabric.link_open(bench.transport, NULL, &bench.address, card,
                                                (size_t)size, &link),
                     0);
    transport_fabric.link_close(link);
    bench_close(&other);
    bench_close(&bench);
}

static void regions_share_only_their_own_memory(void **state)
{
    struct fabric_bench bench;
    bench_open(&bench);
    static uint8_t memory[100];
    struct region *region;
    struct remote_memory one, other;
    assert_int_equal(
        transport_fabric.memory->region_open(bench.transport, memory + 10, 80, NULL, &region), 0);
    assert_int_equal(transport_fabric.memory->share(bench.link, region, memory + 10, 80, 1, &one),
                     0);
    assert_int_equal(transport_fabric.memory->share(bench.link, region, memory + 20, 10, 3, &other),
                     0);
    assert_true(one.key != other.key); /* a reader may not write */
    assert_int_equal(transport_fabric.memory->share(bench.link, region, memory + 9, 1, 1, &one),
                     -ERANGE);
    assert_int_equal(transport_fabric.memory->share(bench.link, region, memory + 10, 81, 1, &one),
                     -ERANGE);
    assert_int_equal(transport_fabric.memory->share(bench.link, region, memory + 90, 1, 1, &one),
                     -ERANGE);
    assert_int_equal(
        transport_fabric.memory->share(bench.link, region, memory + 20, SIZE_MAX, 1, &one),
        -ERANGE);
    assert_int_equal(transport_fabric.memory->share(bench.link, region, memory + 10, 1, 0, &one),
                     -EINVAL);
    assert_int_equal(transport_fabric.memory->share(bench.link, region, memory + 10, 1, 4, &one),
                     -EINVAL);
    transport_fabric.memory->region_close(region);
    bench_close(&bench);
}

/* ---- the order of small writes ---- */

enum { WRITES = 6000, BURST = 3000 /* more than the provider takes at once */ };

struct writing {
    struct transfer transfer;
    struct writer_of_words *writer;
    int status;
};

/* Writes 1, 2, 3, ... to one word. */
struct writer_of_words {
    struct transport_link *link;
    struct region *region;
    struct remote_memory memory;
    unsigned started, done, last;
    unsigned light; /* of this many writes all but one are light; 0: none */
    uint64_t words[WRITES + 1];
    struct writing writings[WRITES + 1];
};

static void note_done(struct transfer *transfer, int status);

static void write_next(struct writer_of_words *writer)
{
    unsigned i = ++writer->started;
    struct writing *writing = &writer->writings[i];
    writer->words[i] = i;
    *writing = (struct writing){.transfer.done = note_done, .writer = writer, .status = 1};
    writing->transfer.light = writer->light && i % writer->light;
    int result = transport_fabric.memory->write(writer->link, &writer->memory, 0, &writer->words[i],
                                                8, writer->region, &writing->transfer);
    assert_int_equal(result, 0);
}

/* The provider has room again, but writes that already wait go first. */
static void note_done(struct transfer *transfer, int status)
{
    struct writing *writing = container_of(transfer, struct writing, transfer);
    struct writer_of_words *writer = writing->writer;
    writing->status = status;
    writer->done++;
    if (status == 0 && !writer->light) /* they complete in the order in which they were posted */
        assert_ptr_equal(writing, &writer->writings[writer->done]);
    if (writer->started < writer->last)
        write_next(writer);
}

static void writer_open(struct writer_of_words *writer, struct fabric_bench *bench, void *target,
                        struct region **to)
{
    *writer = (struct writer_of_words){.link = bench->link};
    assert_int_equal(transport_fabric.memory->region_open(bench->transport, writer->words,
                                                          sizeof writer->words, NULL,
                                                          &writer->region),
                     0);
    assert_int_equal(transport_fabric.memory->region_open(bench->transport, target, 8, NULL, to),
                     0);
    assert_int_equal(
        transport_fabric.memory->share(bench->link, *to, target, 8, MEMORY_WRITE, &writer->memory),
        0);
}

/* All writes go to one word, and each look at it sees it only grow. The first writes are refused
 * because there is no connection yet; later ones are refused when the queue is full. */
static void write_in_order(unsigned light)
{
    static struct writer_of_words writer;
    static _Atomic uint64_t target;
    struct fabric_bench bench;
    struct region *to;
    bench_open(&bench);
    struct fabric_link *link = container_of(bench.link, struct fabric_link, link);
    atomic_store(&target, 0);
    writer_open(&writer, &bench, (void *)&target, &to);
    writer.light = light;
    writer.last = WRITES;
    while (writer.started < BURST)
        write_next(&writer);
    assert_false(list_is_empty(&link->waiting));
    uint64_t seen = 0;
    while (writer.done < WRITES || seen < WRITES) {
        if (writer.started < WRITES && list_is_empty(&link->waiting))
            write_next(&writer);
        transport_fabric.progress(bench.transport);
        uint64_t now = atomic_load_explicit(&target, memory_order_relaxed);
        assert_true(now >= seen && now <= writer.started);
        seen = now;
    }
    for (unsigned i = 1; i <= WRITES; i++)
        assert_int_equal(writer.writings[i].status, 0);
    transport_fabric.memory->region_close(writer.region);
    transport_fabric.memory->region_close(to);
    bench_close(&bench);
}

static void small_writes_are_placed_in_order(void **state)
{
    write_in_order(0);
}

static void light_writes_between_others_are_placed_in_order(void **state)
{
    write_in_order(3);
}

/* Waiting writes end with the link, each exactly once. */
static void waiting_writes_end_with_the_link(void **state)
{
    static struct writer_of_words writer;
    static uint64_t target;
    struct fabric_bench bench;
    struct region *to;
    bench_open(&bench);
    struct fabric_link *link = container_of(bench.link, struct fabric_link, link);
    writer_open(&writer, &bench, &target, &to);
    while (writer.started < 20)
        write_next(&writer);
    assert_false(list_is_empty(&link->waiting));
    transport_fabric.link_lost(bench.link);
    assert_int_equal(writer.done, 20);
    for (unsigned i = 1; i <= 20; i++)
        assert_int_equal(writer.writings[i].status, -EPIPE);
    assert_true(list_is_empty(&link->waiting));
    assert_int_equal(transport_fabric.memory->write(bench.link, &writer.memory, 0, writer.words, 8,
                                                    writer.region, &writer.writings[0].transfer),
                     -EPIPE);
    transport_fabric.memory->region_close(writer.region);
    transport_fabric.memory->region_close(to);
    bench_close(&bench);
}

/* ---- threads that wait for what peers write ---- */

static void *say_that_we_sleep(void *bell)
{
    doorbell_prepare(bell, DOORBELL_FUTEX);
    return NULL;
}

/* A poll of any thread may have placed what a sleeping thread waits for. */
static void polls_of_other_threads_wake_those_that_wait_for_writes(void **state)
{
    struct fabric_bench bench;
    struct doorbell bell;
    struct list bells;
    struct thread sleeper = {0};
    bench_open(&bench);
    list_init(&bells);
    bench.transport->bells = &bells;
    assert_int_equal(doorbell_open(&bell), 0);
    list_append(&bells, &bell.polled);
    while (poller_step(bench.poller, clock_after(5 * 1000 * 1000)) > 0) /* its first polls */
        ;
    assert_int_equal(bench.fabric->timer.at, NSEC_NEVER);
    transport_fabric.progress(bench.transport);
    assert_int_equal(bench.fabric->timer.at, NSEC_NEVER); /* no thread sleeps */
    assert_int_equal(thread_start(&sleeper, "sleep", say_that_we_sleep, &bell), 0);
    thread_join(&sleeper);
    assert_true(doorbell_is_slept_on(&bell));
    transport_fabric.progress(bench.transport);
    assert_true(bench.fabric->timer.at < NSEC_NEVER);
    while (doorbell_is_slept_on(&bell))
        poller_step(bench.poller, clock_after(NSEC_PER_SEC));
    list_remove(&bell.polled);
    doorbell_close(&bell);
    bench_close(&bench);
}

static int never_sleeps(struct fid_fabric *fabric, struct fid **fids, int count)
{
    return -FI_EAGAIN;
}

/* While the provider does not promise that its descriptor will become readable, the poller must
 * poll. */
static void a_busy_provider_is_polled_after_arm(void **state)
{
    struct fabric_bench bench;
    bench_open(&bench);
    while (poller_step(bench.poller, clock_after(5 * 1000 * 1000)) > 0) /* its first polls */
        ;
    transport_fabric.arm(bench.transport);
    assert_int_equal(bench.fabric->timer.at, NSEC_NEVER); /* the descriptor suffices */
    struct fi_ops_fabric *before = bench.fabric->fabric->ops, busy = *before;
    busy.trywait = never_sleeps;
    bench.fabric->fabric->ops = &busy;
    transport_fabric.arm(bench.transport);
    assert_true(bench.fabric->timer.at <= clock_now());
    bench.fabric->fabric->ops = before;
    bench_close(&bench);
}

static void a_missing_provider_is_named(void **state)
{
    struct lock lock = {0};
    struct poller *poller;
    assert_int_equal(poller_open(&poller, &lock), 0);
    struct transport *transport;
    struct transport_config config = {.poller = poller, .provider = "carrier-pigeon"};
    struct why why = {""};
    assert_int_equal(transport_fabric.open(&transport, &config, &why), -EINVAL);
    assert_non_null(strstr(why.text, "unknown provider \"carrier-pigeon\""));
    config =
        (struct transport_config){.poller = poller, .provider = "tcp", .address = "203.0.113.77"};
    assert_int_equal(transport_fabric.open(&transport, &config, &why), -EADDRNOTAVAIL);
    assert_non_null(strstr(why.text, "tcp;ofi_rxm at 203.0.113.77: "));
    config = (struct transport_config){.poller = poller, .provider = "efa"};
    int result = transport_fabric.open(&transport, &config, &why);
    if (result == 0) { /* the machine has one */
        transport_fabric.close(transport);
    } else {
        assert_int_equal(result, -ENODEV);
        assert_non_null(strstr(why.text, "no provider \"efa\" here; run fi_info -l"));
    }
    poller_close(poller);
}

TEST_MAIN(TEST(only_exact_messages_are_read), TEST(invalid_messages_are_counted_and_change_nothing),
          TEST(a_gap_in_the_sequence_breaks_the_link), TEST(a_closed_inlet_gives_its_buffers_back),
          TEST(more_frames_than_the_window_break_the_link),
          TEST(a_return_of_more_than_was_sent_breaks_the_link),
          TEST(credit_rings_only_for_a_refused_sender),
          TEST(a_frame_counts_as_owed_until_it_has_left), TEST(a_lost_peer_breaks_the_link),
          TEST(a_link_closed_during_a_poll_is_freed_after_it),
          TEST(a_poll_that_drains_retries_nothing),
          TEST(a_transfer_reports_the_failure_of_its_first_failed_piece),
          TEST(a_lost_link_does_not_wait_for_ever), TEST(a_frame_rings_the_bell_of_its_service),
          TEST(invalid_parcels_are_refused), TEST(only_peers_with_the_same_provider_are_linked),
          TEST(regions_share_only_their_own_memory), TEST(small_writes_are_placed_in_order),
          TEST(light_writes_between_others_are_placed_in_order),
          TEST(waiting_writes_end_with_the_link),
          TEST(polls_of_other_threads_wake_those_that_wait_for_writes),
          TEST(a_busy_provider_is_polled_after_arm), TEST(a_missing_provider_is_named))
