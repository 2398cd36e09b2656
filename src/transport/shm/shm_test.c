/* Tests two contexts in one process, connected by a real lifeline. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/test.h"
#include "transport/scratch.h"
#include "transport/transport.h"

#define PATIENCE (10 * NSEC_PER_SEC) /* how long a failing test waits */

static const struct transport_ops *const shm = &transport_shm;

struct side {
    struct lock lock;
    struct poller *poller;
    struct lifelines *lines;
    struct context_address address;
    struct lifeline *line;
    struct transport *transport;
    struct transport_link *link;
    struct doorbell bell;
    int control_result; /* of the last control message */
};

static struct {
    struct scratch scratch;
    struct side sides[2];
    unsigned fds; /* open before the test */
} here;

static void on_up(void *owner, struct lifeline *line, const struct context_address *peer,
                  const uint8_t *card, size_t card_size)
{
    struct side *side = owner;
    side->line = line;
    assert_int_equal(shm->link_open(side->transport, line, peer, card, card_size + 1, &side->link),
                     -EHOSTUNREACH); /* another version */
    assert_int_equal(shm->link_open(side->transport, line, peer, card, card_size, &side->link), 0);
}

static void on_control(void *owner, struct lifeline *line, struct control *control)
{
    struct side *side = owner;
    side->control_result = shm->link_control(side->link, control);
}

static void on_down(void *owner, struct lifeline *line, int reason)
{
    struct side *side = owner;
    side->line = NULL;
    if (side->link)
        shm->link_lost(side->link);
}

static const struct lifeline_events events = {.up = on_up, .control = on_control, .down = on_down};

static void side_open(struct side *side)
{
    static uint8_t card[160];
    struct why why = {""};
    const struct transport_config config = {.ring_slots = 16, .ring_bytes = 64 << 10};
    *side = (struct side){0};
    assert_int_equal(poller_open(&side->poller, &side->lock), 0);
    assert_int_equal(doorbell_open(&side->bell), 0);
    assert_int_equal(shm->open(&side->transport, &config, &why), 0);
    int card_size = shm->describe(side->transport, card, sizeof card);
    assert_true(card_size > 0);
    const struct lifelines_config lines = {
        .poller = side->poller,
        .folder = here.scratch.folder,
        .context = entropy_u64(),
        .card = card,
        .card_size = (size_t)card_size,
        .events = &events,
        .owner = side,
    };
    if (lifelines_open(&side->lines, &lines, &side->address, &why))
        fail_msg("%s", why.text);
}

static void step_both(void)
{
    for (unsigned i = 0; i < 2; i++)
        poller_step(here.sides[i].poller, clock_after(1000000));
}

static int sides_open(void **state)
{
    scratch_open(&here.scratch);
    here.fds = scratch_descriptors();
    for (unsigned i = 0; i < 2; i++)
        side_open(&here.sides[i]);
    struct lifeline *line;
    lock_take(&here.sides[0].lock);
    int result = lifeline_connect(here.sides[0].lines, &here.sides[1].address, &line);
    lock_drop(&here.sides[0].lock);
    assert_int_equal(result, 0);
    for (nsec until = clock_after(PATIENCE); !here.sides[0].link || !here.sides[1].link;) {
        assert_true(clock_now() < until);
        step_both();
    }
    return 0;
}

static int sides_close(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct side *side = &here.sides[i];
        shm->link_close(side->link);
        shm->close(side->transport);
        doorbell_close(&side->bell);
        lifelines_close(side->lines);
        poller_close(side->poller);
    }
    assert_int_equal(scratch_descriptors(), here.fds); /* no test leaks descriptors */
    scratch_close(&here.scratch);
    return 0;
}

/* ---- pipes ---- */

struct pipe_ends {
    struct outlet *outlet;
    struct inlet *inlet;
    struct parcel answer;
};

static void pipe_offer(struct pipe_ends *ends)
{
    struct parcel offer;
    assert_int_equal(
        shm->pipes->outlet_open(here.sides[0].link, &here.sides[0].bell, &offer, &ends->outlet), 0);
    assert_int_equal(shm->pipes->inlet_open(here.sides[1].link, &here.sides[1].bell, &offer,
                                            &ends->answer, &ends->inlet),
                     0);
    parcel_fini(&offer);
}

static void pipe_open(struct pipe_ends *ends)
{
    pipe_offer(ends);
    assert_int_equal(shm->pipes->outlet_answer(ends->outlet, &ends->answer), 0);
    parcel_fini(&ends->answer);
}

static void pipe_close(struct pipe_ends *ends)
{
    shm->pipes->outlet_close(ends->outlet);
    shm->pipes->inlet_close(ends->inlet);
}

static int push(struct pipe_ends *ends, const char *text, uint64_t token)
{
    const struct frame_head head = {.kind = 5, .token = token};
    const struct iovec piece = {.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
    return shm->pipes->push(ends->outlet, &head, &piece, 1);
}

/* Was the bell rung since prepare? Then no sleeper is left to be woken. */
static bool was_rung(struct doorbell *bell)
{
    int fds[DOORBELL_FD_COUNT];
    struct ringer ringer;
    assert_int_equal(doorbell_share(bell, fds), 0);
    assert_int_equal(ringer_open(&ringer, fds), 0);
    bool rung = !ringer_ring(&ringer);
    ringer_close(&ringer);
    return rung;
}

static void frames_acknowledgements_and_credit_wake_the_other_side(void **state)
{
    struct pipe_ends ends;
    struct frame frame;
    struct acknowledgement ack;
    struct doorbell *sender = &here.sides[0].bell;
    struct doorbell *receiver = &here.sides[1].bell;
    pipe_open(&ends);

    doorbell_prepare(receiver, DOORBELL_FUTEX);
    assert_int_equal(shm->pipes->pull(ends.inlet, &frame, 1), 0);
    assert_int_equal(push(&ends, "hello", 77), 0);
    assert_true(was_rung(receiver));
    assert_int_equal(shm->pipes->pull(ends.inlet, &frame, 1), 1);
    assert_int_equal(frame.size, 5);
    assert_memory_equal(frame.body, "hello", 5);
    assert_int_equal(frame.head.kind, 5);

    doorbell_prepare(sender, DOORBELL_FUTEX);
    assert_int_equal(shm->pipes->collect(ends.outlet, &ack, 1), 0);
    assert_int_equal(shm->pipes->acknowledge(ends.inlet, 77, -3), 0);
    assert_true(was_rung(sender));
    assert_int_equal(shm->pipes->collect(ends.outlet, &ack, 1), 1);
    assert_int_equal(ack.token, 77);
    assert_int_equal(ack.status, -3);
    shm->pipes->release(ends.inlet, &frame);

    /* Credit rings, too: for the last frame of a full ring, released when the ring is dry. */
    struct frame frames[16];
    int pushed = 0;
    while (!push(&ends, "x", 0))
        pushed++;
    assert_int_equal(pushed, 15); /* the release above is not published yet */
    doorbell_prepare(sender, DOORBELL_FUTEX);
    assert_false(shm->pipes->room(ends.outlet, 1));
    assert_int_equal(shm->pipes->pull(ends.inlet, frames, 16), 15);
    assert_true(was_rung(sender));
    assert_int_equal(push(&ends, "x", 0), 0); /* ... but is published now */
    assert_false(shm->pipes->room(ends.outlet, 1));
    doorbell_prepare(sender, DOORBELL_FUTEX);
    assert_false(shm->pipes->room(ends.outlet, 1));
    for (int i = 0; i < 15; i++)
        shm->pipes->release(ends.inlet, &frames[i]);
    assert_true(was_rung(sender));
    assert_true(shm->pipes->room(ends.outlet, 1));
    assert_true(shm->pipes->room(ends.outlet, FRAME_BODY_MAX));
    assert_false(shm->pipes->room(ends.outlet, FRAME_BODY_MAX + 1));
    pipe_close(&ends);
}

static void the_answer_rings_for_frames_pushed_before_it(void **state)
{
    struct pipe_ends ends;
    struct frame frame;
    struct doorbell *receiver = &here.sides[1].bell;
    pipe_offer(&ends);
    doorbell_prepare(receiver, DOORBELL_FUTEX);
    assert_int_equal(shm->pipes->pull(ends.inlet, &frame, 1), 0);
    assert_int_equal(push(&ends, "early", 0), 0);
    assert_int_equal(shm->pipes->outlet_answer(ends.outlet, &ends.answer), 0);
    assert_true(was_rung(receiver));
    assert_int_equal(shm->pipes->pull(ends.inlet, &frame, 1), 1);
    assert_memory_equal(frame.body, "early", 5);
    assert_int_equal(shm->pipes->outlet_answer(ends.outlet, &ends.answer), -EPROTO); /* only once */
    parcel_fini(&ends.answer);
    pipe_close(&ends);
}

static void bad_offers_and_answers_are_refused(void **state)
{
    struct pipe_ends ends;
    for (unsigned way = 0; way < 8; way++) {
        struct parcel offer;
        struct transport_link *from = here.sides[0].link;
        assert_int_equal(shm->pipes->outlet_open(from, &here.sides[0].bell, &offer, &ends.outlet),
                         0);
        if (way < 3) {
            close(offer.fds[way]);
            offer.fds[way] = open("/dev/null", O_RDWR | O_CLOEXEC);
        } else if (way == 3) {
            close(offer.fds[--offer.fd_count]);
        } else if (way == 4) {
            offer.size--;
        } else if (way == 7) {
            offer.size++;
        } else {
            offer.bytes[way == 5 ? 3 : 6]++; /* another shape: odd, or of another size */
        }
        assert_int_equal(shm->pipes->inlet_open(here.sides[1].link, &here.sides[1].bell, &offer,
                                                &ends.answer, &ends.inlet),
                         -EPROTO);
        parcel_fini(&offer);
        struct parcel nothing = {0};
        assert_int_equal(shm->pipes->outlet_answer(ends.outlet, &nothing), -EPROTO);
        shm->pipes->outlet_close(ends.outlet);
    }
}

static void pipes_to_one_service_share_its_bell(void **state)
{
    struct pipe_ends ends[3];
    struct frame frame;
    struct doorbell *receiver = &here.sides[1].bell;
    pipe_open(&ends[0]);
    unsigned fds = scratch_descriptors();
    pipe_open(&ends[1]);
    pipe_open(&ends[2]);
    assert_int_equal(scratch_descriptors(), fds); /* more pipes, but no more descriptors */
    pipe_close(&ends[0]); /* the pipe that opened the bell; the others go on using it */
    for (unsigned i = 1; i < 3; i++) {
        doorbell_prepare(receiver, DOORBELL_FUTEX);
        assert_int_equal(shm->pipes->pull(ends[i].inlet, &frame, 1), 0);
        assert_int_equal(push(&ends[i], "hello", 0), 0);
        assert_true(was_rung(receiver));
    }
    pipe_close(&ends[1]);
    pipe_close(&ends[2]);
}

static void another_service_of_the_peer_has_its_own_bell(void **state)
{
    struct pipe_ends ends, others;
    struct frame frame;
    struct doorbell other, first = here.sides[1].bell;
    pipe_open(&ends);
    assert_int_equal(doorbell_open(&other), 0);
    here.sides[1].bell = other;
    pipe_open(&others);
    here.sides[1].bell = first;
    doorbell_prepare(&other, DOORBELL_FUTEX);
    assert_int_equal(shm->pipes->pull(others.inlet, &frame, 1), 0);
    assert_int_equal(push(&ends, "for the first service", 0), 0);
    assert_false(was_rung(&other));
    doorbell_prepare(&other, DOORBELL_FUTEX);
    assert_int_equal(push(&others, "for the other", 0), 0);
    assert_true(was_rung(&other));
    pipe_close(&ends);
    pipe_close(&others);
    doorbell_close(&other);
}

/* ---- memory ---- */

#define SLAB (1 << 20)

static int read_text(const struct remote_memory *from, uint64_t offset, char *to, size_t size)
{
    struct transfer transfer = {0};
    return shm->memory->read(here.sides[1].link, from, offset, to, size, NULL, &transfer);
}

static int write_text(const struct remote_memory *to, uint64_t offset, const char *text)
{
    struct transfer transfer = {0};
    return shm->memory->write(here.sides[1].link, to, offset, text, strlen(text), NULL, &transfer);
}

static void slabs_are_mapped_and_copied(void **state)
{
    struct memfile file;
    struct region *region;
    struct remote_memory name;
    char text[16] = "";
    struct transport_link *owner = here.sides[0].link;
    assert_int_equal(memfile_open(&file, "slab", SLAB), 0);
    assert_int_equal(
        shm->memory->region_open(here.sides[0].transport, file.base, SLAB, &file, &region), 0);
    char *piece = (char *)file.base + 5000;
    strcpy(piece, "in the slab");

    assert_int_equal(shm->memory->share(owner, region, piece - 5001, 5, MEMORY_READ, &name),
                     -ERANGE);
    assert_int_equal(shm->memory->share(owner, region, piece, SLAB - 4999, MEMORY_READ, &name),
                     -ERANGE);
    assert_int_equal(shm->memory->share(owner, region, piece, 11, MEMORY_READ, &name), 0);
    assert_int_equal(read_text(&name, 3, text, 8), 1); /* receives the descriptor by itself */
    assert_string_equal(text, "the slab");
    assert_int_equal(read_text(&name, 3, text, 9), -ERANGE);
    assert_int_equal(read_text(&name, UINT64_MAX, text, 2), -ERANGE);
    assert_int_equal(read_text(&name, 11, text, 0), 1);
    struct remote_memory rest; /* up to the last byte of the file */
    assert_int_equal(shm->memory->share(owner, region, piece, SLAB - 5000, MEMORY_READ, &rest), 0);
    assert_int_equal(read_text(&rest, 3, text, 8), 1);

    struct remote_memory forged = name;
    forged.key++;
    assert_int_equal(read_text(&forged, 0, text, 1), -EACCES);
    forged = name;
    forged.size = SLAB - 4999;
    assert_int_equal(read_text(&forged, 0, text, 1), -ERANGE);
    forged.address = UINT64_MAX - 5;
    assert_int_equal(read_text(&forged, 0, text, 1), -ERANGE);

    assert_int_equal(write_text(&name, 0, "no"), -EACCES);
    assert_int_equal(
        shm->memory->share(owner, region, piece, 11, MEMORY_READ | MEMORY_WRITE, &name), 0);
    assert_int_equal(write_text(&name, 3, "THE"), 1);
    assert_string_equal(piece, "in THE slab");
    assert_int_equal(write_text(&name, 9, "abc"), -ERANGE);
    assert_int_equal(shm->memory->share(owner, region, piece, 11, MEMORY_READ, &name), 0);

    shm->memory->region_close(region);
    nsec until = clock_after(PATIENCE);
    while (read_text(&name, 0, text, 1) == 1) {
        assert_true(clock_now() < until);
        step_both();
    }
    assert_int_equal(read_text(&name, 0, text, 1), -EACCES);
    memfile_close(&file);
}

static void foreign_memory_is_copied_by_the_kernel(void **state)
{
    struct region *region;
    struct remote_memory name;
    char text[16] = "";
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    strcpy(memory + 10, "foreign");
    assert_int_equal(
        shm->memory->region_open(here.sides[0].transport, memory, 2 * page, NULL, &region), 0);
    assert_int_equal(shm->memory->share(here.sides[0].link, region, memory + 10, 7,
                                        MEMORY_READ | MEMORY_WRITE, &name),
                     0);
    int result = read_text(&name, 0, text, 7);
    if (result != -EOPNOTSUPP) { /* some kernels do not permit it */
        assert_int_equal(result, 1);
        assert_string_equal(text, "foreign");
        assert_int_equal(write_text(&name, 3, "EIGN"), 1);
        assert_string_equal(memory + 10, "forEIGN");
        assert_int_equal(write_text(&name, 4, "EIGN"), -ERANGE);
        assert_int_equal(shm->memory->share(here.sides[0].link, region, memory + page - 2, 7,
                                            MEMORY_READ, &name),
                         0);
        munmap(memory + page, page);
        assert_int_equal(read_text(&name, 0, text, 7), -EFAULT);
        /* There is no memory at the very end of the address space, and beyond it there is no
         * address. */
        name = (struct remote_memory){.address = UINTPTR_MAX - 7, .size = 7};
        assert_int_equal(read_text(&name, 0, text, 7), -EFAULT);
        name.address++;
        assert_int_equal(read_text(&name, 0, text, 7), -ERANGE);
    }
    shm->memory->region_close(region);
    munmap(memory, 2 * page);
}

static void bad_controls_are_refused(void **state)
{
    uint64_t seed = entropy_u64() >> 32;
    print_message("# seed %llu\n", (unsigned long long)seed);
    struct rng rng = rng_make(seed, 0);
    for (unsigned i = 0; i < 2000; i++) {
        struct control control = {
            .kind = (uint16_t)(CONTROL_TRANSPORT + rng_below(&rng, 3)),
            .size = (uint16_t)rng_below(&rng, 20),
            .fd_count = (uint8_t)rng_below(&rng, 3),
        };
        for (unsigned k = 0; k < control.size; k++)
            control.body[k] = (uint8_t)rng_below(&rng, 3);
        for (unsigned k = 0; k < control.fd_count; k++)
            control.fds[k] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        int result = shm->link_control(here.sides[1].link, &control);
        bool forgets = control.kind == CONTROL_TRANSPORT + 1 && control.size == 8;
        bool foreign = control.kind > CONTROL_TRANSPORT + 1;
        assert_int_equal(result, foreign ? -ENOMSG : forgets ? 0 : -EPROTO);
        for (unsigned k = 0; k < control.fd_count; k++)
            if (control.fds[k] >= 0)
                close(control.fds[k]);
    }
}

static void arrived_frames_and_mapped_memory_outlive_the_sender(void **state)
{
    struct pipe_ends ends;
    struct memfile file;
    struct region *region;
    struct remote_memory name;
    struct frame frame;
    struct acknowledgement ack;
    char text[16] = "";
    struct side *sender = &here.sides[0];
    pipe_open(&ends);
    assert_int_equal(memfile_open(&file, "slab", SLAB), 0);
    assert_int_equal(shm->memory->region_open(sender->transport, file.base, SLAB, &file, &region),
                     0);
    assert_int_equal(shm->memory->share(sender->link, region, file.base, 8, MEMORY_WRITE, &name),
                     0);
    strcpy(file.base, "left");
    assert_int_equal(read_text(&name, 0, text, 5), 1);
    assert_int_equal(push(&ends, "last words", 1), 0);

    lock_take(&sender->lock);
    lifeline_cut(sender->line, -ECANCELED);
    lock_drop(&sender->lock);
    for (nsec until = clock_after(PATIENCE); sender->line || here.sides[1].line;) {
        assert_true(clock_now() < until);
        step_both();
    }
    assert_int_equal(push(&ends, "no", 0), -EPIPE);
    assert_int_equal(shm->pipes->collect(ends.outlet, &ack, 1), -EPIPE);
    assert_int_equal(shm->pipes->pull(ends.inlet, &frame, 1), 1);
    assert_memory_equal(frame.body, "last words", 10);
    assert_int_equal(shm->pipes->acknowledge(ends.inlet, 1, 0), -EPIPE);
    assert_int_equal(read_text(&name, 0, text, 5), 1);
    assert_string_equal(text, "left");
    assert_int_equal(write_text(&name, 0, "x"), -EPIPE);
    const struct remote_memory foreign = {.address = (uintptr_t)text, .size = 4};
    assert_int_equal(read_text(&foreign, 0, text, 1), -EPIPE);
    struct parcel offer;
    struct outlet *outlet;
    assert_int_equal(shm->pipes->outlet_open(sender->link, &sender->bell, &offer, &outlet), -EPIPE);
    assert_int_equal(shm->memory->share(sender->link, region, file.base, 8, MEMORY_READ, &name),
                     -EPIPE);
    shm->memory->region_close(region);
    memfile_close(&file);
    pipe_close(&ends);
}

static void shm_is_the_cheapest_transport(void **state)
{
    assert_ptr_equal(transports[0], shm); /* the cheapest */
    for (unsigned i = 1; transports[i]; i++)
        assert_true(transports[i - 1]->cost_nsec <= transports[i]->cost_nsec);
}

#define SIDES_TEST(name) cmocka_unit_test_setup_teardown(name, sides_open, sides_close)

TEST_MAIN(SIDES_TEST(frames_acknowledgements_and_credit_wake_the_other_side),
          SIDES_TEST(the_answer_rings_for_frames_pushed_before_it),
          SIDES_TEST(bad_offers_and_answers_are_refused),
          SIDES_TEST(pipes_to_one_service_share_its_bell),
          SIDES_TEST(another_service_of_the_peer_has_its_own_bell),
          SIDES_TEST(slabs_are_mapped_and_copied),
          SIDES_TEST(foreign_memory_is_copied_by_the_kernel), SIDES_TEST(bad_controls_are_refused),
          SIDES_TEST(arrived_frames_and_mapped_memory_outlive_the_sender),
          TEST(shm_is_the_cheapest_transport))
