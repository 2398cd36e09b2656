/* peer_missing: replaces the peers whose library was missing at build time. */
#include "peers.h"

#ifdef MISSING_UCX
static void ucx_run(struct pair *pair)
{
    pair_missing(pair, "built without UCX (libucx-dev)");
}
const struct side side_ucx_tag = {"ucx_tag", ucx_run};
const struct side side_ucx_am = {"ucx_am", ucx_run};
#endif

#ifdef MISSING_MPI
static void openmpi_run(struct pair *pair)
{
    pair_missing(pair, "built without Open MPI (libopenmpi-dev)");
}
const struct side side_openmpi = {"openmpi", openmpi_run};
const struct side side_bcast = {"bcast", openmpi_run};
const struct side side_bcast_yielding = {"bcast_yielding", openmpi_run};
const struct side side_bcast_turns = {"bcast_turns", openmpi_run};
const struct side side_bcast_turns_yielding = {"bcast_turns_yielding", openmpi_run};
#endif

#ifdef MISSING_FABRIC
static void fabric_run(struct pair *pair)
{
    pair_missing(pair, "built without libfabric (libfabric-dev)");
}
const struct side side_libfabric_shm = {"libfabric_shm", fabric_run};
const struct side side_libfabric_tcp = {"libfabric_tcp", fabric_run};
const struct side side_fi_write_tcp = {"fi_write", fabric_run};
const struct side side_fi_inject_write_tcp = {"fi_inject_write", fabric_run};
const struct side side_fi_read_tcp = {"fi_read", fabric_run};
#endif
