/* A chat server: sends every line, preceded by the sender's name, to all clients that have sent
 * something, also if they have ended since. Ends when a client sends "bye". */
#include "common.h"

#define GUESTS_MAX 16

int main(void)
{
    uint16_t guests[GUESTS_MAX];
    int num_guests = 0, i, over = 0;

    if (!ripc_register_service_id(CHAT_SERVICE_ID))
        panic("id %d is taken", CHAT_SERVICE_ID);
    printf("ready\n");
    fflush(stdout);

    while (!over) {
        void **short_items = NULL, **long_items = NULL;
        uint32_t *short_sizes, *long_sizes;
        uint16_t from, num_short, num_long;

        ripc_receive(CHAT_SERVICE_ID, &from, &short_items, &short_sizes, &num_short, &long_items,
                     &long_sizes, &num_long);
        if (num_short != 2) /* a name and a line */
            panic("%u items", num_short);
        for (i = 0; i < num_guests && guests[i] != from; ++i)
            ;
        if (i == num_guests && num_guests < GUESTS_MAX)
            guests[num_guests++] = from;
        for (i = 0; i < num_guests; ++i)
            ripc_send_short(CHAT_SERVICE_ID, guests[i], short_items, short_sizes, num_short, NULL,
                            NULL, 0);
        over = strcmp(short_items[1], "bye") == 0;
        ripc_buf_free(short_items[1]); /* frees the name, too */
        free(short_items);
    }
    return EXIT_SUCCESS;
}
