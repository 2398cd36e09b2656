/* peer_openmpi: runs the program of peer_mpi.c under mpirun, which places its ranks itself; role 1
 * has nothing to do. */
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "measured/tools.h"
#include "peers.h"

#define NUMBER_SIZE 24
#define WORD_MAX    24
#define BCAST_RANKS "4"

/* Runs mpirun with these options (NULL ends them) and the program with `what` as its first
 * argument. */
static void program_run(struct pair *pair, const char *const *options, const char *what)
{
    const struct job *job = pair->job;
    char size[NUMBER_SIZE], count[NUMBER_SIZE], batches[NUMBER_SIZE], output[TOOL_OUTPUT_SIZE];
    const char *words[WORD_MAX] = {"mpirun", "--allow-run-as-root"};
    int used = 2;
    if (pair->role == 1)
        return;
    snprintf(size, sizeof size, "%zu", job->size);
    snprintf(count, sizeof count, "%u", job->count);
    snprintf(batches, sizeof batches, "%u", job->batches);
    while (*options)
        words[used++] = *options++;
    const char *const rest[] = {PEER_MPI, what, size, count, batches};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        words[used++] = rest[i];
    assert(used < WORD_MAX);
    tool_run(pair, words, true, output);
    double seconds = strtod(output, NULL);
    if (!(seconds > 0))
        pair_fail(pair, "mpirun printed no time");
    pair_report(pair, seconds);
}

static void openmpi_run(struct pair *pair)
{
    static const char *const options[] = {"-np", "2", "--bind-to", "core", NULL};
    enum job_kind kind = pair->job->kind;
    if (kind != JOB_PING && kind != JOB_LONG)
        pair_missing(pair, "Open MPI is not measured for this");
    program_run(pair, options, kind == JOB_PING ? "ping" : "long");
}

/* There may be more ranks than cores, so the option says explicitly whether waiting ranks yield. */
static void bcast_run(struct pair *pair, const char *what, const char *yielding)
{
    const char *const options[] = {
        "-np",   BCAST_RANKS,           "--oversubscribe", "--bind-to", "core:overload-allowed",
        "--mca", "mpi_yield_when_idle", yielding,          NULL};
    program_run(pair, options, what);
}

static void bcast_one(struct pair *pair)
{
    bcast_run(pair, "bcast", "0");
}

static void bcast_one_yielding(struct pair *pair)
{
    bcast_run(pair, "bcast", "1");
}

static void bcast_turns(struct pair *pair)
{
    bcast_run(pair, "turns", "0");
}

static void bcast_turns_yielding(struct pair *pair)
{
    bcast_run(pair, "turns", "1");
}

const struct side side_openmpi = {"openmpi", openmpi_run};
const struct side side_bcast = {"bcast", bcast_one};
const struct side side_bcast_yielding = {"bcast_yielding", bcast_one_yielding};
const struct side side_bcast_turns = {"bcast_turns", bcast_turns};
const struct side side_bcast_turns_yielding = {"bcast_turns_yielding", bcast_turns_yielding};
