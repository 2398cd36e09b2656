/* Error results and unusual uses of the calls, in one process with two services. */
#include "common.h"
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#define ONE   11
#define TWO   12
#define GROUP 400

#define check(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            panic("check failed: %s", #condition);                                                 \
    } while (0)

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
    check(init() == 0);
    check(init() == 1);
    check(ripc_register_service_id(ONE) == 1);
    check(ripc_register_service_id(ONE) == 0);
    check(ripc_register_service_id(TWO) == 1);
    check(ripc_register_service_id(0) == 0);
    check(ripc_register_service_id(-1) == 0);
    check(ripc_register_service_id(65536 + ONE) == 0);
    check(ripc_register_random_service_id() != 0);
}

static void refusals(void)
{
    static char data[20000];
    check(receive(999) == ENOENT);
    check(send_one(ripc_send_short, 999, data, 10) == ENOENT);
    check(send_one(ripc_send_short, TWO, data, sizeof data) == EMSGSIZE);
    check(send_one(ripc_send_long, TWO, (void *)4096, 100) == EFAULT);
    check(ripc_send_short(999, TWO, NULL, NULL, 0, NULL, NULL, 0) == ENOENT);
    check(ripc_send_short(ONE, TWO, NULL, NULL, 1000, NULL, NULL, 0) == EMSGSIZE);
    check(ripc_buf_register((void *)4096, 100) == EFAULT);
    check(ripc_buf_unregister(data) == ENOENT);
    check(ripc_reg_recv_window(data, 0) == EINVAL);
    check(ripc_reg_recv_window_for_service(data, 100, 999) == ENOENT);
    check(ripc_buf_alloc((size_t)-1) == NULL);
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
    check(ripc_buf_register(registered, 10) == EEXIST);
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
    check(ripc_buf_unregister(registered) == 0);
}

static void no_window(void)
{
    void *data = ripc_buf_alloc(1000);
    check(send_one(ripc_send_long, TWO, data, 1000) == 0);
    check(receive(TWO) == 0 && num_long == 1 && longs[0] == NULL && long_sizes[0] == 0);
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
        check(receive(TWO) == 0 && num_long == 1);
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

/* A forked child does not use the context, and does not close it when it ends. */
static void child(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        exit(0);
    check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    check(send_one(ripc_send_short, TWO, "still", 6) == 0);
    check(receive(TWO) == 0 && num_short == 1 && strcmp(shorts[0], "still") == 0);
    ripc_buf_free(shorts[0]);
    free(shorts);
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
    long_items();
    no_window();
    early_free();
    copies();
    child();
    multicast();
    printf("all checks passed\n");
    return EXIT_SUCCESS;
}
