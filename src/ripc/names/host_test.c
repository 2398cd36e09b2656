/* The name service of one host: contexts that live, leave and are killed. */
#include <fcntl.h>
#include <sys/resource.h>

#include "ripc/names/names_world.h"

static void a_claim_is_found_by_a_context_that_asks(void **state)
{
    struct names_world world;
    struct names_side one, other;
    world_open(&world);
    side_open(&one, &world, "host", NULL);
    side_open(&other, &world, "host", NULL);

    assert_int_equal(side_claims(&one, 42, 42, 1000), 0);
    assert_int_equal(side_count(&one, NOTE_FOUND, 42), 1); /* our own claim is reported too */
    assert_int_equal(other.count, 0);
    assert_int_equal(names_ask(other.names, 42), 1);
    assert_int_equal(other.count, 1);
    struct claim expected = side_claim(&one, 42, 42, 1000);
    assert_true(claim_equal(&side_last(&other, NOTE_FOUND, 42)->claim, &expected));
    assert_int_equal(side_last(&other, NOTE_FOUND, 42)->claim.pid, 1);
    assert_int_equal(names_ask(other.names, 42), 1); /* asking again reports again */
    assert_int_equal(side_count(&other, NOTE_FOUND, 42), 2);
    assert_int_equal(names_ask(other.names, 43), 0);
    assert_int_equal(names_ask(other.names, 0), -EINVAL);

    struct claim known;
    assert_int_equal(names_known(other.names, 42, &known, 1), 1);
    assert_true(claim_equal(&known, &expected));
    assert_int_equal(names_known(other.names, 42, NULL, 0), 1);
    assert_int_equal(names_known(one.names, 42, &known, 1), 1);
    side_close(&other);
    side_close(&one);
    world_close(&world);
}

static void new_and_withdrawn_claims_are_reported_to_a_context_that_asked(void **state)
{
    struct names_world world;
    struct names_side one, other;
    world_open(&world);
    side_open(&one, &world, "host", NULL);
    side_open(&other, &world, "host", NULL);

    assert_int_equal(names_ask(other.names, 7), 0);
    assert_int_equal(side_claims(&one, 8, 8, 5), 0); /* no context asked for it */
    assert_int_equal(side_claims(&one, 7, 7, 5), 0);
    side_await(&other, NOTE_FOUND, 7, 1);
    assert_int_equal(side_count(&other, NOTE_FOUND, 8), 0);
    names_withdraw(one.names, 7, 7);
    assert_int_equal(side_count(&one, NOTE_GONE, 7), 1);
    assert_int_equal(side_await(&other, NOTE_GONE, 7, 1)->claim.address.context, one.context);
    assert_int_equal(names_known(other.names, 7, NULL, 0), 0);

    /* The next claim is reported without another question. */
    assert_int_equal(side_claims(&one, 7, 7, 6), 0);
    assert_int_equal(side_await(&other, NOTE_FOUND, 7, 2)->claim.incarnation, 6);
    side_close(&one);
    side_await(&other, NOTE_GONE, 7, 2);
    names_ignore(other.names, 7);
    side_close(&other);
    world_close(&world);
}

static void a_second_live_claim_is_refused(void **state)
{
    struct names_world world;
    struct names_side one, other;
    world_open(&world);
    side_open(&one, &world, "host", NULL);
    side_open(&other, &world, "host", NULL);

    assert_int_equal(side_claims(&one, 42, 42, 1), 0);
    assert_int_equal(side_claims(&one, 42, 42, 2), -EALREADY);
    assert_int_equal(side_claims(&other, 42, 42, 2), -EADDRINUSE);
    assert_int_equal(side_claims(&other, 42, 43, 2), -EADDRINUSE); /* nor can it be used as a
                                                                    * group */
    assert_int_equal(names_ask(other.names, 42), 1);
    assert_int_equal(side_last(&other, NOTE_FOUND, 42)->claim.address.context, one.context);
    names_withdraw(one.names, 42, 42);
    assert_int_equal(side_claims(&other, 42, 42, 3), 0);
    assert_int_equal(side_claims(&one, 42, 42, 4), -EADDRINUSE);

    struct claim wrong = side_claim(&one, 0, 0, 1);
    assert_int_equal(names_announce(one.names, &wrong), -EINVAL);
    wrong = side_claim(&one, 1, 1, 0);
    assert_int_equal(names_announce(one.names, &wrong), -EINVAL);
    wrong = side_claim(&one, 1, 1, 1);
    wrong.group = true;
    assert_int_equal(names_announce(one.names, &wrong), -EINVAL);
    side_close(&other);
    side_close(&one);
    world_close(&world);
}

static void a_group_has_several_members(void **state)
{
    struct names_world world;
    struct names_side sides[3];
    world_open(&world);
    for (int i = 0; i < 3; i++)
        side_open(&sides[i], &world, "host", NULL);

    assert_int_equal(side_claims(&sides[0], 80, 1, 10), 0);
    assert_int_equal(side_claims(&sides[0], 80, 2, 11), 0); /* two of one context */
    assert_int_equal(side_claims(&sides[1], 80, 2, 12), -EADDRINUSE);
    assert_int_equal(side_claims(&sides[1], 80, 3, 12), 0);
    assert_int_equal(side_claims(&sides[1], 80, 80, 12), -EADDRINUSE); /* it is a group */
    assert_int_equal(names_ask(sides[2].names, 80), 3);
    assert_int_equal(side_count(&sides[2], NOTE_FOUND, 80), 3);
    assert_int_equal(side_claims(&sides[1], 80, 4, 13), 0);
    side_await(&sides[2], NOTE_FOUND, 80, 4);
    names_withdraw(sides[0].names, 80, 1);
    assert_int_equal(side_await(&sides[2], NOTE_GONE, 80, 1)->claim.member, 1);

    struct claim known[4];
    assert_int_equal(names_known(sides[2].names, 80, known, 4), 3);
    assert_int_equal(names_known(sides[2].names, 80, known, 1), 3);
    names_forget(sides[2].names, sides[1].context);
    assert_int_equal(side_count(&sides[2], NOTE_GONE, 80), 3);
    assert_int_equal(names_known(sides[2].names, 80, known, 4), 1);
    assert_int_equal(known[0].member, 2);
    assert_int_equal(names_ask(sides[2].names, 80), 3); /* all three claimants are alive */
    for (int i = 0; i < 3; i++)
        side_close(&sides[i]);
    world_close(&world);
}

static void a_killed_claimant_is_noticed_and_replaced(void **state)
{
    struct names_world world;
    struct names_side side;
    int status;
    world_open(&world);
    side_open(&side, &world, "host", NULL);
    assert_int_equal(names_ask(side.names, 42), 0);
    pid_t old = claimant_start(&world, "host", 42, 1000, &status);
    assert_int_equal(status, 0);
    assert_int_equal(side_await(&side, NOTE_FOUND, 42, 1)->claim.address.context, (uint64_t)old);
    pid_t rival = claimant_start(&world, "host", 42, 1001, &status);
    assert_int_equal(status, -EADDRINUSE);
    claimant_kill(rival);
    assert_int_equal(side_claims(&side, 42, 42, 1002), -EADDRINUSE);

    claimant_kill(old);
    side_await(&side, NOTE_GONE, 42, 1); /* the file is there, the lock is not */
    assert_int_equal(names_ask(side.names, 42), 0);

    /* A stale file is taken over, even if the clock was set back. */
    pid_t next = claimant_start(&world, "host", 42, 900, &status);
    assert_int_equal(status, 0);
    assert_int_equal(side_await(&side, NOTE_FOUND, 42, 2)->claim.address.context, (uint64_t)next);
    claimant_kill(next);
    side_close(&side);
    world_close(&world);
}

/* A dying process closes its file a moment before its lock is released. */
static void a_lock_released_after_its_file_is_closed_is_noticed(void **state)
{
    static const char name[] = "claim.000000000000002a";
    struct names_world world;
    struct names_side side;
    struct seal seal;
    uint8_t record[CLAIM_RECORD_SIZE];
    char path[DOMAIN_PATH_MAX + DOMAIN_FILE_MAX];
    world_open(&world);
    side_open(&side, &world, "host", NULL);
    snprintf(path, sizeof path, "%s/%s", world.scratch.folder, name);
    int fd = domain_file_lock(world.scratch.folder, name);
    assert_true(fd >= 0);
    struct claim claim = side_claim(&side, 42, 42, 1);
    assert_int_equal(seal_init(&seal, NULL), 0);
    claim_record_write(&claim, &seal, record);
    assert_int_equal(pwrite(fd, record, sizeof record, 0), sizeof record);
    assert_int_equal(names_ask(side.names, 42), 1);
    int closing = open(path, O_RDWR | O_CLOEXEC);
    assert_true(closing >= 0);
    close(closing);
    assert_int_equal(poller_step(world.poller, clock_after(WORLD_PATIENCE)), 1);
    assert_int_equal(side_count(&side, NOTE_GONE, 42), 0);
    struct flock unlock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &unlock), 0);
    side_await(&side, NOTE_GONE, 42, 1);
    close(fd);
    side_close(&side);
    world_close(&world);
}

static void a_restart_between_two_questions_is_reported_as_a_move(void **state)
{
    struct names_world world;
    struct names_side side;
    int status;
    struct claim known;
    world_open(&world);
    side_open(&side, &world, "host", NULL);
    pid_t old = claimant_start(&world, "host", 42, 1000, &status);
    assert_int_equal(names_ask(side.names, 42), 1);
    claimant_kill(old);
    /* The lock shows at once that the claimant has ended. */
    assert_int_equal(names_known(side.names, 42, &known, 1), 0);
    assert_int_equal(side_count(&side, NOTE_GONE, 42), 1);

    old = claimant_start(&world, "host", 42, 1001, &status);
    assert_int_equal(names_ask(side.names, 42), 1);
    claimant_kill(old);
    pid_t next =
        claimant_start(&world, "host", 42, 900, &status); /* with a clock that was set back */
    assert_int_equal(status, 0);
    assert_int_equal(names_ask(side.names, 42), 1);
    assert_int_equal(side_last(&side, NOTE_FOUND, 42)->claim.address.context, (uint64_t)next);
    assert_int_equal(names_known(side.names, 42, &known, 1), 1);
    assert_int_equal(known.address.context, (uint64_t)next);
    claimant_kill(next);
    side_close(&side);
    world_close(&world);
}

/* Files that look like claims but contain no valid record. */
static void invalid_records_are_ignored(void **state)
{
    static const uint8_t key[32] = {1}, other_key[32] = {2};
    struct names_world world;
    struct names_side side, sealed, other;
    struct names_counts counts;
    world_open(&world);
    side_open(&side, &world, "host", NULL);
    int fd = domain_file_lock(world.scratch.folder, "claim.000000000000002a");
    assert_true(fd >= 0);
    assert_int_equal(names_ask(side.names, 42), 0); /* locked and empty */
    uint8_t record[CLAIM_RECORD_SIZE];
    struct seal seal;
    struct claim claim = side_claim(&side, 42, 42, 1);
    assert_int_equal(seal_init(&seal, NULL), 0);
    claim_record_write(&claim, &seal, record);
    record[20] ^= 1;
    assert_int_equal(pwrite(fd, record, sizeof record, 0), sizeof record);
    world_run(&world, NSEC_PER_SEC / 50);
    assert_int_equal(names_ask(side.names, 42), 0);
    claim = side_claim(&side, 43, 43, 1); /* a valid record, of another id */
    claim_record_write(&claim, &seal, record);
    assert_int_equal(pwrite(fd, record, sizeof record, 0), sizeof record);
    assert_int_equal(names_ask(side.names, 42), 0);
    assert_int_equal(side.count, 0);
    assert_int_equal(side_claims(&side, 42, 42, 1), -EADDRINUSE); /* but it is locked */
    close(fd);

    side_open(&sealed, &world, "host", key);
    side_open(&other, &world, "host", other_key);
    assert_int_equal(side_claims(&sealed, 44, 44, 1), 0);
    assert_int_equal(names_ask(sealed.names, 44), 1);
    assert_int_equal(names_ask(other.names, 44), 0);
    names_count(other.names, &counts);
    assert_int_equal(counts.forged, 1);
    side_close(&side);
    side_close(&sealed);
    side_close(&other);
    world_close(&world);
}

static void note_id(void *argument, const struct claim *claim)
{
    uint64_t *sum = argument;
    *sum += claim->id * 1000 + claim->member;
}

static void all_claims_can_be_listed(void **state)
{
    struct names_world world;
    struct names_side one, other;
    int status;
    uint64_t sum = 0;
    world_open(&world);
    side_open(&one, &world, "host", NULL);
    side_open(&other, &world, "host", NULL);
    pid_t dead = claimant_start(&world, "host", 9, 1, &status);
    claimant_kill(dead);
    assert_int_equal(side_claims(&one, 1, 1, 1), 0);
    assert_int_equal(side_claims(&one, 2, 5, 1), 0);
    assert_int_equal(side_claims(&other, 2, 6, 1), 0);
    assert_int_equal(names_list(other.names, note_id, &sum), 3);
    assert_int_equal(sum, 1001 + 2005 + 2006);
    side_close(&one);
    sum = 0;
    world_run(&world, NSEC_PER_SEC / 50);
    names_list(other.names, note_id, &sum);
    assert_int_equal(sum, 2006);
    side_close(&other);
    world_close(&world);
}

/* Where the system has no watches left, the folder is scanned periodically. */
static void without_a_watch_claims_are_found_by_scanning(void **state)
{
    struct names_world world;
    struct names_side one, other;
    world_open(&world);
    side_open(&one, &world, "host", NULL);
    side_open(&other, &world, "host", NULL);
    struct names_tuning tuning = *names_tuning(other.names);
    tuning.rescan_wait = NSEC_PER_SEC / 100;
    names_tune(other.names, &tuning);

    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int known = names_ask(other.names, 42);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(known, 0);
    assert_int_equal(side_claims(&one, 42, 42, 1), 0);
    side_await(&other, NOTE_FOUND, 42, 1);
    names_withdraw(one.names, 42, 42);
    side_await(&other, NOTE_GONE, 42, 1);
    assert_int_equal(side_claims(&one, 42, 4, 1), 0);
    side_await(&other, NOTE_FOUND, 42, 2);
    names_withdraw(one.names, 42, 4);
    side_await(&other, NOTE_GONE, 42, 2);
    side_close(&one);
    side_close(&other);
    world_close(&world);
}

static void opening_without_a_valid_folder_fails(void **state)
{
    struct names_world world;
    struct names *names;
    struct why why = {""};
    char folder[DOMAIN_PATH_MAX + 1];
    world_open(&world);
    struct names_config config = {
        .poller = world.poller, .services = "host", .domain = "test", .events = &side_events};
    assert_int_equal(names_open(&names, &config, &why), -EINVAL);
    memset(folder, 'f', DOMAIN_PATH_MAX);
    folder[DOMAIN_PATH_MAX] = '\0';
    config.folder = folder;
    assert_int_equal(names_open(&names, &config, &why), -EINVAL);
    world_close(&world);
}

/* So many events that the system drops the rest and reports an overflow. */
static void claims_are_found_after_events_were_dropped(void **state)
{
    struct names_world world;
    struct names_side one, other;
    char path[2][96];
    long most = 0;
    FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
    assert_true(file && fscanf(file, "%ld", &most) == 1);
    fclose(file);
    world_open(&world);
    side_open(&one, &world, "host", NULL);
    side_open(&other, &world, "host", NULL);
    assert_int_equal(names_ask(other.names, 7), 0);
    for (unsigned i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/claim.%u", world.scratch.folder, i);
    for (long i = 0; i < most + 10; i++) /* two identical events in a row would be merged */
        close(open(path[i % 2], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(side_claims(&one, 7, 7, 5), 0);
    side_await(&other, NOTE_FOUND, 7, 1);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(unlink(path[i]), 0);
    side_close(&one);
    side_close(&other);
    world_close(&world);
}

TEST_MAIN(TEST(opening_without_a_valid_folder_fails),
          TEST(claims_are_found_after_events_were_dropped),
          TEST(a_claim_is_found_by_a_context_that_asks),
          TEST(new_and_withdrawn_claims_are_reported_to_a_context_that_asked),
          TEST(a_second_live_claim_is_refused), TEST(a_group_has_several_members),
          TEST(a_killed_claimant_is_noticed_and_replaced),
          TEST(a_lock_released_after_its_file_is_closed_is_noticed),
          TEST(a_restart_between_two_questions_is_reported_as_a_move),
          TEST(invalid_records_are_ignored), TEST(all_claims_can_be_listed),
          TEST(without_a_watch_claims_are_found_by_scanning))
