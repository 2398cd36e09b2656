/* Checks what the node refuses and keeps account of when a service uses the disk. */
#include <weft/disk.h>

#include "node/core/self.h"
#include "node/node_world.h"

#define KEEPER 300
#define FILES  2

/* ---- a disk that holds all operations until the test ends them ---- */

static struct disk_operation *held[WEFT_DISK_CALLS + 1];
static unsigned held_count, ended;

static void disk_take(struct env *env, struct disk_operation *operation)
{
    assert_true(held_count <= WEFT_DISK_CALLS);
    held[held_count++] = operation;
}

static void disk_end(struct env *env)
{
    ended++;
    held_count = 0;
}

/* Ends the oldest operation. */
static void end_first(int64_t result)
{
    struct disk_operation *operation = held[0];
    assert_true(held_count > 0);
    memmove(held, held + 1, --held_count * sizeof *held);
    operation->result = result;
    operation->done(operation);
}

/* ---- a service ---- */

struct keeper {
    struct weft_call calls[WEFT_DISK_CALLS + 1];
    struct weft_file *file;
    unsigned done;
    int64_t last;
};

static struct weft_self *self; /* of server 0 */
static struct keeper *keeper;

static void on_done(struct weft_self *at, struct weft_call *call)
{
    assert_ptr_equal(at, self);
    keeper->done++;
    keeper->last = call->result;
}

static int keeper_start(struct weft_self *at)
{
    if (weft_here(at) == 0) {
        self = at;
        keeper = weft_memory(at);
        for (unsigned i = 0; i <= WEFT_DISK_CALLS; i++)
            keeper->calls[i].done = on_done;
    }
    return 0;
}

static int stopped_with; /* what a call in stop() returned */

static void keeper_stop(struct weft_self *at)
{
    if (at == self)
        stopped_with = weft_disk_remove(at, &keeper->calls[0], "x");
}

static const struct weft_service_ops keeper_ops = {.start = keeper_start, .stop = keeper_stop};
static const struct weft_service keeper_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "keeper",
    .id = KEEPER,
    .size = sizeof(struct keeper),
    .files = FILES,
    .ops = &keeper_ops,
};
static const struct weft_service *const services[] = {&keeper_service, NULL};

static struct world *world;
static struct env_ops ops;

static int scene_open(void **state)
{
    world = world_open_settled("torus:3", services, 0);
    ops = *world->nodes[0].env.ops;
    ops.disk = disk_take;
    ops.disk_end = disk_end;
    world->nodes[0].env.ops = &ops;
    held_count = ended = 0;
    return 0;
}

static int scene_close(void **state)
{
    world_close(world);
    return 0;
}

static struct weft_call *call(unsigned index)
{
    return &keeper->calls[index];
}

static void file_open(const char *name)
{
    assert_int_equal(weft_disk_open(self, call(0), name, WEFT_OPEN_CREATE, &keeper->file), 0);
    end_first(0);
}

static void names_that_leave_the_folder_are_refused(void **state)
{
    static const char *const wrong[] = {"",    ".",   "..",       "../x", "a/b", ".hidden",
                                        "a b", "a\n", "\xc3\xa4", "/x",   "a*"};
    char limit[WEFT_DISK_NAME_MAX + 2];
    struct weft_file *file;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(weft_disk_open(self, call(0), wrong[i], WEFT_OPEN_CREATE, &file), -EINVAL);
        assert_int_equal(weft_disk_remove(self, call(0), wrong[i]), -EINVAL);
        assert_int_equal(weft_disk_rename(self, call(0), "x", wrong[i]), -EINVAL);
        assert_int_equal(weft_disk_rename(self, call(0), wrong[i], "x"), -EINVAL);
        if (wrong[i][0])
            assert_int_equal(weft_disk_list(self, call(0), wrong[i], NULL, 0), -EINVAL);
    }
    assert_int_equal(weft_disk_open(self, call(0), "x", (enum weft_open)99, &file), -EINVAL);
    assert_int_equal(weft_disk_remove(self, call(0), NULL), -EINVAL);
    memset(limit, 'a', sizeof limit);
    limit[sizeof limit - 1] = 0;
    assert_int_equal(weft_disk_remove(self, call(0), limit), -EINVAL);
    limit[WEFT_DISK_NAME_MAX] = 0;
    assert_int_equal(weft_disk_remove(self, call(0), limit), 0);
    assert_string_equal(held[0]->name, limit);
    assert_string_equal(held[0]->folder, "keeper");
    assert_int_equal(weft_disk_rename(self, call(1), "a-Z_0.9", "b"), 0);
    assert_int_equal(held_count, 2);
}

static void a_call_is_done_once_and_its_struct_is_free_again(void **state)
{
    file_open("data");
    assert_int_equal(keeper->done, 1);
    assert_int_equal(weft_disk_write(self, keeper->file, call(1), "abc", 3, 5), 0);
    assert_int_equal(keeper->done, 1); /* not from inside */
    assert_true(held[0]->kind == DISK_WRITE && held[0]->size == 3 && held[0]->offset == 5);
    assert_int_equal(weft_disk_write(self, keeper->file, call(1), "abc", 3, 5), -EINVAL);
    end_first(3);
    assert_int_equal(keeper->done, 2);
    assert_int_equal(keeper->last, 3);
    assert_int_equal(weft_disk_sync(self, keeper->file, call(1)), 0);
    end_first(-EIO);
    assert_int_equal(keeper->last, -EIO);
    keeper->calls[1].done = NULL;
    assert_int_equal(weft_disk_sync(self, keeper->file, call(1)), -EINVAL);
    assert_int_equal(weft_disk_sync(self, keeper->file, NULL), -EINVAL);
}

static void wrong_arguments_are_refused(void **state)
{
    char byte;
    file_open("data");
    struct weft_file *file = keeper->file;
    assert_int_equal(weft_disk_read(self, file, call(1), &byte, WEFT_DISK_SIZE_MAX + 1u, 0),
                     -EINVAL);
    assert_int_equal(weft_disk_write(self, file, call(1), &byte, 1, UINT64_MAX), -EINVAL);
    assert_int_equal(weft_disk_append(self, file, call(1), NULL, 1), -EINVAL);
    assert_int_equal(weft_disk_truncate(self, file, call(1), UINT64_MAX), -EINVAL);
    assert_int_equal(weft_disk_sync(self, (struct weft_file *)(void *)&byte, call(1)), -EINVAL);
    assert_int_equal(weft_disk_sync(self, NULL, call(1)), -EINVAL);
    assert_int_equal(weft_disk_list(self, call(1), NULL, NULL, 5), -EINVAL);
    assert_int_equal(held_count, 0);
    assert_int_equal(weft_disk_close(self, file, call(1)), 0);
    end_first(0);
    assert_int_equal(weft_disk_sync(self, file, call(1)), -EINVAL); /* closed */
}

static void a_file_is_open_once_and_busy_while_it_is_used(void **state)
{
    struct weft_file *second, *third;
    file_open("data");
    struct weft_file *file = keeper->file;
    assert_int_equal(weft_disk_open(self, call(1), "data", WEFT_OPEN_CREATE, &second), -EBUSY);
    assert_int_equal(weft_disk_remove(self, call(1), "data"), -EBUSY);
    assert_int_equal(weft_disk_rename(self, call(1), "data", "x"), -EBUSY);
    assert_int_equal(weft_disk_rename(self, call(1), "x", "data"), -EBUSY);
    assert_int_equal(weft_disk_open(self, call(1), "more", WEFT_OPEN_EXISTING, &second), 0);
    assert_false(held[0]->create);
    assert_int_equal(weft_disk_sync(self, second, call(2)), -EBUSY); /* not open yet */
    assert_int_equal(weft_disk_open(self, call(2), "third", WEFT_OPEN_CREATE, &third), -ENFILE);
    end_first(-ENOENT);
    assert_int_equal(weft_disk_open(self, call(1), "third", WEFT_OPEN_CREATE, &third), 0);
    end_first(0);
    assert_int_equal(weft_disk_sync(self, file, call(1)), 0);
    assert_int_equal(weft_disk_close(self, file, call(2)), -EBUSY);
    assert_int_equal(weft_disk_truncate(self, file, call(2), 0), -EBUSY);
    end_first(0);
    assert_int_equal(weft_disk_truncate(self, file, call(1), 7), 0);
    assert_int_equal(weft_disk_sync(self, file, call(2)), -EBUSY);
    end_first(0);
    assert_int_equal(weft_disk_close(self, file, call(1)), 0);
    assert_int_equal(weft_disk_size(self, file, call(2)), -EBUSY);
    end_first(0);
    assert_int_equal(weft_disk_remove(self, call(1), "data"), 0);
}

static void calls_under_way_are_limited(void **state)
{
    file_open("data");
    for (unsigned i = 0; i < WEFT_DISK_CALLS; i++)
        assert_int_equal(weft_disk_append(self, keeper->file, call(i), "x", 1), 0);
    unsigned last = WEFT_DISK_CALLS;
    assert_int_equal(weft_disk_append(self, keeper->file, call(last), "x", 1), -EAGAIN);
    end_first(0);
    assert_int_equal(weft_disk_append(self, keeper->file, call(last), "x", 1), 0);
    while (held_count)
        end_first(0);
    assert_int_equal(keeper->done, WEFT_DISK_CALLS + 2);
}

static void a_server_that_stops_ends_its_operations(void **state)
{
    file_open("data");
    assert_int_equal(weft_disk_append(self, keeper->file, call(1), "x", 1), 0);
    unsigned done = keeper->done;
    world_crash(world, 0);
    assert_int_equal(ended, 1);
    assert_int_equal(done, 1);
    assert_int_equal(stopped_with, -ESHUTDOWN);
}

static void without_a_disk_or_a_declaration_calls_are_refused(void **state)
{
    struct weft_file *file;
    ops.disk = NULL;
    assert_int_equal(weft_disk_open(self, call(0), "x", WEFT_OPEN_CREATE, &file), -ENODEV);
    ops.disk = disk_take;
    struct weft_service silent = keeper_service, many = keeper_service, odd = keeper_service;
    silent.files = 0;
    many.files = WEFT_DISK_FILES_MAX + 1;
    odd.name = "../odd";
    const struct weft_service *one[] = {&silent, NULL};
    struct world *other = world_open_settled("torus:3", one, 0);
    assert_int_equal(weft_disk_open(self, call(0), "x", WEFT_OPEN_CREATE, &file), -ENODEV);
    struct node_config config = other->config;
    struct node *node;
    struct why why = {0};
    config.plan = &other->plan;
    config.env = &other->nodes[0].env;
    config.incarnation = 7;
    one[0] = &many;
    assert_int_equal(node_open(&node, &config, &why), ERR_USAGE);
    one[0] = &odd;
    assert_int_equal(node_open(&node, &config, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "its name is not one of"));
    one[0] = &silent;
    world_close(other);
}

static void told(void *context, const char *service, const char *name, uint64_t value)
{
    uint64_t *sum = context;
    if (strcmp(service, "keeper") == 0 && strncmp(name, "disk_", 5) == 0)
        *sum = *sum * 100 + value;
}

static void calls_are_counted(void **state)
{
    uint64_t sum = 0;
    char bytes[20];
    file_open("data");
    (void)!weft_disk_write(self, keeper->file, call(1), bytes, 20, 0);
    end_first(20);
    (void)!weft_disk_append(self, keeper->file, call(1), bytes, 3);
    end_first(0);
    (void)!weft_disk_read(self, keeper->file, call(1), bytes, 20, 0);
    end_first(7);
    (void)!weft_disk_read(self, keeper->file, call(1), bytes, 20, 0);
    end_first(-EIO);
    node_stats(world->nodes[0].node, told, &sum);
    assert_int_equal(sum, 5010723); /* calls, failed, bytes read, bytes written */
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scene_open, scene_close)

TEST_MAIN(CASE(names_that_leave_the_folder_are_refused),
          CASE(a_call_is_done_once_and_its_struct_is_free_again), CASE(wrong_arguments_are_refused),
          CASE(a_file_is_open_once_and_busy_while_it_is_used), CASE(calls_under_way_are_limited),
          CASE(a_server_that_stops_ends_its_operations),
          CASE(without_a_disk_or_a_declaration_calls_are_refused), CASE(calls_are_counted))
