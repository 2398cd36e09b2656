/* Tests networks that are minimal or not connected, and guests. Whole storms are in
 * tests/sim_seeds.c. */
#include "sim/chaos/chaos.h"

#include <errno.h>
#include <string.h>
#include <weft/disk.h>

#include "base/test.h"
#include "node/test_plan.h"
#include "sim/chaos/chaos_load.h"
#include "topology/format/format.h"

#define SEEDS 20

static enum err run(const struct test_plan *test, uint64_t seed, struct chaos_result *result,
                    struct why *why)
{
    struct chaos_settings settings = {.plan = &test->plan, .seed = seed, .kinds = FAULT_ALL};
    return chaos_run(&settings, result, why);
}

/* There is no port to saturate, and only the server can fail. */
static void a_lone_server_survives(void **state)
{
    struct test_plan test;
    struct chaos_result result;
    test_plan_open(&test, "torus:1");
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(run(&test, seed, &result, NULL), OK);
        assert_null(result.checker);
        assert_true(result.faults > 0 && result.delivered > 0);
        assert_int_equal(result.lost, 0);
    }
    test_plan_close(&test);
}

static void two_servers_survive(void **state)
{
    struct test_plan test;
    struct chaos_result result;
    test_plan_open(&test, "torus:2");
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(run(&test, seed, &result, NULL), OK);
        assert_null(result.checker);
    }
    test_plan_close(&test);
}

static void a_network_that_is_not_connected_is_refused(void **state)
{
    static const char *const graphs[] = {"graph { 0 -- 1; 1 -- 2; 2 -- 0; 3 }",
                                         "graph { 0 -- 1; 2 -- 3 }", "graph { 0; 1 }"};
    for (unsigned i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        struct test_plan test;
        struct chaos_result result;
        struct why why = {""};
        assert_int_equal(
            format_read(&test.topology, FORMAT_DOT, "pieces", graphs[i], strlen(graphs[i]), &why),
            OK);
        assert_int_equal(plan_init(&test.plan, &test.topology, &why), OK);
        assert_int_equal(run(&test, 1, &result, &why), ERR_USAGE);
        assert_non_null(strstr(why.text, "not all servers are connected"));
        test_plan_close(&test);
    }
}

/* ---- guests ---- */

#define BEAT      300 /* a service that sends a packet to the next server, again and again */
#define BEATS_MAX 40  /* above which the checker fails */

struct beat {
    int64_t interval; /* 0: it is silent */
};

static void beat_timer(struct weft_self *self, uint64_t cookie)
{
    const struct beat *beat = weft_memory(self);
    if (!beat->interval)
        return;
    weft_server next = (weft_here(self) + 1) % weft_server_count(self);
    struct weft_packet *packet = weft_packet(self, 8);
    if (packet) /* if the server is down, the packet is dropped and counted, which is fine */
        (void)weft_send_server(self, packet, next);
    (void)weft_timer(self, weft_now(self) + beat->interval, 0);
}

static void beat_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                         const void *bytes, uint32_t size)
{
    struct beat *beat = weft_memory(self);
    const struct chaos_load_order *order = bytes;
    bool was_silent = !beat->interval;
    assert_int_equal(size, sizeof *order);
    beat->interval = order->interval_nsec;
    if (was_silent && beat->interval)
        (void)weft_timer(self, weft_now(self) + beat->interval, 0);
}

static void beat_deliver(struct weft_self *self, struct weft_packet *packet)
{
    weft_done(packet);
}

static const struct weft_service_ops beat_ops = {
    .request = beat_request, .timer = beat_timer, .deliver = beat_deliver};
static const struct weft_service beat_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "beat",
    .id = BEAT,
    .size = sizeof(struct beat),
    .ops = &beat_ops,
};

struct beats {
    unsigned heard;
};

static unsigned beats_open_count; /* of checkers: each opened one must be closed */

static enum err beats_open(struct checker *checker, struct why *why)
{
    beats_open_count++;
    return OK;
}

static void beats_close(struct checker *checker)
{
    beats_open_count--;
}

static void beats_delivered(struct checker *checker, node_id at, const struct packet *packet)
{
    struct beats *beats = checker->memory;
    if (packet->service == BEAT && ++beats->heard > BEATS_MAX)
        checker_fail(checker, "server %u receives beat %u", at, beats->heard);
}

static const struct checker_ops beats_checker = {
    .name = "beats",
    .size = sizeof(struct beats),
    .open = beats_open,
    .close = beats_close,
    .delivered = beats_delivered,
};

static const struct weft_service *const beat_services[] = {&beat_service, NULL};
static const struct checker_ops *const beat_checkers[] = {&beats_checker, NULL};

static void a_guest_checker_finds_the_same_error_in_a_replay(void **state)
{
    struct test_plan test;
    struct chaos_result first, again;
    const struct chaos_guests guests = {.services = beat_services, .checkers = beat_checkers};
    test_plan_open(&test, "torus:3x3");
    struct chaos_settings settings = {.plan = &test.plan, .seed = 3, .kinds = FAULT_ALL};
    assert_int_equal(chaos_run_with(&settings, &guests, &first, NULL), OK);
    assert_string_equal(first.checker, "beats");
    assert_non_null(strstr(first.text, "receives beat 41"));
    assert_int_equal(beats_open_count, 0);

    struct text command = {0}, wanted = {0};
    settings.plants = PLANTED_BIT(LEAK); /* must be in the command, too */
    chaos_replay_write("torus:3x3", &settings, &first, &command);
    settings.plants = 0;
    text_puts(&wanted, "weft sim chaos torus:3x3 --seed 3 --seeds 1 --faults ");
    fault_kinds_write(first.kinds, &wanted);
    text_puts(&wanted, " --plant leak");
    assert_string_equal(command.data, wanted.data);
    text_fini(&command);
    text_fini(&wanted);
    settings.kinds = first.kinds; /* as the command says */
    assert_int_equal(chaos_run_with(&settings, &guests, &again, NULL), OK);
    assert_string_equal(again.text, first.text);
    assert_true(again.failed_at == first.failed_at && again.hash == first.hash);
    test_plan_close(&test);
}

static void a_guest_service_survives(void **state)
{
    struct test_plan test;
    struct chaos_result result;
    const struct chaos_guests guests = {.services = beat_services};
    test_plan_open(&test, "torus:3x3");
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct chaos_settings settings = {.plan = &test.plan, .seed = seed, .kinds = FAULT_ALL};
        assert_int_equal(chaos_run_with(&settings, &guests, &result, NULL), OK);
        if (result.checker)
            fail_msg("seed %d: %s: %s", (int)seed, result.checker, result.text);
    }
    test_plan_close(&test);
}

/* Without the service there is nothing to find: all hooks are called, and the run does not
 * change. */
static void a_guest_checker_does_not_change_the_run(void **state)
{
    struct test_plan test;
    struct chaos_result alone, checked_at;
    const struct chaos_guests guests = {.checkers = beat_checkers};
    test_plan_open(&test, "torus:3x3");
    struct chaos_settings settings = {.plan = &test.plan, .seed = 3, .kinds = FAULT_ALL};
    assert_int_equal(run(&test, 3, &alone, NULL), OK);
    assert_int_equal(chaos_run_with(&settings, &guests, &checked_at, NULL), OK);
    assert_null(checked_at.checker);
    assert_true(alone.hash == checked_at.hash);
    test_plan_close(&test);
}

/* ---- a guest that uses the disk: it appends its count, and syncs ---- */

#define KEEPER 301

struct keeper {
    struct weft_call opening, appending, syncing;
    struct weft_file *file;
    uint64_t count;
    uint8_t record[1000];
    int64_t interval;
    bool ready;
};

/* What survives: of each server the records that were synced; and what was seen of the faults. */
static uint64_t keeper_synced[9];
static unsigned keeper_lost, keeper_failed, keeper_full;

static void keeper_opened(struct weft_self *self, struct weft_call *call)
{
    struct keeper *keeper = weft_memory(self);
    assert_true(call->result >= 0);
    keeper->count = (uint64_t)call->result / sizeof keeper->record;
    assert_true(keeper->count >= keeper_synced[weft_here(self)]);
    keeper->ready = true;
}

static void keeper_appended(struct weft_self *self, struct weft_call *call)
{
    struct keeper *keeper = weft_memory(self);
    assert_true(call->result >= 0 || call->result == -ENOSPC);
    keeper_full += call->result < 0;
    keeper->count += call->result >= 0;
}

static void keeper_did_sync(struct weft_self *self, struct weft_call *call)
{
    struct keeper *keeper = weft_memory(self);
    keeper->ready = call->result == 0;
    keeper_failed += call->result < 0;
    if (keeper->ready)
        keeper_synced[weft_here(self)] = keeper->count;
}

static int keeper_start(struct weft_self *self)
{
    struct keeper *keeper = weft_memory(self);
    keeper->opening.done = keeper_opened;
    keeper->appending.done = keeper_appended;
    keeper->syncing.done = keeper_did_sync;
    return weft_disk_open(self, &keeper->opening, "counts", WEFT_OPEN_CREATE, &keeper->file);
}

static void keeper_timer(struct weft_self *self, uint64_t cookie)
{
    struct keeper *keeper = weft_memory(self);
    if (!keeper->interval)
        return;
    (void)weft_timer(self, weft_now(self) + keeper->interval, 0);
    if (!keeper->ready)
        return;
    keeper->ready = false; /* until the sync is done */
    assert_int_equal(weft_disk_append(self, keeper->file, &keeper->appending, keeper->record,
                                      sizeof keeper->record),
                     0);
    assert_int_equal(weft_disk_sync(self, keeper->file, &keeper->syncing), 0);
}

static void keeper_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                           const void *bytes, uint32_t size)
{
    struct keeper *keeper = weft_memory(self);
    const struct chaos_load_order *order = bytes;
    bool was_silent = !keeper->interval;
    keeper->interval = order->interval_nsec;
    if (was_silent && keeper->interval)
        (void)weft_timer(self, weft_now(self) + keeper->interval, 0);
}

static void keeper_stop(struct weft_self *self)
{
    struct keeper *keeper = weft_memory(self);
    keeper_lost += keeper->count > keeper_synced[weft_here(self)];
}

static const struct weft_service_ops keeper_ops = {
    .start = keeper_start, .stop = keeper_stop, .request = keeper_request, .timer = keeper_timer};
static const struct weft_service keeper_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "keeper",
    .id = KEEPER,
    .size = sizeof(struct keeper),
    .ops = &keeper_ops,
    .files = 1,
};

static void a_guest_that_uses_the_disk_meets_its_faults(void **state)
{
    struct test_plan test;
    struct chaos_result result, again;
    const struct weft_service *const services[] = {&keeper_service, NULL};
    const struct chaos_guests guests = {.services = services};
    const uint32_t kinds = FAULT_ALL & ~(1u << FAULT_EMPTY); /* the synced data must survive */
    test_plan_open(&test, "torus:3x3");
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct chaos_settings settings = {.plan = &test.plan, .seed = seed, .kinds = kinds};
        memset(keeper_synced, 0, sizeof keeper_synced);
        assert_int_equal(chaos_run_with(&settings, &guests, &result, NULL), OK);
        if (result.checker)
            fail_msg("seed %d: %s: %s", (int)seed, result.checker, result.text);
        if (seed > 3)
            continue;
        memset(keeper_synced, 0, sizeof keeper_synced);
        assert_int_equal(chaos_run_with(&settings, &guests, &again, NULL), OK);
        assert_true(again.hash == result.hash);
    }
    print_message("# %u crashes with unsynced data, %u failed syncs, %u appends to a full disk\n",
                  keeper_lost, keeper_failed, keeper_full);
    assert_true(keeper_lost > 0 && keeper_failed > 0 && keeper_full > 0);
    test_plan_close(&test);
}

/* ---- a guest whose disk is replaced or rots: it writes a file once, and reads it at each start */

#define READER 302

struct reader {
    struct weft_call call;
    struct weft_file *file;
    uint8_t bytes[4096];
};

static unsigned reader_found, reader_empty, reader_rotten;

static void reader_wrote(struct weft_self *self, struct weft_call *call)
{
}

static void reader_synced(struct weft_self *self, struct weft_call *call)
{
    struct reader *reader = weft_memory(self);
    call->done = reader_wrote;
    (void)weft_disk_sync(self, reader->file, call);
}

static void reader_read(struct weft_self *self, struct weft_call *call)
{
    struct reader *reader = weft_memory(self);
    bool same = true;
    for (unsigned i = 0; i < sizeof reader->bytes; i++)
        same &= reader->bytes[i] == 0x5a;
    reader_found += call->result == sizeof reader->bytes;
    reader_rotten += call->result == sizeof reader->bytes && !same;
}

static void reader_opened(struct weft_self *self, struct weft_call *call)
{
    struct reader *reader = weft_memory(self);
    if (call->result == sizeof reader->bytes) {
        call->done = reader_read;
        (void)weft_disk_read(self, reader->file, call, reader->bytes, sizeof reader->bytes, 0);
        return;
    }
    reader_empty++;
    memset(reader->bytes, 0x5a, sizeof reader->bytes);
    call->done = reader_synced;
    (void)weft_disk_write(self, reader->file, call, reader->bytes, sizeof reader->bytes, 0);
}

static int reader_start(struct weft_self *self)
{
    struct reader *reader = weft_memory(self);
    reader->call.done = reader_opened;
    return weft_disk_open(self, &reader->call, "once", WEFT_OPEN_CREATE, &reader->file);
}

static const struct weft_service_ops reader_ops = {.start = reader_start};
static const struct weft_service reader_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "reader",
    .id = READER,
    .size = sizeof(struct reader),
    .ops = &reader_ops,
    .files = 1,
};

static void disks_are_replaced_and_rot(void **state)
{
    struct test_plan test;
    struct chaos_result result;
    const struct weft_service *const services[] = {&reader_service, NULL};
    const struct chaos_guests guests = {.services = services, .apart = true};
    uint32_t empty = 0, rotten = 0;
    test_plan_open(&test, "torus:3x3");
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct chaos_settings settings = {.plan = &test.plan, .seed = seed, .kinds = FAULT_ALL};
        settings.kinds &= ~(1u << FAULT_DISK_LOST | 1u << FAULT_DISK_TORN | 1u << FAULT_DISK_FULL);
        reader_found = reader_empty = reader_rotten = 0;
        assert_int_equal(chaos_run_with(&settings, &guests, &result, NULL), OK);
        if (result.checker)
            fail_msg("seed %d: %s: %s", (int)seed, result.checker, result.text);
        empty += result.kinds >> FAULT_EMPTY & 1 && reader_empty > test.plan.server_count;
        rotten += reader_rotten > 0;
        assert_true(!reader_rotten || result.kinds >> FAULT_DISK_ROT & 1);
    }
    print_message("# %u seeds with an empty disk, %u with a rotten one\n", empty, rotten);
    assert_true(empty > 3 && rotten > 0);
    test_plan_close(&test);
}

static void too_many_guests_are_refused(void **state)
{
    struct test_plan test;
    struct chaos_result result;
    struct why why = {""};
    const struct weft_service *services[CHAOS_GUESTS_MAX + 2] = {NULL};
    const struct checker_ops *checkers[CHECKER_MAX + 1] = {NULL};
    for (unsigned i = 0; i <= CHAOS_GUESTS_MAX; i++)
        services[i] = &beat_service;
    for (unsigned i = 0; i < CHECKER_MAX; i++)
        checkers[i] = &beats_checker;
    test_plan_open(&test, "torus:3x3");
    struct chaos_settings settings = {.plan = &test.plan, .seed = 1};
    assert_int_equal(
        chaos_run_with(&settings, &(struct chaos_guests){.services = services}, &result, &why),
        ERR_USAGE);
    assert_non_null(strstr(why.text, "services"));
    assert_int_equal(
        chaos_run_with(&settings, &(struct chaos_guests){.checkers = checkers}, &result, &why),
        ERR_USAGE);
    assert_non_null(strstr(why.text, "checkers"));
    assert_int_equal(beats_open_count, 0);
    test_plan_close(&test);
}

TEST_MAIN(TEST(a_lone_server_survives), TEST(two_servers_survive),
          TEST(a_network_that_is_not_connected_is_refused),
          TEST(a_guest_checker_finds_the_same_error_in_a_replay), TEST(a_guest_service_survives),
          TEST(a_guest_checker_does_not_change_the_run),
          TEST(a_guest_that_uses_the_disk_meets_its_faults), TEST(disks_are_replaced_and_rot),
          TEST(too_many_guests_are_refused))
