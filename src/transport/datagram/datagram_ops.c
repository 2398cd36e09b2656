/* datagram_ops: the table of pipe operations. */
#include "transport/datagram/datagram.h"

const struct pipe_ops datagram_pipe_ops = {
    .outlet_open = datagram_outlet_open,
    .outlet_answer = datagram_outlet_answer,
    .outlet_close = datagram_outlet_close,
    .inlet_open = datagram_inlet_open,
    .inlet_close = datagram_inlet_close,
    .push = datagram_push,
    .room = datagram_room,
    .collect = datagram_collect,
    .outlet_count = datagram_outlet_count,
    .pull = datagram_pull,
    .release = datagram_release,
    .acknowledge = datagram_acknowledge,
    .outlet_owes = datagram_outlet_owes,
    .inlet_owes = datagram_inlet_owes,
};
