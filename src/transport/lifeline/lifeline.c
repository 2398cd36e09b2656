/* lifeline: the hello, and what follows it.
 *
 *     connects                                        listens
 *     CONNECTING                                      GREETING
 *     GREETING    -------- greeting, challenge ----->
 *                 <------- greeting, challenge ------
 *                 <------- proof --------------------  PROVING
 *     PROVING
 *     UP          -------- proof ------------------->  UP
 *
 * A proof covers all bytes of both greetings, so neither side can have received another card,
 * context or challenge than the other side sent. A side that refuses sends the reason in one
 * message, best effort, and cuts the line.
 *
 * A line that is cut is not freed here, because a caller further up the stack may still use it. The
 * reaper (lifeline_cut.c) frees it from the poller. */
#include "transport/lifeline/lifeline.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/check.h"
#include "transport/lifeline/lifeline_impl.h"

enum {
    READ_MAX = 64,    /* messages handled per event, so that one line cannot starve the others */
    DRAIN_MAX = 4096, /* more than a socket's buffer holds */
};

static const uint8_t *lines_key(const struct lifelines *lines)
{
    return lines->keyed ? lines->key : NULL;
}

static enum hello_role own_role(const struct lifeline *line)
{
    return line->outgoing ? HELLO_CONNECTS : HELLO_LISTENS;
}

static enum hello_role peer_role(const struct lifeline *line)
{
    return line->outgoing ? HELLO_LISTENS : HELLO_CONNECTS;
}

/* ---- sending the hello ---- */

static int greeting_send(struct lifeline *line)
{
    const struct lifelines *lines = line->lines;
    struct lifeline_hello hello = {.role = own_role(line),
                                   .keyed = lines->keyed,
                                   .address = lines->address,
                                   .card_size = (uint16_t)lines->card_size};
    uint8_t bytes[HELLO_SIZE_MAX];
    entropy_fill(hello.challenge, sizeof hello.challenge);
    memcpy(hello.card, lines->card, lines->card_size);
    size_t size = greeting_write(&hello, bytes);
    hello_digest(line->digests[own_role(line) - 1], bytes, size);
    struct control_head head = {.kind = HELLO_GREETING, .size = (uint16_t)size};
    return lifeline_put(line, &head, bytes, NULL);
}

static int proof_send(struct lifeline *line)
{
    uint8_t proof[HELLO_DIGEST];
    struct control_head head = {.kind = HELLO_PROOF, .size = sizeof proof};
    hello_proof(proof, lines_key(line->lines), own_role(line), line->digests[0], line->digests[1]);
    return lifeline_put(line, &head, proof, NULL);
}

/* Refuses what the peer sent: sends the reason, counts it, and cuts the line. */
static void lifeline_refuse(struct lifeline *line, int reason)
{
    if (line->state < LIFELINE_UP) {
        uint8_t body[2];
        struct writer out = writer_make(body, sizeof body);
        struct control_head head = {.kind = HELLO_REFUSAL, .size = sizeof body};
        write_u16(&out, refusal_of_error(reason));
        (void)!lifeline_put(line, &head, body, NULL);
    }
    if (reason != -ECONNREFUSED)
        line->lines->counts.garbage++;
    lifeline_cut(line, reason);
}

void lifeline_greet(struct lifeline *line)
{
    assert(line->outgoing && line->state == LIFELINE_CONNECTING);
    line->state = LIFELINE_GREETING;
    line->reached = true;
    int result = greeting_send(line);
    if (result)
        lifeline_fail(line, result);
}

/* ---- receiving the hello ---- */

static int greeting_check(const struct lifeline *line, const struct lifeline_hello *hello)
{
    const struct lifelines *lines = line->lines;
    if (hello->role != peer_role(line))
        return -EPROTO;
    if (hello->keyed != lines->keyed)
        return -EKEYREJECTED;
    if (line->local && !context_address_is_here(&hello->address))
        return -EPROTO;
    /* A line of the operator's file names an address only: any context there will do. */
    if (line->outgoing && line->to.context && hello->address.context != line->to.context)
        return -ECONNREFUSED; /* another process has that port now */
    return 0;
}

static void greeting_heard(struct lifeline *line, const struct control *control)
{
    line->hello = array_new(1, sizeof *line->hello);
    if (!line->hello) {
        lifeline_cut(line, -ENOMEM);
        return;
    }
    int result = greeting_read(line->hello, control->body, control->size);
    if (!result)
        result = greeting_check(line, line->hello);
    if (result) {
        lifeline_refuse(line, result);
        return;
    }
    hello_digest(line->digests[peer_role(line) - 1], control->body, control->size);
    line->state = LIFELINE_PROVING;
    if (line->outgoing)
        return;
    result = greeting_send(line);
    if (!result)
        result = proof_send(line);
    if (result)
        lifeline_cut(line, result);
}

static void lifeline_rise(struct lifeline *line)
{
    struct lifelines *lines = line->lines;
    struct lifeline_hello *hello = line->hello;
    line->hello = NULL;
    line->state = LIFELINE_UP;
    line->peer = hello->address;
    line->known = true;
    line->suspended = clock_suspended();
    if (!line->outgoing)
        lines->greeting_count--;
    poller_unset(lines->poller, &line->timer);
    lines->events->up(lines->owner, line, &hello->address, hello->card, hello->card_size);
    free(hello);
}

static void proof_heard(struct lifeline *line, const struct control *control)
{
    uint8_t proof[HELLO_DIGEST];
    if (control->size != sizeof proof) {
        lifeline_refuse(line, -EPROTO);
        return;
    }
    hello_proof(proof, lines_key(line->lines), peer_role(line), line->digests[0], line->digests[1]);
    if (!hello_proof_equal(proof, control->body)) {
        lifeline_refuse(line, -EKEYREJECTED);
        return;
    }
    int result = line->outgoing ? proof_send(line) : 0;
    if (result)
        lifeline_fail(line, result);
    else
        lifeline_rise(line);
}

static void hello_heard(struct lifeline *line, const struct control *control)
{
    if (control->kind == HELLO_REFUSAL && control->size == 2) {
        struct reader in = reader_make(control->body, control->size);
        int reason = refusal_error(read_u16(&in));
        line->lines->counts.garbage += reason != -EPIPE;
        lifeline_cut(line, reason);
    } else if (control->fd_count) {
        lifeline_refuse(line, -EPROTO);
    } else if (line->state == LIFELINE_GREETING && control->kind == HELLO_GREETING) {
        greeting_heard(line, control);
    } else if (line->state == LIFELINE_PROVING && control->kind == HELLO_PROOF) {
        proof_heard(line, control);
    } else {
        lifeline_refuse(line, -EPROTO);
    }
}

/* ---- receiving ---- */

/* Handles at most `max` messages, and those that were read together with the last one: no event
 * reports them. Returns how many, -EPIPE if the line is down, or -EMFILE if it rests. */
static int lifeline_read(struct lifeline *line, int max)
{
    struct lifelines *lines = line->lines;
    struct control control;
    int count = 0;
    if (line->reading)
        return 0;
    line->reading = true;
    while (line->fd >= 0 && (count < max || lifeline_has_read(line))) {
        int result = lifeline_get(line, &control);
        if (result == 0)
            break;
        if (result == -EPROTO) {
            lifeline_refuse(line, result);
        } else if (result == -EMFILE) {
            lifeline_rest(line, true);
            break;
        } else if (result < 0) {
            lifeline_fail(line, result);
            break;
        } else {
            count++;
            if (line->rests)
                lifeline_rest(line, false);
            if (line->state == LIFELINE_UP)
                lines->events->control(lines->owner, line, &control);
            else
                hello_heard(line, &control);
            control_close_fds(&control);
        }
    }
    line->reading = false;
    if (line->state == LIFELINE_DOWN)
        return -EPIPE;
    return line->rests ? -EMFILE : count;
}

static void connect_finish(struct lifeline *line)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(line->fd, SOL_SOCKET, SO_ERROR, &error, &size))
        error = errno;
    if (error) {
        lifeline_fail(line, -error);
        return;
    }
    int result = poller_change(line->lines->poller, line->watch, EPOLLIN | EPOLLRDHUP);
    if (result)
        lifeline_cut(line, result);
    else
        lifeline_greet(line);
}

void lifeline_ready(void *owner, uint32_t events)
{
    struct lifeline *line = owner;
    if (line->state == LIFELINE_CONNECTING) {
        connect_finish(line);
        return;
    }
    if (events & EPOLLOUT)
        lifeline_flush(line);
    lifeline_read(line, READ_MAX);
}

/* ---- public calls ---- */

int lifeline_send(struct lifeline *line, const struct control *control)
{
    assert(control->size <= CONTROL_BODY_MAX && control->fd_count <= CONTROL_FD_MAX);
    if (line->state == LIFELINE_DOWN)
        return -EPIPE;
    if (line->state != LIFELINE_UP)
        return -ENOTCONN;
    if (control->fd_count && !line->local)
        return -EOPNOTSUPP;
    struct control_head head = {
        .kind = control->kind, .size = control->size, .fd_count = control->fd_count};
    return lifeline_put(line, &head, control->body, control->fds);
}

size_t lifeline_queued(const struct lifeline *line)
{
    return line->queued_size;
}

int lifeline_drain(struct lifeline *line)
{
    if (line->state == LIFELINE_DOWN)
        return -EPIPE;
    return line->state == LIFELINE_CONNECTING ? 0 : lifeline_read(line, DRAIN_MAX);
}

bool lifeline_alive(const struct lifeline *line)
{
    if (line->state != LIFELINE_UP)
        return false;
    struct pollfd end = {.fd = line->fd, .events = POLLRDHUP};
    return poll(&end, 1, 0) >= 0 && !(end.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

bool lifeline_rests(const struct lifeline *line)
{
    return line->rests;
}

bool lifeline_reached(const struct lifeline *line)
{
    return line->reached;
}

bool lifeline_ended(const struct lifeline *line)
{
    return line->local ? lifelines_alive(line->lines, line->peer.context) == 0 : line->ended;
}

bool lifeline_local(const struct lifeline *line)
{
    return line->local;
}

bool lifeline_outgoing(const struct lifeline *line)
{
    return line->outgoing;
}

int lifeline_pid(const struct lifeline *line)
{
    return line->pid;
}

uint64_t lifeline_number(const struct lifeline *line)
{
    struct reader one = reader_make(line->digests[0], HELLO_DIGEST);
    struct reader other = reader_make(line->digests[1], HELLO_DIGEST);
    return read_u64(&one) ^ read_u64(&other); /* the greetings contain the challenges */
}

void lifeline_set_data(struct lifeline *line, void *data)
{
    line->data = data;
}

void *lifeline_data(const struct lifeline *line)
{
    return line->data;
}
