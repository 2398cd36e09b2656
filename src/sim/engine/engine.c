/* engine: a hierarchical timing wheel.
 *
 * Time is divided into windows of 2^WINDOW_BITS picoseconds. A channel is in a list of the lowest
 * wheel on which its moment and the cursor are in the same round:
 *
 *     wheel 0   a bucket is one window; its list is in order by (time, channel)
 *     wheel 1   a bucket is a whole round of wheel 0; its list is unordered
 *     ...       WHEELS of them cover all 64 bits
 *
 * The next event is the head of the first bucket of wheel 0. When that wheel is empty, the cursor
 * moves to the first used bucket of the next wheel that has one, and the channels of the bucket are
 * placed again: each moves at most WHEELS times, in practice once. Two words of bits find a bucket
 * at any distance.
 *
 * Lists of wheel 0 are short because windows are. If many channels are due in one window, they are
 * mostly set in ascending or descending order, which needs no search; only many channels in random
 * order do.
 *
 * Invariants: a bucket's bit is set iff its list is not empty; on the wheels above 0 all used
 * buckets are later than the cursor's; the order of wheel 0 is total, so the order of the lists
 * above it does not matter. */
#include "sim/engine/engine.h"

#include <stdlib.h>

#include "base/bitset.h"
#include "base/check.h"

#define WINDOW_BITS 13 /* 8 ns: a busy torus of 512 servers has one to three events in it */
#define BUCKET_BITS 12
#define BUCKETS     (1u << BUCKET_BITS)
#define WORDS       (BUCKETS / 64)
#define WHEELS      5 /* 13 + 5 * 12 = 73 bits */
#define NONE        ENGINE_NONE
#define AHEAD       4
#define NOWHERE     UINT32_MAX

static_assert(WORDS == 64, "one word says which words have bits");
static_assert(WINDOW_BITS + WHEELS * BUCKET_BITS >= 64, "every moment has a bucket");

struct channel {
    psec at;
    uint32_t next;     /* in its bucket's list; NONE ends it */
    uint32_t previous; /* of the first channel: the last */
    uint32_t bucket;   /* wheel * BUCKETS + bucket, or NOWHERE */
};

struct wheel {
    uint64_t summary; /* a bit for each word that is not 0 */
    uint64_t words[WORDS];
    uint32_t first[BUCKETS];
};

struct engine {
    psec now;
    psec cursor;    /* start of the round of wheel 0 */
    uint32_t ahead; /* the channel that engine_ahead returned last */
    psec ahead_at;  /* when it was due; if it still is, it is in wheel 0 */
    uint32_t channel_count;
    struct channel *channels;
    struct wheel wheels[WHEELS];
};

enum err engine_open(struct engine **out, uint32_t channel_count, struct why *why)
{
    assert(channel_count <= ENGINE_CHANNEL_MAX);
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return why_memory(why);
    engine->channels = calloc((size_t)channel_count + 1, sizeof *engine->channels);
    if (!engine->channels) {
        engine_close(engine);
        return why_memory(why);
    }
    engine->channel_count = channel_count;
    engine->ahead = NONE;
    for (uint32_t i = 0; i < channel_count; i++)
        engine->channels[i] = (struct channel){.at = PSEC_NEVER, .bucket = NOWHERE};
    for (unsigned level = 0; level < WHEELS; level++)
        for (uint32_t bucket = 0; bucket < BUCKETS; bucket++)
            engine->wheels[level].first[bucket] = NONE;
    *out = engine;
    return OK;
}

void engine_close(struct engine *engine)
{
    if (!engine)
        return;
    free(engine->channels);
    free(engine);
}

/* ---- lists ---- */

static inline bool sooner(const struct channel *channels, uint32_t one, uint32_t other)
{
    return channels[one].at < channels[other].at ||
           (one < other && channels[one].at == channels[other].at);
}

/* Inserts a channel before `next`, which is in the list; NONE: at the end. */
static inline void link_before(struct engine *engine, uint32_t *first, uint32_t index,
                               uint32_t next)
{
    struct channel *channels = engine->channels;
    uint32_t head = *first, previous = channels[next == NONE ? head : next].previous;
    channels[index].next = next;
    channels[index].previous = previous;
    channels[next == NONE ? head : next].previous = index;
    if (next == head)
        *first = index;
    else
        channels[previous].next = index;
}

static void link_in_order(struct engine *engine, uint32_t *first, uint32_t index)
{
    const struct channel *channels = engine->channels;
    uint32_t next = *first;
    if (sooner(channels, channels[next].previous, index))
        next = NONE;
    else
        while (sooner(channels, next, index))
            next = channels[next].next;
    link_before(engine, first, index, next);
}

static inline unsigned low_bit(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
}

static void bucket_add(struct engine *engine, uint32_t index)
{
    struct channel *channel = &engine->channels[index];
    uint64_t difference = (channel->at ^ engine->cursor) >> WINDOW_BITS | 1;
    unsigned level = (63 - (unsigned)__builtin_clzll(difference)) / BUCKET_BITS;
    uint32_t bucket =
        (uint32_t)(channel->at >> (WINDOW_BITS + level * BUCKET_BITS)) & (BUCKETS - 1);
    struct wheel *wheel = &engine->wheels[level];
    uint32_t *first = &wheel->first[bucket];
    channel->bucket = level * BUCKETS + bucket;
    if (*first == NONE) {
        *first = index;
        channel->next = NONE;
        channel->previous = index;
        bitset_add(wheel->words, bucket);
        bitset_add(&wheel->summary, bitset_word(bucket));
    } else if (level == 0) {
        link_in_order(engine, first, index);
    } else {
        link_before(engine, first, index, NONE);
    }
}

static inline void bucket_emptied(struct wheel *wheel, uint32_t bucket)
{
    bitset_remove(wheel->words, bucket);
    if (wheel->words[bitset_word(bucket)] == 0)
        bitset_remove(&wheel->summary, bitset_word(bucket));
}

static inline void unplace(struct engine *engine, uint32_t index)
{
    struct channel *channels = engine->channels, *channel = &channels[index];
    struct wheel *wheel = &engine->wheels[channel->bucket / BUCKETS];
    uint32_t bucket = channel->bucket % BUCKETS, next = channel->next;
    if (wheel->first[bucket] != index) {
        channels[channel->previous].next = next;
        channels[next == NONE ? wheel->first[bucket] : next].previous = channel->previous;
    } else if (next != NONE) {
        channels[next].previous = channel->previous;
        wheel->first[bucket] = next;
    } else {
        wheel->first[bucket] = NONE;
        bucket_emptied(wheel, bucket);
    }
    channel->bucket = NOWHERE;
}

/* Does the same for the first channel of a bucket of wheel 0. */
static inline void unplace_first(struct engine *engine, uint32_t bucket, struct channel *channel)
{
    struct wheel *wheel = &engine->wheels[0];
    uint32_t next = channel->next;
    wheel->first[bucket] = next;
    if (next == NONE)
        bucket_emptied(wheel, bucket);
    else
        engine->channels[next].previous = channel->previous;
    channel->bucket = NOWHERE;
}

void engine_set(struct engine *engine, uint32_t channel, psec at)
{
    assert(channel < engine->channel_count && at >= engine->now);
    if (engine->channels[channel].at == at)
        return;
    if (engine->channels[channel].bucket != NOWHERE)
        unplace(engine, channel);
    engine->channels[channel].at = at;
    if (at != PSEC_NEVER)
        bucket_add(engine, channel);
}

psec engine_at(const struct engine *engine, uint32_t channel)
{
    return engine->channels[channel].at;
}

static inline uint32_t first_bucket(const struct wheel *wheel)
{
    unsigned word = low_bit(wheel->summary);
    return word * 64 + low_bit(wheel->words[word]);
}

/* Moves the cursor to the first used bucket above wheel 0 that begins before `until`, and places
 * its channels again. False: there is none, and the cursor stays, because a channel set later may
 * be due earlier. */
static bool advance(struct engine *engine, psec until)
{
    unsigned level = 1;
    while (level < WHEELS && engine->wheels[level].summary == 0)
        level++;
    if (level == WHEELS)
        return false;
    struct wheel *wheel = &engine->wheels[level];
    uint32_t bucket = first_bucket(wheel);
    unsigned shift = WINDOW_BITS + level * BUCKET_BITS;
    psec round = shift + BUCKET_BITS < 64 ? ~0ull << (shift + BUCKET_BITS) : 0;
    psec start = (engine->cursor & round) | (psec)bucket << shift;
    if (start >= until)
        return false;
    assert(start > engine->cursor);
    engine->cursor = start;
    uint32_t next = wheel->first[bucket];
    wheel->first[bucket] = NONE;
    bucket_emptied(wheel, bucket);
    while (next != NONE) {
        uint32_t index = next;
        next = engine->channels[index].next;
        bucket_add(engine, index);
    }
    return true;
}

bool engine_next(struct engine *engine, psec until, uint32_t *out)
{
    struct wheel *wheel = &engine->wheels[0];
    assert(until >= engine->now);
    while (wheel->summary || advance(engine, until)) {
        if (!wheel->summary)
            continue; /* the channels of a higher bucket went to a wheel above 0 */
        uint32_t bucket = first_bucket(wheel), index = wheel->first[bucket];
        struct channel *channel = &engine->channels[index];
        if (channel->at >= until)
            break;
        unplace_first(engine, bucket, channel);
        engine->now = channel->at;
        channel->at = PSEC_NEVER;
        *out = index;
        return true;
    }
    engine->now = until;
    return false;
}

/* The channel after that one in wheel 0. */
static uint32_t behind(const struct engine *engine, uint32_t index)
{
    const struct wheel *wheel = &engine->wheels[0];
    const struct channel *channel = &engine->channels[index];
    if (channel->next != NONE)
        return channel->next;
    uint32_t bucket = channel->bucket;
    unsigned word = bucket / 64;
    uint64_t bits = wheel->words[word] & ~1ull << bucket % 64; /* later buckets */
    if (!bits) {
        uint64_t words = word < 63 ? wheel->summary & ~1ull << word : 0;
        if (!words)
            return NONE;
        word = low_bit(words);
        bits = wheel->words[word];
    }
    return wheel->first[word * 64 + low_bit(bits)];
}

uint32_t engine_ahead(struct engine *engine)
{
    uint32_t index = engine->ahead;
    if (index != NONE && engine->channels[index].at == engine->ahead_at) {
        index = behind(engine, index);
    } else { /* it has passed or was set again: start over */
        const struct wheel *wheel = &engine->wheels[0];
        index = wheel->summary ? wheel->first[first_bucket(wheel)] : NONE;
        for (unsigned i = 1; i < AHEAD && index != NONE; i++)
            index = behind(engine, index);
    }
    engine->ahead = index;
    if (index != NONE)
        engine->ahead_at = engine->channels[index].at;
    return index;
}

psec engine_now(const struct engine *engine)
{
    return engine->now;
}

size_t engine_memory(const struct engine *engine)
{
    return sizeof *engine + ((size_t)engine->channel_count + 1) * sizeof *engine->channels;
}

static uint32_t bucket_check(const struct engine *engine, unsigned level, uint32_t bucket)
{
    const struct channel *channels = engine->channels;
    unsigned shift = WINDOW_BITS + level * BUCKET_BITS;
    psec round = shift + BUCKET_BITS < 64 ? ~0ull << (shift + BUCKET_BITS) : 0;
    uint32_t first = engine->wheels[level].first[bucket], previous = NONE, count = 0;
    for (uint32_t i = first; i != NONE; i = channels[i].next) {
        assert(channels[i].bucket == level * BUCKETS + bucket);
        assert((channels[i].at >> shift & (BUCKETS - 1)) == bucket);
        assert((channels[i].at & round) == (engine->cursor & round));
        assert(i == first || channels[i].previous == previous);
        assert(i == first || level > 0 || sooner(channels, previous, i));
        previous = i;
        count++;
    }
    assert(count == 0 || channels[first].previous == previous);
    return count;
}

static uint32_t wheel_check(const struct engine *engine, unsigned level)
{
    const struct wheel *wheel = &engine->wheels[level];
    unsigned shift = WINDOW_BITS + level * BUCKET_BITS;
    uint32_t here = (uint32_t)(engine->cursor >> shift) & (BUCKETS - 1), count = 0;
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
        uint32_t channels = bucket_check(engine, level, bucket);
        assert((channels > 0) == bitset_has(wheel->words, bucket));
        assert(channels == 0 || level == 0 || bucket > here);
        count += channels;
    }
    for (unsigned word = 0; word < WORDS; word++)
        assert((wheel->words[word] != 0) == (wheel->summary >> word & 1));
    return count;
}

void engine_check(const struct engine *engine)
{
    uint32_t added = 0;
    for (uint32_t i = 0; i < engine->channel_count; i++) {
        const struct channel *channel = &engine->channels[i];
        assert((channel->bucket == NOWHERE) == (channel->at == PSEC_NEVER));
        assert(channel->at >= engine->now);
        added += channel->bucket != NOWHERE;
    }
    for (unsigned level = 0; level < WHEELS; level++)
        added -= wheel_check(engine, level);
    assert(added == 0);
}
