#pragma once
/* sample: what many measurements of one thing say together. Pure. */

#include <stddef.h>

/* Of the mean and the deviation the slowest hundredth is left out: those that the
 * system interrupted for longer than all the others took. Nothing else is. */
struct sample {
    double mean, deviation, median, high; /* high: the 99th percentile */
    double worst;
};

/* Sorts them. NaN everywhere if there is none. */
struct sample sample_of(double *values, size_t count);

double sample_median(double *values, size_t count); /* sorts them */

/* The straight line y = base + slope * x that fits best, and which share of the
 * variance of y it explains: 1 is a perfect line. */
struct sample_line {
    double base, slope, share;
};
struct sample_line sample_line_of(const double *x, const double *y, size_t count);
