/* facets: the key space of a torus (CamCubeOS, section 3.2).
 *
 * A facet is the side of the home to which the home's keys move if it fails: up or down along each
 * axis. An order says which axis comes first. The walk is breadth first: it goes from each server
 * of the list in turn to that server's neighbours on the facet, in the order of the axes, and
 * appends those that are not in the list yet. The axes wrap around, so the walk reaches every
 * server.
 *
 * The walk of any facet is the walk of facet 0 with mirrored steps, and it looks the same from
 * every home. So one table of places per order, each place given as steps from home, is enough.
 *
 * Sequence = facet * orders + order. Bit a of the facet set means: down along axis a. Sequence 0
 * goes up, and along x first. */
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "keyspace/keyspace_impl.h"

/* With two axes, z is an axis of size 1, on which a step leads nowhere. */
static const uint8_t orders_of_two[2][KEYSPACE_AXIS_MAX] = {{0, 1, 2}, {1, 0, 2}};
static const uint8_t orders_of_three[6][KEYSPACE_AXIS_MAX] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                              {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static inline uint32_t order_count(const struct keyspace *keyspace)
{
    return keyspace->axis_count == 2 ? 2 : 6;
}

static inline uint32_t place_step(const struct keyspace *keyspace, uint32_t place, uint32_t axis)
{
    return place >> keyspace->place_shift[axis] & keyspace->place_mask[axis];
}

/* One step up along an axis; wraps around at its end. */
static uint32_t place_next(const struct keyspace *keyspace, uint32_t place, uint32_t axis)
{
    uint32_t step = place_step(keyspace, place, axis);
    uint32_t next = step + 1 < keyspace->axis_size[axis] ? step + 1 : 0;
    return place - (step << keyspace->place_shift[axis]) + (next << keyspace->place_shift[axis]);
}

static uint32_t place_index(const struct keyspace *keyspace, uint32_t place)
{
    const uint32_t *size = keyspace->axis_size;
    uint32_t z = place_step(keyspace, place, 2);
    return place_step(keyspace, place, 0) +
           size[0] * (place_step(keyspace, place, 1) + size[1] * z);
}

/* Makes the list of one order on facet 0. `seen` has a byte per server, all zero. */
static void walk(const struct keyspace *keyspace, const uint8_t *order, uint32_t *list,
                 uint8_t *seen)
{
    uint32_t count = 0;
    list[count++] = 0;
    seen[0] = 1;
    for (uint32_t at = 0; at < count; at++) {
        for (uint32_t i = 0; i < KEYSPACE_AXIS_MAX; i++) {
            uint32_t next = place_next(keyspace, list[at], order[i]);
            uint32_t index = place_index(keyspace, next);
            if (seen[index])
                continue;
            seen[index] = 1;
            list[count++] = next;
        }
    }
    assert(count == keyspace->server_count);
}

enum err facets_init(struct keyspace *keyspace, struct why *why)
{
    assert(keyspace->axis_count == 2 || keyspace->axis_count == 3);
    uint32_t shift = 0;
    for (uint32_t axis = 0; axis < KEYSPACE_AXIS_MAX; axis++) {
        uint32_t bits = 0;
        while ((UINT32_C(1) << bits) < keyspace->axis_size[axis])
            bits++;
        assert((UINT64_C(1) << bits) <
               2 * (uint64_t)keyspace->axis_size[axis]); /* no fewer bits would be enough */
        keyspace->place_shift[axis] = shift;
        keyspace->place_mask[axis] = (UINT32_C(1) << bits) - 1;
        shift += bits;
    }
    assert(shift < 32); /* rounding up costs each axis less than one bit: at most 27 + 3 bits */
    uint32_t orders = order_count(keyspace), count = keyspace->server_count;
    keyspace->sequence_count = orders << keyspace->axis_count;
    uint32_t *places = array_new((size_t)orders * count, sizeof *places);
    uint8_t *seen = array_new((size_t)orders * count, 1);
    if (!places || !seen) {
        free(places);
        free(seen);
        return why_memory(why);
    }
    for (uint32_t order = 0; order < orders; order++)
        walk(keyspace, orders == 2 ? orders_of_two[order] : orders_of_three[order],
             places + (size_t)order * count, seen + (size_t)order * count);
    free(seen);
    keyspace->places = places;
    return OK;
}

unsigned facets_servers(const struct keyspace *keyspace, struct place_group group,
                        keyspace_alive *alive, const void *context, node_id *out, unsigned most)
{
    const uint32_t *size = keyspace->axis_size;
    uint32_t orders = order_count(keyspace), facet = group.sequence / orders;
    const uint32_t *list =
        keyspace->places + (size_t)(group.sequence % orders) * keyspace->server_count;
    uint32_t home[KEYSPACE_AXIS_MAX] = {group.home % size[0], group.home / size[0] % size[1],
                                        group.home / size[0] / size[1]};
    unsigned count = 0;
    for (uint32_t i = 0; i < keyspace->server_count && count < most; i++) {
        uint32_t at[KEYSPACE_AXIS_MAX];
        for (uint32_t axis = 0; axis < KEYSPACE_AXIS_MAX; axis++) {
            uint32_t step = place_step(keyspace, list[i], axis);
            bool down = facet >> axis & 1;
            uint32_t ahead = down && step ? size[axis] - step : step;
            at[axis] = home[axis] + ahead;
            at[axis] -= at[axis] >= size[axis] ? size[axis] : 0;
        }
        node_id server = at[0] + size[0] * (at[1] + size[1] * at[2]);
        if (!alive || alive(context, server))
            out[count++] = server;
    }
    return count;
}
