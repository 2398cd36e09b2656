#include "flow/concurrent/balance.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

/* The smallest weight of a channel, relative to the busiest, which is 1: so even paths over idle
 * channels have lengths that can be compared. */
static const double weight_min = 1e-12;

enum err balance_open(struct balance *balance, struct flow_spread *spread, struct why *why)
{
    *balance = (struct balance){.spread = spread};
    size_t channels = graph_channel_count(balance->spread->graph);
    balance->weight = array_new(channels, sizeof *balance->weight);
    balance->channels = array_new(channels, sizeof *balance->channels);
    enum err err = stride_open(&balance->stride, spread, why);
    if (!err && !(balance->weight && balance->channels))
        err = why_memory(why);
    if (err) {
        balance_close(balance);
        return err;
    }
    for (size_t c = 0; c < channels; c++)
        balance->weight[c] = 1;
    return OK;
}

void balance_close(struct balance *balance)
{
    free(balance->weight);
    free(balance->channels);
    stride_close(&balance->stride);
    *balance = (struct balance){0};
}

/* Computes the weights from the loads; the busiest channel's weight is 1. */
static void weigh(struct balance *balance)
{
    const struct flow_spread *spread = balance->spread;
    for (size_t c = 0; c < graph_channel_count(balance->spread->graph); c++)
        balance->channels[c].weight =
            fmax(exp(balance->sharpness * (spread->load[c] - spread->busiest)), weight_min);
}

/* A number that no mark has. */
static uint32_t next_stamp(struct balance *balance)
{
    if (++balance->stamp == 0) {
        for (size_t c = 0; c < graph_channel_count(balance->spread->graph); c++)
            balance->channels[c].on_empty = balance->channels[c].on_crowded = 0;
        balance->stamp = 1;
    }
    return balance->stamp;
}

/* The channels of one path. */
struct way {
    const uint32_t *channels;
    size_t hops;
};

static struct way way_of(const struct path_set *paths, size_t path)
{
    return (struct way){path_set_channels(paths, path), path_set_hops(paths, path)};
}

static double way_length(const struct balance *balance, struct way way)
{
    double length = 0;
    for (size_t h = 0; h < way.hops; h++)
        length += balance->channels[way.channels[h]].weight;
    return length;
}

/* The path that a demand's traffic moves to. */
struct refuge {
    size_t path;
    struct way way;
    double length;
    uint32_t mark; /* the value of on_empty of its channels */
};

/* Marks the channels of the path. */
static struct refuge refuge_make(struct balance *balance, size_t path, double length)
{
    struct refuge refuge = {path, way_of(&balance->spread->paths, path), length,
                            next_stamp(balance)};
    for (size_t h = 0; h < refuge.way.hops; h++)
        balance->channels[refuge.way.channels[h]].on_empty = refuge.mark;
    return refuge;
}

/* Shifts traffic from a path to the refuge, by the best amount (balance.h). Returns the possible
 * gain: traffic times difference in length. */
static double shift(struct balance *balance, size_t path, struct refuge *refuge)
{
    double *rates = balance->spread->rates;
    struct balance_channel *channels = balance->channels;
    struct way way = way_of(&balance->spread->paths, path);
    double more = 0, shared = 0; /* sums of weights: channels of this path only, and of both */
    uint32_t mark = next_stamp(balance);
    for (size_t h = 0; h < way.hops; h++) {
        struct balance_channel *channel = &channels[way.channels[h]];
        channel->on_crowded = mark;
        if (channel->on_empty == refuge->mark)
            shared += channel->weight;
        else
            more += channel->weight;
    }
    double less = fmax(refuge->length - shared, weight_min);
    if (more <= less)
        return 0;
    double gain = rates[path] * (more - less);
    double amount = log(more / less) / (2 * balance->sharpness);
    double factor = sqrt(more / less);
    if (amount > rates[path]) {
        amount = rates[path];
        factor = exp(balance->sharpness * amount);
    }
    double inverse = 1 / factor;
    rates[path] -= amount;
    rates[refuge->path] += amount;
    for (size_t h = 0; h < way.hops; h++)
        if (channels[way.channels[h]].on_empty != refuge->mark)
            channels[way.channels[h]].weight *= inverse;
    for (size_t h = 0; h < refuge->way.hops; h++)
        if (channels[refuge->way.channels[h]].on_crowded != mark)
            channels[refuge->way.channels[h]].weight *= factor;
    refuge->length = shared + less * factor;
    return gain;
}

struct sweep {
    double gain;   /* possible gain, over all shifts */
    double length; /* of all traffic: amount times length of its path */
};

/* Shifts all traffic of one demand towards its shortest path. */
static void sweep_demand(struct balance *balance, size_t demand, struct sweep *sweep)
{
    const struct flow_spread *spread = balance->spread;
    size_t first = spread->paths.pair_first[demand], end = spread->paths.pair_first[demand + 1];
    size_t shortest = first;
    double least = INFINITY;
    for (size_t p = first; p < end; p++) {
        double length = way_length(balance, way_of(&spread->paths, p));
        sweep->length += length * spread->rates[p];
        if (length < least) {
            least = length;
            shortest = p;
        }
    }
    if (end - first < 2)
        return;
    struct refuge refuge = refuge_make(balance, shortest, least);
    for (size_t p = first; p < end; p++)
        if (p != shortest && spread->rates[p] > 0)
            sweep->gain += shift(balance, p, &refuge);
}

/* Sweeps over all demands once; true if the possible gain was less than `tolerance` of the
 * whole. */
static bool sweep(struct balance *balance, double tolerance)
{
    struct sweep sweep = {0};
    for (size_t k = 0; k < balance->spread->traffic->count; k++)
        sweep_demand(balance, k, &sweep);
    return sweep.gain <= tolerance * sweep.length;
}

enum { SWEEPS_PER_STRIDE = 10 };

static enum err take_stride(struct balance *balance, struct why *why)
{
    spread_settle(balance->spread);
    stride_take(&balance->stride, balance->spread, balance->sharpness);
    weigh(balance);
    return stride_begin(&balance->stride, balance->spread, why);
}

enum err balance_run(struct balance *balance, uint32_t sweep_max, double tolerance, struct why *why)
{
    assert(balance->sharpness > 0 && sweep_max > 0);
    size_t channels = graph_channel_count(balance->spread->graph);
    uint32_t averaged = 0;
    bool done = false;
    for (size_t c = 0; c < channels; c++)
        balance->weight[c] = 0;
    weigh(balance);
    enum err err = stride_begin(&balance->stride, balance->spread, why);
    for (uint32_t i = 1; !err && !done && i <= sweep_max; i++) {
        done = sweep(balance, tolerance);
        if (2 * i > sweep_max || done) {
            for (size_t c = 0; c < channels; c++)
                balance->weight[c] += balance->channels[c].weight;
            averaged++;
        }
        if (i % SWEEPS_PER_STRIDE == 0)
            err = take_stride(balance, why);
    }
    if (err)
        return err;
    spread_settle(balance->spread);
    assert(averaged > 0);
    for (size_t c = 0; c < channels; c++)
        balance->weight[c] = fmax(balance->weight[c] / averaged, weight_min);
    return OK;
}

double balance_length(const struct balance *balance, size_t path)
{
    return way_length(balance, way_of(&balance->spread->paths, path));
}

double balance_shift(struct balance *balance, size_t from, size_t to)
{
    struct way way = way_of(&balance->spread->paths, to);
    struct refuge refuge = refuge_make(balance, to, way_length(balance, way));
    return shift(balance, from, &refuge);
}

void balance_load(struct balance *balance, size_t path, double amount)
{
    struct way way = way_of(&balance->spread->paths, path);
    double factor = exp(balance->sharpness * amount);
    balance->spread->rates[path] += amount;
    for (size_t h = 0; h < way.hops; h++)
        balance->channels[way.channels[h]].weight *= factor;
}
