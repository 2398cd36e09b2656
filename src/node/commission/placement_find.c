/* placement_find: writes one line for each thing that is wrong. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"
#include "node/commission/placement_impl.h"
#include "topology/cabling/port_label.h"

/* The data from which the lines are written. */
struct pen {
    struct placement *placement;
    const struct plan *plan;
    const struct neighbour_reports *heard;
    const uint32_t *rank_of; /* per vertex: the server placed there; RANK_NONE */
    bool failed;             /* memory ran out */
};

/* Strangers have no vertex of the plan. */
static uint32_t rank_at(const struct pen *pen, node_id vertex)
{
    return vertex < pen->plan->server_count ? pen->rank_of[vertex] : RANK_NONE;
}

/* "server 12 (serial 7003)" */
static void server_text(struct text *out, const struct pen *pen, node_id vertex)
{
    if (vertex >= pen->plan->server_count) { /* strangers are numbered in the order of ranks */
        uint32_t rank = 0;
        while (pen->placement->vertices[rank] != vertex)
            rank++;
        text_printf(out, "the unplanned server (serial %" PRIu64 ")",
                    pen->placement->serials[rank]);
        return;
    }
    text_printf(out, "server %u", vertex);
    if (pen->rank_of[vertex] != RANK_NONE)
        text_printf(out, " (serial %" PRIu64 ")", pen->placement->serials[pen->rank_of[vertex]]);
}

static void port_text(struct text *out, const struct pen *pen, node_id vertex, uint32_t port)
{
    char label[PORT_LABEL_SIZE];
    server_text(out, pen, vertex);
    text_printf(out, " port %s", port_label(pen->plan->topology, port, label));
}

/* Takes ownership of the text. */
static void finding_add(struct pen *pen, enum placement_finding_kind kind, node_id server,
                        uint32_t port, struct text *line)
{
    struct placement *placement = pen->placement;
    if (!text_ok(line) ||
        !array_reserve(&placement->findings, &placement->finding_capacity,
                       placement->finding_count + 1, sizeof *placement->findings)) {
        pen->failed = true;
        text_fini(line);
        return;
    }
    placement->findings[placement->finding_count++] =
        (struct placement_finding){kind, server, port, line->data};
}

/* "A leads to B; planned: C" */
static void cable_add(struct pen *pen, enum placement_finding_kind kind, const struct link *found,
                      bool from_b, const struct plan_end *planned)
{
    node_id from = from_b ? found->b : found->a, to = from_b ? found->a : found->b;
    uint32_t from_port = from_b ? found->b_port : found->a_port;
    uint32_t to_port = from_b ? found->a_port : found->b_port;
    struct text line = {0};
    port_text(&line, pen, from, from_port);
    text_puts(&line, " leads to ");
    port_text(&line, pen, to, to_port);
    text_puts(&line, "; planned: ");
    if (planned->server == NODE_NONE)
        text_puts(&line, "no cable there");
    else
        port_text(&line, pen, planned->server, planned->port);
    finding_add(pen, kind, from, from_port, &line);
}

static struct plan_end planned_at(const struct plan *plan, node_id vertex, uint32_t port)
{
    if (vertex >= plan->server_count || port >= plan->port_count)
        return (struct plan_end){.server = NODE_NONE};
    return *plan_end(plan, vertex, port);
}

static void cables_find(struct pen *pen)
{
    const struct inspection *seen = &pen->placement->inspection;
    const struct link *links = pen->plan->topology->graph.links;
    for (uint32_t i = 0; i < seen->misplaced_count; i++) {
        const struct misplacement *misplaced = &seen->misplaced[i];
        const struct link *link = &links[misplaced->link];
        struct plan_end planned = misplaced->link_b ? (struct plan_end){link->a, link->a_port, 0}
                                                    : (struct plan_end){link->b, link->b_port, 0};
        cable_add(pen, PLACEMENT_MISWIRED, &seen->found[misplaced->found], misplaced->found_b,
                  &planned);
    }
    for (uint32_t i = 0; i < seen->surplus_count; i++) {
        const struct link *found = &seen->found[seen->surplus[i]];
        struct plan_end planned = planned_at(pen->plan, found->a, found->a_port);
        cable_add(pen, PLACEMENT_SURPLUS, found, false, &planned);
    }
    for (uint32_t i = 0; i < seen->missing_count; i++) {
        const struct link *link = &links[seen->missing[i]];
        if (pen->rank_of[link->a] == RANK_NONE || pen->rank_of[link->b] == RANK_NONE)
            continue; /* reported with the absent server */
        struct text line = {0};
        port_text(&line, pen, link->a, link->a_port);
        bool heard = neighbour_reports_find(pen->heard, link->a, link->a_port) ||
                     neighbour_reports_find(pen->heard, link->b, link->b_port);
        /* The cables in those ports are reported in lines of their own. */
        text_puts(&line, heard ? " is not connected as planned to " : " has no cable; planned: ");
        port_text(&line, pen, link->b, link->b_port);
        finding_add(pen, PLACEMENT_MISSING, link->a, link->a_port, &line);
    }
}

static void hears_text(struct text *out, const struct pen *pen,
                       const struct neighbour_report *report)
{
    port_text(out, pen, report->node, report->port);
    text_puts(out, " receives hellos from ");
    port_text(out, pen, report->neighbour, report->neighbour_port);
}

static void disputes_find(struct pen *pen)
{
    const struct inspection *seen = &pen->placement->inspection;
    for (uint32_t i = 0; i < seen->contradiction_count; i++) {
        const struct contradiction *dispute = &seen->contradictions[i];
        struct text line = {0};
        hears_text(&line, pen, &dispute->claim);
        text_puts(&line, ", but ");
        hears_text(&line, pen, &dispute->other);
        finding_add(pen, PLACEMENT_DISPUTED, dispute->claim.node, dispute->claim.port, &line);
    }
}

/* `reported`: per rank, whether the server itself sent a report. */
static void one_way_find(struct pen *pen, const bool *reported)
{
    const struct neighbour_reports *reports = pen->heard;
    for (uint32_t i = 0; i < reports->count; i++) {
        const struct neighbour_report *report = &reports->items[i];
        uint32_t rank = rank_at(pen, report->neighbour);
        if (rank == RANK_NONE || !reported[rank] ||
            neighbour_reports_find(reports, report->neighbour, report->neighbour_port))
            continue;
        struct text line = {0};
        hears_text(&line, pen, report);
        text_puts(&line, ", which receives none");
        finding_add(pen, PLACEMENT_ONE_WAY, report->node, report->port, &line);
    }
}

static void servers_find(struct pen *pen)
{
    for (node_id vertex = 0; vertex < pen->plan->server_count; vertex++) {
        if (pen->rank_of[vertex] != RANK_NONE)
            continue;
        struct text line = {0};
        server_text(&line, pen, vertex);
        text_puts(&line, " is planned, but no server receives its hellos");
        finding_add(pen, PLACEMENT_ABSENT, vertex, PORT_NONE, &line);
    }
    for (uint32_t rank = 0; rank < pen->placement->count; rank++) {
        node_id vertex = pen->placement->vertices[rank];
        if (vertex < pen->plan->server_count)
            continue;
        struct text line = {0};
        server_text(&line, pen, vertex);
        text_printf(&line, " has no place: all %u servers of the plan are present",
                    pen->plan->server_count);
        finding_add(pen, PLACEMENT_STRANGER, vertex, PORT_NONE, &line);
    }
}

static void places_find(struct pen *pen, const struct placement_report *const *reports)
{
    for (uint32_t rank = 0; rank < pen->placement->count; rank++) {
        node_id known = reports[rank] ? reports[rank]->known : NODE_NONE;
        node_id vertex = pen->placement->vertices[rank];
        if (known == NODE_NONE || known == vertex)
            continue;
        struct text line = {0};
        server_text(&line, pen, vertex);
        text_printf(&line, " was server %u before, but ", known);
        if (known >= pen->plan->server_count)
            text_printf(&line, "the plan has only %u servers", pen->plan->server_count);
        else
            text_printf(&line, "so was serial %" PRIu64,
                        pen->placement->serials[pen->rank_of[known]]);
        finding_add(pen, PLACEMENT_IMPOSSIBLE, vertex, PORT_NONE, &line);
    }
}

enum err placement_find_all(struct placement *placement, const struct plan *plan,
                            const struct neighbour_reports *heard,
                            const struct placement_report *const *reports, struct why *why)
{
    uint32_t *rank_of = array_new(plan->server_count, sizeof *rank_of);
    bool *reported = array_new(placement->count, sizeof *reported);
    struct pen pen = {.placement = placement, .plan = plan, .heard = heard, .rank_of = rank_of};
    pen.failed = !rank_of || !reported;
    for (node_id vertex = 0; !pen.failed && vertex < plan->server_count; vertex++)
        rank_of[vertex] = RANK_NONE;
    for (uint32_t rank = 0; !pen.failed && rank < placement->count; rank++) {
        if (placement->vertices[rank] < plan->server_count)
            rank_of[placement->vertices[rank]] = rank;
        reported[rank] = reports[rank] != NULL;
    }
    if (!pen.failed) {
        servers_find(&pen);
        places_find(&pen, reports);
        cables_find(&pen);
        one_way_find(&pen, reported);
        disputes_find(&pen);
    }
    free(rank_of);
    free(reported);
    return pen.failed ? why_memory(why) : OK;
}
