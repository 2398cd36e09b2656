#pragma once
/* udp: the transport of last resort, frames as datagrams. See udp.c. */

#include "transport/transport.h"

struct datagram_counts {
    uint64_t datagrams; /* received */
    uint64_t garbage;   /* that did not parse, or said what cannot be */
    uint64_t stray;     /* for a pipe we do not have, or not from its peer */
    uint64_t doubles;   /* frames that had come already */
    uint64_t resent;    /* frames sent again */
    uint64_t refused;   /* datagrams the socket did not take */
};

void udp_count(const struct transport *transport, struct datagram_counts *counts);
