/* Shared by the programs of this folder. They are written like programs of 2013: fixed ids, arrays
 * of pointers and lengths, and return values that are rarely checked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/ripc_compat.h>

#define NUM_ROUNDS        500
#define PACKET_SIZE       (RECV_BUF_SIZE - 100)
#define LONG_PACKET_SIZE  200000
#define SERVER_SERVICE_ID 1
#define CHAT_SERVICE_ID   0 /* an id like any other */
#define WEB_SERVICE_ID    8080
#define WEB_WINDOW_SIZE   100000
#define RETURN_BUFFERS    0 /* of the short ping-pong */

#define panic(...)                                                                                 \
    do {                                                                                           \
        fprintf(stderr, "line %d: ", __LINE__);                                                    \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fprintf(stderr, "\n");                                                                     \
        exit(EXIT_FAILURE);                                                                        \
    } while (0)

#define check(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            panic("check failed: %s", #condition);                                                 \
    } while (0)
