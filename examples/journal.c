/* journal: keeps records on the disk of a server, and acknowledges a record when it is durable.
 *
 *   cc -shared -fPIC -o journal.so journal.c $(pkg-config --cflags weft)
 *   weft up torus:3x3 --service ./journal.so
 *
 * A program sends "+text" to a server; the answer is the number of the record, once it is on the
 * disk. "?7" answers the text of record 7. docs/guide/disk.md explains each part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/disk.h>

#define ENTRIES 64

struct record { /* of fixed size, so that its number gives its place */
    uint32_t check, size;
    char text[248];
};

struct entry {             /* one request */
    struct weft_call call; /* the first member: a pointer to it is a pointer to the entry */
    enum { FREE, APPENDING, APPENDED, SYNCING, READING } state;
    uint64_t client, ticket; /* of the program, and of its request */
    struct record record;
};

struct journal {
    struct weft_call start, sync;
    struct weft_file *file;
    bool ready, syncing;
    uint64_t count;      /* records that recovery has found whole */
    struct record found; /* the one that it looks at */
    struct entry entries[ENTRIES];
};

static uint32_t check_of(const struct record *record)
{
    uint32_t check = 2166136261u ^ record->size; /* FNV-1a */
    for (unsigned i = 0; i < sizeof record->text; i++)
        check = (check ^ (uint8_t)record->text[i]) * 16777619u;
    return check;
}

static void finish(struct weft_self *self, struct entry *entry, const char *text)
{
    weft_answer(self, entry->client, entry->ticket, text, (uint32_t)strlen(text));
    entry->state = FREE;
}

/* ---- recovery: a crash may have torn or lost records that were not acknowledged ---- */

static void cut(struct weft_self *self, struct weft_call *call)
{
    struct journal *journal = weft_memory(self);
    journal->ready = call->result == 0;
}

static void checked(struct weft_self *self, struct weft_call *call)
{
    struct journal *journal = weft_memory(self);
    uint32_t size = sizeof journal->found;
    if (call->result < 0)
        return; /* the disk cannot be read: the journal never becomes ready */
    if (call->result == size && journal->found.check == check_of(&journal->found)) {
        journal->count++;
        weft_disk_read(self, journal->file, call, &journal->found, size, journal->count * size);
    } else { /* the end, or the first record that is not whole */
        call->done = cut;
        weft_disk_truncate(self, journal->file, call, journal->count * size);
    }
}

static void opened(struct weft_self *self, struct weft_call *call)
{
    struct journal *journal = weft_memory(self);
    call->done = checked;
    if (call->result >= 0)
        weft_disk_read(self, journal->file, call, &journal->found, sizeof journal->found, 0);
}

static int start(struct weft_self *self)
{
    struct journal *journal = weft_memory(self);
    journal->start.done = opened;
    return weft_disk_open(self, &journal->start, "records", WEFT_OPEN_CREATE, &journal->file);
}

/* ---- group commit: one sync for all records that were appended while the last one ran ---- */

static void synced(struct weft_self *self, struct weft_call *call);

static void sync_begin(struct weft_self *self, struct journal *journal)
{
    bool any = false;
    if (journal->syncing)
        return;
    for (unsigned i = 0; i < ENTRIES; i++)
        if (journal->entries[i].state == APPENDED) {
            journal->entries[i].state = SYNCING;
            any = true;
        }
    journal->sync.done = synced;
    journal->syncing = any && weft_disk_sync(self, journal->file, &journal->sync) == 0;
}

static void synced(struct weft_self *self, struct weft_call *call)
{
    struct journal *journal = weft_memory(self);
    char number[32];
    journal->syncing = false;
    journal->ready = call->result == 0; /* after a failed sync nothing is certain: it stops */
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct entry *entry = &journal->entries[i];
        if (entry->state != SYNCING)
            continue;
        snprintf(number, sizeof number, "%u",
                 (unsigned)((uint64_t)entry->call.result / sizeof entry->record));
        finish(self, entry, call->result ? "failed" : number);
    }
    sync_begin(self, journal);
}

static void appended(struct weft_self *self, struct weft_call *call)
{
    struct entry *entry = (struct entry *)call;
    entry->state = APPENDED;
    if (call->result < 0)
        finish(self, entry, "failed");
    sync_begin(self, weft_memory(self));
}

/* ---- requests ---- */

static void fetched(struct weft_self *self, struct weft_call *call)
{
    struct entry *entry = (struct entry *)call;
    bool whole =
        call->result == sizeof entry->record && entry->record.check == check_of(&entry->record);
    finish(self, entry, whole ? entry->record.text : "none");
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct journal *journal = weft_memory(self);
    struct record record = {.size = size ? size - 1 : 0};
    struct entry *entry = journal->entries;
    while (entry < journal->entries + ENTRIES && entry->state != FREE)
        entry++;
    if (!journal->ready || entry == journal->entries + ENTRIES) {
        weft_answer(self, client, ticket, "busy", 4); /* the program repeats its request */
        return;
    }
    if (!size || size >= sizeof record.text) {
        weft_answer(self, client, ticket, "failed", 6);
        return;
    }
    memcpy(record.text, (const char *)bytes + 1, record.size);
    record.check = check_of(&record);
    *entry = (struct entry){.client = client, .ticket = ticket, .record = record};
    bool adds = *(const char *)bytes == '+';
    entry->call.done = adds ? appended : fetched;
    entry->state = adds ? APPENDING : READING;
    int result = adds ? weft_disk_append(self, journal->file, &entry->call, &entry->record,
                                         sizeof entry->record)
                      : weft_disk_read(self, journal->file, &entry->call, &entry->record,
                                       sizeof entry->record,
                                       strtoul(record.text, NULL, 10) * sizeof entry->record);
    if (result < 0)
        finish(self, entry, "busy");
}

static const struct weft_service_ops ops = {.start = start, .request = request};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "journal",
    .id = 257,
    .size = sizeof(struct journal),
    .ops = &ops,
    .files = 1, /* open at once: the service uses the disk */
};
