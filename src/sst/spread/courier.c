/* courier: carries rows if the member's memory cannot be mapped, by transfers that run while the
 * caller goes on.
 *
 * SST_WRITES. A put is split into writes of a word or a piece, which arrive in the order in which
 * they are started: the order of row.h, with the order of writes in place of fences. The bytes are
 * copied first, because the row may change again before they have left. If there is no room for all
 * writes of a put, none is sent: the row is *owed*, and so are the puts that follow. When all
 * transfers under way have ended, the whole row is sent in its current state. So a slow member sees
 * fewer states of a row, but no state that never existed, and no guard before its data. A light
 * write ends when its bytes have left. To know that everything has arrived (confirm), one more
 * write is sent, which ends when it was placed. It writes the last sequence again that was sent: a
 * later one would belong to a state of the row that the member does not have yet.
 *
 * SST_READS. A fetch reads the row's sequence, the row, and the sequence again, one after the
 * other, and takes the row if it did not change meanwhile. A lone number needs one read.
 *
 * The put lock protects everything except the ends of transfers, which run under ripc's lock and
 * write only atomics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/compare.h"
#include "base/list.h"
#include "sst/spread/spread_impl.h"

#define WORD_FLIGHTS  48
#define PIECE_FLIGHTS 8
#define WORD_SIZE     64 /* largest small write; most are 8 bytes */

/* Flights that are reserved for one purpose. */
enum { FLIGHT_CONFIRM, FLIGHT_BEFORE = 0, FLIGHT_AFTER, FLIGHT_FIRST = 1 };

/* A write or read under way. */
struct courier_flight {
    struct transfer transfer;
    struct courier *courier;
    uint8_t *bytes;
    bool quiet; /* its bytes are no reason to wake a sleeping member */
    /* Set by us before the transfer starts; cleared with release when it ends. */
    _Atomic bool busy;
};

enum fetch_phase { FETCH_REST, FETCH_BEFORE, FETCH_ROW, FETCH_AFTER };

struct courier {
    struct share *share;
    struct seat *seat;
    struct reach *reach;
    bool unseen;     /* hardware writes its memory without its processor taking part */
    uint8_t *memory; /* from ripc_alloc: the bytes of all flights, and a row */
    uint8_t *row;    /* a whole row that is being sent or fetched */
    struct courier_flight *flights; /* WORD_FLIGHTS, PIECE_FLIGHTS, then whole_count */
    uint32_t whole_count;           /* flights for a whole row */
    uint32_t whole_next;            /* how many of them are used by the row that is being sent */
    /* States of the row, as its sequence + 1; 0: none. The last state that was put for this member,
     * that was sent, that has certainly arrived, and that will have when FLIGHT_CONFIRM ends. */
    uint64_t put, sent, confirmed, confirming;
    enum fetch_phase phase;
    bool fetched; /* at least one row was fetched */
    /* How many transfers are under way. Incremented before each starts; decremented at its end with
     * seq_cst, because `owed` is read next. Acquired before the bytes of a flight are read or
     * reused. */
    _Atomic uint32_t under_way;
    _Atomic bool owed;   /* written under the put lock, relaxed; also read when a transfer ends
                            (flight_done) */
    _Atomic bool placed; /* set with release when a write ends; we acquire and clear it before we
                            read `asleep` */
    _Atomic bool failed; /* set when a transfer ends, relaxed: the member is gone */
};

/* ---- flights ---- */

static void flight_done(struct transfer *transfer, int status)
{
    struct courier_flight *flight = container_of(transfer, struct courier_flight, transfer);
    struct courier *courier = flight->courier;
    if (status < 0)
        atomic_store_explicit(&courier->failed, true, memory_order_relaxed);
    bool news = courier->unseen && !flight->quiet;
    if (news)
        atomic_store_explicit(&courier->placed, true, memory_order_release);
    atomic_store_explicit(&flight->busy, false, memory_order_release);
    /* These two operations and the fence between a put that sets `owed` and the detector's last
     * check before it sleeps (doorbell_prepare, courier_is_due) are in one total order: either the
     * detector sees that nothing is under way, or we see `owed` and ring. */
    uint32_t left = atomic_fetch_sub_explicit(&courier->under_way, 1, memory_order_seq_cst) - 1;
    if (news || (left == 0 && atomic_load_explicit(&courier->owed, memory_order_seq_cst)))
        bell_ring(&courier->share->bell);
}

/* `bytes` belongs to the flight, or is the courier's row. */
static void flight_start(struct courier_flight *flight, bool read, uint64_t offset, uint8_t *bytes,
                         size_t size)
{
    struct courier *courier = flight->courier;
    atomic_store_explicit(&flight->busy, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&courier->under_way, 1, memory_order_relaxed);
    flight->transfer.done = flight_done;
    /* If the member's processor does not see a word arrive, we must know that it has arrived before
     * we check whether the member sleeps. */
    flight->transfer.light = !courier->unseen && flight != &courier->flights[FLIGHT_CONFIRM];
    int result = read ? reach_read(courier->reach, offset, bytes, size, &flight->transfer)
                      : reach_write(courier->reach, offset, bytes, size, &flight->transfer);
    if (result)
        flight_done(&flight->transfer, result < 0 ? result : 0);
}

static unsigned flights_free(const struct courier *courier, unsigned first, unsigned length)
{
    unsigned free_count = 0;
    for (unsigned i = first; i < first + length; i++)
        free_count += !atomic_load_explicit(&courier->flights[i].busy, memory_order_relaxed);
    return free_count;
}

/* Returns a free flight; the caller knows that there is one. The acquire here makes sure that the
 * previous transfer no longer reads its bytes. */
static struct courier_flight *flight_take(struct courier *courier, size_t size)
{
    unsigned first = size <= WORD_SIZE ? FLIGHT_FIRST : WORD_FLIGHTS;
    while (atomic_load_explicit(&courier->flights[first].busy, memory_order_acquire))
        first++;
    assert(first < WORD_FLIGHTS + PIECE_FLIGHTS);
    courier->flights[first].quiet = false;
    return &courier->flights[first];
}

/* ---- puts ---- */

static void words_send(struct courier *courier, uint32_t offset, uint32_t size)
{
    const uint8_t *row = courier->share->own.row;
    for (uint32_t at = 0; at < size; at += REACH_WRITE_MAX) {
        uint32_t part = least_u32(size - at, REACH_WRITE_MAX);
        struct courier_flight *flight = flight_take(courier, part);
        for (uint32_t word = 0; word < part; word += 8) {
            uint64_t value = row_load(row, offset + at + word);
            memcpy(flight->bytes + word, &value, sizeof value);
        }
        flight_start(flight, false, offset + at, flight->bytes, part);
    }
}

static void word_send(struct courier *courier, uint32_t offset, uint64_t word, bool quiet)
{
    struct courier_flight *flight = flight_take(courier, sizeof word);
    flight->quiet = quiet;
    memcpy(flight->bytes, &word, sizeof word);
    flight_start(flight, false, offset, flight->bytes, sizeof word);
}

static bool courier_owes(struct courier *courier, unsigned words, unsigned pieces)
{
    if (courier->whole_next && !atomic_load_explicit(&courier->under_way, memory_order_relaxed))
        courier->whole_next = 0; /* the whole row has left */
    if (!atomic_load_explicit(&courier->owed, memory_order_relaxed) && courier->whole_next == 0 &&
        flights_free(courier, FLIGHT_FIRST, WORD_FLIGHTS - FLIGHT_FIRST) >= words &&
        (pieces == 0 || flights_free(courier, WORD_FLIGHTS, PIECE_FLIGHTS) >= pieces))
        return false;
    atomic_store_explicit(&courier->owed, true, memory_order_relaxed);
    return true;
}

/* Sends a write that arrives after everything that was sent before. */
static void courier_confirm(struct courier *courier)
{
    struct courier_flight *flight = &courier->flights[FLIGHT_CONFIRM];
    if (atomic_load_explicit(&flight->busy, memory_order_acquire))
        return;
    courier->confirmed = courier->confirming;
    if (courier->confirmed == courier->sent)
        return;
    uint64_t sequence = courier->sent - 1;
    memcpy(flight->bytes, &sequence, sizeof sequence);
    courier->confirming = courier->sent;
    flight->quiet = true;
    flight_start(flight, false, ROW_SEQUENCE, flight->bytes, sizeof sequence);
}

void courier_set(struct courier *courier, uint32_t cell, uint64_t word, uint64_t sequence)
{
    bool lone = courier->share->table->schema.lone;
    courier->put = sequence + 1;
    if (atomic_load_explicit(&courier->failed, memory_order_relaxed) ||
        courier_owes(courier, lone ? 1 : 2, 0))
        return;
    courier->sent = courier->put;
    /* Falling asleep and waking up are no reason to wake a member: two members would wake each
     * other for ever. */
    bool quiet = cell == ROW_ASLEEP;
    word_send(courier, cell, word, quiet);
    if (!lone)
        word_send(courier, ROW_SEQUENCE, sequence, quiet);
}

static void change_count(const struct change *change, unsigned *words, unsigned *pieces)
{
    *words = 2 + (change->guard != 0);
    *pieces = 0;
    for (unsigned i = 0; i < change->span_count; i++) {
        uint32_t size = change->spans[i].size;
        uint32_t rest = size % REACH_WRITE_MAX;
        *words += (change->spans[i].watch ? 2 : 0) + (rest && rest <= WORD_SIZE);
        *pieces += size / REACH_WRITE_MAX + (rest > WORD_SIZE);
    }
}

static void sequences_send(struct courier *courier, const struct change *change, bool odd)
{
    const uint8_t *row = courier->share->own.row;
    for (unsigned i = 0; i < change->span_count; i++)
        if (change->spans[i].watch)
            word_send(courier, change->spans[i].watch, row_load(row, change->spans[i].watch) - odd,
                      false);
}

void courier_change(struct courier *courier, const struct change *change)
{
    unsigned words, pieces;
    change_count(change, &words, &pieces);
    courier->put = change->sequence + 1;
    if (atomic_load_explicit(&courier->failed, memory_order_relaxed) ||
        courier_owes(courier, words, pieces))
        return;
    courier->sent = courier->put;
    word_send(courier, ROW_SEQUENCE, change->sequence - 1, false);
    sequences_send(courier, change, true);
    for (unsigned i = 0; i < change->span_count; i++)
        words_send(courier, change->spans[i].offset, change->spans[i].size);
    sequences_send(courier, change, false);
    if (change->guard)
        word_send(courier, change->guard, row_load(courier->share->own.row, change->guard), false);
    word_send(courier, ROW_SEQUENCE, change->sequence, false);
}

/* ---- the whole row ---- */

static struct courier_flight *whole_flight(struct courier *courier)
{
    assert(courier->whole_next < courier->whole_count);
    return &courier->flights[WORD_FLIGHTS + PIECE_FLIGHTS + courier->whole_next++];
}

static void whole_word(struct courier *courier, uint32_t offset, uint64_t word)
{
    struct courier_flight *flight = whole_flight(courier);
    memcpy(flight->bytes, &word, sizeof word);
    flight_start(flight, false, offset, flight->bytes, sizeof word);
}

static void whole_pieces(struct courier *courier, uint32_t begin, uint32_t end)
{
    for (uint32_t at = begin; at < end; at += REACH_WRITE_MAX)
        flight_start(whole_flight(courier), false, at, courier->row + at,
                     least_u32(end - at, REACH_WRITE_MAX));
}

static void whole_sequences(struct courier *courier, bool odd)
{
    const struct schema *schema = &courier->share->table->schema;
    for (uint32_t i = 0; i < schema->column_count; i++)
        if (!schema_is_number(&schema->columns[i]))
            whole_word(courier, schema->columns[i].watch,
                       row_load(courier->share->own.row, schema->columns[i].watch) | odd);
}

/* Guards are behind all other columns. */
static uint32_t data_end(const struct schema *schema)
{
    uint32_t end = schema->row_size;
    for (uint32_t i = 0; i < schema->column_count; i++)
        if ((schema->columns[i].flags & SST_GUARD) && schema->columns[i].cell < end)
            end = schema->columns[i].cell;
    return end;
}

/* Copies the row into our own memory, with the sequences of wide columns odd. */
static void whole_copy(struct courier *courier)
{
    const struct schema *schema = &courier->share->table->schema;
    for (uint32_t at = 0; at < schema->row_size; at += 8) {
        uint64_t word = row_load(courier->share->own.row, at);
        memcpy(courier->row + at, &word, sizeof word);
    }
    for (uint32_t i = 0; i < schema->column_count; i++)
        if (!schema_is_number(&schema->columns[i]))
            courier->row[schema->columns[i].watch] |= 1; /* little endian: sets the lowest bit */
}

static void whole_send(struct courier *courier)
{
    const struct schema *schema = &courier->share->table->schema;
    const uint8_t *row = courier->share->own.row;
    whole_copy(courier);
    courier->sent = courier->put = row_load(row, ROW_SEQUENCE) + 1;
    whole_word(courier, ROW_SEQUENCE, row_load(row, ROW_SEQUENCE) | 1);
    whole_sequences(courier, true);
    whole_pieces(courier, sizeof(struct row_head), data_end(schema));
    whole_sequences(courier, false);
    for (uint32_t i = 0; i < schema->column_count; i++)
        if (schema->columns[i].flags & SST_GUARD)
            whole_word(courier, schema->columns[i].cell, row_load(row, schema->columns[i].cell));
    whole_word(courier, ROW_BARRIER, row_load(row, ROW_BARRIER));
    whole_word(courier, ROW_ASLEEP, row_load(row, ROW_ASLEEP));
    whole_word(courier, ROW_SEQUENCE, row_load(row, ROW_SEQUENCE));
}

void courier_send_all(struct courier *courier)
{
    courier->put = row_load(courier->share->own.row, ROW_SEQUENCE) + 1;
    atomic_store_explicit(&courier->owed, true, memory_order_relaxed);
    courier_move(courier);
}

/* If the member sleeps and our write has been placed, wakes the member. */
static void sleeper_tell(struct courier *courier)
{
    struct row_target *target = &courier->seat->target;
    if (!courier->unseen ||
        !atomic_exchange_explicit(&courier->placed, false, memory_order_acquire) ||
        !row_load(courier->seat->row, ROW_ASLEEP))
        return;
    if (ripc_notify(courier->share->service, &target->wake, 1, RIPC_NOW) == -EAGAIN)
        atomic_store_explicit(&courier->placed, true, memory_order_relaxed); /* try again later */
    else
        counter_add(&courier->share->wakes, 1);
}

static int puts_move(struct courier *courier)
{
    sleeper_tell(courier);
    if (atomic_load_explicit(&courier->under_way, memory_order_acquire))
        return 0;
    courier->whole_next = 0; /* a whole row, if there was one, has arrived */
    if (!atomic_load_explicit(&courier->owed, memory_order_relaxed))
        return 0;
    atomic_store_explicit(&courier->owed, false, memory_order_relaxed);
    whole_send(courier);
    return 1;
}

/* ---- fetches ---- */

static void fetch_start(struct courier *courier, enum fetch_phase phase)
{
    struct courier_flight *flight =
        &courier->flights[phase == FETCH_AFTER ? FLIGHT_AFTER : FLIGHT_BEFORE];
    courier->phase = phase;
    if (phase == FETCH_ROW)
        flight_start(&courier->flights[WORD_FLIGHTS], true, 0, courier->row,
                     courier->share->table->schema.row_size);
    else
        flight_start(flight, true, ROW_SEQUENCE, flight->bytes, sizeof(uint64_t));
}

/* One read fetches a lone number, and its words may be from different moments: the sequence may be
 * newer than the number, so an equal sequence does not mean an equal number. */
static bool lone_has_changed(const struct courier *courier)
{
    const struct schema *schema = &courier->share->table->schema;
    return schema->lone && row_load(courier->seat->row, schema->columns[0].cell) !=
                               row_load(courier->row, schema->columns[0].cell);
}

static int row_take(struct courier *courier)
{
    uint64_t sequence = row_load(courier->row, ROW_SEQUENCE);
    bool first = !courier->fetched;
    courier->fetched = true;
    if (!first && sequence == courier->seat->target.fetched && !lone_has_changed(courier))
        return 0;
    seat_take(courier->share, courier->seat, courier->row);
    courier->seat->target.fetched = sequence;
    return 1;
}

/* Did the row stay unchanged between the two reads of its sequence? */
static bool row_rested(const struct courier *courier)
{
    uint64_t before, after;
    memcpy(&before, courier->flights[FLIGHT_BEFORE].bytes, sizeof before);
    memcpy(&after, courier->flights[FLIGHT_AFTER].bytes, sizeof after);
    return before == after && !(before & 1) && row_load(courier->row, ROW_SEQUENCE) == before;
}

static int fetch_move(struct courier *courier)
{
    bool lone = courier->share->table->schema.lone;
    int taken = 0;
    if (atomic_load_explicit(&courier->under_way, memory_order_acquire) ||
        atomic_load_explicit(&courier->failed, memory_order_relaxed))
        return 0;
    switch (courier->phase) {
    case FETCH_REST:
        fetch_start(courier, lone ? FETCH_ROW : FETCH_BEFORE);
        return 0;
    case FETCH_BEFORE:
        fetch_start(courier, FETCH_ROW);
        return 0;
    case FETCH_ROW:
        if (!lone) {
            fetch_start(courier, FETCH_AFTER);
            return 0;
        }
        taken = row_take(courier);
        break;
    case FETCH_AFTER:
        if (row_rested(courier))
            taken = row_take(courier);
        else
            atomic_fetch_add_explicit(&courier->share->table->retries, 1, memory_order_relaxed);
        break;
    }
    courier->phase = FETCH_REST;
    return taken;
}

/* ---- both ---- */

int courier_move(struct courier *courier)
{
    return courier->share->design == SST_READS ? fetch_move(courier) : puts_move(courier);
}

bool courier_is_due(struct courier *courier)
{
    if (atomic_load_explicit(&courier->owed, memory_order_relaxed) &&
        !atomic_load_explicit(&courier->under_way, memory_order_relaxed))
        return true;
    return courier->unseen && atomic_load_explicit(&courier->placed, memory_order_acquire) &&
           row_load(courier->seat->row, ROW_ASLEEP);
}

bool courier_has_begun(struct courier *courier)
{
    if (courier->share->design == SST_READS ||
        atomic_load_explicit(&courier->failed, memory_order_relaxed))
        return courier_is_done(courier, 0);
    courier_confirm(courier);
    return courier->confirmed > 0;
}

bool courier_is_done(struct courier *courier, uint64_t sequence)
{
    if (atomic_load_explicit(&courier->failed, memory_order_relaxed))
        return true;
    if (courier->share->design == SST_READS)
        return courier->fetched;
    courier_confirm(courier);
    return courier->confirmed == courier->put || courier->confirmed > sequence;
}

/* An upper bound of the writes for a whole row. */
static uint32_t whole_size(const struct schema *schema)
{
    uint32_t writes = 4 + schema->row_size / REACH_WRITE_MAX + 1;
    for (uint32_t i = 0; i < schema->column_count; i++)
        writes += !schema_is_number(&schema->columns[i]) ? 2 : 1;
    return writes;
}

static void flights_init(struct courier *courier)
{
    uint8_t *bytes = courier->memory;
    for (unsigned i = 0; i < WORD_FLIGHTS + PIECE_FLIGHTS + courier->whole_count; i++) {
        courier->flights[i].courier = courier;
        courier->flights[i].bytes = bytes;
        bytes +=
            i >= WORD_FLIGHTS && i < WORD_FLIGHTS + PIECE_FLIGHTS ? REACH_WRITE_MAX : WORD_SIZE;
    }
    courier->row = bytes;
}

int courier_open(struct share *share, struct seat *seat, struct courier **out)
{
    struct courier *courier = calloc(1, sizeof *courier);
    if (!courier)
        return -ENOMEM;
    *courier = (struct courier){
        .share = share,
        .seat = seat,
        .reach = seat->target.reach,
        .unseen = !reach_is_polled(seat->target.reach),
        .whole_count = whole_size(&share->table->schema),
    };
    size_t small = WORD_FLIGHTS + courier->whole_count;
    courier->flights = calloc(small + PIECE_FLIGHTS, sizeof *courier->flights);
    courier->memory = ripc_alloc(share->ripc, small * WORD_SIZE + PIECE_FLIGHTS * REACH_WRITE_MAX +
                                                  share->table->schema.row_size);
    *out = courier;
    if (courier->flights && courier->memory) {
        flights_init(courier);
        return 0;
    }
    courier_close(courier);
    *out = NULL;
    return -ENOMEM;
}

void courier_close(struct courier *courier)
{
    assert(atomic_load_explicit(&courier->under_way, memory_order_acquire) == 0);
    free(courier->flights);
    if (courier->memory)
        ripc_free(courier->share->ripc, courier->memory);
    free(courier);
}
