/* Sends a short and a long message to an id that no process has yet: both wait until a process has
 * it. Once the receiver has ended, a send returns an error and does not wait. */
#include "common.h"

int main(void)
{
    uint16_t my_service_id = ripc_register_random_service_id();
    char *text = "early", line[16];
    uint32_t length = 6, long_length = LONG_PACKET_SIZE;
    void *parcel = ripc_buf_alloc(LONG_PACKET_SIZE);

    memset(parcel, 'p', LONG_PACKET_SIZE);
    check(context.initialized && context.services[my_service_id]->number == my_service_id);
    check(context.remotes[SERVER_SERVICE_ID] == NULL);
    printf("sending\n");
    fflush(stdout);
    check(ripc_send_short(my_service_id, SERVER_SERVICE_ID, (void **)&text, &length, 1, NULL, NULL,
                          0) == 0);
    check(context.remotes[SERVER_SERVICE_ID]->number == SERVER_SERVICE_ID);
    check(ripc_send_long(my_service_id, SERVER_SERVICE_ID, &parcel, &long_length, 1, NULL, NULL,
                         0) == 0);
    printf("sent\n");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        panic("no line on standard input");
    check(ripc_send_short(my_service_id, SERVER_SERVICE_ID, (void **)&text, &length, 1, NULL, NULL,
                          0) != 0);
    printf("refused\n");
    return EXIT_SUCCESS;
}
