/* Waits for a line on standard input, then receives a short message and, with the argument
 * "parcel", a long one. */
#include "common.h"

int main(int argc, char *argv[])
{
    void **short_items = NULL, **long_items = NULL;
    uint32_t *short_sizes, *long_sizes;
    uint16_t from, num_short, num_long;
    char line[16];

    if (!ripc_register_service_id(SERVER_SERVICE_ID))
        panic("id %d is taken", SERVER_SERVICE_ID);
    ripc_reg_recv_window(NULL, LONG_PACKET_SIZE);
    printf("ready\n");
    fflush(stdout);

    if (!fgets(line, sizeof line, stdin))
        panic("no line on standard input");
    ripc_receive(SERVER_SERVICE_ID, &from, &short_items, &short_sizes, &num_short, &long_items,
                 &long_sizes, &num_long);
    printf("%s\n", (char *)short_items[0]);
    if (argc < 2)
        return EXIT_SUCCESS;
    ripc_receive(SERVER_SERVICE_ID, &from, &short_items, &short_sizes, &num_short, &long_items,
                 &long_sizes, &num_long);
    printf("%u times %c\n", long_sizes[0], ((char *)long_items[0])[LONG_PACKET_SIZE - 1]);
    return EXIT_SUCCESS;
}
