#include "flow/concurrent/certificate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"

#define SEED 41

/* Something to certify: a topology, a traffic, a flow and weights. */
struct example {
    struct topology topology;
    struct traffic traffic;
    struct concurrent flow;
    struct certificate_about about;
};

static void example_close(struct example *example)
{
    free(example->flow.rates);
    free(example->flow.weights);
    path_set_fini(&example->flow.flow);
    traffic_fini(&example->traffic);
    topology_fini(&example->topology);
}

static void example_path(struct example *example, const uint32_t *channels, size_t hops,
                         double rate)
{
    struct path_set *flow = &example->flow.flow;
    assert_int_equal(path_set_path(flow, channels, hops, NULL), OK);
    example->flow.rates =
        reallocarray(example->flow.rates, flow->path_count, sizeof *example->flow.rates);
    assert_non_null(example->flow.rates);
    example->flow.rates[flow->path_count - 1] = rate;
}

static uint32_t channel_between(const struct graph *graph, uint32_t from, uint32_t to)
{
    for (uint32_t slot = graph->first[from]; slot < graph->first[from + 1]; slot++)
        if (graph->to[slot] == to)
            return graph->channel[slot];
    fail();
    return 0;
}

/* All-to-all traffic on a ring of four: neighbours directly, opposite nodes both ways round. Every
 * channel is full, and 1/2 is the optimum. */
static void example_ring(struct example *example)
{
    *example = (struct example){
        .about = {.topology = "torus:4", .traffic = CERTIFICATE_ALL_TO_ALL, .seed = 1}};
    assert_int_equal(topology_build(&example->topology, "torus:4", NULL), OK);
    assert_int_equal(traffic_all_to_all(&example->traffic, &example->topology, NULL), OK);
    const struct graph *graph = &example->topology.graph;
    for (size_t i = 0; i < example->traffic.count; i++) {
        uint32_t from = example->traffic.demands[i].from, to = example->traffic.demands[i].to;
        assert_int_equal(path_set_pair(&example->flow.flow, NULL), OK);
        if ((from ^ to) & 1) {
            uint32_t channel = channel_between(graph, from, to);
            example_path(example, &channel, 1, 0.5);
            continue;
        }
        for (uint32_t step = 1; step < 4; step += 2) {
            uint32_t middle = (from + step) % 4;
            uint32_t channels[] = {channel_between(graph, from, middle),
                                   channel_between(graph, middle, to)};
            example_path(example, channels, 2, 0.25);
        }
    }
    example->flow.weights = array_new(8, sizeof *example->flow.weights);
    assert_non_null(example->flow.weights);
    for (int c = 0; c < 8; c++)
        example->flow.weights[c] = 1;
    example->flow.lower = example->flow.upper = 0.5;
}

/* A random walk that never visits a node twice; false if it gets stuck. */
static bool random_path(const struct graph *graph, uint32_t from, uint32_t to, struct rng *rng,
                        uint32_t *channels, size_t *hops)
{
    bool seen[64] = {false};
    seen[from] = true;
    for (*hops = 0; from != to;) {
        uint32_t degree = graph_degree(graph, from), tries = 0;
        uint32_t slot = graph->first[from] + (uint32_t)rng_below(rng, degree);
        while (seen[graph->to[slot]]) {
            if (++tries > 20)
                return false;
            slot = graph->first[from] + (uint32_t)rng_below(rng, degree);
        }
        channels[(*hops)++] = graph->channel[slot];
        from = graph->to[slot];
        seen[from] = true;
    }
    return true;
}

/* Distances by Floyd and Warshall's three loops, and the bound of weights. */
static double oracle_upper(const struct example *example)
{
    const struct graph *graph = &example->topology.graph;
    uint32_t n = graph->node_count;
    double *far = array_new((size_t)n * n, sizeof *far), sum = 0, taken = 0;
    assert_non_null(far);
    for (uint32_t i = 0; i < n * n; i++)
        far[i] = i % (n + 1) ? INFINITY : 0;
    for (uint32_t c = 0; c < graph_channel_count(graph); c++) {
        double *at = &far[graph_channel_from(graph, c) * n + graph_channel_to(graph, c)];
        *at = fmin(*at, example->flow.weights[c]);
        sum += example->flow.weights[c];
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++)
                far[i * n + j] = fmin(far[i * n + j], far[i * n + k] + far[k * n + j]);
    for (size_t i = 0; i < example->traffic.count; i++) {
        const struct demand *demand = &example->traffic.demands[i];
        taken += demand->amount * far[demand->from * n + demand->to];
    }
    free(far);
    return sum / taken;
}

/* A flow along random paths, and random weights: far from optimal, but a certificate only proves
 * its own claims. */
static void example_random(struct example *example, const char *spec, uint64_t seed)
{
    struct rng rng = rng_make(seed, 0);
    uint32_t channels[64];
    size_t hops;
    *example = (struct example){.about = {.traffic = CERTIFICATE_PERMUTATION, .seed = seed}};
    snprintf(example->about.topology, sizeof example->about.topology, "%s", spec);
    assert_int_equal(topology_build(&example->topology, spec, NULL), OK);
    assert_int_equal(traffic_permutation(&example->traffic, &example->topology, seed, NULL), OK);
    const struct graph *graph = &example->topology.graph;
    uint32_t channel_count = graph_channel_count(graph);
    double *load = array_new(channel_count, sizeof *load), most = 0;
    example->flow.weights = array_new(channel_count, sizeof *example->flow.weights);
    assert_true(load && example->flow.weights && graph->node_count <= 64);
    for (size_t i = 0; i < example->traffic.count; i++) {
        const struct demand *demand = &example->traffic.demands[i];
        uint32_t parts = 1 + (uint32_t)rng_below(&rng, 4);
        assert_int_equal(path_set_pair(&example->flow.flow, NULL), OK);
        for (uint32_t part = 0; part < parts; part++) {
            while (!random_path(graph, demand->from, demand->to, &rng, channels, &hops))
                continue;
            example_path(example, channels, hops, demand->amount / parts);
            for (size_t hop = 0; hop < hops; hop++)
                load[channels[hop]] += demand->amount / parts;
        }
    }
    for (uint32_t c = 0; c < channel_count; c++) {
        example->flow.weights[c] = rng_unit(&rng);
        most = fmax(most, load[c]);
    }
    free(load);
    for (size_t p = 0; p < example->flow.flow.path_count; p++)
        example->flow.rates[p] /= most;
    example->flow.lower = 1 / most;
    example->flow.upper = oracle_upper(example);
}

static void example_read(const struct example *example, struct certificate *certificate)
{
    struct text text = {0};
    struct why why = {""};
    assert_int_equal(certificate_write(&text, &example->about, &example->topology,
                                       &example->traffic, &example->flow, &why),
                     OK);
    assert_int_equal(
        certificate_read(certificate, &example->topology, "flow", text.data, text.size, &why), OK);
    text_fini(&text);
}

static void a_written_flow_is_read_back(void **state)
{
    struct example example;
    struct certificate read;
    example_random(&example, "jellyfish:servers=60,switches=20,ports=8,seed=3", SEED);
    example_read(&example, &read);
    assert_string_equal(read.about.topology, example.about.topology);
    assert_int_equal(read.about.traffic, CERTIFICATE_PERMUTATION);
    assert_int_equal(read.about.routing, CERTIFICATE_OPTIMAL);
    assert_int_equal(read.about.seed, SEED);
    assert_int_equal(read.node_count, 20);
    assert_true(read.lower == example.flow.lower && read.upper == example.flow.upper);
    assert_int_equal(read.flow.pair_count, example.traffic.count);
    assert_int_equal(read.flow.path_count, example.flow.flow.path_count);
    for (size_t i = 0; i < example.traffic.count; i++) {
        assert_int_equal(read.demands[i].from, example.traffic.demands[i].from);
        assert_int_equal(read.demands[i].to, example.traffic.demands[i].to);
        assert_true(read.demands[i].amount == example.traffic.demands[i].amount);
        assert_int_equal(read.flow.pair_first[i + 1], example.flow.flow.pair_first[i + 1]);
    }
    for (size_t p = 0; p < read.flow.path_count; p++)
        assert_true(read.rates[p] == example.flow.rates[p]);
    for (size_t hop = 0; hop < read.flow.hop_count; hop++)
        assert_int_equal(read.flow.channels[hop], example.flow.flow.channels[hop] / 2);
    for (uint32_t c = 0; c < graph_channel_count(&example.topology.graph); c++)
        assert_true(read.links[c / 2].weights[c & 1] == example.flow.weights[c]);
    certificate_fini(&read);
    example_close(&example);
}

static void correct_certificates_are_verified(void **state)
{
    static const char *const specs[] = {"torus:2x2x2", "novacube:4x4", "fattree:k=4", "torus:5x3",
                                        "jellyfish:servers=60,switches=20,ports=8,seed=3"};
    print_message("# seed %d\n", SEED);
    for (size_t i = 0; i < 4 * sizeof specs / sizeof *specs; i++) {
        struct example example;
        struct certificate read;
        struct certificate_proof proof;
        struct why why = {""};
        example_random(&example, specs[i / 4], SEED + i);
        example_read(&example, &read);
        enum err err =
            certificate_verify(&read, &example.topology, &example.traffic, NULL, &proof, &why);
        assert_string_equal(why.text, "");
        assert_int_equal(err, OK);
        assert_true(fabs(proof.lower / example.flow.lower - 1) < 1e-12);
        assert_true(fabs(proof.upper / example.flow.upper - 1) < 1e-12);
        assert_true(fabs(proof.load_max - 1) < 1e-12);
        assert_true(proof.lower <= proof.upper);
        certificate_fini(&read);
        example_close(&example);
    }
}

/* Checks what the verifier says about a ring's certificate after a change. */
static void expect(const struct example *example, const struct certificate *certificate,
                   const char *part)
{
    struct certificate_proof proof;
    struct why why = {""};
    enum err err =
        certificate_verify(certificate, &example->topology, &example->traffic, NULL, &proof, &why);
    if (!part) {
        assert_string_equal(why.text, "");
        assert_int_equal(err, OK);
        return;
    }
    assert_int_equal(err, ERR_INPUT);
    if (!strstr(why.text, part))
        fail_msg("'%s' does not say '%s'", why.text, part);
}

static void every_changed_rate_is_found(void **state)
{
    static const double factors[] = {1.01, 0.99, 1 + 1e-7, 1 - 1e-7, 0, -1};
    struct example example;
    struct certificate read;
    example_random(&example, "torus:4x4", SEED);
    example_read(&example, &read);
    expect(&example, &read, NULL);
    for (size_t p = 0; p < read.flow.path_count; p++) {
        for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
            double rate = read.rates[p];
            read.rates[p] *= factors[i];
            expect(&example, &read, factors[i] < 0 ? "a rate is negative" : " carry ");
            read.rates[p] = rate;
        }
    }
    expect(&example, &read, NULL);
    certificate_fini(&read);
    example_close(&example);
}

/* A flow that is larger everywhere, including its claims, overloads a link. */
static void overloaded_links_are_refused(void **state)
{
    struct example example;
    struct certificate read;
    example_ring(&example);
    example_read(&example, &read);
    expect(&example, &read, NULL);
    read.lower *= 1.000001;
    for (size_t p = 0; p < read.flow.path_count; p++)
        read.rates[p] *= 1.000001;
    expect(&example, &read, "link 0 carries 1.000001");
    certificate_fini(&read);
    example_close(&example);
}

static void every_changed_weight_is_found(void **state)
{
    struct example example;
    struct certificate read;
    example_random(&example, "torus:4x4", SEED);
    example_read(&example, &read);
    for (size_t c = 0; c < 2 * read.link_count; c++) {
        double *weight = &read.links[c / 2].weights[c & 1], kept = *weight;
        *weight = kept * 1.01 + 0.001;
        expect(&example, &read, "throughput_upper is ");
        *weight = -kept - 0.001;
        expect(&example, &read, "a weight is negative");
        *weight = NAN;
        expect(&example, &read, "a weight is negative");
        *weight = kept;
    }
    for (size_t e = 0; e < read.link_count; e++)
        read.links[e].weights[0] = read.links[e].weights[1] = 0;
    expect(&example, &read, "no upper bound");
    certificate_fini(&read);
    example_close(&example);
}

static void claims_that_do_not_follow_are_refused(void **state)
{
    struct example example;
    struct certificate read;
    example_ring(&example);
    example_read(&example, &read);
    read.upper = 0.49;
    expect(&example, &read,
           "throughput_upper is 0.49 in the file, but the flow and the weights give 0.5");
    read.upper = 0.5;
    read.lower = 0.51;
    expect(&example, &read, "carry 0.5, but throughput_lower 0.51 times the amount 1 is 0.51");
    read.lower = 0.5;
    read.local = 3;
    expect(&example, &read, "local is 3");
    certificate_fini(&read);
    example_close(&example);
}

static void broken_paths_are_refused(void **state)
{
    struct example example;
    struct certificate read;
    example_ring(&example);
    example_read(&example, &read);
    for (size_t hop = 0; hop < read.flow.hop_count; hop++) {
        uint32_t kept = read.flow.channels[hop];
        for (uint32_t other = 0; other < 6; other++) {
            read.flow.channels[hop] = other;
            expect(&example, &read,
                   other == kept ? NULL
                   : other >= 4  ? "the topology has no link"
                                 : "path");
        }
        read.flow.channels[hop] = kept;
    }
    certificate_fini(&read);
    example_close(&example);
}

static void the_traffic_is_compared(void **state)
{
    struct example example;
    struct certificate read;
    example_ring(&example);
    example_read(&example, &read);
    read.demands[3].amount = 2;
    expect(&example, &read, "demand 4 of the traffic is another one: 1 from ");
    read.demands[3].amount = 1;
    read.demands[3].to ^= 2;
    expect(&example, &read, "demand 4 of the traffic is another one: 1 from ");
    read.demands[3].to ^= 2;
    read.demand_count--;
    expect(&example, &read, "the file has 12 demands, but demand_count is 11");
    read.flow.pair_count--;
    expect(&example, &read, "the file has 11 demands, but the traffic has 12");
    read.flow.pair_count++;
    read.demand_count++;
    expect(&example, &read, NULL);
    /* the same flow carries half the share of a traffic that is twice as much */
    for (size_t i = 0; i < 12; i++)
        read.demands[i].amount = 2;
    read.lower = read.upper = 0.25;
    expect(&example, &read, "demand 1 of the traffic is another one: 1 from ");
    certificate_fini(&read);
    example_close(&example);
}

static void other_topologies_are_refused(void **state)
{
    static const struct {
        const char *spec, *part;
    } others[] = {{"torus:5", "4 nodes and 4 links, but the topology has 5 and 5"},
                  {"torus:2x2", " of the topology joins "}};
    struct example example;
    struct certificate read;
    example_ring(&example);
    example_read(&example, &read);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct topology other;
        struct certificate_proof proof;
        struct why why = {""};
        assert_int_equal(topology_build(&other, others[i].spec, NULL), OK);
        assert_int_equal(certificate_verify(&read, &other, NULL, NULL, &proof, &why), ERR_INPUT);
        assert_non_null(strstr(why.text, others[i].part));
        topology_fini(&other);
    }
    certificate_fini(&read);
    example_close(&example);
}

/* With a set of paths, both bounds use only these. */
static void restricted_routing_allows_only_its_paths(void **state)
{
    struct example example;
    struct certificate read;
    struct certificate_proof proof;
    struct path_set one_way = {0};
    struct why why = {""};
    example_ring(&example);
    example.about.routing = CERTIFICATE_ECMP;
    example.about.ways = 2;
    example_read(&example, &read);
    assert_int_equal(read.about.ways, 2);
    const struct path_set *all = &example.flow.flow;
    assert_int_equal(
        certificate_verify(&read, &example.topology, &example.traffic, all, &proof, &why), OK);
    assert_true(fabs(proof.upper - 0.5) < 1e-12);
    assert_int_equal(
        certificate_verify(&read, &example.topology, &example.traffic, NULL, &proof, &why),
        ERR_INPUT);
    for (size_t i = 0; i < all->pair_count; i++) {
        size_t path = all->pair_first[i], first = all->path_first[path];
        assert_int_equal(path_set_pair(&one_way, NULL), OK);
        assert_int_equal(
            path_set_path(&one_way, all->channels + first, all->path_first[path + 1] - first, NULL),
            OK);
    }
    assert_int_equal(
        certificate_verify(&read, &example.topology, &example.traffic, &one_way, &proof, &why),
        ERR_INPUT);
    assert_non_null(strstr(why.text, "ecmp routing with 2 ways does not choose this path"));
    path_set_fini(&one_way);
    certificate_fini(&read);
    example_close(&example);
}

/* The ring's file with `old` replaced by `new` once. */
static void expect_refused(const struct text *file, const char *old, const char *new,
                           const struct topology *topology, const char *part)
{
    struct text changed = {0};
    struct certificate read;
    struct why why = {""};
    const char *at = strstr(file->data, old);
    assert_non_null(at);
    text_add(&changed, file->data, (size_t)(at - file->data));
    text_puts(&changed, new);
    text_puts(&changed, at + strlen(old));
    assert_int_equal(certificate_read(&read, topology, "flow", changed.data, changed.size, &why),
                     ERR_INPUT);
    if (!strstr(why.text, part))
        fail_msg("'%s' does not say '%s'", why.text, part);
    text_fini(&changed);
}

static void broken_files_are_refused(void **state)
{
    struct example example;
    struct text file = {0};
    example_ring(&example);
    const struct topology *topology = &example.topology;
    assert_int_equal(
        certificate_write(&file, &example.about, topology, &example.traffic, &example.flow, NULL),
        OK);
    static const char *const cases[][3] = {
        {"\"weft_flow\": 1", "\"weft_flow\": 2",
         "line 2: weft_flow is 2, but this program reads only version 1"},
        {"\"weft_flow\": 1,", "", "line 1: a flow file has no \"weft_flow\""},
        {"\"seed\": 1", "\"seed\": -1", "line 6: seed should be a whole number"},
        {"\"seed\": 1", "\"seed\": 1, \"seed\": 2", "line 6: the key \"seed\" is repeated"},
        {"all-to-all", "some-to-all", "line 5: traffic has an unknown value"},
        {"optimal", "best", "line 7: routing has an unknown value"},
        {"\"rate\": 0.5", "\"rate\": NaN", "rate should be a finite number"},
        {"\"rate\": 0.5", "\"rate\": 1e999", "rate should be a finite number"},
        {"\"rate\": 0.5", "\"rate\": \"0.5\"", "rate should be a finite number"},
        {"\"rate\": 0.5, ", "", "a path has no \"rate\""},
        {"\"weights\": [1, 1]", "\"weights\": [1]", "weights should be an array of two values"},
        {"\"weights\": [1, 1]", "\"weights\": [1, 1, 1]",
         "weights should be an array of two values"},
        {"\"weights\": [1, 1]", "\"weights\": [1, Infinity]", "a weight should be a finite"},
        {"\"link\": 1", "\"link\": 3", "found link 3, expected link 1: links must be in order"},
        {"\"from\": 0", "\"from\": 4", "the topology has no node '4'"},
        {"\"from\": 0", "\"from\": -0", "the topology has no node '-0'"},
        {"\"amount\": 1", "\"amount\": null", "amount should be a finite number"},
        {"\"amount\": 1", "\"amount\": 0", "line 20: amount should be above 0"},
        {"\"amount\": 1", "\"amount\": -1", "line 20: amount should be above 0"},
        {"\"to\": 1", "\"to\": 0", "line 20: the demand is from a node to itself"},
        {"\"ways\": 0", "\"ways\": 2", "flow: optimal routing cannot have 2 ways"},
        {"\"optimal\"", "\"ecmp\"", "flow: ecmp routing cannot have 0 ways"},
        {"\"links\": [0]", "\"links\": [0.5]", "a link should be a whole number"},
        {"\"demands\"", "\"orders\"", "has no \"demands\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(&file, cases[i][0], cases[i][1], topology, cases[i][2]);
    for (size_t size = 0; size + 1 < file.size; size++) { /* the last byte is a newline */
        struct certificate read;
        struct why why = {""};
        assert_int_equal(certificate_read(&read, topology, "flow", file.data, size, &why),
                         ERR_INPUT);
        assert_memory_equal(why.text, "flow: line ", 11);
    }
    text_fini(&file);
    example_close(&example);
}

TEST_MAIN(TEST(a_written_flow_is_read_back), TEST(correct_certificates_are_verified),
          TEST(every_changed_rate_is_found), TEST(overloaded_links_are_refused),
          TEST(every_changed_weight_is_found), TEST(claims_that_do_not_follow_are_refused),
          TEST(broken_paths_are_refused), TEST(the_traffic_is_compared),
          TEST(other_topologies_are_refused), TEST(restricted_routing_allows_only_its_paths),
          TEST(broken_files_are_refused))
