/* peer_openmpi: runs peer_mpi.c's program under mpirun, which places its two
 * ranks on two cores itself; role 1 has nothing to do. */
#include <stdio.h>
#include <stdlib.h>

#include "measured/tools.h"
#include "peers.h"

#define NUMBER_SIZE 24

static void openmpi_run(struct pair *pair)
{
    const struct job *job = pair->job;
    char size[NUMBER_SIZE], count[NUMBER_SIZE], batches[NUMBER_SIZE], output[TOOL_OUTPUT_SIZE];
    if (job->kind != JOB_PING && job->kind != JOB_LONG)
        pair_missing(pair, "Open MPI is not measured for this");
    if (pair->role == 1)
        return;
    snprintf(size, sizeof size, "%zu", job->size);
    snprintf(count, sizeof count, "%u", job->count);
    snprintf(batches, sizeof batches, "%u", job->batches);
    const char *const words[] = {"mpirun",    "--allow-run-as-root",
                                 "-np",       "2",
                                 "--bind-to", "core",
                                 PEER_MPI,    job->kind == JOB_PING ? "ping" : "long",
                                 size,        count,
                                 batches,     NULL};
    tool_run(pair, words, true, output);
    double seconds = strtod(output, NULL);
    if (!(seconds > 0))
        pair_fail(pair, "mpirun printed no time");
    pair_report(pair, seconds);
}

const struct side side_openmpi = {"openmpi", openmpi_run};
