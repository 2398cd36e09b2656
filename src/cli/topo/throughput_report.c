#include "cli/topo/throughput_report.h"

#include <math.h>

#include "cli/show/bracket_text.h"

const char *const throughput_keys[] = {"throughput_lower", "throughput_upper", "gap", "phases",
                                       NULL};
const char *const capacity_keys[] = {"full_capacity_servers", NULL};

/* If each server sends and receives one flow, the cable between a server and its
 * switch is a limit, which the links between switches do not show. */
static bool has_server_rate(const struct throughput *found, const struct topology *topology)
{
    return !topology->direct && (found->about.traffic == CERTIFICATE_PERMUTATION ||
                                 found->about.traffic == CERTIFICATE_LONGEST_MATCHING);
}

/* Returns 0 if rounding has swapped the bounds. */
static double gap_of(const struct throughput *found)
{
    return found->lower >= found->upper ? 0 : found->upper / found->lower - 1;
}

bool throughput_gap_missed(const struct throughput *found)
{
    return (found->plan.mode == THROUGHPUT_SOLVE && gap_of(found) > found->plan.gap) ||
           (found->plan.mode == THROUGHPUT_CAPACITY && found->capacity.undecided > 0);
}

static const char *unit_of(const struct throughput *found)
{
    if (found->about.traffic == CERTIFICATE_ALL_TO_ALL)
        return " of a link's rate for every ordered pair of servers";
    if (found->about.traffic == CERTIFICATE_FILE)
        return " times the traffic";
    return " of the server line rate";
}

static void about_put(struct result *result, const struct throughput *found)
{
    const struct certificate_about *about = &found->about;
    const char *traffic = about->traffic == CERTIFICATE_FILE
                              ? "demands of its own"
                              : certificate_traffic_names[about->traffic];
    struct text *words = result_words(result_hide(result), "about");
    text_puts(words, found->traffic_file ? found->traffic_file : traffic);
    if (about->traffic == CERTIFICATE_PERMUTATION)
        text_printf(words, ", seed %llu", (unsigned long long)about->seed);
    if (about->routing != CERTIFICATE_OPTIMAL && found->plan.mode != THROUGHPUT_BOUND)
        text_printf(words, "; %s, %u ways", certificate_routing_names[about->routing], about->ways);
}

static void traffic_put(struct result *result, const struct throughput *found)
{
    result_string(result, "traffic", certificate_traffic_names[found->about.traffic]);
    result_string(result, "traffic_file", found->traffic_file);
    result_uint(result, "traffic_seed", found->about.seed);
    result_uint(result, "demands", found->demands);
    result_number(result, "demand_total", found->demand_total);
    result_number(result, "local_traffic", found->local);
    if (found->about.traffic == CERTIFICATE_LONGEST_MATCHING)
        result_bool(result, "matching_exact", found->matching.exact);
}

static void server_rate_put(struct result *result, const struct throughput *found)
{
    bool bound = found->plan.mode == THROUGHPUT_BOUND;
    result_number(result, "server_rate_lower", bound ? NAN : fmin(1, found->lower));
    result_number(result, "server_rate_upper", fmin(1, found->upper));
    if (bound || found->upper <= 1)
        return;
    struct text *words = result_words(result_hide(result), "server_rate_text");
    if (found->lower >= 1)
        text_puts(words, "1: full; the servers' own cables are the limit");
    else
        bracket_text(words, found->lower, 1, 6);
}

static void bracket_put(struct result *result, const struct throughput *found,
                        const struct topology *topology)
{
    bool solved = found->plan.mode == THROUGHPUT_SOLVE;
    bool bound = found->plan.mode == THROUGHPUT_BOUND;
    result_number(result, "throughput_lower", found->lower);
    result_number(result, "throughput_upper", found->upper);
    struct text *words = result_words(result_hide(result), "throughput_text");
    if (bound)
        bracket_text_upper(words, found->upper, 6);
    else
        bracket_text(words, found->lower, found->upper, 4);
    result_string(result_hide(result), "unit", unit_of(found));
    result_number(result, "gap", gap_of(found));
    result_uint_if(result, "phases", solved, found->phases);
    if (solved) {
        result_number(result, "gap_wanted", found->plan.gap);
        result_bool(result_hide(result), "gap_missed", throughput_gap_missed(found));
    }
    result_string(result, "bound", bound ? "path-length" : NULL);
    if (has_server_rate(found, topology))
        server_rate_put(result, found);
    traffic_put(result, found);
    about_put(result, found);
    if (!bound) {
        bool optimal = found->about.routing == CERTIFICATE_OPTIMAL;
        result_string(result, "routing", certificate_routing_names[found->about.routing]);
        result_uint_if(result, "ways", !optimal, found->about.ways);
    }
    result_string(result, "flow", found->plan.flow);
    result_bool(result, "verified", found->verified);
    if (found->verified)
        result_number(result, "load_max", found->load_max);
}

static void step_put(struct result *result, const struct full_capacity_step *step)
{
    bool network = step->verdict != FULL_CAPACITY_NO_NETWORK;
    result_object(result, NULL);
    result_uint(result, "servers", step->servers);
    result_uint(result, "matrix", step->matrix);
    result_uint(result_hide(result), "permutation", step->matrix + 1);
    result_uint(result, "seed", step->seed);
    result_bool(result, "confirming", step->matrix >= FULL_CAPACITY_SEARCH);
    result_number(result, "lower", network ? step->lower : NAN);
    result_number(result, "upper", network ? step->upper : NAN);
    result_uint(result, "phases", step->phases);
    result_string(result, "verdict", full_capacity_verdict_name(step->verdict));
    result_bool(result_hide(result), "solved", network && !isinf(step->lower));
    result_end(result);
}

static void capacity_put(struct result *result, const struct full_capacity *found)
{
    result_bool(result_hide(result), "capacity_steps", true);
    result_uint(result, "full_capacity_servers", found->servers);
    result_bool(result, "confirmed", found->servers > 1);
    result_uint(result_hide(result), "permutations", FULL_CAPACITY_SEARCH + FULL_CAPACITY_CONFIRM);
    result_uint(result, "servers_before_confirmation", found->servers_found);
    result_bool(result_hide(result), "refuted", found->servers < found->servers_found);
    result_uint(result, "undecided", found->undecided);
    result_array(result, "steps");
    for (size_t i = 0; i < found->step_count; i++)
        step_put(result, &found->steps[i]);
    result_end(result);
}

void throughput_report(struct result *result, const struct throughput *found,
                       const struct topology *topology)
{
    if (found->plan.mode == THROUGHPUT_CAPACITY)
        capacity_put(result, &found->capacity);
    else
        bracket_put(result, found, topology);
}
