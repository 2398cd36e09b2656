#pragma once
/* sst_crew: the processes of 'weft sst demo'.
 *
 * They are started before the demo opens a context of its own, the one that will take the
 * place of a killed one, too: a process that has a context cannot be forked. They
 * leave their table when the crew is dismissed, and by themselves when the demo dies, so that
 * nothing of them stays behind. */

#include <stdbool.h>
#include <sys/types.h>

#include "cli/sst/sst_member.h"

#define SST_CREW_MAX 64

struct sst_crew {
    struct sst_member members[SST_CREW_MAX + 1]; /* the last is the spare */
    pid_t pids[SST_CREW_MAX + 1];                /* 0: gone */
    struct sst_member_report *reports;           /* shared with them */
    uint32_t count;                              /* without the spare */
    bool spare;
    int life; /* they live as long as it is open */
};

/* Starts them. */
MUST_CHECK enum err sst_crew_start(struct sst_crew *crew, const struct call *call, ripc_id table,
                                   uint32_t count, enum sst_design design, bool spare,
                                   struct why *why);

/* The first member, which is the leader, is killed; and its spare takes its place. */
void sst_crew_kill(struct sst_crew *crew);
void sst_crew_revive(struct sst_crew *crew);

/* The state of one that should be running; the spare is number `count`. */
enum sst_member_state sst_crew_state(const struct sst_crew *crew, uint32_t member);

/* Fails if one of them could not do its part. */
MUST_CHECK enum err sst_crew_check(const struct sst_crew *crew, struct why *why);

/* One that died and was not asked to, each once; -1: none. `signal` is what killed it; 0: it
 * ended by itself. */
int sst_crew_died(struct sst_crew *crew, int *signal);

/* Lets them leave and waits for it; whoever takes too long is killed. */
void sst_crew_dismiss(struct sst_crew *crew);

/* The reports are gone afterwards. */
void sst_crew_fini(struct sst_crew *crew);
