/* disk_probe: a service that makes the disk calls that a program asks for, one at a time, and
 * answers their results. Written as an outsider would, against the public headers. A request is a
 * letter and a word: "oNAME" open, "c" close, "aTEXT" append, "sN" sync, "r" read all, "z" size,
 * "tN" truncate, "n" rename "x" to "y", "dNAME" remove, "l" list. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/disk.h>

#ifndef PROBE_FILES
#define PROBE_FILES 2
#endif

struct probe {
    struct weft_call call;
    struct weft_file *file;
    uint64_t client, ticket;
    char kind;
    char word[300], bytes[4096];
    struct weft_file_entry entries[8];
};

static void done(struct weft_self *self, struct weft_call *call)
{
    struct probe *probe = weft_memory(self);
    char text[4200];
    int size = snprintf(text, sizeof text, "%lld", (long long)call->result);
    if (probe->kind == 'r' && call->result > 0)
        size += snprintf(text + size, sizeof text - (size_t)size, " %.*s", (int)call->result,
                         probe->bytes);
    for (int i = 0; probe->kind == 'l' && i < call->result; i++)
        size += snprintf(text + size, sizeof text - (size_t)size, " %s:%llu",
                         probe->entries[i].name, (unsigned long long)probe->entries[i].size);
    weft_answer(self, probe->client, probe->ticket, text, (uint32_t)size);
}

static int begin(struct weft_self *self, struct probe *probe)
{
    struct weft_call *call = &probe->call;
    switch (probe->kind) {
    case 'o':
        return weft_disk_open(self, call, probe->word, WEFT_OPEN_CREATE, &probe->file);
    case 'c':
        return weft_disk_close(self, probe->file, call);
    case 'a':
        return weft_disk_append(self, probe->file, call, probe->word,
                                (uint32_t)strlen(probe->word));
    case 's':
        return weft_disk_sync(self, probe->file, call);
    case 'r':
        return weft_disk_read(self, probe->file, call, probe->bytes, sizeof probe->bytes, 0);
    case 'z':
        return weft_disk_size(self, probe->file, call);
    case 't':
        return weft_disk_truncate(self, probe->file, call, strtoull(probe->word, NULL, 10));
    case 'n':
        return weft_disk_rename(self, call, "x", "y");
    case 'd':
        return weft_disk_remove(self, call, probe->word);
    default:
        return weft_disk_list(self, call, NULL, probe->entries, 8);
    }
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct probe *probe = weft_memory(self);
    char text[32];
    if (!size || size > sizeof probe->word)
        return;
    probe->client = client;
    probe->ticket = ticket;
    probe->kind = *(const char *)bytes;
    memcpy(probe->word, (const char *)bytes + 1, size - 1);
    probe->word[size - 1] = 0;
    probe->call.done = done;
    int result = begin(self, probe);
    if (result < 0)
        weft_answer(self, client, ticket, text,
                    (uint32_t)snprintf(text, sizeof text, "refused %d", result));
}

#ifdef PROBE_UNABLE
static void opened(struct weft_self *self, struct weft_call *call)
{
}

/* Makes an empty file, and fails on one server. */
static int start(struct weft_self *self)
{
    struct probe *probe = weft_memory(self);
    probe->call.done = opened;
    int result = weft_disk_open(self, &probe->call, "x", WEFT_OPEN_CREATE, &probe->file);
    return result < 0 ? result : weft_here(self) == PROBE_UNABLE ? -EXDEV : 0;
}
#endif

static const struct weft_service_ops ops = {
    .request = request,
#ifdef PROBE_UNABLE
    .start = start,
#endif
};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "probe",
    .id = 301,
    .size = sizeof(struct probe),
    .ops = &ops,
    .files = PROBE_FILES,
};
