/* repair: removals, then moves, then new cables.
 *
 * Invariant: planned ports are distinct, so at most one move goes to a port and at most one leaves
 * it. A move whose port is still in use waits for the move that frees it. These waits form chains,
 * which are done from their free end, and rings, which are opened by unplugging one end. */
#include "topology/cabling/repair.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define MOVE_NONE UINT32_MAX

/* An end that is or will be plugged in at a node. */
struct plug_claim {
    struct plug plug;    /* the port that it holds or prefers */
    struct plug *target; /* receives the port of an arriving end; NULL: the end stays */
    bool settled;        /* it is the first at its port */
};

struct planner {
    const struct inspection *inspection;
    const struct graph *plan;
    struct repair *repair;
    struct repair_action *moves; /* one per end that moves */
    uint32_t move_count;
    struct plug_claim *claims;
    uint32_t claim_count;
};

static struct plug link_plug(const struct link *link, bool b)
{
    return b ? (struct plug){link->b, link->b_port} : (struct plug){link->a, link->a_port};
}

static void end_stays(struct planner *planner, struct plug plug)
{
    planner->claims[planner->claim_count++] = (struct plug_claim){.plug = plug};
}

/* Records where an end is to go; its port may still change. */
static void end_arrives(struct planner *planner, struct plug plug, struct plug *target)
{
    *target = plug;
    planner->claims[planner->claim_count++] = (struct plug_claim){.plug = plug, .target = target};
}

static void end_moves(struct planner *planner, uint32_t found, bool found_b, struct plug to)
{
    struct repair_action *move = &planner->moves[planner->move_count++];
    *move = (struct repair_action){
        .kind = REPAIR_MOVE,
        .found = found,
        .end_b = found_b,
        .from = link_plug(&planner->inspection->found[found], found_b),
    };
    end_arrives(planner, to, &move->to);
}

static void action_add(struct planner *planner, struct repair_action action)
{
    planner->repair->actions[planner->repair->action_count++] = action;
    planner->repair->moves += action.kind == REPAIR_ADD ? 2 : action.kind != REPAIR_UNPLUG;
}

/* Decides what happens to every cable. Removals become actions at once. */
static void fates_decide(struct planner *planner, struct repair_action *added)
{
    const struct inspection *seen = planner->inspection;
    const struct link *links = planner->plan->links;
    uint32_t missing = seen->missing_count, surplus = seen->surplus_count;
    uint32_t whole = missing < surplus ? missing : surplus;
    for (uint32_t i = 0; i < seen->right_count; i++) {
        end_stays(planner, link_plug(&seen->found[seen->right[i]], false));
        end_stays(planner, link_plug(&seen->found[seen->right[i]], true));
    }
    for (uint32_t i = 0; i < seen->misplaced_count; i++) {
        const struct misplacement *misplaced = &seen->misplaced[i];
        end_stays(planner, link_plug(&seen->found[misplaced->found], misplaced->found_b));
        end_moves(planner, misplaced->found, !misplaced->found_b,
                  link_plug(&links[misplaced->link], !misplaced->link_b));
    }
    for (uint32_t i = 0; i < whole; i++) {
        end_moves(planner, seen->surplus[i], false, link_plug(&links[seen->missing[i]], false));
        end_moves(planner, seen->surplus[i], true, link_plug(&links[seen->missing[i]], true));
    }
    for (uint32_t i = whole; i < surplus; i++) {
        const struct link *cable = &seen->found[seen->surplus[i]];
        action_add(planner, (struct repair_action){
                                .kind = REPAIR_REMOVE,
                                .found = seen->surplus[i],
                                .from = link_plug(cable, false),
                                .to = link_plug(cable, true),
                            });
    }
    for (uint32_t i = whole; i < missing; i++, added++) {
        *added = (struct repair_action){.kind = REPAIR_ADD, .found = FINDING_NONE};
        end_arrives(planner, link_plug(&links[seen->missing[i]], false), &added->from);
        end_arrives(planner, link_plug(&links[seen->missing[i]], true), &added->to);
    }
}

static int plug_compare(struct plug a, struct plug b)
{
    if (a.node != b.node)
        return a.node < b.node ? -1 : 1;
    return a.port < b.port ? -1 : a.port > b.port;
}

/* Orders by port; an end that stays comes before one that prefers the same port. */
static int claim_compare(const void *left, const void *right)
{
    const struct plug_claim *a = left, *b = right;
    int order = plug_compare(a->plug, b->plug);
    return order ? order : (a->target != NULL) - (b->target != NULL);
}

/* An arriving end whose planned port is held by an end that stays takes the lowest port that is not
 * held. The claims are those of one node, in order. */
static void node_settle(struct plug_claim *claims, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        claims[i].settled = i == 0 || claims[i].plug.port != claims[i - 1].plug.port;
    uint32_t at = 0, port = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (claims[i].settled)
            continue;
        for (;; port++) {
            while (at < count && (!claims[at].settled || claims[at].plug.port < port))
                at++;
            if (at == count || claims[at].plug.port != port)
                break;
        }
        assert(claims[i].target); /* ends that stay hold different ports */
        claims[i].target->port = port++;
    }
}

static void ports_settle(struct planner *planner)
{
    struct plug_claim *claims = planner->claims;
    if (planner->claim_count)
        qsort(claims, planner->claim_count, sizeof *claims, claim_compare);
    for (uint32_t first = 0, end = 0; first < planner->claim_count; first = end) {
        while (end < planner->claim_count && claims[end].plug.node == claims[first].plug.node)
            end++;
        node_settle(claims + first, end - first);
    }
}

static int move_by_source(const void *left, const void *right)
{
    const struct repair_action *a = left, *b = right;
    return plug_compare(a->from, b->from);
}

/* The move that must free this port first, or MOVE_NONE. Moves are ordered by
 * their source. */
static uint32_t move_blocker(const struct planner *planner, struct plug port)
{
    struct repair_action wanted = {.from = port};
    const struct repair_action *found = planner->move_count
                                            ? bsearch(&wanted, planner->moves, planner->move_count,
                                                      sizeof *planner->moves, move_by_source)
                                            : NULL;
    return found ? (uint32_t)(found - planner->moves) : MOVE_NONE;
}

/* Emits move `start` and all moves that it waits for. `path` has room for all moves. */
static void chain_emit(struct planner *planner, uint32_t start, uint8_t *done, uint32_t *path)
{
    uint32_t length = 0, at = start;
    while (at != MOVE_NONE && !done[at]) {
        done[at] = 1;
        path[length++] = at;
        at = move_blocker(planner, planner->moves[at].to);
    }
    bool ring = at == start && length > 1;
    if (ring) {
        struct repair_action pull = planner->moves[start];
        pull.kind = REPAIR_UNPLUG;
        action_add(planner, pull);
        planner->moves[start].kind = REPAIR_PLUG;
    }
    while (length-- > 0)
        action_add(planner, planner->moves[path[length]]);
}

static enum err moves_emit(struct planner *planner, struct why *why)
{
    uint8_t *done = array_new(planner->move_count, 1);
    uint32_t *path = array_new(planner->move_count, sizeof *path);
    if (!done || !path) {
        free(done);
        free(path);
        return why_memory(why);
    }
    if (planner->move_count)
        qsort(planner->moves, planner->move_count, sizeof *planner->moves, move_by_source);
    for (uint32_t i = 0; i < planner->move_count; i++)
        if (!done[i])
            chain_emit(planner, i, done, path);
    free(done);
    free(path);
    return OK;
}

enum err repair_make(struct repair *repair, const struct inspection *inspection,
                     const struct graph *plan, struct why *why)
{
    size_t found = inspection->found_count, links = plan->link_count;
    uint32_t missing = inspection->missing_count, surplus = inspection->surplus_count;
    uint32_t added_count = missing > surplus ? missing - surplus : 0;
    *repair = (struct repair){0};
    struct planner planner = {.inspection = inspection, .plan = plan, .repair = repair};
    struct repair_action *added = array_new(added_count, sizeof *added);
    planner.moves = array_new(2 * found, sizeof *planner.moves);
    planner.claims = array_new(2 * (found + links), sizeof *planner.claims);
    /* a move may be preceded by an unplug: two actions per end, one per new cable */
    repair->actions = array_new(4 * found + links, sizeof *repair->actions);
    enum err err;
    if (!added || !planner.moves || !planner.claims || !repair->actions) {
        err = why_memory(why);
        goto done;
    }
    fates_decide(&planner, added);
    if (!inspection->ports)
        ports_settle(&planner);
    err = moves_emit(&planner, why);
    for (uint32_t i = 0; !err && i < added_count; i++)
        action_add(&planner, added[i]);
done:
    free(added);
    free(planner.moves);
    free(planner.claims);
    if (err)
        repair_fini(repair);
    return err;
}

void repair_fini(struct repair *repair)
{
    free(repair->actions);
    *repair = (struct repair){0};
}

const char *repair_kind_name(enum repair_kind kind)
{
    switch (kind) { /* no default: the compiler reports a missing kind */
    case REPAIR_REMOVE:
        return "remove";
    case REPAIR_UNPLUG:
        return "unplug";
    case REPAIR_MOVE:
        return "move";
    case REPAIR_PLUG:
        return "plug";
    case REPAIR_ADD:
        return "add";
    }
    assert_unreachable();
}
