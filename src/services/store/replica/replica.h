#pragma once
/* replica: one server's part in one placement group. A state machine without clock, memory and
 * output: its owner delivers messages and makes durable what it is told to, in the calls below.
 *
 * In each view a group is activated anew. All that have a custody of the group report it to the
 * group's coordinator, the first server in the group's order. When the judge knows the in-sync
 * servers (custody.h), the one of them that has most *leads*: it sends the others what they lack,
 * then activates them, and serves. Writes form a chain: each names the one before it. A write is
 * *committed* when all in-sync servers have it; only then it is acknowledged, and readable.
 *
 * A server that is to become in sync *learns*: it takes part in the chain, shows what it has, and
 * gets what it lacks. Then all in-sync servers note it as a keeper, then it is required for
 * commits, then it opens its custody. A server that is in sync and no longer needed retires. */

#include "services/store/replica/judge.h"

enum replica_role {
    REPLICA_WAITS,   /* has installed the view; something of an earlier one is still under way */
    REPLICA_REPORTS, /* has reported, or may: no more happens for former views */
    REPLICA_FOLLOWS, /* in sync */
    REPLICA_LEADS,   /* in sync, and the others follow it */
    REPLICA_LEARNS,
    REPLICA_RESTS, /* has retired; it learns again in another view at the earliest */
};

enum replica_kind {
    REPLICA_REPORT,    /* to the coordinator: `custody`, `version` is the position */
    REPLICA_LEAD,      /* from it: lead these `peers`; they are at `positions` */
    REPLICA_WRITE,     /* a write, `version`; it follows `previous` */
    REPLICA_STORED,    /* all writes until `version` are durable */
    REPLICA_COMMITTED, /* ... on all in-sync servers */
    REPLICA_ACTIVATE,  /* `peers` are in sync; all of them are at `version` when they answer */
    REPLICA_ACTIVATED,
    REPLICA_LEARN, /* the chain continues after `version`; show what you have */
    REPLICA_SHOW,  /* the versions of a learner's keys: the owner adds them */
    REPLICA_COPY,  /* what the learner lacks: the owner adds it */
    REPLICA_COPIED,
    REPLICA_GROW, /* `peers` are keepers */
    REPLICA_GROWN,
    REPLICA_ADMIT, /* a learner that has `version` is in sync; `peers` are keepers */
    REPLICA_ADMITTED,
    REPLICA_RETIRE, /* no longer in sync; `peers` were */
    REPLICA_RETIRED,
};

struct replica_message {
    uint32_t kind;
    uint32_t epoch, from;
    uint32_t peer_count;
    uint32_t peers[KEEPERS_MAX];
    store_version positions[KEEPERS_MAX];
    store_version version, previous;
    struct custody custody;
};

/* What the leader knows of a server. */
enum peer_stage {
    PEER_LEARNS,   /* is sent the chain; is to show what it has */
    PEER_COPIES,   /* is sent what it lacks */
    PEER_GROWS,    /* has all; the others note it as a keeper */
    PEER_REQUIRED, /* commits wait for it; it opens its custody */
    PEER_SYNCED,
    PEER_RETIRES, /* commits still wait for it */
};

struct replica_peer {
    uint32_t server;
    uint32_t stage;
    uint32_t agrees; /* it has answered ACTIVATE, or the present GROW */
    uint32_t zero;   /* no gap: tests compare states by their bytes */
    store_version stored;
};

struct replica {
    uint32_t server; /* this one */
    uint32_t epoch;  /* of the view that it acts in */
    uint32_t role;
    uint32_t leader;         /* a server; valid if it follows, leads or learns */
    uint32_t copied;         /* REPLICA_LEARNS: it has all that the leader compared */
    struct custody custody;  /* durable */
    struct custody next;     /* what is being made durable, ... */
    uint32_t keeping;        /* ... because of this kind of message; 0: nothing is */
    uint32_t keeping_epoch;  /* ... of this view */
    store_version received;  /* the last write of the chain, durable or under way to it */
    store_version position;  /* the last one that is durable */
    store_version committed; /* all until here are committed, as far as it knows in this view */
    /* REPLICA_LEADS. */
    uint32_t active; /* all in-sync servers have answered ACTIVATE */
    uint32_t peer_count;
    struct replica_peer peers[KEEPERS_MAX]; /* itself is one */
};

/* What the owner does for it. */
struct replica_calls {
    /* The owner gives one to this server to replica_receive at once. */
    void (*send)(void *owner, uint32_t server, const struct replica_message *message);
    /* Makes replica->next durable; then calls replica_kept. */
    void (*keep)(void *owner);
    /* Sends, as WRITEs in the order of their versions, all writes after `from` until
     * replica->received. Each names the one before it, the first one `from`. */
    void (*replay)(void *owner, uint32_t server, store_version from);
};

/* One instance of these for each call: it is not kept. */
struct replica_world {
    const struct replica_calls *calls;
    void *owner;
};

/* The view of that epoch is installed, and durable. The owner has passed it to the custody
 * (custody_pass), and to `next` if it is being made durable. */
void replica_enter(struct replica *replica, uint32_t epoch);
/* May the replica report now? It may when nothing of an earlier view is under way here, and
 * `leases` says that no server that left, or was restarted, can still hold a lease of this one. The
 * owner sends the report to the coordinator, again until something follows from it. */
bool replica_settle(struct replica *replica, bool leases);
void replica_report(const struct replica *replica, struct replica_message *message);

/* A message other than REPORT, WRITE, SHOW and COPY. Those of other views change nothing. */
void replica_receive(struct replica *replica, const struct replica_world *world,
                     const struct replica_message *message);
/* A WRITE. True: the owner stores it. */
bool replica_accept(struct replica *replica, const struct replica_message *message);
/* The write of that version, and all before it, is durable here. */
void replica_stored(struct replica *replica, const struct replica_world *world,
                    store_version version);
/* What the owner was told to keep is durable. */
void replica_kept(struct replica *replica, const struct replica_world *world);

/* ---- the leader ---- */

/* May it take writes? */
bool replica_serves(const struct replica *replica);
/* A new write: gives it a version, and sends it to the others (the owner adds its content). The
 * owner stores it, too. */
store_version replica_write(struct replica *replica, const struct replica_world *world);
/* Makes a server in sync, or retires one. One at a time; false: this is not possible now. */
bool replica_grow(struct replica *replica, const struct replica_world *world, uint32_t server);
bool replica_retire(struct replica *replica, const struct replica_world *world, uint32_t server);
/* Says again what was not answered, since messages can be lost. The owner sends writes again. */
void replica_repeat(struct replica *replica, const struct replica_world *world);
/* SHOW has come from a server. True: the owner compares, see below, writes what is to be written,
 * and sends COPY. */
bool replica_compares(struct replica *replica, const struct replica_message *message);
/* COPY has come. True: the owner stores what is newer than what it has, and calls replica_copied
 * when that is durable. */
bool replica_copies(const struct replica *replica, const struct replica_message *message);
void replica_copied(struct replica *replica, const struct replica_world *world);

/* What to do about a key that has version `own` at the leader, and `shown` at the learner. 0: the
 * key is not there. */
enum replica_repair {
    REPAIR_NONE,
    REPAIR_COPY,    /* the learner gets it */
    REPAIR_REWRITE, /* the learner has what was never acknowledged, or what was removed so long ago
                     * that the tombstone is gone: the leader writes its own state again */
};
enum replica_repair replica_compare(store_version own, store_version shown);

/* ---- reads ---- */

/* May the server answer for a key whose newest version here is this, 0 if it has none? The owner
 * takes the value first, then asks this, then checks the leases of all other keepers. */
bool replica_reads(const struct replica *replica, store_version version);
/* May it forget that a key with this version was removed? */
bool replica_purges(const struct replica *replica, store_version version);
