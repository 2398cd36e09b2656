/* program: the calls of weft/weft.h. */
#include "program/program.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "program/place.h"
#include "program/program_impl.h"
#include "transport/fork/descriptor.h"

#define ATTACH_NSEC      (5 * NSEC_PER_SEC)  /* how long weft_attach waits for a server ... */
#define CONNECT_NAP_NSEC (2 * 1000 * 1000LL) /* ... and how often it tries to connect */

static_assert(WEFT_MESSAGE_MAX == ATTACH_MESSAGE_MAX, "the header names the limit of the protocol");

int64_t weft_deadline(int64_t duration)
{
    return clock_after(duration);
}

/* The meaning of an errno as a result of these calls. All others have the system's text. */
static const struct {
    int error;
    const char *text;
} texts[] = {
    {ENOENT, "no server runs there, or the server does not run that service"},
    {ECONNREFUSED, "no server runs there"},
    {EAGAIN, "nothing has arrived, or there is no room at the moment"},
    {ETIMEDOUT, "the deadline has passed"},
    {ECONNRESET, "the server ended before it answered"},
    {ENOTCONN, "the server is gone, and is not back yet"},
    {EMSGSIZE, "too large for a message, or for the memory given"},
    {EUSERS, "too many programs are attached to the server"},
    {EMFILE, "no free descriptor, in the server or in this process: raise its limit (ulimit -n)"},
    {EPROTONOSUPPORT, "the server runs another version of weft"},
    {EPROTO, "the server does not speak our protocol"},
    {ECHILD, "another process opened this: a child of fork cannot use its parent's objects"},
};

const char *weft_strerror(int error)
{
    if (error >= 0)
        return "success";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].error == -error)
            return texts[i].text;
    const char *text = strerrordesc_np(-error);
    return text ? text : "unknown error";
}

/* ---- attaching ---- */

/* Waits for the welcome of the server at that socket. */
static int attach_at(struct weft_attachment *attachment, const char *path, nsec deadline)
{
    struct contact *contact = &attachment->contact;
    int result;
    /* -EAGAIN: more programs connect at the moment than the server has accepted. */
    while ((result = contact_open(contact, path, attachment->memory)) == -EAGAIN &&
           clock_now() < deadline)
        clock_nap(CONNECT_NAP_NSEC);
    if (result == -EAGAIN)
        result = -ETIMEDOUT;
    while (!result) {
        struct pollfd ready = {.fd = contact->fd, .events = POLLIN};
        (void)poll(&ready, 1, 100);
        result = contact_greet(contact);
        if (!result && clock_now() >= deadline)
            result = -ETIMEDOUT;
    }
    if (result < 0) {
        contact_close(contact);
        return result;
    }
    attachment->path = strdup(path);
    return attachment->path ? 0 : -ENOMEM;
}

/* Tries one server after the other. Returns the error of the first if none accepts us. */
static int attach_any(struct weft_attachment *attachment, const char *folder, nsec deadline)
{
    char path[PLACE_SIZE];
    uint32_t server = UINT32_MAX;
    int first = 0;
    for (;;) {
        int result = place_next(folder, &server);
        if (result)
            return first ? first : result;
        result = place_socket(folder, server, path);
        if (!result)
            result = attach_at(attachment, path, deadline);
        if (!result || clock_now() >= deadline)
            return result;
        first = first ? first : result;
    }
}

static int attach_begin(struct weft_attachment *attachment, const char *dir, uint32_t server,
                        nsec deadline)
{
    char folder[PLACE_SIZE], path[PLACE_SIZE];
    const char *node = getenv("WEFT_NODE");
    if (!dir && server == WEFT_ANY && node && *node)
        return attach_at(attachment, node, deadline);
    int result = place_folder(dir, folder);
    if (result)
        return result;
    if (server == WEFT_ANY)
        return attach_any(attachment, folder, deadline);
    result = place_socket(folder, server, path);
    return result ? result : attach_at(attachment, path, deadline);
}

static void attachment_free(struct weft_attachment *attachment)
{
    const int fds[] = {attachment->epoll_fd, attachment->event_fd, attachment->timer_fd};
    contact_fini(&attachment->contact);
    for (unsigned i = 0; i < 3; i++)
        if (fds[i] >= 0)
            descriptor_close(fds[i]);
    inbox_fini(&attachment->inbox);
    id_map_fini(&attachment->posts);
    free(attachment->path);
    free(attachment);
}

int program_attach(const char *dir, uint32_t server, unsigned flags, nsec deadline,
                   struct weft_attachment **out)
{
    if (flags & ~(unsigned)WEFT_BY_SOCKET || !out)
        return -EINVAL;
    struct weft_attachment *attachment = array_new(1, sizeof *attachment);
    if (!attachment)
        return -ENOMEM;
    attachment->monitor = (struct monitor)MONITOR_INIT;
    attachment->memory = !(flags & WEFT_BY_SOCKET);
    attachment->next_ask = 1;
    attachment->next_post = 2;
    attachment->epoll_fd = attachment->event_fd = attachment->timer_fd = -1;
    list_init(&attachment->asks);
    inbox_init(&attachment->inbox);
    int result = contact_init(&attachment->contact);
    if (!result)
        result = owner_make(&attachment->owner);
    if (!result)
        result = attach_begin(attachment, dir, server, deadline);
    if (result) {
        attachment_free(attachment);
        return result;
    }
    *out = attachment;
    return 0;
}

int weft_attach(const char *dir, uint32_t server, unsigned flags, struct weft_attachment **out)
{
    return program_attach(dir, server, flags, clock_after(ATTACH_NSEC), out);
}

/* Returns 0, or why this process cannot use the attachment. */
static int attachment_check(const struct weft_attachment *attachment)
{
    if (!attachment)
        return -EINVAL;
    return owner_is_here(&attachment->owner) ? 0 : -ECHILD;
}

/* The same for a call that sends a message. */
static int message_check(const struct weft_attachment *attachment, uint32_t service,
                         const void *bytes, size_t size)
{
    int result = attachment_check(attachment);
    if (result)
        return result;
    if (service >= ATTACH_SERVICE)
        return -ENOENT;
    if (size > WEFT_MESSAGE_MAX)
        return -EMSGSIZE;
    return size && !bytes ? -EINVAL : 0;
}

int weft_detach(struct weft_attachment *attachment)
{
    int result = attachment_check(attachment);
    if (result)
        return result;
    attachment_free(attachment);
    return 0;
}

int weft_attachment_state(struct weft_attachment *attachment, struct weft_attachment_state *state)
{
    int result = attachment_check(attachment);
    if (result || !state)
        return result ? result : -EINVAL;
    monitor_take(&attachment->monitor);
    *state = (struct weft_attachment_state){
        .server = attachment->contact.server,
        .up = attachment->contact.stage == CONTACT_UP,
        .memory = attachment->contact.channel != NULL,
        .under_way = (uint32_t)attachment->posts.count,
        .reattached = attachment->reattached,
        .dropped = attachment->inbox.dropped,
    };
    monitor_drop(&attachment->monitor);
    return 0;
}

/* ---- sending ---- */

/* A request that may have to wait for room, or for the server. */
struct request {
    struct attach_head head;
    const void *bytes;
    size_t size;
    bool waits; /* counted in `senders` */
};

static void request_waits(struct weft_attachment *attachment, struct request *request, bool waits)
{
    attachment->senders += waits && !request->waits;
    attachment->senders -= !waits && request->waits;
    request->waits = waits;
}

/* Tries to send the request; true: it is sent. */
static bool request_send(struct weft_attachment *attachment, struct request *request)
{
    int result = -EAGAIN;
    if (attachment->contact.stage == CONTACT_UP)
        result = contact_say(&attachment->contact, &request->head, request->bytes, request->size);
    if (result == -EPIPE)
        program_lose(attachment);
    request_waits(attachment, request, result != 0);
    return !result;
}

/* ---- asking ---- */

struct asking {
    struct ask ask;
    struct request request;
};

static bool ask_is_done(struct weft_attachment *attachment, void *context)
{
    struct asking *asking = context;
    if (!asking->ask.sent) {
        if (!attachment->receiving && !program_polls(attachment) &&
            attachment->contact.stage == CONTACT_UP) {
            contact_arm_for_answer(&attachment->contact);
            attachment->armed_early = true;
        }
        asking->ask.sent = request_send(attachment, &asking->request);
        if (asking->ask.sent)
            list_append(&attachment->asks, &asking->ask.node);
    }
    return asking->ask.done;
}

static int ask_run(struct weft_attachment *attachment, struct asking *asking, nsec deadline)
{
    monitor_take(&attachment->monitor);
    asking->ask.ticket = asking->request.head.ticket = attachment->next_ask;
    attachment->next_ask += 2;
    int result = attachment_wait(attachment, ask_is_done, asking, deadline);
    list_remove(&asking->ask.node);
    request_waits(attachment, &asking->request, false);
    monitor_drop(&attachment->monitor);
    return result ? result : asking->ask.result;
}

int weft_ask(struct weft_attachment *attachment, uint32_t service, const void *request, size_t size,
             void *answer, size_t room, int64_t deadline)
{
    struct asking asking = {
        .ask = {.answer = answer, .room = room},
        .request = {.head.service = (uint16_t)service, .bytes = request, .size = size}};
    int result = message_check(attachment, service, request, size);
    if (result || (room && !answer))
        return result ? result : -EINVAL;
    list_init(&asking.ask.node);
    return ask_run(attachment, &asking, deadline);
}

int weft_find(struct weft_attachment *attachment, const char *name, int64_t deadline)
{
    uint8_t number[ATTACH_NUMBER_SIZE];
    struct asking asking = {.ask = {.answer = number, .room = sizeof number},
                            .request = {.head.service = ATTACH_SERVICE,
                                        .bytes = name,
                                        .size = name ? strlen(name) : 0}};
    int result = attachment_check(attachment);
    if (result || !name)
        return result ? result : -EINVAL;
    if (asking.request.size > ATTACH_NAME_MAX)
        return -ENOENT;
    list_init(&asking.ask.node);
    result = ask_run(attachment, &asking, deadline);
    if (result < 0)
        return result;
    return result == sizeof number ? number[0] << 8 | number[1] : -EPROTO;
}

/* ---- posting and taking ---- */

static bool post_is_done(struct weft_attachment *attachment, void *context)
{
    return request_send(attachment, context);
}

static int post_run(struct weft_attachment *attachment, struct request *request, nsec deadline)
{
    if (deadline <= 0 && attachment->contact.stage != CONTACT_UP) {
        (void)program_progress(attachment, true);
        if (attachment->contact.stage != CONTACT_UP)
            return -ENOTCONN;
    }
    int result = attachment_wait(attachment, post_is_done, request, deadline);
    request_waits(attachment, request, false);
    /* The answer cannot have been received yet: no other thread had the monitor since. */
    void *service = (void *)(uintptr_t)(request->head.service + 1u);
    if (!result && request->head.ticket &&
        !id_map_put(&attachment->posts, request->head.ticket, service))
        result = -ENOMEM; /* it is sent; its answer, if it comes, is returned by weft_take */
    return result;
}

int weft_post(struct weft_attachment *attachment, uint32_t service, const void *bytes, size_t size,
              uint64_t *ticket, int64_t deadline)
{
    struct request request = {.head.service = (uint16_t)service, .bytes = bytes, .size = size};
    int result = message_check(attachment, service, bytes, size);
    if (result)
        return result;
    monitor_take(&attachment->monitor);
    if (ticket) {
        *ticket = request.head.ticket = attachment->next_post;
        attachment->next_post += 2;
    }
    result = post_run(attachment, &request, deadline);
    monitor_drop(&attachment->monitor);
    return result;
}

struct taking {
    struct weft_message *message;
    void *bytes;
    size_t room;
    int result;
};

static bool take_is_done(struct weft_attachment *attachment, void *context)
{
    struct taking *taking = context;
    taking->result = inbox_take(&attachment->inbox, taking->message, taking->bytes, taking->room);
    return taking->result != 0;
}

int weft_take(struct weft_attachment *attachment, struct weft_message *message, void *bytes,
              size_t room, int64_t deadline)
{
    struct taking taking = {.message = message, .bytes = bytes, .room = room};
    int result = attachment_check(attachment);
    if (result || !message || (room && !bytes))
        return result ? result : -EINVAL;
    monitor_take(&attachment->monitor);
    result = attachment_wait(attachment, take_is_done, &taking, deadline);
    monitor_drop(&attachment->monitor);
    return result ? result : taking.result;
}

/* ---- event loops ---- */

static int fd_open(struct weft_attachment *attachment)
{
    struct epoll_event event = {.events = EPOLLIN};
    int set = DESCRIPTOR_OPEN(epoll_create1(EPOLL_CLOEXEC));
    int more = DESCRIPTOR_OPEN(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    int timer = DESCRIPTOR_OPEN(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (set < 0 || more < 0 || timer < 0 || epoll_ctl(set, EPOLL_CTL_ADD, more, &event) ||
        epoll_ctl(set, EPOLL_CTL_ADD, timer, &event)) {
        int error = errno;
        const int fds[] = {set, more, timer};
        for (unsigned i = 0; i < 3; i++)
            if (fds[i] >= 0)
                descriptor_close(fds[i]);
        return -error;
    }
    attachment->epoll_fd = set;
    attachment->event_fd = more;
    attachment->timer_fd = timer;
    program_watch(attachment);
    return 0;
}

/* Returns 0 if the descriptors of an event loop are there. */
static int fd_need(struct weft_attachment *attachment)
{
    return attachment->epoll_fd < 0 ? fd_open(attachment) : 0;
}

int weft_attachment_fd(struct weft_attachment *attachment)
{
    int result = attachment_check(attachment);
    if (result)
        return result;
    monitor_take(&attachment->monitor);
    result = fd_need(attachment);
    if (!result)
        result = attachment->epoll_fd;
    monitor_drop(&attachment->monitor);
    return result;
}

static bool arm_is_done(struct weft_attachment *attachment)
{
    uint64_t ignored;
    (void)!read(attachment->event_fd, &ignored, sizeof ignored);
    attachment->armed = true;
    if (!list_is_empty(&attachment->inbox.items))
        return false;
    return attachment->contact.stage != CONTACT_UP || contact_arm(&attachment->contact, false);
}

/* A loop may arm first and ask for the descriptor then, so arming makes it, too. */
int weft_attachment_arm(struct weft_attachment *attachment)
{
    int result = attachment_check(attachment);
    if (result)
        return result;
    monitor_take(&attachment->monitor);
    result = fd_need(attachment);
    if (!result)
        result = arm_is_done(attachment) ? 0 : -EAGAIN;
    monitor_drop(&attachment->monitor);
    return result;
}
