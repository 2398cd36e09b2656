/* Checks functions that run on threads of a crew. */
#include "os/work/crew.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/clock.h"

#define JOBS        40
#define PATIENCE_MS 60000

struct job {
    struct work_operation operation;
    int64_t value;
    bool done;
    sem_t *begun, *go; /* NULL: it does not wait */
};

struct scene {
    struct crew *crew;
    struct crew_server *server;
    unsigned ready, late;
};

static void on_ready(void *owner)
{
    ((struct scene *)owner)->ready++;
}

static void on_late(void *owner, const char *service)
{
    assert_string_equal(service, "tester");
    ((struct scene *)owner)->late++;
}

static void scene_open(struct scene *scene)
{
    struct why why = {0};
    const struct crew_events events = {.ready = on_ready, .late = on_late, .owner = scene};
    *scene = (struct scene){0};
    assert_int_equal(crew_open(&scene->crew, NULL, &why), OK);
    assert_int_equal(crew_server_open(&scene->server, scene->crew, 1, &events, &why), OK);
}

static void scene_close(struct scene *scene)
{
    crew_server_end(scene->server);
    crew_server_close(scene->server);
    crew_close(scene->crew);
}

static int64_t run(struct work_operation *operation)
{
    struct job *job = (struct job *)operation;
    if (job->begun)
        sem_post(job->begun);
    while (job->go && sem_wait(job->go))
        ;
    return 2 * job->value;
}

/* Runs until it is cancelled. */
static int64_t run_long(struct work_operation *operation)
{
    sem_post(((struct job *)operation)->begun);
    while (!atomic_load_explicit(&operation->cancelled, memory_order_relaxed))
        usleep(1000);
    return 7;
}

static void done(struct work_operation *operation)
{
    ((struct job *)operation)->done = true;
}

static struct job job_make(int64_t value)
{
    return (struct job){.operation = {.run = run, .done = done, .service = "tester"},
                        .value = value};
}

/* Waits for the descriptor, and reaps. */
static void reap(struct scene *scene)
{
    struct pollfd end = {.fd = crew_descriptor(scene->crew), .events = POLLIN};
    assert_int_equal(poll(&end, 1, PATIENCE_MS), 1);
    crew_clear(scene->crew);
    crew_reap(scene->crew);
}

static void results_arrive_when_they_are_reaped(void **state)
{
    struct scene scene;
    static struct job jobs[JOBS];
    scene_open(&scene);
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < JOBS; i++) {
            jobs[i] = job_make(i + round);
            crew_begin(scene.server, &jobs[i].operation);
            assert_false(jobs[i].done);
        }
        for (unsigned i = 0; i < JOBS; i++) {
            while (!jobs[i].done)
                reap(&scene);
            assert_int_equal(jobs[i].operation.result, 2 * (i + round));
        }
    }
    assert_int_equal(scene.ready, 20 * JOBS);
    scene_close(&scene);
}

/* All functions must run at the same time: each waits until all others have begun. */
static void no_function_waits_for_another(void **state)
{
    struct scene scene;
    static struct job jobs[JOBS];
    sem_t begun, go;
    sem_init(&begun, 0, 0);
    sem_init(&go, 0, 0);
    scene_open(&scene);
    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] = job_make(i);
        jobs[i].begun = &begun;
        jobs[i].go = &go;
        crew_begin(scene.server, &jobs[i].operation);
    }
    for (unsigned i = 0; i < JOBS; i++)
        while (sem_wait(&begun))
            ;
    assert_false(crew_waiting(scene.crew));
    for (unsigned i = 0; i < JOBS; i++)
        sem_post(&go);
    for (unsigned i = 0; i < JOBS; i++)
        while (!jobs[i].done)
            reap(&scene);
    scene_close(&scene);
    sem_destroy(&begun);
    sem_destroy(&go);
}

static void the_end_of_a_server_cancels_its_functions_and_waits_for_them(void **state)
{
    struct scene scene;
    struct crew_server *other;
    struct why why = {0};
    struct job own = job_make(0), foreign = job_make(21);
    sem_t begun;
    sem_init(&begun, 0, 0);
    scene_open(&scene);
    const struct crew_events events = {.ready = on_ready, .late = on_late, .owner = &scene};
    assert_int_equal(crew_server_open(&other, scene.crew, 2, &events, &why), OK);
    own.operation.run = run_long;
    own.begun = &begun;
    crew_begin(scene.server, &own.operation);
    while (sem_wait(&begun))
        ;
    crew_begin(other, &foreign.operation);
    crew_server_end(scene.server);
    assert_int_equal(own.operation.result, 7); /* its function has returned */
    assert_false(own.done);
    while (!foreign.done)
        reap(&scene);
    assert_int_equal(foreign.operation.result, 42);
    crew_server_end(other);
    crew_server_close(other);
    scene_close(&scene);
    sem_destroy(&begun);
}

static void *release_later(void *argument)
{
    struct job *job = argument;
    while (!atomic_load_explicit(&job->operation.cancelled, memory_order_relaxed))
        usleep(1000);
    /* Longer than the patience of the crew: the wait itself is tested. */
    clock_nap(5 * NSEC_PER_SEC / 2);
    sem_post(job->go);
    return NULL;
}

static void a_function_that_does_not_return_is_named(void **state)
{
    struct scene scene;
    struct job job = job_make(1);
    sem_t begun, go;
    pthread_t thread;
    sem_init(&begun, 0, 0);
    sem_init(&go, 0, 0);
    scene_open(&scene);
    job.begun = &begun;
    job.go = &go;
    crew_begin(scene.server, &job.operation);
    while (sem_wait(&begun))
        ;
    assert_int_equal(pthread_create(&thread, NULL, release_later, &job), 0);
    crew_server_end(scene.server);
    assert_int_equal(scene.late, 1);
    pthread_join(thread, NULL);
    scene_close(&scene);
    sem_destroy(&begun);
    sem_destroy(&go);
}

TEST_MAIN(TEST(results_arrive_when_they_are_reaped), TEST(no_function_waits_for_another),
          TEST(the_end_of_a_server_cancels_its_functions_and_waits_for_them),
          TEST(a_function_that_does_not_return_is_named))
