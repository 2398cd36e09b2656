/* descriptors: the functions of weft/descriptor.h.
 *
 * The node gives each descriptor its number, checks the calls of services, and decides for which
 * events services are called: `wants` says for which events the world calls node_descriptor. The
 * world knows what a descriptor is ready for, and moves the bytes (base/env.h).
 *
 * Invariants: a slot is open iff its serial is not 0; `wants` is always what wants_of() returns. */

#include <weft/descriptor.h>

#include <errno.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/list.h"
#include "node/core/node_impl.h"

#define ACCEPT_MAX 16 /* clients of a listener in one turn */

/* A number is a serial, and below it the index of the slot. */
#define INDEX_BITS  20
#define SERIAL_BITS 42 /* of the first serial; it then counts up */
static_assert(WEFT_DESCRIPTORS_MAX <= 1 << INDEX_BITS, "the index fits");

enum kind { KIND_LISTENER, KIND_CONNECTING, KIND_OPEN, KIND_FAILED };

struct slot {
    struct env_descriptor env;
    struct weft_self *self;
    const struct weft_descriptor_ops *ops;
    void *user;
    uint64_t serial; /* 0: this slot is free ... */
    uint32_t next;   /* ... and this is the next free one */
    enum kind kind;
    bool paused;        /* by the service */
    bool ended;         /* a read has returned the end or an error */
    bool short_of;      /* a write took fewer bytes than offered: writable() follows */
    bool used;          /* the service has read or paused in this turn */
    env_nsec turn;      /* the time of the turn for which these were set: */
    uint32_t may_read;  /* bytes that it may still read ... */
    uint32_t may_write; /* ... and write */
};

struct service_descriptors {
    struct slot *slots; /* as many as the service declares */
    uint32_t touched;   /* slots that were ever used */
    uint32_t free;      /* the first free one of those; UINT32_MAX: none */
    uint64_t serial;    /* of the last one that was opened */
};

bool descriptors_add(struct weft_self *self)
{
    struct arena *arena = &self->node->arena;
    struct service_descriptors *all = arena_take(arena, sizeof *all);
    if (!all)
        return false;
    all->slots = arena_map(arena, self->service->descriptors * sizeof *all->slots);
    all->free = UINT32_MAX;
    /* An answer to a question that this server asked before it was restarted must not find a
     * descriptor. So each incarnation begins with another serial. */
    uint64_t begin = hash_mix(self->node->config.incarnation ^ self->node->config.seed);
    all->serial = begin >> (64 - SERIAL_BITS);
    self->descriptors = all;
    return all->slots;
}

/* ---- slots ---- */

static const struct env_descriptor_ops *world_of(const struct weft_self *self)
{
    return self->node->env->ops->descriptors;
}

static weft_descriptor number_of(const struct slot *slot)
{
    uint64_t index = (uint64_t)(slot - slot->self->descriptors->slots);
    return slot->serial << INDEX_BITS | index;
}

/* A slot that is not open yet; NULL: all are. */
static struct slot *slot_find(struct weft_self *self)
{
    struct service_descriptors *all = self->descriptors;
    if (all->free != UINT32_MAX)
        return &all->slots[all->free];
    return all->touched < self->service->descriptors ? &all->slots[all->touched] : NULL;
}

/* The world has opened the descriptor of the slot that slot_find returned. */
static void slot_open(struct weft_self *self, struct slot *slot, enum kind kind,
                      const struct weft_descriptor_ops *ops, void *user)
{
    struct service_descriptors *all = self->descriptors;
    uint32_t next = all->free == UINT32_MAX ? UINT32_MAX : slot->next;
    all->touched += all->free == UINT32_MAX;
    all->free = next;
    *slot = (struct slot){
        .env = slot->env,
        .self = self,
        .ops = ops,
        .user = user,
        .serial = ++all->serial,
        .kind = kind,
        .turn = INT64_MIN,
    };
    self->descriptor_counts.open++;
}

/* False: the service has closed the descriptor itself. */
static bool slot_close(struct slot *slot)
{
    struct weft_self *self = slot->self;
    struct service_descriptors *all = self->descriptors;
    bool open = world_of(self)->close(&slot->env);
    if (!open)
        service_mistake(self, "weft_descriptor_close",
                        "the service closed a descriptor that it had handed over");
    slot->serial = 0;
    slot->next = all->free;
    all->free = (uint32_t)(slot - all->slots);
    self->descriptor_counts.open--;
    return open;
}

static uint8_t wants_of(const struct slot *slot)
{
    switch (slot->kind) {
    case KIND_LISTENER:
        return slot->paused ? 0 : ENV_READ;
    case KIND_CONNECTING:
        return ENV_WRITE;
    case KIND_OPEN:
        return (uint8_t)((slot->ops->readable && !slot->paused && !slot->ended ? ENV_READ : 0) |
                         (slot->short_of ? ENV_WRITE : 0));
    case KIND_FAILED:
        return 0;
    }
    assert_unreachable();
}

/* The state of the slot has changed. */
static void slot_settle(struct slot *slot)
{
    uint8_t wants = wants_of(slot);
    if (wants == slot->env.wants)
        return;
    slot->env.wants = wants;
    world_of(slot->self)->changed(&slot->env);
}

void descriptors_end(struct node *node)
{
    for (unsigned i = 0; i < node->service_count; i++) {
        const struct service_descriptors *all = node->services[i]->descriptors;
        for (uint32_t index = 0; all && index < all->touched; index++)
            if (all->slots[index].serial)
                (void)slot_close(&all->slots[index]);
    }
}

/* ---- what a service may do ---- */

static int mistake(struct weft_self *self, const char *function, const char *text)
{
    service_mistake(self, function, text);
    return -EINVAL;
}

/* The slot with that number. NULL: it is closed, or there is no such number, and *result says
 * which. A number from before this server was restarted counts as closed. */
static struct slot *slot_of(struct weft_self *self, weft_descriptor number, const char *function,
                            int *result)
{
    const struct service_descriptors *all = self->descriptors;
    uint64_t serial = number >> INDEX_BITS;
    uint64_t index = number & ((UINT64_C(1) << INDEX_BITS) - 1);
    if (!all || index >= self->service->descriptors || !serial) {
        *result = mistake(self, function, "this is not the number of a descriptor");
        return NULL;
    }
    *result = -EBADF;
    bool is_open = index < all->touched && all->slots[index].serial == serial;
    return is_open ? &all->slots[index] : NULL;
}

/* What all calls that open a descriptor have in common; returns the slot for it. */
static int open_check(struct weft_self *self, const struct weft_descriptor_ops *ops,
                      const weft_descriptor *out, const char *function, struct slot **slot)
{
    if (self->node->stopping)
        return -ESHUTDOWN;
    if (!self->descriptors || !world_of(self))
        return -ENODEV;
    if (!ops || !out)
        return mistake(self, function,
                       ops ? "there is no place for the number" : "there are no functions");
    *slot = slot_find(self);
    return *slot ? 0 : -ENFILE;
}

/* Ends a call that opens a descriptor; `result` is that of the world. */
static int open_end(struct weft_self *self, struct slot *slot, int result, const char *function)
{
    if (result == -EINVAL)
        return mistake(self, function, "the address is not a number such as 127.0.0.1 or ::1");
    if (!result)
        slot_settle(slot);
    return result;
}

int weft_descriptor_listen(struct weft_self *self, const char *address, uint16_t port,
                           const struct weft_descriptor_ops *ops, void *user,
                           weft_descriptor *descriptor)
{
    static const char function[] = "weft_descriptor_listen";
    struct slot *slot;
    int result = open_check(self, ops, descriptor, function, &slot);
    if (result)
        return result;
    if (!ops->accepted)
        return mistake(self, function, "there is no function `accepted`");
    const struct env_address at = {address ? address : "127.0.0.1", port};
    slot->env = (struct env_descriptor){0};
    result = world_of(self)->listen(self->node->env, &slot->env, &at);
    if (!result) {
        slot_open(self, slot, KIND_LISTENER, ops, user);
        *descriptor = number_of(slot);
    }
    return open_end(self, slot, result, function);
}

int weft_descriptor_connect(struct weft_self *self, const char *address, uint16_t port,
                            const struct weft_descriptor_ops *ops, void *user,
                            weft_descriptor *descriptor)
{
    static const char function[] = "weft_descriptor_connect";
    struct slot *slot;
    int result = open_check(self, ops, descriptor, function, &slot);
    if (result)
        return result;
    if (!ops->connected)
        return mistake(self, function, "there is no function `connected`");
    const struct env_address to = {address ? address : "127.0.0.1", port};
    slot->env = (struct env_descriptor){0};
    result = world_of(self)->connect(self->node->env, &slot->env, &to);
    if (!result) {
        slot_open(self, slot, KIND_CONNECTING, ops, user);
        *descriptor = number_of(slot);
    }
    return open_end(self, slot, result, function);
}

int weft_descriptor_adopt(struct weft_self *self, int fd, const struct weft_descriptor_ops *ops,
                          void *user, weft_descriptor *descriptor)
{
    static const char function[] = "weft_descriptor_adopt";
    struct slot *slot;
    int result = open_check(self, ops, descriptor, function, &slot);
    if (result)
        return result;
    if (!ops->readable && !ops->writable)
        return mistake(self, function, "there is neither a function `readable` nor `writable`");
    slot->env = (struct env_descriptor){0};
    result = world_of(self)->adopt(self->node->env, &slot->env, fd);
    if (result)
        return result;
    slot_open(self, slot, KIND_OPEN, ops, user);
    *descriptor = number_of(slot);
    slot_settle(slot);
    return 0;
}

/* ---- bytes ---- */

/* Checks a read or a write. 0: the world may try it, and *out is the slot. */
static int move_check(struct weft_self *self, weft_descriptor descriptor, const void *bytes,
                      uint32_t size, const char *function, struct slot **out)
{
    int result;
    struct slot *slot = slot_of(self, descriptor, function, &result);
    if (!slot)
        return result;
    if (!bytes || !size)
        return mistake(self, function, "there are no bytes to move");
    if (slot->kind == KIND_LISTENER)
        return mistake(self, function, "a listener has no bytes");
    if (slot->kind != KIND_OPEN)
        return -ENOTCONN;
    if (slot->turn != self->node->env->now) { /* another turn */
        slot->turn = self->node->env->now;
        slot->may_read = slot->may_write = WEFT_DESCRIPTOR_TURN;
    }
    *out = slot;
    return 0;
}

int64_t weft_descriptor_read(struct weft_self *self, weft_descriptor descriptor, void *bytes,
                             uint32_t size)
{
    struct slot *slot;
    int error = move_check(self, descriptor, bytes, size, "weft_descriptor_read", &slot);
    if (error)
        return error;
    slot->used = true;
    if (!slot->may_read)
        return -EAGAIN;
    uint32_t most = size < slot->may_read ? size : slot->may_read;
    int64_t result = world_of(self)->read(&slot->env, bytes, most);
    if (result > 0) {
        slot->may_read -= (uint32_t)result;
        self->descriptor_counts.bytes_in += (uint64_t)result;
    } else if (result != -EAGAIN) {
        slot->ended = true;
        slot_settle(slot);
    }
    return result;
}

int64_t weft_descriptor_write(struct weft_self *self, weft_descriptor descriptor, const void *bytes,
                              uint32_t size)
{
    struct slot *slot;
    int error = move_check(self, descriptor, bytes, size, "weft_descriptor_write", &slot);
    if (error)
        return error;
    uint32_t most = size < slot->may_write ? size : slot->may_write;
    int64_t result = most ? world_of(self)->write(&slot->env, bytes, most) : -EAGAIN;
    if (result > 0) {
        slot->may_write -= (uint32_t)result;
        self->descriptor_counts.bytes_out += (uint64_t)result;
    }
    bool is_short = result == -EAGAIN || (result >= 0 && result < size);
    slot->short_of = is_short && slot->ops->writable;
    slot_settle(slot);
    return result;
}

/* ---- the other calls ---- */

int weft_descriptor_pause(struct weft_self *self, weft_descriptor descriptor, bool paused)
{
    int result;
    struct slot *slot = slot_of(self, descriptor, "weft_descriptor_pause", &result);
    if (!slot)
        return result;
    slot->used = true;
    slot->paused = paused;
    slot_settle(slot);
    return 0;
}

int weft_descriptor_finish(struct weft_self *self, weft_descriptor descriptor)
{
    static const char function[] = "weft_descriptor_finish";
    int result;
    struct slot *slot = slot_of(self, descriptor, function, &result);
    if (!slot)
        return result;
    if (slot->kind == KIND_LISTENER)
        return mistake(self, function, "a listener sends nothing");
    if (slot->kind != KIND_OPEN)
        return -ENOTCONN;
    return world_of(self)->finish(&slot->env);
}

int weft_descriptor_close(struct weft_self *self, weft_descriptor descriptor)
{
    int result;
    struct slot *slot = slot_of(self, descriptor, "weft_descriptor_close", &result);
    if (!slot)
        return result;
    return slot_close(slot) ? 0 : -EBADF;
}

void *weft_descriptor_user(struct weft_self *self, weft_descriptor descriptor)
{
    int result;
    const struct slot *slot = slot_of(self, descriptor, "weft_descriptor_user", &result);
    return slot ? slot->user : NULL;
}

int weft_descriptor_set_user(struct weft_self *self, weft_descriptor descriptor, void *user)
{
    int result;
    struct slot *slot = slot_of(self, descriptor, "weft_descriptor_set_user", &result);
    if (!slot)
        return result;
    slot->user = user;
    return 0;
}

int weft_descriptor_port(struct weft_self *self, weft_descriptor descriptor)
{
    int result;
    struct slot *slot = slot_of(self, descriptor, "weft_descriptor_port", &result);
    return slot ? world_of(self)->port(&slot->env) : result;
}

/* ---- turns ---- */

/* Accepts the next client of a listener. False: there is none now. */
static bool client_accept(struct slot *listener)
{
    struct weft_self *self = listener->self;
    struct descriptor_counts *counts = &self->descriptor_counts;
    struct slot *slot = slot_find(self);
    if (slot)
        slot->env = (struct env_descriptor){0};
    int result = world_of(self)->accept(&listener->env, slot ? &slot->env : NULL);
    if (result && result != -EMFILE)
        return false;
    if (result || !slot) {
        counts->refused++;
        return true;
    }
    counts->accepted++;
    slot_open(self, slot, KIND_OPEN, listener->ops, NULL);
    slot_settle(slot);
    callback_begin(self, CALLBACK_ACCEPTED);
    listener->ops->accepted(self, number_of(listener), listener->user, number_of(slot));
    callback_end(self);
    return true;
}

static void listener_turn(struct slot *listener)
{
    uint64_t serial = listener->serial;
    for (unsigned i = 0; i < ACCEPT_MAX && listener->serial == serial && !listener->paused; i++)
        if (!client_accept(listener))
            return;
}

static void connect_turn(struct slot *slot)
{
    struct weft_self *self = slot->self;
    int result = world_of(self)->result(&slot->env);
    if (result == -EAGAIN)
        return;
    slot->kind = result ? KIND_FAILED : KIND_OPEN;
    slot_settle(slot);
    callback_begin(self, CALLBACK_CONNECTED);
    slot->ops->connected(self, number_of(slot), slot->user, result);
    callback_end(self);
}

static void read_turn(struct slot *slot)
{
    struct weft_self *self = slot->self;
    uint64_t serial = slot->serial;
    slot->used = false;
    callback_begin(self, CALLBACK_READABLE);
    slot->ops->readable(self, number_of(slot), slot->user);
    callback_end(self);
    if (slot->serial != serial || slot->used)
        return;
    /* Otherwise readable() would be called again at once, for ever. */
    service_mistake(self, "readable",
                    "the service neither read nor paused nor closed the descriptor");
    slot->paused = true;
    slot_settle(slot);
}

static void bytes_turn(struct slot *slot, unsigned ready)
{
    struct weft_self *self = slot->self;
    uint64_t serial = slot->serial;
    if (ready & slot->env.wants & ENV_WRITE) {
        slot->short_of = false;
        slot_settle(slot);
        callback_begin(self, CALLBACK_WRITABLE);
        slot->ops->writable(self, number_of(slot), slot->user);
        callback_end(self);
        if (slot->serial != serial)
            return;
    }
    if (ready & slot->env.wants & ENV_READ)
        read_turn(slot);
}

void node_descriptor(struct env_descriptor *descriptor, unsigned ready)
{
    struct slot *slot = container_of(descriptor, struct slot, env);
    links_glance(slot->self->node);
    if (slot->kind == KIND_LISTENER)
        listener_turn(slot);
    else if (slot->kind == KIND_CONNECTING)
        connect_turn(slot);
    else
        bytes_turn(slot, ready);
}
