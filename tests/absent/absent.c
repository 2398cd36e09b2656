/* absent: tests contexts where libfabric cannot be loaded. LD_LIBRARY_PATH makes the loader find
 * another file under its name: a library without its functions that catches signals when it is
 * loaded ("empty" in WEFT_TEST_LIBFABRIC), or a file that is no library at all ("broken").
 *
 * A process tries to load libfabric only once, so the order of the tests matters, and what must be
 * tried first is tried in a child. */
#include "base/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ripc/core/context.h"
#include "ripc/scene/scene.h"

enum { THREAD_COUNT = 4 };

static const int caught[] = {SIGABRT, SIGBUS, SIGILL, SIGINT, SIGSEGV, SIGTERM};
enum { CAUGHT_COUNT = sizeof caught / sizeof *caught };

static bool is_empty(void)
{
    const char *which = getenv("WEFT_TEST_LIBFABRIC");
    return which && strcmp(which, "empty") == 0;
}

/* Returns a handle of the library if it is loaded already, or NULL; the caller closes it. */
static void *loaded(void)
{
    return dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD);
}

static int refusal(char reason[RIPC_REASON_MAX])
{
    struct ripc *ripc;
    struct ripc_config config = {
        .transports = "shm,fabric", .address = "127.0.0.1", .reason = reason};
    return ripc_open(&config, &ripc);
}

static void local_contexts_do_not_load_libfabric(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    assert_null(loaded());
    scene_close(ripc);
    struct ripc_config config = {.transports = "udp", .address = "127.0.0.1"};
    ripc = scene_open(&config);
    assert_null(loaded());
    scene_close(ripc);
}

/* ---- threads at the same time ---- */

static atomic_uint waiting; /* threads that have not started yet; each subtracts itself */

static void *refused_with_others(void *argument)
{
    char reason[RIPC_REASON_MAX] = "";
    atomic_fetch_sub(&waiting, 1);
    while (atomic_load(&waiting) > 0)
        ;
    bool told = refusal(reason) == -ENOPKG && strstr(reason, "libfabric1");
    return told ? argument : NULL;
}

static int threads_refused(void)
{
    pthread_t threads[THREAD_COUNT];
    int refused = 0;
    atomic_store(&waiting, THREAD_COUNT);
    for (int i = 0; i < THREAD_COUNT; i++)
        if (pthread_create(&threads[i], NULL, refused_with_others, &waiting))
            _exit(99);
    for (int i = 0; i < THREAD_COUNT; i++) {
        void *told;
        pthread_join(threads[i], &told);
        refused += told != NULL;
    }
    return refused;
}

static void concurrent_threads_all_get_the_reason(void **state)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGTERM, SIG_IGN); /* raised by the empty library; another thread may get it */
        _exit(threads_refused());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), THREAD_COUNT);
    assert_null(loaded()); /* in this process */
}

/* ---- signals ---- */

static volatile sig_atomic_t came; /* SIGTERMs to this program's handler */

static void count(int number)
{
    came++;
}

static void a_refusal_gives_the_reason_and_restores_the_signals(void **state)
{
    char reason[RIPC_REASON_MAX] = "";
    struct sigaction ours = {.sa_handler = count, .sa_flags = SA_RESTART}, before, after;
    sigset_t mask;
    assert_int_equal(sigaction(SIGTERM, &ours, &before), 0);
    signal(SIGINT, SIG_IGN);
    struct sigaction then[CAUGHT_COUNT];
    for (int i = 0; i < CAUGHT_COUNT; i++)
        assert_int_equal(sigaction(caught[i], NULL, &then[i]), 0);

    assert_int_equal(refusal(reason), -ENOPKG);
    assert_non_null(strstr(reason, "libfabric.so.1"));
    assert_non_null(strstr(reason, is_empty() ? "fi_getinfo" : "ELF"));
    assert_non_null(strstr(reason, "package libfabric1"));

    for (int i = 0; i < CAUGHT_COUNT; i++) {
        assert_int_equal(sigaction(caught[i], NULL, &after), 0);
        assert_ptr_equal(after.sa_handler, then[i].sa_handler);
        assert_int_equal(after.sa_flags & SA_RESTART, then[i].sa_flags & SA_RESTART);
    }
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    assert_false(sigismember(&mask, SIGINT) || sigismember(&mask, SIGTERM));
    void *library = loaded();
    assert_int_equal(library != NULL, is_empty());
    assert_int_equal(came, is_empty()); /* the signal waited for us meanwhile */
    if (library) {
        const int *theirs = dlsym(library, "libfabric_caught");
        assert_non_null(theirs);
        assert_int_equal(*theirs, 0);
        dlclose(library);
    }
    assert_int_equal(sigaction(SIGTERM, &before, NULL), 0);
    signal(SIGINT, SIG_DFL);
}

/* ---- afterwards ---- */

static void naming_a_provider_is_refused_with_the_reason(void **state)
{
    char reason[RIPC_REASON_MAX] = "";
    struct ripc *ripc;
    struct ripc_config config = {.provider = "tcp", .address = "127.0.0.1", .reason = reason};
    assert_int_equal(ripc_open(&config, &ripc), -ENOPKG);
    assert_non_null(strstr(reason, "libfabric1"));
    assert_string_equal(ripc_strerror(-ENOPKG),
                        "a library that the transport needs is not installed");
}

static void without_a_request_for_fabric_the_other_transports_work(void **state)
{
    char reason[RIPC_REASON_MAX] = "?";
    struct ripc_config config = {.address = "127.0.0.1", .reason = reason};
    struct ripc *here = scene_open(&config), *there = scene_open(&config);
    assert_string_equal(reason, "");
    assert_int_equal(here->transport_count, 2);
    assert_string_equal(here->transports[0]->ops->name, "shm");
    assert_string_equal(here->transports[1]->ops->name, "udp");

    struct ripc_service *client = scene_bind(here, 0), *server = scene_bind(there, 42);
    assert_int_equal(ripc_send(client, 42, "hello", 5, scene_deadline()), 0);
    struct ripc_message message = scene_receive(server);
    assert_int_equal(message.size, 5);
    assert_memory_equal(message.data, "hello", 5);
    ripc_release(&message);
    scene_close(here);
    scene_close(there);
}

static void a_repeated_request_is_refused_with_the_reason(void **state)
{
    for (int i = 0; i < 3; i++) {
        char reason[RIPC_REASON_MAX] = "";
        assert_int_equal(refusal(reason), -ENOPKG);
        assert_non_null(strstr(reason, "libfabric1"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(local_contexts_do_not_load_libfabric),
        SCENE(concurrent_threads_all_get_the_reason),
        SCENE(a_refusal_gives_the_reason_and_restores_the_signals),
        SCENE(naming_a_provider_is_refused_with_the_reason),
        SCENE(without_a_request_for_fabric_the_other_transports_work),
        SCENE(a_repeated_request_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
