/* attachment_lines: lines between programs on different servers.
 *
 *   lifeline <--socket pair--> line, stream <--datagrams--> stream, line <--socket pair--> lifeline
 *
 * What the lifeline writes into its end of the pair is read here as far as the stream has room, and
 * what the stream delivers is written into the pair. A line ends when the lifeline closes its end
 * (then the stream reports the end after the last byte), when the stream is over, and when the
 * other program or its server is gone; then we close our end.
 *
 * An unreachable server may come back together with its programs: it gets a grace period. Only the
 * timer frees a line, because a caller further up the stack may still use it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/domain.h"
#include "transport/fork/descriptor.h"
#include "transport/routed/attachment_impl.h"
#include "transport/routed/stream.h"

#define GRACE_NSEC (3 * NSEC_PER_SEC) /* grace period of an unreachable server */
#define DRAIN_NSEC (2 * NSEC_PER_SEC) /* for the last bytes of a line that was closed here */
#define LINES_MAX  1024               /* accepted at the same time */

struct line {
    struct list node;
    struct attachment *attachment;
    struct relay_address peer;
    int fd; /* our end of the pair; -1: closed */
    struct poller_watch *watch;
    uint32_t watched; /* the events watched for */
    nsec give_up_at;
    size_t pending_size; /* bytes for the pair ... */
    size_t pending_done; /* ... of which the pair took these */
    uint8_t pending[STREAM_SEGMENT_MAX];
    struct stream stream;
};

static void timer_set(struct attachment *attachment, nsec at)
{
    if (at >= attachment->timer.at)
        return;
    int result = poller_set(attachment->poller, &attachment->timer, at);
    assert(result == 0); /* the timer was set already */
}

/* ---- the pair ---- */

static void line_shut(struct line *line)
{
    if (line->fd < 0)
        return;
    poller_remove(line->attachment->poller, line->watch);
    descriptor_close(line->fd);
    line->watch = NULL;
    line->fd = -1;
}

static bool line_is_dead(const struct line *line)
{
    return line->fd < 0 && stream_is_done(&line->stream);
}

/* Stops both directions. */
static void line_kill(struct line *line)
{
    line_shut(line);
    line->stream.over = true;
    timer_set(line->attachment, 0); /* the timer frees it */
}

static void line_watch(struct line *line)
{
    uint32_t events =
        (stream_has_room(&line->stream) ? EPOLLIN : 0) | (line->pending_size ? EPOLLOUT : 0);
    if (line->fd < 0 || events == line->watched)
        return;
    int result = poller_change(line->attachment->poller, line->watch, events);
    assert(result == 0); /* the descriptor is in the set */
    line->watched = events;
}

/* False: the pair took only a part, or the lifeline closed its end. */
static bool pending_flush(struct line *line)
{
    while (line->pending_size) {
        ssize_t sent = send(line->fd, line->pending + line->pending_done,
                            line->pending_size - line->pending_done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0)
            return false;
        line->pending_done += (size_t)sent;
        if (line->pending_done == line->pending_size)
            line->pending_size = line->pending_done = 0;
    }
    return true;
}

/* Moves bytes from the lifeline into the stream. */
static void line_read(struct line *line)
{
    uint8_t bytes[STREAM_SEGMENT_MAX];
    while (line->fd >= 0 && stream_has_room(&line->stream)) {
        ssize_t size = recv(line->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (size > 0) {
            stream_put(&line->stream, bytes, (size_t)size);
        } else if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        } else {
            line_shut(line);
            stream_end(&line->stream);
            line->give_up_at = clock_after(DRAIN_NSEC);
        }
    }
}

static void segment_send(struct attachment *attachment, const struct relay_address *to,
                         const struct stream_head *head, const uint8_t *bytes, size_t size)
{
    uint8_t out[STREAM_HEAD_SIZE];
    struct iovec pieces[2] = {{out, sizeof out}, {(void *)(uintptr_t)bytes, size}};
    stream_head_write(head, out);
    (void)attachment_say(attachment, to, RELAY_KIND_LINE, pieces, size ? 2 : 1);
}

/* Sends all that is due, and sets the timer for the next. */
static void line_work(struct line *line)
{
    struct stream_head head;
    const uint8_t *bytes;
    size_t size;
    nsec now = clock_now();
    while (stream_next(&line->stream, now, &head, &bytes, &size))
        segment_send(line->attachment, &line->peer, &head, bytes, size);
    if (line->stream.over)
        line_shut(line);
    line_watch(line);
    nsec due = line_is_dead(line) ? 0 : stream_due(&line->stream);
    timer_set(line->attachment, due < line->give_up_at ? due : line->give_up_at);
}

static void line_ready(void *owner, uint32_t events)
{
    struct line *line = owner;
    if (events & EPOLLOUT)
        (void)pending_flush(line);
    if ((events & EPOLLHUP) && !stream_has_room(&line->stream))
        line_kill(line); /* its remaining bytes cannot be sent, and we would spin */
    line_read(line);
    line_work(line);
}

/* ---- opening ---- */

static int line_new(struct attachment *attachment, const struct relay_address *peer, uint64_t id,
                    bool connects, int *fd)
{
    int ends[2];
    struct line *line = array_new(1, sizeof *line);
    if (!line)
        return -ENOMEM;
    if (descriptor_pair(SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, ends)) {
        free(line);
        return -errno;
    }
    *line = (struct line){.attachment = attachment,
                          .peer = *peer,
                          .fd = ends[0],
                          .watched = EPOLLIN,
                          .give_up_at = NSEC_NEVER};
    int result = poller_add(attachment->poller, line->fd, EPOLLIN, line_ready, line, &line->watch);
    if (result) {
        descriptor_close(ends[0]);
        descriptor_close(ends[1]);
        free(line);
        return result;
    }
    stream_init(&line->stream, id, connects, clock_now());
    list_append(&attachment->lines, &line->node);
    attachment->line_count++;
    attachment->counts.lines++;
    *fd = ends[1];
    return 0;
}

int attachment_connect(struct attachment *attachment, const struct relay_address *to, int *fd)
{
    if (attachment->lost)
        return -EPIPE;
    return line_new(attachment, to, entropy_u64() | 1, true, fd);
}

static struct line *line_find(const struct attachment *attachment, const struct relay_address *peer,
                              const struct stream_head *head)
{
    bool connects = !(head->flags & STREAM_CONNECTS);
    list_each(&attachment->lines, node)
    {
        struct line *line = container_of(node, struct line, node);
        if (line->stream.line == head->line && line->stream.connects == connects &&
            relay_address_equal(&line->peer, peer) && !line_is_dead(line))
            return line;
    }
    return NULL;
}

static int line_accept(struct attachment *attachment, const struct relay_message *message,
                       const struct stream_head *head, struct line **out)
{
    int fd = -1;
    if (!attachment->accepted || head->sequence || !(head->flags & STREAM_CONNECTS) ||
        message->size == STREAM_HEAD_SIZE || attachment->line_count >= LINES_MAX)
        return -ECONNREFUSED;
    int result = line_new(attachment, &message->from, head->line, false, &fd);
    if (result)
        return result;
    *out = container_of(attachment->lines.previous, struct line, node);
    attachment->accepted(attachment->accepted_owner, fd);
    return 0;
}

/* ---- receiving ---- */

static void reset_send(struct attachment *attachment, const struct relay_address *to,
                       const struct stream_head *heard)
{
    struct stream_head head = {
        .line = heard->line, .flags = (uint8_t)(STREAM_RESETS | (~heard->flags & STREAM_CONNECTS))};
    if (!(heard->flags & STREAM_RESETS))
        segment_send(attachment, to, &head, NULL, 0);
}

void lines_heard(struct attachment *attachment, const struct relay_message *message)
{
    struct stream_head head;
    if (stream_head_read(&head, message->body, message->size)) {
        attachment->counts.garbage++;
        return;
    }
    size_t size = message->size - STREAM_HEAD_SIZE;
    struct line *line = line_find(attachment, &message->from, &head);
    if (!line && !(head.flags & STREAM_RESETS)) {
        int result = line_accept(attachment, message, &head, &line);
        if (result == -EMFILE || result == -ENFILE)
            return; /* the peer sends the segment again, and we may have a descriptor by then */
    }
    if (!line) {
        reset_send(attachment, &message->from, &head);
        return;
    }
    /* Only whole segments are accepted, and the next one only after the last is in the pair. */
    if (stream_heard(&line->stream, &head, size, clock_now()) && line->fd >= 0 &&
        pending_flush(line)) {
        memcpy(line->pending, message->body + STREAM_HEAD_SIZE, size);
        line->pending_size = size;
        line->pending_done = 0;
        (void)pending_flush(line);
        stream_took(&line->stream);
    }
    line_work(line);
}

void lines_absent(struct attachment *attachment, const struct relay_address *address)
{
    bool known = false;
    list_each(&attachment->lines, node)
    {
        struct line *line = container_of(node, struct line, node);
        if (relay_address_equal(&line->peer, address)) {
            line_kill(line);
            known = true;
        }
    }
    if (known)
        attachment->absent[attachment->absent_count++ % ATTACHMENT_ABSENT] = *address;
}

bool attachment_is_absent(const struct attachment *attachment, const struct relay_address *program)
{
    uint32_t count = attachment->absent_count;
    for (uint32_t i = 0; i < count && i < ATTACHMENT_ABSENT; i++)
        if (relay_address_equal(&attachment->absent[i], program))
            return true;
    return false;
}

void lines_server(struct attachment *attachment, uint32_t server, bool up)
{
    list_each(&attachment->lines, node)
    {
        struct line *line = container_of(node, struct line, node);
        if (line->peer.server != server || line->fd < 0)
            continue;
        line->give_up_at = up ? NSEC_NEVER : clock_after(GRACE_NSEC);
        timer_set(attachment, line->give_up_at);
    }
}

void lines_lost(struct attachment *attachment)
{
    list_each(&attachment->lines, node) line_kill(container_of(node, struct line, node));
}

/* ---- the timer ---- */

static void line_free(struct line *line)
{
    line_shut(line);
    list_remove(&line->node);
    line->attachment->line_count--;
    free(line);
}

static void lines_fired(void *owner)
{
    struct attachment *attachment = owner;
    nsec now = clock_now();
    int result = poller_set(attachment->poller, &attachment->timer, NSEC_FAR);
    assert(result == 0); /* its slot is still free */
    list_each(&attachment->lines, node)
    {
        struct line *line = container_of(node, struct line, node);
        if (now >= line->give_up_at || stream_is_lost(&line->stream, now)) {
            line_shut(line);
            line->stream.over = true;
        }
        if (line_is_dead(line))
            line_free(line);
        else
            line_work(line);
    }
}

int lines_open(struct attachment *attachment)
{
    attachment->timer = (struct poller_timer){.fired = lines_fired, .owner = attachment};
    return poller_set(attachment->poller, &attachment->timer, NSEC_FAR);
}

void lines_close(struct attachment *attachment)
{
    list_each(&attachment->lines, node)
    {
        struct line *line = container_of(node, struct line, node);
        if (!line->stream.over && !attachment->lost) /* so that the other end need not wait */
            reset_send(attachment, &line->peer,
                       &(struct stream_head){.line = line->stream.line,
                                             .flags = line->stream.connects ? 0 : STREAM_CONNECTS});
        line_free(line);
    }
    poller_unset(attachment->poller, &attachment->timer);
}
