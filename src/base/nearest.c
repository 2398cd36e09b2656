#include "base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/compare.h"

#define PREFIX_SIZE_MIN 3 /* shorter beginnings of a word say too little about it */

static char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

unsigned nearest_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    /* rows[i % 3][j]: the distance of the first i letters of a and the first j of b. */
    unsigned rows[3][NEAREST_SIZE_MAX + 1];
    assert(a_size <= NEAREST_SIZE_MAX && b_size <= NEAREST_SIZE_MAX);
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            row[j] = least_u32(above[j - 1] + !same, least_u32(above[j], row[j - 1]) + 1);
            bool exchanged = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                             lower(a[i - 2]) == lower(b[j - 1]);
            if (exchanged)
                row[j] = least_u32(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_size % 3][b_size];
}

/* One mistake in a short word, two from five letters on, three from nine on: with more, words that
 * have nothing to do with each other would be near. */
static unsigned mistakes_max(size_t size)
{
    return size < 5 ? 1 : size < 9 ? 2 : 3;
}

struct nearest nearest_make(const char *word, size_t size)
{
    return (struct nearest){
        .word = word, .size = size, .prefix = "", .distance = mistakes_max(size) + 1};
}

void nearest_try(struct nearest *nearest, const char *allowed)
{
    size_t size = strlen(allowed);
    /* One letter is within one mistake of every other letter. */
    if (nearest->size < 2 || nearest->size > NEAREST_SIZE_MAX || size > NEAREST_SIZE_MAX)
        return;
    unsigned distance = nearest_distance(nearest->word, nearest->size, allowed, size);
    bool prefix = nearest->size >= PREFIX_SIZE_MIN && size > nearest->size &&
                  memcmp(nearest->word, allowed, nearest->size) == 0;
    if (prefix) /* a beginning is as good as the most mistakes that are forgiven */
        distance = least_u32(distance, mistakes_max(nearest->size));
    if (distance >= nearest->distance || distance >= nearest->size)
        return;
    nearest->best = allowed;
    nearest->distance = distance;
}

void nearest_try_all(struct nearest *nearest, const char *const *allowed)
{
    for (; *allowed; allowed++)
        nearest_try(nearest, *allowed);
}

const char *nearest_hint(struct nearest *nearest)
{
    nearest->hint[0] = '\0';
    if (nearest->best)
        snprintf(nearest->hint, sizeof nearest->hint, " (did you mean '%s%s'?)", nearest->prefix,
                 nearest->best);
    return nearest->hint;
}
