#pragma once
/* sst_crew: the processes of 'weft sst demo'.
 *
 * They are started before the demo opens its own context, because a process that has a context
 * cannot be forked. This includes the spare, which takes the place of a killed member. They leave
 * their table when the crew is dismissed, or when the demo dies, so that nothing remains. */

#include <stdbool.h>
#include <sys/types.h>

#include "cli/sst/sst_member.h"

#define SST_CREW_MAX 64

struct sst_crew {
    struct sst_member members[SST_CREW_MAX + 1]; /* the last is the spare */
    pid_t pids[SST_CREW_MAX + 1];                /* 0: ended */
    struct sst_member_report *reports;           /* shared with them */
    uint32_t count;                              /* of members, without the spare */
    bool spare;
    int life; /* a pipe; the processes end when it is closed */
};

/* Starts the processes. */
MUST_CHECK enum err sst_crew_start(struct sst_crew *crew, const struct call *call, ripc_id table,
                                   uint32_t count, enum sst_design design, bool spare,
                                   struct why *why);

/* Kills the first member, which is the leader; lets the spare take its place. */
void sst_crew_kill(struct sst_crew *crew);
void sst_crew_revive(struct sst_crew *crew);

/* Returns the state of a member; the spare is number `count`. */
enum sst_member_state sst_crew_state(const struct sst_crew *crew, uint32_t member);

/* Fails if a member failed, with its reason. */
MUST_CHECK enum err sst_crew_check(const struct sst_crew *crew, struct why *why);

/* Returns a member that died unexpectedly, each once; -1: none. `signal` is the signal that killed
 * it; 0: it ended by itself. */
int sst_crew_died(struct sst_crew *crew, int *signal);

/* Asks all members to leave and waits for their end; kills those that take too long. */
void sst_crew_dismiss(struct sst_crew *crew);

/* Frees the crew and its reports. */
void sst_crew_fini(struct sst_crew *crew);
