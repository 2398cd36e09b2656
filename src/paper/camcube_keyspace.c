/* camcube_keyspace: the key space of Costa, Donnelly, O'Shea, Rowstron, "CamCubeOS: A Key-based
 * Network Stack for 3D Torus Cluster Topologies" (HPDC 2013), section 3.2, and the same on
 * topologies that the paper does not have.
 *
 * A key has a home server and a sequence: the order in which other servers take over from the home.
 * All keys of one home and sequence form a group; a group has one list of servers, and all groups
 * have the same size. So shares are counted exactly, group by group. Only the choice of the servers
 * that fail is random. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bfs.h"
#include "base/bitset.h"
#include "base/rng.h"
#include "keyspace/keyspace.h"
#include "paper/figures.h"
#include "paper/score.h"

/* A key space, and buffers that all measurements use. */
struct space {
    const char *network; /* what the plot calls it */
    struct topology topology;
    struct keyspace keyspace;
    uint32_t count;
    void *scratch;
    uint64_t *alive; /* a bit per server */
    uint32_t *loads; /* per server: groups that it is root of */
    struct bfs hops; /* from the current home */
    node_id *list;   /* as many lists as there are sequences */
};

static void space_close(struct space *space)
{
    free(space->scratch);
    free(space->alive);
    free(space->loads);
    bfs_fini(&space->hops);
    free(space->list);
    keyspace_fini(&space->keyspace);
    topology_fini(&space->topology);
}

static enum err space_open(struct space *space, const char *spec, struct why *why)
{
    *space = (struct space){0};
    enum err err = topology_build(&space->topology, spec, why);
    if (err)
        return err;
    err = keyspace_init(&space->keyspace, &space->topology, why);
    if (err) {
        topology_fini(&space->topology);
        return err;
    }
    size_t count = space->count = space->keyspace.server_count;
    space->scratch = array_new(keyspace_scratch_size(&space->keyspace), 1);
    space->alive = array_new(bitset_words(count), sizeof *space->alive);
    space->loads = array_new(count, sizeof *space->loads);
    space->list = array_new(count * KEYSPACE_SEQUENCE_MAX, sizeof *space->list);
    if (!bfs_init(&space->hops, space->count) || !space->scratch || !space->alive ||
        !space->loads || !space->list) {
        space_close(space);
        return why_memory(why);
    }
    memset(space->alive, 0xff, bitset_words(count) * sizeof *space->alive);
    return OK;
}

static void space_set(struct space *space, node_id server, bool alive)
{
    bitset_put(space->alive, server, alive);
}

static node_id space_root(struct space *space, node_id home, uint32_t sequence)
{
    return keyspace_root(&space->keyspace, (struct place_group){home, sequence}, space->alive,
                         space->scratch);
}

/* Finds the hops from a home to all servers over the cables of the plan, failed servers included.
 */
static void space_search(struct space *space, node_id home)
{
    bfs_clear(&space->hops);
    bfs_start(&space->hops, home);
    graph_search(&space->topology.graph, &space->hops);
}

/* --- the example of figure 3 --- */

static enum err example_run(struct figure_result *result, struct score *score, struct why *why)
{
    static const uint32_t paper[5][2] = {{2, 2}, {3, 2}, {2, 3}, {4, 2}, {3, 3}};
    struct figure_table *table =
        figure_table_add(result, "example", "place, x, y, paper_x, paper_y");
    struct space space;
    enum err err = space_open(&space, "torus:5x5", why);
    if (err)
        return err;
    node_id servers[5], home = topology_node_at(&space.topology, paper[0]);
    /* Facet 0, and along x first: sequence 0. */
    unsigned count = keyspace_servers(&space.keyspace, (struct place_group){home, 0}, NULL, NULL,
                                      space.scratch, servers, 5);
    for (unsigned i = 0; i < count; i++) {
        uint32_t at[AXIS_MAX];
        topology_coordinate(&space.topology, servers[i], at);
        score_add(score, at[0] == paper[i][0] && at[1] == paper[i][1]);
        figure_row_numbers(table, (double[]){i, at[0], at[1], paper[i][0], paper[i][1]});
    }
    space_close(&space);
    return OK;
}

/* --- one server fails --- */

/* How the groups of a failed server are divided among its heirs: the servers that take them over.
 */
struct split {
    uint32_t sequences;              /* how many different lists of servers a home has */
    uint32_t heirs_min, heirs_max;   /* how many heirs a server has */
    uint32_t groups_min, groups_max; /* how many groups one heir takes over */
    uint32_t hops_max;               /* from a server to an heir */
    uint32_t next_max;               /* the most groups that one server takes over when an heir
                                        fails as well */
};

/* Counts the lists of servers that differ from all lists before them. */
static uint32_t split_sequences(struct space *space)
{
    size_t size = space->count * sizeof *space->list;
    uint32_t different = 0;
    for (uint32_t sequence = 0; sequence < space->keyspace.sequence_count; sequence++) {
        node_id *list = space->list + (size_t)different * space->count;
        keyspace_servers(&space->keyspace, (struct place_group){0, sequence}, NULL, NULL,
                         space->scratch, list, space->count);
        bool new = true;
        for (uint32_t other = 0; other < different && new; other++)
            new = memcmp(list, space->list + (size_t)other * space->count, size) != 0;
        different += new;
    }
    return different;
}

/* Lets each server fail alone. */
static void split_measure(struct space *space, struct split *split)
{
    uint32_t sequences = space->keyspace.sequence_count;
    *split = (struct split){
        .sequences = split_sequences(space), .heirs_min = UINT32_MAX, .groups_min = UINT32_MAX};
    for (node_id home = 0; home < space->count; home++) {
        node_id heirs[KEYSPACE_SEQUENCE_MAX];
        uint32_t heir_count = 0;
        space_set(space, home, false);
        space_search(space, home);
        for (uint32_t sequence = 0; sequence < sequences; sequence++) {
            node_id heir = heirs[sequence] = space_root(space, home, sequence);
            heir_count += space->loads[heir]++ == 0;
            split->hops_max = space->hops.level[heir] > split->hops_max ? space->hops.level[heir]
                                                                        : split->hops_max;
        }
        split->heirs_min = heir_count < split->heirs_min ? heir_count : split->heirs_min;
        split->heirs_max = heir_count > split->heirs_max ? heir_count : split->heirs_max;
        for (uint32_t sequence = 0; sequence < sequences; sequence++) {
            uint32_t groups = space->loads[heirs[sequence]];
            space->loads[heirs[sequence]] = 0;
            if (groups == 0)
                continue; /* this heir was counted before */
            split->groups_min = groups < split->groups_min ? groups : split->groups_min;
            split->groups_max = groups > split->groups_max ? groups : split->groups_max;
        }
        space_set(space, home, true);
    }
}

/* Lets each server fail together with one of its heirs, and finds the most groups of the first that
 * one server takes over. */
static void split_measure_next(struct space *space, struct split *split)
{
    uint32_t sequences = space->keyspace.sequence_count;
    for (node_id home = 0; home < space->count; home++) {
        space_set(space, home, false);
        node_id heir = space_root(space, home, 0);
        space_set(space, heir, false);
        for (uint32_t sequence = 0; sequence < sequences; sequence++) {
            uint32_t groups = ++space->loads[space_root(space, home, sequence)];
            split->next_max = groups > split->next_max ? groups : split->next_max;
        }
        for (uint32_t sequence = 0; sequence < sequences; sequence++)
            space->loads[space_root(space, home, sequence)] = 0;
        space_set(space, home, true);
        space_set(space, heir, true);
    }
}

static void split_row(struct figure_table *table, const struct space *space,
                      const struct split *split)
{
    double all = space->keyspace.sequence_count;
    figure_row_words(table, space->network, space->topology.spec,
                     (double[]){space->count, split->sequences, split->heirs_min, split->heirs_max,
                                100 * split->groups_min / all, 100 * split->groups_max / all,
                                split->hops_max, 100 * split->next_max / all});
}

/* --- many fail --- */

#define FAILURE_STEPS 9 /* of 5 % each; and none */

/* Servers fail in the given order: those that fail at one share have failed at each larger one. */
static void failures_measure(struct space *space, struct figure_table *table, uint32_t *order)
{
    uint32_t sequences = space->keyspace.sequence_count, failed = 0;
    for (uint32_t step = 0; step <= FAILURE_STEPS; step++) {
        uint32_t wanted = (uint32_t)((uint64_t)space->count * step * 5 / 100);
        for (; failed < wanted; failed++)
            space_set(space, order[failed], false);
        memset(space->loads, 0, space->count * sizeof *space->loads);
        uint64_t moved = 0, hops = 0;
        uint32_t load_max = 0, hops_max = 0;
        for (node_id home = 0; home < space->count; home++) {
            bool up = bitset_has(space->alive, home);
            if (!up)
                space_search(space, home);
            for (uint32_t sequence = 0; sequence < sequences; sequence++) {
                node_id root = space_root(space, home, sequence);
                uint32_t load = ++space->loads[root], far = up ? 0 : space->hops.level[root];
                load_max = load > load_max ? load : load_max;
                hops_max = far > hops_max ? far : hops_max;
                hops += far;
                moved += !up;
            }
        }
        double mean = (double)space->count * sequences / (space->count - failed);
        figure_row_words(table, space->network, space->topology.spec,
                         (double[]){100.0 * failed / space->count, load_max / mean,
                                    moved ? (double)hops / (double)moved : NAN,
                                    moved ? hops_max : NAN});
    }
}

static enum err failures_run(struct space *space, struct figure_table *table, uint64_t seed,
                             struct why *why)
{
    uint32_t *order = array_new(space->count, sizeof *order);
    if (!order)
        return why_memory(why);
    for (uint32_t i = 0; i < space->count; i++)
        order[i] = i;
    struct rng rng = rng_make(seed, 0x6b6579);
    rng_shuffle(&rng, order, space->count);
    failures_measure(space, table, order);
    free(order);
    return OK;
}

/* --- the figure --- */

/* Counts the homes that the highest twelve bits of a key, four for each axis, can name. */
static enum err bits_run(double *homes, struct why *why)
{
    struct space space;
    enum err err = space_open(&space, "torus:16x16x16", why);
    if (err)
        return err;
    *homes = 0;
    for (uint64_t bits = 0; bits < 4096; bits++) {
        node_id home = keyspace_group(&space.keyspace, bits << 52).home;
        *homes += space.loads[home]++ == 0;
    }
    space_close(&space);
    return OK;
}

/* Every server must have that many heirs. If not all have, a number that differs is shown. */
static void heirs_claim(struct figure_result *result, const char *what, uint32_t printed,
                        const struct split *split)
{
    figure_claim(result, "section 3.2", what, says_equal(printed, 0, NULL),
                 split->heirs_min == printed ? split->heirs_max : split->heirs_min,
                 figure_text(result, "servers have %u to %u", split->heirs_min, split->heirs_max));
}

static void split_claims(struct figure_result *result, const struct split *two,
                         const struct split *three)
{
    figure_claim(result, "section 3.2", "2D: orders of succession of a server's keys",
                 says_equal(8, 0, NULL), two->sequences, NULL);
    figure_claim(result, "section 3.2", "3D: orders of succession of a server's keys",
                 says_equal(48, 0, NULL), three->sequences, NULL);
    heirs_claim(result, "2D: servers that take over the keys of a failed one", 4, two);
    heirs_claim(result, "3D: servers that take over the keys of a failed one", 6, three);
    figure_claim(result, "section 3.2", "2D: the largest of their shares over the smallest",
                 says_equal(1, 0, NULL), (double)two->groups_max / two->groups_min, NULL);
    figure_claim(result, "section 3.2", "3D: the largest of their shares over the smallest",
                 says_equal(1, 0, NULL), (double)three->groups_max / three->groups_min, NULL);
    figure_claim(result, "section 3.2", "2D and 3D: hops to a server that takes over",
                 says_equal(1, 0, "hops"),
                 two->hops_max > three->hops_max ? two->hops_max : three->hops_max, NULL);
}

static enum err keyspace_run(struct figure_result *result, const struct figure_call *call,
                             struct why *why)
{
    static const struct {
        const char *network, *spec, *quick;
    } cases[] = {
        {"torus 2D", "torus:64x64", "torus:16x32"},
        {"torus 3D", "torus:16x16x16", "torus:8x8x8"},
        {"NovaCube 2D", "novacube:64x64", "novacube:16x32"},
        {"NovaCube 3D", "novacube:16x16x16", "novacube:8x8x8"},
        {"Jellyfish of 4", "jellyfish:n=4096,degree=4,seed=", "jellyfish:n=512,degree=4,seed="},
        {"Jellyfish of 6", "jellyfish:n=4096,degree=6,seed=", "jellyfish:n=512,degree=6,seed="},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    struct score example = {0};
    double homes;
    enum err err = example_run(result, &example, why);
    if (!err)
        err = bits_run(&homes, why);
    if (err)
        return err;
    struct figure_table *splits =
        figure_table_add(result, "split",
                         "network, topology, servers, sequences, heirs_min, heirs_max, "
                         "share_min (%), share_max (%), heir_hops (hops), next_share_max (%)");
    struct figure_table *failures =
        figure_table_add(result, "failures",
                         "network, topology, failed (%), load_max (of mean), heir_hops (hops), "
                         "heir_hops_max (hops)");
    struct split split[CASES];
    for (unsigned i = 0; i < CASES; i++) {
        struct space space;
        char spec[SPEC_SIZE];
        int used = snprintf(spec, sizeof spec, "%s", call->quick ? cases[i].quick : cases[i].spec);
        if (spec[used - 1] == '=') /* a specification that ends in a seed */
            snprintf(spec + used, sizeof spec - (size_t)used, "%" PRIu64, call->seed);
        err = space_open(&space, spec, why);
        if (err)
            return err;
        space.network = cases[i].network;
        split_measure(&space, &split[i]);
        split_measure_next(&space, &split[i]);
        split_row(splits, &space, &split[i]);
        err = failures_run(&space, failures, call->seed, why);
        space_close(&space);
        if (err)
            return err;
        figure_progress(call, i + 1, CASES);
    }
    score_claim(result, "section 3.2", "servers of a key at (2,2), facet 0, x before y: as printed",
                &example, NULL);
    split_claims(result, &split[0], &split[1]);
    figure_claim(result, "footnote 1", "servers that 4 bits of a key for each axis can name",
                 says_equal(4096, 0, NULL), homes, NULL);
    return OK;
}

const struct figure figure_cam_keyspace = {
    .name = "cam-keyspace",
    .paper = "CamCubeOS",
    .what = "which servers take over the keys of a failed one",
    .full = {"4,096 servers; 0 to 45 % failed", .seconds = 7},
    .quick = {"512 servers; 0 to 45 % failed", .seconds = 0.2},
    .choice = "The keys of a server have several orders of succession: in each, other servers "
              "follow when it fails. The jump cables of a NovaCube do not change which server "
              "follows, only how many hops away it is. Hops are counted over the planned cables, "
              "and every server that has not failed counts as reachable.",
    .plot.table = "failures",
    .plot.x = {.column = "failed", .label = "failed servers, %"},
    .plot.y = {.label = "keys of the server that has the most, over the mean"},
    .plot.series =
        {
            {"torus 2D", "load_max", "network", "torus 2D", STYLE_BOTH},
            {"torus 3D", "load_max", "network", "torus 3D", STYLE_BOTH},
            {"Jellyfish, 4 cables", "load_max", "network", "Jellyfish of 4", STYLE_BOTH},
            {"Jellyfish, 6 cables", "load_max", "network", "Jellyfish of 6", STYLE_BOTH},
        },
    .run = keyspace_run,
};
