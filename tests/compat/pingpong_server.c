/* Sends every short message back unchanged; ends after NUM_ROUNDS messages. */
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
        ripc_receive(SERVER_SERVICE_ID, &from, &short_items, &short_sizes, &num_short, &long_items,
                     &long_sizes, &num_long);
        ripc_send_short(SERVER_SERVICE_ID, from, short_items, short_sizes, num_short, NULL, NULL,
                        0);
        ripc_buf_free(short_items[i % num_short]); /* all items are in one buffer */
        free(short_items);
    }
    return EXIT_SUCCESS;
}
