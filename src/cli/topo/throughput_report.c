#include "cli/topo/throughput_report.h"

#include <math.h>

#include "cli/show/bracket_text.h"

const char *const throughput_keys[] = {"throughput_lower", "throughput_upper", "gap", "phases",
                                       NULL};
const char *const capacity_keys[] = {"full_capacity_servers", NULL};

/* Each server sends and receives one flow: then a cable between a server and
 * its switch is a limit that the links between switches do not show. */
static bool has_server_rate(const struct throughput *found, const struct topology *topology)
{
    return !topology->direct && (found->about.traffic == CERTIFICATE_PERMUTATION ||
                                 found->about.traffic == CERTIFICATE_LONGEST_MATCHING);
}

/* 0 at least, where rounding turns both sides round. */
static double gap_of(const struct throughput *found)
{
    return found->lower >= found->upper ? 0 : found->upper / found->lower - 1;
}

static void put_string_or_null(struct json *json, const char *key, const char *value)
{
    if (value)
        json_put_string(json, key, value);
    else
        json_put_null(json, key);
}

static void traffic_json(struct json *json, const struct throughput *found)
{
    json_put_string(json, "traffic", certificate_traffic_names[found->about.traffic]);
    put_string_or_null(json, "traffic_file", found->traffic_file);
    json_put_uint(json, "traffic_seed", found->about.seed);
    json_put_uint(json, "demands", found->demands);
    json_put_number(json, "demand_total", found->demand_total);
    json_put_number(json, "local_traffic", found->local);
    if (found->about.traffic == CERTIFICATE_LONGEST_MATCHING)
        json_put_bool(json, "matching_exact", found->matching.exact);
}

static void routing_json(struct json *json, const struct throughput *found)
{
    json_put_string(json, "routing", certificate_routing_names[found->about.routing]);
    if (found->about.routing == CERTIFICATE_OPTIMAL)
        json_put_null(json, "ways");
    else
        json_put_uint(json, "ways", found->about.ways);
}

static void bracket_json(struct json *json, const struct throughput *found,
                         const struct topology *topology)
{
    bool solved = found->plan.mode == THROUGHPUT_SOLVE;
    bool bound = found->plan.mode == THROUGHPUT_BOUND;
    json_put_number(json, "throughput_lower", found->lower);
    json_put_number(json, "throughput_upper", found->upper);
    json_put_number(json, "gap", gap_of(found));
    if (solved) {
        json_put_uint(json, "phases", found->phases);
        json_put_number(json, "gap_wanted", found->plan.gap);
    } else {
        json_put_null(json, "phases");
    }
    put_string_or_null(json, "bound", bound ? "path-length" : NULL);
    if (has_server_rate(found, topology)) {
        json_put_number(json, "server_rate_lower", bound ? NAN : fmin(1, found->lower));
        json_put_number(json, "server_rate_upper", fmin(1, found->upper));
    }
    traffic_json(json, found);
    if (!bound)
        routing_json(json, found);
    put_string_or_null(json, "flow", found->plan.flow);
    json_put_bool(json, "verified", found->verified);
    if (found->verified)
        json_put_number(json, "load_max", found->load_max);
}

static void capacity_json(struct json *json, const struct full_capacity *found)
{
    json_put_uint(json, "full_capacity_servers", found->servers);
    json_put_bool(json, "confirmed", found->servers > 1);
    json_put_uint(json, "servers_before_confirmation", found->servers_found);
    json_put_uint(json, "undecided", found->undecided);
    json_key(json, "steps");
    json_array(json);
    for (size_t i = 0; i < found->step_count; i++) {
        const struct full_capacity_step *step = &found->steps[i];
        bool network = step->verdict != FULL_CAPACITY_NO_NETWORK;
        json_object(json);
        json_put_uint(json, "servers", step->servers);
        json_put_uint(json, "matrix", step->matrix);
        json_put_uint(json, "seed", step->seed);
        json_put_bool(json, "confirming", step->matrix >= FULL_CAPACITY_SEARCH);
        json_put_number(json, "lower", network ? step->lower : NAN);
        json_put_number(json, "upper", network ? step->upper : NAN);
        json_put_uint(json, "phases", step->phases);
        json_put_string(json, "verdict", full_capacity_verdict_name(step->verdict));
        json_end(json, '}');
    }
    json_end(json, ']');
}

void throughput_report_json(struct json *json, const struct throughput *found,
                            const struct topology *topology)
{
    if (found->plan.mode == THROUGHPUT_CAPACITY)
        capacity_json(json, &found->capacity);
    else
        bracket_json(json, found, topology);
}

static void line(struct text *out, const char *label)
{
    text_printf(out, "  %-22s", label);
}

static void unit_text(struct text *out, const struct throughput *found)
{
    if (found->about.traffic == CERTIFICATE_ALL_TO_ALL)
        text_puts(out, " of a link's rate for every ordered pair of servers");
    else if (found->about.traffic == CERTIFICATE_FILE)
        text_puts(out, " times the traffic");
    else
        text_puts(out, " of the server line rate");
}

static void about_text(struct text *out, const struct throughput *found)
{
    const struct certificate_about *about = &found->about;
    if (found->traffic_file)
        text_printf(out, "%s", found->traffic_file);
    else
        text_printf(out, "%s",
                    about->traffic == CERTIFICATE_FILE ? "demands of its own"
                                                       : certificate_traffic_names[about->traffic]);
    if (about->traffic == CERTIFICATE_PERMUTATION)
        text_printf(out, ", seed %llu", (unsigned long long)about->seed);
    if (about->routing != CERTIFICATE_OPTIMAL && found->plan.mode != THROUGHPUT_BOUND)
        text_printf(out, "; %s, %u ways", certificate_routing_names[about->routing], about->ways);
}

static void throughput_text(struct text *out, const struct throughput *found,
                            const struct topology *topology)
{
    double gap = gap_of(found);
    line(out, "throughput");
    bracket_text(out, found->lower, found->upper, 4);
    unit_text(out, found);
    text_printf(out, "\n  %-22s(", "");
    about_text(out, found);
    text_printf(out, "; gap %.2g %%", 100 * gap);
    if (found->plan.mode == THROUGHPUT_SOLVE) {
        text_puts(out, " in ");
        text_count(out, found->phases, "phase", "phases");
        if (gap > found->plan.gap)
            text_printf(out, ", not the %g %% asked for", 100 * found->plan.gap);
    }
    text_puts(out, ")\n");
    if (has_server_rate(found, topology) && found->upper > 1) {
        line(out, "server rate");
        if (found->lower >= 1) {
            text_puts(out, "1: full; the servers' own cables are the limit\n");
        } else {
            bracket_text(out, found->lower, 1, 6);
            text_puts(out, "\n");
        }
    }
    if (found->verified) {
        line(out, "verified");
        text_printf(out, "both sides, %s%s\n", found->plan.flow ? "from " : "by separate code",
                    found->plan.flow ? found->plan.flow : "");
    } else if (found->plan.flow) {
        line(out, "flow");
        text_printf(out, "%s\n", found->plan.flow);
    }
}

static void bound_text(struct text *out, const struct throughput *found)
{
    line(out, "throughput");
    text_puts(out, "at most ");
    bracket_text_upper(out, found->upper, 6);
    unit_text(out, found);
    text_printf(out, "\n  %-22s(", "");
    about_text(out, found);
    text_puts(out, "; a bound by path lengths, no flow)\n");
}

static void capacity_text(struct text *out, const struct full_capacity *found,
                          const struct topology *topology)
{
    line(out, "full capacity");
    text_count(out, found->servers, "server", "servers");
    text_printf(out, " on %u switches", topology->graph.node_count);
    if (found->servers > 1)
        text_printf(out, ", confirmed on %d permutations",
                    FULL_CAPACITY_SEARCH + FULL_CAPACITY_CONFIRM);
    text_puts(out, "\n");
    if (found->servers < found->servers_found)
        text_printf(out, "  %-22sthe search found %u, which a further permutation refuted\n", "",
                    found->servers_found);
    if (found->undecided) {
        text_printf(out, "  %-22s", "");
        text_count(out, found->undecided, "step was", "steps were");
        text_puts(out, " not decided within the gap and taken as no\n");
    }
    text_printf(out, "\n  %9s %11s %10s %10s %7s   full rate\n", "servers", "permutation", "lower",
                "upper", "phases");
    for (size_t i = 0; i < found->step_count; i++) {
        const struct full_capacity_step *step = &found->steps[i];
        text_printf(out, "  %9u %11u ", step->servers, step->matrix + 1);
        if (step->verdict == FULL_CAPACITY_NO_NETWORK || isinf(step->lower))
            text_printf(out, "%10s %10s %7s", "-", "-", "-");
        else
            text_printf(out, "%10.6f %10.6f %7llu", step->lower, step->upper,
                        (unsigned long long)step->phases);
        text_printf(out, "   %s\n", full_capacity_verdict_name(step->verdict));
    }
}

void throughput_report_text(struct text *out, const struct throughput *found,
                            const struct topology *topology)
{
    if (found->plan.mode == THROUGHPUT_CAPACITY)
        capacity_text(out, &found->capacity, topology);
    else if (found->plan.mode == THROUGHPUT_BOUND)
        bound_text(out, found);
    else
        throughput_text(out, found, topology);
}
