/* starved: ripc without memory. Two contexts without threads communicate in every possible way
 * while the allocations are refused, one after the other. Any call may fail then, but none may
 * crash, and closing must release everything. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "allocations.h"
#include "ripc/core/context.h"
#include "ripc/memory/own_file.h"
#include "ripc/memory/reach.h"
#include "ripc/names/names_impl.h"
#include "ripc/scene/scene.h"

#define SIZE  20000
#define TURNS 60

struct talk {
    struct ripc *here, *there;
    struct ripc_service *client, *server; /* client (41) in here, server (42) in there */
    unsigned done;
};

static void talk_progress(struct talk *talk)
{
    ripc_progress(talk->here);
    ripc_progress(talk->there);
}

/* Sends again while both sides progress; returns -EAGAIN if it takes too long. */
static int64_t talk_send(struct talk *talk, struct ripc_service *from, const struct ripc_send *send)
{
    int64_t result = -EAGAIN;
    for (unsigned turn = 0; turn < TURNS && result == -EAGAIN; turn++) {
        result = ripc_send_message(from, send);
        talk_progress(talk);
    }
    return result;
}

static bool talk_receive(struct talk *talk, struct ripc_service *service,
                         struct ripc_message *message)
{
    for (unsigned turn = 0; turn < TURNS; turn++) {
        if (ripc_receive(service, message, 1, RIPC_NOW) == 1)
            return true;
        talk_progress(talk);
    }
    return false;
}

/* A request and its reply: one item into a window, one that is fetched, and a reply into a return
 * buffer. */
static void talk_long(struct talk *talk)
{
    uint8_t *data = ripc_alloc(talk->here, SIZE);
    uint8_t *reply = ripc_alloc(talk->there, SIZE);
    uint8_t memory[SIZE];
    if (!data || !reply)
        return;
    memset(data, 1, SIZE);
    memset(reply, 2, SIZE);
    int posted = ripc_window_add(talk->there, talk->server, memory, SIZE);
    struct iovec items[2] = {{data, SIZE}, {data, 100}};
    struct iovec returns = {NULL, SIZE};
    struct ripc_send request = {.to = 42,
                                .longs = items,
                                .long_count = 2,
                                .returns = &returns,
                                .return_count = 1,
                                .deadline = RIPC_NOW};
    struct iovec answer = {reply, SIZE};
    struct ripc_send response = {.to = 41, .longs = &answer, .long_count = 1, .deadline = RIPC_NOW};
    struct ripc_message message;
    int64_t number = talk_send(talk, talk->client, &request);
    if (number >= 0 && talk_receive(talk, talk->server, &message)) {
        uint8_t few[SIZE];
        if (ripc_fetch(&message, 1, few, SIZE, RIPC_NOW) == 0)
            assert_int_equal(few[0], 1);
        if (!posted && message.longs[0].status == 0)
            assert_int_equal(memory[SIZE - 1], 1);
        ripc_release(&message);
        if (talk_send(talk, talk->server, &response) >= 0 &&
            talk_receive(talk, talk->client, &message)) {
            if (message.longs[0].status == 0) {
                assert_int_equal(((uint8_t *)message.longs[0].data)[SIZE - 1], 2);
                assert_int_equal(ripc_free(talk->here, message.longs[0].data), 0);
                talk->done++;
            }
            ripc_release(&message);
        }
    }
    struct ripc_event event;
    ripc_poll(talk->client, &event, 1, RIPC_NOW);
    ripc_poll(talk->server, &event, 1, RIPC_NOW);
}

static void talk_notice(struct talk *talk)
{
    struct ripc_notice *notice;
    struct ripc_handle handle;
    if (ripc_notice_open(talk->there, NULL, NULL, &notice, &handle) < 0)
        return;
    int result = -EAGAIN;
    for (unsigned turn = 0; turn < TURNS && result == -EAGAIN; turn++) {
        result = ripc_notify(talk->client, &handle, 3, RIPC_NOW);
        talk_progress(talk);
    }
    for (unsigned turn = 0; turn < TURNS && result == 0; turn++) {
        result = ripc_notice_wait(notice, NULL, RIPC_NOW);
        talk->done += result == 1;
        result = result == -EAGAIN ? 0 : -ECANCELED;
        talk_progress(talk);
    }
    assert_int_equal(ripc_notice_close(notice), 0);
}

static void talk_others(struct talk *talk)
{
    struct ripc_event event;
    uint8_t *data = ripc_alloc(talk->there, SIZE);
    uint8_t byte;
    struct ripc_grant grant;
    if (ripc_watch(talk->client, 42) == 0)
        talk->done += ripc_poll(talk->client, &event, 1, RIPC_NOW) == 1;
    if (data && ripc_grant(talk->server, 41, data, SIZE, RIPC_READ, &grant) == 0) {
        int result = -EAGAIN;
        for (unsigned turn = 0; turn < TURNS && result == -EAGAIN; turn++) {
            result = ripc_read(talk->client, &grant, 0, &byte, 1, RIPC_NOW);
            talk_progress(talk);
        }
        talk->done += result == 0;
    }
    if (ripc_join(talk->server, 43) == 0) {
        struct iovec piece = {"all", 3};
        struct ripc_send send = {
            .to = 43, .shorts = &piece, .short_count = 1, .deadline = RIPC_NOW};
        struct ripc_message message;
        if (talk_send(talk, talk->client, &send) == 0 &&
            talk_receive(talk, talk->server, &message)) {
            talk->done++;
            ripc_release(&message);
        }
    }
}

/* Memory in a file of its own is granted and accessed. */
static void talk_own_file(struct talk *talk)
{
    struct own_file own;
    struct ripc_grant grant;
    struct reach *reach;
    if (own_file_open(talk->there, SIZE, &own) < 0)
        return;
    if (ripc_grant(talk->server, 41, own.base, SIZE, RIPC_READ, &grant) == 0) {
        int result = -EAGAIN;
        for (unsigned turn = 0; turn < TURNS && result == -EAGAIN; turn++) {
            result = reach_open(talk->client, &grant, RIPC_NOW, &reach);
            talk_progress(talk);
        }
        if (result == 0)
            reach_close(reach);
        talk->done += result == 0;
    }
    own_file_close(talk->there, &own);
}

/* Returns how many steps worked. */
static unsigned talk_with(long at)
{
    struct ripc_config config = {.flags = RIPC_MANUAL, .domain = "starved"};
    struct talk talk = {.here = scene_open(&config), .there = scene_open(&config)};
    talk.client = scene_bind(talk.here, 41);
    talk.server = scene_bind(talk.there, 42);
    refused = false;
    refuse_at = at;
    talk_long(&talk);
    talk_notice(&talk);
    talk_others(&talk);
    talk_own_file(&talk);
    refuse_at = -1;
    int result = ripc_close(talk.here, RIPC_NOW);
    assert_true(result == 0 || result == -ETIMEDOUT);
    result = ripc_close(talk.there, RIPC_NOW);
    assert_true(result == 0 || result == -ETIMEDOUT);
    return talk.done;
}

/* Runs with each allocation refused in turn; nothing may leak. Returns how many runs worked
 * completely; `tries` is the number of runs. */
static unsigned starve(unsigned (*run)(long at), unsigned all, long *tries)
{
    run(-1); /* libraries allocate some memory only once */
    long before = live;
    unsigned descriptors = scratch_descriptors(), worked = 0;
    assert_int_equal(run(-1), all);
    assert_int_equal(live, before);
    *tries = 0;
    do {
        worked += run((*tries)++) == all;
        if (live != before || scratch_descriptors() != descriptors)
            fail_msg("allocation %ld refused: %ld allocations and %u descriptors leaked",
                     *tries - 1, live - before, scratch_descriptors() - descriptors);
    } while (refused && *tries < 1000);
    assert_true(*tries < 1000);
    return worked;
}

static void a_refused_allocation_fails_one_call_and_leaks_nothing(void **state)
{
    long tries;
    assert_true(starve(talk_with, 6, &tries) > 0);
    assert_true(tries > 20);
}

static void file_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static char names_path[64], names_kinds[128];

/* Looks up, binds and unbinds names of all kinds. Returns how many steps worked. */
static unsigned names_with(long at)
{
    struct ripc_config config = {.flags = RIPC_MANUAL,
                                 .domain = "starved",
                                 .names = names_kinds,
                                 .address = "127.0.0.1",
                                 .transports = "shm"};
    struct talk talk = {.here = scene_open(&config), .there = scene_open(&config)};
    struct ripc *both[2] = {talk.here, talk.there};
    struct ripc_event event;
    unsigned done = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct names_tuning tuning = *names_tuning(both[i]->names);
        tuning.probe_wait = tuning.repeat_wait = tuning.ask_wait = NSEC_PER_SEC / 1000;
        names_tune(both[i]->names, &tuning);
    }
    file_write(names_path, "50 10.0.0.1:17701\n51 10.0.0.1:17702\n");
    talk.client = scene_bind(talk.here, 41);
    refused = false;
    refuse_at = at;
    done += ripc_watch(talk.client, 50) == 0;
    done += ripc_watch(talk.client, 42) == 0;
    done += ripc_bind(talk.there, 42, 0, &talk.server) == 0;
    file_write(names_path, "50 10.0.0.1:17703\n52 10.0.0.1:17704\n");
    done += ripc_watch(talk.client, 52) == 0;
    for (unsigned turn = 0; turn < TURNS; turn++)
        talk_progress(&talk);
    while (ripc_poll(talk.client, &event, 1, RIPC_NOW) == 1)
        ;
    refuse_at = -1;
    assert_int_equal(ripc_close(talk.there, RIPC_NOW), 0);
    assert_int_equal(ripc_close(talk.here, RIPC_NOW), 0);
    return done;
}

static void a_refused_allocation_in_name_services_leaks_nothing(void **state)
{
    long tries;
    snprintf(names_path, sizeof names_path, "/tmp/weft-starved-%d", (int)getpid());
    snprintf(names_kinds, sizeof names_kinds, "file:%s,host,multicast:239.255.87.71:%d", names_path,
             20000 + (int)(getpid() % 20000));
    file_write(names_path, "");
    assert_true(starve(names_with, 4, &tries) > 0);
    assert_true(tries > 20);
    assert_int_equal(unlink(names_path), 0);
}

/* Returns 1 if everything opened. */
static unsigned open_with(long at)
{
    struct ripc_config config = {.flags = RIPC_MANUAL, .domain = "starved"};
    struct ripc *ripc = NULL;
    struct ripc_service *service = NULL;
    refused = false;
    refuse_at = at;
    int result = ripc_open(&config, &ripc);
    if (result == 0) {
        result = ripc_bind(ripc, 41, 0, &service);
        if (result == 0)
            result = ripc_unbind(service);
    }
    refuse_at = -1;
    assert_true(result == 0 || result == -ENOMEM);
    if (ripc)
        assert_int_equal(ripc_close(ripc, RIPC_NOW), 0);
    return result == 0;
}

static void a_context_that_cannot_open_leaks_nothing(void **state)
{
    long tries;
    unsigned worked = starve(open_with, 1, &tries);
    assert_true(tries - worked > 10);
}

TEST_MAIN(SCENE(a_refused_allocation_fails_one_call_and_leaks_nothing),
          SCENE(a_context_that_cannot_open_leaks_nothing),
          SCENE(a_refused_allocation_in_name_services_leaks_nothing))
