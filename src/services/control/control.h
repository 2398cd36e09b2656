#pragma once
/* control: answers the command line: a server's state, its counters, the servers of a key, the
 * route to another server; and cuts cables for the operator. See control_wire.h. */

#include <weft/service.h>

extern const struct weft_service service_control;
