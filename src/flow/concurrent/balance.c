#include "flow/concurrent/balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

/* No channel weighs less, where the busiest weighs 1: so that a path over idle
 * channels has a length, and the shorter of two such paths is told. */
static const double weight_min = 1e-12;

static size_t channel_count(const struct balance *balance)
{
    return 2 * (size_t)balance->spread->graph->link_count;
}

enum err balance_open(struct balance *balance, struct spread *spread, struct why *why)
{
    *balance = (struct balance){.spread = spread};
    size_t channels = channel_count(balance);
    balance->weight = array_new(channels, sizeof *balance->weight);
    balance->mean = array_new(channels, sizeof *balance->mean);
    balance->mark = array_new(channels, sizeof *balance->mark);
    if (balance->weight && balance->mean && balance->mark) {
        for (size_t c = 0; c < channels; c++)
            balance->weight[c] = 1;
        return OK;
    }
    balance_close(balance);
    return why_memory(why);
}

void balance_close(struct balance *balance)
{
    free(balance->weight);
    free(balance->mean);
    free(balance->mark);
    *balance = (struct balance){0};
}

void balance_weigh(struct balance *balance)
{
    const struct spread *spread = balance->spread;
    for (size_t c = 0; c < channel_count(balance); c++)
        balance->weight[c] =
            fmax(exp(balance->sharpness * (spread->load[c] - spread->busiest)), weight_min);
}

/* The channels of one path. */
struct way {
    const uint32_t *channels;
    size_t hops;
};

static struct way way_of(const struct path_set *paths, size_t path)
{
    size_t first = paths->path_first[path];
    return (struct way){paths->channels + first, paths->path_first[path + 1] - first};
}

static double way_length(const struct balance *balance, struct way way)
{
    double length = 0;
    for (size_t h = 0; h < way.hops; h++)
        length += balance->weight[way.channels[h]];
    return length;
}

/* From here until the next call, `mark` of exactly these channels is `stamp`. */
static void way_mark(struct balance *balance, struct way way)
{
    if (++balance->stamp == 0) {
        memset(balance->mark, 0, channel_count(balance) * sizeof *balance->mark);
        balance->stamp = 1;
    }
    for (size_t h = 0; h < way.hops; h++)
        balance->mark[way.channels[h]] = balance->stamp;
}

/* Weight of the channels that are not marked. */
static double way_length_apart(const struct balance *balance, struct way way)
{
    double length = 0;
    for (size_t h = 0; h < way.hops; h++)
        if (balance->mark[way.channels[h]] != balance->stamp)
            length += balance->weight[way.channels[h]];
    return length;
}

/* Puts `amount` more on the channels that are not marked. */
static void way_shift(struct balance *balance, struct way way, double amount, double factor)
{
    for (size_t h = 0; h < way.hops; h++) {
        uint32_t channel = way.channels[h];
        if (balance->mark[channel] == balance->stamp)
            continue;
        balance->weight[channel] *= factor;
        balance->spread->load[channel] += amount;
    }
}

/* Evens out two paths of a demand, as the header says; `to` is marked, before
 * and after. Returns what there was to gain: traffic times difference. */
static double shift(struct balance *balance, size_t from, size_t to)
{
    struct spread *spread = balance->spread;
    struct way crowded = way_of(&spread->paths, from), empty = way_of(&spread->paths, to);
    double more = way_length_apart(balance, crowded);
    way_mark(balance, crowded);
    double less = fmax(way_length_apart(balance, empty), weight_min * weight_min);
    double gain = 0;
    if (more > less) {
        gain = spread->rates[from] * (more - less);
        double amount = log(more / less) / (2 * balance->sharpness);
        double factor = sqrt(more / less);
        if (amount > spread->rates[from]) {
            amount = spread->rates[from];
            factor = exp(balance->sharpness * amount);
        }
        spread->rates[from] -= amount;
        spread->rates[to] += amount;
        way_shift(balance, empty, amount, factor);
        way_mark(balance, empty);
        way_shift(balance, crowded, -amount, 1 / factor);
    } else
        way_mark(balance, empty);
    return gain;
}

struct sweep {
    double gain;   /* what was there to gain, at each shift */
    double length; /* of all traffic: amount times length of path */
};

/* Shifts all traffic of one demand towards its shortest path. */
static void sweep_demand(struct balance *balance, size_t demand, struct sweep *sweep)
{
    const struct spread *spread = balance->spread;
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
    way_mark(balance, way_of(&spread->paths, shortest));
    for (size_t p = first; p < end; p++)
        if (p != shortest && spread->rates[p] > 0)
            sweep->gain += shift(balance, p, shortest);
}

void balance_run(struct balance *balance, uint32_t sweep_max, double tolerance)
{
    assert(balance->sharpness > 0);
    size_t channels = channel_count(balance);
    uint32_t averaged = 0;
    memset(balance->mean, 0, channels * sizeof *balance->mean);
    balance_weigh(balance);
    for (uint32_t i = 0; i < sweep_max; i++) {
        struct sweep sweep = {0};
        for (size_t k = 0; k < balance->spread->traffic->count; k++)
            sweep_demand(balance, k, &sweep);
        if (2 * i >= sweep_max) {
            for (size_t c = 0; c < channels; c++)
                balance->mean[c] += balance->weight[c];
            averaged++;
        }
        if (sweep.gain <= tolerance * sweep.length)
            break;
    }
    spread_settle(balance->spread);
    if (averaged)
        for (size_t c = 0; c < channels; c++)
            balance->weight[c] = fmax(balance->mean[c] / averaged, weight_min);
    else
        balance_weigh(balance);
}

double balance_length(const struct balance *balance, size_t path)
{
    return way_length(balance, way_of(&balance->spread->paths, path));
}

double balance_shift(struct balance *balance, size_t from, size_t to)
{
    way_mark(balance, way_of(&balance->spread->paths, to));
    return shift(balance, from, to);
}

void balance_load(struct balance *balance, size_t path, double amount)
{
    struct way way = way_of(&balance->spread->paths, path);
    double factor = exp(balance->sharpness * amount);
    balance->spread->rates[path] += amount;
    for (size_t h = 0; h < way.hops; h++) {
        balance->weight[way.channels[h]] *= factor;
        balance->spread->load[way.channels[h]] += amount;
    }
}
