/* libfabric: tests what weft's fabric transport needs from a provider, without weft: messages,
 * one-sided access, a descriptor to wait on, and a peer that is killed and started again. When a
 * test of weft fails on a provider, this one shows whether the provider or weft is to blame.
 *
 * WEFT_TEST_PROVIDER (tcp) and WEFT_TEST_ADDRESS (127.0.0.1) select the provider. The peer is this
 * program again, with two descriptors as its arguments: addresses and keys travel through these
 * pipes. It echoes every message; the memory that it shares contains a pattern. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "base/test.h"

#define AREA_SIZE    ((size_t)4 << 20)
#define MESSAGE_MAX  ((size_t)16000)
#define WAIT_SECONDS 60

/* Memory of each side: the area, then one message to send and one to receive. */
#define SEND_AT     AREA_SIZE
#define RECEIVE_AT  (AREA_SIZE + MESSAGE_MAX)
#define MEMORY_SIZE (AREA_SIZE + 2 * MESSAGE_MAX)

struct side {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *addresses;
    struct fid_cq *completions;
    struct fid_ep *endpoint;
    struct fid_mr *region;
    int ready; /* the descriptor that announces completions */
    uint8_t *memory;
};

struct hello {
    uint8_t name[64];
    uint64_t key;
    uint64_t base;
};

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

static uint8_t pattern(size_t index)
{
    return (uint8_t)(index * 7 + index / 251);
}

/* The peer does not run under cmocka: a failure ends it, and then our side fails. */
static void check(int result, const char *what)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", what, fi_strerror(-result));
        exit(1);
    }
}

static struct fi_info *side_info(void)
{
    struct fi_info *hints = fi_allocinfo(), *info = NULL;
    if (hints == NULL)
        exit(1);
    hints->fabric_attr->prov_name = strdup(setting("WEFT_TEST_PROVIDER", "tcp"));
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_WAW;
    /* verbs offers nothing without a source address. */
    check(fi_getinfo(FI_VERSION(1, 11), setting("WEFT_TEST_ADDRESS", "127.0.0.1"), NULL, FI_SOURCE,
                     hints, &info),
          "fi_getinfo");
    fi_freeinfo(hints);
    return info;
}

static void side_open(struct side *side)
{
    side->info = side_info();
    check(fi_fabric(side->info->fabric_attr, &side->fabric, NULL), "fi_fabric");
    check(fi_domain(side->fabric, side->info, &side->domain, NULL), "fi_domain");
    struct fi_av_attr addresses = {.type = FI_AV_TABLE};
    check(fi_av_open(side->domain, &addresses, &side->addresses, NULL), "fi_av_open");
    struct fi_cq_attr completions = {
        .size = 256, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD};
    check(fi_cq_open(side->domain, &completions, &side->completions, NULL), "fi_cq_open");
    check(fi_control(&side->completions->fid, FI_GETWAIT, &side->ready), "FI_GETWAIT");
    check(fi_endpoint(side->domain, side->info, &side->endpoint, NULL), "fi_endpoint");
    check(fi_ep_bind(side->endpoint, &side->addresses->fid, 0), "fi_ep_bind");
    check(fi_ep_bind(side->endpoint, &side->completions->fid, FI_SEND | FI_RECV), "fi_ep_bind");
    check(fi_enable(side->endpoint), "fi_enable");
    side->memory = calloc(1, MEMORY_SIZE);
    if (side->memory == NULL)
        exit(1);
    uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    check(fi_mr_reg(side->domain, side->memory, MEMORY_SIZE, access, 0, 0, 0, &side->region, NULL),
          "fi_mr_reg");
}

static void side_close(struct side *side)
{
    fi_close(&side->endpoint->fid);
    fi_close(&side->region->fid);
    fi_close(&side->completions->fid);
    fi_close(&side->addresses->fid);
    fi_close(&side->domain->fid);
    fi_close(&side->fabric->fid);
    fi_freeinfo(side->info);
    free(side->memory);
}

static void side_greet(struct side *side, struct hello *hello)
{
    *hello = (struct hello){.key = fi_mr_key(side->region)};
    if (side->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
        hello->base = (uintptr_t)side->memory;
    size_t size = sizeof hello->name;
    check(fi_getname(&side->endpoint->fid, hello->name, &size), "fi_getname");
}

static fi_addr_t side_meet(struct side *side, const struct hello *hello)
{
    fi_addr_t address;
    if (fi_av_insert(side->addresses, hello->name, 1, &address, 0, NULL) != 1)
        check(-FI_EOTHER, "fi_av_insert");
    return address;
}

/* Returns 1 with a completion, 0 if there was none in time, or the completion's error. */
static int side_wait(struct side *side, struct fi_cq_data_entry *entry, int seconds)
{
    time_t end = time(NULL) + seconds;
    while (time(NULL) <= end) {
        ssize_t count = fi_cq_read(side->completions, entry, 1);
        if (count == 1)
            return 1;
        if (count == -FI_EAVAIL) {
            struct fi_cq_err_entry error = {0};
            if (fi_cq_readerr(side->completions, &error, 0) != 1)
                continue;
            entry->op_context = error.op_context;
            return -error.err;
        }
        if (count != -FI_EAGAIN)
            return (int)count;
        struct fid *waited = &side->completions->fid;
        if (fi_trywait(side->fabric, &waited, 1) == 0) {
            /* With a timeout: connecting continues only inside fi_cq_read. */
            struct pollfd ready = {.fd = side->ready, .events = POLLIN};
            poll(&ready, 1, 20);
        }
    }
    return 0;
}

/* ---- the peer ---- */

static void peer_run(int in, int out)
{
    struct side side;
    side_open(&side);
    for (size_t i = 0; i < AREA_SIZE; i++)
        side.memory[i] = pattern(i);
    struct hello own, other;
    side_greet(&side, &own);
    if (write(out, &own, sizeof own) != sizeof own ||
        read(in, &other, sizeof other) != sizeof other)
        exit(1);
    fi_addr_t to = side_meet(&side, &other);
    struct fi_context receiving, sending;
    void *descriptor = fi_mr_desc(side.region);
    uint8_t *buffer = side.memory + RECEIVE_AT;
    for (;;) {
        struct fi_cq_data_entry entry;
        check((int)fi_recv(side.endpoint, buffer, MESSAGE_MAX, descriptor, FI_ADDR_UNSPEC,
                           &receiving),
              "fi_recv");
        while (side_wait(&side, &entry, 1) != 1) /* the test kills us when it is done */
            if (getppid() == 1)
                exit(0);
        size_t size = entry.len;
        while (fi_send(side.endpoint, buffer, size, descriptor, to, &sending) == -FI_EAGAIN)
            fi_cq_read(side.completions, NULL, 0);
        check(side_wait(&side, &entry, WAIT_SECONDS), "the echo");
    }
}

/* ---- the tests ---- */

static struct side self;
static struct hello peer;
static fi_addr_t peer_address;
static pid_t peer_pid;
static char *program;

static void peer_start(void)
{
    int to[2], from[2];
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    peer_pid = fork();
    assert_true(peer_pid >= 0);
    if (peer_pid == 0) {
        char in[16], out[16];
        close(to[1]);
        close(from[0]);
        snprintf(in, sizeof in, "%d", to[0]);
        snprintf(out, sizeof out, "%d", from[1]);
        execl(program, program, in, out, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    struct hello own;
    side_greet(&self, &own);
    assert_int_equal(read(from[0], &peer, sizeof peer), sizeof peer);
    assert_int_equal(write(to[1], &own, sizeof own), sizeof own);
    close(to[1]);
    close(from[0]);
    peer_address = side_meet(&self, &peer);
}

static void peer_kill(void)
{
    if (peer_pid <= 0)
        return;
    kill(peer_pid, SIGKILL);
    waitpid(peer_pid, NULL, 0);
    peer_pid = 0;
    fi_av_remove(self.addresses, &peer_address, 1, 0);
}

enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_SEND };

/* Retries until the provider accepts it: a connection is established inside fi_cq_read. */
static void post(enum access access, size_t size, struct fi_context *context)
{
    time_t end = time(NULL) + WAIT_SECONDS;
    void *descriptor = fi_mr_desc(self.region);
    ssize_t result = -FI_EAGAIN;
    while (result == -FI_EAGAIN && time(NULL) <= end) {
        if (access == ACCESS_READ)
            result = fi_read(self.endpoint, self.memory, size, descriptor, peer_address, peer.base,
                             peer.key, context);
        else if (access == ACCESS_WRITE)
            result = fi_write(self.endpoint, self.memory, size, descriptor, peer_address, peer.base,
                              peer.key, context);
        else
            result = fi_send(self.endpoint, self.memory + SEND_AT, size, descriptor, peer_address,
                             context);
        if (result == -FI_EAGAIN)
            fi_cq_read(self.completions, NULL, 0);
    }
    assert_int_equal(result, 0);
}

static void exchange(size_t size)
{
    struct fi_context receiving, sending;
    struct fi_cq_data_entry entry;
    for (size_t i = 0; i < size; i++)
        self.memory[SEND_AT + i] = pattern(i + size);
    memset(self.memory + RECEIVE_AT, 0, size);
    assert_int_equal(fi_recv(self.endpoint, self.memory + RECEIVE_AT, MESSAGE_MAX,
                             fi_mr_desc(self.region), FI_ADDR_UNSPEC, &receiving),
                     0);
    post(ACCESS_SEND, size, &sending);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(side_wait(&self, &entry, WAIT_SECONDS), 1);
        if (entry.op_context == &receiving)
            assert_int_equal(entry.len, size);
    }
    assert_memory_equal(self.memory + RECEIVE_AT, self.memory + SEND_AT, size);
}

static void messages_of_every_size_are_echoed(void **state)
{
    static const size_t sizes[] = {1, 64, 192, 193, 1500, 8900, MESSAGE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        exchange(sizes[i]);
}

static void remote_memory_is_read_and_written(void **state)
{
    struct fi_context context;
    struct fi_cq_data_entry entry;
    for (size_t size = 1; size <= AREA_SIZE; size *= 64) {
        memset(self.memory, 0, size);
        post(ACCESS_READ, size, &context);
        assert_int_equal(side_wait(&self, &entry, WAIT_SECONDS), 1);
        for (size_t i = 0; i < size; i++)
            if (self.memory[i] != pattern(i))
                fail_msg("byte %zu of %zu", i, size);
    }
    for (size_t i = 0; i < AREA_SIZE; i++)
        self.memory[i] = pattern(i + 1);
    post(ACCESS_WRITE, AREA_SIZE, &context);
    assert_int_equal(side_wait(&self, &entry, WAIT_SECONDS), 1);
    memset(self.memory, 0, AREA_SIZE);
    post(ACCESS_READ, AREA_SIZE, &context);
    assert_int_equal(side_wait(&self, &entry, WAIT_SECONDS), 1);
    for (size_t i = 0; i < AREA_SIZE; i++)
        if (self.memory[i] != pattern(i + 1))
            fail_msg("byte %zu after the write", i);
}

/* Whether they succeed is a race, but all must complete. */
static void reads_from_a_killed_peer_complete_once(void **state)
{
    struct fi_context contexts[4];
    int completed[4] = {0};
    for (int i = 0; i < 4; i++)
        post(ACCESS_READ, AREA_SIZE, &contexts[i]);
    kill(peer_pid, SIGKILL);
    for (int i = 0; i < 4; i++) {
        struct fi_cq_data_entry entry = {0};
        assert_int_not_equal(side_wait(&self, &entry, WAIT_SECONDS), 0);
        for (int j = 0; j < 4; j++)
            completed[j] += entry.op_context == &contexts[j];
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(completed[i], 1);
    peer_kill();
}

static void a_restarted_peer_can_be_reached(void **state)
{
    peer_start();
    exchange(64);
    remote_memory_is_read_and_written(state);
}

static int group_begin(void **state)
{
    side_open(&self);
    peer_start();
    return 0;
}

static int group_end(void **state)
{
    peer_kill();
    side_close(&self);
    return 0;
}

int main(int count, char **words)
{
    if (count == 3) {
        peer_run(atoi(words[1]), atoi(words[2]));
        return 0;
    }
    program = words[0];
    const struct CMUnitTest tests[] = {
        TEST(messages_of_every_size_are_echoed),
        TEST(remote_memory_is_read_and_written),
        TEST(reads_from_a_killed_peer_complete_once),
        TEST(a_restarted_peer_can_be_reached),
    };
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
