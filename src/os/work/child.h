#pragma once
/* child: runs a program in a child process with limits (weft/work.h).
 *
 * A process that serves packets must not fork: the system would copy its page tables, and each page
 * that it writes after that. So a small process, the *keeper*, is forked when the server starts,
 * before it has much memory. The keeper forks a *supervisor* for each child. The supervisor makes
 * the folder, starts the program, waits for it, kills whatever the program left, removes the folder
 * and reports. It adopts processes that lose their parent (a subreaper), so none escapes.
 *
 *     server --- socket ---> keeper: one message for each child, with three descriptors
 *     thread of the server <--- socket ---> supervisor --- fork ---> program
 *
 * The socket to the supervisor is also a lifeline: when its other end closes, because the thread
 * cancels the child or the server has ended in whatever way, the supervisor kills the program. */

#include <stdatomic.h>
#include <stdbool.h>
#include <weft/work.h>

#include "base/err.h"

struct child_keeper {
    int socket; /* the keeper ends when this closes */
    int pid;
};

/* Forks the keeper. `folder` is where the folders of children are made: FOLDER/node-ID.child-N. */
MUST_CHECK enum err child_keeper_open(struct child_keeper *keeper, const char *folder,
                                      struct why *why);
/* No child may be running. A keeper whose pid is 0 is allowed. */
void child_keeper_close(struct child_keeper *keeper);

/* Runs the program to its end, in the calling thread; returns the result of the call. `cancelled`
 * may become true meanwhile. */
int64_t child_run_program(const struct child_keeper *keeper, uint32_t server,
                          struct weft_child *child, const _Atomic bool *cancelled);
