/* fabric_check: what the control messages of a probe change in a peer. The test's link has no
 * lifeline, so nothing is sent. */
#include <errno.h>

#include "base/bytes.h"
#include "base/test.h"
#include "transport/fabric/fabric_impl.h"

enum { PROBE = CONTROL_TRANSPORT + 0x100, CHECKED, PROBED }; /* as in fabric_check.c */

#define TOKEN 0x1234567890abcdefULL

static struct fabric fabric;
static struct fabric_link peer;
static unsigned settled;

static void note_settled(void *owner)
{
    settled++;
}

/* A link that has sent the token TOKEN. */
static int link_begin(void **state)
{
    fabric = (struct fabric){.settled = note_settled};
    peer = (struct fabric_link){
        .fabric = &fabric, .proof = FABRIC_PROVING, .unsure = true, .ticks = 3, .probe = TOKEN};
    settled = 0;
    return 0;
}

static int hear(unsigned kind, uint64_t token)
{
    struct control control = {.kind = (uint16_t)kind, .size = sizeof token};
    struct writer out = writer_make(control.body, sizeof token);
    write_u64(&out, token);
    return fabric_link_control(&peer.link, &control);
}

static bool is_unchanged(void)
{
    return peer.proof == FABRIC_PROVING && peer.unsure && peer.ticks == 3 && peer.probe == TOKEN &&
           !peer.checked && !peer.announced && !settled;
}

static void an_answer_proves_the_link(void **state)
{
    assert_int_equal(hear(PROBED, TOKEN), 0);
    assert_int_equal(peer.proof, FABRIC_PROVEN);
    assert_false(peer.unsure);
    assert_int_equal(peer.probe, 0);
    assert_int_equal(settled, 1);
}

static void an_answer_to_an_earlier_probe_changes_nothing(void **state)
{
    assert_int_equal(hear(PROBED, TOKEN + 1), 0);
    assert_int_equal(hear(CHECKED, TOKEN + 1), 0);
    assert_true(is_unchanged());
}

/* Only the first time, so that a peer that repeats it is not waited for without end. */
static void a_peer_that_lives_is_noted_once(void **state)
{
    peer.checked_ticks = 5;
    assert_int_equal(hear(CHECKED, TOKEN), 0);
    assert_true(peer.checked);
    assert_int_equal(peer.checked_ticks, 0);
    peer.checked_ticks = 7;
    assert_int_equal(hear(CHECKED, TOKEN), 0);
    assert_int_equal(peer.checked_ticks, 7);
    assert_int_equal(peer.proof, FABRIC_PROVING);
    assert_int_equal(settled, 0);
}

static void an_announced_token_that_came_already_proves_the_link(void **state)
{
    assert_int_equal(hear(PROBE, 7), 0);
    assert_true(peer.announced == 7);
    assert_int_equal(peer.proof, FABRIC_PROVING);
    fabric.probes[FABRIC_PROBES_KEPT - 1] = 8;
    assert_int_equal(hear(PROBE, 8), 0);
    assert_int_equal(peer.announced, 0);
    assert_int_equal(fabric.probes[FABRIC_PROBES_KEPT - 1], 0);
    assert_int_equal(peer.proof, FABRIC_PROVEN);
    assert_int_equal(settled, 1);
}

static void a_link_that_is_closed_or_broken_ignores_probes(void **state)
{
    for (unsigned broken = 0; broken < 2; broken++) {
        peer.closed = !broken;
        peer.broken = broken;
        for (unsigned kind = PROBE; kind <= PROBED; kind++)
            assert_int_equal(hear(kind, TOKEN), 0);
        assert_true(is_unchanged());
    }
}

static void invalid_messages_are_refused(void **state)
{
    assert_int_equal(hear(PROBE - 1, TOKEN), -ENOMSG);
    assert_int_equal(hear(PROBED + 1, TOKEN), -ENOMSG);
    for (unsigned kind = PROBE; kind <= PROBED; kind++) {
        struct control other = {.kind = (uint16_t)kind, .body = {1}};
        assert_int_equal(hear(kind, 0), -EPROTO);
        other.size = sizeof(uint64_t) - 1;
        assert_int_equal(fabric_link_control(&peer.link, &other), -EPROTO);
        other.size = sizeof(uint64_t) + 1;
        assert_int_equal(fabric_link_control(&peer.link, &other), -EPROTO);
    }
    assert_true(is_unchanged());
    fabric.settled = NULL; /* we never probe, so there is nothing to answer */
    assert_int_equal(hear(PROBED, TOKEN), -EPROTO);
    assert_true(is_unchanged());
}

#define LINK(name) cmocka_unit_test_setup(name, link_begin)

TEST_MAIN(LINK(an_answer_proves_the_link), LINK(an_answer_to_an_earlier_probe_changes_nothing),
          LINK(a_peer_that_lives_is_noted_once),
          LINK(an_announced_token_that_came_already_proves_the_link),
          LINK(a_link_that_is_closed_or_broken_ignores_probes), LINK(invalid_messages_are_refused))
