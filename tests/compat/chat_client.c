/* Sends the lines of its standard input to the chat server, under the given name and id, and prints
 * everything that the server sends, until it receives "bye", or its own "leave". The lines are sent
 * without a terminating 0, because the bytes behind them in the receiver's buffer are 0. */
#include "common.h"
#include <pthread.h>

static int my_service_id;
static const char *my_name;

static void *display(void *arg)
{
    int over = 0;

    while (!over) {
        void **short_items = NULL, **long_items = NULL;
        uint32_t *short_sizes, *long_sizes;
        uint16_t from, num_short, num_long;

        if (ripc_receive(my_service_id, &from, &short_items, &short_sizes, &num_short, &long_items,
                         &long_sizes, &num_long))
            panic("receive failed");
        printf("%s> %s\n", (char *)short_items[0], (char *)short_items[1]);
        fflush(stdout);
        over = strcmp(short_items[1], "bye") == 0 ||
               (strcmp(short_items[1], "leave") == 0 && strcmp(short_items[0], my_name) == 0);
        ripc_buf_free(short_items[0]);
        free(short_items);
    }
    return arg;
}

int main(int argc, char *argv[])
{
    pthread_t display_thread;
    char line[256];

    if (argc != 3)
        panic("usage: chat_client NAME ID");
    my_name = argv[1];
    my_service_id = atoi(argv[2]);
    if (!ripc_register_service_id(my_service_id))
        panic("id %d is taken", my_service_id);
    pthread_create(&display_thread, NULL, display, NULL);

    while (fgets(line, sizeof line, stdin)) {
        void *msg_array[2];
        uint32_t length_array[2];

        line[strcspn(line, "\n")] = '\0';
        msg_array[0] = argv[1]; /* a short item may be in any memory */
        length_array[0] = strlen(argv[1]) + 1;
        msg_array[1] = line;
        length_array[1] = strlen(line);
        if (ripc_send_short(my_service_id, CHAT_SERVICE_ID, msg_array, length_array, 2, NULL, NULL,
                            0))
            panic("the line was not sent");
    }
    pthread_join(display_thread, NULL);
    return EXIT_SUCCESS;
}
