/* Sends short messages of several items, and compares what comes back. It offers return buffers
 * only if there is memory for them: with RETURN_BUFFERS 0, an allocation of 0 bytes must give NULL.
 */
#include "common.h"

#define WORDS_PER_PACKET 3

int main(void)
{
    void *msg_array[WORDS_PER_PACKET];
    void *return_buf_array[RETURN_BUFFERS + 1];
    uint32_t length_array[WORDS_PER_PACKET];
    uint32_t return_buf_length_array[RETURN_BUFFERS + 1];
    void **short_items = NULL, **long_items = NULL;
    uint32_t *short_sizes, *long_sizes;
    uint16_t my_service_id = ripc_register_random_service_id();
    uint16_t from, num_short, num_long;
    int i, j, recvd = 0, num_return_bufs = 0;

    for (i = 0; i < WORDS_PER_PACKET; ++i) {
        length_array[i] = PACKET_SIZE / WORDS_PER_PACKET - 10 * i;
        msg_array[i] = ripc_buf_alloc(length_array[i]);
    }

    return_buf_array[0] = ripc_buf_alloc(PACKET_SIZE * RETURN_BUFFERS);
    if (return_buf_array[0]) {
        return_buf_length_array[0] = UINT32_MAX; /* a send with it fails */
        num_return_bufs = 1;
    }

    for (i = 0; i < NUM_ROUNDS; ++i) {
        for (j = 0; j < WORDS_PER_PACKET; ++j)
            memset(msg_array[j], 'a' + (i + j) % 26, length_array[j]);
        *(int *)msg_array[0] = i;
        if (ripc_send_short(my_service_id, SERVER_SERVICE_ID, msg_array, length_array,
                            WORDS_PER_PACKET, return_buf_array, return_buf_length_array,
                            num_return_bufs))
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
        ripc_buf_free(short_items[i % num_short]); /* any item stands for the message */
        free(short_items);
    }
    printf("Exchanged %d items\n", recvd);
    return EXIT_SUCCESS;
}
