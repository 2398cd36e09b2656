#pragma once
/* sample: summaries of many measurements of one quantity. Pure. */

#include <stddef.h>

/* Mean and deviation leave out the slowest hundredth, which the system interrupted
 * for longer than the measured operation takes. Nothing else is left out. */
struct sample {
    double mean, deviation, median, high; /* high: the 99th percentile */
    double worst;
};

/* Sorts the values. Without values, all fields are NaN. */
struct sample sample_of(double *values, size_t count);

double sample_median(double *values, size_t count); /* sorts the values */

/* The straight line y = base + slope * x that fits best, and the share of the
 * variance of y that it explains: 1 is a perfect fit. */
struct sample_line {
    double base, slope, share;
};
struct sample_line sample_line_of(const double *x, const double *y, size_t count);
