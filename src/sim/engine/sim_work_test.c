/* Checks when functions of services run and end in simulated time. */
#include "sim/engine/sim_work.h"

#include <errno.h>

#include "base/test.h"

struct job {
    struct work_operation operation;
    unsigned ran, done;
    psec at; /* when it was done */
    struct job *next;
};

static struct sim_work *work;
static psec now;

static int64_t run(struct work_operation *operation)
{
    return ++((struct job *)operation)->ran;
}

static void done(struct work_operation *operation)
{
    struct job *job = (struct job *)operation;
    job->done++;
    job->at = now;
    if (job->next)
        sim_work_submit(work, now, &job->next->operation);
}

static struct job job_make(int64_t takes)
{
    return (struct job){.operation = {.run = run, .done = done, .takes = takes}};
}

static void begin(uint64_t seed)
{
    now = 0;
    assert_int_equal(sim_work_open(&work, seed, 1, NULL), OK);
    assert_true(sim_work_next(work) == PSEC_NEVER);
}

static void drain(void)
{
    while (sim_work_next(work) != PSEC_NEVER) {
        now = sim_work_next(work);
        sim_work_run(work, now);
    }
}

static void a_function_takes_the_time_that_its_service_states(void **state)
{
    struct job late = job_make(2000), early = job_make(1000), next = job_make(500);
    early.next = &next;
    begin(1);
    sim_work_submit(work, 0, &late.operation);
    sim_work_submit(work, 0, &early.operation);
    assert_int_equal(late.done + early.done, 0); /* never at once */
    drain();
    assert_true(early.at == 1000 * PSEC_PER_NSEC);
    assert_true(next.at == 1500 * PSEC_PER_NSEC);
    assert_true(late.at == 2000 * PSEC_PER_NSEC);
    assert_int_equal(late.ran, 1);
    assert_int_equal(late.operation.result, 1);
    sim_work_close(work);
}

static void the_seed_decides_when_a_function_runs_and_ends(void **state)
{
    unsigned early = 0, differ = 0;
    psec first = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        psec at[2];
        for (unsigned turn = 0; turn < 2; turn++) {
            struct job job = job_make(0);
            begin(seed);
            sim_work_submit(work, 0, &job.operation);
            early += job.ran;
            drain();
            at[turn] = job.at;
            assert_int_equal(job.ran, 1);
            assert_int_equal(job.done, 1);
            sim_work_close(work);
        }
        assert_true(at[0] == at[1] && at[0] > 0); /* the same seed, the same time */
        differ += at[0] != first;
        first = at[0];
    }
    assert_true(early > 100 && early < 300); /* of 400 */
    assert_true(differ > 190);
}

static void a_cancelled_function_that_did_not_run_ends_at_once(void **state)
{
    unsigned at_once = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct job job = job_make(1000), other = job_make(100);
        begin(seed);
        sim_work_submit(work, 0, &job.operation);
        sim_work_submit(work, 0, &other.operation);
        bool ran = job.ran;
        atomic_store_explicit(&job.operation.cancelled, true, memory_order_relaxed);
        sim_work_cancel(work, 10, &job.operation);
        assert_int_equal(job.done, 0);
        drain();
        assert_true(job.at == (ran ? 1000 * PSEC_PER_NSEC : 10));
        assert_int_equal(job.operation.result, ran ? 1 : -ECANCELED);
        assert_int_equal(job.ran, ran);
        assert_int_equal(other.done, 1);
        at_once += !ran;
        sim_work_close(work);
    }
    assert_true(at_once > 0 && at_once < 50);
}

static void a_child_ends_at_its_limit_and_when_it_is_cancelled(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct job late = job_make(5000), killed = job_make(3000), good = job_make(1000);
        late.operation.child = killed.operation.child = good.operation.child = &late;
        late.operation.limit = 2000;
        killed.operation.limit = good.operation.limit = 4000;
        begin(seed);
        sim_work_submit(work, 0, &late.operation);
        sim_work_submit(work, 0, &killed.operation);
        sim_work_submit(work, 0, &good.operation);
        atomic_store_explicit(&killed.operation.cancelled, true, memory_order_relaxed);
        sim_work_cancel(work, 10, &killed.operation);
        drain();
        assert_int_equal(late.operation.result, -ETIME);
        assert_true(late.at == 2000 * PSEC_PER_NSEC && !late.ran);
        assert_int_equal(killed.operation.result, -ECANCELED);
        assert_true(killed.at == 10);
        assert_int_equal(good.operation.result, 1);
        sim_work_close(work);
    }
}

static void a_server_that_ends_gets_no_results(void **state)
{
    struct job jobs[10];
    begin(3);
    for (unsigned i = 0; i < 10; i++) {
        jobs[i] = job_make(0);
        sim_work_submit(work, 0, &jobs[i].operation);
    }
    sim_work_end(work);
    assert_true(sim_work_next(work) == PSEC_NEVER);
    drain();
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(jobs[i].done, 0);
    sim_work_close(work);
}

TEST_MAIN(TEST(a_function_takes_the_time_that_its_service_states),
          TEST(the_seed_decides_when_a_function_runs_and_ends),
          TEST(a_cancelled_function_that_did_not_run_ends_at_once),
          TEST(a_child_ends_at_its_limit_and_when_it_is_cancelled),
          TEST(a_server_that_ends_gets_no_results))
