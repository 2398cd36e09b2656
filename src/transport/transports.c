#include "transport/transport.h"

const struct transport_ops *const transports[] = {
    &transport_shm,
#ifdef WEFT_HAVE_LIBFABRIC
    &transport_fabric,
#endif
    &transport_udp,    &transport_routed, NULL,
};
