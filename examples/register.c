/* register: numbers that several servers keep, so that they survive the failure of a minority.
 *
 *   cc -shared -fPIC -o register.so register.c $(pkg-config --cflags weft)
 *   weft sim chaos torus:3x3 --service ./register.so --checker ./register_checker.so
 *
 * A program sends "write 3 17" or "read 3" to any server. The server asks the replicas, servers 0
 * to copies - 1, for the newest value, and then lets them store the value that it answers: the
 * algorithm of Attiya, Bar-Noy and Dolev (1995). docs/guide/checker.md explains each part. */
#include <stdio.h>
#include <string.h>
#include <weft/disk.h>

#define REGISTERS  16
#define OPERATIONS 64 /* of programs of a server, at once */
#define PROMISES   256
#define RESEND     10000000  /* nanoseconds */
#define GIVE_UP    200000000 /* then the program gets "unknown" */

struct cell { /* a register; of two values the one with the larger stamp is newer */
    uint64_t stamp, value;
};

enum kind { ASK, STORE, ASKED, STORED }; /* two requests and their answers */

struct message {
    uint64_t check, operation; /* the number that the asking server gave to the operation */
    uint32_t kind, index;
    struct cell cell;
};

struct operation { /* at the server of the program */
    uint64_t number, client, ticket;
    enum kind step; /* ASK or STORE */
    bool used, writes;
    uint32_t index, answered; /* the register; the replicas that answered this step, a bit each */
    struct cell cell;         /* the newest that was found, then the one that is stored */
    uint64_t value;           /* to write */
    int64_t begun;
};

struct image { /* all registers on the disk: two images take turns, each in a sector */
    uint64_t check, version;
    struct cell cells[REGISTERS];
    uint8_t rest[240];
};

struct replica {
    int64_t copies; /* a parameter */
    uint64_t number;
    struct operation operations[OPERATIONS];
    struct weft_call open, write, sync;
    struct weft_file *file;
    bool loaded, ready, saving;
    struct image images[2]; /* as they were found */
    struct image now;       /* the current state */
    struct promise {        /* to answer a STORE when the state is durable */
        weft_server to;
        struct message message;
    } promises[PROMISES];
    unsigned promise_count, saving_count; /* all; the first of them wait for the sync under way */
};

static uint64_t check_of(const void *bytes, size_t size) /* FNV-1a of all after the check */
{
    uint64_t check = 14695981039346656037u;
    for (size_t i = sizeof check; i < size; i++)
        check = (check ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return check;
}

static void message_send(struct weft_self *self, weft_server to, struct message message)
{
    struct weft_packet *packet = weft_packet(self, sizeof message);
    if (!packet)
        return; /* as if it were lost: the asking server asks again */
    message.check = check_of(&message, sizeof message);
    memcpy(weft_payload(packet), &message, sizeof message);
    weft_send_server(self, packet, to);
}

/* ---- the replica: it promises only what is on its disk ---- */

static void opened(struct weft_self *self, struct weft_call *call);

static void save(struct weft_self *self, struct replica *replica)
{
    if (!replica->ready || replica->saving || !replica->promise_count)
        return;
    replica->saving = true;
    replica->saving_count = replica->promise_count;
    struct image *image = &replica->images[0]; /* must stay in place until the write is done */
    *image = replica->now;
    image->version++;
    image->check = check_of(image, sizeof *image);
    replica->write.result = -1; /* stays so if the call is refused */
    weft_disk_write(self, replica->file, &replica->write, image, sizeof *image,
                    image->version % 2 * sizeof *image);
    weft_disk_sync(self, replica->file, &replica->sync); /* begins after the write */
}

static void closed(struct weft_self *self, struct weft_call *call)
{
    struct replica *replica = weft_memory(self);
    call->done = opened;
    weft_disk_open(self, call, "registers", WEFT_OPEN_CREATE, &replica->file);
}

static void synced(struct weft_self *self, struct weft_call *call)
{
    struct replica *replica = weft_memory(self);
    replica->saving = false;
    if (call->result < 0 || replica->write.result < 0) { /* it is not known what is on the disk */
        replica->ready = false;
        replica->open.done = closed;
        weft_disk_close(self, replica->file, &replica->open);
        return;
    }
    replica->now.version++;
    for (unsigned i = 0; i < replica->saving_count; i++)
        message_send(self, replica->promises[i].to, replica->promises[i].message);
    replica->promise_count -= replica->saving_count;
    memmove(replica->promises, replica->promises + replica->saving_count,
            replica->promise_count * sizeof *replica->promises);
    save(self, replica);
}

static void loaded(struct weft_self *self, struct weft_call *call)
{
    struct replica *replica = weft_memory(self);
    for (unsigned i = 0; i < 2; i++) {
        const struct image *image = &replica->images[i];
        if (call->result >= (int64_t)((i + 1) * sizeof *image) &&
            image->check == check_of(image, sizeof *image) && image->version > replica->now.version)
            replica->now = *image;
    }
    replica->loaded = replica->ready = call->result >= 0;
}

static void written(struct weft_self *self, struct weft_call *call)
{
} /* synced() checks the result */

static void opened(struct weft_self *self, struct weft_call *call)
{
    struct replica *replica = weft_memory(self);
    if (call->result < 0)
        return; /* this replica is silent */
    replica->ready = replica->loaded;
    call->done = loaded;
    if (replica->loaded)
        save(self, replica); /* after a failure: once more */
    else
        weft_disk_read(self, replica->file, call, replica->images, sizeof replica->images, 0);
}

static void store(struct weft_self *self, weft_server from, struct message message)
{
    struct replica *replica = weft_memory(self);
    if (replica->promise_count == PROMISES)
        return;
    if (message.cell.stamp > replica->now.cells[message.index].stamp)
        replica->now.cells[message.index] = message.cell;
    message.kind = STORED;
    replica->promises[replica->promise_count++] = (struct promise){from, message};
    save(self, replica);
}

/* ---- the server of the program: two steps, each with a majority ---- */

static void ask(struct weft_self *self, const struct operation *operation)
{
    const struct replica *replica = weft_memory(self);
    for (weft_server server = 0; server < (weft_server)replica->copies; server++)
        if (!(operation->answered >> server & 1))
            message_send(self, server,
                         (struct message){.operation = operation->number,
                                          .kind = operation->step,
                                          .index = operation->index,
                                          .cell = operation->cell});
}

static void finish(struct weft_self *self, struct operation *operation, const char *text)
{
    weft_answer(self, operation->client, operation->ticket, text, (uint32_t)strlen(text));
    operation->used = false;
}

static bool is_enough(struct weft_self *self, const struct operation *operation)
{
    const struct replica *replica = weft_memory(self);
    return __builtin_popcount(operation->answered) > replica->copies / 2;
}

static void answered(struct weft_self *self, weft_server from, const struct message *message)
{
    struct replica *replica = weft_memory(self);
    struct operation *operation = &replica->operations[message->operation % OPERATIONS];
    char text[24];
    if (!operation->used || operation->number != message->operation ||
        operation->step + ASKED != message->kind)
        return; /* too late, or twice */
    operation->answered |= 1u << from;
    if (operation->step == ASK && message->cell.stamp > operation->cell.stamp)
        operation->cell = message->cell;
    if (!is_enough(self, operation))
        return;
    if (operation->step == ASK) {
        if (operation->writes) /* newer than all; the rest makes it unique */
            operation->cell = (struct cell){((operation->cell.stamp >> 40) + 1) << 40 |
                                                (uint64_t)(weft_here(self) & 0xffff) << 24 |
                                                (weft_random(self) & 0xffffff),
                                            operation->value};
        operation->step = STORE; /* a read, too: or the next read could find an older value */
        operation->answered = 0;
        ask(self, operation);
        return;
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)operation->cell.value);
    finish(self, operation, operation->writes ? "ok" : text);
}

static void deliver(struct weft_self *self, struct weft_packet *packet)
{
    const struct replica *replica = weft_memory(self);
    struct message message;
    weft_server from = weft_source(packet);
    bool whole = weft_size(packet) == sizeof message;
    if (whole)
        memcpy(&message, weft_payload(packet), sizeof message);
    weft_done(packet);
    if (!whole || message.check != check_of(&message, sizeof message) || message.index >= REGISTERS)
        return; /* damaged on its way */
    if (message.kind == ASKED || message.kind == STORED) {
        answered(self, from, &message);
    } else if (replica->loaded && message.kind == STORE) {
        store(self, from, message);
    } else if (replica->loaded) {
        message.kind = ASKED;
        message.cell = replica->now.cells[message.index];
        message_send(self, from, message);
    }
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct replica *replica = weft_memory(self);
    struct operation *operation = &replica->operations[++replica->number % OPERATIONS];
    char text[64] = "";
    unsigned index;
    unsigned long long value = 0;
    memcpy(text, bytes, size < sizeof text ? size : 0);
    bool writes = sscanf(text, "write %u %llu", &index, &value) == 2;
    if ((!writes && sscanf(text, "read %u", &index) != 1) || index >= REGISTERS ||
        operation->used) {
        weft_answer(self, client, ticket, "no", 2);
        return;
    }
    *operation = (struct operation){.number = replica->number,
                                    .client = client,
                                    .ticket = ticket,
                                    .used = true,
                                    .writes = writes,
                                    .index = index,
                                    .value = value,
                                    .begun = weft_now(self)};
    ask(self, operation);
}

static void timer(struct weft_self *self, uint64_t cookie)
{
    struct replica *replica = weft_memory(self);
    for (struct operation *each = replica->operations; each < replica->operations + OPERATIONS;
         each++)
        if (each->used && weft_now(self) - each->begun > GIVE_UP)
            finish(self, each, "unknown"); /* it may have happened, or may still happen */
        else if (each->used)
            ask(self, each);
    weft_timer(self, weft_now(self) + RESEND, 0);
}

static int start(struct weft_self *self)
{
    struct replica *replica = weft_memory(self);
    replica->number = weft_random(self) & 0xffffffffffff; /* differs from the last start */
    replica->open.done = opened;
    replica->write.done = written;
    replica->sync.done = synced;
    weft_timer(self, weft_now(self) + RESEND, 0);
    if (weft_here(self) >= (weft_server)replica->copies)
        return 0;
    return weft_disk_open(self, &replica->open, "registers", WEFT_OPEN_CREATE, &replica->file);
}

static const struct weft_service_ops ops = {
    .start = start, .deliver = deliver, .request = request, .timer = timer};

static const struct weft_parameter parameters[] = {
    {WEFT_PARAMETER(struct replica, copies, INTEGER), .value = "3", .minimum = "1", .maximum = "31",
     .help = "servers that keep the registers"},
    {0},
};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "register",
    .id = 258,
    .size = sizeof(struct replica),
    .ops = &ops,
    .files = 1,
    .parameters = parameters,
};
