/* Error results and unusual uses of the calls, in one process with two services. */
#include "common.h"
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#define ONE   11
#define TWO   12
#define ZERO  0 /* an id like any other */
#define GROUP 400

static void **shorts, **longs;
static uint32_t *short_sizes, *long_sizes;
static uint16_t from, num_short, num_long;

static uint8_t receive(uint16_t service)
{
    return ripc_receive(service, &from, &shorts, &short_sizes, &num_short, &longs, &long_sizes,
                        &num_long);
}

static uint8_t send_one(uint8_t (*call)(uint16_t, uint16_t, void **, uint32_t *, uint16_t, void **,
                                        uint32_t *, uint16_t),
                        uint16_t dest, void *data, uint32_t size)
{
    return call(ONE, dest, &data, &size, 1, NULL, NULL, 0);
}

static void opening(void)
{
    check(!context.initialized);
    check(init() == 0);
    check(init() == 1);
    check(context.initialized && !context.services[ONE]);
    check(ripc_register_service_id(ONE) == 1);
    check(ripc_register_service_id(ONE) == 0);
    check(ripc_register_service_id(TWO) == 1);
    check(ripc_register_service_id(ZERO) == 1);
    check(ripc_register_service_id(ZERO) == 0);
    check(ripc_register_service_id(65535) == 1);
    check(ripc_register_service_id(-1) == 0);
    check(ripc_register_service_id(65536 + ONE) == 0);
    check(ripc_register_random_service_id() != 0);
    check(context.services[ONE]->number == ONE && context.services[ZERO]->number == ZERO);
}

static void refusals(void)
{
    static char data[20000];
    check(receive(999) == ENOENT);
    check(send_one(ripc_send_short, TWO, data, sizeof data) == EMSGSIZE);
    check(send_one(ripc_send_long, TWO, (void *)4096, 100) == EFAULT);
    check(ripc_send_short(999, TWO, NULL, NULL, 0, NULL, NULL, 0) == ENOENT);
    check(ripc_send_short(ONE, TWO, NULL, NULL, 1000, NULL, NULL, 0) == EMSGSIZE);
    check(ripc_buf_register((void *)4096, 100) == 1);
    check(ripc_buf_register(NULL, 100) == 1);
    check(ripc_buf_register(data, 0) == 1);
    check(ripc_buf_unregister(data) == 0);
    check(ripc_buf_unregister(NULL) == 0);
    check(ripc_reg_recv_window((void *)4096, 100) == EFAULT);
    check(ripc_reg_recv_window(data, 0) == EINVAL);
    check(ripc_reg_recv_window_for_service(data, 100, 999) == ENOENT);
    check(ripc_buf_alloc((size_t)-1) == NULL);
    check(ripc_buf_alloc(0) == NULL);
    check(ripc_buf_realloc(NULL, 0) == NULL);
    check(ripc_buf_realloc(data, 100) == NULL);
}

static int is_zero(const char *data, size_t size)
{
    size_t i;
    for (i = 0; i < size && data[i] == 0; ++i)
        ;
    return i == size;
}

/* Buffers are zero when they are new, when their memory is used again, and where they grew. */
static void zeroed(void)
{
    static const size_t sizes[] = {1, 100, 2000, 5000, 100000, 3000000};
    char *data, *more;
    unsigned i, round;
    for (round = 0; round < 3; ++round)
        for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
            data = ripc_buf_alloc(sizes[i]);
            check(data && is_zero(data, sizes[i]));
            memset(data, 'd', sizes[i]);
            more = ripc_buf_realloc(data, 2 * sizes[i]);
            check(more && more[sizes[i] - 1] == 'd' && is_zero(more + sizes[i], sizes[i]));
            memset(more, 'd', 2 * sizes[i]);
            ripc_buf_free(more + sizes[i]); /* any address inside */
            check(ripc_buf_unregister(more) == 0);
        }
    data = ripc_buf_alloc(100);
    check(ripc_buf_realloc(data + 50, 0) == NULL); /* frees it */
    check(ripc_buf_unregister(data) == 0);
}

/* The results of registering and unregistering, of the program's memory and of buffers. */
static void registration(void)
{
    static char own[10000];
    char *data = ripc_buf_alloc(5000);
    check(ripc_buf_register(own + 1000, 5000) == 0);
    check(ripc_buf_register(own + 1000, 5000) == 0);
    check(ripc_buf_register(own + 2000, 100) == 0);
    check(ripc_buf_register(own + 2000, 4001) == 1);
    check(ripc_buf_register(own, 1001) == 1);
    check(ripc_buf_register(own, 1000) == 0);
    check(ripc_buf_unregister(own + 5999) == 1);
    check(ripc_buf_unregister(own + 1000) == 0);
    check(ripc_buf_unregister(own) == 1);
    check(ripc_buf_unregister(own) == 0);
    check(ripc_buf_register(data, 5000) == 0);
    check(ripc_buf_register(data + 1000, 4000) == 0);
    check(ripc_buf_unregister(data + 1000) == 1);
    check(ripc_buf_unregister(data) == 0);
    check(ripc_buf_register(data, 10) == 0);
    check(ripc_buf_unregister(data) == 1);
    ripc_buf_free(data);
}

/* Memory that is unregistered while it is being sent. */
static void unregistered_early(void)
{
    static char own[50000];
    memset(own, 'e', sizeof own);
    check(ripc_buf_register(own, sizeof own) == 0);
    check(send_one(ripc_send_long, TWO, own, sizeof own) == 0);
    check(ripc_buf_unregister(own + 1) == 1);
    check(ripc_buf_unregister(own) == 0);
    check(ripc_reg_recv_window(NULL, sizeof own) == 0);
    check(receive(TWO) == 0 && num_long == 1 && ((char *)longs[0])[49999] == 'e');
    ripc_buf_free((char *)longs[0] + 1);
    free(longs);
    check(ripc_buf_register(own, sizeof own) == 0);
    check(ripc_buf_unregister(own) == 1);
    check(ripc_buf_register(own + 100, 100) == 0); /* it is free for other sizes */
    check(ripc_buf_unregister(own + 100) == 1);
}

/* Messages from and to id 0; each item frees its whole message, and what follows it is zero. */
static void short_items(void)
{
    void *items[3] = {"one", "two", "three"};
    uint32_t sizes[3] = {4, 4, 5};
    int i;
    for (i = 0; i < 30; ++i) {
        check(ripc_send_short(ZERO, ZERO, items, sizes, 3, NULL, NULL, 0) == 0);
        check(receive(ZERO) == 0 && from == ZERO && num_short == 3 && num_long == 0);
        check(strcmp(shorts[0], "one") == 0 && strcmp(shorts[2], "three") == 0);
        check(is_zero((char *)shorts[2] + 5, RECV_BUF_SIZE - 13));
        memset(shorts[0], 'd', RECV_BUF_SIZE);
        ripc_buf_free(shorts[i % 3]);
        check(ripc_buf_unregister(shorts[0]) == 0); /* it is free */
        ripc_buf_free(shorts[(i + 1) % 3]);         /* freeing another item does nothing */
        free(shorts);
    }
    check(context.remotes[ZERO]->number == ZERO);
}

/* Items at NULL are zeros, and items may have no bytes. */
static void null_items(void)
{
    void *items[3] = {NULL, "two", NULL};
    uint32_t sizes[3] = {50, 0, 100};
    check(ripc_send_short(ONE, TWO, items, sizes, 3, NULL, NULL, 0) == 0);
    check(receive(TWO) == 0 && num_short == 3);
    check(short_sizes[0] == 50 && short_sizes[1] == 0 && short_sizes[2] == 100);
    check(is_zero(shorts[0], 150));
    ripc_buf_free(shorts[1]);
    free(shorts);
    check(send_one(ripc_send_short, TWO, NULL, 20000) == EMSGSIZE);
    check(send_one(ripc_send_short, TWO, NULL, 0) == 0);
    check(receive(TWO) == 0 && num_short == 1 && short_sizes[0] == 0 && is_zero(shorts[0], 100));
    ripc_buf_free(shorts[0]);
    free(shorts);
    check(ripc_reg_recv_window(NULL, 5000) == 0);
    check(send_one(ripc_send_long, TWO, NULL, 5000) == 0);
    check(receive(TWO) == 0 && num_long == 1 && long_sizes[0] == 5000 && is_zero(longs[0], 5000));
    ripc_buf_free(longs[0]);
    free(longs);
}

/* Return buffers that cannot be used are ignored, and do not make the send fail. */
static void return_buffers(void)
{
    static char own[1000];
    void *returns[4] = {NULL, (void *)4096, own, NULL};
    uint32_t sizes[4] = {0, 1000, sizeof own, 1000};
    void *item = ripc_buf_alloc(900);
    uint32_t size = 900;
    memset(item, 'r', 900);
    check(ripc_send_short(ONE, TWO, NULL, NULL, 0, returns, sizes, 4) == 0);
    check(receive(TWO) == 0 && num_short == 0 && num_long == 0);
    check(ripc_send_long(TWO, ONE, &item, &size, 1, NULL, NULL, 0) == 0);
    check(receive(ONE) == 0 && num_long == 1 && longs[0] == own && own[899] == 'r');
    free(longs);
    check(ripc_send_long(TWO, ONE, &item, &size, 1, NULL, NULL, 0) == 0);
    check(receive(ONE) == 0 && num_long == 1 && longs[0] != own && long_sizes[0] == 900);
    ripc_buf_free(longs[0]);
    free(longs);
    ripc_buf_free(item);
}

static void buffers(void)
{
    char *data = ripc_buf_alloc(100), *more;
    check(data);
    strcpy(data, "kept");
    more = ripc_buf_realloc(data, 100000);
    check(more && strcmp(more, "kept") == 0);
    ripc_buf_free(more);
    ripc_buf_free(more); /* freeing again does nothing */
    ripc_buf_free(&data);
    ripc_buf_free(NULL);
}

/* Sends from the program's own memory, registered or not; receives into a window for one service,
 * which is preferred, and into a window for all services. */
static void long_items(void)
{
    static char own[5000], registered[5000], window[5000];
    memset(own, 'o', sizeof own);
    memset(registered, 'r', sizeof registered);
    check(ripc_buf_register(registered, sizeof registered) == 0);
    check(ripc_reg_recv_window(NULL, sizeof own) == 0);
    check(ripc_reg_recv_window_for_service(window, sizeof window, TWO) == 0);
    check(send_one(ripc_send_long, TWO, own, sizeof own) == 0);
    memset(own, 'x', sizeof own); /* it was copied */
    check(send_one(ripc_send_long, TWO, registered, sizeof registered) == 0);
    check(receive(TWO) == 0 && from == ONE && num_short == 0 && num_long == 1);
    check(longs[0] == window && long_sizes[0] == sizeof own && window[4999] == 'o');
    free(longs);
    check(receive(TWO) == 0 && num_long == 1 && long_sizes[0] == sizeof registered);
    check(longs[0] != window && ((char *)longs[0])[4999] == 'r');
    ripc_buf_free(longs[0]);
    free(longs);
    check(ripc_buf_unregister(registered) == 1);
}

/* An item without a window is lost; the next message is received as usual. A window that was added
 * twice is used once. */
static void no_window(void)
{
    static char window[1000];
    void *data = ripc_buf_alloc(2000);
    check(send_one(ripc_send_long, TWO, data, 1000) == 0);
    check(receive(TWO) == 1 && from == ONE && num_long == 1);
    check(longs[0] == NULL && long_sizes[0] == 0);
    free(longs);
    check(ripc_reg_recv_window(window, 500) == 0);
    check(ripc_reg_recv_window(window, 1000) == 0);
    check(send_one(ripc_send_long, TWO, data, 1001) == 0);
    check(receive(TWO) == 1 && num_long == 1 && longs[0] == NULL);
    free(longs);
    check(send_one(ripc_send_long, TWO, data, 1000) == 0);
    check(receive(TWO) == 0 && longs[0] == window);
    free(longs);
    check(send_one(ripc_send_long, TWO, data, 10) == 0);
    check(receive(TWO) == 1);
    free(longs);
    ripc_buf_free(data);
}

/* The sender frees the memory and allocates again before the receiver has read the item. */
static void early_free(void)
{
    char *data = ripc_buf_alloc(100000), *other;
    int i;
    memset(data, 'd', 100000);
    check(send_one(ripc_send_long, TWO, data, 100000) == 0);
    ripc_buf_free(data);
    ripc_buf_free(data);
    for (i = 0; i < 50; ++i) {
        other = ripc_buf_alloc(100000);
        check(other != data);
        memset(other, 'z', 100000);
    }
    check(ripc_reg_recv_window(NULL, 100000) == 0);
    check(receive(TWO) == 0 && num_long == 1 && longs[0]);
    for (i = 0; i < 100000; ++i)
        check(((char *)longs[0])[i] == 'd');
    ripc_buf_free(longs[0]);
    free(longs);
    for (i = 0; i < 50 && ripc_buf_alloc(100000) != data; ++i)
        ;
    check(i < 50); /* it was freed in the end */
}

/* A copy that the library made of an item is freed once the item was read. */
static void copies(void)
{
    static char own[100000];
    char *data = ripc_buf_alloc(sizeof own), *small = ripc_buf_alloc(1);
    int i;
    ripc_buf_free(data);
    ripc_buf_free(small);
    check(ripc_reg_recv_window(NULL, sizeof own) == 0);
    for (i = 0; i < 20; ++i) {
        check(send_one(ripc_send_long, TWO, own, sizeof own) == 0);
        check(receive(TWO) == (i > 0) && num_long == 1); /* there was one window */
        if (longs[0])
            ripc_buf_free(longs[0]);
        free(longs);
    }
    for (i = 0; i < 8 && ripc_buf_alloc(sizeof own) != data; ++i)
        ;
    check(i < 8);
    for (i = 0; i < 8 && ripc_buf_alloc(1) != small; ++i)
        ;
    check(i < 8); /* nothing was allocated for the short items, of which there were none */
}

/* A forked child begins anew: it does not use its parent's context, and does not close it when it
 * ends. tests/fork_compat.c has more. */
static void child(void)
{
#if !defined(__SANITIZE_THREAD__) /* ThreadSanitizer lets such a child start no threads */
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        check(init() == 0);
        check(init() == 1);
        check(ripc_buf_alloc(100) != NULL);
        check(send_one(ripc_send_short, TWO, "child", 6) != 0); /* ONE is not its own */
        check(receive(TWO) != 0);
        check(ripc_register_service_id(TWO) == 0);
        check(ripc_register_service_id(77) == 1);
        exit(0);
    }
    check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    check(send_one(ripc_send_short, TWO, "still", 6) == 0);
    check(receive(TWO) == 0 && num_short == 1 && strcmp(shorts[0], "still") == 0);
    ripc_buf_free(shorts[0]);
    free(shorts);
#endif
}

static void multicast(void)
{
    check(ripc_register_multicast_service_id(GROUP) == 1);
    check(ripc_register_multicast_service_id(GROUP) == 0);
    check(send_one(ripc_send_short, GROUP, "all", 4) == 0);
    check(receive(GROUP) == 0 && from == ONE && num_short == 1 && strcmp(shorts[0], "all") == 0);
    ripc_buf_free(shorts[0]);
    free(shorts);
}

int main(void)
{
    opening();
    refusals();
    buffers();
    zeroed();
    registration();
    short_items();
    null_items();
    return_buffers();
    long_items();
    no_window();
    unregistered_early();
    early_free();
    copies();
    child();
    multicast();
    printf("all checks passed\n");
    return EXIT_SUCCESS;
}
