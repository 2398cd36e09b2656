/* seat: memory for the row of one member, and how a fetched row gets there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sst/spread/spread_impl.h"

/* Rows begin at different offsets in their pages: otherwise the same column of many rows would fall
 * into the same few lines of the first-level cache. */
#define COLOUR_COUNT 16
#define COLOUR_SIZE  256

static size_t seat_colour(uint32_t row)
{
    return row % COLOUR_COUNT * COLOUR_SIZE;
}

int seat_prepare(struct share *share, struct seat *seat, uint32_t row)
{
    size_t size = share->table->schema.row_size;
    if (share->design == SST_READS) {
        if (seat->copy) {
            /* A thread may still be reading what the previous member put, so the memory is not
             * replaced. */
            row_copy(seat->row, share->table->nothing, &share->table->schema);
            return 0;
        }
        seat->copy = aligned_alloc(SCHEMA_LINE, size + COLOUR_COUNT * COLOUR_SIZE);
        if (!seat->copy)
            return -ENOMEM;
        memset(seat->copy, 0, size + COLOUR_COUNT * COLOUR_SIZE);
        seat->row = seat->copy + seat_colour(row);
        return 0;
    }
    int result = seat->memory.base
                     ? own_file_renew(share->ripc, &seat->memory, false)
                     : own_file_open(share->ripc, size + COLOUR_COUNT * COLOUR_SIZE, &seat->memory);
    if (result == 0)
        seat->row = seat->memory.base + seat_colour(row);
    return result;
}

void seat_take(struct share *share, struct seat *seat, const uint8_t *row)
{
    _Atomic uint64_t *taking = &share->taking;
    uint64_t before = atomic_load_explicit(taking, memory_order_relaxed);
    atomic_store_explicit(taking, before + 1, ROW_STORE);
    row_copy(seat->row, row, &share->table->schema); /* begins with a fence */
    row_fence_store();
    atomic_store_explicit(taking, before + 2, ROW_STORE);
    counter_add(&share->fetches, 1);
}

void seat_freeze(struct share *share, struct seat *seat)
{
    /* If this fails for lack of memory, the member could still write; usually it is dead. */
    if (seat->memory.base)
        (void)!own_file_renew(share->ripc, &seat->memory, true);
}

void seat_fini(struct share *share, struct seat *seat)
{
    if (seat->memory.base)
        own_file_close(share->ripc, &seat->memory);
    free(seat->copy);
}
