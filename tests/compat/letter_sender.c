/* Sends a short message and, with the argument "parcel", a long one, and ends at once. */
#include "common.h"

int main(int argc, char *argv[])
{
    uint16_t my_service_id = ripc_register_random_service_id();
    char *text = "posted";
    uint32_t length = 7, long_length = LONG_PACKET_SIZE;
    void *parcel = ripc_buf_alloc(LONG_PACKET_SIZE);

    memset(parcel, 'p', LONG_PACKET_SIZE);
    if (ripc_send_short(my_service_id, SERVER_SERVICE_ID, (void **)&text, &length, 1, NULL, NULL,
                        0))
        panic("the message was not sent");
    if (argc > 1 &&
        ripc_send_long(my_service_id, SERVER_SERVICE_ID, &parcel, &long_length, 1, NULL, NULL, 0))
        panic("%s cannot be sent", argv[1]);
    return EXIT_SUCCESS;
}
