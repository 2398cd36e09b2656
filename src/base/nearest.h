#pragma once
/* nearest: the word that a misspelt one was probably meant to be, for "did you mean".
 *
 * The caller tries every word that is allowed and adds the hint to its refusal:
 *
 *   struct nearest nearest = nearest_make("tours", 5);
 *   nearest_try(&nearest, "torus");
 *   nearest_hint(&nearest)  is  " (did you mean 'torus'?)", or "" if no word is near
 */

#include <stddef.h>

#define NEAREST_SIZE_MAX 48 /* longer words get no hint */

struct nearest {
    const char *word; /* the misspelt word; borrowed, `size` bytes */
    size_t size;
    const char *prefix; /* before the word in the hint; the caller sets it to "--" for an option */
    const char *best;   /* the nearest allowed word so far; borrowed, or NULL */
    unsigned distance;  /* of `best`; before the first one, the least that is too far */
    char hint[NEAREST_SIZE_MAX + 32];
};

struct nearest nearest_make(const char *word, size_t size);

/* Of words that are equally near the first one tried is kept. */
void nearest_try(struct nearest *nearest, const char *allowed);

/* The same for every word of a list that NULL ends. */
void nearest_try_all(struct nearest *nearest, const char *const *allowed);

/* The text for the refusal. It is part of `nearest`. */
const char *nearest_hint(struct nearest *nearest);

/* Damerau and Levenshtein's distance: how many letters must be added, removed or replaced, or
 * exchanged with the letter after them, to turn one word into the other. No letter is moved and
 * then changed again. Capitals equal small letters. Both words have at most NEAREST_SIZE_MAX
 * bytes. */
unsigned nearest_distance(const char *a, size_t a_size, const char *b, size_t b_size);
