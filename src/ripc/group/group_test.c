#include "ripc/group/group.h"

#include <errno.h>
#include <string.h>

#include "ripc/scene/scene.h"

#define MEMBERS 4

static void all_members_except_the_sender_get_the_message(void **state)
{
    struct ripc *contexts[MEMBERS] = {0};
    struct ripc_service *members[MEMBERS];
    for (unsigned i = 0; i < MEMBERS; i++) {
        contexts[i] = i == 1 ? contexts[0] : scene_open(NULL); /* two share a context */
        members[i] = scene_bind(contexts[i], 100 + i);
        assert_int_equal(ripc_join(members[i], 77), 0);
        assert_int_equal(ripc_join(members[i], 77), -EALREADY);
    }
    assert_int_equal(ripc_send(members[0], 77, "all", 4, scene_deadline()), 0);
    for (unsigned i = 1; i < MEMBERS; i++) {
        struct ripc_message message = scene_receive(members[i]);
        assert_string_equal(message.data, "all");
        assert_int_equal(message.from, 100);
        assert_int_equal(message.to, 77);
        ripc_release(&message);
    }
    struct ripc_message message;
    assert_int_equal(ripc_receive(members[0], &message, 1, RIPC_NOW), -EAGAIN);

    /* A member that left gets nothing; the remaining members do. */
    assert_int_equal(ripc_leave(members[3], 77), 0);
    assert_int_equal(ripc_leave(members[3], 77), -ENOENT);
    int64_t deadline = scene_deadline();
    while (ripc_receive(members[2], &message, 1, ripc_after(1000)) != 1) {
        assert_true(ripc_now() < deadline);
        ripc_send(members[0], 77, "rest", 5, scene_deadline());
    }
    ripc_release(&message);
    for (unsigned i = 0; i < MEMBERS; i++)
        if (i != 1)
            scene_close(contexts[i]);
}

static void a_long_item_completes_when_all_members_have_it(void **state)
{
    struct ripc *contexts[3];
    struct ripc_service *members[3];
    for (unsigned i = 0; i < 3; i++) {
        contexts[i] = scene_open(NULL);
        members[i] = scene_bind(contexts[i], 0);
        if (i)
            assert_int_equal(ripc_join(members[i], 77), 0);
    }
    char *data = ripc_alloc(contexts[0], 100000);
    char to[100000];
    memset(data, 'x', 100000);
    struct iovec item = {data, 100000};
    struct ripc_send send = {
        .to = 77, .longs = &item, .long_count = 1, .deadline = scene_deadline()};
    int64_t operation = ripc_send_message(members[0], &send);
    assert_true(operation > 0);
    for (unsigned i = 1; i < 3; i++) {
        assert_int_equal(ripc_wait(members[0], operation, RIPC_NOW), -EAGAIN);
        struct ripc_message message = scene_receive(members[i]);
        assert_int_equal(ripc_fetch(&message, 0, to, sizeof to, scene_deadline()), 0);
        assert_memory_equal(to, data, 100000);
        ripc_release(&message);
    }
    assert_int_equal(ripc_wait(members[0], operation, scene_deadline()), 0);
    for (unsigned i = 0; i < 3; i++)
        scene_close(contexts[i]);
}

static void a_send_to_an_empty_group_fails(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    struct ripc_service *service = scene_bind(ripc, 0);
    assert_int_equal(ripc_send(service, 77, "x", 1, scene_deadline()), -ENOENT);
    assert_int_equal(ripc_join(service, 0), -EINVAL);
    assert_int_equal(ripc_join(service, 77), 0);
    assert_int_equal(ripc_send(service, 77, "x", 1, scene_deadline()), -ENOENT);
    scene_close(ripc);
}

/* A join that failed does not change who holds the id: a service, or no process. */
static void a_failed_join_does_not_change_how_an_id_is_sent_to(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct ripc_service *sender = scene_bind(here, 1), *server = scene_bind(there, 2);
    assert_int_equal(ripc_join(sender, 2), -EADDRINUSE);
    assert_int_equal(ripc_join(sender, 1), -EINVAL); /* itself */
    assert_int_equal(ripc_leave(sender, 2), -ENOENT);
    assert_int_equal(ripc_send(sender, 2, "one", 4, scene_deadline()), 0);
    assert_int_equal(ripc_send(sender, 1, "self", 5, scene_deadline()), 0);
    struct ripc_message message = scene_receive(server);
    assert_string_equal(message.data, "one");
    ripc_release(&message);
    message = scene_receive(sender);
    assert_string_equal(message.data, "self");
    ripc_release(&message);
    scene_close(here);
    scene_close(there);
}

static void a_group_is_found_after_an_earlier_send_found_none(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct ripc_service *sender = scene_bind(here, 1), *member = scene_bind(there, 2);
    assert_int_equal(ripc_send(sender, 77, "too early", 10, scene_deadline()), -ENOENT);
    assert_int_equal(ripc_join(member, 77), 0);
    assert_int_equal(ripc_send(sender, 77, "now", 4, scene_deadline()), 0);
    struct ripc_message message = scene_receive(member);
    assert_string_equal(message.data, "now");
    ripc_release(&message);
    scene_close(here);
    scene_close(there);
}

/* Sends to the id until the sender has learned, soon but not at once, that the member has left. */
static void expect_absence(struct ripc_service *sender, struct ripc_service *member, ripc_id id)
{
    int result;
    while (!(result = ripc_send(sender, id, "none", 5, scene_deadline()))) {
        struct ripc_message message = scene_receive(member);
        ripc_release(&message);
    }
    assert_int_equal(result, -ENOENT);
}

static void expect_text(struct ripc_service *sender, struct ripc_service *receiver, ripc_id id,
                        const char *text)
{
    assert_int_equal(ripc_send(sender, id, text, strlen(text) + 1, scene_deadline()), 0);
    struct ripc_message message = scene_receive(receiver);
    assert_string_equal(message.data, text);
    ripc_release(&message);
}

static void an_id_can_be_a_group_and_a_service_in_turn(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct ripc_service *sender = scene_bind(here, 1), *member = scene_bind(there, 2);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(ripc_join(member, 77), 0);
        expect_text(sender, member, 77, "group");
        assert_int_equal(ripc_leave(member, 77), 0);
        expect_absence(sender, member, 77);
        struct ripc_service *server = scene_bind(there, 77);
        expect_text(sender, server, 77, "service");
        assert_int_equal(ripc_unbind(server), 0);
        while (ripc_transport(sender, 77)) /* until the sender knows that its pipe is gone */
            ripc_progress(here);
    }
    scene_close(here);
    scene_close(there);
}

static void a_send_that_waits_for_a_member_ends_when_the_member_leaves(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct ripc_service *sender = scene_bind(here, 1), *member = scene_bind(there, 2);
    assert_int_equal(ripc_join(member, 77), 0);
    expect_text(sender, member, 77, "group");
    int result;
    while (!(result = ripc_send(sender, 77, "more", 5, RIPC_NOW)))
        ; /* until the member, which does not receive, has no room */
    assert_int_equal(result, -EAGAIN);
    assert_int_equal(ripc_leave(member, 77), 0);
    assert_int_equal(ripc_send(sender, 77, "late", 5, scene_deadline()), -ENOENT);
    scene_close(here);
    scene_close(there);
}

/* It could not receive what is sent to the group. */
static void a_service_that_retires_cannot_join(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct ripc_service *sender = scene_bind(here, 1), *server = scene_bind(there, 2);
    assert_int_equal(ripc_join(server, 77), 0);
    assert_int_equal(ripc_retire(server, 0), 0);
    assert_int_equal(ripc_join(server, 77), -ESHUTDOWN);
    assert_int_equal(ripc_join(server, 78), -ESHUTDOWN);
    assert_int_equal(ripc_send(sender, 78, "x", 1, scene_deadline()), -ENOENT);
    scene_close(here);
    scene_close(there);
}

TEST_MAIN(SCENE(a_service_that_retires_cannot_join),
          SCENE(all_members_except_the_sender_get_the_message),
          SCENE(a_long_item_completes_when_all_members_have_it),
          SCENE(a_send_to_an_empty_group_fails),
          SCENE(a_failed_join_does_not_change_how_an_id_is_sent_to),
          SCENE(a_group_is_found_after_an_earlier_send_found_none),
          SCENE(a_send_that_waits_for_a_member_ends_when_the_member_leaves),
          SCENE(an_id_can_be_a_group_and_a_service_in_turn))
