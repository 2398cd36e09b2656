#pragma once
/* link_state: what this server knows of everybody's links: a table of shared state
 * (sst/table/table.h) with a row for each server, written by that server alone and flooded over the
 * links themselves (flood.h is its way to spread).
 *
 *   incarnation   of the server's life; a row of a later one always wins
 *   version       counts the row's changes within a life
 *   near          ports whose other end is heard and hears us
 *   up            those of near that every server has seen to be near
 *   seen          which version of *our* row that server has said to have seen. Nobody else reads
 *                 it, so it is written into our table only, by a packet that is routed to us
 *
 * Two steps for a link, so that two servers never answer for the same key: it comes near, and all
 * who could be concerned learn that before it is up. A server answers for a key if nobody before
 * it in the key's list can be reached over near links; a key's packets travel over links that are
 * up. So by the time a link carries the first of them, everybody behind it who has to give up a
 * key has done so.
 *
 * The link is up at our end when everybody within reach over near links (by the word of the one
 * end that is reached first) has seen the row that said it is near. Two links may come at once: a
 * "seen" also names the version of its sender's own row and counts only when we have that, so that
 * whoever announced a link before it saw ours is asked, too; and rows travel in causal order
 * (flood.h).
 *
 * A predicate on the table, as in the SST paper's example of routing, says when routes are to be
 * found anew: a link on one of our shortest paths worsened, or one off them improved. Either way
 * its ends are not equally far from us; a change between equally far servers changes nothing. */

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

/* What of it travels. */
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
    /* Links by both ends' word: a bit for each port of each server. As routes were found, but for
     * the rows in changed[]. */
    port_set *near, *up;
    uint64_t *told; /* hash of each row's version, summed up in digest */
    uint64_t *changed_set;
    uint32_t *changed; /* rows since the last link_state_settle */
    uint32_t changed_count;
    uint32_t coming_count; /* rows whose near and up differ */
    uint64_t digest;
    struct routes routes;
    bool stale;     /* the predicate fired: routes are to be found anew */
    bool announced; /* the own row changed since it was last put */
    port_set own_near, own_up;
    uint64_t since[PORT_MAX]; /* the version of our row that first said near */
    uint64_t *needs;          /* a server's "seen" counts once we have this version of its row */
    uint64_t *asked;          /* scratch: who has to have seen our row */
    bool seen_changed;
    node_id lagging; /* within reach, and its "seen" is what our links wait for: while no row
                      * changes, nobody else need be asked. NODE_NONE: not known */
    uint64_t recomputations, taken, refused;
};

MUST_CHECK enum err link_state_init(struct link_state *state, const struct plan *plan, node_id self,
                                    uint64_t incarnation, struct row_spread *flood,
                                    struct arena *arena, struct why *why);
void link_state_fini(struct link_state *state);

void link_state_row(const struct link_state *state, node_id server, struct link_row *row);
/* False: nothing is known of that server. */
bool link_state_report(const struct link_state *state, node_id server, struct link_report *report);

/* Takes what was heard of a server, if it is newer than what is known. A report on ourselves from
 * an earlier life that claims to be later makes us later still. */
bool link_state_take(struct link_state *state, const struct link_report *report);
/* The fault of taking it in any case; in test builds only. */
bool link_state_take_stale(struct link_state *state, const struct link_report *report);

/* A server says which version of our row it has seen, and what its own row was then. */
struct link_seen {
    uint64_t incarnation, version;         /* of our row */
    uint64_t own_incarnation, own_version; /* of the sender's */
};
void link_state_seen(struct link_state *state, node_id server, const struct link_seen *seen);

/* Ports of ours that came near or went; the row is put by link_state_put. */
void link_state_near(struct link_state *state, unsigned port, bool near);
/* Puts the own row if it changed, or in any case: it was not seen by all. */
void link_state_put(struct link_state *state, bool again);

/* Evaluates the predicates on rows that changed, finds routes anew if they say so, and returns
 * true if it did. */
bool link_state_settle(struct link_state *state);

/* Ports of ours that everybody within reach has seen to be near become up; returns which. */
port_set link_state_admit(struct link_state *state);
/* The fault of not waiting for them; in test builds only. */
port_set link_state_admit_blindly(struct link_state *state);
/* Somebody within reach has not seen what he must before a link of ours is up. */
bool link_state_is_waiting(const struct link_state *state);

/* As if all had been up for long; see node_settle. */
void link_state_fill(struct link_state *state, const uint64_t *incarnations);
