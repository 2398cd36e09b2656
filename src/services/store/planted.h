#pragma once
/* planted: bugs that tests plant in the store, each of which a test must find. Only test
 * programs are built with WEFT_PLANTED_BUGS; installed programs do not contain the bugs.
 *
 * A place with a bug reads STORE_HAS(BUG). In an ordinary build this is the constant false. */

#include <stdbool.h>
#include <stdint.h>

/* Found by simulated faults of the disk (sim-log_planted), the first five also by clients of
 * simulated stores (sim-store_planted). */
#define STORE_LOG_PLANTED(X)                                                                       \
    X(ACK_EARLY, "ack", "an append is done before a sync")                                         \
    X(SYNC_ERROR, "error", "a failed sync counts as a sync")                                       \
    X(TORN_KEPT, "torn", "the value of a record is not checked when the log opens")                \
    X(DAMAGE_CUT, "cut", "damage in the middle of the last segment ends it")                       \
    X(TAIL_TRUSTED, "tail", "records that were perhaps never synced are not written again")        \
    X(END_UNKNOWN, "end", "a segment is removed that alone knows where the one before it ends")    \
    X(FORMER_HEAD, "head", "the head that a recycled file had before counts as its own")           \
    X(FORMER_LIFE, "life", "the check of a record includes neither number nor salt of the segment")
/* Found by the model of views (model-views_planted). */
#define STORE_VIEW_PLANTED(X)                                                                      \
    X(PROMISE_BROKEN, "promise", "a server accepts a lower ballot than it has promised")           \
    X(FOUND_IGNORED, "found", "a proposer ignores what others have accepted")                      \
    X(BALLOT_FORGOTTEN, "ballot", "a proposer asks before its own promise is durable")             \
    X(HALF_DECIDES, "half", "any half of the votes decides")                                       \
    X(DISK_UNCHECKED, "disk", "a server that has lost its disk still votes")
/* Found by simulated servers that decide on views (sim-views_planted). */
#define STORE_SPREAD_PLANTED(X)                                                                    \
    X(VOTE_EARLY, "early", "a vote counts before it is durable")                                   \
    X(FOUNDED_ALONE, "founded", "view 1 does not wait for all that can be reached")
/* Found by the model of replicas (model-replicas_planted), most of them also by clients of
 * simulated stores (sim-store_planted). */
#define STORE_REPLICA_PLANTED(X)                                                                   \
    X(REPLAY_SKIPPED, "replay", "a leader activates servers that lack writes that it has")         \
    X(GROWN_EARLY, "grown", "a server is in sync before the others know it as a keeper")           \
    X(EPOCH_UNCHECKED, "epoch", "messages of other views are accepted")                            \
    X(ABSENT_IGNORED, "absent", "a keeper that is away is taken to have nothing more")             \
    X(STRAY_LEFT, "stray", "what only a learner has is taken for equal")                           \
    X(TOMBSTONE_EARLY, "tombstone", "a learner forgets what was removed")                          \
    X(CUSTODY_DROPPED, "dropped", "a server that retires forgets who keeps the group")             \
    X(LEASE_UNWAITED, "lease", "a server does not wait until leases of others have ended")         \
    X(CLOCK_FIRST, "clock", "a read checks the leases by a clock that was read before the value")  \
    X(MINORITY_SERVES, "minority", "a read does not check the leases")                             \
    X(MEMORY_TRUSTED, "memory", "a server that has started again takes its memory for whole")      \
    X(COMMIT_ALONE, "alone", "a write is committed when the leader has stored it")                 \
    X(GAP_TAKEN, "gap", "a write is stored though the one before it is missing")
/* Found by clients of simulated stores (sim-store_planted). */
#define STORE_SERVICE_PLANTED(X)                                                                   \
    X(READ_UNCONFIRMED, "reads", "a leader answers reads without asking whether it still leads")   \
    X(REFUSAL_UNCONFIRMED, "refuses", "a leader refuses without asking whether it still leads")    \
    X(VIEW_UNCHECKED, "view", "a server confirms leaders of earlier views")                        \
    X(CONDITION_UNCOMMITTED, "condition", "a condition sees a change that is not committed")       \
    X(STORED_EARLY, "stored", "a server has stored a write before that is durable")                \
    X(CUSTODY_STAYS, "stays", "a custody stays open when its server was left out")                 \
    X(FOUNDER_AGAIN, "founder", "a server that lost its disk takes itself for a founder")          \
    X(FAILURE_IGNORED, "failed", "a server whose disk has failed goes on")                         \
    X(REQUEST_FORGOTTEN, "forgotten", "servers that follow do not remember requests")              \
    X(OUTCOMES_UNTAUGHT, "untaught", "a learner does not hear what requests have done")            \
    X(LESSON_SHORT, "page", "only the first page of a learner's keys is compared")                 \
    X(REQUESTS_STAY, "requests", "requests under way survive the end of a view")                   \
    X(REWRITE_SHOWN, "shown", "clients see the version of a value that a leader wrote again")      \
    X(SCAN_UNCONFIRMED, "scans", "a leader tells keys without asking whether it still leads")      \
    X(SCAN_BEYOND, "beyond", "a page goes on behind what a server has told")                       \
    X(EXPIRY_UNCOMMITTED, "vanish", "an expired key is absent before its removal is committed")    \
    X(EXPIRY_FORGOTTEN, "eternal", "servers that follow do not remember when a key expires")       \
    X(DIRTY_SHOWN, "dirty", "a follower tells a value that is not committed")                      \
    X(REFUSAL_FORGOTTEN, "refused", "only the leader remembers that it refused a request")         \
    X(REFUSAL_OVERTAKEN, "overtaken", "a late refusal of a first copy counts though another went")
/* Found by servers that are drained (sim-store_drain). */
#define STORE_DRAIN_PLANTED(X)                                                                     \
    X(DRAIN_EARLY, "drain", "a copy is given up before another server has learned the group")

enum store_bug {
#define STORE_BUG(bug, name, text) STORE_##bug,
    STORE_LOG_PLANTED(STORE_BUG) STORE_VIEW_PLANTED(STORE_BUG) STORE_SPREAD_PLANTED(STORE_BUG)
        STORE_REPLICA_PLANTED(STORE_BUG) STORE_SERVICE_PLANTED(STORE_BUG)
            STORE_DRAIN_PLANTED(STORE_BUG)
#undef STORE_BUG
                STORE_BUGS,
};

#ifdef WEFT_PLANTED_BUGS
extern uint64_t store_bugs; /* a bit each; written by a test before it starts a world */
#define STORE_HAS(bug) (store_bugs >> STORE_##bug & 1)
#else
#define STORE_HAS(bug) false
#endif
