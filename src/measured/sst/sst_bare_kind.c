#include "measured/sst/sst_bare_kind.h"

#include <string.h>

#include "measured/sample.h"

static void row_fill(unsigned char *row, uint32_t size, uint64_t round)
{
    for (uint32_t at = 0; at < size; at += sizeof round)
        memcpy(row + at, &round, sizeof round);
}

/* Tells whether the whole row has the contents of that round. */
static bool row_is(const unsigned char *row, uint32_t size, uint64_t round)
{
    uint64_t sum = 0, word;
    for (uint32_t at = 0; at < size; at += sizeof word) {
        memcpy(&word, row + at, sizeof word);
        sum += word;
    }
    return sum == round * (size / sizeof word);
}

bool bare_row_touch(const struct bare_kind *kind, unsigned char *row, uint64_t round)
{
    if (kind->job->way == BARE_READS)
        row_fill(row, kind->size, round);
    else if (round > kind->before + 1) /* the first round of a kind comes before the first write */
        return row_is(row, kind->size, round - 1);
    return true;
}

void bare_row_prepare(const struct bare_kind *kind, unsigned char *row, uint64_t round)
{
    row_fill(row, kind->size, kind->job->way == BARE_READS ? 0 : round);
}

bool bare_row_check(const struct bare_kind *kind, const unsigned char *row, uint64_t round)
{
    return kind->job->way == BARE_WRITES || row_is(row, kind->size, round);
}

void bare_kinds(const struct bare_job *job, struct bare_board *board,
                void (*run)(const struct bare_kind *kind, void *context), void *context)
{
    struct bare_kind kind = {
        .job = job, .board = board, .rounds = job->count + trip_warm(job->count)};
    for (uint32_t i = 0; i < job->size_count; i++)
        for (uint32_t rows = 1; rows <= job->rows; rows++) {
            kind.size_index = i;
            kind.size = job->sizes[i];
            kind.rows = rows;
            run(&kind, context);
            kind.before += kind.rounds;
        }
}

void bare_kind_note(const struct bare_kind *kind)
{
    struct bare_board *board = kind->board;
    board->times[kind->size_index][kind->rows - 1] = (struct bare_times){
        sample_median(board->totals.usec, board->totals.count),
        sample_median(board->posts.usec, board->posts.count),
    };
}
