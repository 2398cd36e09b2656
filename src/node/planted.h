#pragma once
/* planted: bugs that tests plant in the node, each of which the simulator must find. Only test
 * programs are built with WEFT_PLANTED_BUGS; installed programs do not contain the bugs.
 *
 * A place with a bug reads HAS_BUG(owner, BUG), where the owner has the bits of the bugs that are
 * switched on in its field `faults`. In an ordinary build this is the constant false. */

#include <stdbool.h>
#include <stdint.h>

/* The bug, its name for `weft-planted sim chaos --plant`, the checker that finds it ("any": this
 * depends on the seed; "-": 500 seeds do not find it; "streams": the checker of
 * tests/sim_stream_chaos.c, which runs with streams), and what is wrong. */
#define PLANTED_LIST(X)                                                                            \
    X(ROOTS_OVERLAP, "roots", "roots", "a restarted server answers for its keys at once")          \
    X(STALE_FLOOD, "stale", "routes", "a stale row is accepted and flooded on")                    \
    X(DEAD_PORT, "port", "routes", "waiting packets keep a port that went down")                   \
    X(LEAK, "leak", "leaks", "an intercepted packet is never released")                            \
    X(UNFAIR, "unfair", "fair", "the round sometimes skips a service")                             \
    X(LATE_LOOK, "pause", "silence", "the step takes packets before it looks at the time")         \
    X(LOCAL_BLIND, "local", "silence", "a local request is handled before the look at the time")   \
    X(KEEPS_KEYS, "keys", "roots", "a server that was away stays settled")                         \
    X(OLD_HELLO, "hello", "links", "an older hello is accepted")                                   \
    X(PEER_DOWN_SKIPPED, "down", "calls", "peer_down is omitted for every 8th server")             \
    X(PEER_UP_SKIPPED, "up", "calls", "of several changes at once only the first is reported")     \
    X(OLD_ROWS, "session", "any", "rows of an earlier session are accepted")                       \
    X(NO_RESEND, "resend", "any", "rows are not sent again when the acknowledgement is lost")      \
    X(ANY_ACK, "ack", "-", "an acknowledgement of an earlier message counts")                      \
    X(RESEND_EMPTY, "forget", "any", "rows that were not acknowledged are forgotten")              \
    X(NEEDS_IGNORED, "needs", "-", "a seen message counts before the sender's row is known")       \
    X(ADMITS_ONE_END, "admit", "-", "a link is up before its other end reports it")                \
    X(ROOT_OVER_UP, "root", "roots", "the root of a key is sought over links that are up")         \
    X(ONE_END, "end", "any", "a link is near if one end reports it")                               \
    X(BLIND_PREDICATE, "better", "any", "a link that became better changes no route")              \
    X(LONG_SILENCE, "silence", "silence", "a link is silent only after twice the time")            \
    X(SAME_SESSION, "same", "any", "a link that went down keeps its session")                      \
    X(CUT_IGNORED, "cut", "links", "a cut link comes up again")                                    \
    X(CARRIER_IGNORED, "carrier", "links", "a link stays up without a carrier")                    \
    X(LIMBO_STUCK, "limbo", "any", "packets in limbo are forgotten when the server settles")       \
    X(UNSEEN, "unseen", "calls", "a packet that waited in limbo is not shown to its service")      \
    X(NO_WEIGHTS, "weights", "fair", "all services have the same weight")                          \
    X(RECALL_LOST, "recall", "ledger", "the open frame of a port that goes down is lost")          \
    X(NEIGHBOUR_DOWN, "neighbour", "routes",                                                       \
      "packets to a neighbour ignore that the link is down")                                       \
    X(NO_SYNC, "sync", "any", "a link is near before both ends have all rows")                     \
    X(NEW_LINK_EMPTY, "rows", "routes", "a new link is sent only our own row")                     \
    X(ROOM_LOST, "room", "any", "a port that was full stays blocked")                              \
    X(EARLY_TIMER, "timer", "calls", "timers fire a millisecond early")                            \
    X(STREAM_TWICE, "twice", "streams", "a segment that arrives twice is delivered twice")         \
    X(STREAM_EARLY, "early", "streams", "a message is done before its receiver acknowledges it")   \
    X(STREAM_GAP, "gap", "streams", "a lost segment is not sent again")                            \
    X(STREAM_MOVE, "move", "streams", "a stream that moves goes on where it was")

enum planted_index {
#define PLANTED_INDEX(bug, name, checker, text) PLANTED_##bug,
    PLANTED_LIST(PLANTED_INDEX)
#undef PLANTED_INDEX
        PLANTED_COUNT,
};

#define PLANTED_BIT(bug) (UINT64_C(1) << PLANTED_##bug) /* in a field `faults` */

#ifdef WEFT_PLANTED_BUGS
#define HAS_BUG(owner, bug) (((owner)->faults & PLANTED_BIT(bug)) != 0)
#else
#define HAS_BUG(owner, bug) false
#endif
