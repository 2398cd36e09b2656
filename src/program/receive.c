/* receive: what a received message, a lost server and a returned server lead to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/check.h"
#include "program/program_impl.h"
#include "transport/routed/attachment.h"

enum { BATCH = 32 };
#define GREETING_NSEC (5 * NSEC_PER_SEC) /* how long a server may take to welcome us */

/* ---- messages ---- */

void program_signal(struct weft_attachment *attachment)
{
    const uint64_t one = 1;
    (void)!write(attachment->event_fd, &one, sizeof one); /* fails only if it is readable */
}

static void inbox_add(struct weft_attachment *attachment, const struct weft_message *message,
                      const void *bytes)
{
    inbox_put(&attachment->inbox, message, bytes);
    if (attachment->armed)
        program_signal(attachment);
}

static void ask_end(struct ask *ask, int result)
{
    list_remove(&ask->node);
    ask->result = result;
    ask->done = true;
}

static void ask_answer(struct ask *ask, const struct contact_message *message)
{
    size_t size = message->size < ask->room ? message->size : ask->room;
    if (size)
        memcpy(ask->answer, message->bytes, size);
    ask_end(ask, message->head.status        ? -message->head.status
                 : message->size > ask->room ? -EMSGSIZE
                                             : (int)message->size);
}

static void asked_answer(struct weft_attachment *attachment, const struct contact_message *message)
{
    list_each(&attachment->asks, node)
    {
        struct ask *ask = container_of(node, struct ask, node);
        if (ask->ticket != message->head.ticket)
            continue;
        ask_answer(ask, message);
        return;
    }
}

static void message_handle(struct weft_attachment *attachment,
                           const struct contact_message *message)
{
    const struct attach_head *head = &message->head;
    struct weft_message out = {.kind = WEFT_EVENT,
                               .ticket = head->ticket,
                               .service = head->service,
                               .size = message->size};
    if (head->ticket & 1) {
        asked_answer(attachment, message); /* or its weft_ask has timed out */
        return;
    }
    if (head->ticket) {
        (void)id_map_take(&attachment->posts, head->ticket);
        out.kind = head->status ? WEFT_ENDED : WEFT_ANSWER;
        out.result = -head->status;
    }
    inbox_add(attachment, &out, message->bytes);
}

/* ---- the server goes, and comes back ---- */

/* The timer of weft_attachment_fd wakes an event loop to connect again. */
static void timer_set(struct weft_attachment *attachment)
{
    struct itimerspec when = {{0}, {0}};
    if (attachment->epoll_fd < 0)
        return;
    if (attachment->contact.stage != CONTACT_UP)
        when.it_value = clock_timespec(attachment->retry_at);
    int result = timerfd_settime(attachment->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    assert(result == 0);
}

void program_watch(struct weft_attachment *attachment)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (attachment->epoll_fd < 0)
        return;
    if (attachment->contact.fd >= 0) /* if it fails, calls that wait still receive */
        (void)epoll_ctl(attachment->epoll_fd, EPOLL_CTL_ADD, attachment->contact.fd, &event);
    timer_set(attachment);
}

/* Closes the contact, and decides when to try again. */
static void contact_drop(struct weft_attachment *attachment)
{
    contact_close(&attachment->contact); /* also removes it from the epoll set */
    attachment->retry_at = node_again(&attachment->retry_wait);
    timer_set(attachment);
}

void program_lose(struct weft_attachment *attachment)
{
    size_t cursor = 0;
    contact_drop(attachment);
    inbox_add(attachment, &(struct weft_message){.kind = WEFT_LOST}, NULL);
    list_each(&attachment->asks, node) ask_end(container_of(node, struct ask, node), -ECONNRESET);
    /* The map is walked by its slots, because it knows no order; answers have none either. */
    for (; cursor <= attachment->posts.mask && attachment->posts.slots; cursor++) {
        const struct id_map_slot *slot = &attachment->posts.slots[cursor];
        if (!slot->value)
            continue;
        const struct weft_message ended = {.kind = WEFT_ENDED,
                                           .result = -ECONNRESET,
                                           .ticket = slot->id,
                                           .service = (uint32_t)((uintptr_t)slot->value - 1)};
        inbox_add(attachment, &ended, NULL);
    }
    id_map_fini(&attachment->posts);
    attachment->posts = (struct id_map){0};
}

/* One step towards a server that is gone. Returns whether we are attached again. */
static bool program_call(struct weft_attachment *attachment)
{
    struct contact *contact = &attachment->contact;
    int result = 0;
    if (contact->stage == CONTACT_GONE) {
        if (clock_now() < attachment->retry_at)
            return false;
        result = contact_open(contact, attachment->path, attachment->memory);
        attachment->retry_at = clock_after(GREETING_NSEC);
        if (!result)
            program_watch(attachment);
    }
    if (!result)
        result = contact_greet(contact);
    if (!result && clock_now() >= attachment->retry_at)
        result = -ETIMEDOUT;
    if (result < 0)
        contact_drop(attachment);
    if (result <= 0)
        return false;
    attachment->retry_wait = 0;
    attachment->reattached++;
    timer_set(attachment);
    inbox_add(attachment, &(struct weft_message){.kind = WEFT_BACK}, NULL);
    return true;
}

bool program_progress(struct weft_attachment *attachment, bool thorough)
{
    struct contact_message message;
    bool moved = false;
    if (attachment->contact.stage != CONTACT_UP)
        return program_call(attachment);
    for (unsigned i = 0; i < BATCH; i++) {
        int result = contact_hear(&attachment->contact, &message, thorough);
        if (result < 0) {
            program_lose(attachment);
            return true;
        }
        if (!result)
            return moved;
        message_handle(attachment, &message);
        moved = true;
        thorough = false; /* the next call looks at the socket again */
    }
    return true;
}
