#pragma once
/* engine: simulated time. Moments are integer picoseconds; events are ordered by (time, channel),
 * so a run depends on nothing but its input.
 *
 * A *channel* is a source of events that are in order by themselves: one direction of a link, or
 * one node's timer. Only the head of each channel stands in the timing wheel, so the wheel stays
 * small however many packets are under way, and what stands behind the head costs nothing here.
 *
 *     engine_set(engine, link, sim_link_next(&links[link]));
 *     while (engine_next(engine, until, &channel))
 *         ... handle it, then engine_set the channels that changed; that one again, too
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

struct engine; /* owns the wheel; see engine.c for its shape */

MUST_CHECK enum err engine_open(struct engine **engine, uint32_t channel_count, struct why *why);
void engine_close(struct engine *engine);

/* Sets, changes or (PSEC_NEVER) takes back when the head of that channel is due. Not before now. */
void engine_set(struct engine *engine, uint32_t channel, psec at);

/* When it is due: what engine_set said last, PSEC_NEVER once it was taken out. */
psec engine_at(const struct engine *engine, uint32_t channel);

/* The next due channel, taken out of the wheel, and now() is its moment; false: nothing is due
 * before `until`, and now() is until. Ties by channel number, the lowest first. */
bool engine_next(struct engine *engine, psec until, uint32_t *channel);
psec engine_now(const struct engine *engine);

/* For whoever fetches ahead what events will touch: a guess at the channel that comes some four
 * events from now, and at the next call the one behind it; ENGINE_NOBODY: there is none in sight.
 * Changes nothing but its own place. */
#define ENGINE_NOBODY UINT32_MAX
uint32_t engine_ahead(struct engine *engine);

size_t engine_memory(const struct engine *engine);
void engine_check(const struct engine *engine); /* asserts its invariants */
