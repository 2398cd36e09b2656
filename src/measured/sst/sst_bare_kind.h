#pragma once
/* bare_kind: the operations of sst_bare.h, a kind at a time, and the rows that they are on: what
 * both media have in common. */

#include "measured/sst/sst_bare.h"

/* Memory that both processes map. */
struct bare_word {
    _Alignas(64) _Atomic uint64_t value; /* stored with release, loaded with acquire */
};

struct bare_board {
    struct bare_word words[2]; /* of each process */
    struct bare_word turns[2]; /* node 0 has operated; the owners have touched their rows */
    /* Far from the words that are polled: who fetches a line may get its neighbour, too. */
    _Alignas(4096) unsigned char rows[BARE_ROWS_MAX][BARE_SIZE_MAX];
    unsigned char addresses[2][BARE_ROWS_MAX][256]; /* how to reach them, before a meeting */
    struct bare_times times[BARE_SIZES_MAX][BARE_ROWS_MAX];
    struct trip_log totals, posts; /* of the kind under way */
};

/* One kind of operation: so many rows of so many bytes. */
struct bare_kind {
    const struct bare_job *job;
    struct bare_board *board;
    uint32_t size_index, size, rows;
    uint64_t before; /* rounds of the kinds before it */
    uint32_t rounds;
};

/* Runs one kind after the other. Both processes go through the same ones. */
void bare_kinds(const struct bare_job *job, struct bare_board *board,
                void (*run)(const struct bare_kind *kind, void *context), void *context);

/* Node 0: what the kind that has just run took, by the logs of the board. */
void bare_kind_note(const struct bare_kind *kind);

/* The rows' owner, before round `round`: changes the row for who reads it, looks at what was
 * written; false if that is not what was to be written. */
bool bare_row_touch(const struct bare_kind *kind, unsigned char *row, uint64_t round);

/* Node 0, before and after: what it writes, or nothing; is what it read the round's? */
void bare_row_prepare(const struct bare_kind *kind, unsigned char *row, uint64_t round);
bool bare_row_check(const struct bare_kind *kind, const unsigned char *row, uint64_t round);
