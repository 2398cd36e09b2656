/* Sends short messages of several items, and compares what comes back. */
#include "common.h"

#define WORDS_PER_PACKET 3

int main(void)
{
    void *msg_array[WORDS_PER_PACKET];
    uint32_t length_array[WORDS_PER_PACKET];
    void **short_items = NULL, **long_items = NULL;
    uint32_t *short_sizes, *long_sizes;
    uint16_t my_service_id = ripc_register_random_service_id();
    uint16_t from, num_short, num_long;
    int i, j, recvd = 0;

    for (i = 0; i < WORDS_PER_PACKET; ++i) {
        length_array[i] = PACKET_SIZE / WORDS_PER_PACKET - 10 * i;
        msg_array[i] = ripc_buf_alloc(length_array[i]);
        memset(msg_array[i], 0, length_array[i]);
    }

    for (i = 0; i < NUM_ROUNDS; ++i) {
        for (j = 0; j < WORDS_PER_PACKET; ++j)
            memset(msg_array[j], 'a' + (i + j) % 26, length_array[j]);
        *(int *)msg_array[0] = i;
        if (ripc_send_short(my_service_id, SERVER_SERVICE_ID, msg_array, length_array,
                            WORDS_PER_PACKET, NULL, NULL, 0))
            continue;
        ripc_receive(my_service_id, &from, &short_items, &short_sizes, &num_short, &long_items,
                     &long_sizes, &num_long);
        if (from != SERVER_SERVICE_ID || num_short != WORDS_PER_PACKET || num_long != 0)
            panic("round %d: from %u, %u short and %u long items", i, from, num_short, num_long);
        for (j = 0; j < WORDS_PER_PACKET; ++j)
            if (short_sizes[j] != length_array[j] ||
                memcmp(short_items[j], msg_array[j], length_array[j]) != 0)
                panic("round %d: item %d differs", i, j);
        recvd++;
        ripc_buf_free(short_items[0]);
        free(short_items);
    }
    printf("Exchanged %d items\n", recvd);
    return EXIT_SUCCESS;
}
