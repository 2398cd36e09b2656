#include "ripc/message/notice.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/check.h"
#include "ripc/core/remote.h"
#include "ripc/message/message.h"
#include "ripc/message/receive.h"

struct ripc_notice {
    struct ripc *ripc;
    struct list due_node; /* in the context's list of notices to call back */
    uint64_t token;
    ripc_notice_callback *callback;
    void *argument;
    struct doorbell bell; /* for ripc_notice_wait and ripc_notice_fd */
    uint64_t count;       /* not yet taken */
    uint64_t value;       /* of the last notification */
    bool calling;         /* its callback runs ... */
    uintptr_t caller;     /* ... on this thread */
    bool closed;          /* by its own callback: freed when that returns */
    bool closing;         /* by another thread, which waits until the callback returns */
    uint32_t waiters;
};

/* Returns the notice, or NULL if there is none or it is being closed. */
static struct ripc_notice *notice_of(struct ripc *ripc, uint64_t token)
{
    struct ripc_notice *notice = id_map_get(&ripc->notice_map, token);
    return notice && !notice->closed && !notice->closing ? notice : NULL;
}

/* Tells the sender of a notification that there is no such notice. Only once in a row: the sender
 * stops then, and one that goes on is not answered. */
static void notice_missing(struct peer *peer, uint64_t token)
{
    const struct control_words words = {
        .kind = CONTROL_NOTICE_ANSWER,
        .to = peer->ripc->notices->id,
        .number = token,
        .status = -ENOENT,
    };
    peer->ripc->stats.dropped_unknown++;
    if (peer->notice_lost != token && peer_say(peer, &words) >= 0)
        peer->notice_lost = token;
}

/* Handles a frame for the hidden service. -EPROTO, or 0. */
static int notice_arrived(struct peer *peer, const uint8_t *body, size_t size)
{
    struct ripc *ripc = peer->ripc;
    uint64_t token;
    uint64_t value;
    int result = message_notify_read(body, size, &token, &value);
    if (result)
        return result;
    struct ripc_notice *notice = notice_of(ripc, token);
    if (!notice) {
        notice_missing(peer, token);
        return 0;
    }
    notice->count++;
    notice->value = value;
    if (notice->callback) {
        list_remove(&notice->due_node);
        list_append(&ripc->notices_due, &notice->due_node);
    } else {
        doorbell_ring_always(&notice->bell);
        if (ripc->manual)
            doorbell_ring(&ripc->notices->bell); /* ripc_notice_wait waits there in that case */
    }
    return 0;
}

void notice_asked(struct peer *peer, struct control_words *words)
{
    const struct ripc *ripc = peer->ripc;
    bool has =
        ripc->notices && ripc->notices->id == words->to && notice_of(peer->ripc, words->number);
    const struct control_words answer = {
        .kind = CONTROL_NOTICE_ANSWER,
        .to = words->to,
        .number = words->number,
        .status = has ? 0 : -ENOENT,
    };
    peer_answer(peer, &answer);
}

static void notice_free(struct ripc_notice *notice)
{
    list_remove(&notice->due_node);
    id_map_take(&notice->ripc->notice_map, notice->token);
    doorbell_close(&notice->bell);
    free(notice);
}

/* Calls the callback of a notice that is due, with the lock released. -ECHILD: the callback forked,
 * and this is the child, in which the lock means nothing. */
static int notice_call(struct ripc_notice *notice)
{
    struct ripc *ripc = notice->ripc;
    uint64_t count = notice->count;
    uint64_t value = notice->value;
    notice->count = 0;
    notice->calling = true;
    notice->caller = lock_self();
    lock_drop(&ripc->lock);
    notice->callback(notice->argument, count, value);
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    notice->calling = false;
    if (notice->closed)
        notice_free(notice);
    return 0;
}

static int notices_check(void *argument)
{
    struct ripc *ripc = argument;
    struct ripc_message none;
    /* This also takes notifications. A message to this service has no receiver and is dropped. */
    if (arrivals_take(ripc->notices, &none, 1) > 0) {
        lock_drop(&ripc->lock);
        ripc_release(&none);
        lock_take(&ripc->lock);
    }
    return ripc->notices_closing || !list_is_empty(&ripc->notices_due);
}

int notices_deliver(struct ripc *ripc, int64_t deadline)
{
    int called = 0;
    lock_take(&ripc->lock);
    if (ripc->notices) {
        service_wait(ripc->notices, notices_check, ripc, deadline);
        struct list *node;
        while ((node = list_take(&ripc->notices_due))) {
            if (notice_call(container_of(node, struct ripc_notice, due_node)))
                return -ECHILD;
            called++;
        }
    }
    lock_drop(&ripc->lock);
    return called;
}

static void *notices_run(void *argument)
{
    struct ripc *ripc = argument;
    for (;;) {
        if (notices_deliver(ripc, RIPC_FOREVER) < 0)
            return NULL;
        lock_take(&ripc->lock);
        bool closing = ripc->notices_closing;
        lock_drop(&ripc->lock);
        if (closing)
            return NULL;
    }
}

/* Called with the lock held. */
static int notices_open(struct ripc *ripc)
{
    while (ripc->notices_opening) /* another thread opens it */
        waiting_pause(ripc);
    if (ripc->notices)
        return 0;
    ripc->notices_opening = true;
    int result = service_open(ripc, 0, notice_arrived, &ripc->notices);
    ripc->notices_opening = false;
    if (result || ripc->manual)
        return result;
    result = thread_start(&ripc->notifier, "weft-notice", notices_run, ripc);
    if (result) {
        service_close(ripc->notices);
        ripc->notices = NULL;
    }
    return result;
}

void notices_close(struct ripc *ripc)
{
    ripc->notices_closing = true;
    if (ripc->notices)
        doorbell_ring(&ripc->notices->bell);
    lock_drop(&ripc->lock);
    thread_join(&ripc->notifier);
    lock_take(&ripc->lock);
    size_t cursor = 0;
    struct ripc_notice *notice;
    while ((notice = id_map_next(&ripc->notice_map, &cursor))) {
        if (notice->waiters) {
            doorbell_ring(&notice->bell);
            waiting_pause(ripc);
        } else {
            notice_free(notice);
        }
        cursor = 0;
    }
    id_map_fini(&ripc->notice_map);
    if (ripc->notices)
        service_close(ripc->notices);
    ripc->notices = NULL;
}

int ripc_notice_open(struct ripc *ripc, ripc_notice_callback *callback, void *argument,
                     struct ripc_notice **out, struct ripc_handle *handle)
{
    if (!context_is_ours(ripc))
        return -ECHILD;
    struct ripc_notice *notice = calloc(1, sizeof *notice);
    if (!notice)
        return -ENOMEM;
    *notice = (struct ripc_notice){
        .ripc = ripc,
        .token = entropy_u64(),
        .callback = callback,
        .argument = argument,
    };
    list_init(&notice->due_node);
    int result = doorbell_open(&notice->bell);
    if (result) {
        free(notice);
        return result;
    }
    lock_take(&ripc->lock);
    result = notices_open(ripc);
    if (result == 0 && !id_map_put(&ripc->notice_map, notice->token, notice))
        result = -ENOMEM;
    if (result == 0)
        *handle = (struct ripc_handle){ripc->notices->id, notice->token};
    lock_drop(&ripc->lock);
    if (result) {
        doorbell_close(&notice->bell);
        free(notice);
        return result;
    }
    *out = notice;
    return 0;
}

int ripc_notice_close(struct ripc_notice *notice)
{
    struct ripc *ripc = notice->ripc;
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    int result = notice->waiters || notice->closing ? -EBUSY : 0;
    if (result == 0 && notice->calling && notice->caller == lock_self()) {
        notice->closed = true;
    } else if (result == 0) {
        notice->closing = true;
        while (notice->calling)
            waiting_pause(ripc);
        notice_free(notice);
    }
    lock_drop(&ripc->lock);
    return result;
}

static int notice_check(void *argument)
{
    const struct ripc_notice *notice = argument;
    if (notice->ripc->notices_closing)
        return -ECANCELED;
    if (notice->ripc->manual && notice->ripc->notices)
        notices_check(notice->ripc);
    return notice->count > 0;
}

int ripc_notice_wait(struct ripc_notice *notice, uint64_t *value, int64_t deadline)
{
    struct ripc *ripc = notice->ripc;
    if (!context_is_ours(ripc))
        return -ECHILD;
    if (notice->callback)
        return -EINVAL;
    lock_take(&ripc->lock);
    /* Without a notifier thread, this thread itself receives notifications, and waits on the bell
     * of the hidden service. */
    struct doorbell *bell = ripc->manual ? &ripc->notices->bell : &notice->bell;
    notice->waiters++;
    int result = waiting_until(ripc, bell, notice_check, notice, deadline);
    notice->waiters--;
    if (result == 1) {
        result = notice->count > INT_MAX ? INT_MAX : (int)notice->count;
        notice->count -= (uint64_t)result;
        if (value)
            *value = notice->value;
        if (notice->count == 0)
            doorbell_clear(&notice->bell);
    }
    lock_drop(&ripc->lock);
    return result;
}

int ripc_notice_fd(struct ripc_notice *notice)
{
    if (!context_is_ours(notice->ripc))
        return -ECHILD;
    return notice->callback ? -EINVAL : notice->bell.event_fd;
}

/* ---- what we know of the notices of a peer ---- */

#define NOTICES_KNOWN_MAX 4096 /* of a peer; then all are asked for again */

/* The values of peer->notices: the owner was asked, has the notice, or does not have it. */
static const char notice_unsure, notice_known, notice_unknown;

/* The key of peer->notices. A handle may have a true token and another id of the same process: that
 * is another entry, so that the answer about it does not spoil the true handle. */
static uint64_t notice_key(ripc_id service, uint64_t token)
{
    return token ^ service * 0x9e3779b97f4a7c15u;
}

/* Returns the value for the handle; asks the owner if there is none yet. */
static const char *notice_look_up(struct peer *peer, ripc_id service, uint64_t token)
{
    uint64_t key = notice_key(service, token);
    const char *known = id_map_get(&peer->notices, key);
    if (known)
        return known;
    const struct control_words words = {.kind = CONTROL_NOTICE_ASK, .to = service, .number = token};
    if (peer->notices.count >= NOTICES_KNOWN_MAX)
        id_map_fini(&peer->notices);
    /* If memory is short, the notification is sent unchecked. */
    if (!id_map_put(&peer->notices, key, (void *)&notice_unsure))
        return &notice_known;
    peer_answer(peer, &words); /* a peer that does not read is condemned */
    return &notice_unsure;
}

void notice_answered(struct peer *peer, struct control_words *words)
{
    /* Only answers about what we asked, so a peer cannot fill the map. */
    uint64_t key = notice_key(words->to, words->number);
    if (!id_map_get(&peer->notices, key))
        return;
    const char *known = words->status == 0 ? &notice_known : &notice_unknown;
    if (id_map_put(&peer->notices, key, (void *)known))
        context_wake(peer->ripc);
}

void notices_forget(struct peer *peer)
{
    id_map_fini(&peer->notices);
}

/* ---- sending a notification ---- */

struct notifying {
    struct remote *remote;
    uint64_t token;
    bool now; /* do not wait for the owner's answer */
    uint8_t body[NOTIFY_SIZE];
    int result;
};

/* 0: there is such a notice, or the caller does not wait to learn it; -EAGAIN: no answer yet. */
static int notify_verify(const struct notifying *notifying)
{
    const char *known =
        notice_look_up(notifying->remote->peer, notifying->remote->id, notifying->token);
    if (known == &notice_unknown)
        return -ENOENT;
    return known == &notice_known || notifying->now ? 0 : -EAGAIN;
}

static int notify_check(void *argument)
{
    const struct frame_head head = message_head_write(&(struct message_head){.kind = FRAME_NOTIFY});
    struct notifying *notifying = argument;
    struct remote *remote = notifying->remote;
    struct iovec piece = {notifying->body, sizeof notifying->body};
    int result = remote_advance(remote);
    if (result == 0)
        result = notify_verify(notifying);
    if (result == 0) {
        result = remote->outlet->ops->push(remote->outlet, &head, &piece, 1);
        if (result == -EPROTO)
            peer_condemn(remote->peer);
    }
    if (result == -EAGAIN)
        return 0;
    notifying->result = result;
    return 1;
}

int ripc_notify(struct ripc_service *service, const struct ripc_handle *handle, uint64_t value,
                int64_t deadline)
{
    struct ripc *ripc = service->ripc;
    struct notifying notifying = {.token = handle->token, .now = deadline == RIPC_NOW};
    if (!context_is_ours(ripc))
        return -ECHILD;
    message_notify_write(notifying.body, handle->token, value);
    lock_take(&ripc->lock);
    int result = remote_get(service, handle->service, &notifying.remote);
    if (result == 0) {
        notifying.remote->users++;
        result = service_wait(service, notify_check, &notifying, deadline);
        notifying.remote->users--;
        if (result == 1)
            result = notifying.result;
    }
    if (result == 0)
        trace_event(ripc->trace, TRACE_NOTIFY, service->id, handle->service, (int64_t)value);
    lock_drop(&ripc->lock);
    return result;
}
