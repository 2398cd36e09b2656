#pragma once
/* peers: other libraries' ways of talking, as sides of measured/pair.h. Those
 * whose library was not there when this was built say so when they are run. */

#include "measured/pair.h"

extern const struct side side_ucx_tag;       /* JOB_PING, JOB_STREAM, JOB_LONG */
extern const struct side side_ucx_am;        /* JOB_PING */
extern const struct side side_openmpi;       /* JOB_PING, JOB_LONG: a program run by mpirun */
extern const struct side side_libfabric_shm; /* JOB_PING */
extern const struct side side_libfabric_tcp; /* JOB_PING, JOB_LONG_PING */

/* A word there and back over tcp, JOB_PING: written into the other's memory, or fetched
 * from it again and again until it is another. */
extern const struct side side_fi_write_tcp;
extern const struct side side_fi_read_tcp;

/* MPI_Bcast, seconds of one: JOB_STREAM. `several` ranks; the root is always the
 * first, or each in its turn; polling, or yielding while they wait. */
extern const struct side side_bcast;
extern const struct side side_bcast_yielding;
extern const struct side side_bcast_turns;
extern const struct side side_bcast_turns_yielding;
