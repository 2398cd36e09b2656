/* A courier alone, over a simulated line: what it sends in which order, when it wakes which thread
 * or member, and (with ThreadSanitizer) what each of its atomic words orders. This file replaces
 * the functions of ripc and of the seat that the courier calls. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdlib.h>

#include "sst/spread/spread_impl.h"
#include "sst/table/columns_test.h"
#include "transport/wake/sleeper_scene.h"

#define LINE_MAX  40000
#define ROW_BYTES 4096

/* A transfer that was started. */
struct parcel_sent {
    bool read, light;
    uint64_t offset;
    const void *from;
    void *to;
    size_t size;
    struct transfer *transfer;
};

static struct {
    struct parcel_sent sent[LINE_MAX];
    _Atomic uint32_t sent_count; /* stored with release by the sender, one thread at a time */
    _Atomic uint32_t done_count; /* relaxed: transfers that have ended; it orders nothing */
    _Atomic bool stop;           /* relaxed: ends the line's thread */
    bool polled;                 /* the member's processor takes part in writes to its memory */
    int result;                  /* returned by the next transfers */
    int status;                  /* with which transfers end */
    bool falls_asleep;           /* the member sets `asleep` before a transfer ends */
    unsigned notified;
    int notify_result;
    unsigned taken;                              /* rows taken */
    alignas(SCHEMA_LINE) uint8_t far[ROW_BYTES]; /* the member's memory */
} line;

static struct share share;
static struct table table;
static struct seat seat;
static struct sleeper sleeper;
static alignas(SCHEMA_LINE) uint8_t own_row[ROW_BYTES], seat_row[ROW_BYTES];
static alignas(64) uint8_t bell_page[DOORBELL_PLACED_SIZE];

/* ---- replaced functions ---- */

static int parcel_start(struct parcel_sent parcel)
{
    uint32_t count = atomic_load_explicit(&line.sent_count, memory_order_relaxed);
    assert_true(count < LINE_MAX && parcel.offset + parcel.size <= ROW_BYTES);
    if (line.result)
        return line.result;
    line.sent[count] = parcel;
    atomic_store_explicit(&line.sent_count, count + 1, memory_order_release);
    return 0;
}

int reach_write(struct reach *reach, uint64_t offset, const void *local, size_t size,
                struct transfer *transfer)
{
    return parcel_start((struct parcel_sent){.light = transfer->light,
                                             .offset = offset,
                                             .from = local,
                                             .size = size,
                                             .transfer = transfer});
}

int reach_read(struct reach *reach, uint64_t offset, void *local, size_t size,
               struct transfer *transfer)
{
    return parcel_start((struct parcel_sent){
        .read = true, .offset = offset, .to = local, .size = size, .transfer = transfer});
}

bool reach_is_polled(const struct reach *reach)
{
    return line.polled;
}

void *ripc_alloc(struct ripc *ripc, size_t size)
{
    return calloc(1, size);
}

int ripc_free(struct ripc *ripc, void *memory)
{
    free(memory);
    return 0;
}

int ripc_notify(struct ripc_service *service, const struct ripc_handle *handle, uint64_t value,
                int64_t deadline)
{
    line.notified++;
    return line.notify_result;
}

void seat_take(struct share *to, struct seat *of, const uint8_t *row)
{
    memcpy(seat_row, row, table.schema.row_size);
    line.taken++;
}

/* ---- the line ---- */

/* Completes the next transfer with plain stores, as hardware does. */
static void parcel_end(void)
{
    uint32_t done = atomic_load_explicit(&line.done_count, memory_order_relaxed);
    const struct parcel_sent *parcel = &line.sent[done];
    if (parcel->read)
        memcpy(parcel->to, line.far + parcel->offset, parcel->size);
    else
        memcpy(line.far + parcel->offset, parcel->from, parcel->size);
    if (line.falls_asleep)
        memcpy(seat_row + ROW_ASLEEP, &(uint64_t){1}, sizeof(uint64_t));
    parcel->transfer->done(parcel->transfer, line.status);
    atomic_store_explicit(&line.done_count, done + 1, memory_order_relaxed);
}

static bool line_is_empty(void)
{
    return atomic_load_explicit(&line.done_count, memory_order_relaxed) ==
           atomic_load_explicit(&line.sent_count, memory_order_acquire);
}

static void line_end_all(void)
{
    while (!line_is_empty())
        parcel_end();
}

static void *line_run(void *argument)
{
    while (!atomic_load_explicit(&line.stop, memory_order_relaxed))
        if (line_is_empty())
            sched_yield();
        else
            parcel_end();
    return NULL;
}

/* Ends transfers until only so many are under way. */
static void line_end_until(uint32_t left)
{
    while (atomic_load(&line.done_count) + left < atomic_load(&line.sent_count))
        parcel_end();
}

/* Asserts that the transfers from number `from` on had exactly these offsets. */
static void line_assert_offsets(uint32_t from, const uint64_t *offsets, uint32_t count)
{
    assert_int_equal(atomic_load(&line.sent_count) - from, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(line.sent[from + i].offset, offsets[i]);
}

static struct courier *stage_open(enum sst_design design, bool polled)
{
    struct schema schema;
    struct courier *courier;
    memset(&line, 0, sizeof line);
    memset(&share, 0, sizeof share);
    memset(own_row, 0, sizeof own_row);
    memset(seat_row, 0, sizeof seat_row);
    memset(bell_page, 0, sizeof bell_page);
    line.polled = polled;
    test_schema(&schema);
    assert_true(schema.row_size <= ROW_BYTES);
    assert_int_equal(table_init(&table, &schema, 2), 0);
    share.table = &table;
    share.design = design;
    share.own.row = own_row;
    doorbell_open_on(&share.bell.door, bell_page);
    ringer_open_on(&share.bell.self, bell_page);
    seat = (struct seat){.row = seat_row};
    assert_int_equal(courier_open(&share, &seat, &courier), 0);
    return courier;
}

static void stage_close(struct courier *courier)
{
    courier_close(courier);
    ringer_close(&share.bell.self);
    doorbell_close(&share.bell.door);
    table_fini(&table);
}

static uint32_t cell_of(uint32_t column)
{
    return table.schema.columns[column].cell;
}

static uint64_t far_word(uint32_t offset)
{
    uint64_t word;
    memcpy(&word, line.far + offset, sizeof word);
    return word;
}

static void put(struct courier *courier, uint64_t number)
{
    row_set(own_row, cell_of(STEP), number, 2 * number);
    courier_set(courier, cell_of(STEP), number, 2 * number);
}

/* Puts until there is no room for another; returns how many were sent. */
static uint64_t put_until_owed(struct courier *courier)
{
    uint64_t number = 0;
    for (uint32_t before = UINT32_MAX; before != atomic_load(&line.sent_count);) {
        before = atomic_load(&line.sent_count);
        put(courier, ++number);
    }
    return number - 1;
}

/* ---- sending ---- */

static void a_number_is_sent_before_its_sequence(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    put(courier, 7);
    line_assert_offsets(0, (uint64_t[]){cell_of(STEP), ROW_SEQUENCE}, 2);
    put(courier, 8); /* does not change the bytes of the first put */
    parcel_end();
    assert_int_equal(far_word(cell_of(STEP)), 7);
    assert_int_equal(far_word(ROW_SEQUENCE), 0);
    line_end_all();
    assert_int_equal(far_word(cell_of(STEP)), 8);
    assert_int_equal(far_word(ROW_SEQUENCE), 16);
    stage_close(courier);
}

static void a_change_begins_with_odd_sequences_and_ends_with_the_guard(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    const struct schema_column *wide = &table.schema.columns[WIDE];
    const struct span span = {wide->watch, wide->cell, (wide->size + 7) & ~7u};
    const struct change change = {&span, 1, cell_of(GUARD), 2};
    row_store(own_row, wide->watch, 2);
    row_store(own_row, cell_of(GUARD), 5);
    courier_change(courier, &change);
    line_assert_offsets(0,
                        (uint64_t[]){ROW_SEQUENCE, wide->watch, wide->cell, wide->watch,
                                     cell_of(GUARD), ROW_SEQUENCE},
                        6);
    parcel_end();
    parcel_end();
    assert_int_equal(far_word(ROW_SEQUENCE), 1);
    assert_int_equal(far_word(wide->watch), 1);
    line_end_all();
    assert_int_equal(far_word(ROW_SEQUENCE), 2);
    assert_int_equal(far_word(wide->watch), 2);
    assert_int_equal(far_word(cell_of(GUARD)), 5);
    stage_close(courier);
}

static void without_room_the_whole_row_is_sent_later(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    uint64_t sent = put_until_owed(courier);
    assert_int_equal(atomic_load(&line.sent_count), 2 * sent);
    assert_false(courier_is_due(courier)); /* transfers are under way */
    assert_int_equal(courier_move(courier), 0);
    assert_false(courier_is_done(courier, UINT64_MAX)); /* sends the confirming write */
    uint32_t count = atomic_load(&line.sent_count);
    assert_int_equal(count, 2 * sent + 1);
    parcel_end();
    parcel_end();
    put(courier, 900); /* there is room again, but the owed row goes first */
    assert_int_equal(atomic_load(&line.sent_count), count);
    line_end_all();
    assert_int_equal(far_word(cell_of(STEP)), sent);
    assert_true(courier_is_due(courier));
    assert_int_equal(courier_move(courier), 1);
    assert_false(courier_is_due(courier));
    put(courier, 901); /* the whole row is under way, so this put is owed again */
    line_end_all();
    assert_int_equal(far_word(cell_of(STEP)), 900);
    assert_int_equal(far_word(ROW_SEQUENCE), 1800);
    assert_int_equal(courier_move(courier), 1);
    line_end_all();
    assert_int_equal(far_word(cell_of(STEP)), 901);
    stage_close(courier);
}

/* A write is light if the member's processor takes part in it. The confirming write is never light,
 * and no write is light if the member's processor does not take part. */
static void only_writes_to_a_polling_member_are_light(void **state)
{
    for (unsigned polled = 0; polled < 2; polled++) {
        struct courier *courier = stage_open(SST_WRITES, polled);
        put(courier, 1);
        line_end_all();
        assert_false(courier_is_done(courier, UINT64_MAX)); /* sends the confirming write */
        assert_int_equal(atomic_load(&line.sent_count), 3);
        assert_int_equal(line.sent[0].light, polled);
        assert_int_equal(line.sent[1].light, polled);
        assert_false(line.sent[2].light);
        assert_false(courier_is_done(courier, UINT64_MAX));
        line_end_all();
        assert_true(courier_is_done(courier, UINT64_MAX));
        stage_close(courier);
    }
}

/* As it happens while two members meet: each write of the one makes the other put something. */
static void a_row_has_arrived_although_puts_go_on(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    courier_send_all(courier);
    unsigned tries = 0;
    while (!courier_has_begun(courier)) {
        assert_true(tries++ < 10);
        line_end_all();
        put(courier, tries);
        assert_false(courier_is_done(courier, UINT64_MAX));
    }
    line_end_all();
    stage_close(courier);
}

/* A put of another thread is always under way. */
static void what_was_put_has_arrived_although_puts_go_on(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    put(courier, 1);
    for (unsigned number = 2; !courier_is_done(courier, 2); number++) {
        assert_true(number < 10);
        put(courier, number);
        line_end_until(2);
        assert_false(courier_is_done(courier, UINT64_MAX));
    }
    assert_true(far_word(cell_of(STEP)) >= 1);
    line_end_all();
    stage_close(courier);
}

/* Here the row is always owed again when a whole row has arrived. */
static void an_owed_row_has_arrived_although_puts_go_on(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    uint64_t last = put_until_owed(courier) + 1, number = last;
    while (!courier_is_done(courier, 2 * last)) {
        assert_true(number < last + 10);
        assert_true(far_word(cell_of(STEP)) <= last);
        line_end_all();
        courier_move(courier);
        put(courier, ++number);
        assert_false(courier_is_done(courier, UINT64_MAX));
    }
    assert_true(far_word(cell_of(STEP)) >= last);
    line_end_all();
    stage_close(courier);
}

/* Otherwise the member would take the row for one that it does not have yet. */
static void the_confirming_write_is_not_ahead_of_the_row(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    uint64_t sent = put_until_owed(courier);
    assert_false(courier_is_done(courier, 2 * sent));
    line_end_all();
    assert_int_equal(far_word(ROW_SEQUENCE), 2 * sent);
    assert_int_equal(far_word(cell_of(STEP)), sent);
    assert_true(courier_is_done(courier, 2 * sent));
    assert_false(courier_is_done(courier, 2 * sent + 2));
    stage_close(courier);
}

static void a_member_that_is_gone_receives_nothing_more(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    put(courier, 1);
    assert_false(courier_is_done(courier, UINT64_MAX));
    line.status = -EPIPE;
    line_end_all();
    assert_true(courier_is_done(courier, UINT64_MAX)); /* there is nothing to wait for */
    put(courier, 2);
    courier_change(courier, &(struct change){.sequence = 4});
    assert_int_equal(atomic_load(&line.sent_count), 3); /* with the confirming write */
    stage_close(courier);
}

/* Transfers that complete immediately, and transfers that are refused. */
static void transfers_may_complete_immediately(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    line.result = 1;
    for (unsigned i = 1; i < 1000; i++)
        put(courier, i);
    assert_false(courier_is_due(courier)); /* nothing was ever owed */
    courier_is_done(courier, UINT64_MAX);  /* the confirming write completes immediately */
    assert_true(courier_is_done(courier, UINT64_MAX));
    line.result = -EPIPE;
    put(courier, 1000);
    line.result = 0;
    put(courier, 1001);
    assert_int_equal(atomic_load(&line.sent_count), 0);
    assert_true(courier_is_done(courier, UINT64_MAX));
    stage_close(courier);
}

/* ---- fetching ---- */

static void a_row_that_changes_during_a_fetch_is_not_taken(void **state)
{
    struct courier *courier = stage_open(SST_READS, true);
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned phase = 0; phase < 3; phase++) {
            courier_move(courier);
            assert_int_equal(courier_move(courier),
                             0); /* a read is under way: no other is started */
            parcel_end();
            assert_true(line_is_empty());
            if (turn == 0 && phase == 1)
                row_set(line.far, cell_of(STEP), 9, 2);
        }
        assert_false(courier_is_done(courier, UINT64_MAX));
        assert_int_equal(courier_move(courier), turn);
    }
    assert_int_equal(line.taken, 1);
    assert_int_equal(atomic_load(&table.retries), 1);
    assert_true(courier_is_done(courier, UINT64_MAX));
    assert_int_equal(row_load(seat_row, cell_of(STEP)), 9);
    stage_close(courier);
}

/* ---- wake-ups ---- */

/* Sleeps on the bell like a detector. */
static void sleep_on_bell(void *argument)
{
    doorbell_prepare(&share.bell.door, DOORBELL_FUTEX);
    doorbell_wait(&share.bell.door, NSEC_NEVER);
}

/* The last transfer under way ends. */
static void the_end_of_the_last_transfer_wakes_the_detector_if_a_row_is_owed(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    put_until_owed(courier);
    sleeper_start(&sleeper, sleep_on_bell, NULL);
    line_end_until(1);
    assert_true(doorbell_is_slept_on(&share.bell.door)); /* nothing to do yet */
    parcel_end();
    sleeper_assert_woken(&sleeper);
    stage_close(courier);
}

static void a_transfer_that_ends_without_further_work_wakes_no_thread(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    put(courier, 1);
    sleeper_start(&sleeper, sleep_on_bell, NULL);
    line_end_all();
    assert_true(doorbell_is_slept_on(&share.bell.door));
    bell_ring(&share.bell);
    sleeper_assert_woken(&sleeper);
    stage_close(courier);
}

/* If the member does not see what is placed, our detector may have to wake the member's
 * detector. */
static void a_write_placed_by_hardware_wakes_us_and_the_member(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, false);
    put(courier, 1);
    sleeper_start(&sleeper, sleep_on_bell, NULL);
    parcel_end();
    sleeper_assert_woken(&sleeper);
    assert_false(courier_is_due(courier)); /* the member does not sleep */
    courier_move(courier);
    assert_int_equal(line.notified, 0);
    row_store(seat_row, ROW_ASLEEP, 1);
    assert_false(courier_is_due(courier)); /* the member fell asleep after it could see the write */
    line_end_all();
    assert_true(courier_is_due(courier));
    line.notify_result = -EAGAIN;
    courier_move(courier);
    assert_true(courier_is_due(courier)); /* the notification failed */
    line.notify_result = 0;
    courier_move(courier);
    assert_int_equal(line.notified, 2);
    assert_int_equal(atomic_load(&share.wakes), 1);
    assert_false(courier_is_due(courier));
    courier_move(courier);
    assert_int_equal(line.notified, 2);
    stage_close(courier);
}

/* Otherwise two members would wake each other for ever. */
static void falling_asleep_wakes_no_member(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, false);
    row_store(seat_row, ROW_ASLEEP, 1);
    sleeper_start(&sleeper, sleep_on_bell, NULL);
    courier_set(courier, ROW_ASLEEP, 1, 2);
    line_end_all();
    assert_false(courier_is_due(courier));
    assert_false(courier_is_done(courier, UINT64_MAX));
    line_end_all();
    assert_true(courier_is_done(courier, UINT64_MAX));
    assert_true(doorbell_is_slept_on(&share.bell.door));
    courier_move(courier);
    assert_int_equal(line.notified, 0);
    bell_ring(&share.bell);
    sleeper_assert_woken(&sleeper);
    stage_close(courier);
}

/* ---- what the atomic words order: transfers end in another thread ---- */

static pthread_t line_thread;

static struct courier *threads_open(enum sst_design design, bool polled)
{
    struct courier *courier = stage_open(design, polled);
    assert_int_equal(pthread_create(&line_thread, NULL, line_run, NULL), 0);
    return courier;
}

static void threads_join(void)
{
    atomic_store_explicit(&line.stop, true, memory_order_relaxed);
    pthread_join(line_thread, NULL);
}

static void threads_close(struct courier *courier)
{
    threads_join();
    stage_close(courier);
}

/* Waits until all transfers have ended. These loads order nothing: the courier's own words must. */
static void await_ends(void)
{
    while (atomic_load_explicit(&line.done_count, memory_order_relaxed) !=
           atomic_load_explicit(&line.sent_count, memory_order_relaxed))
        sched_yield();
}

static void flights_are_reused_after_their_end(void **state)
{
    struct courier *courier = threads_open(SST_WRITES, true);
    for (unsigned i = 1; i < 10; i++) {
        put(courier, i);
        await_ends();
    }
    threads_join();
    assert_int_equal(far_word(cell_of(STEP)), 9);
    stage_close(courier);
}

static void a_whole_row_may_change_after_it_was_sent(void **state)
{
    struct courier *courier = threads_open(SST_WRITES, true);
    for (unsigned i = 1; i < 10; i++) {
        row_set(own_row, cell_of(STEP), i, 2 * i);
        courier_send_all(courier);
        await_ends();
    }
    threads_join();
    assert_int_equal(far_word(cell_of(STEP)), 9);
    stage_close(courier);
}

static void the_confirming_write_is_reused(void **state)
{
    struct courier *courier = threads_open(SST_WRITES, true);
    for (unsigned i = 1; i < 10; i++) {
        put(courier, i);
        await_ends();
        assert_false(courier_is_done(courier, UINT64_MAX));
        await_ends();
        assert_true(courier_is_done(courier, UINT64_MAX));
    }
    threads_close(courier);
}

static void a_fetched_row_is_visible(void **state)
{
    struct courier *courier = stage_open(SST_READS, true);
    row_set(line.far, cell_of(STEP), 9, 2);
    assert_int_equal(pthread_create(&line_thread, NULL, line_run, NULL), 0);
    while (!courier_move(courier))
        await_ends();
    assert_int_equal(row_load(seat_row, cell_of(STEP)), 9);
    threads_close(courier);
}

/* The member sets `asleep` before our write is placed: we see that, or the member sees the
 * write. */
static void a_sleeping_member_is_seen_after_the_write(void **state)
{
    for (unsigned tell = 0; tell < 2; tell++) {
        struct courier *courier = stage_open(SST_WRITES, false);
        line.falls_asleep = true;
        assert_int_equal(pthread_create(&line_thread, NULL, line_run, NULL), 0);
        courier_set(courier, cell_of(STEP), 1, 2);
        await_ends();
        if (tell)
            courier_move(courier);
        else
            assert_true(courier_is_due(courier));
        assert_int_equal(line.notified, tell);
        threads_close(courier);
    }
}

/* Many puts while the line is busy: none is lost, and the last value remains. */
static void the_last_put_arrives(void **state)
{
    struct courier *courier = threads_open(SST_WRITES, true);
    const uint64_t number = LINE_MAX / 20; /* a whole row takes fewer than 20 writes */
    for (uint64_t i = 1; i <= number; i++) {
        put(courier, i);
        courier_move(courier);
    }
    while (!courier_is_done(courier, UINT64_MAX)) {
        courier_move(courier);
        sched_yield();
    }
    threads_join();
    assert_int_equal(far_word(cell_of(STEP)), number);
    assert_int_equal(far_word(ROW_SEQUENCE), 2 * number);
    stage_close(courier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_number_is_sent_before_its_sequence),
        TEST(a_change_begins_with_odd_sequences_and_ends_with_the_guard),
        TEST(without_room_the_whole_row_is_sent_later),
        TEST(only_writes_to_a_polling_member_are_light),
        TEST(a_row_has_arrived_although_puts_go_on),
        TEST(what_was_put_has_arrived_although_puts_go_on),
        TEST(an_owed_row_has_arrived_although_puts_go_on),
        TEST(the_confirming_write_is_not_ahead_of_the_row),
        TEST(a_member_that_is_gone_receives_nothing_more),
        TEST(transfers_may_complete_immediately),
        TEST(a_row_that_changes_during_a_fetch_is_not_taken),
        TEST(the_end_of_the_last_transfer_wakes_the_detector_if_a_row_is_owed),
        TEST(a_transfer_that_ends_without_further_work_wakes_no_thread),
        TEST(a_write_placed_by_hardware_wakes_us_and_the_member),
        TEST(falling_asleep_wakes_no_member),
        TEST(flights_are_reused_after_their_end),
        TEST(a_whole_row_may_change_after_it_was_sent),
        TEST(the_confirming_write_is_reused),
        TEST(a_fetched_row_is_visible),
        TEST(a_sleeping_member_is_seen_after_the_write),
        TEST(the_last_put_arrives),
    };
    atomic_store(&doorbell_nap, NSEC_NEVER);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
