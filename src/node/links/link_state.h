#pragma once
/* link_state: what this server knows about the links of all servers: a table of shared state
 * (sst/table/table.h) with a row for each server, written by that server alone and flooded over the
 * links themselves (flood.h spreads it).
 *
 *   incarnation   of the server; a row of a later incarnation always wins
 *   version       counts the row's changes within an incarnation
 *   near          ports over which both ends receive each other's hellos
 *   up            those of near that every server has seen to be near
 *   seen          the version of *our* row that the server has acknowledged. No other server reads
 *                 this column, so it is written into our table only, by a packet that is routed to
 *                 us
 *
 * A link comes up in two steps, so that two servers never answer for the same key: it becomes near,
 * and all servers that may be affected learn this before it is up. A server answers for a key if no
 * server before it in the key's list is reachable over near links; packets to keys travel only over
 * links that are up. So before a link carries the first such packet, all servers behind it that
 * must give up a key have done so.
 *
 * The link is up at our end when all servers that are reachable over near links (here one end's
 * report suffices for a link) have seen the row that announced it as near. Two links may come up at
 * the same time. Therefore a "seen" also names the version of its sender's own row and counts only
 * once we have that version. If the sender announced a link before it saw our row, we then know of
 * that link, and the servers behind it must confirm, too. Rows also travel in causal order
 * (flood.h).
 *
 * A predicate on the table, as in the routing example of the SST paper, decides when routes must be
 * recomputed: a link on one of our shortest paths became worse, or a link off them became better.
 * In both cases the ends of the link are at different distances from us; a change between two
 * servers at equal distance changes no route. */

#include "base/arena.h"
#include "node/links/routes.h"
#include "sst/table/own.h"
#include "sst/table/predicate.h"
#include "sst/table/table.h"

struct link_row {
    uint64_t incarnation;
    uint64_t version;
    uint64_t near;
    uint64_t up;
    uint64_t seen;
};

/* The part of a row that travels. */
struct link_report {
    node_id server;
    uint64_t incarnation;
    uint64_t version;
    port_set near, up;
};

struct link_state {
    const struct plan *plan;
    node_id self;
    struct table table;
    struct own own;
    struct predicates predicates;
    struct row_spread *flood; /* borrowed */
    uint8_t *rows;
    /* Links that both ends report: a bit for each port of each server. Current as of the last
     * computation of routes, except for the rows in changed[]. */
    port_set *near, *up;
    uint64_t *told; /* hash of each row's version; their sum is the digest */
    uint64_t *changed_set;
    uint32_t *changed; /* rows since the last link_state_settle */
    uint32_t changed_count;
    uint32_t coming_count; /* rows whose near and up differ */
    uint64_t digest;
    struct routes routes;
    bool stale;     /* the predicate fired: routes must be recomputed */
    bool announced; /* the own row changed since it was last put */
    port_set own_near, own_up;
    uint64_t since[PORT_MAX]; /* the version of our row that first reported the port as near */
    uint64_t *needs;          /* a server's "seen" counts once we have this version of its row */
    uint64_t *asked;          /* scratch: servers that must have seen our row */
    bool seen_changed;
    node_id lagging; /* a reachable server whose "seen" our links wait for: while no row changes,
                      * no other server need be checked. NODE_NONE: not known */
    uint64_t recomputations, taken, refused;
    uint64_t faults; /* of PLANTED_BIT (planted.h); 0 except in tests */
};

MUST_CHECK enum err link_state_init(struct link_state *state, const struct plan *plan, node_id self,
                                    uint64_t incarnation, struct row_spread *flood,
                                    struct arena *arena, struct why *why);
void link_state_fini(struct link_state *state);

void link_state_row(const struct link_state *state, node_id server, struct link_row *row);
/* False: no row of that server is known. */
bool link_state_report(const struct link_state *state, node_id server, struct link_report *report);

/* Takes a received report of a server if it is newer than the known row. A report about this server
 * with a higher incarnation than ours, from an earlier run, makes us choose a still higher one. */
bool link_state_take(struct link_state *state, const struct link_report *report);
/* The planted bug: takes the report even if it is stale; in test builds only. */
bool link_state_take_stale(struct link_state *state, const struct link_report *report);

/* A server acknowledges a version of our row, and names the version of its own row at that time. */
struct link_seen {
    uint64_t incarnation, version;         /* of our row */
    uint64_t own_incarnation, own_version; /* of the sender's */
};
void link_state_seen(struct link_state *state, node_id server, const struct link_seen *seen);

/* One of our ports became near or stopped being so; link_state_put then puts the row. */
void link_state_near(struct link_state *state, unsigned port, bool near);
/* Puts the own row if it changed, or in any case (`again`) because not all servers have seen it. */
void link_state_put(struct link_state *state, bool again);

/* Evaluates the predicates on changed rows and recomputes the routes if they ask for it. Returns
 * whether it did. */
bool link_state_settle(struct link_state *state);

/* Our ports that all reachable servers have seen to be near become up; returns these ports. */
port_set link_state_admit(struct link_state *state);
/* The planted bug: does not wait for other servers; in test builds only. */
port_set link_state_admit_blindly(struct link_state *state);
/* Some reachable server has not yet seen what it must see before a link of ours is up. */
bool link_state_is_waiting(const struct link_state *state);

/* Fills the table as if all links had been up for long; see node_settle. */
void link_state_fill(struct link_state *state, const uint64_t *incarnations);
