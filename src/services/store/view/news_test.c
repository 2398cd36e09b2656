/* Writes random packets, reads them again, and damages each of their bytes. */
#include "services/store/view/news.h"

#include <stdlib.h>
#include <string.h>

#include <weft/service.h>

#include "base/bitset.h"
#include "base/rng.h"
#include "base/test.h"

static struct view_news *made, *read_again;

static void make_changes(struct view_changes *changes, struct rng *rng, uint32_t most)
{
    changes->count = (uint32_t)rng_below(rng, most + 1);
    for (uint32_t i = 0; i < changes->count; i++)
        changes->list[i] = (struct view_change){i, rng_next(rng), rng_next(rng)};
}

static void make_state(struct view_news *news, struct rng *rng, uint32_t count)
{
    struct view_state *state = &news->state;
    *state = (struct view_state){
        .run = rng_next(rng) | 1,
        .number = 1 + (uint32_t)rng_below(rng, 1000),
        .asks = rng_below(rng, 2),
        .heard_run = rng_next(rng),
        .heard = (uint32_t)rng_next(rng),
        .epoch = (uint32_t)rng_next(rng),
        .ballot = rng_next(rng) | 1,
        .phase = rng_below(rng, 2) ? DECISION_ASKS : DECISION_PROPOSES,
        .parent = rng_below(rng, 2),
        .complete = rng_below(rng, 2),
        .content = (enum news_content)rng_below(rng, CONTENT_CHANGES + 1),
        .found = rng_below(rng, 2) * rng_next(rng),
    };
    if (state->content == CONTENT_PROPOSAL)
        state->phase = DECISION_PROPOSES;
    for (size_t i = 0; i < bitset_words(count); i++)
        news->votes[i] = rng_next(rng);
    make_changes(&news->changes, rng, count < CHANGES_MAX ? count : CHANGES_MAX);
}

static void make_piece(struct view_piece *piece, struct rng *rng, uint32_t count)
{
    piece->epoch = 1 + (uint32_t)rng_below(rng, 1000);
    piece->first = (uint32_t)rng_below(rng, count);
    piece->count = (uint32_t)rng_below(rng, count - piece->first + 1);
    if (piece->count > NEWS_PIECE)
        piece->count = NEWS_PIECE;
    for (uint32_t i = 0; i < piece->count; i++)
        piece->entries[i] = (struct roster_entry){
            .disk = rng_next(rng),
            .run = rng_next(rng),
            .since = (uint32_t)rng_next(rng),
            .from = (uint32_t)rng_next(rng),
            .until = (uint32_t)rng_next(rng),
            .lost = (uint32_t)rng_next(rng),
            .founder = (uint8_t)rng_below(rng, 2),
            .votes = (uint8_t)rng_below(rng, 2),
            .duty = (uint8_t)rng_below(rng, DUTIES),
        };
}

static void make(struct view_news *news, struct rng *rng, uint32_t count)
{
    memset(news, 0, sizeof *news);
    news->kind = NEWS_STATE + (unsigned)rng_below(rng, 4);
    if (news->kind == NEWS_STATE)
        make_state(news, rng, count);
    else if (news->kind == NEWS_FETCH)
        news->fetch.first = (uint32_t)rng_below(rng, count);
    else if (news->kind == NEWS_ROSTER)
        make_piece(&news->piece, rng, count);
    else
        news->wish = (struct view_wish){rng_next(rng) | 1, rng_next(rng) | 1, rng_below(rng, 2)};
}

static void what_is_written_is_read(void **unused)
{
    uint8_t bytes[WEFT_PAYLOAD_MAX], again[WEFT_PAYLOAD_MAX];
    uint32_t most = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct rng rng = rng_make(seed, 2);
        uint32_t count = rng_below(&rng, 4) ? 27 : NEWS_SERVERS_MAX;
        make(made, &rng, count);
        uint32_t size = news_write(made, count, bytes);
        most = size > most ? size : most;
        assert_true(news_read(read_again, count, bytes, size));
        assert_int_equal(news_write(read_again, count, again), size);
        assert_memory_equal(again, bytes, size);
    }
    assert_true(most > WEFT_PAYLOAD_MAX - 200);
}

static void damage_is_noticed(void **unused)
{
    uint8_t bytes[WEFT_PAYLOAD_MAX];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rng rng = rng_make(seed, 3);
        make(made, &rng, 27);
        uint32_t size = news_write(made, 27, bytes);
        for (uint32_t i = 0; i < size; i++) {
            bytes[i] ^= (uint8_t)(1 + rng_below(&rng, 255));
            assert_false(news_read(read_again, 27, bytes, size));
            assert_false(news_read(read_again, 27, bytes, i));
            (void)news_write(made, 27, bytes);
        }
        assert_true(news_read(read_again, 27, bytes, size));
        assert_false(news_read(read_again, 27, bytes, size + 1));
    }
}

/* The digest is right, the content is not. */
static bool is_read(uint32_t count)
{
    uint8_t bytes[WEFT_PAYLOAD_MAX];
    uint32_t size = news_write(made, count, bytes);
    return news_read(read_again, count, bytes, size);
}

static void nonsense_is_refused(void **unused)
{
    struct rng rng = rng_make(4, 4);
    memset(made, 0, sizeof *made);
    made->kind = NEWS_STATE;
    struct view_state *state = &made->state;
    state->run = 5;
    state->number = 1;
    assert_true(is_read(27));
    state->ballot = 1; /* a wave without a phase */
    assert_false(is_read(27));
    state->phase = DECISION_ASKS;
    assert_true(is_read(27));
    state->content = CONTENT_PROPOSAL; /* nothing is proposed yet */
    assert_false(is_read(27));
    state->phase = DECISION_PROPOSES;
    assert_true(is_read(27));
    state->number = 0;
    assert_false(is_read(27));
    state->number = 1;
    state->content = CONTENT_VOTES + 5;
    assert_false(is_read(27));
    made->kind = NEWS_FETCH;
    made->fetch.first = 26;
    assert_true(is_read(27));
    assert_false(is_read(26));
    made->kind = NEWS_ROSTER;
    make_piece(&made->piece, &rng, 27);
    made->piece.first = 0;
    made->piece.count = 27;
    assert_true(is_read(27));
    assert_false(is_read(26));
    made->piece.entries[3].duty = DUTIES;
    assert_false(is_read(27));
    made->kind = NEWS_WISH;
    made->wish = (struct view_wish){1, 1, true};
    assert_true(is_read(27));
    made->wish.run = 0;
    assert_false(is_read(27));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read),
        TEST(damage_is_noticed),
        TEST(nonsense_is_refused),
    };
    made = calloc(1, sizeof *made);
    read_again = calloc(1, sizeof *read_again);
    int failed = made && read_again ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    free(made);
    free(read_again);
    return failed;
}
