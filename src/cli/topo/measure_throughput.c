#include "cli/topo/measure_throughput.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/core/file.h"
#include "cli/core/load.h"
#include "cli/core/parallel.h"
#include "cli/core/progress.h"
#include "flow/concurrent/concurrent.h"
#include "flow/concurrent/length_bound.h"
#include "routing/paths/k_shortest.h"

/* Limits above which a flow takes hours, or more memory than machines have. */
#define DEMANDS_MAX 40000000.0
#define EFFORT_MAX  2e10 /* sources times channels: one round of shortest paths */

void throughput_fini(struct throughput *found)
{
    full_capacity_fini(&found->capacity);
}

/* --- traffic --- */

static enum err refuse_size(const char *traffic, double count, const char *what, struct why *why)
{
    return why_fail(why, ERR_USAGE, "--throughput %s: %.3g %s; --bound gives an upper bound",
                    traffic, count, what);
}

/* Refuses a word that is neither a pattern nor a readable file. */
static enum err word_refuse(const char *word, enum err err, const struct why *reason,
                            struct why *why)
{
    struct nearest nearest = nearest_make(word, strlen(word));
    for (int kind = 0; kind < CERTIFICATE_FILE; kind++)
        nearest_try(&nearest, certificate_traffic_names[kind]);
    if (strchr(word, '/') || strcmp(word, "-") == 0)
        return why_fail(why, err, "%s", reason->text);
    return why_fail(why, err, "%s%s; patterns are permutation, all-to-all, longest-matching",
                    reason->text, nearest_hint(&nearest));
}

static enum err file_traffic(struct traffic *traffic, const struct topology *topology,
                             const char *path, struct why *why)
{
    char *data;
    size_t size;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    struct why reason = {""};
    enum err err = file_read(path, &data, &size, &reason);
    if (err)
        return word_refuse(path, err, &reason, why);
    err = traffic_read(traffic, topology, name, data, size, why);
    free(data);
    return err;
}

/* Returns the pattern of that name; any other word is a file. */
static enum certificate_traffic traffic_kind(const char *word)
{
    int kind = 0;
    while (kind < CERTIFICATE_FILE && strcmp(word, certificate_traffic_names[kind]) != 0)
        kind++;
    return (enum certificate_traffic)kind;
}

static enum err make_pattern(struct throughput *found, struct traffic *traffic,
                             const struct topology *topology, const char *word, uint64_t seed,
                             struct why *why)
{
    switch (traffic_kind(word)) {
    case CERTIFICATE_PERMUTATION:
        return traffic_permutation(traffic, topology, seed, why);
    case CERTIFICATE_ALL_TO_ALL:
        return traffic_all_to_all(traffic, topology, why);
    case CERTIFICATE_LONGEST_MATCHING:
        return longest_matching(traffic, topology, &found->matching, why);
    case CERTIFICATE_FILE:
    case CERTIFICATE_TRAFFIC_COUNT:
        break;
    }
    assert_unreachable();
}

static enum err make_traffic(struct throughput *found, struct traffic *traffic,
                             const struct topology *topology, const char *word, uint64_t seed,
                             struct why *why)
{
    enum certificate_traffic kind = traffic_kind(word);
    double hosts = topology_host_count(topology);
    struct why reason = {""};
    if (kind == CERTIFICATE_FILE) {
        found->traffic_file = word;
        return file_traffic(traffic, topology, word, why);
    }
    if (kind == CERTIFICATE_ALL_TO_ALL && hosts * (hosts - 1) > DEMANDS_MAX)
        return refuse_size(word, hosts * (hosts - 1), "demands are too many to compute a flow",
                           why);
    enum err err = make_pattern(found, traffic, topology, word, seed, &reason);
    return err ? load_refuse(found->about.topology, err, &reason, why) : OK;
}

/* Without traffic on links the throughput would be unlimited. */
static enum err refuse_local(const struct throughput *found, struct why *why)
{
    const char *word = found->plan.traffic;
    return why_fail(why, ERR_INPUT, "%s: all traffic stays within its node, so no link carries any",
                    strcmp(word, "-") == 0 ? "standard input" : word);
}

/* Refuses a demand that has no path, and says what the user can do. In a traffic
 * file such a demand was refused before, with its line. */
static enum err check_reach(const struct traffic *traffic, const struct topology *topology,
                            bool failed, struct why *why)
{
    struct why reason = {""};
    enum err err = traffic_check_reach(traffic, topology, &reason);
    if (err)
        why_set(why, "%s%s", reason.text,
                err != ERR_NO ? ""
                : failed      ? "; let fewer links or nodes fail, or use another --seed"
                              : "; measure each part of the network separately");
    return err;
}

static void describe_traffic(struct throughput *found, const struct demand *demands, size_t count,
                             double local)
{
    found->demands = count;
    found->local = local;
    found->demand_total = 0;
    for (size_t i = 0; i < count; i++)
        found->demand_total += demands[i].amount;
}

static enum err find_paths(struct path_set *paths, const struct certificate_about *about,
                           const struct topology *topology, const struct traffic *traffic,
                           struct why *why)
{
    if (about->routing == CERTIFICATE_OPTIMAL)
        return OK;
    enum k_shortest_rule rule =
        about->routing == CERTIFICATE_ECMP ? K_SHORTEST_EQUAL : K_SHORTEST_ANY;
    return k_shortest_traffic(paths, topology, traffic, about->ways, rule, about->seed, why);
}

/* --- a flow --- */

struct bar {
    const char *title;
    double goal;  /* the gap at which the bar is full */
    double worst; /* the largest gap so far */
};

/* Rounds get longer as the gap closes; by the logarithm of the gap the bar moves steadily. */
static void show_gap(void *context, double lower, double upper)
{
    struct bar *bar = context;
    double gap = upper / lower - 1, share = 1;
    bar->worst = fmax(bar->worst, gap);
    if (gap > bar->goal && bar->worst > bar->goal)
        share = log(bar->worst / gap) / log(bar->worst / bar->goal);
    progress_show(bar->title, (uint64_t)(1000 * share), 1000);
}

static enum err check_effort(const struct throughput *found, const struct topology *topology,
                             const struct traffic *traffic, struct why *why)
{
    double sources = 0;
    for (size_t i = 0; i < traffic->count; i++)
        sources += i == 0 || traffic->demands[i].from != traffic->demands[i - 1].from;
    double effort = sources * 2.0 * topology->graph.link_count;
    if (found->about.routing == CERTIFICATE_OPTIMAL && effort > EFFORT_MAX)
        return refuse_size(found->plan.traffic, effort,
                           "channels to search in each round are too many to compute a flow", why);
    return OK;
}

/* Verifies the certificate and takes its bounds. */
static enum err prove(struct throughput *found, const struct topology *topology,
                      const struct traffic *traffic, const struct path_set *paths,
                      const struct certificate *certificate, struct why *why)
{
    struct certificate_proof proof;
    enum err err = certificate_verify(
        certificate, topology, traffic,
        certificate->about.routing == CERTIFICATE_OPTIMAL ? NULL : paths, &proof, why);
    if (err) /* the file is readable, but it is no proof for this traffic */
        return err == ERR_INPUT ? ERR_NO : err;
    found->verified = true;
    found->lower = proof.lower;
    found->upper = proof.upper;
    found->load_max = proof.load_max;
    return OK;
}

static enum err certify(struct throughput *found, const struct topology *topology,
                        const struct traffic *traffic, const struct path_set *paths,
                        const struct concurrent *flow, struct why *why)
{
    const char *name = found->plan.flow ? found->plan.flow : "the flow";
    struct text text = {0};
    struct certificate certificate;
    enum err err = certificate_write(&text, &found->about, topology, traffic, flow, why);
    if (!err && found->plan.verify) {
        err = certificate_read(&certificate, topology, name, text.data, text.size, why);
        if (!err) {
            err = prove(found, topology, traffic, paths, &certificate, why);
            certificate_fini(&certificate);
        }
    }
    if (!err && found->plan.flow)
        err = file_write(found->plan.flow, &text, why);
    text_fini(&text);
    return err;
}

static enum err solve(struct throughput *found, const struct topology *topology,
                      const struct traffic *traffic, struct why *why)
{
    struct bar bar = {.title = "throughput", .goal = found->plan.gap};
    struct path_set paths = {0};
    struct concurrent flow = {0};
    struct concurrent_options options = {
        .gap = found->plan.gap, .progress = show_gap, .context = &bar};
    enum err err = find_paths(&paths, &found->about, topology, traffic, why);
    if (!err) {
        options.paths = found->about.routing == CERTIFICATE_OPTIMAL ? NULL : &paths;
        err = concurrent_solve(&flow, topology, traffic, &options, why);
    }
    if (!err) {
        found->lower = flow.lower;
        found->upper = flow.upper;
        found->phases = flow.phases;
        if (found->plan.verify || found->plan.flow)
            err = certify(found, topology, traffic, &paths, &flow, why);
    }
    concurrent_fini(&flow);
    path_set_fini(&paths);
    return err;
}

static enum err measure_flow(struct throughput *found, const struct topology *topology, bool failed,
                             struct why *why)
{
    struct traffic traffic = {0};
    enum err err =
        make_traffic(found, &traffic, topology, found->plan.traffic, found->plan.seed, why);
    if (err)
        return err;
    describe_traffic(found, traffic.demands, traffic.count, traffic.local);
    err = traffic.count ? check_reach(&traffic, topology, failed, why) : refuse_local(found, why);
    if (!err)
        err = check_effort(found, topology, &traffic, why);
    if (!err)
        err = solve(found, topology, &traffic, why);
    traffic_fini(&traffic);
    return err;
}

/* --- a certificate from a file --- */

/* Verifies that the certificate is for the traffic of --against, or else for the
 * pattern that it names. If it names a traffic file, only its own demands are
 * known. */
static enum err verify_read(struct throughput *found, const struct topology *topology,
                            const struct certificate *certificate, struct why *why)
{
    const char *word = found->plan.traffic;
    uint64_t seed = word ? found->plan.seed : certificate->about.seed;
    bool known = word || certificate->about.traffic != CERTIFICATE_FILE;
    struct traffic traffic = {0};
    struct path_set paths = {0};
    enum err err = OK;
    if (!word)
        word = certificate_traffic_names[certificate->about.traffic];
    if (known)
        err = make_traffic(found, &traffic, topology, word, seed, why);
    if (err)
        return err;
    if (certificate->about.routing != CERTIFICATE_OPTIMAL) {
        const struct traffic own = {.demands = certificate->demands,
                                    .count = certificate->flow.pair_count,
                                    .name = certificate->name};
        err = find_paths(&paths, &certificate->about, topology, &own, why);
    }
    if (!err)
        err = prove(found, topology, known ? &traffic : NULL, &paths, certificate, why);
    path_set_fini(&paths);
    traffic_fini(&traffic);
    return err;
}

static enum err verify_file(struct throughput *found, const struct topology *topology,
                            struct why *why)
{
    const char *path = found->plan.flow;
    struct certificate certificate;
    char *data;
    size_t size;
    enum err err = file_read(path, &data, &size, why);
    if (err)
        return err;
    err = certificate_read(&certificate, topology, strcmp(path, "-") == 0 ? "standard input" : path,
                           data, size, why);
    free(data);
    if (err)
        return err;
    found->about = certificate.about;
    describe_traffic(found, certificate.demands, certificate.flow.pair_count, certificate.local);
    err = verify_read(found, topology, &certificate, why);
    certificate_fini(&certificate);
    return err;
}

/* --- a bound --- */

struct hops_job {
    const struct graph *graph;
    const struct demand *demands;
    uint32_t *hops;
};

static enum err hops_work(void *context, uint32_t thread, uint32_t first, uint32_t count,
                          struct why *why)
{
    const struct hops_job *job = context;
    (void)thread;
    return length_bound_hops(job->graph, job->demands + first, count, job->hops + first, why);
}

/* Computes the sum of amount times hops over all demands, with all threads. */
static enum err sum_hops(const struct throughput *found, const struct topology *topology,
                         const struct traffic *traffic, double *sum, struct why *why)
{
    struct hops_job hops = {.graph = &topology->graph, .demands = traffic->demands};
    const struct parallel_job job = {
        .title = "path lengths",
        .total = (uint32_t)traffic->count,
        .step = 1024,
        .work = hops_work,
        .context = &hops,
    };
    if (traffic->count > UINT32_MAX)
        return why_fail(why, ERR_USAGE, "--bound: %zu demands are more than it can handle",
                        traffic->count);
    hops.hops = array_new(traffic->count, sizeof *hops.hops);
    if (!hops.hops)
        return why_memory(why);
    enum err err = parallel_run(&job, found->plan.threads, why);
    if (!err)
        *sum = length_bound_sum(traffic->demands, traffic->count, hops.hops);
    free(hops.hops);
    return err;
}

static enum err bound_demands(struct throughput *found, const struct topology *topology,
                              bool failed, struct why *why)
{
    struct traffic traffic = {0};
    double sum = 0;
    enum err err =
        make_traffic(found, &traffic, topology, found->plan.traffic, found->plan.seed, why);
    if (err)
        return err;
    describe_traffic(found, traffic.demands, traffic.count, traffic.local);
    err = check_reach(&traffic, topology, failed, why);
    if (!err && found->about.traffic == CERTIFICATE_LONGEST_MATCHING)
        sum = (double)found->matching.length;
    else if (!err)
        err = sum_hops(found, topology, &traffic, &sum, why);
    if (!err)
        found->upper = length_bound(&topology->graph, sum);
    traffic_fini(&traffic);
    return err;
}

/* Computes the bound for all pairs of servers, without listing them. */
static enum err bound_all(struct throughput *found, const struct topology *topology,
                          const struct distance_tally *tally, struct why *why)
{
    double hosts = topology_host_count(topology), servers = topology->server_count;
    if (servers < 2)
        return why_fail(why, ERR_USAGE, "%s: all-to-all traffic needs at least two servers",
                        found->about.topology);
    if (tally->servers_apart)
        return why_fail(why, ERR_NO,
                        "all-to-all: %llu pairs of servers have no path; measure each part of the "
                        "network separately",
                        (unsigned long long)tally->servers_apart / 2);
    found->demands = (uint64_t)(hosts * (hosts - 1));
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        found->local += (double)topology->sites[v].servers * (topology->sites[v].servers - 1.0);
    found->demand_total = servers * (servers - 1) - found->local;
    found->upper = length_bound(&topology->graph, length_bound_all(tally));
    return OK;
}

static enum err measure_bound(struct throughput *found, const struct topology *topology,
                              bool failed, const struct distance_tally *tally, struct why *why)
{
    found->lower = NAN;
    enum err err = found->about.traffic == CERTIFICATE_ALL_TO_ALL
                       ? bound_all(found, topology, tally, why)
                       : bound_demands(found, topology, failed, why);
    if (!err && !isfinite(found->upper))
        err = refuse_local(found, why);
    return err;
}

/* --- full capacity --- */

/* Two titles, used in turn: while one is shown, the other is written. */
struct titles {
    char text[2][64];
    int current;
};

static void show_step(void *context, const struct full_capacity_step *step)
{
    struct titles *titles = context;
    titles->current ^= 1;
    snprintf(titles->text[titles->current], sizeof titles->text[0],
             "full capacity, %u servers, permutation %u", step->servers, step->matrix + 1);
    progress_show(titles->text[titles->current], 0, 0);
}

static enum err measure_capacity(struct throughput *found, const char *spec, struct why *why)
{
    static struct titles titles; /* the progress line may use a title after this call */
    const struct full_capacity_options options = {
        .seed = found->plan.seed, .gap = found->plan.gap, .begin = show_step, .context = &titles};
    if (strncmp(spec, "jellyfish:", strlen("jellyfish:")) != 0)
        return why_fail(why, ERR_USAGE,
                        "--full-capacity: %.100s: expected the SPEC of a Jellyfish, because the "
                        "network is built again for each number of servers",
                        spec);
    return full_capacity_find(&found->capacity, spec, &options, why);
}

/* Copies the part of the name that fits and is valid UTF-8; a path may be longer or invalid. */
static void name_topology(struct certificate_about *about, const char *spec)
{
    size_t size = strlen(spec);
    size = size < sizeof about->topology ? size : sizeof about->topology - 1;
    size = utf8_valid(spec, size);
    memcpy(about->topology, spec, size);
    about->topology[size] = '\0';
}

enum err throughput_measure(struct throughput *found, const struct throughput_plan *plan,
                            const struct topology *topology, const char *spec, bool failed,
                            const struct distance_tally *tally, struct why *why)
{
    *found = (struct throughput){.plan = *plan};
    found->about = (struct certificate_about){
        .traffic = plan->traffic ? traffic_kind(plan->traffic) : CERTIFICATE_FILE,
        .routing = plan->routing,
        .ways = plan->ways,
        .seed = plan->seed,
    };
    name_topology(&found->about, spec);
    switch (plan->mode) {
    case THROUGHPUT_SOLVE:
        return measure_flow(found, topology, failed, why);
    case THROUGHPUT_VERIFY:
        return verify_file(found, topology, why);
    case THROUGHPUT_BOUND:
        return measure_bound(found, topology, failed, tally, why);
    case THROUGHPUT_CAPACITY:
        return measure_capacity(found, spec, why);
    case THROUGHPUT_NONE:
        break;
    }
    return OK;
}
