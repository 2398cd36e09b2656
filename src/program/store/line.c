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

/* The server is gone, or its memory for messages is full, if -ENOTCONN or -EAGAIN is returned. */
static int send_one(struct line *line, struct pending *pending, nsec now)
{
    nsec patience = earlier(pending->deadline - now, PATIENCE_NSEC);
    size_t size = window_write(pending, patience, line->bytes, sizeof line->bytes);
    int result =
        weft_post(line->attachment, line->service, line->bytes, size, &pending->post, WEFT_NOW);
    if (result) {
        pending->post = 0;
        pending->send_at = now + BLOCKED_NSEC;
        return result;
    }
    pending->sent++;
    pending->answer_by = now + patience + SILENCE_NSEC;
    return 0;
}

int line_send(struct line *line, struct window *window)
{
    nsec now = clock_now();
    list_each(&window->open, link)
    {
        struct pending *pending = container_of(link, struct pending, link);
        if (pending->post && now >= pending->answer_by) {
            line->gone_since = line->gone_since ? line->gone_since : now - GONE_NSEC;
            pending->answer_by = now + SILENCE_NSEC;
        }
        if (pending->post || now < pending->send_at)
            continue;
        int result = send_one(line, pending, now);
        if (result == -ENOTCONN && !line->gone_since)
            line->gone_since = now;
        if (result)
            return result == -ENOTCONN || result == -EAGAIN ? 0 : result;
    }
    return 0;
}

static void hear(struct line *line, struct window *window, const struct weft_message *message)
{
    struct pending *pending = message->ticket ? window_find(window, message->ticket) : NULL;
    nsec now = clock_now();
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
        if (pending->post)
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
