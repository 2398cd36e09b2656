#pragma once
/* directory: the service that knows which program holds which ripc name. */

#include <weft/service.h>

extern const struct weft_service service_directory;
