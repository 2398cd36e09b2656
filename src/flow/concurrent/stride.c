#include "flow/concurrent/stride.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

/* In lengths of the direction: shorter steps are not worth the effort, longer ones leave the region
 * where the direction is useful. */
static const double length_min = 0.05, length_max = 10;

enum { NEWTON_MAX = 8 };

enum err stride_open(struct stride *stride, const struct flow_spread *spread, struct why *why)
{
    *stride = (struct stride){
        .load = array_new(graph_channel_count(spread->graph), sizeof *stride->load)};
    return stride->load ? OK : why_memory(why);
}

void stride_close(struct stride *stride)
{
    free(stride->rates);
    free(stride->here);
    free(stride->load);
    *stride = (struct stride){0};
}

enum err stride_begin(struct stride *stride, const struct flow_spread *spread, struct why *why)
{
    size_t paths = spread->paths.path_count;
    if (!array_reserve(&stride->rates, &stride->rate_capacity, paths, sizeof *stride->rates) ||
        !array_reserve(&stride->here, &stride->here_capacity, paths, sizeof *stride->here))
        return why_memory(why);
    memcpy(stride->rates, spread->rates, paths * sizeof *stride->rates);
    memcpy(stride->load, spread->load, graph_channel_count(spread->graph) * sizeof *stride->load);
    return OK;
}

/* The length of the step: Newton's method on the sum along the line. */
static double best_length(const struct stride *stride, const struct flow_spread *spread,
                          double sharpness)
{
    double length = 0;
    for (int i = 0; i < NEWTON_MAX; i++) {
        double slope = 0, bend = 0;
        for (size_t c = 0; c < graph_channel_count(spread->graph); c++) {
            double ahead = spread->load[c] - stride->load[c];
            double weight = exp(sharpness * (spread->load[c] + length * ahead - spread->busiest));
            slope += weight * ahead;
            bend += weight * ahead * ahead * sharpness;
        }
        if (!(bend > 0))
            return 0;
        double more = -slope / bend;
        length = fmin(length + more, length_max);
        if (!(length > 0))
            return 0;
        if (length == length_max || fabs(more) < 0.01 * length)
            break;
    }
    return length;
}

static double crowding(const struct flow_spread *spread, double sharpness, double busiest)
{
    double sum = 0;
    for (size_t c = 0; c < graph_channel_count(spread->graph); c++)
        sum += exp(sharpness * (spread->load[c] - busiest));
    return sum;
}

void stride_take(struct stride *stride, struct flow_spread *spread, double sharpness)
{
    double length = best_length(stride, spread, sharpness);
    if (length < length_min)
        return;
    size_t paths = spread->paths.path_count;
    double busiest = spread->busiest, before = crowding(spread, sharpness, busiest);
    memcpy(stride->here, spread->rates, paths * sizeof *stride->here);
    for (size_t p = 0; p < paths; p++)
        spread->rates[p] =
            fmax(0, spread->rates[p] + length * (spread->rates[p] - stride->rates[p]));
    spread_settle(spread);
    if (crowding(spread, sharpness, busiest) < before)
        return;
    memcpy(spread->rates, stride->here, paths * sizeof *stride->here);
    spread_settle(spread);
}
