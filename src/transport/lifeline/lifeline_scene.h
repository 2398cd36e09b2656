#pragma once
/* lifeline_scene: contexts of tests of lifelines, which record their events. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/lifeline/lifeline.h"
#include "transport/scratch.h"

#define PATIENCE (10 * NSEC_PER_SEC) /* how long a failing test waits */

/* A context of a test; it records its events. */
struct hub {
    struct lock lock;
    struct poller *poller;
    struct lifelines *lines;
    struct context_address address;
    int ups;
    int downs;
    int reason;   /* of the last down */
    int controls; /* counts messages; the first four bytes of each are its number */
    bool disordered;
    bool keep;  /* keeps descriptors */
    bool echo;  /* sends every message back */
    int cut_at; /* cuts the line after that many messages */
    int kept_fds[64];
    int kept_count;
    struct lifeline *line; /* the last line that came up */
    struct context_address peer;
    char card[LIFELINE_CARD_MAX + 1];
};

static struct scratch here; /* of the tests of one program */

static inline int begin(void **state)
{
    scratch_open(&here);
    return 0;
}

static inline int end(void **state)
{
    scratch_close(&here);
    return 0;
}

static inline void on_up(void *owner, struct lifeline *line, const struct context_address *peer,
                         const uint8_t *card, size_t card_size)
{
    struct hub *hub = owner;
    hub->ups++;
    hub->line = line;
    hub->peer = *peer;
    memcpy(hub->card, card, card_size);
    hub->card[card_size] = '\0';
}

static inline void on_control(void *owner, struct lifeline *line, struct control *control)
{
    struct hub *hub = owner;
    uint32_t number = 0;
    if (control->size >= sizeof number)
        memcpy(&number, control->body, sizeof number);
    hub->disordered |= control->size >= sizeof number && number != (uint32_t)hub->controls;
    hub->controls++;
    for (unsigned i = 0; hub->keep && i < control->fd_count; i++) {
        hub->kept_fds[hub->kept_count++] = control->fds[i];
        control->fds[i] = -1;
    }
    if (hub->echo && lifeline_send(line, control))
        hub->disordered = true;
    if (hub->controls == hub->cut_at)
        lifeline_cut(line, -ECANCELED);
}

static inline void on_down(void *owner, struct lifeline *line, int reason)
{
    struct hub *hub = owner;
    hub->downs++;
    hub->reason = reason;
    hub->line = NULL;
}

static const struct lifeline_events events = {.up = on_up, .control = on_control, .down = on_down};

struct hub_wish {
    const char *address;
    uint16_t port;
    const uint8_t *key;
    nsec hello_nsec;
};

static inline struct hub *hub_open(const struct hub_wish *wish)
{
    struct hub *hub = calloc(1, sizeof *hub);
    struct why why = {""};
    assert_non_null(hub);
    assert_int_equal(poller_open(&hub->poller, &hub->lock), 0);
    struct lifelines_config config = {
        .poller = hub->poller,
        .folder = here.folder,
        .address = wish->address,
        .port = wish->port,
        .context = entropy_u64(),
        .card = (const uint8_t *)"the card",
        .card_size = 8,
        .key = wish->key,
        .events = &events,
        .owner = hub,
        .hello_nsec = wish->hello_nsec,
    };
    if (lifelines_open(&hub->lines, &config, &hub->address, &why))
        fail_msg("%s", why.text);
    return hub;
}

static inline void hub_close(struct hub *hub)
{
    for (int i = 0; i < hub->kept_count; i++)
        close(hub->kept_fds[i]);
    lifelines_close(hub->lines);
    poller_close(hub->poller);
    free(hub);
}

/* Steps both contexts until the counter reaches the value. */
static inline void step_until(struct hub *one, struct hub *other, const int *counter, int value)
{
    nsec deadline = clock_after(PATIENCE);
    while (*counter < value) {
        assert_true(clock_now() < deadline);
        if (other)
            poller_step(other->poller, 0);
        poller_step(one->poller, clock_after(other ? 0 : 1000000));
    }
}

static inline void step_some(struct hub *hub)
{
    for (int i = 0; i < 20; i++)
        poller_step(hub->poller, clock_after(100000));
}

static inline int send_number(struct lifeline *line, uint32_t number, uint16_t size)
{
    struct control control = {.kind = 7, .size = size};
    memcpy(control.body, &number, sizeof number);
    return lifeline_send(line, &control);
}

static inline void connect_both(struct hub *one, struct hub *other, bool tcp)
{
    struct context_address to = other->address;
    struct lifeline *line;
    if (tcp)
        memset(to.host, 0xee, sizeof to.host); /* looks like another host: not by Unix socket */
    assert_int_equal(lifeline_connect(one->lines, &to, &line), 0);
    assert_int_equal(send_number(line, 0, 4), -ENOTCONN); /* not before it is up */
    step_until(one, other, &one->ups, 1);
    step_until(one, other, &other->ups, 1);
    assert_ptr_equal(one->line, line);
}
