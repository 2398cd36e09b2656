#pragma once
/* roster: the servers that belong to the store in one view, and when each of them belonged to it
 * before. Pure data, without pointers.
 *
 * A view is a numbered roster; its number is the epoch. View 0 is the plan: every planned server
 * has a vote in view 1, and none is a member. Each later view follows from the one before it:
 * members leave, and servers join. The servers agree on it by votes of the view before it
 * (decision.h), so there is one roster for each epoch.
 *
 * Members vote. If they are fewer than VOTERS_LEAST, some that have left keep their votes: else the
 * end of one of two members would stop the store for good, although the third server, which was
 * only restarted, and the other one hold everything.
 *
 * A member is a process and what it keeps durably. A process that has started again knows less than
 * the one before it, so it leaves and joins (another `run`). A server whose disk was replaced has
 * lost its votes and its data, too (another `disk`). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VOTERS_LEAST 3

/* What the operator has decided about a server. */
enum roster_duty {
    DUTY_KEEPS,    /* it keeps its groups */
    DUTY_DRAINS,   /* others are to keep them. It may still be a member */
    DUTY_REPLACED, /* it is not expected back: others keep its groups, and it has no vote. When it
                    * joins again it keeps them again */
    DUTY_LOST,     /* the same, and what only it may have is given up */
    DUTIES,
};

struct roster_entry {
    uint64_t disk;        /* names what the server keeps durably; random, drawn when that is empty;
                           * 0: the server was never a member */
    uint64_t run;         /* names the process; random */
    uint32_t since;       /* the first view of this membership; 0: not a member */
    uint32_t from, until; /* the first and the last view of the membership before; 0: none */
    uint32_t lost;        /* the last view in which it was a member with another disk; 0: none */
    uint8_t founder;      /* 1: it was a member of view 1 */
    uint8_t votes;        /* 1: it may vote on the next view */
    uint8_t duty;         /* an enum roster_duty */
    uint8_t zero;         /* no gap: rosters are compared by their bytes */
};

struct roster {
    uint32_t epoch;
    uint32_t count; /* planned servers; an entry for each */
    struct roster_entry entries[];
};

static inline size_t roster_size(uint32_t count)
{
    return sizeof(struct roster) + count * sizeof(struct roster_entry);
}

/* View 0. */
void roster_plan(struct roster *roster, uint32_t count);
void roster_copy(struct roster *to, const struct roster *from);
bool roster_same(const struct roster *a, const struct roster *b);

bool roster_has(const struct roster *roster, uint32_t server);
/* May the server, with that disk, vote on the next view? */
bool roster_votes(const struct roster *roster, uint32_t server, uint64_t disk);
/* Are these servers, a set of bits, enough to decide the next view? More than half of those that
 * may vote, or exactly half, and the first of them is among these. Two such sets always have a
 * server in common. */
bool roster_quorum(const struct roster *roster, const uint64_t *servers);
/* The lowest number that may vote; it proposes as long as it can be reached. */
uint32_t roster_first(const struct roster *roster);
/* The lowest number of a member; `count` if there is none. */
uint32_t roster_first_member(const struct roster *roster);

/* ---- the next view ---- */

/* Makes `next` the view after `roster`, with the same members. */
void roster_next(struct roster *next, const struct roster *roster);
/* These change such a view. A server that is not a member does not leave. A member that joins with
 * another run leaves before; with the same run and disk it stays as it is. */
void roster_leave(struct roster *next, uint32_t server);
void roster_join(struct roster *next, uint32_t server, uint64_t disk, uint64_t run);

/* Decides about a server; one that is a member cannot be replaced. False: it can't be, or is so
 * already. */
bool roster_order(struct roster *next, uint32_t server, enum roster_duty duty);
/* Is the server to keep groups, when it is a member? */
bool roster_keeps(const struct roster *roster, uint32_t server);

/* ---- looking back ---- */

/* Was the server a member all the time from that view on, until now? */
bool roster_stayed(const struct roster *roster, uint32_t server, uint32_t from);
/* Can something that only this server has kept since that view be missing now? True for a server
 * that is absent and was a member later than that, and for one that lost its disk later than
 * that. */
bool roster_missed(const struct roster *roster, uint32_t server, uint32_t epoch);
