#pragma once
/* times: how long many requests took, in bounded memory: counts in classes that are at most 1/128
 * of their times wide, from a nanosecond to centuries. In the manner of HDR histograms. */

#include <stdint.h>

#define TIMES_FINE    128 /* classes of each power of two */
#define TIMES_CLASSES (2 * TIMES_FINE + 55 * TIMES_FINE)

struct times {
    uint64_t count, least, most;
    double sum;
    uint64_t classes[TIMES_CLASSES];
};

void times_note(struct times *times, int64_t nsec); /* below 0: as 0 */
void times_add(struct times *times, const struct times *other);
/* The time that this part of all does not exceed: `part` 0.5 is the median. At most 1/128 above the
 * exact one, never below it. 0 if there is none. */
uint64_t times_quantile(const struct times *times, double part);
double times_mean(const struct times *times);
