/* One process of the test with two hosts (hosts.py): a program as a user would write it, against
 * the public headers, with all settings from the environment.
 *
 *   serve ID TAG [GROUP]        answers each message with its content and the tag
 *   short TO COUNT              requests and replies
 *   send TO TEXT                one message, no reply
 *   long TO SIZE                a long item there and back, into a return buffer
 *   grant TO SIZE               lets TO read and write a piece of memory, and checks it
 *   group ID MEMBERS COUNT      messages that every member answers
 *   follow TO                   requests without end; prints the tag whenever it changes
 *   pour TO                     sends numbers without a pause; the line "stop" ends that
 *   hold ID                     has the id from the line "take NUMBER" to the line "give", and
 *                               receives what pour sends, in order
 *   member TABLE ID ROWS DESIGN a member of a table that counts in step with the others
 *   chorus TABLE ID MEMBERS LOG a member of a multicast that sends numbers without end, and writes
 *                               each delivered message to the file LOG: sequence, sender, number
 *
 * A program that runs until it is told to end does so when its standard input ends. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft/ripc.h>
#include <weft/sst.h>
#include <weft/sst_multicast.h>

#define SECOND  1000000000LL
#define LATE    (60 * SECOND) /* no wait takes so long, even on a busy machine */
#define TURN    (SECOND / 20)
#define TAG_MAX 16

static struct ripc *ripc;

static _Noreturn void fail(const char *what, int64_t result)
{
    printf("failed: %s: %s (%" PRId64 ")\n", what, ripc_strerror((int)result), result);
    exit(1);
}

static int64_t check(const char *what, int64_t result)
{
    if (result < 0)
        fail(what, result);
    return result;
}

static bool told_to_end(void)
{
    char byte;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) == 1 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static struct ripc_service *bind_id(ripc_id id)
{
    struct ripc_service *service;
    check("bind", ripc_bind(ripc, id, 0, &service));
    return service;
}

static uint8_t byte_at(size_t index)
{
    return (uint8_t)(index * 7 + (index >> 8));
}

/* ---- serve ---- */

/* The bytes of a long item come back in reverse order, so that the two buffers differ. */
static void answer_long(struct ripc_service *service, struct ripc_message *message)
{
    size_t size = message->longs[0].size;
    uint8_t *taken = ripc_alloc(ripc, size), *given = ripc_alloc(ripc, size);
    if (!taken || !given)
        fail("alloc", -ENOMEM);
    check("fetch", ripc_fetch(message, 0, taken, size, ripc_after(LATE)));
    for (size_t i = 0; i < size; i++)
        given[i] = taken[size - 1 - i];
    struct ripc_send reply = {
        .to = message->from,
        .longs = &(struct iovec){given, size},
        .long_count = 1,
        .deadline = ripc_after(LATE),
    };
    int64_t operation = check("reply with a long item", ripc_send_message(service, &reply));
    if (operation)
        check("wait for the long reply", ripc_wait(service, operation, ripc_after(LATE)));
    check("free", ripc_free(ripc, taken));
    check("free", ripc_free(ripc, given));
}

/* A grant in a message: writes into that memory, then answers. */
static void use_grant(struct ripc_service *service, const struct ripc_message *message)
{
    struct ripc_grant grant;
    size_t size;
    memcpy(&grant, ripc_short(message, 1, &size), sizeof grant);
    uint8_t *bytes = ripc_alloc(ripc, grant.size);
    check("read", ripc_read(service, &grant, 0, bytes, grant.size, ripc_after(LATE)));
    for (size_t i = 0; i < grant.size; i++)
        bytes[i] ^= 0xff;
    check("write", ripc_write(service, &grant, 0, bytes, grant.size, ripc_after(LATE)));
    check("free", ripc_free(ripc, bytes));
    check("answer", ripc_send(service, message->from, "done", 4, ripc_after(LATE)));
}

static void answer(struct ripc_service *service, struct ripc_message *message, const char *tag)
{
    size_t size;
    const void *text = ripc_short(message, 0, &size);
    if (message->long_count) {
        answer_long(service, message);
    } else if (message->short_count == 2) {
        use_grant(service, message);
    } else if (size == 3 && memcmp(text, "say", 3) == 0) {
        printf("heard\n");
    } else {
        struct iovec pieces[] = {{(void *)text, size}, {(void *)tag, strlen(tag)}};
        struct ripc_send reply = {.to = message->from,
                                  .shorts = pieces,
                                  .short_count = 2,
                                  .deadline = ripc_after(5 * SECOND)};
        int64_t result = ripc_send_message(service, &reply);
        if (result < 0) /* the asking process may have ended */
            printf("no reply to %" PRIx64 ": %s\n", message->from, ripc_strerror((int)result));
    }
}

static void serve(char **words)
{
    struct ripc_service *service = bind_id(strtoull(words[0], NULL, 0));
    if (words[2])
        check("join", ripc_join(service, strtoull(words[2], NULL, 0)));
    printf("ready\n");
    while (!told_to_end()) {
        struct ripc_message message;
        int count = ripc_receive(service, &message, 1, ripc_after(TURN));
        if (count == -ETIMEDOUT)
            continue;
        check("receive", count);
        answer(service, &message, words[1]);
        ripc_release(&message);
    }
    check("unbind", ripc_unbind(service));
}

/* ---- asking ---- */

/* Waits for one message; returns its last short item as text. */
static int reply_take(struct ripc_service *service, const void *text, size_t size,
                      char tag[TAG_MAX + 1], int64_t deadline)
{
    struct ripc_message message;
    int count = ripc_receive(service, &message, 1, deadline);
    if (count < 0)
        return count;
    size_t got, tag_size;
    const void *there = ripc_short(&message, 0, &got);
    const char *found = ripc_short(&message, 1, &tag_size);
    if (!found || got != size || memcmp(there, text, size) != 0 || tag_size > TAG_MAX)
        fail("the reply differs from the request", -EPROTO);
    snprintf(tag, TAG_MAX + 1, "%.*s", (int)tag_size, found);
    ripc_release(&message);
    return 0;
}

static void ask_short(char **words)
{
    static const size_t sizes[] = {1, 64, 1400, 8800};
    struct ripc_service *service = bind_id(0);
    ripc_id to = strtoull(words[0], NULL, 0);
    int count = atoi(words[1]);
    char text[8800], tag[TAG_MAX + 1] = "";
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)byte_at(i);
    for (int i = 0; i < count; i++) {
        size_t size = sizes[(size_t)i % 4];
        memcpy(text, &i, size < sizeof i ? size : sizeof i);
        check("send", ripc_send(service, to, text, size, ripc_after(LATE)));
        check("reply", reply_take(service, text, size, tag, ripc_after(LATE)));
    }
    const char *way = ripc_transport(service, to);
    printf("%d replies from %s over %s\n", count, tag, way ? way : "nothing");
}

static void send_one(char **words)
{
    struct ripc_service *service = bind_id(0);
    check("send", ripc_send(service, strtoull(words[0], NULL, 0), words[1], strlen(words[1]),
                            ripc_after(LATE)));
    check("unbind", ripc_unbind(service));
    printf("sent\n");
}

static void ask_long(char **words)
{
    struct ripc_service *service = bind_id(0);
    ripc_id to = strtoull(words[0], NULL, 0);
    size_t size = strtoull(words[1], NULL, 0);
    uint8_t *given = ripc_alloc(ripc, size), *back = ripc_alloc(ripc, size);
    if (!given || !back)
        fail("alloc", -ENOMEM);
    for (size_t i = 0; i < size; i++)
        given[i] = byte_at(i);
    struct ripc_send send = {
        .to = to,
        .longs = &(struct iovec){given, size},
        .long_count = 1,
        .returns = &(struct iovec){back, size},
        .return_count = 1,
        .deadline = ripc_after(LATE),
    };
    int64_t operation = check("send a long item", ripc_send_message(service, &send));
    if (operation)
        check("wait", ripc_wait(service, operation, ripc_after(LATE)));
    struct ripc_message message;
    check("reply", ripc_receive(service, &message, 1, ripc_after(LATE)));
    const struct ripc_item *item = &message.longs[0];
    if (message.long_count != 1 || !item->returned || item->data != back || item->size != size)
        fail("the reply is not in the return buffer", -EPROTO);
    for (size_t i = 0; i < size; i++)
        if (back[i] != byte_at(size - 1 - i))
            fail("the reply has wrong bytes", -EPROTO);
    ripc_release(&message);
    printf("%zu bytes there and back\n", size);
}

static void ask_grant(char **words)
{
    struct ripc_service *service = bind_id(0);
    ripc_id to = strtoull(words[0], NULL, 0);
    size_t size = strtoull(words[1], NULL, 0);
    uint8_t *memory = ripc_alloc(ripc, size);
    struct ripc_grant grant;
    struct ripc_message message;
    for (size_t i = 0; i < size; i++)
        memory[i] = byte_at(i);
    check("grant", ripc_grant(service, to, memory, size, RIPC_READ | RIPC_WRITE, &grant));
    struct iovec pieces[] = {{"grant", 5}, {&grant, sizeof grant}};
    struct ripc_send send = {
        .to = to, .shorts = pieces, .short_count = 2, .deadline = ripc_after(LATE)};
    check("send", ripc_send_message(service, &send));
    check("reply", ripc_receive(service, &message, 1, ripc_after(LATE)));
    ripc_release(&message);
    for (size_t i = 0; i < size; i++)
        if ((memory[i] ^ byte_at(i)) != 0xff)
            fail("the granted memory has wrong bytes", -EPROTO);
    check("revoke", ripc_revoke(service, &grant, ripc_after(LATE)));
    printf("%zu granted bytes changed\n", size);
}

static void ask_group(char **words)
{
    struct ripc_service *service = bind_id(0);
    ripc_id group = strtoull(words[0], NULL, 0);
    int members = atoi(words[1]), count = atoi(words[2]), replies = 0;
    char tag[TAG_MAX + 1];
    /* The group is complete when a message has as many replies as it has members. */
    int64_t deadline = ripc_after(LATE);
    for (int got = 0; got < members;) {
        got = 0;
        check("send to the group", ripc_send(service, group, "first", 5, deadline));
        while (got < members && reply_take(service, "first", 5, tag, ripc_after(SECOND)) == 0)
            got++;
        if (got < members && ripc_now() > deadline)
            fail("members are missing", -ETIMEDOUT);
    }
    for (int i = 0; i < count; i++) {
        check("send to the group", ripc_send(service, group, &i, sizeof i, ripc_after(LATE)));
        for (int j = 0; j < members; j++, replies++)
            check("reply of a member", reply_take(service, &i, sizeof i, tag, ripc_after(LATE)));
    }
    printf("%d replies to %d messages\n", replies, count);
}

static void follow(char **words)
{
    struct ripc_service *service = bind_id(0);
    ripc_id to = strtoull(words[0], NULL, 0);
    char tag[TAG_MAX + 1], last[TAG_MAX + 1] = "";
    for (uint64_t i = 0; !told_to_end();) {
        /* While the service moves a request or its reply may be lost with an error: ask again. A
         * reply that comes late answers an earlier request. */
        if (ripc_send(service, to, "where", 5, ripc_after(SECOND)) < 0)
            continue;
        int result = reply_take(service, "where", 5, tag, ripc_after(SECOND / 5));
        if (result == -ETIMEDOUT)
            continue;
        check("reply", result);
        i++;
        if (strcmp(tag, last) != 0)
            printf("now at %s\n", tag);
        memcpy(last, tag, sizeof last);
    }
    printf("done\n");
}

/* ---- a service that moves in order ---- */

/* Waits for a line of the standard input, at most until the deadline. False: there is none yet. */
static bool line_take(char *line, size_t size, int64_t deadline)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int64_t left = deadline - ripc_now();
    size_t at = 0;
    if (poll(&input, 1, left > 0 ? (int)(left / 1000000) : 0) != 1)
        return false;
    while (at + 1 < size && read(STDIN_FILENO, &line[at], 1) == 1 && line[at] != '\n')
        at++;
    line[at] = '\0';
    return true;
}

static void pour(char **words)
{
    struct ripc_service *service = bind_id(0);
    ripc_id to = strtoull(words[0], NULL, 0);
    char line[64];
    uint64_t number = 0;
    struct ripc_stats stats;
    for (; !line_take(line, sizeof line, RIPC_NOW); number++) {
        check("send", ripc_send(service, to, &number, sizeof number, ripc_after(LATE)));
        if (number == 0)
            printf("pouring\n");
    }
    check("stats", ripc_stats(ripc, &stats));
    printf("poured %" PRIu64 ", %" PRIu64 " lost, %" PRIu64 " doubtful\n", number, stats.lost,
           stats.doubtful);
    while (!told_to_end())
        poll(NULL, 0, 20);
}

/* Receives one number. Returns the result of ripc_receive. */
static int number_take(struct ripc_service *service, uint64_t *next, int64_t deadline)
{
    struct ripc_message message;
    uint64_t number;
    int result = ripc_receive(service, &message, 1, deadline);
    if (result != 1)
        return result;
    if (message.size != sizeof number)
        fail("the message has a wrong size", -EPROTO);
    memcpy(&number, message.data, sizeof number);
    if (number != *next)
        fail(number < *next ? "a number came twice, or late" : "a number is missing", -EPROTO);
    ++*next;
    ripc_release(&message);
    if (*next % 1000 == 0)
        printf("thousand\n");
    return 1;
}

static void hold(char **words)
{
    char line[64];
    uint64_t next = 0;
    int result = 1;
    printf("ready\n");
    if (!line_take(line, sizeof line, ripc_after(LATE)) ||
        sscanf(line, "take %" SCNu64, &next) != 1) /* NOLINT: the test writes the line */
        fail("no line 'take'", -EINVAL);
    struct ripc_service *service = bind_id(strtoull(words[0], NULL, 0));
    printf("took\n");
    while (result == 1 || result == -ETIMEDOUT) {
        result = number_take(service, &next, ripc_after(TURN));
        if (line_take(line, sizeof line, RIPC_NOW))
            break;
    }
    check("retire", ripc_retire(service, RIPC_MOVES));
    while ((result = number_take(service, &next, ripc_after(LATE))) == 1)
        ;
    if (result != -ESHUTDOWN)
        fail("receive the rest", result);
    check("unbind", ripc_unbind(service));
    printf("gave %" PRIu64 "\n", next);
}

/* ---- member ---- */

#define WORDS 64

struct row {
    uint64_t step;
    uint64_t words[WORDS];
    uint64_t ready;
};

enum { STEP, BLOCK, READY };

static const struct sst_column columns[] = {
    [STEP] = SST_COLUMN(struct row, step, SST_U64, SST_GROWS),
    [BLOCK] = SST_COLUMN(struct row, words, SST_U64, 0),
    [READY] = SST_COLUMN(struct row, ready, SST_U64, SST_GUARD | SST_GROWS),
};

static void on_news(struct sst *table, const struct sst_news *news, void *argument)
{
    if (news->kind == SST_FAILED)
        printf("member %" PRIu64 " failed\n", news->member);
    else if (news->kind == SST_EPOCH)
        printf("%u live\n", sst_live_count(table));
    else if (news->kind == SST_EXPELLED)
        printf("expelled\n");
}

/* The data of a row must be there when its guard is. */
static void block_check(const struct sst *table, uint32_t row)
{
    uint64_t ready = 0, words[WORDS];
    if (sst_get(table, row, &(struct sst_range){.column = READY}, &ready) < 0 || ready == 0 ||
        sst_get(table, row, &(struct sst_range){.column = BLOCK}, words) < 0)
        return;
    for (unsigned i = 0; i < WORDS; i++)
        if (words[i] < ready || words[i] != words[0]) {
            printf("failed: row %u: guard %" PRIu64 " before its data %" PRIu64 "\n", row, ready,
                   words[i]);
            exit(1);
        }
}

static uint64_t step_of(const struct sst *table, uint32_t row)
{
    uint64_t step = 0;
    (void)sst_get(table, row, &(struct sst_range){.column = STEP}, &step);
    return step;
}

/* There are other members, and all have reached our step. */
static bool all_arrived(const struct sst *table, void *argument)
{
    uint64_t own = step_of(table, sst_row_own(table));
    bool arrived = sst_live_count(table) > 1;
    for (uint32_t row = 0; row < sst_row_count(table); row++)
        if (sst_is_live(table, row))
            arrived = arrived && step_of(table, row) >= own;
    return arrived;
}

/* Takes the next step. A member that has just joined begins where the others are. */
static void step_next(struct sst *table, void *argument)
{
    struct row *own = sst_own(table);
    uint64_t next = own->step + 1;
    for (uint32_t row = 0; row < sst_row_count(table); row++) {
        if (!sst_is_live(table, row))
            continue;
        block_check(table, row);
        if (own->step == 0 && step_of(table, row) > next)
            next = step_of(table, row);
    }
    for (unsigned i = 0; i < WORDS; i++)
        own->words[i] = next;
    check("publish",
          sst_publish(table, &(struct sst_range){.column = BLOCK}, 1, READY, next, NULL));
    check("set", sst_set_u64(table, STEP, next));
    if (next % 100 == 0)
        printf("step %" PRIu64 "\n", next);
}

static void member(char **words)
{
    char reason[RIPC_REASON_MAX];
    struct sst *table;
    struct sst_config config = {
        .table = strtoull(words[0], NULL, 0),
        .columns = columns,
        .column_count = 3,
        .row_size = sizeof(struct row),
        .member = strtoull(words[1], NULL, 0),
        .rows_wanted = (uint32_t)atoi(words[2]),
        .design = strcmp(words[3], "reads") == 0 ? SST_READS : SST_WRITES,
        .deadline = ripc_after(LATE),
        .upcall = on_news,
        .reason = reason,
    };
    int result = sst_open(ripc, &config, &table);
    if (result) {
        printf("failed: sst_open: %s (%d)\n", reason, result);
        exit(1);
    }
    printf("open as row %u\n", sst_row_own(table));
    check("predicate", sst_predicate_add(table,
                                         &(struct sst_predicate){.name = "all arrived",
                                                                 .kind = SST_RECURRENT,
                                                                 .holds = all_arrived,
                                                                 .fire = step_next,
                                                                 .columns = (uint32_t[]){STEP},
                                                                 .column_count = 1},
                                         NULL));
    while (!told_to_end())
        poll(NULL, 0, 20);
    printf("closed: %d\n", sst_close(table, ripc_after(LATE)));
}

/* ---- chorus ---- */

static void on_change(struct sst_multicast *multicast, const struct sst_multicast_view *view,
                      void *argument)
{
    printf("%u sing\n", view->row_count);
}

static void on_deliver(struct sst_multicast *multicast,
                       const struct sst_multicast_message *messages, unsigned count, void *argument)
{
    uint64_t number;
    for (unsigned i = 0; i < count; i++) {
        if (messages[i].size != sizeof number)
            fail("the message has a wrong size", -EPROTO);
        memcpy(&number, messages[i].data, sizeof number);
        fprintf(argument, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", messages[i].sequence,
                messages[i].member, number);
        if (number % 100 == 0)
            printf("verse %" PRIu64 " of %" PRIu64 "\n", number, messages[i].member);
    }
    fflush(argument);
}

static void chorus(char **words)
{
    char reason[RIPC_REASON_MAX];
    struct sst_multicast *multicast;
    FILE *log = fopen(words[3], "w");
    if (!log)
        fail("log", -errno);
    struct sst_multicast_config config = {
        .table = strtoull(words[0], NULL, 0),
        .member = strtoull(words[1], NULL, 0),
        .members_wanted = (uint32_t)atoi(words[2]),
        .deadline = ripc_after(LATE),
        .deliver = on_deliver,
        .change = on_change,
        .upcall = on_news,
        .argument = log,
        .reason = reason,
    };
    int result = sst_multicast_open(ripc, &config, &multicast);
    if (result) {
        printf("failed: sst_multicast_open: %s (%d)\n", reason, result);
        exit(1);
    }
    printf("open\n");
    result = 0;
    for (uint64_t number = 0; !told_to_end(); poll(NULL, 0, 5)) {
        if (result == -ESTALE)
            continue;
        result = sst_multicast_send(multicast, &number, sizeof number, ripc_after(SECOND / 5));
        if (result == -ESTALE)
            printf("stale\n");
        else if (result != -ETIMEDOUT)
            check("send", result);
        number += result == 0;
    }
    printf("closed: %d\n", sst_multicast_close(multicast, ripc_after(LATE)));
    (void)fclose(log);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        int least;
        void (*run)(char **words);
    } commands[] = {
        {"serve", 2, serve},   {"short", 2, ask_short}, {"send", 2, send_one},
        {"long", 2, ask_long}, {"grant", 2, ask_grant}, {"group", 3, ask_group},
        {"follow", 1, follow}, {"member", 4, member},   {"pour", 1, pour},
        {"hold", 1, hold},     {"chorus", 4, chorus},
    };
    char reason[RIPC_REASON_MAX];
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (count < 2 || strcmp(words[1], commands[i].name) != 0 || count < 2 + commands[i].least)
            continue;
        int result = ripc_open(&(struct ripc_config){.reason = reason}, &ripc);
        if (result) {
            printf("failed: ripc_open: %s (%d)\n", reason, result);
            return 1;
        }
        commands[i].run(words + 2);
        ripc_close(ripc, ripc_after(5 * SECOND));
        return 0;
    }
    return 2;
}
