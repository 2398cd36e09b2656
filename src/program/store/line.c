/* line: see the header. */
#include "program/store/line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "program/place.h"
#include "program/program.h"

#define OPEN_NSEC     (5 * NSEC_PER_SEC)
#define PATIENCE_NSEC (2 * NSEC_PER_SEC)        /* after that a server says that it does not know */
#define SILENCE_NSEC  (1 * NSEC_PER_SEC)        /* if it does not, it is taken to be hung */
#define BLOCKED_NSEC  (5 * NSEC_PER_SEC / 1000) /* until the next try to send */
#define FULL_NSEC     (NSEC_PER_SEC / 1000)     /* the same for parts of a large value */
#define OPEN_WAIT     (2 * NSEC_PER_SEC)        /* for the answer to the beginning of an upload */
#define BYTE_NSEC     100                       /* more patience for each byte of a large value */
#define TURN_PARTS    16                        /* that are sent before something is received */
#define GONE_NSEC     (NSEC_PER_SEC / 10)       /* a server that ends may be back at once */
#define MOVE_NSEC     (NSEC_PER_SEC / 2) /* between two attempts to move, and for each server */

/* ---- attaching ---- */

static nsec earlier(nsec a, nsec b)
{
    return a < b ? a : b;
}

static int watch(const struct line *line, struct weft_attachment *attachment)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fd = weft_attachment_fd(attachment);
    if (fd < 0)
        return fd;
    return epoll_ctl(line->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* Makes a new attachment the one that is used. On failure it is detached. */
static int take_up(struct line *line, struct weft_attachment *attachment, nsec deadline)
{
    struct weft_attachment_state state;
    int service = weft_find(attachment, STORE_NAME, deadline);
    int result = service >= 0 ? weft_attachment_state(attachment, &state) : service;
    if (!result && line->epoll_fd >= 0)
        result = watch(line, attachment);
    if (result) {
        (void)weft_detach(attachment);
        return result == -ENOENT ? -ENOSYS : result;
    }
    if (line->attachment)
        (void)weft_detach(line->attachment);
    line->attachment = attachment;
    line->service = (uint32_t)service;
    line->server = state.server;
    line->gone_since = 0;
    return 0;
}

/* Takes up the first other server of the run directory that answers; a hung one takes MOVE_NSEC.
 * Returns the error of the first one if none does. */
static int reach(struct line *line, nsec deadline)
{
    char folder[PLACE_SIZE];
    uint32_t server = UINT32_MAX;
    int first = 0, result = place_folder(line->dir, folder);
    while (!result && !(result = place_next(folder, &server))) {
        struct weft_attachment *attachment;
        nsec patience = earlier(deadline, clock_after(MOVE_NSEC));
        if (line->attachment && server == line->server)
            continue;
        result = program_attach(line->dir, server, 0, patience, &attachment);
        if (!result)
            result = take_up(line, attachment, patience);
        if (!result || clock_is_past(deadline))
            return result;
        first = first ? first : result;
        result = 0;
    }
    return first ? first : result;
}

int line_open(struct line *line, const char *dir, uint32_t server)
{
    struct weft_attachment *attachment;
    const char *node = getenv("WEFT_NODE");
    bool by_socket = !dir && node && *node;
    nsec deadline = clock_after(OPEN_NSEC);
    int result;
    line->epoll_fd = -1;
    line->may_move = server == WEFT_ANY && !by_socket;
    if (dir && !(line->dir = strdup(dir)))
        return -ENOMEM;
    if (!line->may_move) {
        result = weft_attach(dir, server, 0, &attachment);
        return result ? result : take_up(line, attachment, deadline);
    }
    do {
        result = reach(line, deadline);
    } while (result == -ETIMEDOUT && !clock_is_past(deadline));
    return result;
}

void line_close(struct line *line)
{
    if (line->attachment)
        (void)weft_detach(line->attachment);
    free(line->dir);
}

int line_watch(struct line *line, int epoll_fd)
{
    line->epoll_fd = epoll_fd;
    int result = watch(line, line->attachment);
    if (result)
        line->epoll_fd = -1;
    return result;
}

/* ---- sending and receiving ---- */

/* How long the server tries, before it says that it does not know. */
static nsec patience_of(const struct pending *pending, nsec now)
{
    nsec patience = PATIENCE_NSEC;
    if (window_is_large(pending))
        patience += (nsec)pending->request.value_size * BYTE_NSEC;
    return earlier(pending->deadline - now, patience);
}

/* Sends bytes. The server is gone, or its memory for messages is full, if -ENOTCONN or -EAGAIN is
 * returned. */
static int send_bytes(struct line *line, size_t size, uint64_t *ticket, nsec deadline)
{
    int result = weft_post(line->attachment, line->service, line->bytes, size, ticket, deadline);
    if (result && ticket)
        *ticket = 0;
    return result == -ETIMEDOUT ? -EAGAIN : result;
}

static int send_whole(struct line *line, struct pending *pending, nsec now)
{
    nsec patience = patience_of(pending, now);
    bool large = window_is_large(pending);
    /* While a large one waits for memory, the server says so. */
    size_t size = window_write(pending, large ? pending->deadline - now : patience, line->bytes,
                               sizeof line->bytes);
    int result = send_bytes(line, size, &pending->post, WEFT_NOW);
    if (result) {
        pending->send_at = now + BLOCKED_NSEC;
        return result;
    }
    pending->sent += !large;
    pending->opened |= large;
    pending->stage = large ? PENDING_OPENED : PENDING_WHOLE;
    pending->answer_by = now + (large ? OPEN_WAIT : patience + SILENCE_NSEC);
    return 0;
}

/* Some parts of a large value. It may wait for room for them, until the deadline. */
static int send_parts(struct line *line, struct pending *pending, nsec now, nsec deadline)
{
    nsec patience = patience_of(pending, now);
    for (unsigned i = 0; i < TURN_PARTS; i++) {
        size_t size = window_write_part(pending, patience, line->bytes, sizeof line->bytes);
        bool last = window_is_last_part(pending);
        int result = send_bytes(line, size, last ? &pending->post : NULL, deadline);
        if (result) {
            pending->send_at = now + FULL_NSEC;
            return result;
        }
        window_part_sent(pending);
        if (last) {
            pending->stage = PENDING_SENT;
            pending->sent++;
            pending->answer_by = now + patience + SILENCE_NSEC;
            return 0;
        }
    }
    return 0;
}

static int send_one(struct line *line, struct pending *pending, nsec now, nsec deadline)
{
    return pending->stage == PENDING_SENDING ? send_parts(line, pending, now, deadline)
                                             : send_whole(line, pending, now);
}

int line_send(struct line *line, struct window *window, nsec deadline)
{
    nsec now = clock_now();
    nsec until = deadline > now ? earlier(deadline, now + BLOCKED_NSEC) : WEFT_NOW;
    list_each(&window->open, link)
    {
        struct pending *pending = container_of(link, struct pending, link);
        if (pending->post && now >= pending->answer_by) {
            line->gone_since = line->gone_since ? line->gone_since : now - GONE_NSEC;
            pending->answer_by = now + SILENCE_NSEC;
        }
        if (pending->post || now < pending->send_at)
            continue;
        int result = send_one(line, pending, now, until);
        if (result == -ENOTCONN && !line->gone_since)
            line->gone_since = now;
        if (result)
            return result == -ENOTCONN || result == -EAGAIN ? 0 : result;
    }
    return 0;
}

/* The library says nothing of messages that were answered before, or expect no answer. */
static void lose_parts(struct window *window, nsec now)
{
    list_each(&window->open, link)
    {
        struct pending *pending = container_of(link, struct pending, link);
        if (pending->stage != PENDING_WHOLE || pending->part)
            window_lost(pending, now);
    }
}

static void hear(struct line *line, struct window *window, const struct weft_message *message)
{
    struct pending *pending = message->ticket ? window_find(window, message->ticket) : NULL;
    nsec now = clock_now();
    if (message->kind == WEFT_LOST)
        lose_parts(window, now);
    if (message->kind == WEFT_BACK || message->kind == WEFT_ANSWER)
        line->gone_since = 0;
    else if (message->kind == WEFT_LOST && !line->gone_since)
        line->gone_since = now;
    if (!pending)
        return;
    if (message->kind == WEFT_ANSWER)
        window_answered(window, pending, line->bytes, message->size, now);
    else if (message->kind == WEFT_ENDED && message->result == -ENOENT)
        window_end(window, pending, -ENOSYS);
    else if (message->kind == WEFT_ENDED)
        window_lost(pending, now);
}

int line_receive(struct line *line, struct window *window, nsec deadline)
{
    struct weft_message message;
    int result = weft_take(line->attachment, &message, line->bytes, sizeof line->bytes, deadline);
    if (result < 0)
        return result;
    hear(line, window, &message);
    return 0;
}

/* ---- another server ---- */

static void lose_all(struct window *window, nsec now)
{
    list_each(&window->open, link)
    {
        struct pending *pending = container_of(link, struct pending, link);
        if (pending->post || pending->stage != PENDING_WHOLE)
            window_lost(pending, now);
    }
}

void line_move(struct line *line, struct window *window, nsec deadline)
{
    nsec now = clock_now();
    if (!line->may_move || !line->gone_since || now - line->gone_since < GONE_NSEC ||
        now < line->move_at)
        return;
    if (!reach(line, deadline))
        lose_all(window, clock_now());
    line->move_at = clock_after(MOVE_NSEC);
}
