/* wait: one thread receives while several wait.
 *
 * The first thread that waits receives for all: it polls for a moment, and then sleeps in poll().
 * The others sleep on the monitor, until their condition is met or the receiving thread has what it
 * wanted; then another one takes its place.
 *
 * Polling is best if the server runs on another processor and answers by itself: then the answer
 * is there after a microsecond. It is harmful if the server, or another one on the way, needs our
 * processor. So a thread polls only while that succeeds: after two failures it sleeps at once, and
 * tries again from time to time. (A weft_ask that will sleep arms the bell before it sends: see
 * contact_arm_for_answer.) A thread does not yield: a server that is busy polling would have its
 * whole time first, but a thread that sleeps is run as soon as it is woken. */
#include <errno.h>
#include <poll.h>

#include "program/program_impl.h"
#include "transport/wake/wait.h"

#define SPIN_NSEC (5 * 1000LL)
#define NAP_NSEC  (100 * 1000 * 1000LL) /* the longest sleep: safe even if a ring is missing */

enum {
    TURNS_PER_LOOK = 64, /* with a channel, a look at the socket costs a system call */
    SPINS_VAIN_MAX = 2,  /* polls in a row that found nothing; then ... */
    SPIN_RESTS = 64,     /* ... so many waits do not poll */
};

/* Sleeps until a message or room comes, or until that moment; the monitor is free meanwhile. */
static void program_sleep(struct weft_attachment *attachment, nsec deadline)
{
    struct contact *contact = &attachment->contact;
    bool up = contact->stage == CONTACT_UP, room = attachment->senders > 0;
    if (up && attachment->armed_early && !room) {
        if (contact_has_message(contact))
            return;
    } else if (up && !contact_arm(contact, room)) {
        return;
    }
    attachment->armed_early = false;
    nsec now = clock_now(), until = deadline;
    if (!up && attachment->retry_at < until)
        until = attachment->retry_at;
    if (until > now + NAP_NSEC)
        until = now + NAP_NSEC;
    struct pollfd ready = {.fd = contact->fd,
                           .events =
                               (short)(POLLIN | (up && room && !contact->channel ? POLLOUT : 0))};
    struct timespec left = clock_timespec(until > now ? until - now : 0);
    monitor_drop(&attachment->monitor);
    (void)ppoll(&ready, 1, &left, NULL);
    monitor_take(&attachment->monitor);
    if (contact->stage == CONTACT_UP)
        contact_disarm(contact);
}

/* One turn of the receiving thread. -ETIMEDOUT: the deadline has passed. */
static int program_turn(struct weft_attachment *attachment, struct wait *wait, nsec deadline,
                        bool *slept)
{
    enum wait_advice advice = wait_turn(wait, deadline);
    if (advice == WAIT_TIMEOUT)
        return -ETIMEDOUT;
    *slept = advice == WAIT_BLOCK;
    if (*slept) {
        program_sleep(attachment, deadline);
    } else { /* another thread may want to send */
        monitor_drop(&attachment->monitor);
        monitor_take(&attachment->monitor);
    }
    return 0;
}

/* An event loop counts on the bell, which was disarmed when this thread woke up. */
static void program_rearm(struct weft_attachment *attachment)
{
    if (attachment->armed && attachment->contact.stage == CONTACT_UP &&
        !contact_arm(&attachment->contact, false))
        program_signal(attachment);
}

/* Begins to wait: polls, unless that was vain lately. */
static void wait_begin(struct weft_attachment *attachment, struct wait *wait)
{
    bool polls = attachment->contact.stage == CONTACT_UP && program_polls(attachment);
    attachment->spin_rests -= attachment->spin_rests > 0;
    wait_start(wait, polls ? SPIN_NSEC : -1, -1);
}

/* Polling has found something, or has ended in a sleep. */
static void wait_learn(struct weft_attachment *attachment, bool vain)
{
    attachment->spins_vain = vain ? attachment->spins_vain + 1 : 0;
    if (attachment->spins_vain >= SPINS_VAIN_MAX)
        attachment->spin_rests = SPIN_RESTS;
}

/* This thread receives until its condition is met. */
static int program_receive(struct weft_attachment *attachment, program_condition *is_met,
                           void *context, nsec deadline)
{
    struct wait wait;
    bool slept = false, met = false;
    int result = 0;
    wait_begin(attachment, &wait);
    bool polls = wait.spin >= 0;
    attachment->receiving = true;
    for (unsigned turn = 1;; turn++) {
        bool up = attachment->contact.stage == CONTACT_UP;
        bool moved = program_progress(attachment, slept || turn % TURNS_PER_LOOK == 0);
        if (moved || (slept && attachment->senders))
            monitor_wake(&attachment->monitor);
        met = (moved || attachment->senders) && is_met(attachment, context);
        if (met || result)
            break;
        if (!up) /* connecting is slow: there is nothing to poll for */
            wait_start(&wait, -1, -1);
        result = program_turn(attachment, &wait, deadline, &slept);
        if (polls && slept) {
            wait_learn(attachment, true);
            polls = false;
        }
    }
    if (polls && met)
        wait_learn(attachment, false);
    attachment->receiving = attachment->armed_early = false;
    program_rearm(attachment);
    monitor_wake(&attachment->monitor); /* another thread receives from now on */
    return met ? 0 : result;
}

int attachment_wait(struct weft_attachment *attachment, program_condition *is_met, void *context,
                    nsec deadline)
{
    if (is_met(attachment, context))
        return 0;
    if (deadline <= 0) {
        bool look = attachment->armed || ++attachment->looks % TURNS_PER_LOOK == 0;
        if (!attachment->receiving && program_progress(attachment, look))
            monitor_wake(&attachment->monitor);
        return is_met(attachment, context) ? 0 : -EAGAIN;
    }
    while (attachment->receiving) {
        int result = monitor_wait(&attachment->monitor, deadline);
        if (is_met(attachment, context))
            return 0;
        if (result == -ETIMEDOUT)
            return result;
    }
    return program_receive(attachment, is_met, context, deadline);
}
