/* A program of the store has no room for an answer, of any kind: it gets the answer when it reads
 * again. */
#include <string.h>

#include "base/test.h"
#include "store_scene.h"
#include "wire/care.h"
#include "wire/scan.h"

static const char *const words[] = {"store.segment=256K", "store.group_count=8", NULL};

static uint64_t scan(uint32_t most)
{
    uint8_t bytes[64] = {STORE_CALL_SCAN};
    const struct scan_request request = {.most = most, .patience = 1000 * SCENE_NSEC};
    size_t size = scan_request_write(&request, bytes + 1, sizeof bytes - 1);
    assert_true(size > 0);
    return scene_send(0, bytes, 1 + size);
}

static uint64_t inquire(void)
{
    uint8_t bytes[1 + CARE_ANSWER_MAX] = {STORE_CALL_CARE};
    const struct care_request request = {
        .kind = CARE_STATUS, .patience = 300 * SCENE_NSEC, .server = CARE_NONE};
    return scene_send(0, bytes, 1 + care_request_write(&request, bytes + 1));
}

/* It was sent while programs do not read. */
static void assert_waits(uint64_t ticket, unsigned count)
{
    scene_run(1000);
    assert_int_equal(scene.answers[ticket].count, 0);
    assert_true(scene.full.client);
    scene_unblock();
    scene_run(200);
    assert_int_equal(scene.answers[ticket].count, count);
    scene_run(1000);
    assert_int_equal(scene.answers[ticket].count, count);
}

static void begin(void)
{
    scene_open(1, words, 8, 3);
    scene.blocked = true;
}

static void an_answer_waits(void **state)
{
    begin();
    uint64_t ticket = scene_ask(
        0, &(struct store_request){.op = STORE_GET, .client = 1, .number = 1, .key = "key"});
    assert_waits(ticket, 1);
    assert_int_equal(scene_answer(ticket).status, STORE_ABSENT);
    scene_close();
}

static void a_page_waits(void **state)
{
    begin();
    uint64_t ticket = scan(10);
    assert_waits(ticket, 1);
    assert_int_equal(scene_answer(ticket).status, STORE_DONE);
    scene_close();
}

static void a_refused_scan_waits(void **state)
{
    static const uint8_t nonsense[] = {STORE_CALL_SCAN, 0xff};
    begin();
    uint64_t ticket = scene_send(0, nonsense, sizeof nonsense);
    assert_waits(ticket, 1);
    assert_int_equal(scene_answer(ticket).status, STORE_MALFORMED);
    scene_close();
}

/* The inquiry ends meanwhile, so no report comes any more. */
static void the_end_of_an_inquiry_waits(void **state)
{
    begin();
    uint64_t ticket = inquire();
    assert_waits(ticket, 1);
    assert_false(scene.answers[ticket].is_answer);
    scene_close();
}

TEST_MAIN(TEST(an_answer_waits), TEST(a_page_waits), TEST(a_refused_scan_waits),
          TEST(the_end_of_an_inquiry_waits))
