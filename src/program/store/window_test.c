#include "program/store/window.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

#define LATER 1000

static struct weft_store_request request_make(uint32_t op)
{
    return (struct weft_store_request){.op = op, .key = "key", .key_size = 3};
}

static struct pending *add(struct window *window, const struct weft_store_request *request)
{
    struct pending *pending;
    assert_int_equal(window_check(request), 0);
    assert_int_equal(window_add(window, request, LATER, 0, &pending), 0);
    return pending;
}

/* As line.c does when the message has left. */
static void send(struct pending *pending, uint64_t post)
{
    pending->post = post;
    pending->answer_by = LATER / 2;
    pending->sent++;
}

static void answer(struct window *window, struct pending *pending,
                   const struct store_answer *answer)
{
    uint8_t bytes[200];
    size_t size = store_answer_write(answer, bytes, sizeof bytes);
    assert_true(size);
    window_answered(window, pending, bytes, size, 7);
}

static void say(struct window *window, struct pending *pending, enum store_status status)
{
    answer(window, pending, &(struct store_answer){.status = status, .version = 99});
}

/* What the server reads. */
static struct store_request written(const struct pending *pending)
{
    static uint8_t bytes[STORE_MESSAGE_MAX];
    struct store_request request;
    size_t size = window_write(pending, 55, bytes, sizeof bytes);
    assert_int_equal(bytes[0], STORE_CALL_REQUEST);
    assert_true(store_request_read(&request, bytes + 1, size - 1));
    assert_true(request.patience == 55);
    return request;
}

static void requests_without_sense_are_refused(void **state)
{
    struct weft_store_request request = request_make(WEFT_STORE_PUT);
    static char large[WEFT_STORE_VALUE_MAX + 1];
    assert_int_equal(window_check(NULL), -EINVAL);
    assert_int_equal(window_check(&request), 0); /* an empty value */
    request.op = 0;
    assert_int_equal(window_check(&request), -EINVAL);
    request.op = WEFT_STORE_TOUCH + 1;
    assert_int_equal(window_check(&request), -EINVAL);
    request.op = WEFT_STORE_TOUCH;
    assert_int_equal(window_check(&request), 0);
    request.ttl = WEFT_STORE_TTL_MAX;
    assert_int_equal(window_check(&request), 0);
    request.ttl++;
    assert_int_equal(window_check(&request), -EINVAL);
    request.ttl = -1;
    assert_int_equal(window_check(&request), -EINVAL);
    request.ttl = 1;
    for (uint32_t op = WEFT_STORE_GET; op < WEFT_STORE_TOUCH; op++) {
        request.op = op;
        assert_int_equal(window_check(&request), op == WEFT_STORE_PUT ? 0 : -EINVAL);
    }
    request = request_make(WEFT_STORE_GET);
    request.condition = WEFT_STORE_IF_PRESENT;
    assert_int_equal(window_check(&request), -EINVAL);
    request = request_make(WEFT_STORE_PUT);
    request.condition = WEFT_STORE_IF_VERSION + 1;
    assert_int_equal(window_check(&request), -EINVAL);
    request.condition = WEFT_STORE_IF_VERSION;
    assert_int_equal(window_check(&request), -EINVAL); /* without a version */
    request.version = 5;
    assert_int_equal(window_check(&request), 0);
    request.condition = WEFT_STORE_IF_ABSENT;
    assert_int_equal(window_check(&request), -EINVAL); /* with one */
    request = request_make(WEFT_STORE_DELETE);
    request.value = "v";
    request.value_size = 1;
    assert_int_equal(window_check(&request), -EINVAL);
    request = request_make(WEFT_STORE_PUT);
    request.zero = 1;
    assert_int_equal(window_check(&request), -EINVAL);
    request = request_make(WEFT_STORE_PUT);
    request.value_size = 1;
    assert_int_equal(window_check(&request), -EINVAL); /* nowhere */
    request.value = large;
    request.value_size = WEFT_STORE_VALUE_MAX;
    assert_int_equal(window_check(&request), 0);
    request.value_size++;
    assert_int_equal(window_check(&request), -EFBIG);
    request = (struct weft_store_request){.op = WEFT_STORE_GET, .key = large};
    assert_int_equal(window_check(&request), 0); /* an empty key */
    request.key_size = WEFT_STORE_KEY_MAX + 1;
    assert_int_equal(window_check(&request), -EFBIG);
    request.key_size--;
    assert_int_equal(window_check(&request), 0);
    request.key = NULL;
    assert_int_equal(window_check(&request), -EINVAL);
}

static void a_request_is_sent_as_it_was_given(void **state)
{
    struct window window;
    window_init(&window, 1234);
    char key[] = "colour", value[] = "blue";
    const struct weft_store_request request = {.op = WEFT_STORE_PUT,
                                               .condition = WEFT_STORE_IF_VERSION,
                                               .key = key,
                                               .key_size = 6,
                                               .value = value,
                                               .value_size = 4,
                                               .version = 77,
                                               .flags = 5,
                                               .ttl = 123456};
    struct pending *pending = add(&window, &request);
    memset(key, 'x', sizeof key - 1); /* both were copied */
    memset(value, 'x', sizeof value - 1);
    struct store_request read = written(pending);
    assert_int_equal(read.op, STORE_PUT);
    assert_int_equal(read.condition, STORE_IF_VERSION);
    assert_true(read.client == 1234 && read.number == 1 && read.version == 77 && read.flags == 5);
    assert_true(read.ttl == 123456);
    assert_false(read.again);
    assert_int_equal(read.key_size, 6);
    assert_memory_equal(read.key, "colour", 6);
    assert_int_equal(read.value_size, 4);
    assert_memory_equal(read.value, "blue", 4);
    send(pending, 2);
    assert_true(written(pending).again);
    window_fini(&window);
}

/* A number is given when the one that is lower by the window has ended, and not before. */
static void the_oldest_request_holds_the_window(void **state)
{
    struct window window;
    struct weft_store_request request = request_make(WEFT_STORE_GET);
    struct pending *all[STORE_WINDOW], *more;
    window_init(&window, 1);
    for (unsigned i = 0; i < STORE_WINDOW; i++) {
        all[i] = add(&window, &request);
        assert_int_equal(all[i]->request.number, i + 1);
        send(all[i], 2 * i + 2);
    }
    assert_int_equal(window_add(&window, &request, LATER, 0, &more), -EAGAIN);
    say(&window, all[5], STORE_ABSENT);
    assert_int_equal(window_add(&window, &request, LATER, 0, &more), -EAGAIN);
    assert_ptr_equal(window_find(&window, 2 * 6 + 2), all[6]);
    assert_null(window_find(&window, 2 * 5 + 2));
    say(&window, all[0], STORE_ABSENT);
    assert_int_equal(window_add(&window, &request, LATER, 0, &more), 0);
    assert_int_equal(more->request.number, STORE_WINDOW + 1);
    assert_int_equal(window_add(&window, &request, LATER, 0, &more), -EAGAIN);
    window_fini(&window);
}

static void what_a_server_says_is_what_the_program_is_told(void **state)
{
    static const struct {
        enum store_status status;
        uint32_t condition;
        int result;
    } cases[] = {
        {STORE_DONE, 0, 0},
        {STORE_ABSENT, 0, -ENOENT},
        {STORE_CONFLICT, WEFT_STORE_IF_ABSENT, -EEXIST},
        {STORE_CONFLICT, WEFT_STORE_IF_PRESENT, -ENOENT},
        {STORE_CONFLICT, WEFT_STORE_IF_VERSION, -ESTALE},
        {STORE_UNAVAILABLE, 0, -EHOSTUNREACH},
        {STORE_BUSY, 0, -EBUSY},
        {STORE_FULL, 0, -ENOSPC},
        {STORE_TOO_LARGE, 0, -EFBIG},
        {STORE_NOT_NUMBER, 0, -ERANGE},
        {STORE_MALFORMED, 0, -EINVAL},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct window window;
        struct weft_store_request request = request_make(WEFT_STORE_PUT);
        request.condition = cases[i].condition;
        request.version = request.condition == WEFT_STORE_IF_VERSION;
        window_init(&window, 1);
        struct pending *pending = add(&window, &request);
        send(pending, 2);
        say(&window, pending, cases[i].status);
        assert_true(pending->ended);
        assert_int_equal(pending->answer.result, cases[i].result);
        assert_true(pending->answer.version == 99 && pending->answer.ticket == 1);
        assert_int_equal(window.open_count, 0);
        window_fini(&window);
    }
}

static void a_value_and_a_number_are_kept(void **state)
{
    struct window window;
    struct weft_store_request request = request_make(WEFT_STORE_GET);
    window_init(&window, 1);
    struct pending *pending = add(&window, &request);
    answer(&window, pending,
           &(struct store_answer){.flags = 3, .version = 8, .value = "blue", .value_size = 4});
    assert_int_equal(pending->answer.result, 4);
    assert_true(pending->answer.flags == 3 && pending->answer.value_size == 4);
    assert_memory_equal(pending->value, "blue", 4);
    request = request_make(WEFT_STORE_INCR);
    static const struct {
        const char *text;
        int result;
        uint64_t number;
    } numbers[] = {{"18446744073709551615", 0, UINT64_MAX},
                   {"0", 0, 0},
                   {"", -EPROTO, 0},
                   {"12x", -EPROTO, 12},
                   {"000000000000000000000000001", -EPROTO, 0}};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint32_t size = (uint32_t)strlen(numbers[i].text);
        pending = add(&window, &request);
        answer(&window, pending,
               &(struct store_answer){.value = numbers[i].text, .value_size = size});
        assert_int_equal(pending->answer.result, numbers[i].result);
        assert_true(pending->answer.number == numbers[i].number);
    }
    pending = add(&window, &request);
    window_answered(&window, pending, "nonsense", 8, 7);
    assert_int_equal(pending->answer.result, -EPROTO);
    window_fini(&window);
}

/* A server that does not know, or refuses a copy while another one may have been done, has not
 * decided anything. */
static void what_is_in_doubt_is_asked_again(void **state)
{
    static const enum store_status refusals[] = {STORE_UNAVAILABLE, STORE_BUSY, STORE_FULL};
    struct window window;
    struct weft_store_request request = request_make(WEFT_STORE_PUT);
    window_init(&window, 1);
    struct pending *pending = add(&window, &request);
    send(pending, 2);
    say(&window, pending, STORE_UNKNOWN);
    assert_false(pending->ended);
    assert_true(pending->post == 0 && pending->send_at == 7);
    for (unsigned i = 0; i < 3; i++) {
        send(pending, 4 + i);
        say(&window, pending, refusals[i]);
        assert_false(pending->ended);
        assert_true(pending->post == 0 && pending->send_at > 7);
    }
    send(pending, 10);
    say(&window, pending, STORE_DONE);
    assert_true(pending->ended && pending->answer.result == 0);

    request = request_make(WEFT_STORE_GET); /* changes nothing, so there is no doubt */
    pending = add(&window, &request);
    send(pending, 12);
    window_lost(pending, 3);
    assert_true(pending->post == 0 && pending->send_at == 3);
    send(pending, 14);
    say(&window, pending, STORE_BUSY);
    assert_int_equal(pending->answer.result, -EBUSY);
    window_fini(&window);
}

static void a_deadline_ends_a_request(void **state)
{
    struct window window;
    struct weft_store_request request = request_make(WEFT_STORE_DELETE);
    window_init(&window, 1);
    assert_true(window_next(&window) == INT64_MAX);
    struct pending *sent = add(&window, &request), *unsent = add(&window, &request);
    assert_true(window_next(&window) == 0);
    send(sent, 2);
    unsent->send_at = 800;
    assert_true(window_next(&window) == LATER / 2);
    sent->answer_by = 900;
    assert_true(window_next(&window) == 800);
    unsent->send_at = sent->answer_by = 2 * LATER;
    assert_true(window_next(&window) == LATER);
    window_expire(&window, LATER - 1);
    assert_int_equal(window.open_count, 2);
    window_expire(&window, LATER);
    assert_int_equal(sent->answer.result, -ETIMEDOUT);
    assert_int_equal(unsent->answer.result, -ENOTCONN);
    assert_null(window_find(&window, 2));
    window_take(sent);
    window_take(unsent);
    assert_true(list_is_empty(&window.ended));
    window_fini(&window);
}

static void numbers_end_and_begin_again_with_another_name(void **state)
{
    struct window window;
    struct weft_store_request request = request_make(WEFT_STORE_GET);
    window_init(&window, 1);
    window.number = 0x7ffffffe;
    assert_true(window_has_numbers(&window));
    struct pending *pending = add(&window, &request);
    assert_false(window_has_numbers(&window));
    say(&window, pending, STORE_ABSENT);
    window_renew(&window, 2);
    assert_true(window_has_numbers(&window));
    pending = add(&window, &request);
    assert_true(pending->request.client == 2 && pending->request.number == 1);
    assert_true(pending->answer.ticket == 2); /* these go on */
    window_fini(&window);
}

/* ---- scans ---- */

static void scans_without_sense_are_refused(void **state)
{
    char large[WEFT_STORE_KEY_MAX + 1] = {0};
    struct weft_store_request request = request_make(WEFT_STORE_SCAN);
    assert_int_equal(window_check(&request), 0);
    request.delta = WEFT_STORE_PAGE_KEYS;
    assert_int_equal(window_check(&request), 0);
    request.delta++;
    assert_int_equal(window_check(&request), -EINVAL);
    request = request_make(WEFT_STORE_SCAN);
    request.value = "v";
    request.value_size = 1;
    assert_int_equal(window_check(&request), -EINVAL); /* no flag says what it is */
    request.flags = WEFT_STORE_AFTER | WEFT_STORE_HERE;
    assert_int_equal(window_check(&request), 0);
    request.flags = 4;
    assert_int_equal(window_check(&request), -EINVAL);
    request = request_make(WEFT_STORE_SCAN);
    request.condition = WEFT_STORE_IF_PRESENT;
    assert_int_equal(window_check(&request), -EINVAL);
    request = request_make(WEFT_STORE_SCAN);
    request.key = large;
    request.key_size = sizeof large;
    assert_int_equal(window_check(&request), -EFBIG);
    request = request_make(WEFT_STORE_SCAN);
    request.flags = WEFT_STORE_AFTER;
    request.value = large;
    request.value_size = sizeof large;
    assert_int_equal(window_check(&request), -EFBIG);
}

static void a_scan_is_sent_as_it_was_given(void **state)
{
    static uint8_t bytes[STORE_MESSAGE_MAX];
    struct weft_store_request request = request_make(WEFT_STORE_SCAN);
    struct scan_request scan;
    struct window window;
    window_init(&window, 5);
    request.flags = WEFT_STORE_AFTER | WEFT_STORE_HERE;
    request.value = "last";
    request.value_size = 4;
    request.delta = 20;
    const struct pending *pending = add(&window, &request);
    size_t size = window_write(pending, 55, bytes, sizeof bytes);
    assert_int_equal(bytes[0], STORE_CALL_SCAN);
    assert_true(scan_request_read(&scan, bytes + 1, size - 1));
    assert_true(scan.here && scan.is_after && scan.most == 20 && scan.patience == 55);
    assert_true(scan.prefix.size == 3 && memcmp(scan.prefix.bytes, "key", 3) == 0);
    assert_true(scan.after.size == 4 && memcmp(scan.after.bytes, "last", 4) == 0);
    request = request_make(WEFT_STORE_SCAN);
    pending = add(&window, &request);
    size = window_write(pending, 55, bytes, sizeof bytes);
    assert_true(scan_request_read(&scan, bytes + 1, size - 1));
    assert_true(!scan.here && !scan.is_after && scan.most == WEFT_STORE_PAGE_KEYS);
    window_fini(&window);
}

static void a_scan_that_is_refused_is_sent_until_its_deadline(void **state)
{
    const struct weft_store_request request = request_make(WEFT_STORE_SCAN);
    static const struct {
        enum store_status status;
        int result;
    } rows[] = {{STORE_UNAVAILABLE, -EHOSTUNREACH}, {STORE_BUSY, -EBUSY}};
    struct window window;
    window_init(&window, 5);
    for (unsigned i = 0; i < 2; i++) {
        struct pending *pending = add(&window, &request);
        send(pending, 1);
        say(&window, pending, rows[i].status);
        assert_true(!pending->ended && pending->post == 0 && pending->send_at > 7);
        send(pending, 2);
        window_expire(&window, LATER);
        assert_int_equal(pending->answer.result, rows[i].result);
        window_take(pending);
    }
    window_fini(&window);
}

static void what_is_no_page_is_not_told(void **state)
{
    const struct weft_store_request request = request_make(WEFT_STORE_SCAN);
    const struct scan_item item = {.key = {(const uint8_t *)"key1", 4}, .version = 3};
    uint8_t page[SCAN_MAKER_ROOM];
    struct scan_maker maker;
    struct window window;
    window_init(&window, 5);
    scan_maker_init(&maker, page, sizeof page);
    assert_true(scan_maker_add(&maker, &item) != 0);
    uint32_t size = (uint32_t)scan_maker_end(&maker, NULL);
    for (unsigned i = 0; i < 2; i++) {
        struct pending *pending = add(&window, &request);
        send(pending, 1);
        answer(&window, pending,
               &(struct store_answer){.status = STORE_DONE, .value = page, .value_size = size - i});
        assert_true(pending->ended);
        assert_int_equal(pending->answer.result, i ? -EPROTO : (int)size);
        if (i == 0)
            assert_memory_equal(pending->value, page, size);
        window_take(pending);
    }
    window_fini(&window);
}

TEST_MAIN(TEST(requests_without_sense_are_refused), TEST(a_request_is_sent_as_it_was_given),
          TEST(the_oldest_request_holds_the_window),
          TEST(what_a_server_says_is_what_the_program_is_told), TEST(a_value_and_a_number_are_kept),
          TEST(what_is_in_doubt_is_asked_again), TEST(a_deadline_ends_a_request),
          TEST(numbers_end_and_begin_again_with_another_name),
          TEST(scans_without_sense_are_refused), TEST(a_scan_is_sent_as_it_was_given),
          TEST(a_scan_that_is_refused_is_sent_until_its_deadline),
          TEST(what_is_no_page_is_not_told))
