#include "ripc/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "ripc/trace/trace_impl.h"

#define CONTEXT 0xabc123

/* A folder with one trace and one reader of it. */
struct fixture {
    char folder[DOMAIN_PATH_MAX];
    char path[DOMAIN_PATH_MAX + TRACE_NAME_SIZE];
    struct trace *trace;
    struct trace_reader *reader;
    uint64_t lost;
};

static void fixture_make(struct fixture *fixture)
{
    char name[TRACE_NAME_SIZE];
    *fixture = (struct fixture){.folder = "/tmp/weft-trace-XXXXXX"};
    assert_non_null(mkdtemp(fixture->folder));
    trace_file_name(name, CONTEXT);
    snprintf(fixture->path, sizeof fixture->path, "%s/%s", fixture->folder, name);
    assert_int_equal(trace_open(&fixture->trace, fixture->folder, CONTEXT), 0);
    assert_int_equal(trace_reader_open(&fixture->reader, fixture->folder, CONTEXT), 0);
}

static void fixture_clear(struct fixture *fixture)
{
    trace_reader_close(fixture->reader);
    trace_close(fixture->trace);
    assert_int_equal(access(fixture->path, F_OK), -1);
    assert_int_equal(rmdir(fixture->folder), 0);
}

/* Writes bytes into the file, as any process of this user could. */
static void file_put(const struct fixture *fixture, size_t offset, const void *data, size_t size)
{
    int fd = open(fixture->path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, size, (off_t)offset), size);
    close(fd);
}

static void put_until(const struct fixture *fixture, int64_t until)
{
    file_put(fixture, offsetof(struct trace_file, until), &until, sizeof until);
}

static int64_t get_until(const struct fixture *fixture)
{
    int64_t until;
    int fd = open(fixture->path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &until, sizeof until, (off_t)offsetof(struct trace_file, until)),
                     sizeof until);
    close(fd);
    return until;
}

/* A reader extends the time limit in the file only when the old limit is near, not on each call. On
 * a busy machine a single call may come so late that the limit is near, so the test makes many
 * calls. */
static void a_reader_does_not_extend_the_time_limit_on_each_call(void **state)
{
    struct fixture fixture;
    struct trace_record record;
    fixture_make(&fixture);
    nsec deadline = clock_after(20 * NSEC_PER_SEC);
    int64_t before;
    do {
        before = get_until(&fixture);
        assert_int_equal(trace_reader_take(fixture.reader, &record, 1, &fixture.lost), 0);
        assert_true(clock_now() < deadline);
    } while (get_until(&fixture) != before);
    fixture_clear(&fixture);
}

static void records_come_in_order_while_a_reader_watches(void **state)
{
    struct fixture fixture;
    struct trace_record records[4];
    fixture_make(&fixture);
    assert_true(trace_on(fixture.trace));
    assert_int_equal(trace_reader_take(fixture.reader, records, 4, &fixture.lost), 0);
    trace_event(fixture.trace, TRACE_SEND, 1, 2, 64);
    trace_event(fixture.trace, TRACE_CLOSE, 3, 4, -EPIPE);
    trace_event(fixture.trace, TRACE_BLOCK, 5, 0, 0);
    assert_int_equal(trace_reader_take(fixture.reader, records, 2, &fixture.lost), 2);
    assert_int_equal(trace_reader_take(fixture.reader, records + 2, 2, &fixture.lost), 1);
    assert_int_equal(records[0].event, TRACE_SEND);
    assert_int_equal(records[0].service, 1);
    assert_int_equal(records[0].peer, 2);
    assert_int_equal(records[0].value, 64);
    assert_int_equal(records[1].value, -EPIPE);
    assert_true(records[0].at <= records[1].at && records[1].at <= records[2].at);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(records[i].sequence, i);
    assert_int_equal(fixture.lost, 0);
    fixture_clear(&fixture);
    assert_false(trace_on(NULL));
    assert_string_equal(trace_event_name(TRACE_CLOSE), "close");
    assert_string_equal(trace_event_name(TRACE_EVENT_COUNT), "?");
    assert_string_equal(trace_event_name(UINT32_MAX), "?");
}

static void a_trace_without_a_reader_switches_off(void **state)
{
    static const int64_t nonsense[] = {1, -1, INT64_MIN, INT64_MAX};
    struct fixture fixture;
    struct trace_record record;
    fixture_make(&fixture);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        put_until(&fixture, nonsense[i]);
        assert_true(trace_on(fixture.trace));
        trace_event(fixture.trace, TRACE_SEND, 1, 2, 3);
        assert_false(trace_on(fixture.trace));
    }
    assert_int_equal(trace_reader_take(fixture.reader, &record, 1, &fixture.lost), 0);
    put_until(&fixture, clock_now() + TRACE_WATCH_NSEC);
    trace_event(fixture.trace, TRACE_SEND, 1, 2, 3);
    assert_int_equal(trace_reader_take(fixture.reader, &record, 1, &fixture.lost), 1);
    fixture_clear(&fixture);
}

static void overwritten_records_are_counted_as_lost(void **state)
{
    enum { EXTRA = 100 };
    struct fixture fixture;
    static struct trace_record records[TRACE_SLOTS + 1];
    fixture_make(&fixture);
    for (int64_t i = 0; i < TRACE_SLOTS + EXTRA; i++)
        trace_event(fixture.trace, TRACE_SEND, 1, 2, i);
    assert_int_equal(trace_reader_take(fixture.reader, records, TRACE_SLOTS + 1, &fixture.lost),
                     TRACE_SLOTS);
    assert_int_equal(fixture.lost, EXTRA);
    for (int64_t i = 0; i < TRACE_SLOTS; i++)
        assert_int_equal(records[i].value, EXTRA + i);
    fixture_clear(&fixture);
}

static void a_torn_record_is_skipped(void **state)
{
    struct fixture fixture;
    struct trace_record records[3];
    const uint64_t begun = 0;
    fixture_make(&fixture);
    for (int64_t i = 0; i < 3; i++)
        trace_event(fixture.trace, TRACE_SEND, 1, 2, i);
    file_put(&fixture,
             offsetof(struct trace_file, slots[1]) + offsetof(struct trace_slot, sequence), &begun,
             sizeof begun);
    assert_int_equal(trace_reader_take(fixture.reader, records, 3, &fixture.lost), 2);
    assert_int_equal(records[1].value, 2);
    assert_int_equal(fixture.lost, 1);
    fixture_clear(&fixture);
}

static void a_malformed_file_is_an_error(void **state)
{
    struct fixture fixture;
    struct trace_record record;
    struct trace_reader *other;
    fixture_make(&fixture);
    trace_event(fixture.trace, TRACE_SEND, 1, 2, 3);
    assert_int_equal(trace_reader_take(fixture.reader, &record, 1, &fixture.lost), 1);
    const uint64_t back = 0, far = UINT64_MAX;
    file_put(&fixture, offsetof(struct trace_file, count), &back, sizeof back);
    assert_int_equal(trace_reader_take(fixture.reader, &record, 1, &fixture.lost), -EPROTO);
    file_put(&fixture, offsetof(struct trace_file, count), &far, sizeof far);
    assert_int_equal(trace_reader_take(fixture.reader, &record, 1, &fixture.lost), 0);
    assert_true(fixture.lost >= UINT64_MAX - TRACE_SLOTS - 1);

    static const size_t fields[] = {
        offsetof(struct trace_file, magic), offsetof(struct trace_file, context),
        offsetof(struct trace_file, slot_count), offsetof(struct trace_file, slot_size)};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char old, bad;
        int fd = open(fixture.path, O_RDONLY);
        assert_int_equal(pread(fd, &old, 1, (off_t)fields[i]), 1);
        close(fd);
        bad = (char)(old + 1);
        file_put(&fixture, fields[i], &bad, 1);
        assert_int_equal(trace_reader_open(&other, fixture.folder, CONTEXT), -EPROTO);
        file_put(&fixture, fields[i], &old, 1);
    }
    assert_int_equal(trace_reader_open(&other, fixture.folder, CONTEXT), 0);
    trace_reader_close(other);
    assert_int_equal(trace_reader_open(&other, fixture.folder, CONTEXT + 1), -ENOENT);
    assert_int_equal(trace_open(&fixture.trace, fixture.folder, CONTEXT), -EBUSY);

    assert_int_equal(truncate(fixture.path, sizeof(struct trace_file) + 1), 0);
    assert_int_equal(trace_reader_open(&other, fixture.folder, CONTEXT), -EPROTO);

    /* The file is shortened while the reader has it open. The writer has no defence against a
     * process of its own user that does this: it would fault. So the test writes no event from here
     * on. */
    assert_int_equal(truncate(fixture.path, 100), 0);
    assert_int_equal(trace_reader_take(fixture.reader, &record, 1, &fixture.lost), -EPROTO);
    assert_int_equal(trace_reader_open(&other, fixture.folder, CONTEXT), -EPROTO);
    fixture_clear(&fixture);
}

static void a_trace_ends_with_its_context(void **state)
{
    struct fixture fixture;
    struct trace_record records[2];
    fixture_make(&fixture);
    trace_event(fixture.trace, TRACE_UNBIND, 1, 0, 0);
    trace_close(fixture.trace);
    fixture.trace = NULL;
    assert_int_equal(trace_reader_take(fixture.reader, records, 2, &fixture.lost), 1);
    assert_int_equal(trace_reader_take(fixture.reader, records, 2, &fixture.lost), -EPIPE);
    fixture_clear(&fixture);
}

/* Every field of a record follows from one number. */
static void number_write(struct trace *trace, uint64_t number)
{
    trace_event(trace, (enum trace_event)(number % TRACE_EVENT_COUNT), number, ~number,
                (int64_t)(number * 3));
}

static bool record_is_whole(const struct trace_record *record)
{
    return record->peer == ~record->service && record->value == (int64_t)(record->service * 3) &&
           record->event == record->service % TRACE_EVENT_COUNT;
}

/* Reads until record `last` or a later one. Returns 0 if all records were consistent and in order,
 * and all others were counted as lost. */
static int reader_run(const char *folder, uint64_t last, int ready)
{
    struct trace_reader *reader;
    struct trace_record records[256];
    uint64_t seen = 0, lost = 0, newest = 0;
    if (trace_reader_open(&reader, folder, CONTEXT) || write(ready, "", 1) != 1)
        return 1;
    while (newest < last) {
        int count = trace_reader_take(reader, records, 256, &lost);
        if (count < 0)
            return 2;
        for (int i = 0; i < count; i++) {
            if (!record_is_whole(&records[i]))
                return 3;
            if (records[i].service <= newest)
                return 4;
            newest = records[i].service;
        }
        seen += (uint64_t)count;
        /* Each record up to the last was seen or counted as lost; more lost ones may follow it. */
        if (count && seen + lost < (uint64_t)records[count - 1].sequence + 1)
            return 5;
    }
    trace_reader_close(reader);
    return 0;
}

/* The writing process continues until the reader is done. It also reads the trace itself, so that
 * the trace stays on even if the reader gets no processor for seconds. */
static void a_reader_of_a_fast_writer_sees_consistent_records(void **state)
{
    enum { RECORDS = 300000, RECORDS_MAX = 1000 * RECORDS };
    struct fixture fixture;
    struct trace_record record;
    int ready[2], status;
    char byte;
    fixture_make(&fixture);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(reader_run(fixture.folder, RECORDS, ready[1]));
    assert_true(child > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    pid_t ended = 0;
    for (uint64_t number = 1; number < RECORDS_MAX && !ended; number++) {
        number_write(fixture.trace, number);
        if (number % 1000 == 0) {
            assert_true(trace_reader_take(fixture.reader, &record, 1, &fixture.lost) >= 0);
            ended = waitpid(child, &status, WNOHANG);
        }
    }
    assert_int_equal(ended, child);
    assert_int_equal(status, 0);
    close(ready[0]);
    close(ready[1]);
    fixture_clear(&fixture);
}

static void a_failed_open_leaves_no_file(void **state)
{
    struct fixture fixture;
    struct trace *trace;
    struct trace_reader *reader;
    char folder[DOMAIN_PATH_MAX + 1];
    memset(folder, 'f', DOMAIN_PATH_MAX);
    folder[DOMAIN_PATH_MAX] = '\0';
    assert_int_equal(trace_open(&trace, folder, CONTEXT), -ENAMETOOLONG);
    assert_int_equal(trace_reader_open(&reader, folder, CONTEXT), -ENAMETOOLONG);
    trace_reader_close(NULL);

    /* No file may grow or be written to. */
    fixture_make(&fixture);
    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    int opened = trace_open(&trace, fixture.folder, CONTEXT + 1);
    int read = trace_reader_open(&reader, fixture.folder, CONTEXT);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(opened, -EFBIG);
    assert_int_equal(read, -EFBIG);
    fixture_clear(&fixture); /* the folder is empty */
}

TEST_MAIN(TEST(a_failed_open_leaves_no_file),
          TEST(a_reader_does_not_extend_the_time_limit_on_each_call),
          TEST(records_come_in_order_while_a_reader_watches),
          TEST(a_trace_without_a_reader_switches_off),
          TEST(overwritten_records_are_counted_as_lost), TEST(a_torn_record_is_skipped),
          TEST(a_malformed_file_is_an_error), TEST(a_trace_ends_with_its_context),
          TEST(a_reader_of_a_fast_writer_sees_consistent_records))
