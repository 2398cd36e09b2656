#include "transport/wake/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/wake/sleeper_scene.h"
#include "transport/wake/thread.h"

/* A ball in shared memory that two sides throw to each other. Each sleeps while the other has the
 * ball. The side whose turn it is (odd: the child's) writes, with release. */
struct court {
    _Atomic uint64_t ball;
    /* The last throw of each side: when its ring ended, and whether it woke a sleeper. Written
     * before `rung`, which is written with release. */
    struct {
        _Atomic int64_t at;
        _Atomic bool woke;
        _Atomic uint64_t rung;
    } throws[2];
};

#define STRESS_NSEC (300 * 1000 * 1000LL)
#define GAME_OVER   (1ULL << 62)

static struct ringer open_ringer(struct doorbell *bell)
{
    int fds[DOORBELL_FD_COUNT];
    struct ringer ringer;
    assert_int_equal(doorbell_share(bell, fds), 0);
    assert_int_equal(ringer_open(&ringer, fds), 0);
    return ringer;
}

/* The ball came while a nap ran its full time. On a busy machine that may be chance; but if the
 * thrower saw no sleeper while we slept, a wake-up was lost. */
static bool was_lost(struct court *court, unsigned thrower, uint64_t ball, nsec nap_end)
{
    while (atomic_load_explicit(&court->throws[thrower].rung, memory_order_acquire) != ball)
        cpu_relax();
    return !atomic_load_explicit(&court->throws[thrower].woke, memory_order_relaxed) &&
           atomic_load_explicit(&court->throws[thrower].at, memory_order_relaxed) < nap_end;
}

/* Returns how many wake-ups were lost until the ball came. */
static unsigned await_ball(struct court *court, struct doorbell *bell, unsigned self,
                           uint64_t before, uint64_t *ball)
{
    for (;;) {
        doorbell_prepare(bell, DOORBELL_FUTEX);
        *ball = atomic_load_explicit(&court->ball, memory_order_acquire);
        if (*ball != before) {
            doorbell_cancel(bell);
            return 0;
        }
        nsec nap_end = clock_after(DOORBELL_NAP_NSEC);
        doorbell_wait(bell, NSEC_NEVER);
        bool whole = clock_now() >= nap_end;
        *ball = atomic_load_explicit(&court->ball, memory_order_acquire);
        if (*ball != before)
            return whole && was_lost(court, 1 - self, *ball, nap_end);
    }
}

static void throw_ball(struct court *court, struct ringer *ringer, unsigned self, uint64_t ball)
{
    atomic_store_explicit(&court->ball, ball, memory_order_release);
    bool woke = ringer_ring(ringer);
    atomic_store_explicit(&court->throws[self].woke, woke, memory_order_relaxed);
    atomic_store_explicit(&court->throws[self].at, clock_now(), memory_order_relaxed);
    atomic_store_explicit(&court->throws[self].rung, ball, memory_order_release);
}

/* One side of the game. A little work of varying length between the throws makes the ball come at
 * every point of the other side's way to sleep. */
static unsigned play(struct court *court, struct doorbell *bell, struct ringer *ringer,
                     unsigned self, nsec until, uint64_t *throws)
{
    unsigned lost = 0;
    uint64_t ball = 0;
    while (ball < GAME_OVER) {
        uint64_t before = ball;
        if ((ball & 1) == self) {
            for (unsigned i = 0; i < (ball >> 1) % 61; i++)
                cpu_relax();
            ball = !self && clock_now() >= until ? GAME_OVER : ball + 1;
            throw_ball(court, ringer, self, ball);
            ++*throws;
        } else {
            lost += await_ball(court, bell, self, before, &ball);
        }
    }
    return lost;
}

static void throw_balls(bool fence)
{
    struct memfile file;
    struct doorbell bells[2];
    struct ringer ringers[2];
    assert_int_equal(memfile_open(&file, "court", sizeof(struct court)), 0);
    struct court *court = file.base;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(doorbell_open(&bells[i]), 0);
        ringers[i] = open_ringer(&bells[i]);
        if (fence) { /* as on a kernel without membarrier */
            bells[i].has_membarrier = false;
            ringers[i].must_fence = true;
        }
    }
    nsec until = clock_after(STRESS_NSEC);
    uint64_t throws = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        /* The child is another process, which has to register for itself. */
        struct ringer own = open_ringer(&bells[0]);
        own.must_fence = ringers[0].must_fence;
        _exit(play(court, &bells[1], &own, 1, until, &throws) ? 1 : 0);
    }
    unsigned lost = play(court, &bells[0], &ringers[1], 0, until, &throws);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(lost, 0);
    assert_true(throws > 100);
    for (unsigned i = 0; i < 2; i++) {
        ringer_close(&ringers[i]);
        doorbell_close(&bells[i]);
    }
    memfile_close(&file);
}

static void no_wake_up_is_lost_between_processes(void **state)
{
    throw_balls(false);
}

static void no_wake_up_is_lost_without_membarrier(void **state)
{
    throw_balls(true);
}

/* Only the two loads, without the sleep, as often as possible: in each round one side publishes and
 * looks for a sleeper while the other announces that it sleeps and looks for what is published. One
 * of them must see the other. */
struct rounds {
    alignas(128) _Atomic uint64_t round;     /* written by the sleeper, release, to begin a round */
    alignas(128) _Atomic uint64_t published; /* = round; by the ringer, release */
    alignas(128) _Atomic uint64_t seen; /* round << 1 | saw the sleeper; by the ringer, release */
};

#define ROUNDS_NSEC (300 * 1000 * 1000LL)
#define LAST_ROUND  UINT32_MAX

static uint64_t await_change(_Atomic uint64_t *word, uint64_t before, unsigned shift)
{
    uint64_t value;
    for (unsigned turns = 1;
         (value = atomic_load_explicit(word, memory_order_acquire)) >> shift == before; turns++)
        if (turns % 1024 == 0)
            sched_yield();
    return value;
}

static void ring_rounds(struct rounds *rounds, struct ringer *ringer)
{
    for (uint64_t round = 0; round != LAST_ROUND;) {
        round = await_change(&rounds->round, round, 0);
        for (unsigned i = 0; i < round % 7; i++)
            cpu_relax();
        atomic_store_explicit(&rounds->published, round, memory_order_release);
        uint64_t saw = ringer_ring(ringer);
        atomic_store_explicit(&rounds->seen, round << 1 | saw, memory_order_release);
    }
}

/* Returns how often neither side saw the other. */
static unsigned sleep_rounds(struct rounds *rounds, struct doorbell *bell)
{
    unsigned missed = 0;
    nsec until = clock_after(ROUNDS_NSEC);
    for (uint64_t round = 1, seen = 0; seen >> 1 != LAST_ROUND; round++) {
        if (clock_now() >= until)
            round = LAST_ROUND;
        atomic_store_explicit(&rounds->round, round, memory_order_release);
        for (unsigned i = 0; i < round % 41; i++)
            cpu_relax();
        doorbell_prepare(bell, DOORBELL_FUTEX);
        bool saw = atomic_load_explicit(&rounds->published, memory_order_acquire) == round;
        seen = await_change(&rounds->seen, seen >> 1, 1);
        missed += !saw && !(seen & 1);
        doorbell_cancel(bell);
    }
    return missed;
}

static void ring_and_sleep(bool fence)
{
    struct memfile file;
    struct doorbell bell;
    assert_int_equal(memfile_open(&file, "rounds", sizeof(struct rounds)), 0);
    assert_int_equal(doorbell_open(&bell), 0);
    bell.has_membarrier &= !fence;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        struct ringer ringer = open_ringer(&bell);
        ringer.must_fence |= fence;
        ring_rounds(file.base, &ringer);
        _exit(0);
    }
    unsigned missed = sleep_rounds(file.base, &bell);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(missed, 0);
    doorbell_close(&bell);
    memfile_close(&file);
}

static void sleeper_or_ringer_sees_the_other(void **state)
{
    ring_and_sleep(false);
    ring_and_sleep(true);
}

static void only_a_sleeper_is_woken(void **state)
{
    struct doorbell bell;
    assert_int_equal(doorbell_open(&bell), 0);
    struct ringer ringer = open_ringer(&bell);
    assert_false(ringer_ring(&ringer));
    doorbell_prepare(&bell, DOORBELL_FUTEX);
    doorbell_cancel(&bell);
    assert_false(ringer_ring(&ringer));
    doorbell_prepare(&bell, DOORBELL_FUTEX);
    assert_true(ringer_ring(&ringer));
    assert_false(ringer_ring(&ringer)); /* one ring is enough */
    doorbell_wait(&bell, NSEC_NEVER);   /* rung since prepare: returns at once */
    doorbell_wait(&bell, 1);            /* a deadline long past */
    ringer_close(&ringer);
    ringer_close(&ringer);
    doorbell_close(&bell);
    doorbell_close(&bell);
}

static void an_event_loop_is_woken_by_the_descriptor(void **state)
{
    struct doorbell bell;
    assert_int_equal(doorbell_open(&bell), 0);
    struct ringer ringer = open_ringer(&bell);
    struct pollfd poll_fd = {.fd = bell.event_fd, .events = POLLIN};

    doorbell_prepare(&bell, DOORBELL_FD);
    assert_int_equal(poll(&poll_fd, 1, 0), 0);
    assert_true(ringer_ring(&ringer));
    assert_int_equal(poll(&poll_fd, 1, 1000), 1);
    doorbell_clear(&bell);
    assert_int_equal(poll(&poll_fd, 1, 0), 0);

    doorbell_prepare(&bell, DOORBELL_FD);
    doorbell_prepare(&bell, DOORBELL_FUTEX); /* both at once */
    doorbell_ring(&bell);
    doorbell_wait(&bell, NSEC_NEVER);
    assert_int_equal(poll(&poll_fd, 1, 1000), 1);
    doorbell_clear(&bell);

    doorbell_prepare(&bell, DOORBELL_FD);
    doorbell_cancel(&bell);
    assert_false(ringer_ring(&ringer));
    for (unsigned i = 0; i < 5000; i++) { /* more than the socket holds: never blocks */
        doorbell_prepare(&bell, DOORBELL_FD);
        assert_true(ringer_ring(&ringer));
    }
    doorbell_clear(&bell);
    ringer_close(&ringer);
    doorbell_close(&bell);
}

struct sleepers {
    struct doorbell bell;
    _Atomic unsigned asleep; /* each sleeper adds itself, release */
    _Atomic unsigned ended;
    _Atomic bool over; /* written by the ringer, release */
};

static void *sleep_once(void *argument)
{
    struct sleepers *sleepers = argument;
    atomic_fetch_add_explicit(&sleepers->asleep, 1, memory_order_release);
    while (!atomic_load_explicit(&sleepers->over, memory_order_acquire)) {
        doorbell_prepare(&sleepers->bell, DOORBELL_FUTEX);
        if (atomic_load_explicit(&sleepers->over, memory_order_acquire)) {
            doorbell_cancel(&sleepers->bell);
            break;
        }
        doorbell_wait(&sleepers->bell, NSEC_NEVER);
    }
    atomic_fetch_add_explicit(&sleepers->ended, 1, memory_order_release);
    return NULL;
}

static void several_threads_sleep_on_one_bell(void **state)
{
    struct sleepers sleepers = {0};
    struct thread threads[3] = {0};
    assert_int_equal(doorbell_open(&sleepers.bell), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(thread_start(&threads[i], "sleep", sleep_once, &sleepers), 0);
    while (atomic_load_explicit(&sleepers.asleep, memory_order_acquire) < 3)
        cpu_relax();
    for (unsigned i = 0; i < 100; i++)
        doorbell_ring(&sleepers.bell);
    atomic_store_explicit(&sleepers.over, true, memory_order_release);
    doorbell_ring(&sleepers.bell);
    for (unsigned i = 0; i < 3; i++)
        thread_join(&threads[i]);
    assert_int_equal(sleepers.ended, 3);
    doorbell_close(&sleepers.bell);
}

/* ---- wake-ups: each test fails if the wake-up that it names is deleted ---- */

static struct doorbell slept_on;

static void sleep_by_futex(void *argument)
{
    doorbell_prepare(&slept_on, DOORBELL_FUTEX);
    doorbell_wait(&slept_on, NSEC_NEVER);
}

static void sleep_by_descriptor(void *argument)
{
    doorbell_prepare(&slept_on, DOORBELL_FD);
    doorbell_wait_with(&slept_on, -1, NSEC_NEVER);
}

/* Rings of the owner and of a peer, for both ways to sleep. */
static void a_ring_wakes_a_sleeper_that_has_no_timeout(void **state)
{
    static struct sleeper sleeper;
    assert_int_equal(doorbell_open(&slept_on), 0);
    atomic_store(&doorbell_nap, NSEC_NEVER);
    struct ringer ringer = open_ringer(&slept_on);
    for (unsigned i = 0; i < 4; i++) {
        sleeper_start(&sleeper, i & 1 ? sleep_by_futex : sleep_by_descriptor, NULL);
        if (i & 2)
            assert_true(ringer_ring(&ringer));
        else
            doorbell_ring(&slept_on);
        sleeper_assert_woken(&sleeper);
    }
    atomic_store(&doorbell_nap, DOORBELL_NAP_NSEC);
    ringer_close(&ringer);
    doorbell_close(&slept_on);
}

static void ringing_always_makes_the_descriptor_readable(void **state)
{
    struct doorbell bell;
    assert_int_equal(doorbell_open(&bell), 0);
    struct pollfd poll_fd = {.fd = bell.event_fd, .events = POLLIN};
    doorbell_ring(&bell);
    assert_int_equal(poll(&poll_fd, 1, 0), 0); /* no thread prepared */
    doorbell_ring_always(&bell);
    assert_int_equal(poll(&poll_fd, 1, 0), 1);
    doorbell_close(&bell);
}

static void foreign_descriptors_are_refused_and_closed(void **state)
{
    struct doorbell bell;
    struct ringer ringer;
    int fds[DOORBELL_FD_COUNT];
    assert_int_equal(doorbell_open(&bell), 0);
    for (unsigned i = 0; i < DOORBELL_FD_COUNT; i++) {
        assert_int_equal(doorbell_share(&bell, fds), 0);
        close(fds[i]);
        fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
        assert_int_equal(ringer_open(&ringer, fds), -EPROTO);
        assert_int_equal(fcntl(fds[0], F_GETFD), -1);
        assert_int_equal(fcntl(fds[1], F_GETFD), -1);
    }
    const int none[DOORBELL_FD_COUNT] = {-1, -1};
    assert_int_equal(ringer_open(&ringer, none), -EPROTO);
    doorbell_close(&bell);
}

static void random_data_in_the_page_costs_at_most_a_nap(void **state)
{
    struct doorbell bell;
    assert_int_equal(doorbell_open(&bell), 0);
    struct ringer ringer = open_ringer(&bell);
    for (unsigned byte = 0; byte < 256; byte++) {
        doorbell_prepare(&bell, DOORBELL_FUTEX);
        memset(bell.file.base, (int)byte, 64);
        doorbell_cancel(&bell);
        doorbell_prepare(&bell, DOORBELL_FUTEX);
        ringer_ring(&ringer);
        doorbell_wait(&bell, clock_after(1000));
    }
    ringer_close(&ringer);
    doorbell_close(&bell);
}

/* ---- a bell on the caller's memory ---- */

struct bench { /* in shared memory that the child maps again */
    alignas(DOORBELL_PLACED_SIZE) uint8_t bells[2][DOORBELL_PLACED_SIZE];
    alignas(64) struct court court;
};

/* Plays until the game is over, on a second mapping of the same memory. */
static int play_far(struct memfile *file)
{
    struct memfile mapped;
    if (memfile_map(&mapped, memfile_share(file, 1), sizeof(struct bench), 1))
        return 1;
    struct bench *bench = mapped.base;
    struct doorbell bell;
    struct ringer ringer;
    doorbell_open_on(&bell, bench->bells[1]);
    ringer_open_on(&ringer, bench->bells[0]);
    unsigned lost = 0;
    for (uint64_t ball = 0; ball < GAME_OVER;) {
        uint64_t came;
        lost += await_ball(&bench->court, &bell, 1, ball, &came);
        ball = came + 1;
        throw_ball(&bench->court, &ringer, 1, ball);
    }
    ringer_close(&ringer);
    doorbell_close(&bell);
    bool there = atomic_load(&bench->court.ball) > 0; /* closing unmapped nothing of ours */
    memfile_close(&mapped);
    return lost || !there;
}

static void a_bell_on_the_memory_of_its_caller_loses_no_wake_up(void **state)
{
    struct memfile file;
    assert_int_equal(memfile_open(&file, "test", sizeof(struct bench)), 0);
    struct bench *bench = file.base;
    struct doorbell bell;
    struct ringer ringer;
    doorbell_open_on(&bell, bench->bells[0]);
    pid_t child = fork();
    if (child == 0)
        _exit(play_far(&file));
    ringer_open_on(&ringer, bench->bells[1]);
    unsigned lost = 0;
    uint64_t ball = 0;
    for (nsec end = clock_after(STRESS_NSEC); clock_now() < end;) {
        throw_ball(&bench->court, &ringer, 0, ball + 1);
        lost += await_ball(&bench->court, &bell, 0, ball + 1, &ball);
    }
    throw_ball(&bench->court, &ringer, 0, GAME_OVER);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(lost, 0);
    assert_true(ball > 100);
    ringer_close(&ringer);
    doorbell_close(&bell);
    assert_int_equal(atomic_load(&bench->court.ball), GAME_OVER + 1); /* still mapped */
    memfile_close(&file);
}

static void *sleeper_is_seen(void *argument)
{
    assert_true(doorbell_is_slept_on(argument));
    return NULL;
}

/* A peer may set the bit of a waiting event loop there, but there is no descriptor to ring. */
static void random_data_in_a_placed_bell_costs_at_most_a_nap(void **state)
{
    struct memfile file;
    assert_int_equal(memfile_open(&file, "test", 4096), 0);
    struct doorbell bell;
    struct ringer ringer;
    doorbell_open_on(&bell, file.base);
    ringer_open_on(&ringer, file.base);
    assert_false(doorbell_is_slept_on(&bell));
    assert_false(ringer_ring(&ringer));
    for (unsigned byte = 0; byte < 256; byte++) {
        doorbell_prepare(&bell, DOORBELL_FUTEX);
        memset(file.base, (int)byte, DOORBELL_PLACED_SIZE);
        doorbell_ring(&bell);
        memset(file.base, (int)byte, DOORBELL_PLACED_SIZE);
        ringer_ring(&ringer);
        doorbell_wait(&bell, clock_after(1000));
    }
    memset(file.base, 0, DOORBELL_PLACED_SIZE);
    doorbell_prepare(&bell, DOORBELL_FUTEX);
    assert_false(doorbell_is_slept_on(&bell)); /* only we sleep on it */
    struct thread other = {0};
    assert_int_equal(thread_start(&other, "other", sleeper_is_seen, &bell), 0);
    thread_join(&other);
    assert_true(ringer_ring(&ringer));
    doorbell_wait(&bell, NSEC_NEVER); /* returns: it was rung */
    ringer_close(&ringer);
    doorbell_close(&bell);
    doorbell_close(&bell); /* harmless */
    memfile_close(&file);
}

/* ---- signals ---- */

static volatile sig_atomic_t handled_count; /* written by the handler of SIGUSR1 */

static void count_handled(int number)
{
    (void)number;
    handled_count = handled_count + 1;
}

/* Blocks SIGUSR1, whose handler counts, and returns the mask without it. */
static sigset_t block_and_count(int flags)
{
    struct sigaction action = {.sa_handler = count_handled, .sa_flags = flags};
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    handled_count = 0;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
    return before;
}

static void a_signal_from_before_the_sleep_ends_it(void **state)
{
    static const int flags[] = {0, SA_RESTART};
    for (int i = 0; i < 2; i++) {
        struct doorbell bell;
        sigset_t mask = block_and_count(flags[i]);
        assert_int_equal(doorbell_open(&bell), 0);
        raise(SIGUSR1); /* it is blocked, and waits */
        doorbell_prepare(&bell, DOORBELL_FD);
        assert_int_equal(handled_count, 0);
        assert_int_equal(doorbell_wait_interruptibly(&bell, &mask, NSEC_NEVER), -EINTR);
        assert_int_equal(handled_count, 1);
        doorbell_ring(&bell); /* the sleeper has left: nothing is sent */
        doorbell_prepare(&bell, DOORBELL_FD);
        assert_int_equal(doorbell_wait_interruptibly(&bell, &mask, clock_now()), 0);
        doorbell_prepare(&bell, DOORBELL_FD);
        doorbell_ring(&bell);
        assert_int_equal(doorbell_wait_interruptibly(&bell, &mask, NSEC_NEVER), 0);
        doorbell_close(&bell);
        pthread_sigmask(SIG_SETMASK, &mask, NULL);
    }
}

struct interrupted {
    struct doorbell bell;
    enum doorbell_sleep how;
    sigset_t mask;
    pthread_t thread;
    _Atomic bool ready; /* the sleeper stores it with release, after `thread` */
    int result;
};

static void sleep_interruptibly(void *argument)
{
    struct interrupted *scene = argument;
    sigset_t blocked = scene->mask;
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    scene->thread = pthread_self();
    atomic_store_explicit(&scene->ready, true, memory_order_release);
    doorbell_prepare(&scene->bell, scene->how);
    scene->result = doorbell_wait_interruptibly(&scene->bell, &scene->mask, NSEC_NEVER);
}

static void a_signal_or_a_ring_ends_a_sleep_that_has_begun(void **state)
{
    static struct interrupted scenes[8];
    static struct sleeper sleepers[8];
    atomic_store(&doorbell_nap, NSEC_NEVER);
    for (unsigned i = 0; i < 8; i++) {
        struct interrupted *scene = &scenes[i];
        bool ring = i & 4;
        scene->how = i & 1 ? DOORBELL_FD : DOORBELL_FUTEX;
        scene->mask = block_and_count(i & 2 ? SA_RESTART : 0);
        assert_int_equal(doorbell_open(&scene->bell), 0);
        sleeper_start(&sleepers[i], sleep_interruptibly, scene);
        assert_true(atomic_load_explicit(&scene->ready, memory_order_acquire));
        if (ring)
            doorbell_ring(&scene->bell);
        else
            assert_int_equal(pthread_kill(scene->thread, SIGUSR1), 0);
        sleeper_assert_woken(&sleepers[i]);
        assert_int_equal(scene->result, ring ? 0 : -EINTR);
        assert_int_equal(handled_count, !ring);
        doorbell_close(&scene->bell);
        pthread_sigmask(SIG_SETMASK, &scene->mask, NULL);
    }
    atomic_store(&doorbell_nap, DOORBELL_NAP_NSEC);
}

TEST_MAIN(TEST(a_signal_from_before_the_sleep_ends_it),
          TEST(a_signal_or_a_ring_ends_a_sleep_that_has_begun),
          TEST(no_wake_up_is_lost_between_processes), TEST(no_wake_up_is_lost_without_membarrier),
          TEST(sleeper_or_ringer_sees_the_other), TEST(only_a_sleeper_is_woken),
          TEST(an_event_loop_is_woken_by_the_descriptor), TEST(several_threads_sleep_on_one_bell),
          TEST(a_ring_wakes_a_sleeper_that_has_no_timeout),
          TEST(ringing_always_makes_the_descriptor_readable),
          TEST(foreign_descriptors_are_refused_and_closed),
          TEST(random_data_in_the_page_costs_at_most_a_nap),
          TEST(a_bell_on_the_memory_of_its_caller_loses_no_wake_up),
          TEST(random_data_in_a_placed_bell_costs_at_most_a_nap))
