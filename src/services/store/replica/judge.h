#pragma once
/* judge: decides, from the custodies that servers report in a new view, which of them hold
 * every acknowledged write of a group: its in-sync servers. The group's coordinator has one in each
 * view. */

#include "services/store/replica/custody.h"

#define REPORTS_MAX 16

struct report {
    uint32_t server;
    struct custody custody;
    store_version position; /* the last write of the group that it has */
};

struct judge {
    uint32_t count;
    /* The group is kept in memory: what has ended with all processes that had it is given up. */
    uint32_t forgets;
    struct report reports[REPORTS_MAX];
};

enum judgement {
    JUDGE_WAITS,       /* for a report of a member */
    JUDGE_UNAVAILABLE, /* for a server that is not a member and may hold more, or for ever */
    JUDGE_KNOWS,       /* the in-sync servers */
};

/* Takes the report of a member. False: there is one of this server, or too many. */
bool judge_hears(struct judge *judge, const struct report *report);
/* JUDGE_KNOWS: `in_sync` are these reports as a set of bits. Otherwise `server` is the one that is
 * waited for; of JUDGE_UNAVAILABLE it can be the number of servers: none. */
enum judgement judge_decide(const struct judge *judge, const struct roster *roster,
                            uint32_t *in_sync, uint32_t *server);
/* Which of these is to lead: the one with most, and of several the first in the order in which
 * `rank` gives them (lower is first). A number of a report. */
uint32_t judge_leader(const struct judge *judge, uint32_t in_sync, const uint32_t *rank);
