/* Checks numbers, limits, turns and mistakes of descriptors, in a world whose descriptors do what
 * the test says. */
#include <weft/descriptor.h>

#include <stdio.h>

#include "node/node_world.h"

#define DOOR   300
#define LIMIT  3
#define NUMBER UINT64_C(0xfffff)

/* ---- a world ---- */

static struct {
    struct env_descriptor *last; /* that was opened */
    struct env_descriptor *listener;
    int open_result, accept_result, connect_result;
    int64_t move_result;             /* of reads and writes; INT64_MAX: all bytes */
    uint32_t moved;                  /* bytes of the last read or write */
    bool stolen;                     /* the service has closed the descriptor itself */
    unsigned open, changes, waiting; /* waiting: clients of all listeners */
    char address[64];
    uint16_t port;
} fake;

static int fake_open(struct env_descriptor *descriptor)
{
    if (fake.open_result)
        return fake.open_result;
    assert_null(descriptor->world);
    assert_int_equal(descriptor->wants, 0);
    descriptor->world = &fake;
    fake.last = descriptor;
    fake.open++;
    return 0;
}

static int fake_address(struct env *env, struct env_descriptor *descriptor,
                        const struct env_address *address)
{
    snprintf(fake.address, sizeof fake.address, "%s", address->text);
    fake.port = address->port;
    return fake_open(descriptor);
}

static int fake_listen(struct env *env, struct env_descriptor *descriptor,
                       const struct env_address *address)
{
    fake.listener = descriptor;
    return fake_address(env, descriptor, address);
}

static int fake_adopt(struct env *env, struct env_descriptor *descriptor, int fd)
{
    return fake_open(descriptor);
}

static int fake_result(const struct env_descriptor *descriptor)
{
    return fake.connect_result;
}

static int fake_accept(struct env_descriptor *listener, struct env_descriptor *descriptor)
{
    if (!fake.waiting)
        return -EAGAIN;
    fake.waiting--;
    if (fake.accept_result || !descriptor)
        return fake.accept_result;
    return fake_open(descriptor);
}

static int64_t fake_read(struct env_descriptor *descriptor, void *bytes, uint32_t size)
{
    fake.moved = size;
    return fake.move_result == INT64_MAX ? size : fake.move_result;
}

static int64_t fake_write(struct env_descriptor *descriptor, const void *bytes, uint32_t size)
{
    fake.moved = size;
    return fake.move_result == INT64_MAX ? size : fake.move_result;
}

static int fake_simple(const struct env_descriptor *descriptor)
{
    return 7;
}

static void fake_changed(struct env_descriptor *descriptor)
{
    assert_ptr_equal(descriptor->world, &fake);
    fake.changes++;
}

static bool fake_close(struct env_descriptor *descriptor)
{
    assert_ptr_equal(descriptor->world, &fake);
    descriptor->world = NULL;
    fake.open--;
    return !fake.stolen;
}

static const struct env_descriptor_ops fake_ops = {
    .listen = fake_listen,
    .connect = fake_address,
    .result = fake_result,
    .adopt = fake_adopt,
    .accept = fake_accept,
    .read = fake_read,
    .write = fake_write,
    .finish = fake_simple,
    .port = fake_simple,
    .changed = fake_changed,
    .close = fake_close,
};

/* ---- a service ---- */

static struct {
    struct weft_self *self;
    weft_descriptor listener, client;
    unsigned accepted, readable, writable, connected;
    int result;
    void *user;
    void (*act)(weft_descriptor descriptor); /* in readable() and accepted() */
} door;

static void on_accepted(struct weft_self *self, weft_descriptor listener, void *user,
                        weft_descriptor client)
{
    door.accepted++;
    door.client = client;
    door.user = user;
    assert_null(weft_descriptor_user(self, client));
    if (door.act)
        door.act(client);
}

static void on_connected(struct weft_self *self, weft_descriptor descriptor, void *user, int result)
{
    door.connected++;
    door.result = result;
}

static void on_readable(struct weft_self *self, weft_descriptor descriptor, void *user)
{
    door.readable++;
    door.user = user;
    if (door.act)
        door.act(descriptor);
}

static void on_writable(struct weft_self *self, weft_descriptor descriptor, void *user)
{
    door.writable++;
}

static const struct weft_descriptor_ops ops = {on_accepted, on_connected, on_readable, on_writable};

static int door_start(struct weft_self *self)
{
    if (weft_here(self) == 0)
        door.self = self;
    return 0;
}

static unsigned mistakes_told;
static char last_mistake[200];

static void on_mistake(struct node_watcher *watcher, node_id at, const char *service,
                       const char *function, const char *reason)
{
    snprintf(last_mistake, sizeof last_mistake, "%s: %s", function, reason);
    mistakes_told++;
}

static struct node_pulse pulse;
static char slow[200]; /* the functions that took long, in order */

static void on_slow(struct node_watcher *watcher, node_id at, const char *service,
                    const char *function, env_nsec length)
{
    size_t size = strlen(slow);
    snprintf(slow + size, sizeof slow - size, "%s %s;", service, function);
}

static env_nsec fake_ran(struct env *env, uint64_t ticks)
{
    return 5000000;
}

static struct world *door_open(uint32_t descriptors)
{
    static const struct weft_service_ops service_ops = {.start = door_start};
    static struct weft_service service;
    static const struct weft_service *const services[] = {&service, NULL};
    static struct node_watcher watcher = {.mistake = on_mistake, .slow = on_slow};
    static struct env_ops env_ops;
    service = (struct weft_service){.version = WEFT_SERVICE_VERSION,
                                    .name = "door",
                                    .id = DOOR,
                                    .ops = &service_ops,
                                    .descriptors = descriptors};
    memset(&door, 0, sizeof door);
    memset(&fake, 0, sizeof fake);
    mistakes_told = 0;
    pulse = (struct node_pulse){.slow_ticks = UINT64_MAX};
    slow[0] = 0;
    struct node_config config = {
        .seed = 1, .services = services, .watcher = &watcher, .pulse = &pulse};
    struct world *world = world_open("torus:3", &config);
    env_ops = world_ops;
    env_ops.descriptors = &fake_ops;
    env_ops.ran = fake_ran;
    for (node_id id = 0; id < world->plan.server_count; id++)
        world->nodes[id].env.ops = &env_ops;
    fake.move_result = INT64_MAX;
    return world;
}

static uint64_t count(struct world *world, const char *name)
{
    return world_number(world, 0, "door", name);
}

/* Opens a connection by a listener. */
static weft_descriptor connection(void)
{
    if (!door.listener)
        assert_int_equal(weft_descriptor_listen(door.self, NULL, 80, &ops, NULL, &door.listener),
                         0);
    fake.waiting = 1;
    node_descriptor(fake.listener, ENV_READ);
    return door.client;
}

#define MISTAKE(call, text)                                                                        \
    do {                                                                                           \
        unsigned before_ = mistakes_told;                                                          \
        assert_int_equal(call, -EINVAL);                                                           \
        assert_true(mistakes_told > before_);                                                      \
        assert_non_null(strstr(last_mistake, text));                                               \
    } while (0)

/* ---- tests ---- */

static void a_number_is_never_given_to_another_descriptor(void **state)
{
    struct world *world = door_open(LIMIT);
    weft_descriptor first = connection(), second;
    char byte = 0;
    assert_int_equal(weft_descriptor_write(door.self, first, &byte, 1), 1);
    assert_int_equal(weft_descriptor_close(door.self, first), 0);
    assert_int_equal(weft_descriptor_connect(door.self, "::1", 81, &ops, &byte, &second), 0);
    assert_int_equal(first & NUMBER, second & NUMBER); /* the same slot ... */
    assert_int_not_equal(first, second);               /* ... and another number */
    assert_int_equal(weft_descriptor_write(door.self, first, &byte, 1), -EBADF);
    assert_int_equal(weft_descriptor_read(door.self, first, &byte, 1), -EBADF);
    assert_int_equal(weft_descriptor_close(door.self, first), -EBADF);
    assert_int_equal(weft_descriptor_finish(door.self, first), -EBADF);
    assert_int_equal(weft_descriptor_pause(door.self, first, true), -EBADF);
    assert_int_equal(weft_descriptor_port(door.self, first), -EBADF);
    assert_int_equal(weft_descriptor_set_user(door.self, first, NULL), -EBADF);
    assert_null(weft_descriptor_user(door.self, first));
    assert_ptr_equal(weft_descriptor_user(door.self, second), &byte);
    assert_int_equal(count(world, "mistakes"), 0); /* late answers are no mistakes */
    assert_int_equal(weft_descriptor_close(door.self, second + (1 << 20)), -EBADF);
    assert_int_equal(weft_descriptor_close(door.self, door.listener + 2), -EBADF);
    assert_int_equal(count(world, "mistakes"), 0);
    MISTAKE(weft_descriptor_close(door.self, 0), "not the number");
    assert_int_equal(weft_descriptor_close(door.self, second | NUMBER), -EINVAL);
    assert_int_equal(count(world, "mistakes"), 2);
    /* Another start of this server gives other numbers. */
    weft_descriptor before = second;
    world_crash(world, 0);
    assert_int_equal(fake.open, 0);
    world_start(world, 0);
    door.listener = 0;
    connection();
    assert_true(door.listener >> 20 > (before >> 20) + 1000 ||
                door.listener >> 20 < (before >> 20) - 1000);
    assert_int_equal(weft_descriptor_close(door.self, before), -EBADF); /* a late answer */
    assert_int_equal(count(world, "mistakes"), 0);
    world_close(world);
    assert_int_equal(fake.open, 0); /* what was open was closed with the server */
}

static void addresses_are_loopback_unless_the_service_says_otherwise(void **state)
{
    struct world *world = door_open(LIMIT);
    weft_descriptor listener;
    assert_int_equal(weft_descriptor_listen(door.self, NULL, 4711, &ops, NULL, &listener), 0);
    assert_string_equal(fake.address, "127.0.0.1");
    assert_int_equal(fake.port, 4711);
    assert_int_equal(weft_descriptor_listen(door.self, "0.0.0.0", 0, &ops, NULL, &listener), 0);
    assert_string_equal(fake.address, "0.0.0.0");
    fake.open_result = -EINVAL;
    MISTAKE(weft_descriptor_listen(door.self, "localhost", 0, &ops, NULL, &listener), "a number");
    fake.open_result = -EADDRINUSE;
    assert_int_equal(weft_descriptor_listen(door.self, NULL, 0, &ops, NULL, &listener),
                     -EADDRINUSE);
    assert_int_equal(weft_descriptor_port(door.self, listener), 7);
    world_close(world);
}

static void a_service_has_as_many_as_it_declares_and_more_clients_are_refused(void **state)
{
    struct world *world = door_open(LIMIT);
    weft_descriptor other;
    connection();
    assert_int_equal(weft_descriptor_adopt(door.self, 5, &ops, NULL, &other), 0);
    assert_int_equal(weft_descriptor_adopt(door.self, 5, &ops, NULL, &other), -ENFILE);
    assert_int_equal(fake.open, LIMIT);
    fake.waiting = 20;
    node_descriptor(fake.listener, ENV_READ);
    assert_int_equal(fake.waiting, 4); /* a turn has 16 clients */
    assert_int_equal(door.accepted, 1);
    assert_int_equal(count(world, "descriptors_refused"), 16);
    assert_int_equal(weft_descriptor_close(door.self, other), 0);
    node_descriptor(fake.listener, ENV_READ);
    assert_int_equal(door.accepted, 2);
    assert_int_equal(count(world, "descriptors_refused"), 19);
    assert_int_equal(count(world, "descriptors_accepted"), 2);
    assert_int_equal(count(world, "descriptors_open"), 3);
    /* The process has none left: the client is refused as well. */
    weft_descriptor_close(door.self, door.client);
    fake.waiting = 1;
    fake.accept_result = -EMFILE;
    node_descriptor(fake.listener, ENV_READ);
    assert_int_equal(door.accepted, 2);
    assert_int_equal(count(world, "descriptors_refused"), 20);
    world_close(world);
}

static void close_in_turn(weft_descriptor descriptor)
{
    assert_int_equal(weft_descriptor_close(door.self, descriptor), 0);
}

static void close_listener(weft_descriptor descriptor)
{
    assert_int_equal(weft_descriptor_close(door.self, door.listener), 0);
}

static void pause_listener(weft_descriptor descriptor)
{
    assert_int_equal(weft_descriptor_pause(door.self, door.listener, true), 0);
}

/* What a service does in accepted() takes effect before the next client. */
static void a_listener_may_be_paused_or_closed_in_its_turn(void **state)
{
    struct world *world = door_open(100);
    connection();
    assert_int_equal(fake.listener->wants, ENV_READ);
    door.act = pause_listener;
    fake.waiting = 3;
    node_descriptor(fake.listener, ENV_READ);
    assert_int_equal(fake.waiting, 2);
    assert_int_equal(fake.listener->wants, 0);
    door.act = NULL;
    assert_int_equal(weft_descriptor_pause(door.self, door.listener, false), 0);
    assert_int_equal(fake.listener->wants, ENV_READ);
    door.act = close_in_turn; /* the client */
    fake.waiting = 1;
    node_descriptor(fake.listener, ENV_READ);
    assert_int_equal(count(world, "descriptors_open"), 3);
    door.act = close_listener;
    fake.waiting = 3;
    node_descriptor(fake.listener, ENV_READ);
    assert_int_equal(fake.waiting, 2);
    assert_int_equal(count(world, "descriptors_open"), 3);
    world_close(world);
}

static void read_in_turn(weft_descriptor descriptor)
{
    char byte;
    weft_descriptor_read(door.self, descriptor, &byte, 1);
}

static void readable_is_called_until_the_end_and_not_while_paused(void **state)
{
    struct world *world = door_open(LIMIT);
    weft_descriptor client = connection();
    struct env_descriptor *env = fake.last;
    char bytes[4];
    assert_int_equal(env->wants, ENV_READ);
    door.act = read_in_turn;
    assert_int_equal(weft_descriptor_set_user(door.self, client, bytes), 0);
    node_descriptor(env, ENV_READ);
    assert_int_equal(door.readable, 1);
    assert_ptr_equal(door.user, bytes);
    assert_int_equal(env->wants, ENV_READ);
    assert_int_equal(weft_descriptor_pause(door.self, client, true), 0);
    assert_int_equal(env->wants, 0);
    assert_int_equal(weft_descriptor_read(door.self, client, bytes, 4), 4); /* nevertheless */
    assert_int_equal(weft_descriptor_pause(door.self, client, false), 0);
    fake.move_result = -EAGAIN;
    node_descriptor(env, ENV_READ);
    assert_int_equal(env->wants, ENV_READ);
    fake.move_result = 0;
    node_descriptor(env, ENV_READ);
    assert_int_equal(door.readable, 3);
    assert_int_equal(env->wants, 0); /* the end: it is not called any more */
    assert_int_equal(count(world, "descriptors_bytes_in"), 5);
    assert_int_equal(count(world, "mistakes"), 0);
    world_close(world);
}

/* Such a service would be called for ever. */
static void a_service_that_ignores_what_is_readable_is_paused(void **state)
{
    struct world *world = door_open(LIMIT);
    connection();
    node_descriptor(fake.last, ENV_READ);
    assert_int_equal(count(world, "mistakes"), 1);
    assert_string_equal(last_mistake,
                        "readable: the service neither read nor paused nor closed the descriptor");
    assert_int_equal(fake.last->wants, 0);
    door.act = close_in_turn;
    connection();
    assert_int_equal(count(world, "mistakes"), 1);
    world_close(world);
}

static void writable_is_called_once_after_a_short_write(void **state)
{
    struct world *world = door_open(LIMIT);
    weft_descriptor client = connection();
    struct env_descriptor *env = fake.last;
    char bytes[10] = "";
    assert_int_equal(weft_descriptor_write(door.self, client, bytes, 10), 10);
    assert_int_equal(env->wants, ENV_READ);
    fake.move_result = 3;
    assert_int_equal(weft_descriptor_write(door.self, client, bytes, 10), 3);
    assert_int_equal(env->wants, ENV_READ | ENV_WRITE);
    node_descriptor(env, ENV_WRITE);
    assert_int_equal(door.writable, 1);
    assert_int_equal(door.readable, 0);
    assert_int_equal(env->wants, ENV_READ);
    fake.move_result = -EAGAIN;
    assert_int_equal(weft_descriptor_write(door.self, client, bytes, 10), -EAGAIN);
    assert_int_equal(env->wants, ENV_READ | ENV_WRITE);
    fake.move_result = INT64_MAX; /* a later write found room: no event is needed */
    assert_int_equal(weft_descriptor_write(door.self, client, bytes, 10), 10);
    assert_int_equal(env->wants, ENV_READ);
    fake.move_result = -EPIPE;
    assert_int_equal(weft_descriptor_write(door.self, client, bytes, 10), -EPIPE);
    assert_int_equal(env->wants, ENV_READ);
    assert_int_equal(count(world, "descriptors_bytes_out"), 23);
    assert_int_equal(weft_descriptor_finish(door.self, client), 7);
    world_close(world);
}

/* A descriptor that always has more cannot keep its server. */
static void a_turn_moves_a_bounded_number_of_bytes(void **state)
{
    static char bytes[100000];
    struct world *world = door_open(LIMIT);
    weft_descriptor client = connection();
    struct env_descriptor *env = fake.last;
    uint64_t total = 0;
    int64_t result;
    while ((result = weft_descriptor_read(door.self, client, bytes, sizeof bytes)) > 0)
        total += (uint64_t)result;
    assert_int_equal(result, -EAGAIN);
    assert_int_equal(total, WEFT_DESCRIPTOR_TURN);
    assert_int_equal(env->wants, ENV_READ); /* its next turn follows */
    total = 0;
    while ((result = weft_descriptor_write(door.self, client, bytes, sizeof bytes)) > 0)
        total += (uint64_t)result;
    assert_int_equal(total, WEFT_DESCRIPTOR_TURN);
    assert_int_equal(env->wants, ENV_READ | ENV_WRITE);
    world->nodes[0].env.now++; /* another turn */
    assert_int_equal(weft_descriptor_read(door.self, client, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(weft_descriptor_write(door.self, client, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(env->wants, ENV_READ);
    world_close(world);
}

static void a_connect_ends_with_a_call(void **state)
{
    struct world *world = door_open(LIMIT);
    weft_descriptor one, other;
    char byte = 0;
    assert_int_equal(weft_descriptor_connect(door.self, "10.0.0.1", 80, &ops, NULL, &one), 0);
    struct env_descriptor *env = fake.last;
    assert_int_equal(env->wants, ENV_WRITE);
    assert_int_equal(weft_descriptor_write(door.self, one, &byte, 1), -ENOTCONN);
    assert_int_equal(weft_descriptor_read(door.self, one, &byte, 1), -ENOTCONN);
    assert_int_equal(weft_descriptor_finish(door.self, one), -ENOTCONN);
    fake.connect_result = -EAGAIN; /* a report without reason */
    node_descriptor(env, ENV_WRITE);
    assert_int_equal(door.connected, 0);
    fake.connect_result = 0;
    node_descriptor(env, ENV_WRITE);
    assert_int_equal(door.connected, 1);
    assert_int_equal(door.result, 0);
    assert_int_equal(env->wants, ENV_READ);
    assert_int_equal(weft_descriptor_write(door.self, one, &byte, 1), 1);
    assert_int_equal(weft_descriptor_connect(door.self, NULL, 80, &ops, NULL, &other), 0);
    assert_string_equal(fake.address, "127.0.0.1");
    fake.connect_result = -ECONNREFUSED;
    node_descriptor(fake.last, ENV_WRITE);
    assert_int_equal(door.result, -ECONNREFUSED);
    assert_int_equal(fake.last->wants, 0);
    assert_int_equal(weft_descriptor_write(door.self, other, &byte, 1), -ENOTCONN);
    world_close(world);
}

static void calls_that_take_long_are_counted_and_named(void **state)
{
    struct world *world = door_open(LIMIT);
    weft_descriptor out;
    char bytes[4];
    connection();
    assert_string_equal(slow, "");
    pulse.slow_ticks = 0; /* each call takes longer */
    connection();
    struct env_descriptor *client = fake.last;
    door.act = read_in_turn;
    node_descriptor(client, ENV_READ);
    fake.move_result = 1;
    assert_int_equal(weft_descriptor_write(door.self, door.client, bytes, sizeof bytes), 1);
    node_descriptor(client, ENV_WRITE);
    assert_int_equal(weft_descriptor_close(door.self, door.client), 0);
    assert_int_equal(weft_descriptor_connect(door.self, NULL, 80, &ops, NULL, &out), 0);
    node_descriptor(fake.last, ENV_WRITE);
    assert_string_equal(slow, "door accepted;door readable;door writable;door connected;");
    pulse.slow_ticks = UINT64_MAX;
    assert_int_equal(count(world, "slow"), 4);
    world_close(world);
}

static void mistakes_are_refused_and_named(void **state)
{
    static const struct weft_descriptor_ops none = {0};
    struct world *world = door_open(LIMIT);
    weft_descriptor client = connection(), other;
    char byte = 0;
    MISTAKE(weft_descriptor_listen(door.self, NULL, 0, NULL, NULL, &other), "no functions");
    MISTAKE(weft_descriptor_listen(door.self, NULL, 0, &ops, NULL, NULL), "no place");
    MISTAKE(weft_descriptor_listen(door.self, NULL, 0, &none, NULL, &other), "`accepted`");
    MISTAKE(weft_descriptor_connect(door.self, NULL, 0, &none, NULL, &other), "`connected`");
    MISTAKE(weft_descriptor_adopt(door.self, 0, &none, NULL, &other), "`readable`");
    MISTAKE(weft_descriptor_read(door.self, client, NULL, 1), "no bytes");
    MISTAKE(weft_descriptor_read(door.self, door.listener, &byte, 1), "listener");
    MISTAKE(weft_descriptor_write(door.self, client, NULL, 1), "no bytes");
    MISTAKE(weft_descriptor_write(door.self, door.listener, &byte, 1), "listener");
    MISTAKE(weft_descriptor_finish(door.self, door.listener), "listener");
    assert_int_equal(weft_descriptor_write(door.self, client, &byte, 0), -EINVAL);
    fake.stolen = true;
    assert_int_equal(weft_descriptor_close(door.self, client), -EBADF);
    assert_non_null(strstr(last_mistake, "handed over"));
    fake.stolen = false;
    assert_int_equal(count(world, "mistakes"), 12);
    world_close(world);
}

static void a_service_that_declares_none_has_none(void **state)
{
    struct world *world = door_open(0);
    weft_descriptor other;
    assert_int_equal(weft_descriptor_listen(door.self, NULL, 0, &ops, NULL, &other), -ENODEV);
    assert_int_equal(weft_descriptor_connect(door.self, NULL, 0, &ops, NULL, &other), -ENODEV);
    assert_int_equal(weft_descriptor_adopt(door.self, 0, &ops, NULL, &other), -ENODEV);
    MISTAKE(weft_descriptor_close(door.self, 1), "not the number");
    world_close(world);
    world = door_open(LIMIT);
    world->nodes[0].env.ops = &world_ops; /* a world without descriptors */
    assert_int_equal(weft_descriptor_listen(door.self, NULL, 0, &ops, NULL, &other), -ENODEV);
    world_close(world);
}

static void a_service_that_asks_for_too_many_is_refused(void **state)
{
    static const struct weft_service_ops service_ops = {0};
    static const struct weft_service service = {.version = WEFT_SERVICE_VERSION,
                                                .name = "door",
                                                .id = DOOR,
                                                .ops = &service_ops,
                                                .descriptors = WEFT_DESCRIPTORS_MAX + 1};
    static const struct weft_service *const services[] = {&service, NULL};
    struct world *world = door_open(LIMIT);
    struct env env = world->nodes[0].env;
    struct node_config config = {
        .services = services, .plan = &world->plan, .env = &env, .incarnation = 1};
    struct node *node;
    struct why why = {0};
    assert_int_equal(node_open(&node, &config, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "descriptors"));
    world_close(world);
}

static int stop_result;

static void door_stop(struct weft_self *self)
{
    weft_descriptor other;
    stop_result = weft_descriptor_listen(self, NULL, 0, &ops, NULL, &other);
}

static void a_server_that_stops_opens_none(void **state)
{
    static const struct weft_service_ops service_ops = {.stop = door_stop};
    static const struct weft_service service = {.version = WEFT_SERVICE_VERSION,
                                                .name = "door",
                                                .id = DOOR,
                                                .ops = &service_ops,
                                                .descriptors = 1};
    static const struct weft_service *const services[] = {&service, NULL};
    struct node_config config = {.seed = 1, .services = services};
    struct world *world = world_open("torus:3", &config);
    world_close(world);
    assert_int_equal(stop_result, -ESHUTDOWN);
}

TEST_MAIN(TEST(a_number_is_never_given_to_another_descriptor),
          TEST(addresses_are_loopback_unless_the_service_says_otherwise),
          TEST(a_service_has_as_many_as_it_declares_and_more_clients_are_refused),
          TEST(a_listener_may_be_paused_or_closed_in_its_turn),
          TEST(readable_is_called_until_the_end_and_not_while_paused),
          TEST(a_service_that_ignores_what_is_readable_is_paused),
          TEST(writable_is_called_once_after_a_short_write),
          TEST(a_turn_moves_a_bounded_number_of_bytes), TEST(a_connect_ends_with_a_call),
          TEST(calls_that_take_long_are_counted_and_named), TEST(mistakes_are_refused_and_named),
          TEST(a_service_that_declares_none_has_none),
          TEST(a_service_that_asks_for_too_many_is_refused), TEST(a_server_that_stops_opens_none))
