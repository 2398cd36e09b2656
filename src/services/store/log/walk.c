/* walk: from record to record through a segment, a chunk of the file at a time.
 *
 * Where no record is to be read there are two possibilities. The disk may have damaged what had
 * been durable: that is reported, and the walk goes on behind it. Or a crash has torn the last
 * writes, on which nothing depended: there the segment ends. The walk is told the difference if a
 * later segment says where this one ended. If not, it looks at all that is behind: a record there
 * that declares the place durable proves damage. */
#include <errno.h>
#include <string.h>

#include "services/store/log/log_impl.h"
#include "services/store/planted.h"

static void walk_read(struct walk *walk, uint32_t from, uint32_t size);

/* The bytes of the chunk at that unit; `size` says how many there are. */
static const uint8_t *bytes_at(const struct walk *walk, uint32_t unit, size_t *size)
{
    size_t skipped = (size_t)(unit - walk->from) * RECORD_UNIT;
    *size = unit >= walk->from && skipped < walk->filled ? walk->filled - skipped : 0;
    return walk->log->chunk + skipped;
}

/* Does the chunk have `size` bytes from that unit, or all up to the end? Otherwise it begins to
 * read them. */
static bool has(struct walk *walk, uint32_t unit, uint32_t size)
{
    size_t there;
    uint64_t left = (uint64_t)(walk->end - unit) * RECORD_UNIT;
    (void)bytes_at(walk, unit, &there);
    if (there >= size || there >= left)
        return true;
    if (!walk->held)
        walk_read(walk, unit, size > CHUNK ? size : CHUNK);
    return false;
}

static bool record_at(const struct walk *walk, uint32_t unit, struct record *record)
{
    size_t size;
    const uint8_t *bytes = bytes_at(walk, unit, &size);
    struct log_place place = {walk->segment->id, unit};
    return record_read(record, bytes, size, place, walk->segment->head.salt) &&
           record_units(record->key_size, record->value_size) <= walk->end - unit;
}

static void walk_end(struct walk *walk, int result)
{
    walk->stopped = true;
    walk->ended(walk, result);
}

static void damage_report(struct walk *walk, uint32_t from, uint32_t to,
                          const struct record *record)
{
    struct log *log = walk->log;
    uint32_t id = walk->segment->id;
    struct log_damage damage = {{id, from}, {id, to}, record};
    if (walk->segment->forgiven)
        return;
    log->counts.damaged++;
    walk->segment->damaged = true;
    log->events->damaged(log->owner, &damage);
}

/* ---- behind a place where no record is ---- */

/* What is between walk->at and walk->next cannot be read. */
static void damage_skip(struct walk *walk)
{
    uint32_t from = walk->at;
    if (walk->known) { /* there may be more behind it */
        from += record_units(walk->bad.key_size, walk->bad.value_size);
        damage_report(walk, walk->at, from, &walk->bad);
    }
    if (from < walk->next)
        damage_report(walk, from, walk->next, NULL);
    walk->at = walk->next;
    walk->looking = false;
}

/* Is it certain now what is at walk->at? */
static bool look_at(struct walk *walk, const struct record *record)
{
    if (!walk->next)
        walk->next = walk->look;
    if (STORE_HAS(DAMAGE_CUT))
        return false;
    return walk->all ||
           (record->durable.segment == walk->segment->id && record->durable.unit > walk->at);
}

/* True: the walk goes on at walk->at. */
static bool look(struct walk *walk)
{
    struct record record;
    while (walk->look < walk->end) {
        if (!has(walk, walk->look, RECORD_TOP_MAX))
            return false;
        if (!record_at(walk, walk->look, &record)) {
            walk->look++;
            continue;
        }
        if (look_at(walk, &record)) {
            damage_skip(walk);
            return true;
        }
        walk->look += record_units(record.key_size, record.value_size);
    }
    if (!walk->all) {
        walk->end = walk->at; /* torn by a crash */
        walk->looking = false;
        return true;
    }
    walk->next = walk->end;
    damage_skip(walk);
    return true;
}

static void look_begin(struct walk *walk, const struct record *bad)
{
    walk->looking = true;
    walk->next = 0;
    walk->known = bad != NULL;
    walk->look = walk->at + 1;
    if (!bad)
        return;
    walk->bad = *bad;
    memcpy(walk->bad_key, bad->key, bad->key_size);
    walk->bad.key = walk->bad_key;
    walk->bad.value = NULL;
    walk->look = walk->at + record_units(bad->key_size, bad->value_size);
}

/* ---- records ---- */

/* True: the walk goes on at walk->at. */
static bool step(struct walk *walk)
{
    struct record record;
    if (!has(walk, walk->at, RECORD_TOP_MAX))
        return false;
    if (!record_at(walk, walk->at, &record)) {
        look_begin(walk, NULL);
        return true;
    }
    uint32_t units = record_units(record.key_size, record.value_size);
    if (record.value_size > walk->log->settings.value_max) {
        walk_end(walk, -EMSGSIZE);
        return false;
    }
    if (!has(walk, walk->at, units * RECORD_UNIT))
        return false;
    record.value = (const uint8_t *)record.key + record.key_size;
    if (!record_fits(&record, record.value) && !STORE_HAS(TORN_KEPT)) {
        look_begin(walk, &record);
        return true;
    }
    struct log_place place = {walk->segment->id, walk->at};
    if (record.durable.segment == place.segment && record.durable.unit > walk->durable)
        walk->durable = record.durable.unit;
    walk->at += units;
    return record.kind == RECORD_MARK || walk->record(walk, &record, place);
}

void walk_resume(struct walk *walk)
{
    if (walk->reading || walk->stopped)
        return;
    while (walk->looking ? look(walk) : walk->at < walk->end && step(walk)) {
    }
    if (!walk->stopped && !walk->looking && walk->at >= walk->end)
        walk_end(walk, 0);
}

static void chunk_read(struct weft_self *self, struct weft_call *call)
{
    struct walk *walk = container_of(call, struct walk, call);
    walk->reading = false;
    walk->segment->calls--;
    if (call->result < 0) { /* also what follows could not be told from what is torn */
        damage_report(walk, walk->at, walk->end, NULL);
        walk->at = walk->end;
        walk_end(walk, 0);
        return;
    }
    walk->filled = (uint32_t)call->result;
    if (walk->filled < walk->wanted) { /* the file is shorter than it was */
        uint32_t end = walk->from + walk->filled / RECORD_UNIT;
        if (walk->all)
            damage_report(walk, end, walk->end, NULL);
        walk->end = end;
    }
    walk_resume(walk);
}

static void walk_read(struct walk *walk, uint32_t from, uint32_t size)
{
    uint64_t left = (uint64_t)(walk->end - from) * RECORD_UNIT;
    walk->from = from;
    walk->filled = 0;
    walk->wanted = left < size ? (uint32_t)left : size;
    walk->reading = true;
    walk->call.done = chunk_read;
    walk->segment->calls++;
    int result = medium_read(&walk->log->medium, walk->segment->file, &walk->call, walk->log->chunk,
                             walk->wanted, (uint64_t)from * RECORD_UNIT);
    if (!result)
        return;
    walk->reading = false;
    walk->segment->calls--;
    walk_end(walk, result);
}

void walk_begin(struct walk *walk)
{
    walk->log = walk->segment->log;
    walk->from = walk->at;
    walk->filled = 0;
    walk->durable = 0;
    walk->looking = false;
    walk->reading = walk->held = walk->stopped = false;
    walk_resume(walk);
}
