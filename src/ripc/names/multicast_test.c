/* Claims over datagrams, on the loopback: contexts that ask, claim, conflict and die, and a
 * stranger that sends arbitrary datagrams to the group. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/rng.h"
#include "ripc/names/group_socket.h"
#include "ripc/names/names_world.h"

static const uint8_t key[32] = {1, 2, 3};
static const uint8_t other_key[32] = {3, 2, 1};

/* A world with a group of its own, so that tests can run in parallel. */
struct group_world {
    struct names_world world;
    char group[64];
    char services[80];
};

static void group_world_open(struct group_world *world)
{
    uint64_t random = entropy_u64();
    world_open(&world->world);
    snprintf(world->group, sizeof world->group, "239.255.%u.%u:%u", (unsigned)(random & 255),
             (unsigned)(random >> 8 & 255), (unsigned)(20000 + (random >> 16) % 12000));
    snprintf(world->services, sizeof world->services, "multicast:%s", world->group);
}

/* With shorter times than normal. One thread runs everything, so no context is too slow. */
static void member_open(struct names_side *side, struct group_world *world, const char *services,
                        const uint8_t *with_key)
{
    side_open(side, &world->world, services, with_key);
    struct names_tuning tuning = *names_tuning(side->names);
    tuning.probe_wait = NSEC_PER_SEC / 200;
    tuning.repeat_wait = NSEC_PER_SEC / 100;
    tuning.ask_wait = NSEC_PER_SEC / 100;
    names_tune(side->names, &tuning);
}

/* A sender to the group that is not one of our contexts. */
struct stranger {
    struct group_socket sockets;
    struct seal seal;
};

static void stranger_open(struct stranger *stranger, const struct group_world *world,
                          const uint8_t *with_key)
{
    struct why why = {""};
    assert_int_equal(group_socket_open(&stranger->sockets, world->group, NULL, &why), 0);
    assert_int_equal(seal_init(&stranger->seal, with_key), 0);
}

static void stranger_close(struct stranger *stranger)
{
    group_socket_close(&stranger->sockets);
}

static struct datagram datagram_make(enum datagram_kind kind, uint64_t query,
                                     const struct claim *claim)
{
    struct datagram datagram = {.kind = kind,
                                .domain = domain_hash("test"),
                                .sender = 99,
                                .time = (uint64_t)clock_wall(),
                                .query = query};
    if (claim)
        datagram.claims[datagram.count++] = *claim;
    return datagram;
}

static void stranger_says(struct stranger *stranger, const struct datagram *datagram)
{
    uint8_t data[DATAGRAM_SIZE_MAX];
    size_t size = datagram_write(datagram, &stranger->seal, data);
    group_socket_send(&stranger->sockets, NULL, data, size);
}

static struct claim stranger_claim(uint64_t id, uint64_t incarnation)
{
    struct names_side absent = {.context = 7777};
    return side_claim(&absent, id, id, incarnation);
}

/* Returns the number of datagrams of a kind (0: any) that came to one of the stranger's sockets. */
static unsigned stranger_hears(struct stranger *stranger, int fd, enum datagram_kind kind)
{
    unsigned count = 0;
    uint8_t data[DATAGRAM_SIZE_MAX];
    ssize_t size;
    while ((size = recv(fd, data, sizeof data, MSG_DONTWAIT)) >= 0) {
        struct datagram datagram;
        count += datagram_read(&datagram, domain_hash("test"), &stranger->seal, data,
                               (size_t)size) == 0 &&
                 datagram.sender != 99 && (!kind || datagram.kind == kind);
    }
    return count;
}

/* Runs until the side has received that many datagrams in all. */
static void side_hears(struct names_side *side, uint64_t datagrams)
{
    struct names_counts counts;
    nsec end = clock_after(WORLD_PATIENCE);
    do {
        poller_step(side->world->poller, clock_after(NSEC_PER_SEC / 100));
        names_count(side->names, &counts);
    } while (counts.datagrams < datagrams && clock_now() < end);
    assert_true(counts.datagrams >= datagrams);
}

static uint64_t side_datagrams(const struct names_side *side)
{
    struct names_counts counts;
    names_count(side->names, &counts);
    return counts.datagrams;
}

static void count_claim(void *argument, const struct claim *claim)
{
    ++*(unsigned *)argument;
}

static void a_claim_is_found_by_asking_and_by_listening(void **state)
{
    struct group_world world;
    struct names_side one, other, late;
    struct stranger listener;
    group_world_open(&world);
    stranger_open(&listener, &world, NULL);
    member_open(&one, &world, world.services, NULL);
    member_open(&other, &world, world.services, NULL);
    assert_int_equal(side_claims(&one, 42, 42, 1000), 0);
    struct claim expected = side_claim(&one, 42, 42, 1000);
    assert_true(claim_equal(&side_await(&other, NOTE_FOUND, 42, 1)->claim, &expected));
    world_run(&world.world, NSEC_PER_SEC / 20);              /* it is sent twice ... */
    assert_int_equal(side_count(&other, NOTE_FOUND, 42), 1); /* ... and reported once */
    assert_int_equal(stranger_hears(&listener, listener.sockets.hear_fd, DATAGRAM_CLAIM), 2);
    stranger_close(&listener);

    member_open(&late, &world, world.services, NULL);
    assert_int_equal(names_ask(late.names, 42), 0);
    assert_true(claim_equal(&side_await(&late, NOTE_FOUND, 42, 1)->claim, &expected));
    assert_int_equal(names_ask(late.names, 42), 1);
    assert_int_equal(side_count(&late, NOTE_FOUND, 42), 2);

    /* A query shows the claims of its sender. */
    assert_int_equal(side_claims(&other, 50, 50, 1), 0);
    struct names_side latest;
    member_open(&latest, &world, world.services, NULL);
    names_ask(other.names, 51);
    assert_int_equal(side_await(&latest, NOTE_FOUND, 50, 1)->claim.address.context, other.context);

    names_withdraw(one.names, 42, 42);
    side_await(&late, NOTE_GONE, 42, 1);
    side_await(&other, NOTE_GONE, 42, 1);
    assert_int_equal(names_known(late.names, 42, NULL, 0), 0);
    assert_int_equal(names_list(late.names, count_claim, &(unsigned){0}), 1); /* only 50 */
    side_close(&other);
    side_await(&late, NOTE_GONE, 50, 1);
    side_close(&one);
    side_close(&late);
    side_close(&latest);
    world_close(&world.world);
}

static struct context_address address_elsewhere(const struct names_side *side)
{
    struct context_address address = side_claim(side, 42, 42, 1).address;
    address.port++;
    return address;
}

static void a_claim_moves_with_our_address(void **state)
{
    struct group_world world;
    struct names_side one, other;
    struct stranger listener;
    group_world_open(&world);
    stranger_open(&listener, &world, NULL);
    member_open(&one, &world, world.services, NULL);
    member_open(&other, &world, world.services, NULL);
    struct context_address elsewhere = address_elsewhere(&one);
    assert_int_equal(side_claims(&one, 42, 42, 1), 0);
    side_await(&other, NOTE_FOUND, 42, 1);
    world_run(&world.world, NSEC_PER_SEC / 20);
    stranger_hears(&listener, listener.sockets.hear_fd, 0);
    names_move(one.names, &elsewhere);
    assert_int_equal(side_await(&other, NOTE_FOUND, 42, 2)->claim.address.port, elsewhere.port);
    world_run(&world.world, NSEC_PER_SEC / 20); /* this is sent twice too */
    assert_int_equal(stranger_hears(&listener, listener.sockets.hear_fd, DATAGRAM_CLAIM), 2);
    assert_int_equal(side_count(&one, NOTE_ANNOUNCED, 42), 1);

    /* A claim that is still being probed for continues as before. */
    struct claim claim = side_claim(&one, 43, 43, 1);
    assert_int_equal(names_announce(one.names, &claim), 0);
    names_move(one.names, &elsewhere);
    assert_int_equal(side_count(&one, NOTE_ANNOUNCED, 43), 0);
    assert_int_equal(side_await(&one, NOTE_ANNOUNCED, 43, 1)->status, 0);
    assert_int_equal(side_await(&other, NOTE_FOUND, 43, 1)->claim.address.port, elsewhere.port);
    stranger_close(&listener);
    side_close(&one);
    side_close(&other);
    world_close(&world.world);
}

static void a_second_live_claim_is_refused(void **state)
{
    struct group_world world;
    struct names_side one, other;
    group_world_open(&world);
    member_open(&one, &world, world.services, NULL);
    member_open(&other, &world, world.services, NULL);
    assert_int_equal(side_claims(&one, 42, 42, 1), 0);
    assert_int_equal(side_claims(&other, 42, 42, 2), -EADDRINUSE);
    assert_int_equal(side_count(&one, NOTE_ANNOUNCED, 42), 1); /* ours as before */
    assert_int_equal(names_known(one.names, 42, NULL, 0), 1);
    names_withdraw(one.names, 42, 42);
    assert_int_equal(side_claims(&other, 42, 42, 3), 0);
    assert_int_equal(side_await(&one, NOTE_FOUND, 42, 2)->claim.address.context, other.context);

    /* Withdrawn while it was still being probed for. */
    struct claim claim = side_claim(&one, 43, 43, 1);
    assert_int_equal(names_announce(one.names, &claim), 0);
    names_withdraw(one.names, 43, 43);
    assert_int_equal(side_claims(&other, 43, 43, 2), 0);
    assert_int_equal(side_count(&one, NOTE_ANNOUNCED, 43), 0);

    /* A group's id cannot be claimed as a service. */
    assert_int_equal(side_claims(&one, 44, 1, 1), 0);
    assert_int_equal(side_claims(&other, 44, 44, 2), -EADDRINUSE);
    side_close(&one);
    side_close(&other);
    world_close(&world.world);
}

static void of_two_simultaneous_claims_the_lower_context_wins(void **state)
{
    struct group_world world;
    struct names_side low, high;
    group_world_open(&world);
    member_open(&low, &world, world.services, NULL);
    member_open(&high, &world, world.services, NULL);
    for (uint64_t id = 1; id <= 2; id++) {
        struct names_side *first = id == 1 ? &low : &high, *second = id == 1 ? &high : &low;
        struct claim one = side_claim(first, id, id, 5), other = side_claim(second, id, id, 5);
        assert_int_equal(names_announce(first->names, &one), 0);
        assert_int_equal(names_announce(second->names, &other), 0);
        assert_int_equal(side_await(&low, NOTE_ANNOUNCED, id, 1)->status, 0);
        assert_int_equal(side_await(&high, NOTE_ANNOUNCED, id, 1)->status, -EADDRINUSE);
    }
    side_close(&low);
    side_close(&high);
    world_close(&world.world);
}

/* A process claims and is killed, so it sends no withdrawal. */
static void claim_and_be_killed(const struct group_world *world, uint64_t id, uint64_t incarnation)
{
    int status;
    pid_t pid = claimant_start(&world->world, world->services, id, incarnation, &status);
    assert_int_equal(status, 0);
    claimant_kill(pid);
}

static void a_restarted_service_is_found_without_asking(void **state)
{
    struct group_world world;
    struct names_side next, watcher;
    group_world_open(&world);
    member_open(&watcher, &world, world.services, NULL);
    member_open(&next, &world, world.services, NULL);
    claim_and_be_killed(&world, 42, 1000);
    uint64_t dead = side_await(&watcher, NOTE_FOUND, 42, 1)->claim.address.context;
    assert_int_equal(side_claims(&next, 42, 42, 1001), 0);
    assert_int_equal(side_await(&watcher, NOTE_FOUND, 42, 2)->claim.address.context, next.context);
    names_forget(watcher.names, dead); /* comes late: another context holds the id now */
    assert_int_equal(side_count(&watcher, NOTE_GONE, 42), 0);
    assert_int_equal(names_known(watcher.names, 42, NULL, 0), 1);

    /* With a clock that is slow: accepted once the dead holder is forgotten. */
    claim_and_be_killed(&world, 43, 1000);
    dead = side_await(&watcher, NOTE_FOUND, 43, 1)->claim.address.context;
    assert_int_equal(side_claims(&next, 43, 43, 900), 0);
    names_forget(watcher.names, dead);
    side_await(&watcher, NOTE_GONE, 43, 1);
    names_ask(watcher.names, 43);
    assert_int_equal(side_await(&watcher, NOTE_FOUND, 43, 2)->claim.address.context, next.context);
    side_close(&next);
    side_close(&watcher);
    world_close(&world.world);
}

static void a_forgotten_claim_can_be_asked_for_again(void **state)
{
    struct group_world world;
    struct names_side one, other;
    group_world_open(&world);
    member_open(&one, &world, world.services, NULL);
    member_open(&other, &world, world.services, NULL);
    assert_int_equal(side_claims(&one, 42, 42, 1), 0);
    side_await(&other, NOTE_FOUND, 42, 1);
    world_run(&world.world, NSEC_PER_SEC / 20);
    names_forget(other.names, one.context);
    assert_int_equal(side_count(&other, NOTE_GONE, 42), 1);
    assert_int_equal(names_known(other.names, 42, NULL, 0), 0);
    names_forget(other.names, one.context); /* nothing left */
    assert_int_equal(side_count(&other, NOTE_GONE, 42), 1);
    names_ask(other.names, 42);
    side_await(&other, NOTE_FOUND, 42, 2);
    names_forget(one.names, one.context); /* our own claims stay */
    assert_int_equal(names_known(one.names, 42, NULL, 0), 1);
    side_close(&one);
    side_close(&other);
    world_close(&world.world);
}

static void a_group_has_members_in_several_contexts(void **state)
{
    struct group_world world;
    struct names_side one, other, third;
    group_world_open(&world);
    member_open(&one, &world, world.services, NULL);
    member_open(&other, &world, world.services, NULL);
    assert_int_equal(side_claims(&one, 80, 1, 1), 0);
    assert_int_equal(side_claims(&one, 80, 2, 1), 0);
    assert_int_equal(side_claims(&other, 80, 3, 1), 0);
    world_run(&world.world, NSEC_PER_SEC / 20);
    member_open(&third, &world, world.services, NULL);
    names_ask(third.names, 80);
    side_await(&third, NOTE_FOUND, 80, 3);
    assert_int_equal(names_known(third.names, 80, NULL, 0), 3);
    names_withdraw(one.names, 80, 2);
    assert_int_equal(side_await(&third, NOTE_GONE, 80, 1)->claim.member, 2);
    side_close(&one);
    assert_int_equal(side_await(&third, NOTE_GONE, 80, 2)->claim.member, 1);
    assert_int_equal(names_known(third.names, 80, NULL, 0), 1);
    side_close(&other);
    side_close(&third);
    world_close(&world.world);
}

static void note_any(void *argument, const struct claim *claim)
{
}

static void all_claims_can_be_listed(void **state)
{
    enum { IDS = 40 }; /* more than one datagram holds */
    struct group_world world;
    struct names_side one, late;
    group_world_open(&world);
    member_open(&one, &world, world.services, NULL);
    for (uint64_t id = 1; id <= IDS; id++) {
        struct claim claim = side_claim(&one, id, id, 1);
        assert_int_equal(names_announce(one.names, &claim), 0);
    }
    side_await(&one, NOTE_ANNOUNCED, IDS, 1);
    world_run(&world.world, NSEC_PER_SEC / 20);
    member_open(&late, &world, world.services, NULL);
    assert_int_equal(names_list(late.names, note_any, NULL), 0);
    for (uint64_t id = 1; id <= IDS; id++)
        side_await(&late, NOTE_FOUND, id, 1);
    assert_int_equal(names_list(late.names, note_any, NULL), IDS);
    side_close(&one);
    for (uint64_t id = 1; id <= IDS; id++)
        side_await(&late, NOTE_GONE, id, 1);
    side_close(&late);
    world_close(&world.world);
}

static void claims_that_are_not_repeated_expire(void **state)
{
    struct group_world world;
    struct names_side alive, watcher;
    group_world_open(&world);
    member_open(&alive, &world, world.services, NULL);
    member_open(&watcher, &world, world.services, NULL);
    struct names_tuning tuning = *names_tuning(watcher.names);
    tuning.lifetime = NSEC_PER_SEC; /* longer than this process is likely to wait for a processor */
    names_tune(watcher.names, &tuning);
    names_ask(watcher.names, 1);
    names_ask(watcher.names, 2);
    assert_int_equal(side_claims(&alive, 1, 1, 1), 0);
    claim_and_be_killed(&world, 2, 1);
    claim_and_be_killed(&world, 3, 1); /* no context asked for it */
    side_await(&watcher, NOTE_FOUND, 1, 1);
    side_await(&watcher, NOTE_FOUND, 2, 1);
    side_await(&watcher, NOTE_FOUND, 3, 1);
    side_await(&watcher, NOTE_GONE, 2, 1);
    world_run(&world.world, NSEC_PER_SEC * 3 / 2);
    assert_int_equal(side_count(&watcher, NOTE_GONE, 1), 0); /* asked again, and answered */
    assert_int_equal(names_known(watcher.names, 1, NULL, 0), 1);
    assert_int_equal(names_known(watcher.names, 3, NULL, 0), 0);
    assert_int_equal(side_count(&watcher, NOTE_GONE, 3), 0);
    side_close(&alive);
    side_close(&watcher);
    world_close(&world.world);
}

/* Each datagram brings a claim that expires later; the first claim must still expire in time. */
static void claims_expire_while_other_claims_keep_arriving(void **state)
{
    struct group_world world;
    struct names_side watcher;
    struct stranger stranger;
    group_world_open(&world);
    member_open(&watcher, &world, world.services, NULL);
    stranger_open(&stranger, &world, NULL);
    struct names_tuning tuning = *names_tuning(watcher.names);
    tuning.lifetime = NSEC_PER_SEC;
    names_tune(watcher.names, &tuning);
    names_ask(watcher.names, 2);
    struct claim claim = stranger_claim(2, 1);
    struct datagram datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
    stranger_says(&stranger, &datagram);
    side_await(&watcher, NOTE_FOUND, 2, 1);
    claim = stranger_claim(5, 1);
    nsec end = clock_after(WORLD_PATIENCE);
    while (side_count(&watcher, NOTE_GONE, 2) == 0) {
        assert_true(clock_now() < end);
        datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
        stranger_says(&stranger, &datagram);
        world_run(&world.world, NSEC_PER_SEC / 100);
    }
    assert_int_equal(names_known(watcher.names, 5, NULL, 0), 1);
    stranger_close(&stranger);
    side_close(&watcher);
    world_close(&world.world);
}

static void without_a_key_the_holder_keeps_its_claim(void **state)
{
    struct group_world world;
    struct names_side side;
    struct stranger stranger;
    struct names_counts counts;
    group_world_open(&world);
    member_open(&side, &world, world.services, NULL);
    stranger_open(&stranger, &world, NULL);
    assert_int_equal(side_claims(&side, 42, 42, 1000), 0);
    world_run(&world.world, NSEC_PER_SEC / 20);
    stranger_hears(&stranger, stranger.sockets.hear_fd, 0);
    uint64_t heard = side_datagrams(&side);
    struct claim claim = stranger_claim(42, 2000);
    struct datagram datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
    for (int i = 0; i < 50; i++) {
        stranger_says(&stranger, &datagram);
        side_hears(&side, heard + (uint64_t)i + 1);
    }
    names_count(side.names, &counts);
    assert_true(counts.conflicts >= 45); /* our own datagrams are among those received */
    assert_int_equal(side.count, 2);     /* no event was reported */
    unsigned said = stranger_hears(&stranger, stranger.sockets.hear_fd, DATAGRAM_CLAIM);
    assert_true(said >= 1 && said <= 8); /* not one for each of the stranger's */
    stranger_close(&stranger);
    side_close(&side);
    world_close(&world.world);
}

static void with_a_key_the_newer_claim_wins(void **state)
{
    struct group_world world;
    struct names_side side;
    struct stranger member;
    struct names_counts counts;
    group_world_open(&world);
    member_open(&side, &world, world.services, key);
    stranger_open(&member, &world, key); /* has the key: from a part of the network that was
                                          * partitioned */
    assert_int_equal(side_claims(&side, 42, 42, 1000), 0);
    struct claim claim = stranger_claim(42, 999);
    struct datagram datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
    uint64_t heard = side_datagrams(&side);
    stranger_says(&member, &datagram);
    side_hears(&side, heard + 2); /* its claim, and our answer to it */
    assert_int_equal(side_last(&side, NOTE_ANNOUNCED, 42)->status, 0);
    datagram.claims[0].incarnation = 1001;
    stranger_says(&member, &datagram);
    assert_int_equal(side_await(&side, NOTE_ANNOUNCED, 42, 2)->status, -ESTALE);
    assert_int_equal(side_await(&side, NOTE_FOUND, 42, 2)->claim.address.context, 7777);
    names_count(side.names, &counts);
    assert_int_equal(counts.conflicts, 2);
    assert_int_equal(counts.forged, 0);
    names_withdraw(side.names, 42, 42); /* nothing of ours is left */
    stranger_close(&member);
    side_close(&side);
    world_close(&world.world);
}

/* The holder was too slow to object: the new claimant learns of it a moment later. */
static void a_late_objection_ends_a_new_claim(void **state)
{
    for (int keyed = 0; keyed < 2; keyed++) {
        struct group_world world;
        struct names_side young, old;
        struct stranger stranger;
        group_world_open(&world);
        member_open(&young, &world, world.services, keyed ? key : NULL);
        stranger_open(&stranger, &world, keyed ? key : NULL);
        uint64_t now = (uint64_t)clock_wall();
        assert_int_equal(side_claims(&young, 42, 42, now), 0);
        struct claim claim = stranger_claim(42, now - 1000);
        struct datagram datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
        stranger_says(&stranger, &datagram);
        assert_int_equal(side_await(&young, NOTE_ANNOUNCED, 42, 2)->status, -ESTALE);
        assert_int_equal(side_await(&young, NOTE_FOUND, 42, 2)->claim.address.context, 7777);

        /* And the holder itself does not yield to the new claimant. */
        member_open(&old, &world, world.services, keyed ? key : NULL);
        assert_int_equal(side_claims(&old, 43, 43, now), 0);
        claim = stranger_claim(43, now + 1000);
        datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
        datagram.time = now + 2000;
        uint64_t heard = side_datagrams(&old);
        stranger_says(&stranger, &datagram);
        side_hears(&old, heard + 1);
        assert_int_equal(side_count(&old, NOTE_ANNOUNCED, 43), 1);
        stranger_close(&stranger);
        side_close(&young);
        side_close(&old);
        world_close(&world.world);
    }
}

static void forged_and_old_claims_are_ignored_and_counted(void **state)
{
    struct group_world world;
    struct names_side side, peer;
    struct stranger member, guesser, keyless;
    struct names_counts counts;
    group_world_open(&world);
    member_open(&side, &world, world.services, key);
    member_open(&peer, &world, world.services, key);
    stranger_open(&member, &world, key);
    stranger_open(&guesser, &world, other_key);
    stranger_open(&keyless, &world, NULL);
    struct claim claim = stranger_claim(42, 1000);
    struct datagram datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
    stranger_says(&guesser, &datagram);
    stranger_says(&keyless, &datagram);
    datagram.time = (uint64_t)(clock_wall() - 121 * NSEC_PER_SEC);
    stranger_says(&member, &datagram); /* like a datagram that was recorded and replayed later */
    datagram.time = (uint64_t)(clock_wall() + 121 * NSEC_PER_SEC);
    stranger_says(&member, &datagram);
    datagram.time = UINT64_MAX / 2 + 5;
    stranger_says(&member, &datagram);
    side_hears(&side, 5);
    names_count(side.names, &counts);
    assert_int_equal(counts.forged, 5);
    assert_int_equal(side.count, 0);
    datagram.time = (uint64_t)(clock_wall() - 60 * NSEC_PER_SEC);
    stranger_says(&member, &datagram); /* clocks may differ a little */
    side_await(&side, NOTE_FOUND, 42, 1);

    /* Members find each other. A claim that is repeated after its withdrawal is ignored. */
    assert_int_equal(side_claims(&peer, 43, 43, 1000), 0);
    side_await(&side, NOTE_FOUND, 43, 1);
    names_withdraw(peer.names, 43, 43);
    side_await(&side, NOTE_GONE, 43, 1);
    claim = side_claim(&peer, 43, 43, 1000);
    datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
    uint64_t heard = side_datagrams(&side);
    stranger_says(&member, &datagram);
    side_hears(&side, heard + 1);
    assert_int_equal(side_count(&side, NOTE_FOUND, 43), 1);
    assert_int_equal(names_known(side.names, 43, NULL, 0), 0);
    assert_int_equal(side_claims(&peer, 43, 43, 1001), 0); /* but a new one is accepted */
    side_await(&side, NOTE_FOUND, 43, 2);
    stranger_close(&member);
    stranger_close(&guesser);
    stranger_close(&keyless);
    side_close(&side);
    side_close(&peer);
    world_close(&world.world);
}

static void malformed_datagrams_are_counted_and_harmless(void **state)
{
    enum { ROUNDS = 300 };
    struct group_world world;
    struct names_side side, peer;
    struct stranger stranger;
    struct names_counts counts;
    uint64_t seed = entropy_u64();
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %llu\n", (unsigned long long)seed);
    group_world_open(&world);
    member_open(&side, &world, world.services, NULL);
    member_open(&peer, &world, world.services, NULL);
    stranger_open(&stranger, &world, NULL);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint8_t data[2048];
        struct claim claim = stranger_claim(1000 + i, 1);
        struct datagram datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
        size_t size = datagram_write(&datagram, &stranger.seal, data);
        if (rng_below(&rng, 2))
            size = rng_below(&rng, sizeof data + 1);
        for (size_t k = rng_below(&rng, 2) ? 16 : 0; k < size; k++)
            data[k] = (uint8_t)rng_next(&rng);
        group_socket_send(&stranger.sockets, NULL, data, size);
        side_hears(&side, i + 1);
    }
    names_count(side.names, &counts);
    assert_int_equal(counts.garbage + side.count, ROUNDS); /* none was lost, few were valid */
    assert_true(counts.garbage > ROUNDS / 2);
    assert_int_equal(side_claims(&peer, 42, 42, 1), 0); /* and everything still works */
    side_await(&side, NOTE_FOUND, 42, 1);

    /* Datagrams of another domain are ignored. */
    struct claim claim = stranger_claim(5, 1);
    struct datagram datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
    datagram.domain++;
    uint64_t garbage = counts.garbage, heard = side_datagrams(&side);
    stranger_says(&stranger, &datagram);
    side_hears(&side, heard + 1);
    names_count(side.names, &counts);
    assert_int_equal(counts.garbage, garbage);
    assert_int_equal(side_count(&side, NOTE_FOUND, 5), 0);
    stranger_close(&stranger);
    side_close(&side);
    side_close(&peer);
    world_close(&world.world);
}

static void many_queries_do_not_cause_a_flood_of_answers(void **state)
{
    enum { QUESTIONS = 1500 };
    struct group_world world;
    struct names_side side;
    struct stranger stranger;
    group_world_open(&world);
    member_open(&side, &world, world.services, NULL);
    stranger_open(&stranger, &world, NULL);
    assert_int_equal(side_claims(&side, 42, 42, 1), 0);
    world_run(&world.world, NSEC_PER_SEC / 20);
    uint64_t heard = side_datagrams(&side);
    nsec start = clock_now();
    unsigned answers = 0;
    struct datagram datagram = datagram_make(DATAGRAM_QUERY, 42, NULL);
    for (unsigned i = 1; i <= QUESTIONS; i++) {
        stranger_says(&stranger, &datagram);
        side_hears(&side, heard + i);
        answers += stranger_hears(&stranger, stranger.sockets.talk_fd, DATAGRAM_CLAIM);
        answers += stranger_hears(&stranger, stranger.sockets.hear_fd, DATAGRAM_CLAIM);
    }
    /* The budget of one second at once, and then that of each further second. */
    nsec seconds = (clock_now() - start) / NSEC_PER_SEC + 2;
    print_message("# %u answers to %u questions\n", answers, (unsigned)QUESTIONS);
    assert_true(answers >= 250 && answers <= (256 + 8) * seconds);
    stranger_close(&stranger);
    side_close(&side);
    world_close(&world.world);
}

/* Questions of a program that asks for many ids at once are delayed. */
static void a_program_that_asks_for_many_ids_causes_no_flood(void **state)
{
    enum { QUESTIONS = 2000 };
    struct group_world world;
    struct names_side side;
    struct stranger stranger;
    group_world_open(&world);
    member_open(&side, &world, world.services, NULL);
    stranger_open(&stranger, &world, NULL);
    nsec start = clock_now();
    unsigned heard = 0;
    for (unsigned i = 1; i <= QUESTIONS; i++) {
        assert_int_equal(names_ask(side.names, i), 0);
        heard += stranger_hears(&stranger, stranger.sockets.hear_fd, DATAGRAM_QUERY);
    }
    nsec seconds = (clock_now() - start) / NSEC_PER_SEC + 2;
    print_message("# %u of %u questions\n", heard, (unsigned)QUESTIONS);
    assert_true(heard >= 500 && heard <= 512 * seconds);
    stranger_close(&stranger);
    side_close(&side);
    world_close(&world.world);
}

static void a_claim_needs_the_agreement_of_all_name_services(void **state)
{
    struct group_world world;
    struct names_side both, host, far;
    char services[96];
    group_world_open(&world);
    snprintf(services, sizeof services, "host,%s", world.services);
    member_open(&both, &world, services, NULL);
    member_open(&host, &world, "host", NULL);
    member_open(&far, &world, world.services, NULL);
    assert_int_equal(side_claims(&far, 1, 1, 1), 0);
    assert_int_equal(side_claims(&host, 2, 2, 1), 0);
    assert_int_equal(side_claims(&both, 1, 1, 2), -EADDRINUSE);
    assert_int_equal(side_claims(&both, 2, 2, 2), -EADDRINUSE);
    assert_int_equal(side_claims(&host, 1, 1, 3), 0); /* the file was released */
    assert_int_equal(side_claims(&both, 3, 3, 3), 0);
    assert_int_equal(names_ask(host.names, 3), 1);
    side_await(&far, NOTE_FOUND, 3, 1);
    side_close(&both);
    side_await(&far, NOTE_GONE, 3, 1);
    side_await(&host, NOTE_GONE, 3, 1);
    side_close(&host);
    side_close(&far);
    world_close(&world.world);
}

/* A stranger on the network cannot mislead the contexts of one host. */
static void a_lock_is_trusted_more_than_a_datagram(void **state)
{
    struct group_world world;
    struct names_side owner, watcher;
    struct stranger stranger;
    char services[96];
    group_world_open(&world);
    snprintf(services, sizeof services, "host,%s", world.services);
    member_open(&owner, &world, "host", NULL);
    member_open(&watcher, &world, services, NULL);
    stranger_open(&stranger, &world, NULL);
    assert_int_equal(side_claims(&owner, 42, 42, 1000), 0);
    assert_int_equal(names_ask(watcher.names, 42), 1);
    struct claim claim = stranger_claim(42, 2000);
    struct datagram datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
    stranger_says(&stranger, &datagram);
    claim = side_claim(&owner, 42, 42, 1000);
    datagram = datagram_make(DATAGRAM_WITHDRAW, 0, &claim);
    stranger_says(&stranger, &datagram);
    side_hears(&watcher, 3); /* includes our own question */
    assert_int_equal(side_count(&watcher, NOTE_FOUND, 42), 1);
    assert_int_equal(side_count(&watcher, NOTE_GONE, 42), 0);
    assert_int_equal(names_known(watcher.names, 42, &claim, 1), 1);
    assert_int_equal(claim.address.context, owner.context);

    /* But when the owner is gone, the other's claim is accepted. */
    side_close(&owner);
    side_await(&watcher, NOTE_GONE, 42, 1);
    claim = stranger_claim(42, 2000);
    datagram = datagram_make(DATAGRAM_CLAIM, 0, &claim);
    stranger_says(&stranger, &datagram);
    assert_int_equal(side_await(&watcher, NOTE_FOUND, 42, 2)->claim.address.context, 7777);
    stranger_close(&stranger);
    side_close(&watcher);
    world_close(&world.world);
}

static void an_invalid_group_is_refused_with_a_reason(void **state)
{
    static const char *const wrong[] = {"multicast:",
                                        "multicast:239.1.1.1",
                                        "multicast:239.1.1.1:",
                                        "multicast:239.1.1.1:0",
                                        "multicast:239.1.1.1:65536",
                                        "multicast:239.1.1.1:17x",
                                        "multicast:10.0.0.1:17700",
                                        "multicast:[ff02::1]:17700",
                                        "multicast:239.255.255.255.255.255.255:17700"};
    struct names_world world;
    world_open(&world);
    struct names_config config = {.poller = world.poller,
                                  .folder = world.scratch.folder,
                                  .domain = SCRATCH_DOMAIN,
                                  .events = &side_events};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct names *names;
        struct why why = {""};
        config.services = wrong[i];
        assert_int_equal(names_open(&names, &config, &why), -EINVAL);
        assert_true(why.text[0]);
    }
    struct names *names;
    struct why why = {""};
    config.services = "multicast";
    config.address = "203.0.113.77"; /* reserved for examples: no host has it */
    assert_int_equal(names_open(&names, &config, &why), -EADDRNOTAVAIL);
    assert_non_null(strstr(why.text, "203.0.113.77"));
    world_close(&world);
}

TEST_MAIN(
    TEST(a_claim_is_found_by_asking_and_by_listening), TEST(a_claim_moves_with_our_address),
    TEST(a_second_live_claim_is_refused), TEST(of_two_simultaneous_claims_the_lower_context_wins),
    TEST(a_restarted_service_is_found_without_asking),
    TEST(a_forgotten_claim_can_be_asked_for_again), TEST(a_group_has_members_in_several_contexts),
    TEST(all_claims_can_be_listed), TEST(claims_that_are_not_repeated_expire),
    TEST(claims_expire_while_other_claims_keep_arriving),
    TEST(without_a_key_the_holder_keeps_its_claim), TEST(with_a_key_the_newer_claim_wins),
    TEST(a_late_objection_ends_a_new_claim), TEST(forged_and_old_claims_are_ignored_and_counted),
    TEST(malformed_datagrams_are_counted_and_harmless),
    TEST(many_queries_do_not_cause_a_flood_of_answers),
    TEST(a_program_that_asks_for_many_ids_causes_no_flood),
    TEST(a_claim_needs_the_agreement_of_all_name_services),
    TEST(a_lock_is_trusted_more_than_a_datagram), TEST(an_invalid_group_is_refused_with_a_reason))
