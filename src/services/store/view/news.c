#include "services/store/view/news.h"

#include <weft/service.h>

#include "base/bitset.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"

#define HEAD_SIZE   9  /* of every packet */
#define STATE_SIZE  64 /* or less: a state without votes and changes */
#define CHANGE_SIZE 20
#define ENTRY_SIZE  34
static_assert(HEAD_SIZE + STATE_SIZE + 4 + CHANGES_MAX * CHANGE_SIZE + NEWS_SERVERS_MAX / 8 <=
                  WEFT_PAYLOAD_MAX,
              "votes and changes fit into a packet");
static_assert(HEAD_SIZE + 12 + NEWS_PIECE * ENTRY_SIZE <= WEFT_PAYLOAD_MAX, "a piece fits, too");

enum { ASKS = 1, PARENT = 2, COMPLETE = 4 };

/* ---- parts ---- */

void news_changes_write(struct writer *out, const struct view_changes *changes)
{
    write_u32(out, changes->count);
    for (uint32_t i = 0; i < changes->count; i++) {
        write_u32(out, changes->list[i].server);
        write_u64(out, changes->list[i].disk);
        write_u64(out, changes->list[i].run);
    }
}

bool news_changes_read(struct reader *in, struct view_changes *changes)
{
    changes->count = read_u32(in);
    if (changes->count > CHANGES_MAX) {
        changes->count = 0;
        return false;
    }
    for (uint32_t i = 0; i < changes->count; i++) {
        changes->list[i].server = read_u32(in);
        changes->list[i].disk = read_u64(in);
        changes->list[i].run = read_u64(in);
    }
    return !in->failed;
}

void news_entry_write(struct writer *out, const struct roster_entry *entry)
{
    write_u64(out, entry->disk);
    write_u64(out, entry->run);
    write_u32(out, entry->since);
    write_u32(out, entry->from);
    write_u32(out, entry->until);
    write_u32(out, entry->lost);
    write_u8(out, entry->founder);
    write_u8(out, (uint8_t)(entry->votes | entry->duty << 1));
}

bool news_entry_read(struct reader *in, struct roster_entry *entry)
{
    *entry = (struct roster_entry){0};
    entry->disk = read_u64(in);
    entry->run = read_u64(in);
    entry->since = read_u32(in);
    entry->from = read_u32(in);
    entry->until = read_u32(in);
    entry->lost = read_u32(in);
    entry->founder = read_u8(in);
    uint8_t rights = read_u8(in);
    entry->votes = rights & 1;
    entry->duty = rights >> 1;
    return !in->failed && entry->founder <= 1 && entry->duty < DUTIES;
}

static void write_votes(struct writer *out, const uint64_t *votes, uint32_t count)
{
    for (size_t i = 0; i < bitset_words(count); i++)
        write_u64(out, votes[i]);
}

static void read_votes(struct reader *in, uint64_t *votes, uint32_t count)
{
    for (size_t i = 0; i < bitset_words(count); i++)
        votes[i] = read_u64(in);
}

/* ---- a state ---- */

static bool has_changes(const struct view_state *state)
{
    switch (state->content) {
    case CONTENT_PROPOSAL:
    case CONTENT_CHANGES:
        return true;
    case CONTENT_VOTES:
        return state->found != 0;
    case CONTENT_NONE:
    case CONTENT_DECIDED:
        break;
    }
    return false;
}

static void state_write(struct writer *out, const struct view_news *news, uint32_t count)
{
    const struct view_state *state = &news->state;
    write_u8(out, (uint8_t)state->content);
    write_u8(out, (uint8_t)state->phase);
    write_u8(out, (uint8_t)((state->asks ? ASKS : 0) | (state->parent ? PARENT : 0) |
                            (state->complete ? COMPLETE : 0)));
    write_u32(out, state->epoch);
    write_u64(out, state->run);
    write_u32(out, state->number);
    write_u64(out, state->heard_run);
    write_u32(out, state->heard);
    write_u64(out, state->ballot);
    write_u64(out, state->found);
    if (state->content == CONTENT_VOTES)
        write_votes(out, news->votes, count);
    if (has_changes(state))
        news_changes_write(out, &news->changes);
}

static bool state_read(struct reader *in, struct view_news *news, uint32_t count)
{
    struct view_state *state = &news->state;
    uint8_t content = read_u8(in), phase = read_u8(in), flags = read_u8(in);
    *state = (struct view_state){
        .content = content,
        .phase = phase,
        .asks = flags & ASKS,
        .parent = flags & PARENT,
        .complete = flags & COMPLETE,
        .epoch = read_u32(in),
    };
    state->run = read_u64(in);
    state->number = read_u32(in);
    state->heard_run = read_u64(in);
    state->heard = read_u32(in);
    state->ballot = read_u64(in);
    state->found = read_u64(in);
    if (content > CONTENT_CHANGES || phase > DECISION_PROPOSES || flags >= 2 * COMPLETE ||
        !state->run || !state->number || !state->ballot != (phase == DECISION_RESTS))
        return false;
    bool of_wave = content == CONTENT_PROPOSAL || content == CONTENT_VOTES;
    if ((of_wave && !state->ballot) || (content == CONTENT_PROPOSAL && phase != DECISION_PROPOSES))
        return false;
    if (content == CONTENT_VOTES)
        read_votes(in, news->votes, count);
    return !has_changes(state) || news_changes_read(in, &news->changes);
}

/* ---- the others ---- */

static void piece_write(struct writer *out, const struct view_piece *piece)
{
    write_u32(out, piece->epoch);
    write_u32(out, piece->first);
    write_u32(out, piece->count);
    for (uint32_t i = 0; i < piece->count; i++)
        news_entry_write(out, &piece->entries[i]);
}

static bool piece_read(struct reader *in, struct view_piece *piece, uint32_t count)
{
    piece->epoch = read_u32(in);
    piece->first = read_u32(in);
    piece->count = read_u32(in);
    if (piece->count > NEWS_PIECE || piece->first > count || piece->count > count - piece->first)
        return false;
    bool sense = piece->epoch != 0;
    for (uint32_t i = 0; i < piece->count; i++)
        sense &= news_entry_read(in, &piece->entries[i]);
    return sense;
}

static void wish_write(struct writer *out, const struct view_wish *wish)
{
    write_u8(out, wish->leaves);
    write_u64(out, wish->disk);
    write_u64(out, wish->run);
}

static bool wish_read(struct reader *in, struct view_wish *wish)
{
    uint8_t leaves = read_u8(in);
    *wish = (struct view_wish){.leaves = leaves};
    wish->disk = read_u64(in);
    wish->run = read_u64(in);
    return leaves <= 1 && wish->disk && wish->run;
}

uint32_t news_write(const struct view_news *news, uint32_t count, uint8_t *out)
{
    struct writer to = writer_make(out, WEFT_PAYLOAD_MAX);
    write_u8(&to, (uint8_t)news->kind);
    write_u64(&to, 0); /* the digest, see below */
    switch (news->kind) {
    case NEWS_STATE:
        state_write(&to, news, count);
        break;
    case NEWS_FETCH:
        write_u32(&to, news->fetch.first);
        break;
    case NEWS_ROSTER:
        piece_write(&to, &news->piece);
        break;
    case NEWS_WISH:
        wish_write(&to, &news->wish);
        break;
    }
    assert(!to.failed);
    uint32_t size = (uint32_t)(WEFT_PAYLOAD_MAX - to.left);
    struct writer digest = writer_make(out + 1, 8);
    write_u64(&digest, digest_bytes(out + HEAD_SIZE, size - HEAD_SIZE) + news->kind);
    return size;
}

bool news_read(struct view_news *news, uint32_t count, const void *bytes, uint32_t size)
{
    struct reader in = reader_make(bytes, size);
    bool sense = false;
    uint8_t kind = read_u8(&in);
    news->kind = kind;
    uint64_t digest = read_u64(&in);
    if (in.failed || digest != digest_bytes(in.next, in.left) + kind)
        return false;
    switch (kind) {
    case NEWS_STATE:
        sense = state_read(&in, news, count);
        break;
    case NEWS_FETCH:
        news->fetch.first = read_u32(&in);
        sense = news->fetch.first < count;
        break;
    case NEWS_ROSTER:
        sense = piece_read(&in, &news->piece, count);
        break;
    case NEWS_WISH:
        sense = wish_read(&in, &news->wish);
        break;
    default:
        return false;
    }
    return sense && !in.failed && in.left == 0;
}
