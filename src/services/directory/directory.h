#pragma once
/* directory: the service that knows which program has which ripc name. */

#include <weft/service.h>

extern const struct weft_service service_directory;
