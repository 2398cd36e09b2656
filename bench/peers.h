#pragma once
/* peers: other libraries' ways of talking, as sides of measured/pair.h. Those
 * whose library was not there when this was built say so when they are run. */

#include "measured/pair.h"

extern const struct side side_ucx_tag;       /* JOB_PING, JOB_STREAM, JOB_LONG */
extern const struct side side_ucx_am;        /* JOB_PING */
extern const struct side side_openmpi;       /* JOB_PING, JOB_LONG: a program run by mpirun */
extern const struct side side_libfabric_shm; /* JOB_PING */
extern const struct side side_libfabric_tcp; /* JOB_PING, JOB_LONG_PING */
