#include "topology/cabling/inspection.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/cabling/cable_match.h"

static uint64_t plug_key(uint32_t node, uint32_t port)
{
    return (uint64_t)node << 32 | port;
}

/* The port that a report names as its neighbour, to find all reports that name one port. */
struct port_sighting {
    uint64_t target;
    uint32_t report;
};

static int claim_compare(const void *left, const void *right)
{
    const struct port_sighting *a = left, *b = right;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    return a->report < b->report ? -1 : a->report > b->report;
}

static uint32_t claims_first(const struct port_sighting *claims, uint32_t count, uint64_t target)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (claims[middle].target < target)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool report_names(const struct neighbour_report *report, const struct neighbour_report *of)
{
    return report->neighbour == of->node && report->neighbour_port == of->port;
}

/* The first report that contradicts this one, or NULL. If the other end has a report, only that one
 * can contradict. If it has none, a third port may name the same other end, or name this port. */
static const struct neighbour_report *report_opposed(const struct neighbour_reports *reports,
                                                     const struct port_sighting *claims,
                                                     const struct neighbour_report *report)
{
    const struct neighbour_report *back =
        neighbour_reports_find(reports, report->neighbour, report->neighbour_port);
    if (back)
        return report_names(back, report) ? NULL : back;
    const uint64_t targets[] = {plug_key(report->neighbour, report->neighbour_port),
                                plug_key(report->node, report->port)};
    for (int i = 0; i < 2; i++) {
        uint32_t at = claims_first(claims, reports->count, targets[i]);
        for (; at < reports->count && claims[at].target == targets[i]; at++) {
            const struct neighbour_report *other = &reports->items[claims[at].report];
            if (other != report)
                return other;
        }
    }
    return NULL;
}

/* Two reports that contradict each other are one contradiction, not two. */
static bool contradiction_known(const struct neighbour_reports *reports,
                                const struct port_sighting *claims,
                                const struct neighbour_report *claim,
                                const struct neighbour_report *other)
{
    return other < claim && report_opposed(reports, claims, other) == claim;
}

static enum err cables_collect(struct inspection *inspection,
                               const struct neighbour_reports *reports, struct why *why)
{
    struct port_sighting *claims = array_new(reports->count, sizeof *claims);
    inspection->found = array_new(reports->count, sizeof *inspection->found);
    inspection->contradictions = array_new(reports->count, sizeof *inspection->contradictions);
    if (!claims || !inspection->found || !inspection->contradictions) {
        free(claims);
        return why_memory(why);
    }
    for (uint32_t i = 0; i < reports->count; i++)
        claims[i] = (struct port_sighting){
            plug_key(reports->items[i].neighbour, reports->items[i].neighbour_port), i};
    qsort(claims, reports->count, sizeof *claims, claim_compare);
    for (uint32_t i = 0; i < reports->count; i++) {
        const struct neighbour_report *report = &reports->items[i];
        const struct neighbour_report *other = report_opposed(reports, claims, report);
        if (other) {
            if (!contradiction_known(reports, claims, report, other))
                inspection->contradictions[inspection->contradiction_count++] =
                    (struct contradiction){*report, *other};
            continue;
        }
        const struct neighbour_report *back =
            neighbour_reports_find(reports, report->neighbour, report->neighbour_port);
        if (back && back < report)
            continue; /* the cable was added from its other end */
        inspection->found[inspection->found_count++] =
            (struct link){report->node, report->neighbour, report->port, report->neighbour_port};
    }
    free(claims);
    return OK;
}

static uint64_t end_key(bool ports, uint32_t node, uint32_t port)
{
    return ports ? plug_key(node, port) : node;
}

static struct cable_ends link_ends(bool ports, const struct link *link)
{
    return (struct cable_ends){
        {end_key(ports, link->a, link->a_port), end_key(ports, link->b, link->b_port)}};
}

/* A cable of the plan or of the found ones while both are sorted and compared. */
struct entry {
    uint64_t low, high;
    uint32_t index;
};

static int entry_compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return 0;
}

static int entry_order(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = entry_compare(left, right);
    return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

static struct entry *entries_make(bool ports, const struct link *links, uint32_t count)
{
    struct entry *entries = array_new(count, sizeof *entries);
    for (uint32_t i = 0; entries && i < count; i++) {
        struct cable_ends ends = link_ends(ports, &links[i]);
        bool turned = ends.end[0] > ends.end[1];
        entries[i] = (struct entry){ends.end[turned], ends.end[!turned], i};
    }
    if (entries && count)
        qsort(entries, count, sizeof *entries, entry_order);
    return entries;
}

static int index_compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Splits both lists into the cables that agree and those that do not, each in its order. */
static enum err cables_compare(struct inspection *inspection, const struct graph *plan,
                               struct why *why)
{
    uint32_t found_count = inspection->found_count, i = 0, j = 0;
    struct entry *planned = entries_make(inspection->ports, plan->links, plan->link_count);
    struct entry *found = entries_make(inspection->ports, inspection->found, found_count);
    inspection->right = array_new(found_count, sizeof *inspection->right);
    inspection->surplus = array_new(found_count, sizeof *inspection->surplus);
    inspection->missing = array_new(plan->link_count, sizeof *inspection->missing);
    bool memory =
        planned && found && inspection->right && inspection->surplus && inspection->missing;
    while (memory && (i < plan->link_count || j < found_count)) {
        int order = i == plan->link_count ? 1
                    : j == found_count    ? -1
                                          : entry_compare(&planned[i], &found[j]);
        if (order == 0) {
            inspection->right[inspection->right_count++] = found[j++].index;
            i++;
        } else if (order < 0) {
            inspection->missing[inspection->missing_count++] = planned[i++].index;
        } else {
            inspection->surplus[inspection->surplus_count++] = found[j++].index;
        }
    }
    free(planned);
    free(found);
    if (!memory)
        return why_memory(why);
    qsort(inspection->missing, inspection->missing_count, sizeof i, index_compare);
    qsort(inspection->surplus, inspection->surplus_count, sizeof i, index_compare);
    return OK;
}

/* Finds which ends the two cables of a matched pair have in common. */
static struct misplacement misplacement_make(uint32_t link, uint32_t found,
                                             const struct cable_ends *planned,
                                             const struct cable_ends *seen)
{
    struct misplacement misplaced = {.link = link, .found = found, .swap = FINDING_NONE};
    for (int i = 0; i < 4; i++) {
        if (planned->end[i / 2] != seen->end[i % 2])
            continue;
        misplaced.link_b = i / 2;
        misplaced.found_b = i % 2;
        return misplaced;
    }
    assert_unreachable();
}

/* Moves the matched pairs out of missing and surplus. */
static void pairs_take(struct inspection *inspection, const struct cable_ends *planned,
                       const struct cable_ends *seen, const uint32_t *partner)
{
    uint32_t missing = 0, surplus = 0;
    for (uint32_t i = 0; i < inspection->missing_count; i++) {
        uint32_t link = inspection->missing[i], s = partner[i];
        if (s == MATCH_NONE) {
            inspection->missing[missing++] = link;
            continue;
        }
        inspection->misplaced[inspection->misplaced_count++] =
            misplacement_make(link, inspection->surplus[s], &planned[i], &seen[s]);
        inspection->surplus[s] = FINDING_NONE;
    }
    for (uint32_t s = 0; s < inspection->surplus_count; s++)
        if (inspection->surplus[s] != FINDING_NONE)
            inspection->surplus[surplus++] = inspection->surplus[s];
    inspection->missing_count = missing;
    inspection->surplus_count = surplus;
}

static enum err misplaced_find(struct inspection *inspection, const struct graph *plan,
                               struct why *why)
{
    uint32_t missing = inspection->missing_count, surplus = inspection->surplus_count;
    struct cable_ends *planned = array_new(missing, sizeof *planned);
    struct cable_ends *seen = array_new(surplus, sizeof *seen);
    uint32_t *partner = array_new(missing, sizeof *partner);
    inspection->misplaced = array_new(missing, sizeof *inspection->misplaced);
    enum err err = OK;
    if (!planned || !seen || !partner || !inspection->misplaced) {
        err = why_memory(why);
        goto done;
    }
    for (uint32_t i = 0; i < missing; i++)
        planned[i] = link_ends(inspection->ports, &plan->links[inspection->missing[i]]);
    for (uint32_t s = 0; s < surplus; s++)
        seen[s] = link_ends(inspection->ports, &inspection->found[inspection->surplus[s]]);
    err = cable_match(planned, missing, seen, surplus, partner, why);
    if (!err)
        pairs_take(inspection, planned, seen, partner);
done:
    free(planned);
    free(seen);
    free(partner);
    return err;
}

/* The port where the wrong end of a misplaced cable is, and the port where it should be. */
static struct entry misplacement_move(const struct inspection *inspection, const struct graph *plan,
                                      uint32_t index)
{
    const struct misplacement *misplaced = &inspection->misplaced[index];
    struct cable_ends to = link_ends(inspection->ports, &plan->links[misplaced->link]);
    struct cable_ends from = link_ends(inspection->ports, &inspection->found[misplaced->found]);
    return (struct entry){from.end[!misplaced->found_b], to.end[!misplaced->link_b], index};
}

/* The first of the sorted moves that is not less than this one. */
static uint32_t moves_first(const struct entry *moves, uint32_t count, const struct entry *wanted)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (entry_order(&moves[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Two misplaced cables whose moves are the reverse of each other are one swap. Equal moves get
 * their partners in order; `taken`, indexed by the first of a run of equal moves, counts those that
 * have one. */
static enum err swaps_find(struct inspection *inspection, const struct graph *plan, struct why *why)
{
    uint32_t count = inspection->misplaced_count;
    struct entry *moves = array_new(count, sizeof *moves);
    uint32_t *taken = array_new(count, sizeof *taken);
    if (!moves || !taken) {
        free(moves);
        free(taken);
        return why_memory(why);
    }
    for (uint32_t i = 0; i < count; i++)
        moves[i] = misplacement_move(inspection, plan, i);
    qsort(moves, count, sizeof *moves, entry_order);
    for (uint32_t i = 0; i < count; i++) {
        struct entry mine = misplacement_move(inspection, plan, i);
        struct entry reverse = {mine.high, mine.low, 0};
        uint32_t first = moves_first(moves, count, &reverse), at = first;
        if (inspection->misplaced[i].swap != FINDING_NONE)
            continue;
        for (at += first < count ? taken[first] : 0;
             at < count && entry_compare(&moves[at], &reverse) == 0; at++) {
            struct misplacement *other = &inspection->misplaced[moves[at].index];
            taken[first] = at + 1 - first;
            if (other->swap != FINDING_NONE)
                continue;
            other->swap = i;
            inspection->misplaced[i].swap = moves[at].index;
            break;
        }
    }
    free(taken);
    free(moves);
    return OK;
}

enum err inspection_make(struct inspection *inspection, const struct topology *plan,
                         const struct neighbour_reports *reports, bool ports, struct why *why)
{
    *inspection = (struct inspection){.ports = ports};
    enum err err = cables_collect(inspection, reports, why);
    if (!err)
        err = cables_compare(inspection, &plan->graph, why);
    if (!err)
        err = misplaced_find(inspection, &plan->graph, why);
    if (!err)
        err = swaps_find(inspection, &plan->graph, why);
    if (err)
        inspection_fini(inspection);
    return err;
}

void inspection_fini(struct inspection *inspection)
{
    free(inspection->found);
    free(inspection->contradictions);
    free(inspection->right);
    free(inspection->misplaced);
    free(inspection->missing);
    free(inspection->surplus);
    *inspection = (struct inspection){0};
}

bool inspection_ok(const struct inspection *inspection)
{
    return inspection->contradiction_count == 0 && inspection->misplaced_count == 0 &&
           inspection->missing_count == 0 && inspection->surplus_count == 0;
}
