/* Results of the calls when no context can be opened, here because its folder cannot be created. */
#include "common.h"
#include <errno.h>

int main(void)
{
    static char data[100];
    void *item = data, **items;
    uint32_t size = sizeof data, *sizes;
    uint16_t from, count;
    setenv("WEFT_FOLDER", "/dev/null/folder", 1);
    uint8_t status = init();
    check(status != 0 && status != 1);
    check(init() == status); /* the library tries again */
    check(ripc_register_service_id(11) == 0);
    check(ripc_register_multicast_service_id(11) == 0);
    check(ripc_register_random_service_id() == 0);
    check(ripc_buf_alloc(100) == NULL);
    check(ripc_buf_realloc(NULL, 100) == NULL);
    ripc_buf_free(data);
    check(!context.initialized);
    check(ripc_buf_register(data, sizeof data) == 1);
    check(ripc_buf_unregister(data) == 0);
    check(ripc_reg_recv_window(data, sizeof data) == status);
    check(ripc_reg_recv_window_for_service(data, sizeof data, 11) == status);
    check(ripc_send_short(11, 12, &item, &size, 1, NULL, NULL, 0) == ENOENT);
    check(ripc_send_long(11, 12, &item, &size, 1, NULL, NULL, 0) == ENOENT);
    check(ripc_receive(11, &from, &items, &sizes, &count, &items, &sizes, &count) == ENOENT);
    printf("all checks passed\n");
    return EXIT_SUCCESS;
}
