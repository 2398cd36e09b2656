/* Sends long items, and compares them with the items that come back. Without an argument these come
 * back into a window; with the argument "return", into a return buffer; with "alloc", into a return
 * buffer that the library allocates. */
#include "common.h"

int main(int argc, char *argv[])
{
    void *msg_array[1], *return_buf_array[1];
    uint32_t length_array[1], return_buf_length_array[1];
    void **short_items = NULL, **long_items = NULL;
    uint32_t *short_sizes, *long_sizes;
    uint16_t my_service_id = ripc_register_random_service_id();
    uint16_t from, num_short, num_long;
    int returns = argc > 1, allocate = returns && strcmp(argv[1], "alloc") == 0;
    int i, recvd = 0;

    msg_array[0] = ripc_buf_alloc(LONG_PACKET_SIZE);
    length_array[0] = LONG_PACKET_SIZE;

    for (i = 0; i < NUM_ROUNDS; ++i) {
        memset(msg_array[0], 'a' + i % 26, LONG_PACKET_SIZE);
        return_buf_array[0] = returns && !allocate ? ripc_buf_alloc(LONG_PACKET_SIZE) : NULL;
        return_buf_length_array[0] = LONG_PACKET_SIZE;
        if (!returns)
            ripc_reg_recv_window(ripc_buf_alloc(LONG_PACKET_SIZE), LONG_PACKET_SIZE);
        if (ripc_send_long(my_service_id, SERVER_SERVICE_ID, msg_array, length_array, 1,
                           return_buf_array, return_buf_length_array, returns))
            continue;
        ripc_receive(my_service_id, &from, &short_items, &short_sizes, &num_short, &long_items,
                     &long_sizes, &num_long);
        if (from != SERVER_SERVICE_ID || num_short != 0 || num_long != 1)
            panic("round %d: from %u, %u short and %u long items", i, from, num_short, num_long);
        if (!long_items[0] || long_sizes[0] != LONG_PACKET_SIZE ||
            memcmp(long_items[0], msg_array[0], LONG_PACKET_SIZE) != 0)
            panic("round %d: the item differs", i);
        if (return_buf_array[0] && long_items[0] != return_buf_array[0])
            panic("round %d: not in the return buffer", i);
        recvd++;
        ripc_buf_free(long_items[0]);
        free(long_items);
    }
    printf("Exchanged %d items\n", recvd);
    return EXIT_SUCCESS;
}
