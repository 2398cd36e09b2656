/* lifeline_cut: the end of a line.
 *
 * A line is in one of two lists: live or doomed. Cutting moves it to the doomed list and closes its
 * socket at once. The reaper calls down() and frees the line. It is a timer callback, so no caller
 * further up the stack uses the line then.
 *
 * A line of ours that the peer closes before the hello is complete may begin again instead: it
 * returns to CONNECTING without a socket, and its timer connects anew (lifelines.c). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/fork/descriptor.h"
#include "transport/lifeline/lifeline_impl.h"

#define RETRY_MAX_NSEC (100 * 1000 * 1000LL) /* between two tries to connect */

void lifeline_fds_close(int *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (fds[i] >= 0)
            descriptor_close(fds[i]);
        fds[i] = -1;
    }
}

void lifeline_parcel_free(struct lifeline_parcel *parcel)
{
    lifeline_fds_close(parcel->fds, parcel->fd_count);
    free(parcel);
}

void lifeline_queue_clear(struct lifeline *line)
{
    while (line->queue) {
        struct lifeline_parcel *parcel = line->queue;
        line->queue = parcel->next;
        lifeline_parcel_free(parcel);
    }
    line->queue_end = &line->queue;
    line->queued_size = 0;
    line->queued_fds = 0;
}

void lifeline_shut(struct lifeline *line)
{
    poller_remove(line->lines->poller, line->watch);
    line->watch = NULL;
    poller_unset(line->lines->poller, &line->timer);
    if (line->fd >= 0)
        descriptor_close(line->fd);
    line->fd = -1;
    lifeline_queue_clear(line);
    line->out_wanted = false;
}

void lifeline_free(struct lifeline *line)
{
    free(line->hello);
    free(line);
}

/* Must the socket end with a reset, so that the peer does not take our cut for the end of our
 * process? Before the hello is complete, a peer that connected to us may consider the line up
 * already. But a reset would destroy the refusal that we have just sent to it. */
static bool lifeline_resets(const struct lifeline *line, int reason)
{
    bool may_be_up = line->state == LIFELINE_PROVING && !line->outgoing &&
                     (reason == -ETIMEDOUT || reason == -EPIPE);
    return !line->local && (line->state == LIFELINE_UP || may_be_up);
}

void lifeline_cut(struct lifeline *line, int reason)
{
    struct lifelines *lines = line->lines;
    if (line->state == LIFELINE_DOWN)
        return;
    if (!line->outgoing && line->state != LIFELINE_UP)
        lines->greeting_count--;
    if (lifeline_resets(line, reason)) {
        /* If the option cannot be set, the socket is broken already. */
        struct linger reset = {.l_onoff = 1};
        (void)setsockopt(line->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }
    line->state = LIFELINE_DOWN;
    line->reason = reason;
    lifeline_shut(line);

    if (line->previous)
        line->previous->next = line->next;
    else
        lines->live = line->next;
    if (line->next)
        line->next->previous = line->previous;
    line->next = line->previous = NULL;
    *lines->doomed_end = line;
    lines->doomed_end = &line->next;
    int result = poller_set(lines->poller, &lines->reaper, 0);
    assert(result == 0); /* the timer was set already */
}

/* Through the fabric a program that does not listen looks like a peer that closes the line. */
static bool lifeline_may_retry(const struct lifeline *line, int reason)
{
    return line->outgoing && line->state < LIFELINE_UP && line->to.family != ADDRESS_FABRIC &&
           (reason == -EPIPE || reason == -ECONNRESET) && clock_now() < line->deadline;
}

void lifeline_fail(struct lifeline *line, int reason)
{
    if (!lifeline_may_retry(line, reason)) {
        lifeline_cut(line, reason);
        return;
    }
    lifeline_shut(line);
    free(line->hello);
    line->hello = NULL;
    line->input_size = 0;
    line->reset_seen = false;
    line->broken = false;
    line->ended = false; /* that was the end of one socket, not of the peer */
    line->state = LIFELINE_CONNECTING;
    nsec again = clock_after(line->retry_wait);
    line->retry_wait *= 2;
    if (line->retry_wait > RETRY_MAX_NSEC)
        line->retry_wait = RETRY_MAX_NSEC;
    int result = poller_set(line->lines->poller, &line->timer,
                            again < line->deadline ? again : line->deadline);
    assert(result == 0); /* the slot that the timer had is still free */
}

void lifelines_file(uint64_t context, char name[DOMAIN_FILE_MAX])
{
    snprintf(name, DOMAIN_FILE_MAX, "context.%016llx", (unsigned long long)context);
}

int lifelines_alive(const struct lifelines *lines, uint64_t context)
{
    char name[DOMAIN_FILE_MAX];
    lifelines_file(context, name);
    return domain_file_alive(lines->folder, name);
}

void lifelines_reap(void *owner)
{
    struct lifelines *lines = owner;
    int result = poller_set(lines->poller, &lines->reaper, NSEC_FAR);
    assert(result == 0);
    struct lifeline *line = lines->doomed;
    lines->doomed = NULL;
    lines->doomed_end = &lines->doomed;
    while (line) {
        struct lifeline *next = line->next;
        if (line->known)
            lines->events->down(lines->owner, line, line->reason);
        lifeline_free(line);
        line = next;
    }
}
