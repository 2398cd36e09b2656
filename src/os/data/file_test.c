/* Checks the order of operations on one file. A fake engine holds the jobs until the test ends
 * them, in any order and with any result. */
#include "os/data/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define JOBS 512

struct scene {
    struct list touched;
    struct file_events events;
    struct file *file;
    struct disk_file handle;
    struct disk_job *jobs[JOBS]; /* that run, in the order in which they began */
    unsigned job_count;
    char log[4000]; /* what was done: kinds and results */
};

static void on_begin(void *owner, struct disk_job *job)
{
    struct scene *scene = owner;
    assert_true(scene->job_count < JOBS);
    scene->jobs[scene->job_count++] = job;
}

static void on_finish(void *owner, struct disk_operation *operation, int64_t result)
{
    static const char kinds[] = "ocrwas";
    struct scene *scene = owner;
    size_t size = strlen(scene->log);
    snprintf(scene->log + size, sizeof scene->log - size, "%c%d ", kinds[operation->kind],
             (int)result);
    operation->result = result;
    operation->done(operation);
}

static void quiet(struct disk_operation *operation)
{
}

/* In an array of operations, in the order of calls: a sync ends after all before it that write. */
static struct disk_operation *in_order;
static const char is_done[] = "done";

static void ordered(struct disk_operation *operation)
{
    for (struct disk_operation *before = in_order; before < operation; before++)
        if (operation->kind == DISK_SYNC && before->kind != DISK_SYNC)
            assert_true(before->folder == is_done);
    operation->folder = is_done;
}

static void scene_open(struct scene *scene, uint64_t size)
{
    *scene = (struct scene){.events = {on_begin, on_finish, &scene->touched, scene}};
    list_init(&scene->touched);
    scene->file = file_make(7, size, &scene->events);
    scene->handle.world = scene->file;
}

static void scene_close(struct scene *scene)
{
    file_drop(scene->file);
    for (unsigned i = 0; i < scene->job_count; i++) { /* they end; nothing is reported */
        for (struct disk_job *job = scene->jobs[i], *then; job; job = then) {
            then = job->then;
            job->done(job);
        }
    }
    file_free(scene->file);
}

static struct disk_operation make(struct scene *scene, enum disk_kind kind, uint32_t size,
                                  uint64_t offset)
{
    static char memory[100000];
    return (struct disk_operation){.kind = kind,
                                   .size = size,
                                   .offset = offset,
                                   .bytes = memory,
                                   .file = &scene->handle,
                                   .done = quiet};
}

static void begin(struct scene *scene, struct disk_operation *operation)
{
    assert_true(file_begin(scene->file, operation));
}

/* Ends the job at that place with a result, and lets others begin. */
static void end(struct scene *scene, unsigned index, int64_t result)
{
    struct disk_job *job = scene->jobs[index];
    assert_true(index < scene->job_count);
    memmove(scene->jobs + index, scene->jobs + index + 1,
            (--scene->job_count - index) * sizeof *scene->jobs);
    struct disk_job *then = job->then;
    bool all = result == (int64_t)disk_job_bytes(job);
    job->result = result;
    if (then && all) { /* now the next job runs; the first is reported together with it */
        scene->jobs[scene->job_count++] = then;
        job->done(job);
        return;
    }
    job->done(job);
    for (; then; then = job) {
        job = then->then;
        then->result = -ECANCELED;
        then->done(then);
    }
    file_flush(&scene->touched);
}

static void appends_of_one_pass_are_one_job(void **state)
{
    struct scene scene;
    struct disk_operation appends[5];
    scene_open(&scene, 1000);
    for (unsigned i = 0; i < 3; i++) {
        appends[i] = make(&scene, DISK_APPEND, 100 + i, 0);
        begin(&scene, &appends[i]);
    }
    assert_int_equal(scene.job_count, 0); /* not before the end of the pass */
    file_flush(&scene.touched);
    assert_int_equal(scene.job_count, 1);
    assert_int_equal(scene.jobs[0]->count, 3);
    assert_true(scene.jobs[0]->offset == 1000 && scene.jobs[0]->fd == 7);
    for (unsigned i = 3; i < 5; i++) {
        appends[i] = make(&scene, DISK_APPEND, 10, 0);
        begin(&scene, &appends[i]);
    }
    file_flush(&scene.touched);
    assert_int_equal(scene.job_count, 1); /* they wait for the batch before */
    end(&scene, 0, 303);
    assert_string_equal(scene.log, "a1000 a1100 a1201 ");
    assert_int_equal(scene.job_count, 1);
    assert_true(scene.jobs[0]->offset == 1303 && scene.jobs[0]->count == 2);
    end(&scene, 0, 20);
    assert_string_equal(scene.log, "a1000 a1100 a1201 a1303 a1313 ");
    assert_int_equal(file_size(scene.file), 1323);
    scene_close(&scene);
}

static void a_batch_is_limited(void **state)
{
    struct scene scene;
    static struct disk_operation appends[150];
    scene_open(&scene, 0);
    for (unsigned i = 0; i < 150; i++) {
        appends[i] = make(&scene, DISK_APPEND, 1, 0);
        begin(&scene, &appends[i]);
    }
    file_flush(&scene.touched);
    unsigned jobs = 0;
    for (; scene.job_count; jobs++)
        end(&scene, 0, scene.jobs[0]->count);
    assert_int_equal(jobs, 3);
    assert_int_equal(file_size(scene.file), 150);
    scene_close(&scene);
}

/* Three appends, of which each is a job, and a sync. */
static void chain_begin(struct scene *scene, struct disk_operation appends[3],
                        struct disk_operation *sync)
{
    for (unsigned i = 0; i < 3; i++) {
        appends[i] = make(scene, DISK_APPEND, 40000, 0);
        begin(scene, &appends[i]);
    }
    *sync = make(scene, DISK_SYNC, 0, 0);
    begin(scene, sync);
    file_flush(&scene->touched);
    assert_int_equal(scene->job_count, 1);
}

static void large_appends_are_a_chain_of_jobs(void **state)
{
    struct scene scene;
    struct disk_operation appends[3], sync;
    scene_open(&scene, 100);
    chain_begin(&scene, appends, &sync);
    for (unsigned i = 0; i < 3; i++) {
        assert_string_equal(scene.log, "");
        assert_int_equal(scene.jobs[0]->count, 1);
        assert_true(scene.jobs[0]->offset == 100 + 40000 * i);
        end(&scene, 0, 40000);
        assert_int_equal(scene.job_count, 1);
    }
    assert_string_equal(scene.log, "a100 a40100 a80100 ");
    assert_int_equal(scene.jobs[0]->kind, JOB_SYNC);
    end(&scene, 0, 0);
    assert_string_equal(scene.log, "a100 a40100 a80100 s0 ");
    scene_close(&scene);
}

static void a_chain_ends_with_the_job_that_fails(void **state)
{
    struct scene scene;
    struct disk_operation appends[3], sync;
    scene_open(&scene, 0);
    chain_begin(&scene, appends, &sync);
    end(&scene, 0, 40000);
    end(&scene, 0, 1000); /* the rest is written anew, without the sync */
    assert_string_equal(scene.log, "");
    assert_int_equal(scene.job_count, 1);
    assert_true(scene.jobs[0]->offset == 41000 && scene.jobs[0]->then &&
                !scene.jobs[0]->then->then);
    end(&scene, 0, 39000);
    end(&scene, 0, -ENOSPC);
    assert_int_equal(appends[0].result, 0);
    assert_int_equal(appends[1].result, 40000);
    assert_int_equal(appends[2].result, -ENOSPC);
    assert_int_equal(file_size(scene.file), 80000);
    assert_int_equal(scene.jobs[0]->kind, JOB_SYNC);
    end(&scene, 0, 0);
    assert_int_equal(sync.result, 0);
    scene_close(&scene);
}

static void a_short_write_continues_where_it_ended(void **state)
{
    struct scene scene;
    scene_open(&scene, 0);
    struct disk_operation first = make(&scene, DISK_APPEND, 100, 0), second = first, write;
    begin(&scene, &first);
    begin(&scene, &second);
    file_flush(&scene.touched);
    end(&scene, 0, 30);
    assert_int_equal(scene.jobs[0]->count, 2);
    assert_int_equal(scene.jobs[0]->offset, 30);
    assert_int_equal(scene.jobs[0]->vector[0].iov_len, 70);
    end(&scene, 0, 100);
    assert_int_equal(scene.jobs[0]->count, 1);
    assert_int_equal(scene.jobs[0]->vector[0].iov_len, 70);
    assert_ptr_equal(scene.jobs[0]->vector[0].iov_base, (char *)second.bytes + 30);
    assert_string_equal(scene.log, "");
    end(&scene, 0, 70);
    assert_string_equal(scene.log, "a0 a100 ");
    write = make(&scene, DISK_WRITE, 50, 500);
    begin(&scene, &write);
    file_flush(&scene.touched);
    end(&scene, 0, 20);
    assert_int_equal(scene.jobs[0]->offset, 520);
    assert_int_equal(scene.jobs[0]->vector[0].iov_len, 30);
    end(&scene, 0, 30);
    assert_string_equal(scene.log, "a0 a100 w50 ");
    assert_int_equal(file_size(scene.file), 550);
    scene_close(&scene);
}

static void a_failed_append_leaves_no_gap(void **state)
{
    struct scene scene;
    struct disk_operation appends[3];
    scene_open(&scene, 0);
    for (unsigned i = 0; i < 3; i++) {
        appends[i] = make(&scene, DISK_APPEND, 100, 0);
        begin(&scene, &appends[i]);
    }
    file_flush(&scene.touched);
    end(&scene, 0, 150);
    end(&scene, 0, -ENOSPC);
    assert_string_equal(scene.log, "a0 a-28 a-28 ");
    assert_int_equal(file_size(scene.file), 100);
    struct disk_operation next = make(&scene, DISK_APPEND, 10, 0);
    begin(&scene, &next);
    file_flush(&scene.touched);
    assert_int_equal(scene.jobs[0]->offset, 100);
    end(&scene, 0, 10);
    assert_int_equal(next.result, 100);
    scene_close(&scene);
}

static void a_sync_waits_for_what_was_called_before_it_and_nothing_else(void **state)
{
    struct scene scene;
    scene_open(&scene, 0);
    struct disk_operation write = make(&scene, DISK_WRITE, 10, 50);
    struct disk_operation append = make(&scene, DISK_APPEND, 20, 0);
    struct disk_operation sync = make(&scene, DISK_SYNC, 0, 0), later = sync;
    struct disk_operation read = make(&scene, DISK_READ, 10, 0), write_later = write;
    begin(&scene, &write);
    begin(&scene, &read);
    begin(&scene, &append);
    begin(&scene, &sync);
    begin(&scene, &write_later);
    begin(&scene, &later);
    file_flush(&scene.touched);
    assert_int_equal(scene.job_count, 4); /* read, write, later write, append */
    end(&scene, 3, 20);
    assert_int_equal(scene.job_count, 3);
    end(&scene, 1, 10); /* the write: now the first sync begins */
    assert_int_equal(scene.job_count, 3);
    assert_int_equal(scene.jobs[2]->kind, JOB_SYNC);
    end(&scene, 1, 10); /* the later write: its sync waits for the one that runs */
    assert_int_equal(scene.job_count, 2);
    end(&scene, 1, 0);
    assert_string_equal(scene.log, "a0 w10 w10 s0 ");
    assert_int_equal(scene.jobs[1]->kind, JOB_SYNC);
    end(&scene, 1, 0);
    end(&scene, 0, 0); /* the read, at the end of the file */
    assert_string_equal(scene.log, "a0 w10 w10 s0 s0 r0 ");
    scene_close(&scene);
}

static void a_sync_begins_together_with_the_appends_that_it_waits_for(void **state)
{
    struct scene scene;
    scene_open(&scene, 0);
    struct disk_operation first = make(&scene, DISK_APPEND, 20, 0), second = first, third = first;
    struct disk_operation sync = make(&scene, DISK_SYNC, 0, 0), later = sync;
    begin(&scene, &first);
    begin(&scene, &sync);
    file_flush(&scene.touched);
    assert_int_equal(scene.job_count, 1);
    assert_int_equal(scene.jobs[0]->then->fd, 7);
    end(&scene, 0, 20);
    assert_string_equal(scene.log, "a0 ");
    end(&scene, 0, 0);
    assert_string_equal(scene.log, "a0 s0 ");
    /* A short write stops the sync, which then runs after the rest. */
    begin(&scene, &second);
    begin(&scene, &later);
    begin(&scene, &third); /* the sync does not cover it, but may begin after it */
    file_flush(&scene.touched);
    assert_non_null(scene.jobs[0]->then);
    end(&scene, 0, 5);
    assert_int_equal(scene.job_count, 1);
    assert_null(scene.jobs[0]->then);
    end(&scene, 0, 35);
    assert_string_equal(scene.log, "a0 s0 a20 a40 ");
    assert_int_equal(scene.jobs[0]->kind, JOB_SYNC);
    end(&scene, 0, 0);
    assert_string_equal(scene.log, "a0 s0 a20 a40 s0 ");
    /* A write elsewhere keeps the sync from beginning early. */
    struct disk_operation write = make(&scene, DISK_WRITE, 10, 0);
    begin(&scene, &write);
    begin(&scene, &first);
    begin(&scene, &sync);
    file_flush(&scene.touched);
    assert_int_equal(scene.job_count, 2);
    assert_null(scene.jobs[1]->then);
    end(&scene, 1, 20);
    end(&scene, 0, 10);
    assert_int_equal(scene.jobs[0]->kind, JOB_SYNC);
    end(&scene, 0, 0);
    /* A failed write fails its append; the sync succeeds, for what was written before. */
    begin(&scene, &first);
    begin(&scene, &sync);
    file_flush(&scene.touched);
    end(&scene, 0, -ENOSPC);
    assert_int_equal(first.result, -ENOSPC);
    end(&scene, 0, 0);
    assert_int_equal(sync.result, 0);
    scene_close(&scene);
}

static void a_sync_begins_together_with_the_one_write_that_it_waits_for(void **state)
{
    struct scene scene;
    scene_open(&scene, 100);
    struct disk_operation write = make(&scene, DISK_WRITE, 20, 100), second = write;
    struct disk_operation sync = make(&scene, DISK_SYNC, 0, 0);
    begin(&scene, &write);
    begin(&scene, &sync);
    assert_int_equal(scene.job_count, 0);
    file_flush(&scene.touched);
    assert_int_equal(scene.job_count, 1);
    assert_int_equal(scene.jobs[0]->then->kind, JOB_SYNC);
    end(&scene, 0, 20);
    end(&scene, 0, 0);
    assert_string_equal(scene.log, "w20 s0 ");
    /* A short write stops the sync, which then runs after the rest. */
    begin(&scene, &write);
    begin(&scene, &sync);
    file_flush(&scene.touched);
    end(&scene, 0, 5);
    assert_int_equal(scene.job_count, 1);
    assert_true(scene.jobs[0]->offset == 105 && !scene.jobs[0]->then);
    end(&scene, 0, 15);
    assert_int_equal(scene.jobs[0]->kind, JOB_SYNC);
    end(&scene, 0, 0);
    assert_string_equal(scene.log, "w20 s0 w20 s0 ");
    /* Of two writes, which may end in any order, none is followed by the sync. */
    begin(&scene, &write);
    begin(&scene, &second);
    begin(&scene, &sync);
    file_flush(&scene.touched);
    assert_int_equal(scene.job_count, 2);
    assert_true(!scene.jobs[0]->then && !scene.jobs[1]->then);
    end(&scene, 1, 20);
    end(&scene, 0, 20);
    end(&scene, 0, 0);
    /* A failed write fails; the sync succeeds, for what was written before. */
    begin(&scene, &write);
    begin(&scene, &sync);
    file_flush(&scene.touched);
    end(&scene, 0, -EIO);
    assert_int_equal(write.result, -EIO);
    end(&scene, 0, 0);
    assert_int_equal(sync.result, 0);
    scene_close(&scene);
}

static void syncs_that_wait_are_made_together(void **state)
{
    struct scene scene;
    struct disk_operation syncs[10];
    scene_open(&scene, 0);
    for (unsigned i = 0; i < 10; i++) {
        syncs[i] = make(&scene, DISK_SYNC, 0, 0);
        begin(&scene, &syncs[i]);
        file_flush(&scene.touched);
    }
    assert_int_equal(scene.job_count, 1);
    end(&scene, 0, 0);
    assert_string_equal(scene.log, "s0 ");
    assert_int_equal(scene.job_count, 1);
    end(&scene, 0, 0);
    assert_int_equal(scene.job_count, 0);
    assert_int_equal(strlen(scene.log), 30);
    scene_close(&scene);
}

static void a_sync_fails_after_a_failed_sync(void **state)
{
    struct scene scene;
    scene_open(&scene, 0);
    struct disk_operation first = make(&scene, DISK_SYNC, 0, 0), second = first, third = first;
    begin(&scene, &first);
    file_flush(&scene.touched);
    begin(&scene, &second); /* waits for the first */
    file_flush(&scene.touched);
    end(&scene, 0, -EIO);
    assert_int_equal(first.result, -EIO);
    end(&scene, 0, 0); /* the kernel reports each error once */
    assert_int_equal(second.result, -EIO);
    assert_false(file_begin(scene.file, &third));
    assert_int_equal(third.result, -EIO);
    scene_close(&scene);
}

static void a_read_ends_at_the_end_of_the_file(void **state)
{
    struct scene scene;
    scene_open(&scene, 0);
    struct disk_operation read = make(&scene, DISK_READ, 100, 5);
    begin(&scene, &read);
    end(&scene, 0, 60);
    assert_int_equal(scene.jobs[0]->offset, 65);
    end(&scene, 0, 0);
    begin(&scene, &read);
    end(&scene, 0, -EIO);
    assert_string_equal(scene.log, "r60 r-5 ");
    scene_close(&scene);
}

/* Random operations, ended in random order: every one is reported once, appends have disjoint
 * places in the order of calls, and no sync ends before an earlier write. */
static void random_orders_keep_the_promises(void **state)
{
    print_message("# seeds 1 to 200\n");
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rng rng = rng_make(seed, 1);
        struct scene scene;
        static struct disk_operation operations[200];
        unsigned called = 0;
        in_order = operations;
        scene_open(&scene, 0);
        while (called < 200 || scene.job_count) {
            if (called < 200 && rng_below(&rng, 2)) {
                uint64_t kind = rng_below(&rng, 3), most = rng_below(&rng, 4) ? 50 : 50000;
                operations[called] = make(&scene,
                                          kind == 0   ? DISK_APPEND
                                          : kind == 1 ? DISK_SYNC
                                                      : DISK_WRITE,
                                          1 + (uint32_t)rng_below(&rng, most), 0);
                operations[called].done = ordered;
                operations[called].result = INT64_MIN;
                begin(&scene, &operations[called++]);
            } else if (scene.job_count) {
                unsigned index = (unsigned)rng_below(&rng, scene.job_count);
                const struct disk_job *job = scene.jobs[index];
                size_t all = 0;
                for (unsigned i = 0; i < job->count; i++)
                    all += job->vector[i].iov_len;
                end(&scene, index, all ? 1 + (int64_t)rng_below(&rng, all) : 0);
            } else {
                file_flush(&scene.touched);
            }
        }
        uint64_t place = 0;
        for (unsigned i = 0; i < 200; i++) {
            assert_true(operations[i].result >= 0);
            if (operations[i].kind != DISK_APPEND)
                continue;
            assert_true((uint64_t)operations[i].result >= place);
            place = (uint64_t)operations[i].result + operations[i].size;
        }
        scene_close(&scene);
    }
}

TEST_MAIN(TEST(appends_of_one_pass_are_one_job), TEST(a_batch_is_limited),
          TEST(large_appends_are_a_chain_of_jobs), TEST(a_chain_ends_with_the_job_that_fails),
          TEST(a_short_write_continues_where_it_ended), TEST(a_failed_append_leaves_no_gap),
          TEST(a_sync_waits_for_what_was_called_before_it_and_nothing_else),
          TEST(a_sync_begins_together_with_the_appends_that_it_waits_for),
          TEST(a_sync_begins_together_with_the_one_write_that_it_waits_for),
          TEST(syncs_that_wait_are_made_together), TEST(a_sync_fails_after_a_failed_sync),
          TEST(a_read_ends_at_the_end_of_the_file), TEST(random_orders_keep_the_promises))
