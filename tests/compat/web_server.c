/* Answers requests for pages, as a web server does: reads the name of the page from the text of the
 * request, and sends a header and a body of the requested size, as two long items that it frees at
 * once. The page /huge has a body that no window of the client can hold. Ends after /end. */
#include "common.h"

int main(void)
{
    void **short_items = NULL, **long_items = NULL;
    uint32_t *short_sizes, *long_sizes;
    uint16_t from, num_short, num_long;
    int over = 0;

    if (!ripc_register_service_id(WEB_SERVICE_ID))
        panic("id %d is taken", WEB_SERVICE_ID);
    printf("ready\n");
    fflush(stdout);

    while (!over) {
        char page[64];
        void *reply[2];
        uint32_t lengths[2];

        if (ripc_receive(WEB_SERVICE_ID, &from, &short_items, &short_sizes, &num_short, &long_items,
                         &long_sizes, &num_long))
            panic("no request");
        if (num_short != 1 || sscanf(short_items[0], "GET /%63s HTTP/1.0\n\n", page) != 1)
            panic("not a request: %.60s", (char *)short_items[0]);
        over = strcmp(page, "end") == 0;
        lengths[1] = strcmp(page, "huge") == 0 ? 2 * WEB_WINDOW_SIZE : 1 + atoi(page);
        reply[0] = ripc_buf_alloc(100);
        reply[1] = ripc_buf_alloc(lengths[1]);
        lengths[0] = sprintf(reply[0], "HTTP/1.0 200 OK\nContent-Length: %u\n\n", lengths[1]);
        memset(reply[1], 'a' + atoi(page) % 26, lengths[1]);
        if (ripc_send_long(WEB_SERVICE_ID, from, reply, lengths, 2, NULL, NULL, 0))
            panic("the reply to %s was not sent", page);
        ripc_buf_free(reply[0]);
        ripc_buf_free(reply[1]);
        ripc_buf_free(short_items[0]);
        free(short_items);
    }
    return EXIT_SUCCESS;
}
