#include "sst_desk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport/clock.h"

#define TABLE        7
#define POLL_FOREVER (3600 * NSEC_PER_SEC)
#define OPEN_NSEC    (60 * NSEC_PER_SEC) /* many members on few cores need time */
#define CLOSE_NSEC   (10 * NSEC_PER_SEC)

static void desk_other(struct desk *desk)
{
    desk->own = sst_row_own(desk->table);
    desk->other = desk->own;
    for (uint32_t row = 0; row < sst_row_count(desk->table); row++)
        if (row != desk->own && sst_is_live(desk->table, row))
            desk->other = row;
}

static bool desk_fail(struct desk *desk, const char *what, int error, const char *reason)
{
    snprintf(desk->reason, sizeof desk->reason, "%s: %s", what,
             reason[0] ? reason : ripc_strerror(error));
    return false;
}

static bool context_open(struct desk *desk, const struct desk_config *config)
{
    const struct job *job = config->job;
    char reason[RIPC_REASON_MAX] = "";
    desk->ripc = config->ripc;
    desk->guest = config->ripc;
    if (desk->guest)
        return true;
    int error = setenv("WEFT_FOLDER", config->folder, 1) ? -ENOMEM : 0;
    if (!error)
        error = ripc_open(&(struct ripc_config){.domain = "measured",
                                                .transports = job->transports,
                                                .provider = job->provider,
                                                .address = job->address,
                                                .reason = reason},
                          &desk->ripc);
    return error < 0 ? desk_fail(desk, "ripc_open", error, reason) : true;
}

bool desk_open(struct desk *desk, const struct desk_config *config)
{
    int64_t spin = config->yielding ? -1 : config->job->adaptive ? 0 : POLL_FOREVER;
    char reason[RIPC_REASON_MAX] = "";
    *desk = (struct desk){0};
    sem_init(&desk->done, 0, 0);
    if (!context_open(desk, config))
        return false;
    int error = sst_open(desk->ripc,
                         &(struct sst_config){
                             .table = TABLE,
                             .columns = config->columns,
                             .column_count = config->column_count,
                             .row_size = config->row_size,
                             .design = config->design,
                             .rows_wanted = config->members,
                             .deadline = ripc_after(OPEN_NSEC),
                             .spin_nsec = spin,
                             .yield_nsec = config->yielding ? POLL_FOREVER : 0,
                             .reason = reason,
                         },
                         &desk->table);
    if (error < 0)
        return desk_fail(desk, "sst_open", error, reason);
    desk_other(desk);
    return true;
}

void desk_close(struct desk *desk)
{
    (void)sst_close(desk->table, ripc_after(CLOSE_NSEC));
    if (!desk->guest)
        ripc_close(desk->ripc, ripc_after(NSEC_PER_SEC));
    sem_destroy(&desk->done);
}

bool desk_predicate(struct desk *desk, sst_holds *holds, sst_fire *fire, void *argument,
                    uint32_t column)
{
    int error = sst_predicate_add(desk->table,
                                  &(struct sst_predicate){.kind = SST_RECURRENT,
                                                          .holds = holds,
                                                          .fire = fire,
                                                          .argument = argument,
                                                          .columns = &column,
                                                          .column_count = column != UINT32_MAX},
                                  NULL);
    return error < 0 ? desk_fail(desk, "sst_predicate_add", error, "") : true;
}

void desk_wait(struct desk *desk)
{
    while (sem_wait(&desk->done) < 0 && errno == EINTR)
        ;
}
