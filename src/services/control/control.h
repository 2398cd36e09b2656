#pragma once
/* control: what the command line asks a server for: how it is, what it counts, where a key is, the
 * way to another server; and the operator's cuts. See control_wire.h. */

#include <weft/service.h>

extern const struct weft_service service_control;
