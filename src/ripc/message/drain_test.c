/* drain: the messages of a program that ends right after sending still arrive. The program is a
 * separate process. It is forked before this process has threads, and begins when it is told to. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "ripc/scene/scene.h"
#include "transport/routed/relay_scene.h"

#define SERVER 42
#define FEW    8   /* less than any window: all can be sent before the receiver takes one */
#define MANY   300 /* more than any window */

struct program {
    pid_t pid;
    int go;     /* a byte that we write tells the program to begin */
    int spoken; /* a byte that the program writes tells us that it is ready */
};

/* The same two pipes, as the program has them. */
struct process {
    int go, spoken;
};

typedef void program_main(const struct process *self, const struct ripc_config *config);

static struct program program_start(program_main *run, const struct ripc_config *config)
{
    int go[2], spoken[2];
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(spoken), 0);
    struct program program = {.pid = fork(), .go = go[1], .spoken = spoken[0]};
    assert_true(program.pid >= 0);
    if (program.pid == 0) {
        struct process self = {go[0], spoken[1]};
        char byte;
        close(go[1]);
        close(spoken[0]);
        if (read(self.go, &byte, 1) == 1) /* else the test has failed */
            run(&self, config);
        _exit(1);
    }
    close(go[0]);
    close(spoken[1]);
    return program;
}

static void program_go(const struct program *program)
{
    assert_int_equal(write(program->go, "g", 1), 1);
}

static void program_await(const struct program *program)
{
    char byte;
    assert_int_equal(read(program->spoken, &byte, 1), 1);
}

static void program_end(const struct program *program, int wanted)
{
    int status = 0;
    assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
    assert_int_equal(status, wanted);
    close(program->go);
    close(program->spoken);
}

/* ---- programs that send and end ---- */

static void send_all(const struct ripc_config *config, uint32_t count, bool unbind)
{
    struct ripc *ripc;
    struct ripc_service *service;
    if (ripc_open(config, &ripc) || ripc_bind(ripc, 0, 0, &service))
        _exit(2);
    for (uint32_t i = 0; i < count; i++)
        if (ripc_send(service, SERVER, &i, sizeof i, scene_deadline()))
            _exit(3);
    if (unbind && ripc_unbind(service))
        _exit(4);
    _exit(ripc_close(ripc, unbind ? RIPC_NOW : RIPC_FOREVER) ? 5 : 0);
}

static void send_few(const struct process *self, const struct ripc_config *config)
{
    send_all(config, FEW, false);
}

static void send_few_and_unbind(const struct process *self, const struct ripc_config *config)
{
    send_all(config, FEW, true);
}

static void send_many(const struct process *self, const struct ripc_config *config)
{
    send_all(config, MANY, false);
}

static void take(struct ripc_service *server, uint32_t count)
{
    struct ripc_message message;
    for (uint32_t i = 0; i < count; i++) {
        message = scene_receive(server);
        assert_int_equal(message.size, sizeof i);
        assert_memory_equal(message.data, &i, sizeof i);
        ripc_release(&message);
    }
    assert_int_equal(ripc_receive(server, &message, 1, RIPC_NOW), -EAGAIN);
}

/* The receiver takes no message before the sender has ended. Until then its keeper thread handles
 * what arrives; with RIPC_MANUAL the receiver calls ripc_progress now and then instead. */
static void few_arrive(struct program *program, const struct ripc_config *config)
{
    struct timespec nap = {.tv_nsec = 3000 * 1000};
    struct ripc *ripc = scene_open(config);
    struct ripc_service *server = scene_bind(ripc, SERVER);
    siginfo_t gone = {0};
    program_go(program);
    while (!gone.si_pid) {
        if (config->flags & RIPC_MANUAL)
            (void)ripc_progress(ripc);
        nanosleep(&nap, NULL);
        assert_int_equal(waitid(P_PID, (id_t)program->pid, &gone, WEXITED | WNOHANG | WNOWAIT), 0);
    }
    program_end(program, 0);
    take(server, FEW);
    scene_close(ripc);
}

static void many_arrive(struct program *program, const struct ripc_config *config)
{
    struct ripc *ripc = scene_open(config);
    struct ripc_service *server = scene_bind(ripc, SERVER);
    program_go(program);
    take(server, MANY);
    program_end(program, 0);
    scene_close(ripc);
}

/* Three programs: one sends few messages, one sends few and unbinds, one sends many. */
struct senders {
    struct program few, unbinding, many;
};

static struct senders senders_start(const struct ripc_config *config)
{
    return (struct senders){
        .few = program_start(send_few, config),
        .unbinding = program_start(send_few_and_unbind, config),
        .many = program_start(send_many, config),
    };
}

static void all_arrive(struct senders *senders, const struct ripc_config *config)
{
    few_arrive(&senders->few, config);
    few_arrive(&senders->unbinding, config);
    many_arrive(&senders->many, config);
}

static const struct ripc_config datagrams = {.transports = "udp", .address = "127.0.0.1"};

static void datagrams_arrive_after_their_sender_has_ended(void **state)
{
    struct senders senders = senders_start(&datagrams);
    all_arrive(&senders, &datagrams);
}

static void datagrams_arrive_at_a_slow_receiver_without_a_keeper(void **state)
{
    struct ripc_config late = datagrams;
    struct program few = program_start(send_few, &datagrams);
    late.flags = RIPC_MANUAL;
    few_arrive(&few, &late);
}

static const struct ripc_config fabric = {.transports = "fabric", .address = "127.0.0.1"};

static void open_only(const struct process *self, const struct ripc_config *config)
{
    struct ripc *ripc;
    _exit(ripc_open(config, &ripc) ? 1 : ripc_close(ripc, RIPC_NOW));
}

static void fabric_messages_arrive_after_their_sender_has_ended(void **state)
{
    struct program first = program_start(open_only, &fabric);
    int status = 0;
    program_go(&first);
    assert_int_equal(waitpid(first.pid, &status, 0), first.pid);
    if (status) {
        print_message("# libfabric or its provider tcp is not installed\n");
        skip();
    }
    struct senders senders = senders_start(&fabric);
    all_arrive(&senders, &fabric);
}

/* The relay loses and duplicates 15 percent of the datagrams. */
static void routed_messages_arrive_after_their_sender_has_ended(void **state)
{
    static struct relay relay;
    char path[sizeof relay.path];
    snprintf(path, sizeof path, "%s/" RELAY_SOCKET, (const char *)*state);
    struct ripc_config config = {.transports = "routed", .names = "host", .node = path};
    struct senders senders = senders_start(&config);
    relay_open(&relay, *state);
    relay.lose = relay.twice = 15;
    all_arrive(&senders, &config);
    relay_end(&relay);
}

/* ---- receivers that stop ---- */

static void take_one_and_stop(const struct process *self, const struct ripc_config *config)
{
    struct ripc *ripc;
    struct ripc_service *service;
    struct ripc_message message;
    if (ripc_open(config, &ripc) || ripc_bind(ripc, SERVER, 0, &service) ||
        write(self->spoken, "r", 1) != 1)
        _exit(2);
    if (ripc_receive(service, &message, 1, scene_deadline()) != 1)
        _exit(3);
    ripc_release(&message);
    (void)raise(SIGSTOP);
    _exit(4);
}

/* Returns a context with messages on their way to a stopped process. */
static struct ripc *speak_in_vain(struct program *program, struct ripc_service **service)
{
    int status;
    program_go(program);
    program_await(program);
    struct ripc *ripc = scene_open(&datagrams);
    *service = scene_bind(ripc, 0);
    assert_int_equal(ripc_send(*service, SERVER, "stop", 4, scene_deadline()), 0);
    assert_int_equal(waitpid(program->pid, &status, WUNTRACED), program->pid);
    assert_true(WIFSTOPPED(status));
    for (unsigned i = 0; i < FEW; i++)
        assert_int_equal(ripc_send(*service, SERVER, "?", 1, scene_deadline()), 0);
    return ripc;
}

static void closing_stops_waiting_for_a_hung_receiver(void **state)
{
    struct program programs[3];
    struct ripc_service *service;
    for (unsigned i = 0; i < 3; i++)
        programs[i] = program_start(take_one_and_stop, &datagrams);
    for (unsigned i = 0; i < 3; i++) {
        struct ripc *ripc = speak_in_vain(&programs[i], &service);
        int64_t deadline = i == 0 ? RIPC_FOREVER : i == 1 ? RIPC_NOW : ripc_after(1000 * 1000);
        assert_int_equal(ripc_close(ripc, deadline), -ETIMEDOUT);
        assert_int_equal(kill(programs[i].pid, SIGKILL), 0);
        program_end(&programs[i], SIGKILL);
        assert_true(ripc_clean(NULL) > 0); /* the files that the process left */
    }
}

/* The death of the receiver ends the wait; otherwise ripc_close would time out. */
static void closing_does_not_wait_for_a_dead_receiver(void **state)
{
    struct program program = program_start(take_one_and_stop, &datagrams);
    struct ripc_service *service;
    struct ripc *ripc = speak_in_vain(&program, &service);
    assert_int_equal(kill(program.pid, SIGKILL), 0);
    program_end(&program, SIGKILL);
    assert_int_equal(ripc_close(ripc, RIPC_FOREVER), 0);
    assert_true(ripc_clean(NULL) > 0);
}

TEST_MAIN(SCENE(datagrams_arrive_after_their_sender_has_ended),
          SCENE_OF_FABRIC(fabric_messages_arrive_after_their_sender_has_ended),
          SCENE(datagrams_arrive_at_a_slow_receiver_without_a_keeper),
          SCENE(routed_messages_arrive_after_their_sender_has_ended),
          SCENE(closing_stops_waiting_for_a_hung_receiver),
          SCENE(closing_does_not_wait_for_a_dead_receiver))
