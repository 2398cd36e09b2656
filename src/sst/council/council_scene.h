#pragma once
/* council_scene: councils for tests, in one thread. Their messages wait in a queue until the test
 * delivers them. */
#include <errno.h>
#include <string.h>

#include "base/test.h"
#include "sst/council/council.h"
#include "transport/clock.h"

enum { PARTIES = 4, POST_MAX = 64, TABLE = 77, HASH = 5 };

/* One process of the test. Its meetings succeed as soon as both sides want them. */
struct party {
    struct council council;
    struct view view; /* installed last */
    unsigned installs, parts;
    bool left, expelled, met[SST_ROWS_MAX];
    uint64_t meets[SST_ROWS_MAX];
    int refused;
    char reason[COUNCIL_TEXT_MAX];
};

struct post {
    unsigned from, to;
    size_t size;
    uint8_t bytes[COUNCIL_WIRE_MAX];
};

static struct party parties[PARTIES];
static struct post posts[POST_MAX];
static unsigned post_count;
static bool meetings_fail;

static inline unsigned index_of(const void *argument)
{
    return (unsigned)((const struct party *)argument - parties);
}

static inline void on_send(void *argument, ripc_id to, const uint8_t *bytes, size_t size)
{
    assert_int_not_equal(to, index_of(argument) + 1); /* no process sends to itself */
    for (unsigned i = 0; i < PARTIES; i++) {
        bool wanted = to ? to == i + 1 : parties[i].view.epoch != 0;
        if (!wanted || i == index_of(argument))
            continue;
        assert_true(post_count < POST_MAX);
        posts[post_count] = (struct post){.from = index_of(argument), .to = i, .size = size};
        memcpy(posts[post_count++].bytes, bytes, size);
    }
}

static inline void on_meet(void *argument, uint32_t row, ripc_id id, uint64_t nonce)
{
    struct party *party = argument;
    assert_int_equal(party->meets[row], 0);
    party->meets[row] = nonce;
}

static inline void on_part(void *argument, uint32_t row, uint64_t nonce)
{
    struct party *party = argument;
    assert_int_equal(party->meets[row], nonce);
    party->meets[row] = 0;
    party->met[row] = false;
    party->parts++;
}

static inline void on_install(void *argument, const struct view *view)
{
    struct party *party = argument;
    party->view = *view;
    party->installs++;
    for (unsigned row = 0; row < SST_ROWS_MAX; row++)
        if (row >= view->row_count || !view->rows[row].id)
            party->meets[row] = party->met[row] = 0;
}

static inline void on_refused(void *argument, int status, const char *reason)
{
    struct party *party = argument;
    party->refused = status;
    strcpy(party->reason, reason);
}

static inline void on_left(void *argument)
{
    ((struct party *)argument)->left = true;
}

static inline void on_expelled(void *argument)
{
    ((struct party *)argument)->expelled = true;
}

static const struct council_ops ops = {
    .send = on_send,
    .meet = on_meet,
    .part = on_part,
    .install = on_install,
    .refused = on_refused,
    .left = on_left,
    .expelled = on_expelled,
};

static inline struct council *party_open(unsigned i, const struct council_config *other)
{
    struct council_config config = {.hash = HASH,
                                    .design = SST_READS,
                                    .rows_max = 3,
                                    .drop = true,
                                    .id = i + 1,
                                    .nonce = 100 + i};
    memset(&parties[i], 0, sizeof parties[i]);
    memset(&parties[i].council, 0xee,
           sizeof parties[i].council); /* as if the memory had been used before */
    council_init(&parties[i].council, &ops, &parties[i], other ? other : &config);
    return &parties[i].council;
}

static inline bool party_meets(unsigned i)
{
    bool happened = false;
    struct party *party = &parties[i];
    for (uint32_t row = 0; row < 3 && party->council.ops; row++)
        for (unsigned j = 0; j < PARTIES && party->meets[row] && !party->met[row]; j++) {
            const struct party *peer = &parties[j];
            uint32_t own = council_row(&party->council);
            if (!peer->council.ops || peer->council.config.nonce != party->meets[row] || own >= 3 ||
                peer->meets[own] != party->council.config.nonce)
                continue;
            party->met[row] = happened = true;
            council_met(&party->council, row, party->meets[row], meetings_fail ? -ETIMEDOUT : 0);
        }
    return happened;
}

/* Delivers all messages in order, except to and from party `without` (PARTIES: no exception). */
static inline void settle_without(unsigned without)
{
    for (unsigned turn = 0; turn < 1000; turn++) {
        bool happened = false;
        for (unsigned i = 0; i < PARTIES; i++)
            happened |= i != without && party_meets(i);
        if (post_count) {
            struct post post = posts[0];
            memmove(posts, posts + 1, --post_count * sizeof *posts);
            if (post.to != without && post.from != without && parties[post.to].council.ops)
                council_receive(&parties[post.to].council, post.from + 1, post.bytes, post.size);
            happened = true;
        }
        if (!happened)
            return;
    }
    fail_msg("the councils never stop sending messages");
}

static inline void settle(void)
{
    settle_without(PARTIES);
}

/* Makes the first `count` parties members. */
static inline int begin(unsigned count)
{
    memset(parties, 0, sizeof parties);
    post_count = 0;
    meetings_fail = false;
    council_found(party_open(0, NULL), TABLE);
    for (unsigned i = 1; i < count; i++) {
        council_join(party_open(i, NULL));
        settle();
    }
    return 0;
}

static inline void same_view(unsigned one, unsigned other)
{
    assert_memory_equal(&parties[one].view, &parties[other].view, sizeof(struct view));
}

static inline enum council_kind post_kind(const struct post *post)
{
    struct council_message message;
    assert_int_equal(council_read(&message, post->bytes, post->size), 0);
    return message.kind;
}

/* Removes and returns the only message of that kind between the two; drops all other messages. */
static inline struct post post_keep(enum council_kind kind, unsigned from, unsigned to)
{
    struct post kept = {0};
    for (unsigned i = 0; i < post_count; i++)
        if (post_kind(&posts[i]) == kind && posts[i].from == from && posts[i].to == to)
            kept = posts[i];
    assert_true(kept.size > 0);
    post_count = 0;
    return kept;
}

static inline void post_deliver(const struct post *post)
{
    council_receive(&parties[post->to].council, post->from + 1, post->bytes, post->size);
}

/* Runs until the leader of a table of two has installed the view with the third and its COMMIT
 * messages are queued. */
static inline void until_committed(void)
{
    for (unsigned turn = 0; turn < 20 && parties[0].view.epoch == 2; turn++) {
        struct post post = posts[0];
        memmove(posts, posts + 1, --post_count * sizeof *posts);
        council_receive(&parties[post.to].council, post.from + 1, post.bytes, post.size);
        for (unsigned i = 0; i < 3; i++)
            party_meets(i);
    }
    assert_int_equal(parties[0].view.epoch, 3);
}
