#pragma once
/* bare_kind: the operations of sst_bare.h, one kind at a time, and the contents of the rows: the
 * part that both media share. */

#include "measured/sst/sst_bare.h"

/* Memory that both processes map. */
struct bare_word {
    _Alignas(64) _Atomic uint64_t value; /* stored with release, loaded with acquire */
};

struct bare_board {
    struct bare_word words[2]; /* one for each process */
    struct bare_word turns[2]; /* rounds that node 0 [0] and the owner [1] have done */
    /* Far from the polled words, because a core may fetch the next cache line, too. */
    _Alignas(4096) unsigned char rows[BARE_ROWS_MAX][BARE_SIZE_MAX];
    unsigned char addresses[2][BARE_ROWS_MAX][256]; /* of the rows; written before a meeting */
    struct bare_times times[BARE_SIZES_MAX][BARE_ROWS_MAX];
    struct trip_log totals, posts; /* of the current kind */
};

/* One kind of operation: `rows` rows of `size` bytes. */
struct bare_kind {
    const struct bare_job *job;
    struct bare_board *board;
    uint32_t size_index, size, rows;
    uint64_t before; /* rounds of all earlier kinds */
    uint32_t rounds;
};

/* Calls `run` for one kind after the other. Both processes run the same kinds. */
void bare_kinds(const struct bare_job *job, struct bare_board *board,
                void (*run)(const struct bare_kind *kind, void *context), void *context);

/* For node 0: stores the times of the kind that has just run, from the logs of the board. */
void bare_kind_note(const struct bare_kind *kind);

/* For the owner, before round `round`: changes a row that will be read, or checks a row that was
 * written. Returns false if its contents are wrong. */
bool bare_row_touch(const struct bare_kind *kind, unsigned char *row, uint64_t round);

/* For node 0: prepares a row before a round, and tells after it whether a row that was read has the
 * contents of that round. */
void bare_row_prepare(const struct bare_kind *kind, unsigned char *row, uint64_t round);
bool bare_row_check(const struct bare_kind *kind, const unsigned char *row, uint64_t round);
