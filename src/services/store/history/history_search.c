/* history_search: see the header.
 *
 * An operation may come next if no other one that is left was answered before it began. A change
 * that is done takes the version of its answer, which must be higher than all before it. An unknown
 * one takes any higher version that some answer reports, or the next one that none reports: of
 * these only the number differs, which no answer shows, and the lowest leaves most room for the
 * operations after it. The same is true of the store itself when it removes a key that has expired.
 */

#include "services/store/history/history_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/compare.h"
#include "base/hash.h"
#include "services/store/history/history_model.h"

#define STATES_MAX (1u << 20) /* a power of two; of these three quarters are used */

struct search_state {
    uint64_t taken; /* the operations that have taken effect, bits */
    uint64_t floor; /* the highest version so far */
    struct history_state state;
};

struct search {
    const struct history_key *key;
    uint64_t *versions; /* that answers report, rising */
    uint32_t version_count;
    uint64_t needed;            /* operations that must take effect, bits */
    uint64_t usable;            /* that may */
    struct search_state *tried; /* a hash table; `taken` is 0 in an empty place */
    uint32_t tried_count, capacity;
    bool gave_up;
};

static uint64_t state_hash(const struct search_state *state)
{
    uint64_t hash = hash_mix(state->taken) ^ state->floor;
    hash = hash_mix(hash) ^ state->state.version ^ state->state.present;
    return hash_mix(hash_mix(hash ^ state->state.expires) ^ state->state.value.hash);
}

static bool state_same(const struct search_state *one, const struct search_state *other)
{
    return one->taken == other->taken && one->floor == other->floor &&
           one->state.present == other->state.present &&
           one->state.version == other->state.version &&
           one->state.expires == other->state.expires &&
           history_same_value(one->state.value, other->state.value);
}

static struct search_state *tried_place(const struct search *search,
                                        const struct search_state *state)
{
    uint64_t at = state_hash(state);
    while (search->tried[at & (search->capacity - 1)].taken &&
           !state_same(&search->tried[at & (search->capacity - 1)], state))
        at++;
    return &search->tried[at & (search->capacity - 1)];
}

static bool tried_grow(struct search *search)
{
    struct search_state *before = search->tried;
    uint32_t count = search->capacity;
    if (count >= STATES_MAX)
        return false;
    search->tried = array_new(2 * (size_t)count, sizeof *before);
    if (!search->tried) {
        search->tried = before;
        return false;
    }
    search->capacity = 2 * count;
    for (uint32_t i = 0; i < count; i++) {
        if (before[i].taken)
            *tried_place(search, &before[i]) = before[i];
    }
    free(before);
    return true;
}

/* Is the state a new one? */
static bool tried_add(struct search *search, const struct search_state *state)
{
    struct search_state *place = tried_place(search, state);
    if (place->taken)
        return false;
    if (search->tried_count >= search->capacity / 4 * 3) {
        if (!tried_grow(search)) {
            search->gave_up = true;
            return false;
        }
        place = tried_place(search, state);
    }
    *place = *state;
    search->tried_count++;
    return true;
}

static bool search_from(struct search *search, const struct search_state *state);

static bool search_change(struct search *search, const struct search_state *before, uint32_t index,
                          const struct history_state *after, uint64_t version)
{
    if (version <= before->floor)
        return false;
    struct search_state next = {before->taken | UINT64_C(1) << index, version, *after};
    next.state.version = next.state.present ? version : 0;
    return search_from(search, &next);
}

/* The lowest version above that one which no answer reports; 0: none. */
static uint64_t hidden_version(const struct search *search, uint64_t floor)
{
    uint64_t version = floor + 1;
    for (uint32_t i = 0; i < search->version_count; i++)
        version += search->versions[i] == version;
    return version;
}

static bool search_op(struct search *search, const struct search_state *before, uint32_t index)
{
    const struct history_op *op = history_op_of(search->key, index);
    if (history_is_answered(op) && !history_is_change(op)) {
        struct search_state next = *before;
        next.taken |= UINT64_C(1) << index;
        return history_answer_fits(op, &before->state) && search_from(search, &next);
    }
    struct history_state after;
    if (!history_takes_effect(op, &before->state, &after))
        return false;
    if (op->outcome == HISTORY_DONE)
        return search_change(search, before, index, &after, op->version);
    for (uint32_t i = 0; i < search->version_count; i++) {
        if (search_change(search, before, index, &after, search->versions[i]))
            return true;
    }
    return search_change(search, before, index, &after, hidden_version(search, before->floor));
}

/* When the first of the operations that must follow was answered. */
static uint64_t first_answered(const struct search *search, uint64_t taken)
{
    uint64_t first = UINT64_MAX;
    for (uint64_t left = search->needed & ~taken; left; left &= left - 1)
        first =
            least_u64(first, history_op_of(search->key, (uint32_t)__builtin_ctzll(left))->answered);
    return first;
}

/* The operations of the set that may come next. */
static uint64_t candidates(const struct search *search, uint64_t taken, uint64_t first)
{
    uint64_t result = 0;
    for (uint64_t left = search->usable & ~taken; left; left &= left - 1) {
        uint32_t index = (uint32_t)__builtin_ctzll(left);
        if (history_op_of(search->key, index)->begun <= first)
            result |= UINT64_C(1) << index;
    }
    return result;
}

/* The store itself removes the key. */
static bool search_expiry(struct search *search, const struct search_state *before)
{
    struct search_state next = {before->taken, hidden_version(search, before->floor), {0}};
    return search_from(search, &next);
}

static bool search_from(struct search *search, const struct search_state *state)
{
    if ((search->needed & ~state->taken) == 0)
        return true;
    if (state->taken && !tried_add(search, state))
        return false;
    uint64_t first = first_answered(search, state->taken);
    uint64_t next = candidates(search, state->taken, first);
    for (uint64_t left = next & search->needed; left && !search->gave_up; left &= left - 1) {
        if (search_op(search, state, (uint32_t)__builtin_ctzll(left)))
            return true;
    }
    for (uint64_t left = next & ~search->needed; left && !search->gave_up; left &= left - 1) {
        if (search_op(search, state, (uint32_t)__builtin_ctzll(left)))
            return true;
    }
    return !search->gave_up && history_may_vanish(&state->state, first) &&
           search_expiry(search, state);
}

static enum history_verdict key_search(const struct history_key *key,
                                       struct history_finding *finding)
{
    struct search search = {.key = key, .capacity = 1024};
    finding->reason = "too many orders to try";
    if (key->count > HISTORY_SEARCH_OPS_MAX)
        return HISTORY_UNDECIDED;
    search.versions = history_versions(key, &search.version_count);
    search.tried = array_new(search.capacity, sizeof *search.tried);
    enum history_verdict verdict = HISTORY_UNDECIDED;
    if (search.versions && search.tried) {
        for (uint32_t i = 0; i < key->count; i++) {
            const struct history_op *op = history_op_of(key, i);
            uint64_t bit = UINT64_C(1) << i;
            if (history_is_answered(op))
                search.needed |= bit;
            else if (history_may_happen(op, search.versions, search.version_count))
                search.usable |= bit;
        }
        search.usable |= search.needed;
        if (search_from(&search, &(struct search_state){0}))
            verdict = HISTORY_FINE;
        else if (!search.gave_up)
            verdict = HISTORY_WRONG;
    }
    if (verdict == HISTORY_WRONG) {
        finding->reason = "no order explains all answers of this key";
        finding->ops[0] = key->numbers[0];
    }
    free(search.versions);
    free(search.tried);
    return verdict;
}

enum history_verdict history_search(const struct history *history, struct history_finding *finding)
{
    return history_each_key(history, key_search, finding);
}
