/* peer_missing: stands in for the peers whose library was not there when this
 * was built. */
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
#endif

#ifdef MISSING_FABRIC
static void fabric_run(struct pair *pair)
{
    pair_missing(pair, "built without libfabric (libfabric-dev)");
}
const struct side side_libfabric_shm = {"libfabric_shm", fabric_run};
const struct side side_libfabric_tcp = {"libfabric_tcp", fabric_run};
#endif
