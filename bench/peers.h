#pragma once
/* peers: other libraries, as sides of measured/pair.h. If a library was missing at build time, its
 * sides report that when they run. */

#include "measured/pair.h"

extern const struct side side_ucx_tag;       /* JOB_PING, JOB_STREAM, JOB_LONG */
extern const struct side side_ucx_am;        /* JOB_PING */
extern const struct side side_openmpi;       /* JOB_PING, JOB_LONG: a program run by mpirun */
extern const struct side side_libfabric_shm; /* JOB_PING */
extern const struct side side_libfabric_tcp; /* JOB_PING, JOB_LONG_PING */

/* Round trip of a word over tcp, JOB_PING: written into the other's memory, or read from it
 * repeatedly until it changes. */
extern const struct side side_fi_write_tcp; /* with a completion, in a queue with a descriptor */
extern const struct side side_fi_inject_write_tcp; /* without completion and without descriptor */
extern const struct side side_fi_read_tcp;

/* MPI_Bcast, seconds per broadcast: JOB_STREAM, with several ranks. The root is always the first
 * rank, or each rank in turn; ranks poll, or yield while they wait. */
extern const struct side side_bcast;
extern const struct side side_bcast_yielding;
extern const struct side side_bcast_turns;
extern const struct side side_bcast_turns_yielding;
