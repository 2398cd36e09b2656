/* zipf: the area below 1 / x^s, from k - 1/2 to k + 1/2, is a little more than 1 / k^s. A point
 * below the curve is drawn by the inverse of its integral, and rejected if it lies in the surplus.
 */
#include "cli/store/zipf.h"

#include <assert.h>
#include <math.h>

/* The integral of the curve, zero at 1. */
static double integral(const struct zipf *zipf, double x)
{
    double t = (1 - zipf->exponent) * log(x);
    return fabs(t) < 1e-8 ? log(x) * (1 + t / 2) : expm1(t) / (1 - zipf->exponent);
}

static double inverse(const struct zipf *zipf, double area)
{
    double t = area * (1 - zipf->exponent);
    if (t < -1)
        t = -1; /* by rounding */
    return exp(fabs(t) < 1e-8 ? area * (1 - t / 2) : log1p(t) / (1 - zipf->exponent));
}

static double curve(const struct zipf *zipf, double x)
{
    return exp(-zipf->exponent * log(x));
}

struct zipf zipf_make(uint64_t count, double exponent)
{
    struct zipf zipf = {.count = count, .exponent = exponent};
    assert(count >= 1 && exponent > 0 && exponent != 1);
    zipf.first = integral(&zipf, 1.5) - 1;
    zipf.last = integral(&zipf, (double)count + 0.5);
    zipf.bound = 2 - inverse(&zipf, integral(&zipf, 2.5) - curve(&zipf, 2));
    return zipf;
}

uint64_t zipf_next(const struct zipf *zipf, struct rng *rng)
{
    for (;;) { /* the mean number of turns is below 1.2 */
        double area = zipf->last + rng_unit(rng) * (zipf->first - zipf->last);
        double x = inverse(zipf, area);
        double rank = floor(x + 0.5);
        rank = rank < 1 ? 1 : rank > (double)zipf->count ? (double)zipf->count : rank;
        if (rank - x <= zipf->bound || area >= integral(zipf, rank + 0.5) - curve(zipf, rank))
            return (uint64_t)rank;
    }
}
