#pragma once
/* relay: the service `ripc`, which carries datagrams between programs of different servers. */

#include <weft/service.h>

extern const struct weft_service service_relay;
