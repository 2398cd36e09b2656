#pragma once
/* udp: the transport of last resort, with frames as datagrams. See udp.c. */

#include "transport/datagram/datagram.h"

void udp_count(const struct transport *transport, struct datagram_counts *counts);
