/* A courier alone, over a line that is ours: what it sends in which order, when it wakes whom, and
 * (with ThreadSanitizer) what each of its atomic words carries. The functions of ripc and of the
 * seat that it calls are stood in for here. */
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
    _Atomic uint32_t sent_count; /* released by whoever sends, which is one thread at a time */
    _Atomic uint32_t done_count; /* relaxed: those that have ended; it carries nothing */
    _Atomic bool stop;           /* relaxed: the line's thread ends */
    bool polled;                 /* the member's processor sees what is written */
    int result;                  /* of the next transfers */
    int status;                  /* with which they end */
    bool falls_asleep;           /* the member says that it sleeps, before a transfer ends */
    unsigned notified;
    int notify_result;
    unsigned taken;                              /* rows */
    alignas(SCHEMA_LINE) uint8_t far[ROW_BYTES]; /* the member's memory */
} line;

static struct share share;
static struct table table;
static struct seat seat;
static struct sleeper sleeper;
static alignas(SCHEMA_LINE) uint8_t own_row[ROW_BYTES], seat_row[ROW_BYTES];
static alignas(64) uint8_t bell_page[DOORBELL_PLACED_SIZE];

/* ---- what stands in ---- */

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

/* The next one arrives, as hardware writes: by plain stores. */
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

/* What was sent from the number `from` on went to these offsets, and nowhere else. */
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

/* Puts until there is no room for one more; returns how many went out. */
static uint64_t put_until_owed(struct courier *courier)
{
    uint64_t number = 0;
    for (uint32_t before = UINT32_MAX; before != atomic_load(&line.sent_count);) {
        before = atomic_load(&line.sent_count);
        put(courier, ++number);
    }
    return number - 1;
}

/* ---- what is sent ---- */

static void a_number_goes_out_before_its_sequence(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    put(courier, 7);
    line_assert_offsets(0, (uint64_t[]){cell_of(STEP), ROW_SEQUENCE}, 2);
    put(courier, 8); /* what was sent first is not changed by it */
    parcel_end();
    assert_int_equal(far_word(cell_of(STEP)), 7);
    assert_int_equal(far_word(ROW_SEQUENCE), 0);
    line_end_all();
    assert_int_equal(far_word(cell_of(STEP)), 8);
    assert_int_equal(far_word(ROW_SEQUENCE), 16);
    stage_close(courier);
}

static void a_change_is_marked_before_and_guarded_after(void **state)
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

static void what_has_no_room_is_sent_later_as_a_whole(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    uint64_t sent = put_until_owed(courier);
    uint32_t count = atomic_load(&line.sent_count);
    assert_int_equal(count, 2 * sent);
    assert_false(courier_is_due(courier)); /* something is under way */
    assert_int_equal(courier_move(courier), 0);
    assert_false(courier_is_done(courier));
    parcel_end();
    parcel_end();
    put(courier, 900); /* there would be room, but not before what is owed */
    assert_int_equal(atomic_load(&line.sent_count), count);
    line_end_all();
    assert_int_equal(far_word(cell_of(STEP)), sent);
    assert_true(courier_is_due(courier));
    assert_int_equal(courier_move(courier), 1);
    assert_false(courier_is_due(courier));
    put(courier, 901); /* the whole row is under way: this is owed again */
    line_end_all();
    assert_int_equal(far_word(cell_of(STEP)), 900);
    assert_int_equal(far_word(ROW_SEQUENCE), 1800);
    assert_int_equal(courier_move(courier), 1);
    line_end_all();
    assert_int_equal(far_word(cell_of(STEP)), 901);
    stage_close(courier);
}

/* A word is light where the member's processor looks for it; what tells that all has arrived never
 * is, and none is where nobody sees a word arrive. */
static void only_what_somebody_looks_for_is_light(void **state)
{
    for (unsigned polled = 0; polled < 2; polled++) {
        struct courier *courier = stage_open(SST_WRITES, polled);
        put(courier, 1);
        line_end_all();
        assert_false(courier_is_done(courier)); /* it asks whether all has arrived */
        assert_int_equal(atomic_load(&line.sent_count), 3);
        assert_int_equal(line.sent[0].light, polled);
        assert_int_equal(line.sent[1].light, polled);
        assert_false(line.sent[2].light);
        assert_false(courier_is_done(courier));
        line_end_all();
        assert_true(courier_is_done(courier));
        stage_close(courier);
    }
}

static void a_member_that_is_gone_gets_nothing_more(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    put(courier, 1);
    assert_false(courier_is_done(courier));
    line.status = -EPIPE;
    line_end_all();
    assert_true(courier_is_done(courier)); /* nobody waits for it */
    put(courier, 2);
    courier_change(courier, &(struct change){.sequence = 4});
    assert_int_equal(atomic_load(&line.sent_count), 2);
    stage_close(courier);
}

/* Transfers that are over when they were started, and such as were refused. */
static void what_is_done_at_once_needs_no_end(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    line.result = 1;
    for (unsigned i = 1; i < 1000; i++)
        put(courier, i);
    assert_false(courier_is_due(courier)); /* nothing was ever owed */
    courier_is_done(courier);              /* asks, and is answered at once */
    assert_true(courier_is_done(courier));
    line.result = -EPIPE;
    put(courier, 1000);
    line.result = 0;
    put(courier, 1001);
    assert_int_equal(atomic_load(&line.sent_count), 0);
    assert_true(courier_is_done(courier));
    stage_close(courier);
}

/* ---- what is fetched ---- */

static void a_row_that_changed_meanwhile_is_not_taken(void **state)
{
    struct courier *courier = stage_open(SST_READS, true);
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned phase = 0; phase < 3; phase++) {
            courier_move(courier);
            assert_int_equal(courier_move(courier), 0); /* it is under way: nothing more is asked */
            parcel_end();
            assert_true(line_is_empty());
            if (turn == 0 && phase == 1)
                row_set(line.far, cell_of(STEP), 9, 2);
        }
        assert_false(courier_is_done(courier));
        assert_int_equal(courier_move(courier), turn);
    }
    assert_int_equal(line.taken, 1);
    assert_int_equal(atomic_load(&table.retries), 1);
    assert_true(courier_is_done(courier));
    assert_int_equal(row_load(seat_row, cell_of(STEP)), 9);
    stage_close(courier);
}

/* ---- wake-ups ---- */

/* As a detector sleeps on the bell. */
static void sleep_on_bell(void *argument)
{
    doorbell_prepare(&share.bell.door, DOORBELL_FUTEX);
    doorbell_wait(&share.bell.door, NSEC_NEVER);
}

/* The last end of those that stood in the way. */
static void the_end_of_what_is_under_way_wakes_who_owes(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, true);
    put_until_owed(courier);
    sleeper_start(&sleeper, sleep_on_bell, NULL);
    while (atomic_load(&line.done_count) + 1 < atomic_load(&line.sent_count))
        parcel_end();
    assert_true(doorbell_is_slept_on(&share.bell.door)); /* there is nothing to do yet */
    parcel_end();
    sleeper_assert_woken(&sleeper);
    stage_close(courier);
}

static void ends_that_leave_nothing_to_do_wake_nobody(void **state)
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

/* Where the member does not see what is placed, its detector may have to be told: by ours. */
static void what_was_placed_unseen_wakes_us_and_the_member(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, false);
    put(courier, 1);
    sleeper_start(&sleeper, sleep_on_bell, NULL);
    parcel_end();
    sleeper_assert_woken(&sleeper);
    assert_false(courier_is_due(courier)); /* it does not sleep */
    courier_move(courier);
    assert_int_equal(line.notified, 0);
    row_store(seat_row, ROW_ASLEEP, 1);
    assert_false(courier_is_due(courier)); /* it slept after it could see that */
    line_end_all();
    assert_true(courier_is_due(courier));
    line.notify_result = -EAGAIN;
    courier_move(courier);
    assert_true(courier_is_due(courier)); /* it was not told */
    line.notify_result = 0;
    courier_move(courier);
    assert_int_equal(line.notified, 2);
    assert_int_equal(atomic_load(&share.wakes), 1);
    assert_false(courier_is_due(courier));
    courier_move(courier);
    assert_int_equal(line.notified, 2);
    stage_close(courier);
}

/* Or two would wake each other for ever. */
static void falling_asleep_is_no_news(void **state)
{
    struct courier *courier = stage_open(SST_WRITES, false);
    row_store(seat_row, ROW_ASLEEP, 1);
    sleeper_start(&sleeper, sleep_on_bell, NULL);
    courier_set(courier, ROW_ASLEEP, 1, 2);
    line_end_all();
    assert_false(courier_is_due(courier));
    assert_false(courier_is_done(courier));
    line_end_all();
    assert_true(courier_is_done(courier));
    assert_true(doorbell_is_slept_on(&share.bell.door));
    courier_move(courier);
    assert_int_equal(line.notified, 0);
    bell_ring(&share.bell);
    sleeper_assert_woken(&sleeper);
    stage_close(courier);
}

/* ---- what the words carry: the ends come in another thread ---- */

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

/* Until all that was sent has ended. What we see by it carries nothing: the courier's own words
 * must. */
static void await_ends(void)
{
    while (atomic_load_explicit(&line.done_count, memory_order_relaxed) !=
           atomic_load_explicit(&line.sent_count, memory_order_relaxed))
        sched_yield();
}

static void flights_are_used_again_after_they_ended(void **state)
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

static void a_whole_row_is_changed_after_it_left(void **state)
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

static void the_question_whether_all_arrived_is_used_again(void **state)
{
    struct courier *courier = threads_open(SST_WRITES, true);
    for (unsigned i = 1; i < 10; i++) {
        put(courier, i);
        await_ends();
        assert_false(courier_is_done(courier));
        await_ends();
        assert_true(courier_is_done(courier));
    }
    threads_close(courier);
}

static void what_was_fetched_is_there(void **state)
{
    struct courier *courier = stage_open(SST_READS, true);
    row_set(line.far, cell_of(STEP), 9, 2);
    assert_int_equal(pthread_create(&line_thread, NULL, line_run, NULL), 0);
    while (!courier_move(courier))
        await_ends();
    assert_int_equal(row_load(seat_row, cell_of(STEP)), 9);
    threads_close(courier);
}

/* The member said that it sleeps before our write was there: we see it, or it sees the write. */
static void whether_a_member_sleeps_is_seen_after_the_write(void **state)
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

/* Many puts, while the line is at work: none is lost, and the last is what stands there. */
static void the_last_put_arrives(void **state)
{
    struct courier *courier = threads_open(SST_WRITES, true);
    const uint64_t number = LINE_MAX / 20; /* a whole row takes fewer writes than that */
    for (uint64_t i = 1; i <= number; i++) {
        put(courier, i);
        courier_move(courier);
    }
    while (!courier_is_done(courier)) {
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
        TEST(a_number_goes_out_before_its_sequence),
        TEST(a_change_is_marked_before_and_guarded_after),
        TEST(what_has_no_room_is_sent_later_as_a_whole),
        TEST(only_what_somebody_looks_for_is_light),
        TEST(a_member_that_is_gone_gets_nothing_more),
        TEST(what_is_done_at_once_needs_no_end),
        TEST(a_row_that_changed_meanwhile_is_not_taken),
        TEST(the_end_of_what_is_under_way_wakes_who_owes),
        TEST(ends_that_leave_nothing_to_do_wake_nobody),
        TEST(what_was_placed_unseen_wakes_us_and_the_member),
        TEST(falling_asleep_is_no_news),
        TEST(flights_are_used_again_after_they_ended),
        TEST(a_whole_row_is_changed_after_it_left),
        TEST(the_question_whether_all_arrived_is_used_again),
        TEST(what_was_fetched_is_there),
        TEST(whether_a_member_sleeps_is_seen_after_the_write),
        TEST(the_last_put_arrives),
    };
    atomic_store(&doorbell_nap, NSEC_NEVER);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
