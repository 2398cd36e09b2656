/* camcube_links: figures 4a and 4b of Costa, Donnelly, O'Shea, Rowstron, "CamCubeOS: A Key-based
 * Network Stack for 3D Torus Cluster Topologies" (HPDC 2013): throughput and processor load of
 * servers that saturate 1 to 6 of their links. */
#include <math.h>

#include "measured/camcube/camcube_load.h"
#include "measured/crowd.h"
#include "measured/figures.h"

#define RATE_REAL      8000000u    /* bits a second; low, as 27 servers share the cores */
#define RATE_SIMULATED 1000000000u /* as in the paper */

enum world_kind { REAL, SIMULATED, NOVACUBE, JELLYFISH, WORLDS };

static const struct {
    const char *word, *spec;
} worlds[WORLDS] = {
    [REAL] = {"real", "torus:3x3x3"},
    [SIMULATED] = {"simulated", "torus:3x3x3"},
    [NOVACUBE] = {"simulated novacube", "novacube:3x3x3"},
    [JELLYFISH] = {"simulated jellyfish", "jellyfish:n=27,degree=6"},
};

static struct load_job job_make(const struct figure_call *call, enum world_kind world)
{
    return (struct load_job){
        .rate = world == REAL ? RATE_REAL : RATE_SIMULATED,
        .links = call->quick ? 0x43 : 0x7f,
        .seconds = world == REAL ? call->quick ? 0.3 : 2
                   : call->quick ? 0.02
                                 : 0.1,
        .spec = worlds[world].spec,
        .processes = 27,
        .seed = call->seed,
    };
}

static bool is_tried(const struct load_job *job, unsigned links)
{
    return job->links >> links & 1;
}

/* ---- figure 4a ---- */

/* Returns the largest distance of a server's throughput from the median, in percent of the
 * median. */
static double deviation(const struct load_point *point)
{
    return 100 * fmax(point->high - point->share, point->share - point->low) / point->share;
}

static double paper_standard(unsigned links)
{
    return links < 6 ? 0.97 : 0.91;
}

static void throughput_rows(struct figure_table *table, const struct load_found *found,
                            const struct load_job *job, const char *world)
{
    for (unsigned links = 1; links <= CAMCUBE_LINKS_MAX; links++) {
        double far = 0;
        if (!is_tried(job, links))
            continue;
        for (int kind = 0; kind < LOAD_KINDS; kind++)
            far = fmax(far, deviation(&found->points[kind][links]));
        figure_row_named(table, world,
                         (double[]){links, found->points[LOAD_JUMBO][links].share,
                                    found->points[LOAD_STANDARD][links].share,
                                    found->points[LOAD_AGGREGATED][links].share, far,
                                    paper_standard(links)});
    }
}

/* Returns the lowest throughput that packets of this kind reach with 1 to `last` links. */
static double lowest(const struct load_found *found, const struct load_job *job,
                     enum load_kind kind, unsigned last)
{
    double low = INFINITY;
    for (unsigned links = 1; links <= last; links++)
        if (is_tried(job, links))
            low = fmin(low, found->points[kind][links].share);
    return low;
}

static double farthest(const struct load_found *found, const struct load_job *job)
{
    double far = 0;
    for (int kind = 0; kind < LOAD_KINDS; kind++)
        for (unsigned links = 1; links <= CAMCUBE_LINKS_MAX; links++)
            if (is_tried(job, links))
                far = fmax(far, deviation(&found->points[kind][links]));
    return far;
}

static void throughput_claims(struct figure_result *result, const struct load_found *found,
                              const struct load_job *job, enum world_kind world)
{
    const char *word = worlds[world].word;
    figure_claim(result, "fig 4a", figure_text(result, "%s: jumbo, lowest", word),
                 says_above(0.98, NULL), lowest(found, job, LOAD_JUMBO, 6), NULL);
    figure_claim(result, "fig 4a", figure_text(result, "%s: 1,500 B, lowest up to L = 5", word),
                 says_equal(0.97, 0.01, NULL), lowest(found, job, LOAD_STANDARD, 5), NULL);
    figure_claim(result, "fig 4a", figure_text(result, "%s: 1,500 B at L = 6", word),
                 says_equal(0.91, 0.01, NULL), found->points[LOAD_STANDARD][6].share, NULL);
    figure_claim(result, "fig 4a", figure_text(result, "%s: 1,500 B aggregated, lowest", word),
                 says_above(0.98, NULL), lowest(found, job, LOAD_AGGREGATED, 6), NULL);
    figure_claim(result, "section 4.2.1",
                 figure_text(result, "%s: largest distance of a server to the median", word),
                 says_at_most(1.28, "%"), farthest(found, job), NULL);
}

static enum err fig4a_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    struct figure_table *table = figure_table_add(
        result, "throughput",
        "world, links, jumbo, standard, aggregated, deviation (%), paper_standard");
    for (int world = 0; world < WORLDS; world++) {
        struct load_job job = job_make(call, (enum world_kind)world);
        struct load_found found;
        enum err err =
            world == REAL ? load_measure(&found, &job, why) : load_simulate(&found, &job, why);
        if (err)
            return err;
        throughput_rows(table, &found, &job, worlds[world].word);
        if (world <= SIMULATED) /* the paper measures only a torus */
            throughput_claims(result, &found, &job, (enum world_kind)world);
        figure_progress(call, (uint64_t)world + 1, WORLDS);
    }
    return OK;
}

const struct figure figure_cam_fig4a = {
    .name = "cam-fig4a",
    .paper = "CamCubeOS",
    .what = "throughput of servers that saturate L links, as a share of what these can carry",
    .full = {"27 processes, links of 8 Mb/s, L = 1 to 6, 2 s each; simulated: 1 Gb/s, 0.1 s each, "
             "also a NovaCube and a Jellyfish of 27 servers",
             .seconds = 70},
    .quick = {"27 processes, links of 8 Mb/s, L = 1 and 6, 0.3 s each; simulated: 20 ms each, "
              "also a NovaCube and a Jellyfish of 27 servers",
              .seconds = 8},
    .measured = true,
    .choice =
        "Throughput is what a server received plus what its neighbours received from it, divided "
        "by 2 L times the rate of a link; shown is the median of the servers. Bytes are those of "
        "packets with weft's header of 40 bytes (8,940 and 1,500 bytes). The 38 bytes that "
        "Ethernet adds to a frame occupy the link but do not count, so 1,500 B packets reach at "
        "most 1,500 / 1,538 = 0.975. \"aggregated\" puts several 1,500 B packets into one frame. "
        "Real links are limited to a rate that all processes together can handle on this machine. "
        "The paper's \"close to maximum\" is taken as above 0.98. A server sends over its first L "
        "links and receives over as many; in a Jellyfish, where links have no directions, servers "
        "receive over different numbers of links.",
    .plot.table = "throughput",
    .plot.x = {.column = "links", .label = "links that each server saturates", .step = 1},
    .plot.y = {.label = "share of what they can carry"},
    .plot.series =
        {
            {"jumbo", "jumbo", "world", "real", STYLE_BOTH},
            {"1,500 B", "standard", "world", "real", STYLE_BOTH},
            {"1,500 B aggregated", "aggregated", "world", "real", STYLE_BOTH},
            {"jumbo, simulated", "jumbo", "world", "simulated", STYLE_POINTS},
            {"1,500 B, simulated", "standard", "world", "simulated", STYLE_POINTS},
            {"aggregated, simulated", "aggregated", "world", "simulated", STYLE_POINTS},
            {"1,500 B, in the paper", "paper_standard", "world", "real", STYLE_PAPER},
        },
    .run = fig4a_run,
};

/* ---- figure 4b ---- */

static void cpu_tables(struct figure_result *result, const struct load_found *found,
                       const struct load_job *job)
{
    struct figure_table *cpu =
        figure_table_add(result, "processor", "links, jumbo (%), standard (%), aggregated (%)");
    struct figure_table *cost = figure_table_add(
        result, "cost", "kind, links, packets (K/s), per_packet (us), per_megabyte (us)");
    double machine = crowd_cores();
    for (unsigned links = 0; links <= CAMCUBE_LINKS_MAX; links++) {
        struct figure_cell cells[LOAD_KINDS + 1] = {figure_number(links)};
        if (!is_tried(job, links))
            continue;
        for (int kind = 0; kind < LOAD_KINDS; kind++) {
            const struct load_point *point = &found->points[kind][links];
            double bytes = kind == LOAD_JUMBO ? 8940 : 1500;
            cells[kind + 1] = figure_number(100 * point->cores / machine);
            if (links)
                figure_row_named(cost, load_kind_words[kind],
                                 (double[]){links, point->packets * 1e-3,
                                            1e6 * point->cores / point->packets,
                                            1e12 * point->cores / (point->packets * bytes)});
        }
        figure_row(cpu, cells);
    }
}

static void cpu_claims(struct figure_result *result, const struct load_found *found)
{
    double cores[LOAD_KINDS], idle = 0;
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        cores[kind] = found->points[kind][6].cores;
        idle = fmax(idle, found->points[kind][0].cores);
    }
    figure_claim(result, "fig 4b", "L = 6, 1,500 B: load aggregated over not aggregated",
                 says_below(45.0 / 87, NULL), cores[LOAD_AGGREGATED] / cores[LOAD_STANDARD], NULL);
    figure_claim(result, "fig 4b", "L = 6: load of jumbo over 1,500 B", says_below(22.0 / 87, NULL),
                 cores[LOAD_JUMBO] / cores[LOAD_STANDARD], NULL);
    figure_claim(result, "fig 4b", "L = 6: load of jumbo over 1,500 B aggregated",
                 says_below(1, NULL), cores[LOAD_JUMBO] / cores[LOAD_AGGREGATED], NULL);
    figure_claim(result, "fig 4b", "L = 0: load of this machine by all servers", says_below(1, "%"),
                 100 * idle / crowd_cores(), NULL);
    figure_claim(result, "fig 4b", "L = 6, 1,500 B: load of one server", says_above(87, "%"), NAN,
                 "each server of the paper had eight hyper-threads for 12 Gb/s; here 27 servers "
                 "share one machine, and the links are slowed down to match");
}

static enum err fig4b_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    struct load_job job = job_make(call, REAL);
    struct load_found found;
    enum err err = load_measure(&found, &job, why);
    if (err)
        return err;
    cpu_tables(result, &found, &job);
    cpu_claims(result, &found);
    return OK;
}

const struct figure figure_cam_fig4b = {
    .name = "cam-fig4b",
    .paper = "CamCubeOS",
    .what = "processor load of servers that saturate L links each",
    .full = {"27 processes, links of 8 Mb/s, L = 0 to 6, 2 s each", .seconds = 70},
    .quick = {"27 processes, links of 8 Mb/s, L = 0, 1 and 6, 0.3 s each", .seconds = 8},
    .measured = true,
    .choice =
        "Load is the processor time of all 27 processes, user and system, divided by the time of "
        "all cores of this machine; a process that has nothing to do sleeps at once. There is no "
        "network card: a packet is copied from one process into the memory of another. So only "
        "the order of the kinds of packets can be compared with the paper. \"Close to zero\" is "
        "taken as below 1 %.",
    .plot.table = "processor",
    .plot.x = {.column = "links", .label = "links that each server saturates", .step = 1},
    .plot.y = {.label = "processor time (% of the machine)"},
    .plot.series =
        {
            {"jumbo", "jumbo", NULL, NULL, STYLE_BOTH},
            {"1,500 B", "standard", NULL, NULL, STYLE_BOTH},
            {"1,500 B aggregated", "aggregated", NULL, NULL, STYLE_BOTH},
        },
    .run = fig4b_run,
};
