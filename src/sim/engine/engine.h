#pragma once
/* engine: simulated time. Moments are integer picoseconds; events are ordered by (time, channel),
 * so a run depends only on its input.
 *
 * A *channel* is a source of events that is ordered in itself: one direction of a link, or one
 * node's timer. Only the head of each channel is in the timing wheel, so the wheel stays small
 * however many packets are in flight, and the packets after the head cost nothing here.
 *
 *     engine_set(engine, link, sim_link_next(&links[link]));
 *     while (engine_next(engine, until, &channel))
 *         ... handle it, then engine_set the channels that changed, and this one again
 *
 * One thread; allocates nothing after engine_open. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef uint64_t psec;
#define PSEC_PER_NSEC   1000ull
#define PSEC_PER_SECOND 1000000000000ull
#define PSEC_NEVER      UINT64_MAX

#define ENGINE_CHANNEL_MAX 0x40000000u

struct engine; /* owns the wheel; engine.c describes it */

MUST_CHECK enum err engine_open(struct engine **engine, uint32_t channel_count, struct why *why);
void engine_close(struct engine *engine);

/* Sets, changes or (PSEC_NEVER) cancels the moment when the head of that channel is due. Not before
 * now. */
void engine_set(struct engine *engine, uint32_t channel, psec at);

/* The moment last set by engine_set; PSEC_NEVER after the channel was returned by engine_next. */
psec engine_at(const struct engine *engine, uint32_t channel);

/* Removes the next due channel from the wheel and sets now() to its moment. False: nothing is due
 * before `until`, and now() is until. Of equal moments the lowest channel comes first. */
bool engine_next(struct engine *engine, psec until, uint32_t *channel);
psec engine_now(const struct engine *engine);

/* For callers that prefetch what events will touch: a guess at the channel about four events from
 * now, and at the next call the channel after it; ENGINE_NONE: none in sight. Changes only its
 * own position. */
#define ENGINE_NONE UINT32_MAX
uint32_t engine_ahead(struct engine *engine);

size_t engine_memory(const struct engine *engine);
void engine_check(const struct engine *engine); /* asserts its invariants */
