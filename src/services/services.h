#pragma once
/* services: what every server runs. Plug-ins come behind them. */

#include <weft/service.h>

/* Ends with NULL. */
extern const struct weft_service *const services_all[];
/* Of services_all, without the NULL. */
extern const unsigned services_count;
