#pragma once
/* child_impl: the messages between a server, its keeper and its supervisors. All of them run the
 * same program, so structs are sent as they are in memory. */

#include <weft/work.h>

/* From the server to the keeper, with three descriptors: the program's standard input and output,
 * and the supervisor's end of the lifeline. */
struct child_request {
    uint64_t memory, file_size;
    uint32_t processor; /* seconds */
    uint32_t server;
    uint32_t word_count;
    uint32_t size; /* bytes of: */
    bool errors;
    char words[WEFT_CHILD_TEXT]; /* each with its end */
};

#define CHILD_DESCRIPTORS 3

/* From the supervisor to the server, once, when all is over. */
struct child_report {
    int status; /* as wait returns it */
    int error;  /* errno; 0: the program was started */
};

/* child_keeper.c: the keeper's whole life. */
_Noreturn void child_keeper_run(int socket, const char *folder);
