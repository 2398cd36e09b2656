/* Checks files of services in a real folder, by io_uring and by threads. */
#include "os/data/files.h"

#include <weft/disk.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/forbid_test.h"
#include "base/rng.h"
#include "base/test.h"
#include "os/data/data_erase.h"
#include "transport/clock.h"

#define PATIENCE (60 * NSEC_PER_SEC)

struct scene {
    char folder[64];
    struct files *files;
    struct files_server *server;
    unsigned ready;
};

struct pending {
    struct disk_operation operation;
    bool done;
};

static const struct data_owner owner = {
    .cluster = 0xabc, .topology = "torus:3x3", .server_count = 9, .server = 4};
static const char *const services[] = {"one", "two", NULL};

static void on_ready(void *context)
{
    ((struct scene *)context)->ready++;
}

static void on_done(struct disk_operation *operation)
{
    ((struct pending *)operation)->done = true;
}

static void server_start(struct scene *scene)
{
    struct why why = {0};
    if (files_server_open(&scene->server, scene->files, scene->folder, &owner, services, on_ready,
                          scene, &why))
        fail_msg("%s", why.text);
}

static void scene_open(struct scene *scene, enum files_way way)
{
    struct why why = {0};
    *scene = (struct scene){.folder = "/tmp/weft-files-XXXXXX"};
    assert_non_null(mkdtemp(scene->folder));
    assert_int_equal(files_open(&scene->files, way, &why), OK);
    server_start(scene);
}

static void scene_close(struct scene *scene)
{
    uint32_t erased;
    struct why why = {0};
    files_server_close(scene->server);
    files_close(scene->files);
    assert_int_equal(data_erase(scene->folder, owner.cluster, &erased, &why), OK);
    assert_int_equal(erased, 1);
    assert_int_equal(access(scene->folder, F_OK), -1); /* nothing was left in it */
}

static void begin(struct scene *scene, struct pending *pending)
{
    pending->operation.done = on_done;
    if (!pending->operation.folder)
        pending->operation.folder = "one";
    pending->done = false;
    files_begin(scene->server, &pending->operation);
}

/* Waits as a host does: it looks, then sleeps on the descriptors. */
static void await(struct scene *scene, const struct pending *pending)
{
    nsec deadline = clock_after(PATIENCE);
    files_flush(scene->files);
    while (!pending->done) {
        int fds[2];
        assert_true(clock_now() < deadline);
        if (files_reap(scene->files)) {
            files_flush(scene->files);
            continue;
        }
        files_descriptors(scene->files, fds);
        struct pollfd ends[2] = {{.fd = fds[0], .events = POLLIN},
                                 {.fd = fds[1], .events = POLLIN}};
        poll(ends, 2, 10000);
        files_clear(scene->files);
    }
}

static int64_t do_it(struct scene *scene, const struct disk_operation *operation)
{
    struct pending pending = {.operation = *operation};
    begin(scene, &pending);
    assert_false(pending.done); /* never at once */
    await(scene, &pending);
    return pending.operation.result;
}

static int64_t open_one(struct scene *scene, const char *folder, const char *name, bool create,
                        struct disk_file *file)
{
    struct disk_operation operation = {
        .kind = DISK_OPEN, .create = create, .file = file, .folder = folder};
    strcpy(operation.name, name);
    return do_it(scene, &operation);
}

static int64_t on_file(struct scene *scene, struct disk_file *file, enum disk_kind kind,
                       void *bytes, uint32_t size, uint64_t offset)
{
    return do_it(scene,
                 &(struct disk_operation){
                     .kind = kind, .file = file, .bytes = bytes, .size = size, .offset = offset});
}

static void data_is_read_back(enum files_way way)
{
    struct scene scene;
    struct disk_file file;
    static char out[200000], in[sizeof out];
    scene_open(&scene, way);
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (char)(i * 7 + i / 251);
    assert_int_equal(open_one(&scene, "one", "data", false, &file), -ENOENT);
    assert_int_equal(open_one(&scene, "one", "data", true, &file), 0);
    assert_int_equal(on_file(&scene, &file, DISK_WRITE, out, sizeof out, 0), sizeof out);
    assert_int_equal(on_file(&scene, &file, DISK_READ, in, sizeof in, 0), sizeof in);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(on_file(&scene, &file, DISK_READ, in, sizeof in, sizeof out - 5), 5);
    assert_int_equal(on_file(&scene, &file, DISK_READ, in, sizeof in, sizeof out + 5), 0);
    assert_int_equal(on_file(&scene, &file, DISK_APPEND, out, 10, 0), sizeof out);
    assert_int_equal(on_file(&scene, &file, DISK_SYNC, NULL, 0, 0), 0);
    assert_int_equal(on_file(&scene, &file, DISK_SIZE, NULL, 0, 0), sizeof out + 10);
    assert_int_equal(on_file(&scene, &file, DISK_TRUNCATE, NULL, 0, 3), 0);
    assert_int_equal(on_file(&scene, &file, DISK_APPEND, out, 1, 0), 3);
    assert_int_equal(on_file(&scene, &file, DISK_READ, in, sizeof in, 0), 4);
    assert_int_equal(on_file(&scene, &file, DISK_WRITE, NULL, 0, 0), 0);
    assert_int_equal(on_file(&scene, &file, DISK_CLOSE, NULL, 0, 0), 0);
    assert_int_equal(open_one(&scene, "one", "data", true, &file), 4);
    assert_true(scene.ready >= 15);
    scene_close(&scene);
}

static int64_t names(struct scene *scene, enum disk_kind kind, const char *name, const char *to)
{
    struct disk_operation operation = {.kind = kind};
    strcpy(operation.name, name);
    strcpy(operation.to, to);
    return do_it(scene, &operation);
}

static const char *listing(struct scene *scene, const char *folder, const char *after,
                           uint32_t most)
{
    static char text[300];
    struct weft_file_entry entries[4] = {0};
    struct disk_operation operation = {
        .kind = DISK_LIST, .folder = folder, .bytes = entries, .size = most};
    strcpy(operation.name, after);
    int64_t count = do_it(scene, &operation);
    text[0] = 0;
    for (int64_t i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s%s:%u", i ? " " : "", entries[i].name,
                (unsigned)entries[i].size);
    return text;
}

static void names_belong_to_their_service(enum files_way way)
{
    struct scene scene;
    struct disk_file file, other;
    scene_open(&scene, way);
    assert_int_equal(open_one(&scene, "one", "b", true, &file), 0);
    assert_int_equal(on_file(&scene, &file, DISK_APPEND, "xyz", 3, 0), 0);
    assert_int_equal(on_file(&scene, &file, DISK_CLOSE, NULL, 0, 0), 0);
    assert_int_equal(open_one(&scene, "one", "c", true, &file), 0);
    assert_int_equal(open_one(&scene, "two", "b", true, &other), 0);
    assert_string_equal(listing(&scene, "one", "", 4), "b:3 c:0");
    assert_string_equal(listing(&scene, "one", "", 1), "b:3");
    assert_string_equal(listing(&scene, "one", "b", 4), "c:0");
    assert_string_equal(listing(&scene, "two", "", 4), "b:0");
    assert_int_equal(names(&scene, DISK_RENAME, "b", "c"), 0);
    assert_int_equal(names(&scene, DISK_RENAME, "b", "d"), -ENOENT);
    assert_int_equal(names(&scene, DISK_REMOVE, "b", ""), -ENOENT);
    assert_string_equal(listing(&scene, "one", "", 4), "c:3");
    assert_int_equal(names(&scene, DISK_REMOVE, "c", ""), 0);
    assert_string_equal(listing(&scene, "one", "", 4), "");
    scene_close(&scene);
}

#define APPENDS 400

/* Many appends and syncs at once: each append is where its result says, in the order of calls, and
 * a restart finds all bytes. */
static void appends_keep_their_order(enum files_way way)
{
    struct scene scene;
    struct disk_file file;
    struct rng rng = rng_make(1, 1);
    static char bytes[APPENDS][3000], all[APPENDS * 3000];
    static struct pending appends[APPENDS], syncs[APPENDS];
    uint64_t place = 0;
    scene_open(&scene, way);
    assert_int_equal(open_one(&scene, "one", "log", true, &file), 0);
    for (unsigned i = 0; i < APPENDS; i++) {
        uint32_t size = 1 + (uint32_t)rng_below(&rng, sizeof bytes[i] - 1);
        memset(bytes[i], (int)i, size);
        appends[i].operation = (struct disk_operation){
            .kind = DISK_APPEND, .file = &file, .bytes = bytes[i], .size = size};
        syncs[i].operation = (struct disk_operation){.kind = DISK_SYNC, .file = &file};
        begin(&scene, &appends[i]);
        begin(&scene, &syncs[i]);
        if (rng_below(&rng, 10) == 0)
            files_flush(scene.files);
    }
    await(&scene, &syncs[APPENDS - 1]);
    for (unsigned i = 0; i < APPENDS; i++) {
        assert_true(appends[i].done && syncs[i].done);
        assert_true(appends[i].operation.result == (int64_t)place);
        assert_int_equal(syncs[i].operation.result, 0);
        place += appends[i].operation.size;
    }
    files_server_close(scene.server);
    server_start(&scene);
    assert_int_equal(open_one(&scene, "one", "log", false, &file), place);
    assert_int_equal(on_file(&scene, &file, DISK_READ, all, (uint32_t)place, 0), place);
    for (unsigned i = 0; i < APPENDS; i++)
        assert_memory_equal(all + appends[i].operation.result, bytes[i], appends[i].operation.size);
    scene_close(&scene);
}

/* A limit of the process stands for a full disk: the append that crosses it fails after some of its
 * bytes were written, and the next append follows the one before. */
static void a_full_disk_fails_only_what_does_not_fit(enum files_way way)
{
    struct scene scene;
    struct disk_file file;
    static char bytes[3000];
    struct rlimit before, limit;
    signal(SIGXFSZ, SIG_IGN);
    scene_open(&scene, way);
    assert_int_equal(open_one(&scene, "one", "log", true, &file), 0);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(on_file(&scene, &file, DISK_APPEND, bytes, 3000, 0), 0);
    assert_int_equal(on_file(&scene, &file, DISK_APPEND, bytes, 3000, 0), -EFBIG);
    assert_int_equal(on_file(&scene, &file, DISK_APPEND, bytes, 96, 0), 3000);
    assert_int_equal(on_file(&scene, &file, DISK_SIZE, NULL, 0, 0), 3096);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(on_file(&scene, &file, DISK_APPEND, bytes, 3000, 0), 3096);
    scene_close(&scene);
}

/* The same with appends that are several jobs, of which the third cannot write all. */
static void a_full_disk_ends_a_chain(enum files_way way)
{
    struct scene scene;
    struct disk_file file;
    static char bytes[40000];
    static struct pending appends[5], sync;
    struct rlimit before, limit;
    signal(SIGXFSZ, SIG_IGN);
    scene_open(&scene, way);
    assert_int_equal(open_one(&scene, "one", "log", true, &file), 0);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (unsigned i = 0; i < 5; i++) {
        appends[i].operation = (struct disk_operation){
            .kind = DISK_APPEND, .file = &file, .bytes = bytes, .size = sizeof bytes};
        begin(&scene, &appends[i]);
    }
    sync.operation = (struct disk_operation){.kind = DISK_SYNC, .file = &file};
    begin(&scene, &sync);
    await(&scene, &sync);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(appends[i].done);
        assert_int_equal(appends[i].operation.result, i < 2 ? (int)(i * sizeof bytes) : -EFBIG);
    }
    assert_int_equal(sync.operation.result, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(on_file(&scene, &file, DISK_APPEND, bytes, 3000, 0), 2 * sizeof bytes);
    scene_close(&scene);
}

/* Space that was reserved is there when it is written to; without enough, nothing is reserved. */
static void a_longer_file_has_its_space(enum files_way way)
{
    struct scene scene;
    struct disk_file file;
    struct stat info;
    char path[200], bytes[16];
    struct rlimit before, limit;
    signal(SIGXFSZ, SIG_IGN);
    scene_open(&scene, way);
    snprintf(path, sizeof path, "%s/server-4/one/log", scene.folder);
    assert_int_equal(open_one(&scene, "one", "log", true, &file), 0);
    assert_int_equal(on_file(&scene, &file, DISK_TRUNCATE, NULL, 0, 1 << 20), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 1 << 20);
    assert_true(info.st_blocks >= (1 << 20) / 512);
    assert_int_equal(on_file(&scene, &file, DISK_READ, bytes, sizeof bytes, 5000), sizeof bytes);
    assert_int_equal(bytes[0] | bytes[15], 0);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 2 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(on_file(&scene, &file, DISK_TRUNCATE, NULL, 0, 3 << 20), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 1 << 20);
    assert_int_equal(on_file(&scene, &file, DISK_SIZE, NULL, 0, 0), 1 << 20);
    scene_close(&scene);
}

/* The memory of operations is free when the end of a server returns; done() is not called. */
static void the_end_of_a_server_waits_for_its_operations(enum files_way way)
{
    struct scene scene;
    struct disk_file file;
    scene_open(&scene, way);
    assert_int_equal(open_one(&scene, "one", "data", true, &file), 0);
    struct pending *pending = calloc(100, sizeof *pending);
    char *bytes = calloc(100, 1 << 16); /* a piece for each */
    for (unsigned i = 0; i < 100; i++) {
        static const enum disk_kind kinds[] = {DISK_WRITE, DISK_APPEND, DISK_SYNC,
                                               DISK_SIZE,  DISK_READ,   DISK_LIST};
        pending[i].operation = (struct disk_operation){.kind = kinds[i % 6],
                                                       .file = &file,
                                                       .bytes = bytes + ((size_t)i << 16),
                                                       .size = i % 6 == 5 ? 1 : 1 << 16};
        begin(&scene, &pending[i]);
    }
    files_server_end(scene.server);
    for (unsigned i = 0; i < 100; i++)
        assert_false(pending[i].done);
    free(pending);
    free(bytes);
    scene_close(&scene);
}

static void both(void (*test)(enum files_way way))
{
    test(FILES_ANY);
    test(FILES_THREADS);
}

static void data_is_read_back_in_both_ways(void **state)
{
    both(data_is_read_back);
}

static void names_belong_to_their_service_in_both_ways(void **state)
{
    both(names_belong_to_their_service);
}

static void appends_keep_their_order_in_both_ways(void **state)
{
    both(appends_keep_their_order);
}

static void a_full_disk_fails_only_what_does_not_fit_in_both_ways(void **state)
{
    both(a_full_disk_fails_only_what_does_not_fit);
}

static void a_full_disk_ends_a_chain_in_both_ways(void **state)
{
    both(a_full_disk_ends_a_chain);
}

static void a_longer_file_has_its_space_in_both_ways(void **state)
{
    both(a_longer_file_has_its_space);
}

static void the_end_of_a_server_waits_for_its_operations_in_both_ways(void **state)
{
    both(the_end_of_a_server_waits_for_its_operations);
}

/* ---- where io_uring is not permitted ---- */

static void threads_serve_where_io_uring_is_not_permitted(void **state)
{
    pid_t child = fork();
    if (!child) {
        struct files *files;
        struct why why = {0};
        if (!forbid_call(SYS_io_uring_setup))
            _exit(77);
        if (files_open(&files, FILES_ANY, &why))
            _exit(1);
        bool named = strstr(files_how(files), "threads") != NULL;
        files_close(files);
        if (!named)
            _exit(2);
        data_is_read_back(FILES_ANY);
        _exit(0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

TEST_MAIN(TEST(data_is_read_back_in_both_ways), TEST(names_belong_to_their_service_in_both_ways),
          TEST(appends_keep_their_order_in_both_ways),
          TEST(a_full_disk_fails_only_what_does_not_fit_in_both_ways),
          TEST(a_full_disk_ends_a_chain_in_both_ways),
          TEST(a_longer_file_has_its_space_in_both_ways),
          TEST(the_end_of_a_server_waits_for_its_operations_in_both_ways),
          TEST(threads_serve_where_io_uring_is_not_permitted))
