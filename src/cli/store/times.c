#include "cli/store/times.h"

#include <math.h>

/* Times below 256 ns have classes of their own; above that, each power of two has 128 classes. */
static unsigned class_of(uint64_t time)
{
    if (time < (uint64_t)2 * TIMES_FINE)
        return (unsigned)time;
    unsigned shift = 56 - (unsigned)__builtin_clzll(time); /* leaves 8 bits, the first is set */
    return 2 * TIMES_FINE + (shift - 1) * TIMES_FINE + (unsigned)(time >> shift) - TIMES_FINE;
}

static uint64_t class_last(unsigned index)
{
    if (index < 2 * TIMES_FINE)
        return index;
    unsigned shift = (index - 2 * TIMES_FINE) / TIMES_FINE + 1;
    uint64_t first = TIMES_FINE + index % TIMES_FINE;
    return ((first + 1) << shift) - 1;
}

void times_note(struct times *times, int64_t nsec)
{
    uint64_t time = nsec > 0 ? (uint64_t)nsec : 0;
    times->least = times->count && times->least < time ? times->least : time;
    times->most = times->most > time ? times->most : time;
    times->count++;
    times->sum += (double)time;
    times->classes[class_of(time)]++;
}

void times_add(struct times *times, const struct times *other)
{
    if (!other->count)
        return;
    if (!times->count || other->least < times->least)
        times->least = other->least;
    times->most = other->most > times->most ? other->most : times->most;
    times->count += other->count;
    times->sum += other->sum;
    for (unsigned i = 0; i < TIMES_CLASSES; i++)
        times->classes[i] += other->classes[i];
}

uint64_t times_quantile(const struct times *times, double part)
{
    uint64_t wanted = (uint64_t)ceil(part * (double)times->count), seen = 0;
    unsigned index = 0;
    if (!times->count)
        return 0;
    wanted = wanted < 1 ? 1 : wanted > times->count ? times->count : wanted;
    while ((seen += times->classes[index]) < wanted)
        index++;
    uint64_t last = class_last(index);
    return last < times->most ? last : times->most;
}

double times_mean(const struct times *times)
{
    return times->count ? times->sum / (double)times->count : 0;
}
