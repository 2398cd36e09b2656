/* twin: see the header. A file is a head and the state:
 *
 *     digest 8 (of the rest), magic 8, version 4, size of the state 4, generation 8, the state
 *
 * One call is under way at a time; `step` and `at` say which. */

#include "services/store/view/twin.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/list.h"

#define HEAD    32
#define MAGIC   UINT64_C(0x776566742d747769) /* "weft-twi" */
#define VERSION 1

struct head {
    uint32_t version, size;
    uint64_t generation;
};

static void head_write(uint8_t *bytes, uint64_t generation, uint32_t size)
{
    struct writer out = writer_make(bytes + 8, HEAD - 8);
    write_u64(&out, MAGIC);
    write_u32(&out, VERSION);
    write_u32(&out, size);
    write_u64(&out, generation);
    assert(!out.failed && !out.left);
    out = writer_make(bytes, 8);
    write_u64(&out, digest_bytes(bytes + 8, HEAD - 8 + size));
}

/* False: the file is not whole. */
static bool head_read(struct head *head, const uint8_t *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint64_t digest = read_u64(&in), magic = read_u64(&in);
    head->version = read_u32(&in);
    head->size = read_u32(&in);
    head->generation = read_u64(&in);
    return !in.failed && magic == MAGIC && head->size <= in.left &&
           digest == digest_bytes(bytes + 8, HEAD - 8 + head->size);
}

bool twin_init(struct twin *twin, uint32_t room)
{
    twin->room = room;
    twin->bytes = weft_allocate(twin->self, HEAD + room);
    twin->best = weft_allocate(twin->self, HEAD + room);
    return twin->bytes && twin->best;
}

/* ---- one step after the other ---- */

static void done(struct weft_self *self, struct weft_call *call);

/* Begins the call of a step about file `at`. If it is refused, twin_tick goes on later. */
static void begin(struct twin *twin, enum twin_step step)
{
    struct weft_self *self = twin->self;
    struct weft_file **file = &twin->files[twin->at];
    const char *name = twin->names[twin->at];
    int refused = 0;
    twin->call.done = done;
    twin->step = step;
    switch (step) {
    case TWIN_OPENS:
        refused = weft_disk_open(self, &twin->call, name, WEFT_OPEN_CREATE, file);
        break;
    case TWIN_READS:
        refused = weft_disk_read(self, *file, &twin->call, twin->bytes, HEAD + twin->room, 0);
        break;
    case TWIN_WRITES:
        refused = weft_disk_write(self, *file, &twin->call, twin->bytes, twin->size, 0);
        break;
    case TWIN_SYNCS:
        refused = weft_disk_sync(self, *file, &twin->call);
        break;
    case TWIN_CLOSES:
        refused = weft_disk_close(self, *file, &twin->call);
        break;
    case TWIN_REMOVES:
        refused = weft_disk_remove(self, &twin->call, name);
        break;
    case TWIN_IDLE:
    case TWIN_RESTS:
        assert(!"a step with a call");
    }
    if (!refused)
        return;
    if (step == TWIN_OPENS)
        *file = NULL;
    twin->step = TWIN_RESTS;
}

/* ---- saving ---- */

/* Writes the state to file `at`, which is made anew first if it is suspect. */
static void put(struct twin *twin, uint32_t at)
{
    twin->at = at;
    if (twin->suspect[at])
        begin(twin, twin->files[at] ? TWIN_CLOSES : TWIN_REMOVES);
    else
        begin(twin, TWIN_WRITES);
}

static void save(struct twin *twin)
{
    twin->size = HEAD + twin->events->write(twin->owner, twin->bytes + HEAD, twin->room);
    assert(twin->size <= HEAD + twin->room);
    twin->saving = twin->changed;
    head_write(twin->bytes, ++twin->generation, twin->size - HEAD);
    twin->written = 0;
    put(twin, 1 - twin->newest);
}

static void put_done(struct twin *twin)
{
    twin->newest = twin->at;
    if (++twin->written < TWIN_FILES) {
        put(twin, 1 - twin->at);
        return;
    }
    twin->step = TWIN_IDLE;
    twin->saved = twin->saving;
    twin->events->saved(twin->owner, twin->saved);
    if (twin->step == TWIN_IDLE && twin->changed > twin->saved)
        save(twin);
}

/* The file may contain anything now. Until it was made anew it is not written, and until then the
 * other file is not touched. */
static void put_failed(struct twin *twin)
{
    twin->suspect[twin->at] = true;
    twin->step = TWIN_RESTS;
}

uint64_t twin_change(struct twin *twin)
{
    twin->changed++;
    if (twin->step == TWIN_IDLE && twin->is_open)
        save(twin);
    return twin->changed;
}

/* ---- opening ---- */

static void opened(struct twin *twin)
{
    struct head head;
    for (uint32_t i = 0; i < TWIN_FILES; i++)
        twin->suspect[i] |= !twin->files[i];
    if (twin->generation) {
        bool whole = head_read(&head, twin->best, HEAD + twin->room);
        assert(whole);
        twin->step = TWIN_IDLE;
        if (head.version != VERSION) {
            twin->events->opened(twin->owner, NULL, -EPROTO);
            return;
        }
        twin->is_open = true;
        twin->events->opened(twin->owner, twin->best + HEAD, head.size);
    } else if (twin->error) {
        twin->step = TWIN_RESTS;
        twin->events->opened(twin->owner, NULL, twin->error);
        return;
    } else {
        twin->step = TWIN_IDLE;
        twin->is_open = true;
        twin->events->opened(twin->owner, NULL, twin->damaged ? -EBADMSG : 0);
    }
    if (twin->step == TWIN_IDLE && twin->changed > twin->saved)
        save(twin);
}

static void take(struct twin *twin, int64_t size)
{
    struct head head;
    if (size < 0) {
        twin->error = size;
        twin->suspect[twin->at] = true;
    } else if (!head_read(&head, twin->bytes, (size_t)size)) {
        twin->damaged |= size > 0;
    } else if (head.generation > twin->generation) {
        twin->generation = head.generation;
        twin->newest = twin->at;
        memcpy(twin->best, twin->bytes, HEAD + head.size);
    }
    if (++twin->at < TWIN_FILES)
        begin(twin, twin->files[twin->at] ? TWIN_READS : TWIN_OPENS);
    else
        opened(twin);
}

void twin_open(struct twin *twin)
{
    twin->at = 0;
    twin->error = 0;
    twin->damaged = false;
    begin(twin, twin->files[0] ? TWIN_READS : TWIN_OPENS);
}

/* ---- what follows a step ---- */

static void done(struct weft_self *self, struct weft_call *call)
{
    struct twin *twin = container_of(call, struct twin, call);
    int64_t result = call->result;
    switch (twin->step) {
    case TWIN_OPENS:
        if (result < 0)
            twin->files[twin->at] = NULL;
        if (result < 0 && twin->is_open)
            put_failed(twin);
        else if (result < 0)
            take(twin, result);
        else
            begin(twin, twin->is_open ? TWIN_WRITES : TWIN_READS);
        break;
    case TWIN_READS:
        take(twin, result);
        break;
    case TWIN_WRITES:
        if (result < 0)
            put_failed(twin);
        else
            begin(twin, TWIN_SYNCS);
        break;
    case TWIN_SYNCS:
        if (result < 0)
            put_failed(twin);
        else
            put_done(twin);
        break;
    case TWIN_CLOSES:
        twin->files[twin->at] = NULL;
        begin(twin, TWIN_REMOVES);
        break;
    case TWIN_REMOVES:
        if (result < 0 && result != -ENOENT) {
            put_failed(twin);
        } else {
            twin->suspect[twin->at] = false;
            begin(twin, TWIN_OPENS);
        }
        break;
    case TWIN_IDLE:
    case TWIN_RESTS:
        assert(!"a call that was not begun");
    }
}

void twin_tick(struct twin *twin)
{
    if (twin->step != TWIN_RESTS)
        return;
    if (!twin->is_open)
        twin_open(twin);
    else if (twin->changed > twin->saved)
        put(twin, twin->at);
    else
        twin->step = TWIN_IDLE;
}
