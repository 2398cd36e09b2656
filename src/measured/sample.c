#include "measured/sample.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double sample_median(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof *values, by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

struct sample sample_of(double *values, size_t count)
{
    struct sample sample = {NAN, NAN, NAN, NAN, NAN};
    if (count == 0)
        return sample;
    size_t kept = count - count / 100;
    double sum = 0, squares = 0;
    sample.median = sample_median(values, count);
    for (size_t i = 0; i < kept; i++)
        sum += values[i];
    sample.mean = sum / (double)kept;
    for (size_t i = 0; i < kept; i++)
        squares += (values[i] - sample.mean) * (values[i] - sample.mean);
    sample.deviation = sqrt(squares / (double)kept);
    sample.high = values[(count * 99 - 1) / 100];
    sample.worst = values[count - 1];
    return sample;
}

struct sample_line sample_line_of(const double *x, const double *y, size_t count)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (size_t i = 0; i < count; i++) {
        mean_x += x[i] / (double)count;
        mean_y += y[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
    }
    if (count < 2 || xx == 0 || isnan(yy))
        return (struct sample_line){NAN, NAN, NAN};
    double slope = xy / xx;
    return (struct sample_line){mean_y - slope * mean_x, slope, yy > 0 ? xy * xy / xx / yy : 1};
}
