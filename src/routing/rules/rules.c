/* rules: from paths to labels, one destination at a time.
 *
 * The paths to a destination are kept as a tree of their remainders: its root is the destination,
 * and a child of a node is one hop further away. What a path needs at the switches after its first
 * is the chain from one tree node to the root, so equal remainders are kept, and forwarded, once.
 *
 * Swapped labels are the tree's nodes, numbered at each switch.
 *
 * Constant labels: the chains from the tree's leaves to its root are divided among labels so that
 * under one label every switch has one way out. A leaf takes the label that already contains most
 * of its chain (fewest new rules), the longest chains first; it opens a new label only if it
 * conflicts with every existing one. Under a label every switch continues along a chain that ends
 * at the root, so there is no loop. */
#include "routing/rules/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bitset.h"
#include "base/check.h"

#define NONE UINT32_MAX

/* The remainder of some path. Node 0 is the root: nothing is left. */
struct rest {
    uint32_t channel; /* the next hop; none at the root */
    uint32_t parent;  /* the remainder after that hop */
    uint32_t child, sibling;
    uint32_t depth; /* hops left */
    uint32_t label; /* or NONE */
};

/* For each label a bit. Row c, for a channel: the labels under which its switch sends into it. Row
 * 2 * links + v: the labels under which switch v sends anywhere. */
struct label_bits {
    uint64_t *words;
    uint64_t *mask;  /* one row of working memory */
    size_t width;    /* words per row */
    size_t rows;     /* channels and nodes */
    uint32_t labels; /* opened so far */
};

struct rules_maker {
    const struct topology *topology; /* borrowed */
    struct rules_order order;
    struct k_shortest *search;
    struct path_set paths; /* to the current destination, one pair per source */
    uint32_t *sources;     /* per pair */
    uint32_t source_count;
    struct rest *rests;
    size_t rest_count, rest_capacity;
    uint32_t *ends; /* per path: its remainder after the first hop */
    size_t end_capacity;
    uint32_t *leaves; /* remainders to be labelled, longest first */
    size_t leaf_count, leaf_capacity;
    uint32_t *next_label; /* swapped: per switch */
    struct label_bits bits;
};

void rules_fini(struct rules *rules)
{
    free(rules->hops);
    free(rules->ways);
    *rules = (struct rules){0};
}

/* --- the remainders of the paths --- */

static enum err rest_add(struct rules_maker *maker, uint32_t parent, uint32_t channel,
                         uint32_t *found, struct why *why)
{
    uint32_t *link = &maker->rests[parent].child;
    while (*link != NONE && maker->rests[*link].channel != channel)
        link = &maker->rests[*link].sibling;
    *found = *link;
    if (*found != NONE)
        return OK;
    uint32_t depth = maker->rests[parent].depth + 1, first = maker->rests[parent].child;
    if (maker->rest_count >= NONE || !array_reserve(&maker->rests, &maker->rest_capacity,
                                                    maker->rest_count + 1, sizeof *maker->rests))
        return why_memory(why);
    *found = (uint32_t)maker->rest_count++;
    maker->rests[parent].child = *found;
    maker->rests[*found] = (struct rest){channel, parent, NONE, first, depth, NONE};
    return OK;
}

static enum err rests_make(struct rules_maker *maker, struct why *why)
{
    const struct path_set *paths = &maker->paths;
    if (!array_reserve(&maker->ends, &maker->end_capacity, paths->path_count + 1,
                       sizeof *maker->ends) ||
        !array_reserve(&maker->rests, &maker->rest_capacity, 1, sizeof *maker->rests))
        return why_memory(why);
    maker->rests[0] = (struct rest){NONE, NONE, NONE, NONE, 0, NONE};
    maker->rest_count = 1;
    for (size_t p = 0; p < paths->path_count; p++) {
        uint32_t rest = 0;
        assert(paths->path_first[p] < paths->path_first[p + 1]);
        for (size_t i = paths->path_first[p + 1] - 1; i > paths->path_first[p]; i--) {
            enum err err = rest_add(maker, rest, paths->channels[i], &rest, why);
            if (err)
                return err;
        }
        maker->ends[p] = rest;
    }
    return OK;
}

static enum err hop_add(struct rules *rules, struct rules_hop hop, struct why *why)
{
    if (!array_reserve(&rules->hops, &rules->hop_capacity, rules->hop_count + 1,
                       sizeof *rules->hops))
        return why_memory(why);
    rules->hops[rules->hop_count++] = hop;
    return OK;
}

/* --- swapped labels --- */

static enum err labels_swap(struct rules_maker *maker, uint32_t to, struct rules *rules,
                            struct why *why)
{
    const struct graph *graph = &maker->topology->graph;
    char name[NODE_NAME_SIZE];
    maker->rests[0].label = RULES_MPLS_FIRST;
    for (uint32_t i = 1; i < maker->rest_count; i++) {
        struct rest *rest = &maker->rests[i];
        uint32_t at = graph_channel_from(graph, rest->channel);
        uint32_t used = maker->next_label[at] - RULES_MPLS_FIRST;
        if (used == RULES_LABEL_COUNT)
            return why_fail(why, ERR_USAGE,
                            "switch %.60s needs more than the %u labels of MPLS: use fewer --ways",
                            topology_name(maker->topology, at, name), RULES_LABEL_COUNT);
        rest->label = maker->next_label[at]++;
        rules->label_count = used + 1 > rules->label_count ? used + 1 : rules->label_count;
        enum err err = hop_add(rules,
                               (struct rules_hop){at, to, rest->label,
                                                  maker->rests[rest->parent].label, rest->channel},
                               why);
        if (err)
            return err;
    }
    if (rules->label_count == 0 && maker->paths.path_count)
        rules->label_count = 1; /* the label that each switch reserves for itself */
    return OK;
}

/* --- constant labels --- */

static uint64_t *bits_row(const struct label_bits *bits, size_t row)
{
    return bits->words + row * bits->width;
}

static void bits_clear(struct label_bits *bits)
{
    bits->labels = 0;
    memset(bits->words, 0, bits->rows * bits->width * sizeof *bits->words);
}

/* Doubles the number of labels. */
static enum err bits_grow(struct label_bits *bits, struct why *why)
{
    size_t width = 2 * bits->width;
    if (bits->rows > SIZE_MAX / width)
        return why_memory(why);
    uint64_t *words = array_new(bits->rows * width, sizeof *words);
    uint64_t *mask = array_new(width, sizeof *mask);
    if (!words || !mask) {
        free(words);
        free(mask);
        return why_memory(why);
    }
    for (size_t row = 0; row < bits->rows; row++)
        memcpy(words + row * width, bits_row(bits, row), bits->width * sizeof *words);
    free(bits->words);
    free(bits->mask);
    *bits = (struct label_bits){words, mask, width, bits->rows, bits->labels};
    return OK;
}

/* The first label that can contain the chain from a remainder to the root, if its last `shared`
 * hops must be there already; NONE if there is none. */
static uint32_t label_find(const struct rules_maker *maker, uint32_t leaf, uint32_t shared)
{
    const struct label_bits *bits = &maker->bits;
    const struct graph *graph = &maker->topology->graph;
    size_t width = bitset_words(bits->labels);
    memset(bits->mask, 0xff, width * sizeof *bits->mask);
    for (uint32_t i = leaf; i; i = maker->rests[i].parent) {
        uint32_t channel = maker->rests[i].channel;
        const uint64_t *this_way = bits_row(bits, channel);
        const uint64_t *any_way =
            bits_row(bits, graph_channel_count(graph) + graph_channel_from(graph, channel));
        bool must = maker->rests[i].depth <= shared;
        for (size_t w = 0; w < width; w++)
            bits->mask[w] &= must ? this_way[w] : this_way[w] | ~any_way[w];
    }
    for (size_t w = 0; w < width; w++)
        if (bits->mask[w]) {
            size_t label = bitset_take_lowest(&bits->mask[w], w);
            return label < bits->labels ? (uint32_t)label : NONE;
        }
    return NONE;
}

static enum err label_choose(struct rules_maker *maker, uint32_t leaf, uint32_t *label,
                             struct why *why)
{
    struct label_bits *bits = &maker->bits;
    char name[NODE_NAME_SIZE];
    *label = label_find(maker, leaf, 0);
    for (uint32_t shared = maker->rests[leaf].depth; shared-- > 1 && *label != NONE;) {
        uint32_t better = label_find(maker, leaf, shared);
        if (better == NONE)
            continue;
        *label = better;
        break;
    }
    if (*label != NONE)
        return OK;
    if (bits->labels == RULES_LABEL_COUNT)
        return why_fail(
            why, ERR_USAGE,
            "paths to switch %.60s need more than the %u labels of MPLS: use fewer --ways",
            topology_name(maker->topology,
                          graph_channel_to(&maker->topology->graph, maker->rests[leaf].channel),
                          name),
            RULES_LABEL_COUNT);
    if (bits->labels == 64 * bits->width) {
        enum err err = bits_grow(bits, why);
        if (err)
            return err;
    }
    *label = bits->labels++;
    return OK;
}

/* Adds the chain from a leaf to the root to a label. */
static enum err label_set(struct rules_maker *maker, uint32_t to, uint32_t leaf, uint32_t label,
                          struct rules *rules, struct why *why)
{
    const struct graph *graph = &maker->topology->graph;
    for (uint32_t i = leaf; i; i = maker->rests[i].parent) {
        struct rest *rest = &maker->rests[i];
        uint32_t at = graph_channel_from(graph, rest->channel);
        uint64_t *labels = bits_row(&maker->bits, rest->channel);
        if (rest->label == NONE)
            rest->label = label;
        if (bitset_has(labels, label))
            break; /* the rest of the chain has the label already */
        bitset_add(labels, label);
        bitset_add(bits_row(&maker->bits, graph_channel_count(graph) + at), label);
        enum err err = hop_add(rules, (struct rules_hop){at, to, label, label, rest->channel}, why);
        if (err)
            return err;
    }
    return OK;
}

static int depth_falling(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? 1 : *a > *b ? -1 : 0;
}

/* Collects the leaves of the tree, longest first, then in order of their numbers. */
static enum err leaves_collect(struct rules_maker *maker, struct why *why)
{
    uint64_t *keys = array_new(maker->rest_count, sizeof *keys);
    size_t count = 0;
    if (!keys || !array_reserve(&maker->leaves, &maker->leaf_capacity, maker->rest_count,
                                sizeof *maker->leaves)) {
        free(keys);
        return why_memory(why);
    }
    for (uint32_t i = 1; i < maker->rest_count; i++)
        if (maker->rests[i].child == NONE)
            keys[count++] = (uint64_t)maker->rests[i].depth << 32 | (NONE - i);
    qsort(keys, count, sizeof *keys, depth_falling);
    for (size_t i = 0; i < count; i++)
        maker->leaves[i] = NONE - (uint32_t)keys[i];
    maker->leaf_count = count;
    free(keys);
    return OK;
}

static enum err labels_share(struct rules_maker *maker, uint32_t to, struct rules *rules,
                             struct why *why)
{
    bits_clear(&maker->bits);
    maker->rests[0].label = 0; /* for paths of one hop, which can use any label */
    enum err err = leaves_collect(maker, why);
    for (size_t i = 0; i < maker->leaf_count && !err; i++) {
        uint32_t label;
        err = label_choose(maker, maker->leaves[i], &label, why);
        if (!err)
            err = label_set(maker, to, maker->leaves[i], label, rules, why);
    }
    uint32_t labels = maker->bits.labels;
    if (labels == 0 && maker->paths.path_count)
        labels = 1;
    rules->label_count = labels > rules->label_count ? labels : rules->label_count;
    return err;
}

/* --- everything --- */

static enum err paths_find(struct rules_maker *maker, uint32_t to, struct why *why)
{
    const struct topology *topology = maker->topology;
    struct path_set *paths = &maker->paths;
    path_set_clear(paths);
    maker->source_count = 0;
    for (uint32_t from = 0; from < topology->graph.node_count; from++) {
        if (from == to || topology->sites[from].servers == 0)
            continue;
        enum err err = k_shortest_find(maker->search, from, to, maker->order.ways,
                                       maker->order.rule, maker->order.seed, paths, why);
        if (err)
            return err;
        maker->sources[maker->source_count++] = from;
    }
    return OK;
}

static enum err ways_add(struct rules_maker *maker, uint32_t to, struct rules *rules,
                         struct why *why)
{
    const struct path_set *paths = &maker->paths;
    if (!array_reserve(&rules->ways, &rules->way_capacity, rules->way_count + paths->path_count,
                       sizeof *rules->ways))
        return why_memory(why);
    for (uint32_t s = 0; s < maker->source_count; s++)
        for (size_t p = paths->pair_first[s]; p < paths->pair_first[s + 1]; p++)
            rules->ways[rules->way_count++] = (struct rules_way){
                .from = maker->sources[s],
                .to = to,
                .index = (uint32_t)(p - paths->pair_first[s]),
                .label = maker->rests[maker->ends[p]].label,
                .channel = paths->channels[paths->path_first[p]],
                .hops = (uint32_t)path_set_hops(paths, p),
            };
    return OK;
}

enum err rules_maker_add(struct rules_maker *maker, uint32_t to, struct rules *rules,
                         struct why *why)
{
    rules->labels = maker->order.labels;
    rules->only = to;
    enum err err = paths_find(maker, to, why);
    if (!err)
        err = rests_make(maker, why);
    if (!err)
        err = rules->labels == RULES_SWAPPED ? labels_swap(maker, to, rules, why)
                                             : labels_share(maker, to, rules, why);
    return err ? err : ways_add(maker, to, rules, why);
}

static enum err fits(const struct topology *topology, struct why *why)
{
    char name[NODE_NAME_SIZE];
    if (topology->graph.node_count > RULES_SWITCH_MAX)
        return why_fail(why, ERR_USAGE, "the network has %u nodes, but addresses have room for %u",
                        topology->graph.node_count, RULES_SWITCH_MAX);
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        if (topology->sites[v].servers > RULES_SERVER_MAX)
            return why_fail(
                why, ERR_USAGE, "switch %.60s has %u servers, but addresses have room for %u",
                topology_name(topology, v, name), topology->sites[v].servers, RULES_SERVER_MAX);
    return OK;
}

enum err rules_maker_open(struct rules_maker **out, const struct topology *topology,
                          const struct rules_order *order, struct why *why)
{
    uint32_t nodes = topology->graph.node_count;
    *out = NULL;
    enum err err = fits(topology, why);
    if (err)
        return err;
    struct rules_maker *maker = array_new(1, sizeof *maker);
    if (!maker)
        return why_memory(why);
    maker->topology = topology;
    maker->order = *order;
    maker->bits.rows = graph_channel_count(&topology->graph) + nodes;
    maker->bits.width = 1;
    maker->sources = array_new(nodes, sizeof *maker->sources);
    maker->next_label = array_new(nodes, sizeof *maker->next_label);
    maker->bits.words = array_new(maker->bits.rows, sizeof *maker->bits.words);
    maker->bits.mask = array_new(1, sizeof *maker->bits.mask);
    if (!maker->sources || !maker->next_label || !maker->bits.words || !maker->bits.mask)
        err = why_memory(why);
    if (!err)
        err = k_shortest_open(&maker->search, &topology->graph, why);
    if (err) {
        rules_maker_close(maker);
        return err;
    }
    for (uint32_t v = 0; v < nodes; v++)
        maker->next_label[v] = RULES_MPLS_FIRST + (topology->sites[v].servers > 0);
    *out = maker;
    return OK;
}

void rules_maker_close(struct rules_maker *maker)
{
    if (!maker)
        return;
    if (maker->search)
        k_shortest_close(maker->search);
    path_set_fini(&maker->paths);
    free(maker->sources);
    free(maker->rests);
    free(maker->ends);
    free(maker->leaves);
    free(maker->next_label);
    free(maker->bits.words);
    free(maker->bits.mask);
    free(maker);
}

static int hop_compare(const void *left, const void *right)
{
    const struct rules_hop *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return a->label < b->label ? -1 : a->label > b->label;
}

static int way_compare(const void *left, const void *right)
{
    const struct rules_way *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

void rules_sort(struct rules *rules)
{
    if (rules->hop_count)
        qsort(rules->hops, rules->hop_count, sizeof *rules->hops, hop_compare);
    if (rules->way_count)
        qsort(rules->ways, rules->way_count, sizeof *rules->ways, way_compare);
}

/* Refuses as soon as the first destinations show that the rules of all will not fit. */
static enum err rules_fit(const struct rules *rules, uint32_t done, uint32_t hosts, uint32_t ways,
                          struct why *why)
{
    uint64_t count = rules->hop_count + rules->way_count;
    uint64_t guess = count / done * hosts;
    if (count <= RULES_MAX && (done == hosts || guess <= 2 * (uint64_t)RULES_MAX))
        return OK;
    return why_fail(
        why, ERR_USAGE,
        "%u switches with servers and %u ways need about %llu rules, but only %u fit in memory: "
        "use fewer --ways, or write the table of one switch with --switch SWITCH",
        hosts, ways, (unsigned long long)guess, RULES_MAX);
}

enum err rules_make(struct rules *rules, const struct topology *topology,
                    const struct rules_order *order, struct why *why)
{
    struct rules_maker *maker;
    uint32_t hosts = topology_host_count(topology), done = 0;
    *rules = (struct rules){.labels = order->labels, .only = NODE_NONE};
    enum err err = rules_maker_open(&maker, topology, order, why);
    for (uint32_t to = 0; to < topology->graph.node_count && !err; to++) {
        if (topology->sites[to].servers == 0)
            continue;
        err = rules_maker_add(maker, to, rules, why);
        if (!err)
            err = rules_fit(rules, ++done, hosts, order->ways, why);
        observer_tell(&order->progress, "paths and labels", done, hosts);
    }
    rules_maker_close(maker);
    rules->only = NODE_NONE;
    if (err)
        rules_fini(rules);
    else
        rules_sort(rules);
    return err;
}
