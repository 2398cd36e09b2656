/* Sends every long item back and frees it at once, possibly before the peer has read it. */
#include "common.h"

int main(void)
{
    void **short_items = NULL, **long_items = NULL;
    uint32_t *short_sizes, *long_sizes;
    uint16_t from, num_short, num_long;
    int i;

    if (!ripc_register_service_id(SERVER_SERVICE_ID))
        panic("id %d is taken", SERVER_SERVICE_ID);
    printf("ready\n");
    fflush(stdout);

    for (i = 0; i < NUM_ROUNDS; ++i) {
        ripc_reg_recv_window(NULL, LONG_PACKET_SIZE);
        ripc_receive(SERVER_SERVICE_ID, &from, &short_items, &short_sizes, &num_short, &long_items,
                     &long_sizes, &num_long);
        if (num_long != 1 || !long_items[0])
            panic("round %d: %u long items", i, num_long);
        ripc_send_long(SERVER_SERVICE_ID, from, long_items, long_sizes, num_long, NULL, NULL, 0);
        ripc_buf_free(long_items[0]);
        free(long_items);
    }
    return EXIT_SUCCESS;
}
