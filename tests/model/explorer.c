/* explorer: see the header. */
#include "model/explorer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* How a state was found first. `low` and `high` are its digest; both 0: an empty slot. */
struct visit {
    uint64_t low, high;
    uint64_t action;
    uint64_t before; /* the number of the state before it */
};

/* States that wait, in the order in which they were found. They are in chunks, so that those that
 * were expanded can be freed. */
#define CHUNK_STATES 4096

struct chunk {
    struct chunk *next;
    uint8_t states[];
};

struct explorer {
    const struct model *model;
    uint64_t most;
    struct visit *visits; /* by number; number 0 is the start */
    uint32_t *slots;      /* hash table of numbers plus 1; 0: empty */
    uint64_t slot_count;  /* a power of two */
    uint64_t count;       /* states found */
    uint64_t expanded;    /* the number of the state that is being expanded */
    struct chunk *first, *last;
    const char *wrong;
    uint64_t wrong_action;
    /* A walk. */
    struct rng *rng;
    const void *here;
    uint64_t choices; /* states that can follow; one of them is ... */
    uint8_t *chosen;
    uint64_t chosen_action;
};

static void *allocate(uint64_t count, uint64_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        fprintf(stderr, "explorer: no memory for %llu times %llu bytes\n",
                (unsigned long long)count, (unsigned long long)size);
        abort();
    }
    return memory;
}

static struct visit digest_of(const struct explorer *explorer, const void *state)
{
    uint32_t size = explorer->model->state_size;
    uint64_t low = hash_bytes(state, size);
    const uint8_t *bytes = state;
    uint64_t high = 0x243f6a8885a308d3u; /* any other start */
    for (uint32_t i = 0; i + 8 <= size; i += 8)
        high = (high ^ hash_word(bytes + i)) * 0x9e3779b97f4a7c15u + (high >> 29);
    return (struct visit){.low = low, .high = hash_mix(high) | 1};
}

/* The slot of a state with this digest, or the empty slot where it belongs. */
static uint32_t *find_slot(const struct explorer *explorer, const struct visit *visit)
{
    uint64_t mask = explorer->slot_count - 1;
    for (uint64_t at = visit->low & mask;; at = (at + 1) & mask) {
        uint32_t number = explorer->slots[at];
        if (number == 0)
            return &explorer->slots[at];
        const struct visit *other = &explorer->visits[number - 1];
        if (other->low == visit->low && other->high == visit->high)
            return &explorer->slots[at];
    }
}

static void grow(struct explorer *explorer)
{
    explorer->slot_count = explorer->slot_count ? explorer->slot_count * 2 : 1 << 16;
    free(explorer->slots);
    explorer->slots = allocate(explorer->slot_count, sizeof *explorer->slots);
    struct visit *visits = allocate(explorer->slot_count / 2, sizeof *visits);
    if (explorer->count)
        memcpy(visits, explorer->visits, explorer->count * sizeof *visits);
    free(explorer->visits);
    explorer->visits = visits;
    for (uint64_t i = 0; i < explorer->count; i++)
        *find_slot(explorer, &explorer->visits[i]) = (uint32_t)(i + 1);
}

static void enqueue(struct explorer *explorer, const void *state)
{
    uint32_t size = explorer->model->state_size;
    uint64_t place = explorer->count % CHUNK_STATES;
    if (place == 0) {
        struct chunk *chunk = allocate(1, sizeof *chunk + (uint64_t)CHUNK_STATES * size);
        if (explorer->last)
            explorer->last->next = chunk;
        else
            explorer->first = chunk;
        explorer->last = chunk;
    }
    memcpy(explorer->last->states + place * size, state, size);
}

/* Of all states that follow, each is chosen with the same chance. */
static void consider(struct explorer *explorer, const void *state, uint64_t action)
{
    uint32_t size = explorer->model->state_size;
    if (memcmp(state, explorer->here, size) == 0 ||
        rng_below(explorer->rng, ++explorer->choices) != 0)
        return;
    memcpy(explorer->chosen, state, size);
    explorer->chosen_action = action;
}

#define IDLE_TRIES 100 /* expand() may leave things out at random */

uint64_t explorer_walk(const struct model *model, void *state, struct rng *rng, uint64_t steps)
{
    struct explorer walk = {.model = model, .rng = rng, .here = state};
    walk.chosen = allocate(1, model->state_size);
    uint64_t taken = 0, *actions = allocate(steps + 1, sizeof *actions);
    uint8_t *states = allocate(steps + 1, model->state_size);
    for (unsigned idle = 0; taken < steps && idle < IDLE_TRIES && walk.wrong == NULL; idle++) {
        walk.choices = 0;
        model->expand(&walk, state);
        if (walk.choices == 0)
            continue;
        memcpy(state, walk.chosen, model->state_size);
        memcpy(states + taken * model->state_size, state, model->state_size);
        actions[taken++] = walk.chosen_action;
        idle = 0;
    }
    for (uint64_t i = 0; i < taken && walk.wrong; i++)
        model->print(states + i * model->state_size, actions[i]);
    if (walk.wrong)
        model->print(state, walk.wrong_action);
    free(walk.chosen);
    free(states);
    free(actions);
    if (walk.wrong)
        printf("# wrong after %llu steps: %s\n", (unsigned long long)taken, walk.wrong);
    return walk.wrong ? UINT64_MAX : taken;
}

void explorer_add(struct explorer *explorer, const void *state, uint64_t action)
{
    if (explorer->rng) {
        consider(explorer, state, action);
        return;
    }
    if (2 * explorer->count + 2 > explorer->slot_count)
        grow(explorer);
    struct visit visit = digest_of(explorer, state);
    uint32_t *slot = find_slot(explorer, &visit);
    if (*slot)
        return;
    if (explorer->count == explorer->most) {
        fprintf(stderr, "explorer: more than %llu states\n", (unsigned long long)explorer->most);
        abort();
    }
    visit.action = action;
    visit.before = explorer->expanded;
    enqueue(explorer, state);
    explorer->visits[explorer->count++] = visit;
    *slot = (uint32_t)explorer->count;
}

void explorer_wrong(struct explorer *explorer, uint64_t action, const char *what)
{
    if (explorer->wrong)
        return;
    explorer->wrong = what;
    explorer->wrong_action = action;
}

/* ---- the way to a wrong state: all actions again, from the start ---- */

/* Expands `state` once more and puts the state with that digest in its place. */
static void step(struct explorer *explorer, uint8_t *state, const struct visit *wanted)
{
    struct explorer once = {.model = explorer->model, .most = UINT32_MAX};
    once.model->expand(&once, state);
    uint32_t size = once.model->state_size;
    bool found = false;
    uint64_t number = 0;
    for (struct chunk *chunk = once.first, *next; chunk; chunk = next) {
        for (uint64_t i = 0; i < CHUNK_STATES && number < once.count; i++, number++) {
            const struct visit *visit = &once.visits[number];
            if (!found && visit->low == wanted->low && visit->high == wanted->high) {
                memcpy(state, chunk->states + i * size, size);
                found = true;
            }
        }
        next = chunk->next;
        free(chunk);
    }
    free(once.slots);
    free(once.visits);
    assert(found);
}

static void print_way(struct explorer *explorer, const void *start)
{
    uint64_t length = 0;
    for (uint64_t at = explorer->expanded; at; at = explorer->visits[at].before)
        length++;
    uint64_t *way = allocate(length + 1, sizeof *way);
    uint64_t left = length;
    for (uint64_t at = explorer->expanded; at; at = explorer->visits[at].before)
        way[--left] = at;
    uint8_t *state = allocate(1, explorer->model->state_size);
    memcpy(state, start, explorer->model->state_size);
    for (uint64_t i = 0; i < length; i++) {
        const struct visit *visit = &explorer->visits[way[i]];
        step(explorer, state, visit);
        explorer->model->print(state, visit->action);
    }
    explorer->model->print(state, explorer->wrong_action);
    printf("# wrong after %llu actions: %s\n", (unsigned long long)length + 1, explorer->wrong);
    free(state);
    free(way);
}

uint64_t explorer_run(const struct model *model, const void *start, uint64_t most, bool quiet)
{
    struct explorer explorer = {.model = model, .most = most};
    explorer_add(&explorer, start, 0);
    uint64_t next = 0;
    uint8_t *state = allocate(1, model->state_size);
    for (; next < explorer.count && explorer.wrong == NULL; next++) {
        explorer.expanded = next;
        uint64_t place = next % CHUNK_STATES;
        memcpy(state, explorer.first->states + place * model->state_size, model->state_size);
        model->expand(&explorer, state);
        if (place == CHUNK_STATES - 1 && explorer.first->next) {
            struct chunk *done = explorer.first;
            explorer.first = done->next;
            free(done);
        } else if (place == CHUNK_STATES - 1) {
            free(explorer.first);
            explorer.first = explorer.last = NULL;
        }
    }
    if (explorer.wrong && !quiet)
        print_way(&explorer, start);
    for (struct chunk *chunk = explorer.first, *after; chunk; chunk = after) {
        after = chunk->next;
        free(chunk);
    }
    uint64_t count = explorer.wrong ? UINT64_MAX : explorer.count;
    free(state);
    free(explorer.slots);
    free(explorer.visits);
    return count;
}
