/* directory: names that the nodes of a cluster keep. A program asks through the node of its own
 * server (wire/directory.h).
 *
 * The node repeats our claims and questions for us, and reports what it learned. An answer contains
 * everything that is known about an id, perhaps in several parts; a claimant that was in an earlier
 * answer and is not in this one is gone. The node forgets questions after a while, so open
 * questions are asked again. Callers that wait for an answer ask as often as they look for one: the
 * same question is sent at growing intervals, which begin anew when the answer changes.
 *
 * Claims are transmitted as sealed records, so nodes can lose claims but cannot forge them.
 *
 * A holder on another server that has just withdrawn its claim, and has told the next holder so,
 * may be overtaken by the next claim, because the two pass different servers. So a claim that is
 * refused is repeated for a while before its claimant is told.
 *
 * When the node dies, we reconnect until it is back, and then send everything again: our claims,
 * once we have a new address that the node knows, and our questions. Claims made in the meantime
 * wait. Claims and withdrawals for which the socket has no room wait, too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "base/id_map.h"
#include "base/list.h"
#include "ripc/names/names_impl.h"
#include "transport/fork/descriptor.h"
#include "transport/routed/attachment.h"
#include "wire/attach.h"
#include "wire/directory.h"

#define BUSY_NSEC   (20 * 1000 * 1000LL)
#define REPEAT_NSEC (10 * NSEC_PER_SEC) /* a node forgets questions after 30 s */
#define LEAVE_NSEC  (NSEC_PER_SEC / 4)  /* a holder that leaves is gone after this time */

/* Between two questions for the same id: the first interval, and the longest. */
#define ASK_WAIT_NSEC     (50 * 1000 * 1000LL)
#define ASK_WAIT_NSEC_MAX (800 * 1000 * 1000LL)
#define ASK_CALM_NSEC     (2 * NSEC_PER_SEC) /* without questions; then the first applies again */

enum { MESSAGES_MAX = 32 /* per wake-up */, TOLD_MAX = 1024 };

static_assert(CLAIM_RECORD_SIZE <= DIRECTORY_RECORD_MAX, "a claim fits");

/* An answer in parts, as far as it has arrived. */
struct assembly {
    uint64_t id;
    uint32_t round;
    uint64_t parts;  /* parts that have arrived, a bit each */
    uint64_t newest; /* incarnation in these parts; 0: none */
    size_t count;
    size_t capacity;
    uint64_t *members; /* owned */
};
static_assert(DIRECTORY_PARTS_MAX <= 64, "a bit each");

/* When an id was asked for. Dropped some time after the last question. */
struct inquiry {
    uint64_t id;
    nsec sent_at;    /* 0: not yet */
    nsec wait;       /* until the same question may be sent again */
    uint64_t newest; /* incarnation in the last answer; 0: none */
};

/* A claim or withdrawal that the socket did not take. */
struct unsent {
    enum directory_operation operation;
    struct claim claim;
};

struct directory_client {
    struct name_service service;
    struct names *names;
    struct poller *poller;
    struct seal seal;
    uint64_t domain;
    char *path; /* the node's socket; owned */
    int fd;     /* -1: not connected */
    struct poller_watch *watch;
    struct poller_timer retry; /* when to reconnect, or to repeat claims; always set */
    nsec retry_wait;           /* wait before reconnecting; 0: the node is connected and has
                                * answered */
    struct poller_timer timer;
    struct assembly assembly;
    struct unsent *unsents; /* owned, oldest first; empty while there is no node */
    size_t unsent_count;
    size_t unsent_capacity;
    struct id_map inquiries;          /* struct inquiry, owned */
    struct directory_message message; /* that was read last */
};

static struct directory_client *directory_of(struct name_service *service)
{
    return container_of(service, struct directory_client, service);
}

/* ---- sending ---- */

static int message_send(struct directory_client *directory, const struct directory_message *message)
{
    uint8_t bytes[ATTACH_HEAD_SIZE + DIRECTORY_MESSAGE_MAX];
    attach_head_write(&(struct attach_head){.service = DIRECTORY_SERVICE}, bytes);
    size_t size = ATTACH_HEAD_SIZE + directory_write(message, bytes + ATTACH_HEAD_SIZE);
    if (directory->fd < 0)
        return -EPIPE;
    return send(directory->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int claim_send(struct directory_client *directory, enum directory_operation operation,
                      const struct claim *claim)
{
    struct directory_message *message = array_new(1, sizeof *message);
    if (!message)
        return -ENOMEM;
    message->operation = operation;
    message->parts = 1;
    message->count = 1;
    message->domain = directory->domain;
    message->id = claim->id;
    message->claims[0] = (struct directory_claim){.member = claim->member,
                                                  .incarnation = claim->incarnation,
                                                  .group = claim->group,
                                                  .size = CLAIM_RECORD_SIZE};
    claim_record_write(claim, &directory->seal, message->claims[0].record);
    int result = message_send(directory, message);
    free(message);
    return result;
}

/* Tries again later, when the node has read something. */
static void retry_soon(struct directory_client *directory)
{
    int result = poller_set(directory->poller, &directory->retry, clock_after(BUSY_NSEC));
    assert(result == 0); /* the timer is set already, or is just firing */
}

/* Sends a claim or withdrawal, or keeps it until the socket has room again. After a message that
 * waits, all others wait, so that they stay in order. Without memory to keep it, it is lost. */
static void claim_post(struct directory_client *directory, enum directory_operation operation,
                       const struct claim *claim)
{
    int result = directory->unsent_count ? -EAGAIN : claim_send(directory, operation, claim);
    if (result != -EAGAIN)
        return; /* sent; or there is no node: then everything is sent when it is back */
    retry_soon(directory);
    if (array_reserve(&directory->unsents, &directory->unsent_capacity, directory->unsent_count + 1,
                      sizeof *directory->unsents))
        directory->unsents[directory->unsent_count++] = (struct unsent){operation, *claim};
}

/* Is the message still true? A claim may have been withdrawn or renewed meanwhile. */
static bool unsent_is_valid(const struct directory_client *directory, const struct unsent *unsent)
{
    struct claim own;
    enum own_state state =
        names_own(directory->names, unsent->claim.id, unsent->claim.member, &own);
    bool same = state != OWN_NONE && own.incarnation == unsent->claim.incarnation;
    return unsent->operation == DIRECTORY_WITHDRAW ? state == OWN_NONE : same;
}

static void unsents_send(struct directory_client *directory)
{
    size_t done = 0;
    if (directory->unsent_count == 0)
        return;
    for (; done < directory->unsent_count; done++) {
        const struct unsent *unsent = &directory->unsents[done];
        if (unsent_is_valid(directory, unsent) &&
            claim_send(directory, unsent->operation, &unsent->claim) == -EAGAIN)
            break;
    }
    directory->unsent_count -= done;
    memmove(directory->unsents, directory->unsents + done,
            directory->unsent_count * sizeof *directory->unsents);
    if (directory->unsent_count)
        retry_soon(directory);
}

/* Sends a claim. If the node is busy, and so many messages to it are unread that the socket takes
 * no more, the claim is sent again later. */
static int claim_begin(struct directory_client *directory, const struct claim *claim)
{
    int result = claim_send(directory, DIRECTORY_CLAIM, claim);
    if (result != -EAGAIN)
        return result;
    retry_soon(directory);
    return 0;
}

static int directory_announce(struct name_service *service, const struct claim *claim)
{
    struct directory_client *directory = directory_of(service);
    int result = directory->fd < 0 ? 0 : claim_begin(directory, claim);
    return result ? result : NAME_SERVICE_LATER;
}

/* Repeats a claim that the node has not answered. */
static void claim_repeat(void *owner, const struct claim *claim)
{
    struct directory_client *directory = owner;
    struct claim same;
    if (names_own(directory->names, claim->id, claim->member, &same) == OWN_PENDING)
        (void)claim_begin(directory, claim);
}

static void claim_again(void *owner, const struct claim *claim)
{
    claim_post(owner, DIRECTORY_CLAIM, claim);
}

static void directory_renew(struct name_service *service, const struct claim *claim)
{
    struct directory_client *directory = directory_of(service);
    claim_again(directory, claim);
    if (directory->fd >= 0)
        return;
    int result = poller_set(directory->poller, &directory->retry, clock_now());
    assert(result == 0); /* the timer is set already; we have an address from the node, so the node
                          * is there */
}

static void directory_withdraw(struct name_service *service, const struct claim *claim)
{
    claim_post(directory_of(service), DIRECTORY_WITHDRAW, claim);
}

static int question_put(struct directory_client *directory, uint64_t id)
{
    struct directory_message *message = array_new(1, sizeof *message);
    if (!message)
        return -ENOMEM;
    message->operation = DIRECTORY_ASK;
    message->parts = 1;
    message->domain = directory->domain;
    message->id = id;
    int result = message_send(directory, message);
    free(message);
    return result;
}

/* If it cannot be sent, the question is repeated anyway. */
static void question_send(void *owner, uint64_t id)
{
    (void)question_put(owner, id);
}

/* Drops the inquiries that no longer delay a question. */
static void inquiries_sweep(struct directory_client *directory)
{
    struct id_map kept = {0};
    struct inquiry *inquiry;
    size_t cursor = 0;
    nsec now = clock_now();
    while ((inquiry = id_map_next(&directory->inquiries, &cursor)))
        if (now - inquiry->sent_at > ASK_CALM_NSEC || !id_map_put(&kept, inquiry->id, inquiry))
            free(inquiry);
    id_map_fini(&directory->inquiries);
    directory->inquiries = kept;
}

static struct inquiry *inquiry_get(struct directory_client *directory, uint64_t id)
{
    struct inquiry *inquiry = id_map_get(&directory->inquiries, id);
    if (inquiry)
        return inquiry;
    inquiry = array_new(1, sizeof *inquiry);
    if (!inquiry)
        return NULL;
    *inquiry = (struct inquiry){.id = id};
    if (id_map_put(&directory->inquiries, id, inquiry))
        return inquiry;
    free(inquiry);
    return NULL;
}

static void directory_ask(struct name_service *service, uint64_t id)
{
    struct directory_client *directory = directory_of(service);
    struct inquiry *inquiry = inquiry_get(directory, id);
    nsec now = clock_now();
    if (!inquiry) {
        question_send(directory, id);
        return;
    }
    if (now - inquiry->sent_at > ASK_CALM_NSEC)
        inquiry->wait = 0;
    if (now - inquiry->sent_at < inquiry->wait || question_put(directory, id))
        return;
    inquiry->sent_at = now;
    inquiry->wait = inquiry->wait ? 2 * inquiry->wait : ASK_WAIT_NSEC;
    if (inquiry->wait > ASK_WAIT_NSEC_MAX)
        inquiry->wait = ASK_WAIT_NSEC_MAX;
}

static void directory_hurry(struct name_service *service, uint64_t id)
{
    struct inquiry *inquiry = id_map_get(&directory_of(service)->inquiries, id);
    if (inquiry && inquiry->wait > ASK_WAIT_NSEC)
        inquiry->wait = ASK_WAIT_NSEC;
}

/* An answer that differs from the last may change again soon: the next question is not delayed. To
 * be called when all parts have arrived, because the parts differ from each other. */
static void inquiry_answered(struct directory_client *directory, uint64_t id, uint64_t newest)
{
    struct inquiry *inquiry = id_map_get(&directory->inquiries, id);
    if (!inquiry || inquiry->newest == newest)
        return;
    inquiry->newest = newest;
    inquiry->wait = 0;
}

static void questions_repeat(void *owner)
{
    struct directory_client *directory = owner;
    int result = poller_set(directory->poller, &directory->timer, clock_after(REPEAT_NSEC));
    assert(result == 0); /* the slot that the timer had is still free */
    inquiries_sweep(directory);
    names_each_wanted(directory->names, question_send, directory);
}

/* ---- receiving ---- */

/* The directory's data about a record must match what its owner sealed. */
static bool claim_take(struct directory_client *directory, uint64_t id,
                       const struct directory_claim *from, struct claim *claim)
{
    int result = claim_record_read(claim, &directory->seal, from->record, from->size);
    struct names_counts *counts = names_counts(directory->names);
    if (result == -EKEYREJECTED)
        counts->forged++;
    else if (result || claim->id != id || claim->member != from->member)
        counts->garbage++;
    else
        return true;
    return false;
}

/* All parts of the answer have arrived: claimants that are in none of them are gone. */
static void assembly_finish(struct directory_client *directory)
{
    struct assembly *assembly = &directory->assembly;
    uint64_t id = assembly->id;
    uint64_t *told = array_new(TOLD_MAX, sizeof *told);
    if (!told)
        return;
    unsigned count = names_told(directory->names, &directory->service, id, told, TOLD_MAX);
    unsigned gone = 0;
    for (unsigned i = 0; i < count; i++) {
        bool there = false;
        for (size_t j = 0; j < assembly->count && !there; j++)
            there = assembly->members[j] == told[i];
        if (!there)
            told[gone++] = told[i];
    }
    assembly->id = 0;
    for (unsigned i = 0; i < gone; i++)
        names_lost(directory->names, &directory->service, id, told[i], 0);
    names_told_all(directory->names, &directory->service, id);
    free(told);
}

static void assembly_begin(struct directory_client *directory,
                           const struct directory_message *message)
{
    struct assembly *assembly = &directory->assembly;
    if (assembly->id == message->id && assembly->round == message->round)
        return;
    assembly->id = message->id;
    assembly->round = message->round;
    assembly->parts = 0;
    assembly->newest = 0;
    assembly->count = 0;
}

static void answer_handle(struct directory_client *directory)
{
    const struct directory_message *message = &directory->message;
    struct assembly *assembly = &directory->assembly;
    uint64_t id = message->id;
    bool sure = message->status == 0;
    assembly_begin(directory, message);
    assembly->parts |= 1ULL << message->part;
    bool whole = assembly->parts == UINT64_MAX >> (64 - message->parts);
    for (unsigned i = 0; i < message->count; i++) {
        struct claim claim;
        if (!claim_take(directory, id, &message->claims[i], &claim))
            continue;
        if (!array_reserve(&assembly->members, &assembly->capacity, assembly->count + 1,
                           sizeof *assembly->members)) {
            assembly->id = 0;
            return; /* the next answer repeats it */
        }
        assembly->members[assembly->count++] = claim.member;
        if (claim.incarnation > assembly->newest)
            assembly->newest = claim.incarnation;
        (void)names_learn(directory->names, &directory->service, &claim, NSEC_NEVER, false);
    }
    if (whole && assembly->id == id && assembly->newest)
        inquiry_answered(directory, id, assembly->newest);
    if (whole && sure && assembly->id == id)
        assembly_finish(directory);
}

/* The root of the name, or our node, has decided about a claim of ours. */
static void claimed_handle(struct directory_client *directory)
{
    const struct directory_message *message = &directory->message;
    uint64_t member = message->claims[0].member;
    nsec begun = names_own_begun(directory->names, message->id, member);
    if (message->status == -EADDRINUSE && begun && clock_now() - begun < LEAVE_NSEC)
        retry_soon(directory);
    else
        names_settled(directory->names, &directory->service, message->id, member, message->status);
}

static void message_handle(struct directory_client *directory, const uint8_t *bytes, size_t size)
{
    struct directory_message *message = &directory->message;
    struct attach_head head;
    directory->retry_wait = 0;
    names_counts(directory->names)->datagrams++;
    if (attach_head_read(&head, bytes, size) || head.service != DIRECTORY_SERVICE || head.status ||
        directory_read(message, bytes + ATTACH_HEAD_SIZE, size - ATTACH_HEAD_SIZE) ||
        message->domain != directory->domain)
        names_counts(directory->names)->garbage++;
    else if (message->operation == DIRECTORY_ANSWER)
        answer_handle(directory);
    else if (message->operation == DIRECTORY_CLAIMED)
        claimed_handle(directory);
    else
        names_counts(directory->names)->garbage++;
}

static void directory_hang_up(struct directory_client *directory)
{
    poller_remove(directory->poller, directory->watch);
    if (directory->fd >= 0)
        descriptor_close(directory->fd);
    directory->watch = NULL;
    directory->fd = -1;
    directory->unsent_count = 0;
}

static void directory_lose(struct directory_client *directory)
{
    directory_hang_up(directory);
    int result =
        poller_set(directory->poller, &directory->retry, node_again(&directory->retry_wait));
    assert(result == 0); /* the timer is set, or is just firing */
}

/* The node's first message. After a refusal it hangs up, and we try again later. */
static bool is_welcome(const uint8_t *bytes, size_t size)
{
    struct attach_answer welcome;
    return attach_answer_read(&welcome, bytes, size) == 0;
}

static void directory_ready(void *owner, uint32_t events)
{
    struct directory_client *directory = owner;
    uint8_t bytes[ATTACH_HEAD_SIZE + DIRECTORY_MESSAGE_MAX];
    for (unsigned i = 0; i < MESSAGES_MAX && directory->fd >= 0; i++) {
        ssize_t size = recv(directory->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (size > 0 && is_welcome(bytes, (size_t)size))
            continue;
        if (size > 0)
            message_handle(directory, bytes, (size_t)size);
        else if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        else
            directory_lose(directory);
    }
}

/* ---- opening ---- */

static int directory_connect(struct directory_client *directory, bool wait)
{
    int result = node_connect(directory->path, wait);
    if (result < 0)
        return result;
    directory->fd = result;
    result = poller_add(directory->poller, directory->fd, EPOLLIN, directory_ready, directory,
                        &directory->watch);
    return result ? result : node_greet(directory->fd);
}

static void directory_retry(void *owner)
{
    struct directory_client *directory = owner;
    int result = poller_set(directory->poller, &directory->retry, NSEC_FAR);
    assert(result == 0); /* the slot that the timer had is still free */
    if (directory->fd >= 0) {
        unsents_send(directory);
        names_each_mine(directory->names, &directory->service, claim_repeat, directory);
        return;
    }
    if (directory_connect(directory, false)) {
        directory_lose(directory);
        return;
    }
    names_each_mine(directory->names, &directory->service, claim_again, directory);
    names_each_wanted(directory->names, question_send, directory);
}

static void directory_close(struct name_service *service)
{
    struct directory_client *directory = directory_of(service);
    directory_hang_up(directory);
    poller_unset(directory->poller, &directory->timer);
    poller_unset(directory->poller, &directory->retry);
    seal_fini(&directory->seal);
    struct inquiry *inquiry;
    size_t cursor = 0;
    while ((inquiry = id_map_next(&directory->inquiries, &cursor)))
        free(inquiry);
    id_map_fini(&directory->inquiries);
    free(directory->assembly.members);
    free(directory->unsents);
    free(directory->path);
    free(directory);
}

static int directory_open(struct name_service **service, struct names *names, const char *argument,
                          const struct names_config *config, struct why *why)
{
    if (!config->node)
        return why_fail(why, -EADDRNOTAVAIL,
                        "name service directory needs the socket of a node: WEFT_NODE");
    struct directory_client *directory = array_new(1, sizeof *directory);
    if (!directory)
        return why_fail(why, -ENOMEM, "not enough memory");
    directory->service.ops = &name_service_directory;
    directory->names = names;
    directory->poller = config->poller;
    directory->domain = domain_hash(config->domain);
    directory->timer = (struct poller_timer){.fired = questions_repeat, .owner = directory};
    directory->retry = (struct poller_timer){.fired = directory_retry, .owner = directory};
    directory->path = strdup(config->node);
    directory->fd = -1;
    int result = directory->path ? seal_init(&directory->seal, config->key) : -ENOMEM;
    if (!result)
        result = directory_connect(directory, true);
    if (!result)
        result = poller_set(config->poller, &directory->retry, NSEC_FAR);
    if (!result)
        result = poller_set(config->poller, &directory->timer, clock_after(REPEAT_NSEC));
    if (result) {
        directory_close(&directory->service);
        return why_fail(why, result, "cannot connect to the node at %s: %s", config->node,
                        strerror(-result));
    }
    *service = &directory->service;
    return 0;
}

/* No server knows all names: they are spread over all servers. */
static void directory_list(struct name_service *service)
{
}

static int directory_alive(struct name_service *service, const struct claim *claim)
{
    return 0;
}

const struct name_service_ops name_service_directory = {
    .word = "directory",
    .later = true,
    .answers = true,
    .open = directory_open,
    .close = directory_close,
    .announce = directory_announce,
    .withdraw = directory_withdraw,
    .renew = directory_renew,
    .ask = directory_ask,
    .hurry = directory_hurry,
    .list = directory_list,
    .alive = directory_alive,
};
