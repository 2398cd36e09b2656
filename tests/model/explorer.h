#pragma once
/* explorer: visits all states that a model can reach, breadth first, and checks each of them.
 *
 * A model is a function that finds all states that follow a state. States are bytes of one size;
 * equal states have equal bytes, so a model keeps sets sorted and fills gaps with zeros. The
 * explorer knows a state again by a digest of 128 bits, and keeps only the states that it has still
 * to expand. When a state is wrong, it prints the shortest way to it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

struct explorer;

struct model {
    uint32_t state_size;
    /* Calls explorer_add for every state that follows. */
    void (*expand)(struct explorer *explorer, const void *state);
    /* Prints an action, and the state after it, as one line. */
    void (*print)(const void *state, uint64_t action);
};

/* Explores from this state. Returns how many states there are. UINT64_MAX: one of them is wrong;
 * the way to it was printed unless `quiet`. Aborts if there are more than `most`, because then the
 * model is not bounded as its author believes. */
uint64_t explorer_run(const struct model *model, const void *start, uint64_t most, bool quiet);

/* Takes random steps, each to a state other than the one before, until there is none, many times
 * over, or `steps` were taken. `state` is where it starts and ends. Returns how many it took;
 * UINT64_MAX: a step was wrong, and all steps until it were printed. */
uint64_t explorer_walk(const struct model *model, void *state, struct rng *rng, uint64_t steps);

/* In expand(): from the state that is being expanded this action leads to `state`. */
void explorer_add(struct explorer *explorer, const void *state, uint64_t action);
/* In expand(): the last action shows an error; `what` is a constant text. */
void explorer_wrong(struct explorer *explorer, uint64_t action, const char *what);
