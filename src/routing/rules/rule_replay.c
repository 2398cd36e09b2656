#include "routing/rules/rule_replay.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/server_ports.h"

const char *const replay_fault_words[REPLAY_FAULT_COUNT] = {
    "loops",      "black_holes", "bad_ports", "astray",
    "same_paths", "bad_lengths", "ambiguous", "unused",
};

void replay_fini(struct rule_replay *replay)
{
    text_fini(&replay->found);
    *replay = (struct rule_replay){0};
}

/* The path of one way of the current pair. */
struct trip {
    uint64_t hash; /* of its channels */
    size_t first;  /* index of the first of them in the player's list */
    uint32_t hops;
};

struct player {
    struct rule_replay *replay;
    struct rule_tables *tables;
    const struct topology *topology;
    const struct rules *expected;
    uint32_t *visited; /* per node: the number of the last trip that passed it */
    uint32_t trip_number;
    uint32_t *channels; /* channels of all trips of the pair */
    size_t channel_count, channel_capacity;
    struct trip *trips;
    size_t trip_count, trip_capacity;
    uint32_t *lengths; /* lengths of the trips, to be sorted */
    size_t length_capacity;
};

/* The position of a packet, and how it got there. */
struct packet {
    uint32_t from, to, at;
    size_t way, ways;
    const struct table_rule *rule; /* the last rule that it matched */
    uint32_t label;
};

/* --- reporting faults --- */

static void print_name(struct player *player, uint32_t node)
{
    char buffer[NODE_NAME_SIZE];
    rules_write_name(&player->replay->found, topology_name(player->topology, node, buffer));
}

/* Counts a fault. Returns true if it is to be reported: then the line begins with the position of
 * the rule and its switch. */
static bool fault_begin(struct player *player, enum replay_fault fault,
                        const struct table_rule *rule, uint32_t at)
{
    struct rule_replay *replay = player->replay;
    replay->faults[fault]++;
    if (replay->fault_count++ >= REPLAY_FOUND_MAX)
        return false;
    if (rule)
        text_printf(&replay->found, "%s: line %u: ", player->tables->files[rule->file], rule->line);
    text_puts(&replay->found, "switch ");
    print_name(player, at);
    text_puts(&replay->found, ": ");
    return true;
}

/* Reports a fault on the way of a packet, at the switch of the rule that it matched last. */
__attribute__((format(printf, 4, 5))) static void fault_trip(struct player *player,
                                                             enum replay_fault fault,
                                                             const struct packet *packet,
                                                             const char *format, ...)
{
    const struct table_rule *rule = packet->rule;
    char text[200];
    va_list args;
    if (!fault_begin(player, fault, rule, rule->at))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct text *out = &player->replay->found;
    if (rule->kind == TABLE_WAY)
        text_puts(out, "a way to ");
    else if (rule->label == TABLE_ANY)
        text_puts(out, "the rule to ");
    else
        text_printf(out, "the rule for label %u to ", rule->label);
    print_name(player, packet->to);
    if (rule->port < TABLE_LOCAL) /* as in the file: OpenFlow counts from 1 */
        text_printf(out, ", out of port %u, ", rule->port + rule_tables_grouped(player->tables));
    else
        text_puts(out, " ");
    text_printf(out, "%s (from ", text);
    print_name(player, packet->from);
    text_printf(out, ", way %zu of %zu)\n", packet->way + 1, packet->ways);
}

__attribute__((format(printf, 5, 6))) static void fault_rule(struct player *player,
                                                             enum replay_fault fault,
                                                             const struct table_rule *rule,
                                                             uint32_t at, const char *format, ...)
{
    char text[200];
    va_list args;
    if (!fault_begin(player, fault, rule, at))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text_printf(&player->replay->found, "%s\n", text);
}

/* --- one packet --- */

/* The channel that leaves a node at a port, or NODE_NONE. Slots are in order of
 * their ports. */
static uint32_t channel_at(const struct graph *graph, uint32_t node, uint32_t port)
{
    uint32_t low = graph->first[node], high = graph->first[node + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t found = graph_channel_port(graph, graph->channel[middle]);
        if (found == port)
            return graph->channel[middle];
        if (found < port)
            low = middle + 1;
        else
            high = middle;
    }
    return NODE_NONE;
}

/* The rule by which a switch forwards a packet with a label, or NULL. */
static struct table_rule *forward_find(const struct player *player, const struct packet *packet)
{
    const struct rule_tables *tables = player->tables;
    bool labels = tables->encoding == RULES_LABELS;
    size_t count;
    uint32_t key = labels ? TABLE_ANY : packet->to;
    uint32_t label = !labels && packet->to == packet->at ? TABLE_ANY : packet->label;
    return rule_tables_find(tables, packet->at, TABLE_FORWARD, key, label, &count);
}

/* Moves the packet over one cable; false if there is none, or if the packet has visited that switch
 * before. */
static bool packet_move(struct player *player, struct packet *packet, uint32_t *channel)
{
    const struct graph *graph = &player->topology->graph;
    char name[NODE_NAME_SIZE];
    *channel = packet->rule->port < TABLE_LOCAL ? channel_at(graph, packet->at, packet->rule->port)
                                                : NODE_NONE;
    if (*channel == NODE_NONE) {
        fault_trip(player, REPLAY_PORT, packet, "does not leave by a cable to a switch");
        return false;
    }
    packet->at = graph_channel_to(graph, *channel);
    if (player->visited[packet->at] == player->trip_number) {
        fault_trip(player, REPLAY_LOOP, packet, "comes to switch %.60s a second time: a loop",
                   topology_name(player->topology, packet->at, name));
        return false;
    }
    player->visited[packet->at] = player->trip_number;
    return true;
}

/* Follows a packet that has just matched a way's rule; false if it never arrives. Every step marks
 * one more switch, so the loop ends. */
static bool packet_follow(struct player *player, struct packet *packet, struct trip *trip,
                          struct why *why, enum err *err)
{
    bool implied = player->tables->encoding == RULES_JSON; /* the last switch needs no rule */
    char name[NODE_NAME_SIZE];
    player->visited[packet->from] = player->trip_number;
    for (;;) {
        uint32_t channel;
        if (!packet_move(player, packet, &channel))
            return false;
        if (!array_reserve(&player->channels, &player->channel_capacity, player->channel_count + 1,
                           sizeof *player->channels)) {
            *err = why_memory(why);
            return false;
        }
        player->channels[player->channel_count++] = channel;
        trip->hash = (trip->hash ^ channel) * 0x9e3779b97f4a7c15ull;
        trip->hash ^= trip->hash >> 29;
        trip->hops++;
        if (implied && packet->at == packet->to)
            return true;
        struct table_rule *rule = forward_find(player, packet);
        if (!rule) {
            fault_trip(player, REPLAY_BLACK_HOLE, packet,
                       "sends label %u to switch %.60s, which has no rule for it: a black hole",
                       packet->label, topology_name(player->topology, packet->at, name));
            return false;
        }
        rule->used = true;
        packet->rule = rule;
        packet->label = rule->next;
        if (rule->next != TABLE_POP)
            continue;
        if (packet->at != packet->to)
            fault_trip(player, REPLAY_ASTRAY, packet, "ends the path at the wrong switch");
        return packet->at == packet->to;
    }
}

/* --- one pair --- */

/* The ways of a pair, or NULL; marks the rule that leads to them as used. */
static struct table_rule *ways_find(struct player *player, uint32_t from, uint32_t to,
                                    size_t *count)
{
    struct rule_tables *tables = player->tables;
    char name[NODE_NAME_SIZE];
    uint32_t group = to;
    *count = 0;
    if (rule_tables_grouped(tables)) {
        size_t rules;
        struct table_rule *rule = rule_tables_find(tables, from, TABLE_CLASSIFY, to, 0, &rules);
        if (!rule)
            return NULL;
        rule->used = true;
        if (rule->port == TABLE_OWN) {
            fault_rule(player, REPLAY_ASTRAY, rule, from, "delivers packets to switch %.60s itself",
                       topology_name(player->topology, to, name));
            return NULL;
        }
        group = rule->port;
    }
    return rule_tables_find(tables, from, TABLE_WAY, group, 0, count);
}

static int number_compare(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static int trip_compare(const void *left, const void *right)
{
    const struct trip *a = left, *b = right;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* The number of trips that are equal to another trip. */
static size_t trips_same(struct player *player)
{
    size_t same = 0;
    if (player->trip_count)
        qsort(player->trips, player->trip_count, sizeof *player->trips, trip_compare);
    for (size_t i = 1; i < player->trip_count; i++) {
        const struct trip *a = &player->trips[i - 1], *b = &player->trips[i];
        same += a->hash == b->hash && a->hops == b->hops &&
                memcmp(player->channels + a->first, player->channels + b->first,
                       a->hops * sizeof *player->channels) == 0;
    }
    return same;
}

/* Do the trips have the number and lengths of the expected ways? */
static bool lengths_fit(struct player *player, const struct rules_way *ways, size_t count)
{
    if (count != player->trip_count)
        return false;
    for (size_t i = 0; i < count; i++)
        player->lengths[i] = player->trips[i].hops;
    if (count)
        qsort(player->lengths, count, sizeof *player->lengths, number_compare);
    for (size_t i = 0; i < count; i++)
        if (ways[i].hops != player->lengths[i])
            return false;
    return true;
}

/* Follows all ways of a pair; `broken` counts those that do not arrive. */
static enum err trips_make(struct player *player, uint32_t from, uint32_t to,
                           struct table_rule *ways, size_t count, size_t *broken, struct why *why)
{
    enum err err = OK;
    player->trip_count = player->channel_count = 0;
    *broken = 0;
    if (!array_reserve(&player->trips, &player->trip_capacity, count + 1, sizeof *player->trips) ||
        !array_reserve(&player->lengths, &player->length_capacity, count + 1,
                       sizeof *player->lengths))
        return why_memory(why);
    for (size_t i = 0; i < count && !err; i++) {
        struct packet packet = {from, to, from, i, count, &ways[i], ways[i].next};
        struct trip trip = {.first = player->channel_count};
        ways[i].used = true;
        if (++player->trip_number == 0) { /* all marks are stale */
            memset(player->visited, 0,
                   player->topology->graph.node_count * sizeof *player->visited);
            player->trip_number = 1;
        }
        if (packet_follow(player, &packet, &trip, why, &err))
            player->trips[player->trip_count++] = trip;
        else
            ++*broken;
    }
    return err;
}

static enum err pair_play(struct player *player, uint32_t from, uint32_t to,
                          const struct rules_way *expected, size_t expected_count, struct why *why)
{
    struct rule_replay *replay = player->replay;
    char name[NODE_NAME_SIZE];
    size_t count, broken, same;
    struct table_rule *ways = ways_find(player, from, to, &count);
    enum err err = trips_make(player, from, to, ways, count, &broken, why);
    if (err)
        return err;
    same = trips_same(player);
    if (same)
        fault_rule(player, REPLAY_SAME, ways, from, "%zu of the ways to %.60s are the same path",
                   same + 1, topology_name(player->topology, to, name));
    else if (!count && expected_count)
        fault_rule(player, REPLAY_BLACK_HOLE, NULL, from, "no rule for packets to %.60s",
                   topology_name(player->topology, to, name));
    else if (!broken && !lengths_fit(player, expected, expected_count))
        fault_rule(player, REPLAY_LENGTHS, ways, from,
                   "%zu paths to %.60s, which are not the %zu shortest paths", count,
                   topology_name(player->topology, to, name), expected_count);
    if (!expected_count && !count) {
        replay->apart++;
        return OK;
    }
    replay->pairs++;
    replay->reached += count > 0 && !broken;
    replay->paths += player->trip_count - same;
    for (size_t i = 0; i < player->trip_count; i++) {
        uint32_t hops = player->trips[i].hops;
        replay->hops += hops;
        replay->hops_max = hops > replay->hops_max ? hops : replay->hops_max;
    }
    return OK;
}

/* --- everything --- */

/* Checks for each of a switch's own servers that the table has its port. */
static void servers_play(struct player *player, uint32_t at)
{
    struct rule_tables *tables = player->tables;
    const struct topology *topology = player->topology;
    struct server_ports ports = server_ports_make(topology, at);
    size_t count;
    for (uint32_t i = 0; i < topology->sites[at].servers; i++) {
        uint32_t port = topology->direct ? TABLE_LOCAL : server_ports_next(&ports);
        struct table_rule *rule = rule_tables_find(tables, at, TABLE_SERVER, i, 0, &count);
        if (!rule)
            fault_rule(player, REPLAY_BLACK_HOLE, NULL, at, "no rule for its server %u", i);
        else if (rule->port != port)
            fault_rule(player, REPLAY_ASTRAY, rule, at, "server %u is not at that port", i);
        if (rule)
            rule->used = true;
    }
    if (!rule_tables_grouped(tables) || topology->sites[at].servers < 2)
        return;
    struct table_rule *rule = rule_tables_find(tables, at, TABLE_CLASSIFY, at, 0, &count);
    if (!rule)
        fault_rule(player, REPLAY_BLACK_HOLE, NULL, at,
                   "no rule from one of its servers to another");
    else if (rule->port != TABLE_OWN)
        fault_rule(player, REPLAY_ASTRAY, rule, at, "sends packets to its own servers away");
    if (rule)
        rule->used = true;
}

enum err replay_overlaps(struct rule_replay *replay, struct rule_tables *tables, struct why *why)
{
    struct player player = {.replay = replay, .tables = tables, .topology = tables->topology};
    for (size_t i = 1; i < tables->count; i++) {
        const struct table_rule *a = &tables->rules[i - 1], *b = &tables->rules[i];
        if (b->kind != TABLE_WAY && a->at == b->at && a->kind == b->kind && a->key == b->key &&
            a->label == b->label)
            fault_rule(&player, REPLAY_AMBIGUOUS, b, b->at, "line %u matches the same packets",
                       a->line);
    }
    return text_ok(&replay->found) ? OK : why_memory(why);
}

static void unused_play(struct player *player)
{
    const struct rule_tables *tables = player->tables;
    for (size_t i = 0; i < tables->count; i++)
        if (!tables->rules[i].used)
            fault_rule(player, REPLAY_UNUSED, &tables->rules[i], tables->rules[i].at,
                       "no packet uses this rule");
}

static enum err pairs_play(struct player *player, struct observer progress, struct why *why)
{
    const struct topology *topology = player->topology;
    const struct rules *expected = player->expected;
    uint32_t nodes = topology->graph.node_count;
    size_t at = 0;
    for (uint32_t from = 0; from < nodes; from++) {
        for (uint32_t to = 0; to < nodes; to++) {
            size_t first = at;
            while (at < expected->way_count && expected->ways[at].from == from &&
                   expected->ways[at].to == to)
                at++;
            if (from == to || !topology->sites[from].servers || !topology->sites[to].servers ||
                (expected->only != NODE_NONE && expected->only != to))
                continue;
            enum err err = pair_play(player, from, to, expected->ways + first, at - first, why);
            if (err)
                return err;
        }
        observer_tell(&progress, "replay", from + 1, nodes);
    }
    return OK;
}

enum err replay_tables(struct rule_replay *replay, struct rule_tables *tables,
                       const struct rules *expected, struct observer progress, struct why *why)
{
    const struct topology *topology = tables->topology;
    struct player player = {
        .replay = replay, .tables = tables, .topology = topology, .expected = expected};
    player.visited = array_new(topology->graph.node_count, sizeof *player.visited);
    enum err err = player.visited ? pairs_play(&player, progress, why) : why_memory(why);
    for (uint32_t v = 0; v < topology->graph.node_count && !err; v++)
        if (expected->only == NODE_NONE || expected->only == v)
            servers_play(&player, v);
    if (!err)
        err = replay_overlaps(replay, tables, why);
    if (!err)
        unused_play(&player);
    if (!err && !text_ok(&replay->found))
        err = why_memory(why);
    free(player.visited);
    free(player.channels);
    free(player.trips);
    free(player.lengths);
    return err;
}
