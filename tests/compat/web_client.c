/* Requests pages of many sizes, each into the same two windows, which it adds again before every
 * reply, used or not. Every tenth request is for a page that is too large: then ripc_receive
 * returns 1, the header has arrived and the body is lost. Prints how many pages came. May be
 * started before the server: its first request then waits. */
#include "common.h"

static void **short_items, **long_items;
static uint32_t *short_sizes, *long_sizes;
static uint16_t from, num_short, num_long;
static uint16_t my_service_id;

static uint8_t get(const char *page, void *header_window, void *body_window)
{
    char request[100] = "";
    void *msg_array[1];
    uint32_t length_array[1];
    uint8_t status;

    sprintf(request, "GET /%s HTTP/1.0\n\n", page);
    length_array[0] = strlen(request) + 10;
    msg_array[0] = ripc_buf_alloc(length_array[0]); /* zero, so the text has an end */
    memcpy(msg_array[0], request, strlen(request));
    if (ripc_send_short(my_service_id, WEB_SERVICE_ID, msg_array, length_array, 1, NULL, NULL, 0))
        panic("%s was not requested", page);
    ripc_buf_free(msg_array[0]);
    if (ripc_reg_recv_window(header_window, WEB_WINDOW_SIZE) ||
        ripc_reg_recv_window(body_window, WEB_WINDOW_SIZE))
        panic("no window");
    status = ripc_receive(my_service_id, &from, &short_items, &short_sizes, &num_short, &long_items,
                          &long_sizes, &num_long);
    if (from != WEB_SERVICE_ID || num_short != 0 || num_long != 2)
        panic("%s: from %u, %u short and %u long items", page, from, num_short, num_long);
    return status;
}

int main(void)
{
    void *header_window = ripc_buf_alloc(WEB_WINDOW_SIZE);
    void *body_window = malloc(WEB_WINDOW_SIZE);
    char page[16];
    uint32_t i, length, pages = 0, lost = 0;

    my_service_id = ripc_register_random_service_id();
    printf("requesting\n");
    fflush(stdout);
    for (i = 0; i < NUM_ROUNDS; ++i) {
        if (i % 10 == 9) {
            check(get("huge", header_window, body_window) == 1);
            check(long_items[1] == NULL && long_sizes[1] == 0);
            lost++;
        } else {
            sprintf(page, "%u", i * 997 % WEB_WINDOW_SIZE);
            check(get(page, header_window, body_window) == 0);
            check(long_sizes[1] == 1 + i * 997 % WEB_WINDOW_SIZE);
            check(long_items[1] == header_window || long_items[1] == body_window);
            check(((char *)long_items[1])[long_sizes[1] - 1] ==
                  (char)('a' + i * 997 % WEB_WINDOW_SIZE % 26));
            pages++;
        }
        check(sscanf(long_items[0], "HTTP/1.0 200 OK\nContent-Length: %u", &length) == 1);
        check(i % 10 == 9 ? length == 2 * WEB_WINDOW_SIZE : length == long_sizes[1]);
        free(long_items);
    }
    check(get("end", header_window, body_window) == 0);
    free(long_items);
    check(ripc_buf_unregister((char *)body_window + 1) == 1); /* the window was registered */
    check(ripc_buf_unregister(body_window) == 0);
    free(body_window);
    printf("%u pages, %u too large\n", pages, lost);
    return EXIT_SUCCESS;
}
